#include "argosy/kernels/cpu/simd/softmax.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

template <class S>
double narrow_loss_row(const void* in, int64_t label, float* statistics, int64_t n, void* scratch) {
  const float* x = row_of<S>(in, n, scratch_row<float>(scratch, n, 0));
  const float high = combine_all<Max, float>(x, n);
  const double at_label = label >= 0 ? static_cast<double>(x[label]) : 0.0;
  const double sum = exp_sum(x, n, high);
  statistics[0] = high;
  statistics[1] = static_cast<float>(1 / sum);
  return __builtin_log(sum) + (static_cast<double>(high) - at_label);
}

template <class S>
void narrow_loss_grad_row(const void* in, const float* statistics, int64_t label, double scale,
                          void* out, int64_t n, void* scratch) {
  const float* x = row_of<S>(in, n, scratch_row<float>(scratch, n, 0));
  float* dx = scratch_row<float>(scratch, n, 1);
  const float high = statistics[0], factor = statistics[1], times = static_cast<float>(scale);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dx[i] = exp_or_zero(x[i] - high) * factor * times;
  dx[label] -= times;
  put<S>(dx, out, n);
}

#define ARGOSY_ROWS(f) \
  { f<float16>, f<bfloat16>, f<float>, f<double> }
constexpr SoftmaxKernels kKernels = {
    .softmax = ARGOSY_ROWS(softmax_row),
    .log_softmax = ARGOSY_ROWS(log_softmax_row),
    .softmax_grad = ARGOSY_ROWS(softmax_grad_row),
    .log_softmax_grad = ARGOSY_ROWS(log_softmax_grad_row),
    .loss = ARGOSY_ROWS(loss_row),
    .loss_columns = {nullptr, nullptr, loss_columns<float>, loss_columns<double>},
    .loss_grad = ARGOSY_ROWS(loss_grad_row),
    .narrow_loss = {narrow_loss_row<float16>, narrow_loss_row<bfloat16>},
    .narrow_loss_grad = {narrow_loss_grad_row<float16>, narrow_loss_grad_row<bfloat16>},
};
#undef ARGOSY_ROWS

}  // namespace

const SoftmaxKernels softmax_kernels = kKernels;

}  // namespace argosy::cpu::ARGOSY_ISA

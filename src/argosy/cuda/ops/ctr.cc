#include "argosy/ops/ctr/ctr.h"

#include "argosy/cuda/ops/move_operands.h"
#include "argosy/kernels/cuda/ctr.h"

namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;

void auc_count_run(KernelFrame& f, const ops::AucCountAttrs& a) {
  const Tensor &score = f.in[0], &label = f.in[1], &weight = f.in[2];
  const int64_t n = score.dim(0), width = score.dim(1);
  ARGOSY_CHECK(label.numel() == n && (!weight.defined() || weight.numel() == n) && width > 0,
               invalid_argument)
      << "[auc_count] label (and weight) must have one element for each row of input: input is "
      << score << ", label " << label << ". Do this: reshape label to [N, 1].";
  const cudaStream_t stream = stream_of(f);
  for (const Tensor& t : f.out) clear(stream, t);
  const Tensor ones = as_form(label, label.shape(), DType::bool_);
  Tensor counted;
  if (weight.defined()) counted = as_form(weight, weight.shape(), DType::bool_);
  auc_count(stream, score.dtype(), f.out[0].data<int64_t>(), f.out[1].data<int64_t>(), score.raw(),
            ones.data<bool>(), counted.defined() ? counted.data<bool>() : nullptr, n, width,
            a.thresholds);
}
[[maybe_unused]] const bool auc_count_added =
    add_kernel<ops::AucCountAttrs>("auc_count", auc_count_run);

void auc_area_run(KernelFrame& f, const ops::AucAreaAttrs& a) {
  const int64_t bins = f.in[0].dim(-1), total = f.in[0].numel();
  ARGOSY_CHECK(f.in[1].numel() == total, invalid_argument)
      << "[auc_area] positive and negative must have as many intervals, got " << f.in[0] << " and "
      << f.in[1] << ". Do this: pass both outputs of one auc_count.";
  auc_area(stream_of(f), f.out[0].data<double>(), f.in[0].data<int64_t>(), f.in[1].data<int64_t>(),
           bins ? total / bins : 0, bins, a.curve == "ROC");
}
[[maybe_unused]] const bool auc_area_added =
    add_kernel<ops::AucAreaAttrs>("auc_area", auc_area_run);

void value_model_run(KernelFrame& f, const ops::ValueModelAttrs& a) {
  const Tensor& x = f.in[0];
  value_model(stream_of(f), x.dtype(), f.out[0].raw(), x.raw(), x.dim(0), x.dim(1), f.out[0].dim(1),
              a.use_cvm);
}
[[maybe_unused]] const bool value_model_added =
    add_kernel<ops::ValueModelAttrs>("continuous_value_model", value_model_run);

const char* value_model_grad_match(const Inputs& in, const ops::ValueModelAttrs&) {
  return in[0].dtype() == in[1].dtype() ? nullptr : "dy and cvm of different dtypes";
}
void value_model_grad_run(KernelFrame& f, const ops::ValueModelAttrs&) {
  const Tensor& dx = f.out[0];
  value_model_grad(stream_of(f), dx.dtype(), dx.raw(), f.in[0].raw(), f.in[1].raw(), dx.dim(0),
                   f.in[0].dim(1), dx.dim(1));
}
[[maybe_unused]] const bool value_model_grad_added = add_kernel<ops::ValueModelAttrs>(
    "continuous_value_model_grad", value_model_grad_match, value_model_grad_run);

const void* raw_of(const Tensor& t) {
  return t.defined() ? t.raw() : nullptr;
}
bool one_dtype(const Inputs& in) {
  for (const Tensor& t : in.flat())
    if (t.defined() && t.dtype() != in[0].dtype()) return false;
  return true;
}
const char* data_norm_match(const Inputs& in, const ops::DataNormAttrs&) {
  return one_dtype(in) ? nullptr : "operands of different dtypes";
}

void data_norm_run(KernelFrame& f, const ops::DataNormAttrs& a) {
  const Tensor& x = f.in[0];
  const DataNorm norm{f.in[1].raw(), f.in[2].raw(), f.in[3].raw(), raw_of(f.in[4]), a.slot_dim};
  data_norm(stream_of(f), x.dtype(), f.out[0].raw(), x.raw(), norm, raw_of(f.in[5]), x.dim(0),
            x.dim(1));
}
[[maybe_unused]] const bool data_norm_added =
    add_kernel<ops::DataNormAttrs>("data_norm", data_norm_match, data_norm_run);

void data_norm_grad_run(KernelFrame& f, const ops::DataNormAttrs& a) {
  const Tensor& x = f.in[1];
  const DataNorm norm{f.in[2].raw(), f.in[3].raw(), f.in[4].raw(), raw_of(f.in[5]), a.slot_dim};
  void* sums[5];
  for (size_t i = 0; i < 5; ++i) sums[i] = f.out[i + 1].raw();
  data_norm_grad(stream_of(f), x.dtype(), f.out[0].raw(), sums, f.in[0].raw(), x.raw(), norm,
                 x.dim(0), x.dim(1), a.epsilon);
}
[[maybe_unused]] const bool data_norm_grad_added =
    add_kernel<ops::DataNormAttrs>("data_norm_grad", data_norm_match, data_norm_grad_run);

void summary_update_run(KernelFrame& f, const ops::SummaryAttrs& a) {
  const auto params = f.in.list(0), grads = f.in.list(1);
  ARGOSY_CHECK(params.size() == grads.size(), invalid_argument)
      << "[summary_update_] expected a gradient for each of " << params.size()
      << " parameters, got " << grads.size() << '.';
  for (size_t i = 0; i < params.size(); ++i) {
    ARGOSY_CHECK(params[i].shape() == grads[i].shape() && params[i].dtype() == grads[i].dtype(),
                 invalid_argument)
        << "[summary_update_] gradient " << i << " has the wrong form: expected that of "
        << params[i] << ", got " << grads[i] << '.';
    ARGOSY_CHECK(params[i].is_contiguous(), invalid_argument)
        << "[summary_update_] parameter " << i << " must be contiguous.";
    const Tensor grad = op::contiguous(grads[i]);
    summary_update(stream_of(f), params[i].dtype(), params[i].raw(), grad.raw(), grad.numel(),
                   a.decay);
  }
}
[[maybe_unused]] const bool summary_update_added =
    add_kernel<ops::SummaryAttrs>("summary_update_", summary_update_run, true);

}  // namespace
}  // namespace argosy::cuda

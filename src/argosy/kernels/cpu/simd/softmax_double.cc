#define ARGOSY_VECTOR_DOUBLE
#include "argosy/kernels/cpu/simd/softmax.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

constexpr SoftmaxKernels make() {
  constexpr int kDouble = kFloatings - 1;
  SoftmaxKernels k{};
  k.softmax[kDouble] = softmax_row<double>;
  k.log_softmax[kDouble] = log_softmax_row<double>;
  k.log_softmax_grad[kDouble] = log_softmax_grad_row<double>;
  k.loss[kDouble] = loss_row<double>;
  k.loss_columns[kDouble] = loss_columns<double>;
  return k;
}
constexpr SoftmaxKernels kKernels = make();

}  // namespace

const SoftmaxKernels double_softmax_kernels = kKernels;

}  // namespace argosy::cpu::ARGOSY_ISA

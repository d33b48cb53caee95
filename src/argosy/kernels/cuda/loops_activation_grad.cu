#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/ops_activation_grad.cuh"

// ARGOSY_ACTIVATION_GRAD_LOOPS: x or the forward's y, then dy.
namespace argosy::cuda {

#define ARGOSY_FLOATS2(name, Op)                        \
  bool name##_loop(cudaStream_t s, const LoopCall& c) { \
    return binary<Op>(s, c, Floats{});                  \
  }
ARGOSY_FLOATS2(relu_grad, ReluGradOp)
ARGOSY_FLOATS2(relu6_grad, Relu6GradOp)
ARGOSY_FLOATS2(leaky_relu_grad, LeakyReluGradOp)
ARGOSY_FLOATS2(elu_grad, EluGradOp)
ARGOSY_FLOATS2(celu_grad, CeluGradOp)
ARGOSY_FLOATS2(selu_grad, SeluGradOp)
ARGOSY_FLOATS2(silu_grad, SiluGradOp)
ARGOSY_FLOATS2(mish_grad, MishGradOp)
ARGOSY_FLOATS2(softsign_grad, SoftsignGradOp)
ARGOSY_FLOATS2(tanhshrink_grad, TanhshrinkGradOp)
ARGOSY_FLOATS2(log_sigmoid_grad, LogSigmoidGradOp)
ARGOSY_FLOATS2(softplus_grad, SoftplusGradOp)
ARGOSY_FLOATS2(hardtanh_grad, HardtanhGradOp)
ARGOSY_FLOATS2(hardsigmoid_grad, HardsigmoidGradOp)
ARGOSY_FLOATS2(hardswish_grad, HardswishGradOp)
ARGOSY_FLOATS2(softshrink_grad, ShrinkGradOp)
ARGOSY_FLOATS2(thresholded_relu_grad, ThresholdedReluGradOp)
ARGOSY_FLOATS2(stanh_grad, StanhGradOp)
ARGOSY_FLOATS2(sigmoid_grad, SigmoidGradOp)
ARGOSY_FLOATS2(tanh_grad, TanhGradOp)
ARGOSY_FLOATS2(sqrt_grad, SqrtGradOp)
ARGOSY_FLOATS2(rsqrt_grad, RsqrtGradOp)
ARGOSY_FLOATS2(reciprocal_grad, ReciprocalGradOp)
ARGOSY_FLOATS2(log_grad, LogGradOp)
ARGOSY_FLOATS2(square_grad, SquareGradOp)
ARGOSY_FLOATS2(abs_grad, AbsGradOp)

bool hardshrink_grad_loop(cudaStream_t s, const LoopCall& c) {
  return softshrink_grad_loop(s, c);
}
bool gelu_grad_loop(cudaStream_t s, const LoopCall& c) {
  const bool tanh_form = c.params && c.params->a != 0;
  return tanh_form ? binary<GeluTanhGradOp>(s, c, Floats{}) : binary<GeluGradOp>(s, c, Floats{});
}

}  // namespace argosy::cuda

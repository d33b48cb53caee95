#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/ops_activation.cuh"

// ARGOSY_ACTIVATION_LOOPS. nan stays nan in all of these but where Paddle's formula says otherwise.
namespace argosy::cuda {

#define ARGOSY_FLOATS1(name, Op)                        \
  bool name##_loop(cudaStream_t s, const LoopCall& c) { \
    return unary<Op>(s, c, Floats{});                   \
  }
ARGOSY_FLOATS1(relu6, Relu6Op)
ARGOSY_FLOATS1(leaky_relu, LeakyReluOp)
ARGOSY_FLOATS1(elu, EluOp)
ARGOSY_FLOATS1(celu, CeluOp)
ARGOSY_FLOATS1(selu, SeluOp)
ARGOSY_FLOATS1(silu, SiluOp)
ARGOSY_FLOATS1(mish, MishOp)
ARGOSY_FLOATS1(softsign, SoftsignOp)
ARGOSY_FLOATS1(tanhshrink, TanhshrinkOp)
ARGOSY_FLOATS1(log_sigmoid, LogSigmoidOp)
ARGOSY_FLOATS1(softplus, SoftplusOp)
ARGOSY_FLOATS1(hardtanh, HardtanhOp)
ARGOSY_FLOATS1(hardsigmoid, HardsigmoidOp)
ARGOSY_FLOATS1(hardswish, HardswishOp)
ARGOSY_FLOATS1(softshrink, SoftshrinkOp)
ARGOSY_FLOATS1(hardshrink, HardshrinkOp)
ARGOSY_FLOATS1(thresholded_relu, ThresholdedReluOp)
ARGOSY_FLOATS1(stanh, StanhOp)

bool relu_loop(cudaStream_t s, const LoopCall& c) {
  return unary<ReluOp>(s, c, Floats{}) || unary<ReluOp>(s, c, Signed{});
}
bool gelu_loop(cudaStream_t s, const LoopCall& c) {
  const bool tanh_form = c.params && c.params->a != 0;
  return tanh_form ? unary<GeluTanhOp>(s, c, Floats{}) : unary<GeluOp>(s, c, Floats{});
}
bool prelu_loop(cudaStream_t s, const LoopCall& c) {
  return binary<PreluOp>(s, c, Floats{});
}

}  // namespace argosy::cuda

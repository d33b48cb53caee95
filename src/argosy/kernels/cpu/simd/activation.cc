#include "argosy/kernels/cpu/simd/activation.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

constexpr Floats kFloats;

consteval Draft gelu_table() {
  Draft t;
  t.add(DType::float16, loop_of<gelu_contiguous<float>, 1, Form::f16, Form::f16>);
  t.add(DType::bfloat16, loop_of<gelu_contiguous<Bf16>, 1, Form::w2, Form::w2>);
  t.add(DType::float32, loop_of<gelu_contiguous<float>, 1, Form::w4, Form::w4>);
  t.add(DType::float64, loop_of<gelu_contiguous<double>, 1, Form::w8, Form::w8>);
  return t;
}
consteval Draft gelu_grad_table() {
  Draft t;
  constexpr Contiguous kHalf = gelu_grad_contiguous<Bf16>, kFloat = gelu_grad_contiguous<float>,
                       kDouble = gelu_grad_contiguous<double>;
  t.add(DType::float16, loop_of<kFloat, 2, Form::f16, Form::f16, Form::f16>);
  t.add(DType::bfloat16, loop_of<kHalf, 2, Form::w2, Form::w2, Form::w2>);
  t.add(DType::float32, loop_of<kFloat, 2, Form::w4, Form::w4, Form::w4>);
  t.add(DType::float64, loop_of<kDouble, 2, Form::w8, Form::w8, Form::w8>);
  return t;
}

constexpr ActivationLoops kLoops = {
    .relu = unary<kRelu>(kFloats) | unary<kRelu>(Signed{}),
    .relu6 = unary<kRelu6>(kFloats),
    .leaky_relu = unary<kLeakyRelu>(kFloats),
    .elu = unary<kElu>(kFloats),
    .celu = unary<kCelu>(kFloats),
    .selu = unary<kSelu>(kFloats),
    .gelu = gelu_table(),
    .silu = unary<kSilu>(kFloats),
    .mish = unary<kMish>(kFloats),
    .softsign = unary<kSoftsign>(kFloats),
    .tanhshrink = unary<kTanhshrink>(kFloats),
    .log_sigmoid = unary<kLogSigmoid>(kFloats),
    .softplus = unary<kSoftplus>(kFloats),
    .hardtanh = unary<kHardtanh>(kFloats),
    .hardsigmoid = unary<kHardsigmoid>(kFloats),
    .hardswish = unary<kHardswish>(kFloats),
    .softshrink = unary<kSoftshrink>(kFloats),
    .hardshrink = unary<kHardshrink>(kFloats),
    .thresholded_relu = unary<kThresholdedRelu>(kFloats),
    .stanh = unary<kStanh>(kFloats),
    .prelu = binary<kPrelu>(kFloats),
};

constexpr ActivationGradLoops kGradLoops = {
    .relu_grad = binary<kReluGrad>(kFloats),
    .relu6_grad = binary<kRelu6Grad>(kFloats),
    .leaky_relu_grad = binary<kLeakyReluGrad>(kFloats),
    .elu_grad = binary<kEluGrad>(kFloats),
    .celu_grad = binary<kCeluGrad>(kFloats),
    .selu_grad = binary<kSeluGrad>(kFloats),
    .gelu_grad = gelu_grad_table(),
    .silu_grad = binary<kSiluGrad>(kFloats),
    .mish_grad = binary<kMishGrad>(kFloats),
    .softsign_grad = binary<kSoftsignGrad>(kFloats),
    .tanhshrink_grad = binary<kTanhshrinkGrad>(kFloats),
    .log_sigmoid_grad = binary<kLogSigmoidGrad>(kFloats),
    .softplus_grad = binary<kSoftplusGrad>(kFloats),
    .hardtanh_grad = binary<kHardtanhGrad>(kFloats),
    .hardsigmoid_grad = binary<kHardsigmoidGrad>(kFloats),
    .hardswish_grad = binary<kHardswishGrad>(kFloats),
    .softshrink_grad = binary<kShrinkGrad>(kFloats),
    .hardshrink_grad = binary<kShrinkGrad>(kFloats),
    .thresholded_relu_grad = binary<kThresholdedReluGrad>(kFloats),
    .stanh_grad = binary<kStanhGrad>(kFloats),
    .sigmoid_grad = binary<kSigmoidGrad>(kFloats),
    .tanh_grad = binary<kTanhGrad>(kFloats),
    .sqrt_grad = binary<kSqrtGrad>(kFloats),
    .rsqrt_grad = binary<kRsqrtGrad>(kFloats),
    .reciprocal_grad = binary<kReciprocalGrad>(kFloats),
    .log_grad = binary<kLogGrad>(kFloats),
    .square_grad = binary<kSquareGrad>(kFloats),
    .abs_grad = binary<kAbsGrad>(kFloats),
};

}  // namespace

const ActivationLoops activation_loops = kLoops;
const ActivationGradLoops activation_grad_loops = kGradLoops;

}  // namespace argosy::cpu::ARGOSY_ISA

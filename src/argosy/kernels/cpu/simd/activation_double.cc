#define ARGOSY_VECTOR_DOUBLE
#include "argosy/kernels/cpu/simd/activation.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

template <Contiguous kernel, int inputs, Form... forms>
consteval Draft of_double() {
  Draft t;
  t.add(DType::float64, loop_of<kernel, inputs, forms...>);
  return t;
}

// Those with an elementary function in them.
constexpr ActivationLoops make() {
  ActivationLoops t{};
  t.elu = unary<kElu>(Types<double>{});
  t.celu = unary<kCelu>(Types<double>{});
  t.selu = unary<kSelu>(Types<double>{});
  t.silu = unary<kSilu>(Types<double>{});
  t.mish = unary<kMish>(Types<double>{});
  t.tanhshrink = unary<kTanhshrink>(Types<double>{});
  t.log_sigmoid = unary<kLogSigmoid>(Types<double>{});
  t.softplus = unary<kSoftplus>(Types<double>{});
  t.stanh = unary<kStanh>(Types<double>{});
  t.gelu = of_double<gelu_contiguous<double>, 1, Form::w8, Form::w8>();
  return t;
}
constexpr ActivationGradLoops make_grad() {
  ActivationGradLoops t{};
  t.elu_grad = binary<kEluGrad>(Types<double>{});
  t.celu_grad = binary<kCeluGrad>(Types<double>{});
  t.silu_grad = binary<kSiluGrad>(Types<double>{});
  t.mish_grad = binary<kMishGrad>(Types<double>{});
  t.tanhshrink_grad = binary<kTanhshrinkGrad>(Types<double>{});
  t.log_sigmoid_grad = binary<kLogSigmoidGrad>(Types<double>{});
  t.softplus_grad = binary<kSoftplusGrad>(Types<double>{});
  t.stanh_grad = binary<kStanhGrad>(Types<double>{});
  t.gelu_grad = of_double<gelu_grad_contiguous<double>, 2, Form::w8, Form::w8, Form::w8>();
  return t;
}
constexpr ActivationLoops kLoops = make();
constexpr ActivationGradLoops kGradLoops = make_grad();

}  // namespace

const ActivationLoops double_activation_loops = kLoops;
const ActivationGradLoops double_activation_grad_loops = kGradLoops;

}  // namespace argosy::cpu::ARGOSY_ISA

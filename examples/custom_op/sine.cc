// An op as PaddlePaddle's documentation writes it, with its gradient.
#include <cmath>
#include <vector>

#include "paddle/extension.h"

template <class data_t>
void each(int64_t n, const data_t* x, data_t* out, data_t (*f)(data_t)) {
  for (int64_t i = 0; i < n; ++i) out[i] = f(x[i]);
}

std::vector<paddle::Tensor> SineForward(const paddle::Tensor& x) {
  auto out = paddle::empty_like(x);
  PD_DISPATCH_FLOATING_TYPES(
      x.dtype(), "SineForward",
      ([&] { each<data_t>(x.numel(), x.data<data_t>(), out.data<data_t>(), std::sin); }));
  return {out};
}

std::vector<paddle::Tensor> SineBackward(const paddle::Tensor& x, const paddle::Tensor& dy) {
  return {paddle::multiply(dy, paddle::cos(x))};
}

PD_BUILD_OP(custom_sine).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(SineForward));
PD_BUILD_GRAD_OP(custom_sine)
    .Inputs({"X", paddle::Grad("Out")})
    .Outputs({paddle::Grad("X")})
    .SetKernelFn(PD_KERNEL(SineBackward));

// Ops as users of PaddlePaddle write them.
#include "paddle/extension.h"

#include <string>
#include <vector>

using paddle::Grad;
using paddle::Optional;
using paddle::Tensor;
using paddle::Vec;
using Shape = std::vector<int64_t>;

// --- with gradients of both orders ---

template <class data_t>
void relu(const data_t* x, data_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] > static_cast<data_t>(0) ? x[i] : data_t(0);
}
template <class data_t>
void pass(const data_t* by, const data_t* out, data_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = out[i] > static_cast<data_t>(0) ? by[i] : data_t(0);
}

std::vector<Tensor> ReluForward(const Tensor& x) {
  PD_CHECK(x.is_cpu(), "x must lie on the CPU.");
  auto out = paddle::empty_like(x);
  PD_DISPATCH_FLOATING_AND_HALF_TYPES(
      x.dtype(), "ReluForward",
      ([&] { relu<data_t>(x.data<data_t>(), out.data<data_t>(), x.numel()); }));
  return {out};
}
std::vector<Tensor> ReluBackward(const Tensor& x, const Tensor& out, const Tensor& dy) {
  auto dx = Tensor(paddle::PlaceType::kCPU, x.shape());  // as older sources do
  PD_DISPATCH_FLOATING_AND_HALF_TYPES(x.type(), "ReluBackward", ([&] {
                                        pass<data_t>(dy.data<data_t>(), out.data<data_t>(),
                                                     dx.mutable_data<data_t>(x.place()), x.size());
                                      }));
  return {dx};
}
std::vector<Tensor> ReluDoubleBackward(const Tensor& out, const Tensor& ddx) {
  auto ddout = paddle::empty(out.shape(), out.dtype(), out.place());
  PD_DISPATCH_FLOATING_AND_HALF_TYPES(out.dtype(), "ReluDoubleBackward", ([&] {
                                        pass<data_t>(ddx.data<data_t>(), out.data<data_t>(),
                                                     ddout.data<data_t>(), out.numel());
                                      }));
  return {ddout};
}
PD_BUILD_OP(custom_relu).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(ReluForward));
PD_BUILD_GRAD_OP(custom_relu)
    .Inputs({"X", "Out", Grad("Out")})
    .Outputs({Grad("X")})
    .SetKernelFn(PD_KERNEL(ReluBackward));
PD_BUILD_DOUBLE_GRAD_OP(custom_relu)
    .Inputs({"Out", Grad(Grad("X"))})
    .Outputs({Grad(Grad("Out"))})
    .SetKernelFn(PD_KERNEL(ReluDoubleBackward));

// --- attributes of all types, two inputs ---

std::vector<Tensor> Weighted(const Tensor& x, const Tensor& y, float alpha, bool twice, int i,
                             int64_t large, const std::string& mode, const std::vector<int>& ints,
                             std::vector<float> floats, const std::vector<int64_t>& larges,
                             const std::vector<std::string>& texts) {
  PD_CHECK(mode == "sum", "mode must be sum, got ", mode, '.');
  double more = i + static_cast<double>(large) + static_cast<double>(texts.size());
  for (int v : ints) more += v;
  for (float v : floats) more += v;
  for (int64_t v : larges) more += static_cast<double>(v);
  auto sum = x * static_cast<double>(alpha) + y + more;
  return {twice ? sum * 2.0 : sum};
}
std::vector<Shape> WeightedShape(const Shape& x, const Shape&) {
  return {x};
}
std::vector<paddle::DataType> WeightedDtype(paddle::DataType x, paddle::DataType) {
  return {x};
}
PD_BUILD_OP(custom_weighted)
    .Inputs({"X", "Y"})
    .Outputs({"Out"})
    .Attrs({"alpha: float", "twice: bool", "i: int", "large: int64_t", "mode: std::string",
            "ints: std::vector<int>", "floats: std::vector<float>", "larges: std::vector<int64_t>",
            "texts: std::vector<std::string>"})
    .SetKernelFn(PD_KERNEL(Weighted))
    .SetInferShapeFn(PD_INFER_SHAPE(WeightedShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(WeightedDtype));

// --- a list, and an input that may be missing ---

std::vector<Tensor> Sum(const std::vector<Tensor>& xs, const paddle::optional<Tensor>& y) {
  auto out = paddle::zeros_like(xs[0]);
  for (const Tensor& x : xs) out = paddle::add(out, x);
  if (y) out = out + y.get();
  return {out};
}
std::vector<Shape> SumShape(const std::vector<Shape>& xs, const paddle::optional<Shape>&) {
  return {xs[0]};
}
std::vector<paddle::DataType> SumDtype(const std::vector<paddle::DataType>& xs,
                                       const paddle::optional<paddle::DataType>&) {
  return {xs[0]};
}
std::vector<Tensor> SumBackward(const std::vector<Tensor>& xs, const paddle::optional<Tensor>& y,
                                const Tensor& dy) {
  std::vector<Tensor> grads;
  for (size_t i = 0; i < xs.size() + y.has_value(); ++i)
    grads.push_back(dy * static_cast<double>(i + 1));
  return grads;
}
PD_BUILD_OP(custom_sum)
    .Inputs({Vec("X"), Optional("Y")})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(Sum))
    .SetInferShapeFn(PD_INFER_SHAPE(SumShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(SumDtype));
PD_BUILD_GRAD_OP(custom_sum)
    .Inputs({Vec("X"), Optional("Y"), Grad("Out")})
    .Outputs({Grad(Vec("X")), Grad(Optional("Y"))})
    .SetKernelFn(PD_KERNEL(SumBackward));

// --- written in place ---

void Accumulate(Tensor& x, const Tensor& y) {
  PD_DISPATCH_FLOATING_TYPES(x.dtype(), "Accumulate", ([&] {
                               for (int64_t i = 0; i < x.numel(); ++i)
                                 x.data<data_t>()[i] += y.data<data_t>()[i];
                             }));
}
std::vector<Tensor> AccumulateBackward(Tensor& dy) {
  return {dy.copy_to(dy.place(), true)};
}
PD_BUILD_OP(custom_accumulate)
    .Inputs({"X", "Y"})
    .Outputs({"Out"})
    .SetInplaceMap({{"X", "Out"}})
    .SetKernelFn(PD_KERNEL(Accumulate));
PD_BUILD_GRAD_OP(custom_accumulate)
    .Inputs({Grad("Out")})
    .Outputs({Grad("X"), Grad("Y")})
    .SetInplaceMap({{Grad("Out"), Grad("X")}})
    .SetKernelFn(PD_KERNEL(AccumulateBackward));

// --- a list of outputs; outputs by pointer ---

std::vector<Tensor> Split(const Tensor& x, int parts) {
  return paddle::split(x, Shape(parts, x.shape()[0] / parts), 0);
}
std::vector<Shape> SplitShape(const Shape& x, int parts) {
  Shape part = x;
  part[0] = x[0] < 0 ? -1 : x[0] / parts;
  return std::vector<Shape>(parts, part);
}
std::vector<paddle::DataType> SplitDtype(paddle::DataType x, int parts) {
  return std::vector<paddle::DataType>(parts, x);
}
PD_BUILD_OP(custom_split)
    .Inputs({"X"})
    .Outputs({Vec("Out")})
    .Attrs({"parts: int"})
    .SetKernelFn(PD_KERNEL(Split))
    .SetInferShapeFn(PD_INFER_SHAPE(SplitShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(SplitDtype));

std::vector<Tensor> SplitBackward(const std::vector<Tensor>& dys) {
  return {paddle::concat(dys, 0)};
}
PD_BUILD_GRAD_OP(custom_split)
    .Inputs({Grad(Vec("Out"))})
    .Outputs({Grad("X")})
    .SetKernelFn(PD_KERNEL(SplitBackward));

void Divmod(const Tensor& x, int by, Tensor* quotient, Tensor* rest) {
  *quotient = paddle::zeros(x.shape(), paddle::DataType::INT64);
  *rest = paddle::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) {
    quotient->data<int64_t>()[i] = static_cast<int64_t>(x.data<float>()[i]) / by;
    rest->data<float>()[i] = x.data<float>()[i] - quotient->data<int64_t>()[i] * by;
  }
}
std::vector<Shape> DivmodShape(const Shape& x) {
  return {x, x};
}
std::vector<paddle::DataType> DivmodDtype(paddle::DataType x) {
  return {paddle::DataType::INT64, x};
}
PD_BUILD_OP(custom_divmod)
    .Inputs({"X"})
    .Outputs({"Quotient", "Rest"})
    .Attrs({"by: int"})
    .SetKernelFn(PD_KERNEL(Divmod))
    .SetInferShapeFn(PD_INFER_SHAPE(DivmodShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(DivmodDtype));

// --- wrong ones ---

std::vector<Tensor> Liar(const Tensor& x) {
  return {paddle::concat({x, x}, 0)};
}
PD_BUILD_OP(custom_liar).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(Liar));

std::vector<Tensor> Shapeless(const Tensor& x, const Tensor&) {
  return {x};
}
PD_BUILD_OP(custom_shapeless).Inputs({"X", "Y"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(Shapeless));

#include "argosy/kernels/cpu/rows.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"

// Normalization over trailing axes: layer_norm and rms_norm.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

struct Split {
  Shape outer, inner;
};
Split split_shape(const Shape& x, int64_t begin) {
  Split s;
  for (int i = 0; i < x.rank(); ++i) (i < begin ? s.outer : s.inner).push_back(x[i]);
  return s;
}

void layer_norm_infer(InferContext& c, const LayerNormAttrs& a) {
  const Tensor& x = c.in[0];
  ARGOSY_CHECK(0 <= a.begin_norm_axis && a.begin_norm_axis < x.rank(), invalid_argument)
      << '[' << c.name() << "] begin_norm_axis must be in [0, " << x.rank() << ") for x " << x
      << ", got " << a.begin_norm_axis << '.';
  Split s = split_shape(x.shape(), a.begin_norm_axis);
  check_parameter(c.name(), "weight", c.in[1], s.inner.numel(), x.shape());
  check_parameter(c.name(), "bias", c.in[2], s.inner.numel(), x.shape());
  c.out[1] = c.out[2] = {s.outer, statistics_dtype(x.dtype())};
}

// x's dtype, or float32 beside a 16-bit x.
DType weight_dtype(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  DType wide = statistics_dtype(x.dtype());
  for (const Tensor* t : {&weight, &bias})
    if (t->defined() && t->dtype() != x.dtype()) return wide;
  return x.dtype();
}

cpu::RowNorm row_norm(const Tensor& x, int64_t begin, double epsilon, bool rms, DType weight) {
  Split s = split_shape(x.shape(), begin);
  return {x.dtype(), weight, s.outer.numel(), s.inner.numel(), epsilon, rms};
}

template <bool kRms>
void layer_norm_run(KernelFrame& f, const LayerNormAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  DType kind = weight_dtype(x, f.in[1], f.in[2]);
  Tensor weight = as_dtype(f.in[1], kind), bias = as_dtype(f.in[2], kind);
  cpu::layer_norm(row_norm(x, a.begin_norm_axis, a.epsilon, kRms, kind), x.raw(),
                  raw_or_null(weight), raw_or_null(bias), f.out[0].raw(), f.out[1].raw(),
                  f.out[2].raw());
}

// --- gradient ---

void layer_norm_grad_infer(InferContext& c, const LayerNormGradAttrs& a) {
  const Tensor &x = c.in[0], &weight = c.in[1];
  const Split s = split_shape(x.shape(), a.begin_norm_axis);
  const Shape& inner = s.inner;
  const DType wide = statistics_dtype(x.dtype());
  expect_size(c, 1, inner.numel());
  for (size_t i : {2, 3}) {
    if (i == 2 && a.rms) continue;  // not read
    expect_size(c, i, s.outer.numel());
    expect_dtype(c, i, wide);
  }
  expect_shape(c, 4, x.shape());
  expect_dtype(c, 4, x.dtype());
  c.out[1] = {weight.defined() ? weight.shape() : Shape{0},
              weight.defined() ? weight.dtype() : wide};
  c.out[2] = {a.bias ? inner : Shape{0}, weight.defined() ? weight.dtype() : wide};
}

void layer_norm_grad_run(KernelFrame& f, const LayerNormGradAttrs& a) {
  const Tensor &x = f.in[0], &dy = f.in[4];
  const Tensor &dweight = f.out[1], &dbias = f.out[2];
  if (zero_parameter_grads(f)) return;
  DType kind = weight_dtype(x, f.in[1], dbias);
  Tensor weight = as_dtype(f.in[1], kind);
  Tensor to_weight = dweight, to_bias = dbias;
  if (dweight.dtype() != kind) to_weight = Tensor::empty(dweight.shape(), kind, x.place());
  if (dbias.dtype() != kind) to_bias = Tensor::empty(dbias.shape(), kind, x.place());
  cpu::layer_norm_grad(row_norm(x, a.begin_norm_axis, a.epsilon, a.rms, kind), x.raw(),
                       raw_or_null(weight), a.rms ? nullptr : f.in[2].raw(), f.in[3].raw(),
                       dy.raw(), f.out[0].raw(), f.in[1].defined() ? to_weight.raw() : nullptr,
                       a.bias ? to_bias.raw() : nullptr);
  if (!to_weight.is(dweight)) op::copy_into(dweight, to_weight);
  if (!to_bias.is(dbias)) op::copy_into(dbias, to_bias);
}

// weight in the shape of the normalized axes.
Tensor shaped(const Tensor& weight, const Tensor& x, int64_t begin) {
  if (!weight.defined() || weight.rank() == x.rank() - begin) return weight;
  Shape inner = split_shape(x.shape(), begin).inner;
  if (inner.known()) return reshape(weight, op::IntArray(inner));
  op::IntArray leading;
  for (int64_t i = 0; i < begin; ++i) leading.values.push_back(i);
  return reshape_like(weight, leading.size() ? sum(x, leading, false) : x);
}

template <bool kRms>
Tensors layer_norm_parts(const Inputs& in, const LayerNormAttrs& a) {
  Tensor x = widened(in[0]);
  op::IntArray axes;
  for (int64_t i = a.begin_norm_axis; i < x.rank(); ++i) axes.values.push_back(i);
  Tensor center = kRms ? Tensor() : mean(x, axes, true);
  Tensor d = kRms ? x : subtract(x, center);
  Tensor rstd = rsqrt(scale(mean(square(d), axes, true), 1, a.epsilon));
  Tensor y = multiply(d, rstd);
  auto of_inner = [&](const Tensor& t) { return shaped(widened(t), x, a.begin_norm_axis); };
  if (in[1].defined()) y = multiply(y, of_inner(in[1]));
  if (in[2].defined()) y = add(y, of_inner(in[2]));
  Tensors out;
  out.push_back(cast(y, in[0].dtype()));
  out.push_back(kRms ? Tensor() : squeeze(center, axes));
  out.push_back(squeeze(rstd, axes));
  return out;
}

Tensors layer_norm_grad_parts(const Inputs& in, const LayerNormGradAttrs& a) {
  Tensor x = widened(in[0]), dy = widened(in[4]);
  Tensor weight = shaped(widened(in[1]), x, a.begin_norm_axis);
  op::IntArray axes;
  for (int64_t i = a.begin_norm_axis; i < x.rank(); ++i) axes.values.push_back(i);
  Normalized n =
      normalize_parts(x, weight.defined() ? multiply(dy, weight) : dy, axes, a.epsilon, !a.rms);
  Tensor dweight, dbias;
  op::IntArray leading;
  for (int64_t i = 0; i < a.begin_norm_axis; ++i) leading.values.push_back(i);
  auto over_rows = [&](const Tensor& t) { return leading.size() ? sum(t, leading, false) : t; };
  if (weight.defined())
    dweight = cast(reshape_like(over_rows(multiply(dy, n.y)), in[1]), in[1].dtype());
  if (a.bias)
    dbias = cast(over_rows(dy), in[1].defined() ? in[1].dtype() : statistics_dtype(x.dtype()));
  Tensors out;
  out.push_back(cast(n.dx, in[0].dtype()));
  out.push_back(dweight);
  out.push_back(dbias);
  return out;
}

// From the gradients of dx, dweight and dbias.
Tensors layer_norm_grad_second(const GradCall& c, const LayerNormGradAttrs& a) {
  Tensor x = widened(c.in[0]), dy = widened(c.in[4]), h = widened(c.dy(0));
  auto of_inner = [&](const Tensor& t) { return shaped(widened(t), x, a.begin_norm_axis); };
  Tensor weight = of_inner(c.in[1]), to_weight, to_bias;
  if (weight.defined()) to_weight = of_inner(c.dy(1));
  if (a.bias) to_bias = of_inner(c.dy(2));
  op::IntArray axes, leading;
  for (int64_t i = 0; i < x.rank(); ++i)
    (i < a.begin_norm_axis ? leading : axes).values.push_back(i);
  auto weighted = [&](const Tensor& t) { return weight.defined() ? multiply(t, weight) : t; };
  NormalizedGrads n = normalize_parts_grad(x, weighted(dy), h,
                                           to_weight.defined() ? multiply(dy, to_weight) : Tensor(),
                                           axes, a.epsilon, !a.rms);
  Tensor dweight, ddy = to_bias;
  if (to_weight.defined()) ddy = sum_of(ddy, multiply(n.y, to_weight));
  if (h.defined()) ddy = sum_of(ddy, weighted(n.dg));
  if (weight.defined() && h.defined()) {
    Tensor rows = multiply(dy, n.dg);
    dweight = reshape_like(leading.size() ? sum(rows, leading, false) : rows, c.in[1]);
  }
  return {n.dx.defined() ? cast(n.dx, c.in[0].dtype()) : Tensor(),
          dweight.defined() ? cast(dweight, c.in[1].dtype()) : Tensor(), Tensor(), Tensor(),
          ddy.defined() ? cast(expand_like(ddy, c.in[4]), c.in[4].dtype()) : Tensor()};
}

ARGOSY_OP(layer_norm_grad, LayerNormGradAttrs)
    .doc("Gradients of layer_norm and rms_norm, from x, the weight, the statistics and dy.")
    .input("x", kFloating, Save::value)
    .optional_input("weight", kFloating, Save::value)
    .input("mean", kFloating)
    .input("rstd", kFloating)
    .input("dy", kFloating, Save::value)
    .output("dx")
    .output("dweight")
    .output("dbias")
    .infer(layer_norm_grad_infer)
    .kernel("rows", layer_norm_grad_run)
    .overwrites()
    .compose(layer_norm_grad_parts)
    .gradient(layer_norm_grad_second)
    .done();

template <bool kRms>
Tensors layer_norm_grad_rule(const GradCall& c, const LayerNormAttrs& a) {
  const Tensor &weight = c.in[1], &bias = c.in[2];
  Tensors grads = layer_norm_grad_op.all({c.in[0], weight, c.out(1), c.out(2), c.dy()},
                                         {a.begin_norm_axis, a.epsilon, kRms, bias.defined()});
  Tensors out{grads[0], Tensor(), Tensor()};
  if (weight.defined()) out[1] = grads[1];
  if (bias.defined()) out[2] = cast(reshape_like(grads[2], bias), bias.dtype());
  return out;
}

ARGOSY_OP(layer_norm, LayerNormAttrs)
    .doc(
        "(x - mean) / sqrt(variance + epsilon) * weight + bias, over the axes from begin_norm_axis "
        "on. weight and bias have one number for each element of these axes.")
    .shape("x [*s], weight [*w], bias [*w] -> [*s]")
    .paper("1607.06450")
    .input("x", kFloating, Save::value)
    .optional_input("weight", kFloating, Save::value)
    .optional_input("bias", kFloating, Save::shape)
    .output("out")
    .hidden_output("mean")
    .hidden_output("rstd")
    .infer(layer_norm_infer)
    .kernel("rows", layer_norm_run<false>)
    .compose(layer_norm_parts<false>)
    .gradient(layer_norm_grad_rule<false>)
    .again()
    .amp(op::Amp::full, op::Amp::leading)
    .done();

ARGOSY_OP(rms_norm, LayerNormAttrs)
    .doc("x / sqrt(mean(x^2) + epsilon) * weight + bias, over the axes from begin_norm_axis on.")
    .shape("x [*s], weight [*w], bias [*w] -> [*s]")
    .paper("1910.07467")
    .input("x", kFloating, Save::value)
    .optional_input("weight", kFloating, Save::value)
    .optional_input("bias", kFloating, Save::shape)
    .output("out")
    .hidden_output("mean")
    .hidden_output("rstd")
    .infer(layer_norm_infer)
    .kernel("rows", layer_norm_run<true>)
    .gradient(layer_norm_grad_rule<true>)
    .again()
    .done();

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  int64_t begin_norm_axis, double epsilon) {
  return layer_norm_op(x, weight, bias, LayerNormAttrs{begin_norm_axis, epsilon});
}

}  // namespace argosy::ops

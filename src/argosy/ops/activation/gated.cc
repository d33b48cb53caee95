#include <algorithm>

#include "argosy/ops/activation/activation.h"
#include "argosy/ops/activation/family.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// Activations that take channels together or have a weight.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

// --- halves of an axis ---

struct GluAttrs {
  int64_t axis = -1;
};
ARGOSY_ATTRS(GluAttrs, axis)

void check_has_axis(const char* op, const Shape& x) {
  ARGOSY_CHECK(x.rank() > 0, invalid_argument)
      << '[' << op << "] x must have an axis to be divided, its shape is " << x
      << ". Do this: reshape x.";
}

Shape half_shape(const char* op, const Shape& x, int64_t axis) {
  check_has_axis(op, x);
  int d = normalize_axis(op, axis, x.rank());
  ARGOSY_CHECK(x[d] < 0 || x[d] % 2 == 0, invalid_argument)
      << '[' << op << "] the size of axis " << d << " must be even to be halved, x is " << x
      << ". Do this: slice or pad x on that axis, or choose another axis.";
  Shape out = x;
  if (out[d] > 0) out[d] /= 2;
  return out;
}

struct Halves {
  Tensor first, second;
};
Halves halves_of(const char* name, const Tensor& x, int64_t axis) {
  Tensors parts = split(x, op::IntArray::one(2), normalize_axis(name, axis, x.rank()));
  return {parts[0], parts[1]};
}

void glu_infer(InferContext& c, const GluAttrs& a) {
  c.out[0].shape = half_shape("glu", c.in[0].shape(), a.axis);
}
Tensors glu_parts(const Inputs& in, const GluAttrs& a) {
  Halves h = halves_of("glu", in[0], a.axis);
  return multiply(h.first, sigmoid(h.second));
}

ARGOSY_OP(glu, GluAttrs)
    .python("nn.functional.glu(x, axis=-1, name=None)")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc("The first half of x along axis times the sigmoid of the second.")
    .shape("x [*a,n@axis,*b] -> [*a,n/2,*b]")
    .example(R"(>>> F = argosy.nn.functional
>>> F.glu(argosy.to_tensor([1.0, 2.0, 0.0, 0.0])).tolist()
[0.5, 1.0])")
    .paper("1612.08083")
    .input("x", kFloating)
    .output("out")
    .infer(glu_infer)
    .compose(glu_parts)
    .done();

void swiglu_infer(InferContext& c, const NoAttrs&) {
  if (!c.in[1].defined()) c.out[0].shape = half_shape("swiglu", c.in[0].shape(), -1);
}
Tensors swiglu_parts(const Inputs& in, const NoAttrs&) {
  if (in[1].defined()) return multiply(silu(in[0]), in[1]);
  Halves h = halves_of("swiglu", in[0], -1);
  return multiply(silu(h.first), h.second);
}

ARGOSY_OP(swiglu, NoAttrs)
    .python("nn.functional.swiglu(x, y=None, name=None)")
    .doc("silu(x) * y; without y the halves of x along its last axis take their places.")
    .shape("x [*b,n] -> [*b,n/2] | x [*s], y [*s] -> [*s]")
    .example(R"(>>> F = argosy.nn.functional
>>> F.swiglu(argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([3.0, 4.0])).tolist()
[2.1932, 7.0464])")
    .paper("2002.05202")
    .input("x", kFloating)
    .optional_input("y", kFloating)
    .output("out")
    .infer(swiglu_infer)
    .compose(swiglu_parts)
    .again()
    .done();

// --- maxout ---

struct MaxoutAttrs {
  int64_t groups = 1, axis = 1;
};
ARGOSY_ATTRS(MaxoutAttrs, groups, axis)

void maxout_infer(InferContext& c, const MaxoutAttrs& a) {
  Shape& out = c.out[0].shape;
  ARGOSY_CHECK(a.groups > 1, invalid_argument) << "[maxout] groups must be greater than 1, got "
                                               << a.groups << ". Do this: pass groups=2 or more.";
  check_has_axis("maxout", out);
  int d = normalize_axis("maxout", a.axis, out.rank());
  ARGOSY_CHECK(a.axis == 1 || a.axis == -1 || a.axis == 3, invalid_argument)
      << "[maxout] axis: expected 1, -1 or 3, got " << a.axis << ". Do this: transpose x.";
  ARGOSY_CHECK(out[d] < 0 || out[d] % a.groups == 0, invalid_argument)
      << "[maxout] groups (" << a.groups << ") must divide the size of axis " << d << " of x "
      << out
      << ". Do this: choose groups, or the channels of the layer before, so that it divides.";
  if (out[d] > 0) out[d] /= a.groups;
}
Tensors maxout_parts(const Inputs& in, const MaxoutAttrs& a) {
  int d = normalize_axis("maxout", a.axis, in[0].rank());
  auto member = [&](int64_t i) { return slice(in[0], d, i, INT64_MAX, a.groups); };
  Tensor out = member(0);
  for (int64_t i = 1; i < a.groups; ++i) out = maximum(out, member(i));
  return out;
}

ARGOSY_OP(maxout, MaxoutAttrs)
    .python("nn.functional.maxout(x, groups, axis=1, name=None)")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc("The largest of each `groups` neighbouring channels (along axis).")
    .shape("x [*a,n@axis,*b] -> [*a,n/groups,*b]")
    .example(R"(>>> F = argosy.nn.functional
>>> F.maxout(argosy.arange(4.0).reshape([1, 4, 1, 1]), groups=2).flatten().tolist()
[1.0, 3.0])")
    .paper("1302.4389")
    .input("x", kFloating)
    .output("out")
    .infer(maxout_infer)
    .compose(maxout_parts)
    .done();

// --- prelu ---

struct PreluAttrs {
  std::string data_format = "NCHW";
};
ARGOSY_ATTRS(PreluAttrs, data_format)

bool channels_last(const PreluAttrs& a) {
  return a.data_format.size() > 2 && a.data_format.back() == 'C';
}

void prelu_infer(InferContext& c, const PreluAttrs& a) {
  ARGOSY_CHECK(c.in[1].dtype() == c.in[0].dtype(), type)
      << "[prelu] weight must have the dtype of x: expected " << c.in[0].dtype() << ", got "
      << c.in[1] << ". Do this: cast one of them with .astype(..).";
  const Shape &x = c.in[0].shape(), &w = c.in[1].shape();
  for (const char* known : {"NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC"})
    if (a.data_format == known) {
      if (w.numel() == 1 || w.numel() < 0) return;
      ARGOSY_CHECK(w.rank() == 1 && x.rank() > 1, invalid_argument)
          << "[prelu] weight must have one element, or one for each channel of an x with at least "
             "2 dimensions: weight is "
          << w << ", x is " << x << ". Do this: pass one element, or unsqueeze x.";
      int64_t channels = channels_last(a) ? x.back() : x[1];
      ARGOSY_CHECK(w[0] < 0 || channels < 0 || w[0] == channels, invalid_argument)
          << "[prelu] the size of weight must be the number of channels or 1: weight is " << w
          << ", x is " << x << " (" << a.data_format
          << "). Do this: make it with num_parameters=1 or the channels of x, or check "
             "data_format.";
      return;
    }
  ARGOSY_THROW(invalid_argument)
      << "[prelu] data_format must be one of 'NC', 'NCL', 'NCHW', 'NCDHW', 'NLC', 'NHWC', 'NDHWC', "
         "got '"
      << a.data_format << "'. Do this: pass 'NCHW', or 'NHWC' if channels are last.";
}

// The shape in which weight broadcasts over x.
op::IntArray weight_shape(const Tensor& x, const PreluAttrs& a) {
  op::IntArray shape{-1};
  if (!channels_last(a))
    for (int i = 2; i < x.rank(); ++i) shape.values.push_back(1);
  return shape;
}

void prelu_run(KernelFrame& f, const PreluAttrs& a) {
  Shape shape{f.in[1].numel()};
  for (size_t i = 1; i < weight_shape(f.in[0], a).size(); ++i) shape.push_back(1);
  const Tensor in[] = {f.in[0], f.in[1].view(shape, shape.contiguous_strides())};
  KernelFrame shaped{f.op, Inputs(in), f.out};
  if (f.in[0].rank() == 0) {
    const Tensor scalars[] = {f.in[0], f.in[1].view({}, {})};
    shaped.in = Inputs(scalars);
    return run_elementwise(shaped, cpu::prelu_loops());
  }
  run_elementwise(shaped, cpu::prelu_loops());
}

Tensors prelu_grad(const GradCall& c, const PreluAttrs& a) {
  const Tensor &x = c.in[0], &dy = c.dy();
  Tensor w =
      c.in[0].rank() == 0 ? reshape(c.in[1], op::IntArray{}) : reshape(c.in[1], weight_shape(x, a));
  Tensor dx, dw;
  if (c.needs(0)) {
    Tensor positive = above(x, 0);
    dx = multiply(dy, add(positive, multiply(scale(positive, -1, 1), w)));
  }
  if (c.needs(1)) {
    Tensor negative_part = negative(relu(negative(x)));
    dw = reshape_like(sum_like(multiply(dy, negative_part), w), c.in[1]);
  }
  return {dx, dw};
}

ARGOSY_OP(prelu, PreluAttrs)
    .python("nn.functional.prelu(x, weight, data_format='NCHW', name=None)")
    .alias("input", "x")
    .doc("x where it is positive, weight * x elsewhere; weight is [1] or one for each channel.")
    .shape("x [*s], weight [*w] -> [*s]")
    .example(R"(>>> F = argosy.nn.functional
>>> F.prelu(argosy.to_tensor([[-2.0, 3.0]]), argosy.to_tensor([0.25])).tolist()
[[-0.5, 3.0]])")
    .paper("1502.01852")
    .input("x", kFloating, Save::value)
    .input("weight", kFloating, Save::value)
    .output("out")
    .infer(prelu_infer)
    .kernel("loops", prelu_run)
    .on_loops()
    .gradient(prelu_grad)
    .done();

}  // namespace
}  // namespace argosy::ops

#include "argosy/kernels/cpu/conv.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "argosy/op/cost.h"
#include "argosy/op/define.h"
#include "argosy/ops/conv/conv.h"
#include "argosy/ops/conv/window.h"
#include "argosy/ops/elementwise.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"

// Convolutions of 1 to 3 dimensions and their transposed forms. Four linear maps make up all of it,
// so any order of gradient stays among them:
//   conv(x, w), conv_data(dy, w; form of x), conv_weight(x, dy; form of w), transposed = conv_data.
namespace argosy::ops {
namespace {

using op::Cost;
using op::cost_of_shapes;
using op::GradCall;
using op::InferContext;
using op::IntArray;
using op::KernelFrame;
using op::Save;

int64_t dilation_of(const ConvAttrs& a, int d) {
  return a.pad_alg == "SAME" ? 1 : a.dilation[static_cast<size_t>(d)];
}

void check_attrs(const char* op, const ConvAttrs& a, int dims) {
  auto first = [](std::span<const int64_t> list) {
    return Shape(list.first(std::min<size_t>(list.size(), 5)));
  };
  bool ok =
      static_cast<int>(a.stride.size()) == dims && static_cast<int>(a.dilation.size()) == dims;
  for (size_t i = 0; ok && i < a.stride.size(); ++i) ok = a.stride[i] > 0 && a.dilation[i] > 0;
  ARGOSY_CHECK(ok && a.groups > 0, invalid_argument)
      << '[' << op << "] stride, dilation and groups must be 1 or more, with " << dims
      << " strides and dilations: got stride " << first(a.stride) << ", dilation "
      << first(a.dilation) << ", groups " << a.groups
      << ". Do this: pass one int, or one for each spatial dimension.";
}

void check_weight(const char* op, const Shape& x, int channel, const Shape& w, int64_t groups) {
  int64_t in = x[channel];
  bool fits = w.rank() == x.rank() && (in < 0 || w[1] < 0 || in == w[1] * groups) &&
              (w[0] < 0 || w[0] % groups == 0);
  ARGOSY_CHECK(fits, invalid_argument)
      << '[' << op << "] weight must be [out, in / groups, kernel..] with in = " << in
      << " channels of x and out a multiple of groups = " << groups << ": x is " << x
      << ", weight is " << w << ". Do this: check in_channels, groups and data_format.";
}

// The form of y = conv(x, w).
Shape conv_shape(const char* op, const Shape& x, const Shape& w, const ConvAttrs& a) {
  int dims = x.rank() - 2;
  Spatial s = spatial_of(op, x, dims, a.cl);
  check_attrs(op, a, dims);
  check_weight(op, x, s.channel, w, a.groups);
  Shape out = x;
  out[s.channel] = w[0];
  for (int d = 0; d < dims; ++d) {
    int64_t in = x[s.first + d], k = w[2 + d], stride = a.stride[static_cast<size_t>(d)];
    Padding p = padding_of(op, a.padding, a.pad_alg, d, in, k, stride);
    if (in < 0 || k < 0) {
      out[s.first + d] = kUnknown;
      continue;
    }
    const int64_t extent = k ? counted_product(op, dilation_of(a, d), k - 1) + 1 : 0;
    int64_t n = cpu::conv_out_size(in, k, stride, dilation_of(a, d), p.before, p.after);
    // An empty sequence passes where one of a single element does: nothing in, nothing out.
    bool one_fits = cpu::conv_out_size(1, k, stride, dilation_of(a, d), p.before, p.after) > 0;
    ARGOSY_CHECK(n > 0 || (in == 0 && one_fits), invalid_argument)
        << '[' << op << "] the kernel does not fit: spatial dimension " << d << " has size " << in
        << " with padding " << p.before << " and " << p.after << ", the kernel needs " << extent
        << ". Do this: use a smaller kernel or more padding.";
    out[s.first + d] = n;
  }
  return out;
}

}  // namespace

cpu::ConvShape conv_kernel_shape(const char* op, const Shape& x, const Shape& w, const Shape& y,
                                 const ConvAttrs& a) {
  cpu::ConvShape s;
  s.dims = x.rank() - 2;
  Spatial at = spatial_of(op, x, s.dims, a.cl);
  s.channels_last = a.cl;
  s.batch = x[0];
  s.in_channels = x[at.channel];
  s.out_channels = w[0];
  s.groups = a.groups;
  for (int d = 0; d < s.dims; ++d) {
    s.in[d] = x[at.first + d];
    s.out[d] = y[at.first + d];
    s.kernel[d] = w[2 + d];
    s.stride[d] = a.stride[static_cast<size_t>(d)];
    s.dilation[d] = dilation_of(a, d);
    s.pad[d] = padding_of(op, a.padding, a.pad_alg, d, s.in[d], s.kernel[d], s.stride[d]).before;
  }
  return s;
}

namespace {

Tensor conv_any(const Tensor& x, const Tensor& w, const ConvAttrs& a);
Tensor conv_data(const Tensor& dy, const Tensor& w, const Tensor& like, const ConvAttrs& a);
Tensor conv_weight(const Tensor& x, const Tensor& dy, const Tensor& like, const ConvAttrs& a);

// --- conv ---

// The digit of conv2d, conv2d_transpose.
int dims_of_name(const char* name) {
  return name[4] - '0';
}

void check_bias(const InferContext& c, int64_t channels) {
  if (!c.in[2].defined()) return;
  const Shape& b = c.in[2].shape();
  ARGOSY_CHECK(b.numel() == channels || b.numel() < 0 || channels < 0, invalid_argument)
      << '[' << c.name() << "] bias must have one element for each of " << channels
      << " output channels, got shape " << b
      << ". Do this: make it with shape [out_channels], or pass None.";
}

void conv_infer(InferContext& c, const ConvAttrs& a) {
  spatial_of(c.name(), c.in[0].shape(), dims_of_name(c.name()), a.cl);
  c.out[0].shape = conv_shape(c.name(), c.in[0].shape(), c.in[1].shape(), a);
  check_bias(c, c.in[1].dim(0));
}
void conv_run(KernelFrame& f, const ConvAttrs& a) {
  const Tensor &x = f.in[0], &w = f.in[1], &y = f.out[0];
  if (y.numel() == 0) return;
  cpu::conv_forward(x.dtype(), conv_kernel_shape(f.name(), x.shape(), w.shape(), y.shape(), a),
                    x.raw(), w.raw(), f.in[2].defined() ? f.in[2].raw() : nullptr, y.raw());
}
// The sum over all but channels, in bias's form.
Tensor bias_grad(const Tensor& dy, const Tensor& bias, bool channels_last) {
  if (channels_last) return sum_like(dy, bias);
  Tensor column = bias;
  for (int d = 0; d < dy.rank() - 2; ++d) column = unsqueeze(column, {1 + d});
  return reshape_like(sum_like(dy, column), bias);
}
Tensors conv_grad(const GradCall& c, const ConvAttrs& a) {
  // That of x last: processes exchange the others meanwhile.
  Tensor dx, dw, db;
  if (c.needs(1)) dw = conv_weight(c.in[0], c.dy(), c.in[1], a);
  if (c.needs(2)) db = bias_grad(c.dy(), c.in[2], a.cl);
  if (c.needs(0)) dx = conv_data(c.dy(), c.in[1], c.in[0], a);
  return {dx, dw, db};
}
// Each element on the output's side meets the weights of its channel.
double arithmetic_of(int64_t outputs, const Shape& w) {
  return w[0] ? 2.0 * static_cast<double>(outputs) * static_cast<double>(w.numel()) /
                    static_cast<double>(w[0])
              : 0;
}
Cost conv_cost(const InferContext& c, const ConvAttrs&) {
  return cost_of_shapes(c, arithmetic_of(c.out[0].shape.numel(), c.in[1].shape()));
}

#define ARGOSY_CONV(name, precision)                                                            \
  ARGOSY_OP(name, ConvAttrs)                                                                    \
      .shape(                                                                                   \
          "x [n,c,*s], weight [o,c/groups,*k], bias [o] -> [n,o,*s'] | x [n,*s,c], weight "     \
          "[o,c/groups,*k], bias [o] -> [n,*s',o]")                                             \
      .doc("Cross-correlation of x with weight [out, in / groups, kernel..], plus bias [out].") \
      .input("x", kFloating, Save::others)                                                      \
      .input("weight", kFloating, Save::others)                                                 \
      .optional_input("bias", kFloating, Save::shape)                                           \
      .output("out")                                                                            \
      .promote()                                                                                \
      .infer(conv_infer)                                                                        \
      .kernel("direct", conv_run)                                                               \
      .gradient(conv_grad)                                                                      \
      .cost(conv_cost)                                                                          \
      .amp(precision)                                                                           \
      .done();
ARGOSY_CONV(conv1d, op::Amp::lower)
ARGOSY_CONV(conv2d, op::Amp::lower)
ARGOSY_CONV(conv3d, op::Amp::follow)
#undef ARGOSY_CONV

// --- the gradient in x: from dy and w, in the form of x ---

void conv_data_infer(InferContext& c, const ConvAttrs& a) {
  expect_rank(c, 2, 3, 5);
  expect_shape(c, 0, conv_shape(c.name(), c.in[2].shape(), c.in[1].shape(), a));
  expect_dtype(c, 1, c.in[0].dtype());
  c.out[0].shape = c.in[2].shape();
}
void conv_data_run(KernelFrame& f, const ConvAttrs& a) {
  const Tensor &dy = f.in[0], &w = f.in[1], &x = f.out[0];
  if (x.numel() == 0) return;
  cpu::conv_backward_data(x.dtype(),
                          conv_kernel_shape(f.name(), x.shape(), w.shape(), dy.shape(), a),
                          dy.raw(), w.raw(), x.raw());
}
Tensors conv_data_grad(const GradCall& c, const ConvAttrs& a) {
  return {c.needs(0) ? conv_any(c.dy(), c.in[1], a) : Tensor(),
          c.needs(1) ? conv_weight(c.dy(), c.in[0], c.in[1], a) : Tensor(), Tensor()};
}

Cost conv_data_cost(const InferContext& c, const ConvAttrs&) {
  return cost_of_shapes(c, arithmetic_of(c.in[0].numel(), c.in[1].shape()));
}

ARGOSY_OP(conv_data, ConvAttrs)
    .doc("The gradient of a convolution in its input: dy spread by weight over the form of `like`.")
    .input("dy", kFloating, Save::value)
    .input("weight", kFloating, Save::value)
    .input("like")
    .shape_only()
    .output("out")
    .infer(conv_data_infer)
    .kernel("direct", conv_data_run)
    .gradient(conv_data_grad)
    .cost(conv_data_cost)
    .done();

// --- the gradient in w: from x and dy, in the form of w ---

void conv_weight_infer(InferContext& c, const ConvAttrs& a) {
  expect_rank(c, 0, 3, 5);
  expect_shape(c, 1, conv_shape(c.name(), c.in[0].shape(), c.in[2].shape(), a));
  expect_dtype(c, 1, c.in[0].dtype());
  c.out[0].shape = c.in[2].shape();
}
void conv_weight_run(KernelFrame& f, const ConvAttrs& a) {
  const Tensor &x = f.in[0], &dy = f.in[1], &w = f.out[0];
  if (w.numel() == 0) return;
  if (dy.numel() == 0) {
    std::memset(w.raw(), 0, static_cast<size_t>(w.nbytes()));
    return;
  }
  cpu::conv_backward_weights(x.dtype(),
                             conv_kernel_shape(f.name(), x.shape(), w.shape(), dy.shape(), a),
                             x.raw(), dy.raw(), w.raw(), nullptr);
}
Tensors conv_weight_grad(const GradCall& c, const ConvAttrs& a) {
  return {c.needs(0) ? conv_data(c.in[1], c.dy(), c.in[0], a) : Tensor(),
          c.needs(1) ? conv_any(c.in[0], c.dy(), a) : Tensor(), Tensor()};
}

Cost conv_weight_cost(const InferContext& c, const ConvAttrs&) {
  return cost_of_shapes(c, arithmetic_of(c.in[1].numel(), c.in[2].shape()));
}

ARGOSY_OP(conv_weight, ConvAttrs)
    .doc("The gradient of a convolution in its weight, in the form of `like`.")
    .input("x", kFloating, Save::value)
    .input("dy", kFloating, Save::value)
    .input("like")
    .shape_only()
    .output("out")
    .infer(conv_weight_infer)
    .kernel("direct", conv_weight_run)
    .gradient(conv_weight_grad)
    .cost(conv_weight_cost)
    .done();

Tensor conv_any(const Tensor& x, const Tensor& w, const ConvAttrs& a) {
  const auto& op = x.rank() == 3 ? conv1d_op : x.rank() == 4 ? conv2d_op : conv3d_op;
  return op(x, w, Tensor(), a);
}
Tensor conv_data(const Tensor& dy, const Tensor& w, const Tensor& like, const ConvAttrs& a) {
  return conv_data_op(dy, w, like, a);
}
Tensor conv_weight(const Tensor& x, const Tensor& dy, const Tensor& like, const ConvAttrs& a) {
  return conv_weight_op(x, dy, like, a);
}

// --- transposed ---

ConvAttrs plain(const ConvTransposeAttrs& a) {
  return {a.stride, a.padding, a.pad_alg, a.dilation, a.groups, a.cl};
}

Shape transposed_shape(const char* op, const Shape& x, const Shape& w,
                       const ConvTransposeAttrs& t) {
  int dims = x.rank() - 2;
  Spatial s = spatial_of(op, x, dims, t.cl);
  ConvAttrs a = plain(t);
  check_attrs(op, a, dims);
  bool fits = w.rank() == x.rank() && (x[s.channel] == w[0] || x[s.channel] < 0 || w[0] < 0) &&
              (w[0] < 0 || w[0] % t.groups == 0);
  ARGOSY_CHECK(fits, invalid_argument)
      << '[' << op << "] weight must be [in, out / groups, kernel..] with in = " << x[s.channel]
      << " channels of x, a multiple of groups = " << t.groups << ": x is " << x << ", weight is "
      << w << ". Do this: check in_channels, groups and data_format.";
  Shape out = x;
  out[s.channel] = w[1] < 0 ? kUnknown : w[1] * t.groups;
  for (int d = 0; d < dims; ++d) {
    int64_t in = x[s.first + d], k = w[2 + d], stride = t.stride[static_cast<size_t>(d)];
    if (in < 0 || k < 0) {
      out[s.first + d] = kUnknown;
      continue;
    }
    Padding p = padding_of(op, t.padding, t.pad_alg, d, in, k, stride);
    int64_t n = counted_product(op, in - 1, stride) - p.before - p.after +
                counted_product(op, dilation_of(a, d), k - 1) + 1;
    if (t.output_size.size()) {
      int64_t wanted = t.output_size[static_cast<size_t>(d)];
      ARGOSY_CHECK(wanted >= n && wanted < n + stride, invalid_argument)
          << '[' << op << "] output_size must be from " << n << " to " << n + stride - 1
          << " in spatial dimension " << d << ", got " << wanted
          << ". Do this: leave it out, or pass a size of that range.";
      n = wanted;
    } else if (!t.output_padding.empty()) {
      n += t.output_padding[static_cast<size_t>(d)];
    }
    ARGOSY_CHECK(n > 0, invalid_argument)
        << '[' << op << "] the output would have size " << n << " in spatial dimension " << d
        << ". Do this: use less padding.";
    out[s.first + d] = n;
  }
  return out;
}

}  // namespace

ConvAttrs explicit_attrs(const Shape& x, const Shape& w, const ConvTransposeAttrs& t) {
  ConvAttrs a = plain(t);
  if (t.pad_alg != "SAME") return a;
  a.padding.clear();
  a.dilation.assign(a.dilation.size(), 1);
  int first = t.cl ? 1 : 2;
  for (int d = 0; d < x.rank() - 2; ++d) {
    Padding p = padding_of("conv_transpose", {}, "SAME", d, x[first + d], w[2 + d],
                           a.stride[static_cast<size_t>(d)]);
    a.padding.push_back(p.before);
    a.padding.push_back(p.after);
  }
  a.pad_alg = "EXPLICIT";
  return a;
}

namespace {

void transpose_infer(InferContext& c, const ConvTransposeAttrs& a) {
  spatial_of(c.name(), c.in[0].shape(), dims_of_name(c.name()), a.cl);
  c.out[0].shape = transposed_shape(c.name(), c.in[0].shape(), c.in[1].shape(), a);
  check_bias(c, c.out[0].shape[a.cl ? c.out[0].shape.rank() - 1 : 1]);
}
void transpose_run(KernelFrame& f, const ConvTransposeAttrs& t) {
  const Tensor &x = f.in[0], &w = f.in[1], &y = f.out[0];
  if (y.numel() == 0) return;
  ConvAttrs a = explicit_attrs(x.shape(), w.shape(), t);
  cpu::conv_backward_data(y.dtype(),
                          conv_kernel_shape(f.name(), y.shape(), w.shape(), x.shape(), a), x.raw(),
                          w.raw(), y.raw());
  if (!f.in[2].defined()) return;
  Shape column = Shape::filled(y.rank(), 0);
  column[t.cl ? y.rank() - 1 : 1] = 1;
  const cpu::Operand operands[] = {{y.raw(), y.strides().data(), item_size(y.dtype())},
                                   {f.in[2].raw(), column.data(), item_size(y.dtype())},
                                   {y.raw(), y.strides().data(), item_size(y.dtype())}};
  cpu::run_loop(cpu::add_loops()[y.dtype()], y.shape(), operands);
}
Tensors transpose_grad(const GradCall& c, const ConvTransposeAttrs& t) {
  bool known = true;
  for (int d = 0; d < c.in[0].rank() - 2; ++d)
    known = known && c.in[0].dim((t.cl ? 1 : 2) + d) >= 0 && c.in[1].dim(2 + d) >= 0;
  ARGOSY_CHECK(t.pad_alg != "SAME" || known, not_implemented)
      << "[conv_transpose] padding='SAME' needs known spatial sizes for its gradient. Do this: "
         "give the "
         "padding as numbers.";
  ConvAttrs a = explicit_attrs(c.in[0].shape(), c.in[1].shape(), t);
  // Sizes that output_padding adds do not change what conv gives back: it has x's form.
  Tensor dx, dw, db;
  if (c.needs(1)) dw = conv_weight(c.dy(), c.in[0], c.in[1], a);
  if (c.needs(2)) db = bias_grad(c.dy(), c.in[2], t.cl);
  if (c.needs(0)) dx = conv_any(c.dy(), c.in[1], a);
  return {dx, dw, db};
}

#define ARGOSY_CONV_TRANSPOSE(name)                                                                \
  ARGOSY_OP(name, ConvTransposeAttrs)                                                              \
      .shape(                                                                                      \
          "x [n,c,*s], weight [c,o,*k], bias [o*groups] -> [n,o*groups,*s'] | x [n,*s,c], weight " \
          "[c,o,*k], bias [o*groups] -> [n,*s',o*groups]")                                         \
      .doc(                                                                                        \
          "Transposed convolution of x with weight [in, out / groups, kernel..], plus bias "       \
          "[out]: the gradient of the convolution with the same weight.")                          \
      .input("x", kFloating, Save::others)                                                         \
      .input("weight", kFloating, Save::others)                                                    \
      .optional_input("bias", kFloating, Save::shape)                                              \
      .output("out")                                                                               \
      .promote()                                                                                   \
      .infer(transpose_infer)                                                                      \
      .kernel("direct", transpose_run)                                                             \
      .gradient(transpose_grad)                                                                    \
      .done();
ARGOSY_CONV_TRANSPOSE(conv1d_transpose)
ARGOSY_CONV_TRANSPOSE(conv2d_transpose)
ARGOSY_CONV_TRANSPOSE(conv3d_transpose)
#undef ARGOSY_CONV_TRANSPOSE

}  // namespace
}  // namespace argosy::ops

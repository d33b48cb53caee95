#include "argosy/ops/conv/packed.h"

#include <algorithm>

#include "argosy/op/cost.h"
#include "argosy/ops/conv/packed_epilogue.h"

namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;

constexpr DTypes kFloat32 = only(DType::float32), kBytes = only(DType::uint8);

// --- products ---

void pack_linear_infer(InferContext& c, const PackedLinearAttrs& a) {
  expect_shape(c, 0, {a.in, a.out});
  const int64_t bytes = cpu::packed_linear_bytes(a.in, a.out);
  ARGOSY_CHECK(bytes > 0, not_implemented)
      << "[pack_linear] no order is better for a matrix " << Shape{a.in, a.out}
      << " than that which it has. Do this: leave it as it is.";
  c.out[0] = {{bytes}, DType::uint8};
}
void pack_linear_run(KernelFrame& f, const PackedLinearAttrs& a) {
  const Tensor& w = f.in[0];
  cpu::pack_linear(a.in, a.out, w.data<float>(), w.strides()[0], w.strides()[1], f.out[0].raw());
}

ARGOSY_OP(pack_linear, PackedLinearAttrs)
    .doc("The matrix of a product, [in, out], in the order that packed_linear reads.")
    .input("weight", kFloat32)
    .index_output("out")
    .infer(pack_linear_infer)
    .kernel("reorder", pack_linear_run)
    .strided()
    .done();

void linear_infer(InferContext& c, const PackedLinearAttrs& a) {
  const Shape& x = c.in[0].shape();
  ARGOSY_CHECK(x.rank() >= 1 && may_equal(x.back(), a.in), invalid_argument)
      << "[packed_linear] expected x [.., " << a.in << "], got " << x << '.';
  expect_packed(c, 1, cpu::packed_linear_bytes(a.in, a.out));
  check_post(c, a.post);
  c.out[0] = {x, DType::float32};
  c.out[0].shape[x.rank() - 1] = a.out;
  expect_epilogue(c, a.out);
}
void linear_run(KernelFrame& f, const PackedLinearAttrs& a) {
  const Tensor& y = f.out[0];
  if (y.numel() == 0) return;
  cpu::packed_linear(y.numel() / a.out, a.in, a.out, f.in[0].data<float>(), f.in[1].raw(),
                     epilogue_of(f, a), y.data<float>());
}
op::Cost linear_cost(const InferContext& c, const PackedLinearAttrs& a) {
  return op::cost_of_shapes(
      c, 2.0 * static_cast<double>(c.out[0].shape.numel()) * static_cast<double>(a.in));
}

ARGOSY_OP(packed_linear, PackedLinearAttrs)
    .doc(
        "scale * post(x [.., in] times a matrix [in, out] of pack_linear, plus bias [out], plus "
        "residual) + shift.")
    .input("x", kFloat32)
    .input("weight", kBytes)
    .optional_input("bias", kFloat32)
    .optional_input("residual", kFloat32)
    .index_output("out")
    .infer(linear_infer)
    .kernel("packed", linear_run)
    .cost(linear_cost)
    .done();

// --- convolutions ---

void check_attrs(const InferContext& c, const PackedConvAttrs& a) {
  bool good = a.kernel.size() == 2 && a.stride.size() == 2 && a.dilation.size() == 2 &&
              a.padding.size() == 4 && a.form.size() == 2 && a.groups > 0 && a.in > 0 &&
              a.out > 0 && a.in % a.groups == 0 && a.out % a.groups == 0;
  auto within = [&](const std::vector<int64_t>& list, int64_t least) {
    for (int64_t v : list) good = good && v >= least && v < (int64_t{1} << 24);
  };
  for (const auto* list : {&a.kernel, &a.stride, &a.dilation, &a.form}) within(*list, 1);
  within(a.padding, 0);
  ARGOSY_CHECK(good, invalid_argument)
      << '[' << c.name()
      << "] expected two kernel sizes, strides, dilations and sizes of the form, four paddings, "
         "and groups that divide both numbers of channels. Do this: check the attributes.";
}

int64_t out_size(const PackedConvAttrs& a, size_t d, int64_t in) {
  return cpu::conv_out_size(in, a.kernel[d], a.stride[d], a.dilation[d], a.padding[2 * d],
                            a.padding[2 * d + 1]);
}

cpu::ConvShape shape_of(const PackedConvAttrs& a, int64_t batch, int64_t h, int64_t w) {
  cpu::ConvShape s;
  s.dims = 2;
  s.channels_last = true;
  s.batch = batch;
  s.in_channels = a.in;
  s.out_channels = a.out;
  s.groups = a.groups;
  const int64_t in[] = {h, w};
  for (size_t d = 0; d < 2; ++d) {
    s.in[d] = in[d];
    s.out[d] = out_size(a, d, in[d]);
    s.kernel[d] = a.kernel[d];
    s.stride[d] = a.stride[d];
    s.dilation[d] = a.dilation[d];
    s.pad[d] = a.padding[2 * d];
  }
  return s;
}

cpu::ConvShape form_of(const PackedConvAttrs& a) {
  return shape_of(a, 1, a.form[0], a.form[1]);
}

int64_t bytes_of(const PackedConvAttrs& a) {
  const cpu::ConvShape form = form_of(a);
  return form.out[0] > 0 && form.out[1] > 0 ? cpu::packed_conv_bytes(form) : 0;
}

void pack_conv_infer(InferContext& c, const PackedConvAttrs& a) {
  check_attrs(c, a);
  expect_shape(c, 0, {a.out, a.in / a.groups, a.kernel[0], a.kernel[1]});
  const int64_t bytes = bytes_of(a);
  ARGOSY_CHECK(bytes > 0, not_implemented)
      << "[pack_conv2d] there is no vector code for such a convolution with channels last. Do "
         "this: leave it as it is.";
  c.out[0] = {{bytes}, DType::uint8};
}
void pack_conv_run(KernelFrame& f, const PackedConvAttrs& a) {
  cpu::pack_conv(form_of(a), f.in[0].data<float>(), f.out[0].raw());
}

ARGOSY_OP(pack_conv2d, PackedConvAttrs)
    .doc(
        "The weights of a convolution, [out, in / groups, kernel..], in the order that "
        "packed_conv2d reads.")
    .input("weight", kFloat32)
    .index_output("out")
    .infer(pack_conv_infer)
    .kernel("reorder", pack_conv_run)
    .done();

// x may be without rows: then there is one.
void conv_infer(InferContext& c, const PackedConvAttrs& a) {
  check_attrs(c, a);
  expect_rank(c, 0, 3, 4);
  const Shape& x = c.in[0].shape();
  const int rank = x.rank();
  ARGOSY_CHECK(may_equal(x.back(), a.in) && (rank == 4 || a.kernel[0] == 1), invalid_argument)
      << "[packed_conv2d] expected x " << (a.kernel[0] == 1 ? "[n, w, " : "[n, h, w, ") << a.in
      << "], got " << x << '.';
  expect_packed(c, 1, bytes_of(a));
  check_post(c, a.post);
  c.out[0] = {x, DType::float32};
  Shape& y = c.out[0].shape;
  y[rank - 1] = a.out;
  for (int d = rank == 4 ? 0 : 1; d < 2; ++d) {
    const int axis = rank - 3 + d;
    if (x[axis] < 0) continue;
    y[axis] = out_size(a, static_cast<size_t>(d), x[axis]);
    ARGOSY_CHECK(y[axis] > 0, invalid_argument)
        << "[packed_conv2d] the kernel does not fit: spatial dimension " << d << " of x has size "
        << x[axis] << ". Do this: use a larger input.";
  }
  expect_epilogue(c, a.out);
}
void conv_run(KernelFrame& f, const PackedConvAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  const int64_t rows = x.rank() == 4 ? x.dim(1) : 1;
  cpu::packed_conv(form_of(a), shape_of(a, x.dim(0), rows, x.dim(-2)), x.data<float>(),
                   f.in[1].raw(), epilogue_of(f, a), y.data<float>());
}
op::Cost conv_cost(const InferContext& c, const PackedConvAttrs& a) {
  double taps = 2.0 * static_cast<double>(a.in / std::max<int64_t>(a.groups, 1));
  for (int64_t k : a.kernel) taps *= static_cast<double>(k);
  return op::cost_of_shapes(c, taps * static_cast<double>(c.out[0].shape.numel()));
}

ARGOSY_OP(packed_conv2d, PackedConvAttrs)
    .doc(
        "scale * post(cross-correlation of x [n, h, w, in] with weights of pack_conv2d, plus bias "
        "[out], plus residual) + shift: [n, h, w, out]. Or without h, where it is 1.")
    .input("x", kFloat32)
    .input("weight", kBytes)
    .optional_input("bias", kFloat32)
    .optional_input("residual", kFloat32)
    .index_output("out")
    .infer(conv_infer)
    .kernel("packed", conv_run)
    .cost(conv_cost)
    .done();

}  // namespace

int64_t packed_bytes(const PackedLinearAttrs& a) {
  return cpu::packed_linear_bytes(a.in, a.out);
}
int64_t packed_bytes(const PackedConvAttrs& a) {
  return bytes_of(a);
}
bool can_pack(const PackedLinearAttrs& a) {
  return packed_bytes(a) > 0;
}
bool can_pack(const PackedConvAttrs& a) {
  return packed_bytes(a) > 0;
}
Tensor pack(const Tensor& weight, const PackedLinearAttrs& a) {
  return pack_linear_op(weight, a);
}
Tensor pack(const Tensor& weight, const PackedConvAttrs& a) {
  return pack_conv2d_op(weight, a);
}

}  // namespace argosy::ops

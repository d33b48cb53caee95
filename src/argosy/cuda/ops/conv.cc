#include "argosy/kernels/cuda/conv.h"

#include <algorithm>

#include "argosy/base/flags.h"
#include "argosy/cuda/call.h"
#include "argosy/cuda/channels_last.h"
#include "argosy/kernels/cuda/conv_last.h"
#include "argosy/ops/conv/conv.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;

ConvOptions options() {
  static const flags::Flag& tf32 = flags::find("FLAGS_allow_tf32");
  static const flags::Flag& deterministic = flags::find("FLAGS_cudnn_deterministic");
  static const flags::Flag& search = flags::find("FLAGS_cudnn_exhaustive_search");
  static const flags::Flag& limit = flags::find("FLAGS_conv_workspace_size_limit");
  ConvOptions o;
  o.tf32 = tf32.boolean();
  o.deterministic = deterministic.boolean();
  o.search = search.boolean();
  o.workspace = std::max<int64_t>(limit.integer(), 0) << 20;
  return o;
}

ConvShape shape_of(const cpu::ConvShape& given) {
  ConvShape s;
  s.dims = given.dims;
  s.channels_last = given.channels_last;
  s.batch = given.batch;
  s.in_channels = given.in_channels;
  s.out_channels = given.out_channels;
  s.groups = given.groups;
  for (int d = 0; d < given.dims; ++d) {
    const int at = 3 - given.dims + d;
    s.in[at] = given.in[d];
    s.out[at] = given.out[d];
    s.kernel[at] = given.kernel[d];
    s.stride[at] = given.stride[d];
    s.dilation[at] = given.dilation[d];
    s.pad[at] = given.pad[d];
  }
  return s;
}

ConvShape shape_of(const KernelFrame& f, const Tensor& x, const Tensor& w, const Tensor& y,
                   const ops::ConvAttrs& a) {
  return shape_of(ops::conv_kernel_shape(f.name(), x.shape(), w.shape(), y.shape(), a));
}

// Null: none.
const void* raw_or_null(const Tensor& t) {
  return t.defined() ? t.raw() : nullptr;
}
Tensor dense(const Tensor& t) {
  return t.defined() ? op::contiguous(t) : t;
}

// --- channels that lie last: true where that was done ---

bool forward_last(KernelFrame& f, const ConvShape& s, const ops::ConvAttrs& a) {
  const Tensor& x = f.in[0];
  if (a.cl || !may_lie_last(f.out[0]) || !takes_last(x.dtype(), s)) return false;
  const cudaStream_t stream = stream_of(f);
  const Tensor from = lying_last(x), w = dense(f.in[1]), bias = dense(f.in[2]);
  void* to = f.out[0].raw();
  const auto convolve = [&](const void* with) {
    return conv_last(ConvKind::forward, stream, x.dtype(), s, options(), from.raw(), w.raw(), to,
                     with);
  };
  const bool whole = bias.defined() && convolve(bias.raw());  // rounds once
  if (bias.defined() && !whole && s.is_light()) return false;
  if (!whole && !convolve(nullptr)) return false;
  if (bias.defined() && !whole)
    add_channel_bias(stream, x.dtype(), bias.raw(), s.batch * s.out_places(), s.out_channels, 1,
                     to);
  lay_last(f.out[0]);
  return true;
}

bool data_last(KernelFrame& f, const ConvShape& s, const ops::ConvAttrs& a) {
  const Tensor& dy = f.in[0];
  if (a.cl || !may_lie_last(f.out[0]) || !takes_last(dy.dtype(), s)) return false;
  const Tensor from = lying_last(dy), w = dense(f.in[1]);
  if (!conv_last(ConvKind::data, stream_of(f), dy.dtype(), s, options(), f.out[0].raw(), w.raw(),
                 from.raw()))
    return false;
  lay_last(f.out[0]);
  return true;
}

bool weight_last(const KernelFrame& f, const ConvShape& s, const ops::ConvAttrs& a) {
  const Tensor &x = f.in[0], &dy = f.in[1], &dw = f.out[0];
  if (a.cl || (!lies_last(x) && !lies_last(dy)) || !takes_last(x.dtype(), s)) return false;
  const Tensor from = lying_last(x), outer = lying_last(dy);
  return conv_last(ConvKind::weight, stream_of(f), x.dtype(), s, options(), from.raw(), dw.raw(),
                   outer.raw());
}

// Would it be asked for so in a plan? `x` and `w`: of the convolution.
bool lays_y(const op::Inputs& in, const void* attrs, const Tensor& y) {
  const auto& a = *static_cast<const ops::ConvAttrs*>(attrs);
  if (a.cl || in[0].rank() != 4) return false;
  return takes_last(y.dtype(), shape_of(ops::conv_kernel_shape("conv2d", in[0].shape(),
                                                               in[1].shape(), y.shape(), a)));
}
bool lays_dx(const op::Inputs& in, const void* attrs, const Tensor& dx) {
  const auto& a = *static_cast<const ops::ConvAttrs*>(attrs);
  if (a.cl || in[0].rank() != 4) return false;
  return takes_last(dx.dtype(), shape_of(ops::conv_kernel_shape("conv_data", dx.shape(),
                                                                in[1].shape(), in[0].shape(), a)));
}

// --- kernels ---

// f(memory) fills y as if it were contiguous.
template <class F>
void into_dense(const Tensor& y, F&& f) {
  if (y.is_contiguous()) return f(y.raw());
  const Tensor made = Tensor::empty(y.shape(), y.dtype(), y.place());
  f(made.raw());
  op::copy_into(y, made);
}

void run_conv(KernelFrame& f, const ops::ConvAttrs& a) {
  const Tensor& y = f.out[0];
  if (y.numel() == 0) return;
  const ConvShape s = shape_of(f, f.in[0], f.in[1], y, a);
  if (forward_last(f, s, a)) return;
  const Tensor x = dense(f.in[0]), w = dense(f.in[1]), bias = dense(f.in[2]);
  into_dense(y, [&](void* to) {
    conv_forward(stream_of(f), x.dtype(), s, options(), x.raw(), w.raw(), raw_or_null(bias), to);
  });
}

void run_data(KernelFrame& f, const ops::ConvAttrs& a) {
  const Tensor& dx = f.out[0];
  if (dx.numel() == 0) return;
  const ConvShape s = shape_of(f, dx, f.in[1], f.in[0], a);
  if (data_last(f, s, a)) return;
  const Tensor dy = dense(f.in[0]), w = dense(f.in[1]);
  into_dense(dx, [&](void* to) {
    conv_data(stream_of(f), dx.dtype(), s, options(), dy.raw(), w.raw(), to);
  });
}

void run_weight(KernelFrame& f, const ops::ConvAttrs& a) {
  const Tensor& dw = f.out[0];
  if (dw.numel() == 0) return;
  const ConvShape s = shape_of(f, f.in[0], dw, f.in[1], a);
  if (weight_last(f, s, a)) return;
  const Tensor x = dense(f.in[0]), dy = dense(f.in[1]);
  conv_weight(stream_of(f), x.dtype(), s, options(), x.raw(), dy.raw(), dw.raw());
}

void run_transposed(KernelFrame& f, const ops::ConvTransposeAttrs& t) {
  const Tensor &x = f.in[0], &w = f.in[1], &y = f.out[0];
  if (y.numel() == 0) return;
  const ops::ConvAttrs a = ops::explicit_attrs(x.shape(), w.shape(), t);
  const ConvShape s = shape_of(f, y, w, x, a);
  conv_data(stream_of(f), y.dtype(), s, options(), x.raw(), w.raw(), y.raw());
  const void* bias = raw_or_null(f.in[2]);
  if (bias && s.channels_last)
    add_channel_bias(stream_of(f), y.dtype(), bias, s.batch * s.in_places(), s.in_channels, 1,
                     y.raw());
  else if (bias)
    add_channel_bias(stream_of(f), y.dtype(), bias, s.batch, s.in_channels, s.in_places(), y.raw());
}

[[maybe_unused]] const bool laid[] = {
    register_lays_last("conv2d", lays_y),
    register_lays_last("conv_data", lays_dx),
};
[[maybe_unused]] const bool added[] = {
    add_kernel<ops::ConvAttrs>("conv1d", run_conv, /*strided=*/true),
    add_kernel<ops::ConvAttrs>("conv2d", run_conv, /*strided=*/true),
    add_kernel<ops::ConvAttrs>("conv3d", run_conv, /*strided=*/true),
    add_kernel<ops::ConvAttrs>("conv_data", run_data, /*strided=*/true),
    add_kernel<ops::ConvAttrs>("conv_weight", run_weight, /*strided=*/true),
    add_kernel<ops::ConvTransposeAttrs>("conv1d_transpose", run_transposed),
    add_kernel<ops::ConvTransposeAttrs>("conv2d_transpose", run_transposed),
    add_kernel<ops::ConvTransposeAttrs>("conv3d_transpose", run_transposed),
};

}  // namespace
}  // namespace argosy::cuda

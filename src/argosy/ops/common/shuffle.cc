#include <algorithm>
#include <cstring>

#include "argosy/op/define.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/creation/creation.h"

// Ops that move whole channels or pixels about; the gradient moves them back.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

bool channel_last(const char* op, const std::string& data_format) {
  ARGOSY_CHECK(data_format == "NCHW" || data_format == "NHWC", invalid_argument)
      << "Attr(data_format) should be 'NCHW' or 'NHWC'. But receive Attr(data_format): "
      << data_format << " [" << op << "].";
  return data_format == "NHWC";
}

// [N, C, H, W] with their strides in a contiguous tensor of either format.
struct Image {
  int64_t n = 0, c = 0, h = 0, w = 0;
  int64_t sn = 0, sc = 0, sh = 0, sw = 0;
};
Image image_of(const Tensor& x, bool last) {
  Image i{x.dim(0), x.dim(last ? 3 : 1), x.dim(last ? 1 : 2), x.dim(last ? 2 : 3)};
  i.sn = i.c * i.h * i.w;
  i.sc = last ? 1 : i.h * i.w;
  i.sh = last ? i.w * i.c : i.w;
  i.sw = last ? i.c : 1;
  return i;
}

void check_image(const char* op, const Tensor& x) {
  ARGOSY_CHECK(x.rank() == 4, invalid_argument)
      << "Input x should be 4D tensor, but received x with the shape of " << x.shape() << " [" << op
      << "]. Do this: unsqueeze x, for example to a batch of one.";
}

// --- pixel shuffle ---

int64_t times(int64_t a, int64_t b) {
  return a < 0 ? a : a * b;
}
int64_t over(int64_t a, int64_t b) {
  return a < 0 ? a : a / b;
}

void shuffle_infer(InferContext& c, const PixelShuffleAttrs& a) {
  const bool last = channel_last("pixel_shuffle", a.data_format);
  check_image("pixel_shuffle", c.in[0]);
  Shape& out = c.out[0].shape;
  const int64_t r = a.upscale_factor;
  int64_t& channels = out[last ? 3 : 1];
  constexpr int64_t kMost = 1 << 30;  // its square is an int64_t
  ARGOSY_CHECK(r > 0 && r <= kMost && (channels < 0 || channels % (r * r) == 0), invalid_argument)
      << "[pixel_shuffle] the square of upscale_factor must divide the number of channels: "
         "upscale_factor is "
      << r << ", x is " << c.in[0]
      << ". Do this: make the convolution before it give a multiple of the square.";
  channels = over(channels, r * r);
  for (int i = 0; i < 2; ++i) out[(last ? 1 : 2) + i] = times(out[(last ? 1 : 2) + i], r);
}
void unshuffle_infer(InferContext& c, const PixelUnshuffleAttrs& a) {
  const bool last = channel_last("pixel_unshuffle", a.data_format);
  check_image("pixel_unshuffle", c.in[0]);
  Shape& out = c.out[0].shape;
  const int64_t r = a.downscale_factor;
  ARGOSY_CHECK(r > 0 && r <= 1 << 30, invalid_argument)
      << "[pixel_unshuffle] downscale_factor must be positive, got " << r << '.';
  for (int i = 0; i < 2; ++i) {
    int64_t& size = out[(last ? 1 : 2) + i];
    ARGOSY_CHECK(size < 0 || size % r == 0, invalid_argument)
        << "[pixel_unshuffle] downscale_factor must divide height and width: it is " << r
        << ", x is " << c.in[0] << ". Do this: pad or crop x first.";
    size = over(size, r);
  }
  int64_t& channels = out[last ? 3 : 1];
  channels = times(channels, r * r);
}

// small [N, C r r, H, W] and large [N, C, H r, W r] seen as [N, C, H, r, W, r].
struct Views {
  Tensor small, large;
};
Views views_of(const Tensor& small, const Tensor& large, int64_t r, bool last) {
  Image s = image_of(small, last), l = image_of(large, last);
  Shape shape{l.n, l.c, s.h, r, s.w, r};
  return {small.view(shape, {s.sn, s.sc * r * r, s.sh, s.sc * r, s.sw, s.sc}),
          large.view(shape, {l.sn, l.sc, l.sh * r, l.sh, l.sw * r, l.sw})};
}

}  // namespace

void pixel_shuffle_run(KernelFrame& f, const PixelShuffleAttrs& a) {
  Views v = views_of(f.in[0], f.out[0], a.upscale_factor, a.data_format == "NHWC");
  op::copy_into(v.large, v.small);
}

void pixel_unshuffle_run(KernelFrame& f, const PixelUnshuffleAttrs& a) {
  Views v = views_of(f.out[0], f.in[0], a.downscale_factor, a.data_format == "NHWC");
  op::copy_into(v.small, v.large);
}

namespace {

Tensor call(const char* op, const Tensor& x, const void* attrs) {
  return std::move(op::dispatch(op::get(op), Inputs({&x, 1}), attrs)[0]);
}
Tensors shuffle_grad(const GradCall& c, const PixelShuffleAttrs& a) {
  const PixelUnshuffleAttrs back{a.upscale_factor, a.data_format};
  return call("pixel_unshuffle", c.dy(), &back);
}
Tensors unshuffle_grad(const GradCall& c, const PixelUnshuffleAttrs& a) {
  const PixelShuffleAttrs back{a.downscale_factor, a.data_format};
  return call("pixel_shuffle", c.dy(), &back);
}

ARGOSY_OP(pixel_shuffle, PixelShuffleAttrs)
    .python("nn.functional.pixel_shuffle(x, upscale_factor, data_format='NCHW', name=None)")
    .alias("input", "x")
    .doc("[N, C r^2, H, W] to [N, C, H r, W r] with r = upscale_factor: channels become pixels.")
    .shape("x [n,c,h,w] -> [n,c',h',w']")
    .example(R"(>>> F = argosy.nn.functional
>>> F.pixel_shuffle(argosy.ones([1, 8, 2, 3]), 2).shape
paddle.Size([1, 2, 4, 6]))")
    .paper("1609.05158")
    .input("x")
    .output("out")
    .infer(shuffle_infer)
    .kernel("copy", pixel_shuffle_run)
    .gradient(shuffle_grad)
    .done();

ARGOSY_OP(pixel_unshuffle, PixelUnshuffleAttrs)
    .python("nn.functional.pixel_unshuffle(x, downscale_factor, data_format='NCHW', name=None)")
    .alias("input", "x")
    .doc("[N, C, H r, W r] to [N, C r^2, H, W] with r = downscale_factor: undoes pixel_shuffle.")
    .shape("x [n,c,h,w] -> [n,c',h',w']")
    .example(R"(>>> F = argosy.nn.functional
>>> F.pixel_unshuffle(argosy.ones([1, 2, 4, 6]), 2).shape
paddle.Size([1, 8, 2, 3]))")
    .input("x")
    .output("out")
    .infer(unshuffle_infer)
    .kernel("copy", pixel_unshuffle_run)
    .gradient(unshuffle_grad)
    .done();

// --- channel shuffle ---

void channel_shuffle_infer(InferContext& c, const ChannelShuffleAttrs& a) {
  const bool last = channel_last("channel_shuffle", a.data_format);
  check_image("channel_shuffle", c.in[0]);
  ARGOSY_CHECK(a.groups > 0, invalid_argument)
      << "groups must be positive [channel_shuffle], got " << a.groups << '.';
  const int64_t channels = c.in[0].dim(last ? 3 : 1);
  ARGOSY_CHECK(channels < 0 || channels % a.groups == 0, invalid_argument)
      << "[channel_shuffle] groups must divide the number of channels: groups is " << a.groups
      << ", x is " << c.in[0]
      << ". Do this: choose groups, or the channels of the layer before, so that it divides.";
}

// Channels seen as [groups, C / groups] are transposed; inverse: back again.
template <bool kInverse>
void channels_run(KernelFrame& f, const ChannelShuffleAttrs& a) {
  Image i = image_of(f.in[0], a.data_format == "NHWC");
  const int64_t share = i.c / a.groups;
  const int64_t rows = kInverse ? share : a.groups, columns = kInverse ? a.groups : share;
  Shape shape{i.n, columns, rows, i.h, i.w};
  op::copy_into(f.out[0].view(shape, {i.sn, i.sc * rows, i.sc, i.sh, i.sw}),
                f.in[0].view(shape, {i.sn, i.sc, i.sc * columns, i.sh, i.sw}));
}

}  // namespace

void channel_shuffle_run(KernelFrame& f, const ChannelShuffleAttrs& a) {
  channels_run<false>(f, a);
}
void channel_unshuffle_run(KernelFrame& f, const ChannelShuffleAttrs& a) {
  channels_run<true>(f, a);
}

namespace {

Tensors channel_shuffle_grad(const GradCall& c, const ChannelShuffleAttrs& a) {
  return call("channel_unshuffle", c.dy(), &a);
}
Tensors channel_unshuffle_grad(const GradCall& c, const ChannelShuffleAttrs& a) {
  return call("channel_shuffle", c.dy(), &a);
}

ARGOSY_OP(channel_shuffle, ChannelShuffleAttrs)
    .python("nn.functional.channel_shuffle(x, groups, data_format='NCHW', name=None)")
    .alias("input", "x")
    .doc("The channels, seen as a [groups, C / groups] table, in the order of its transpose.")
    .shape("x [n,c,h,w] -> [n,c,h,w]")
    .example(R"(>>> F = argosy.nn.functional
>>> x = argosy.arange(4.0).reshape([1, 4, 1, 1])
>>> F.channel_shuffle(x, groups=2).flatten().tolist()
[0.0, 2.0, 1.0, 3.0])")
    .paper("1707.01083")
    .input("x")
    .output("out")
    .infer(channel_shuffle_infer)
    .kernel("copy", channel_shuffle_run)
    .gradient(channel_shuffle_grad)
    .done();

ARGOSY_OP(channel_unshuffle, ChannelShuffleAttrs)
    .doc("Undoes channel_shuffle with the same groups.")
    .input("x")
    .output("out")
    .infer(channel_shuffle_infer)
    .kernel("copy", channel_unshuffle_run)
    .gradient(channel_unshuffle_grad)
    .done();

// --- temporal shift ---

void temporal_infer(InferContext& c, const TemporalShiftAttrs& a) {
  channel_last("temporal_shift", a.data_format);
  check_image("temporal_shift", c.in[0]);
  const int64_t frames = c.in[0].dim(0);
  ARGOSY_CHECK(a.seg_num > 0 && (frames < 0 || frames % a.seg_num == 0), invalid_argument)
      << "[temporal_shift] seg_num must be positive and divide the first size of x: seg_num is "
      << a.seg_num << ", x is " << c.in[0]
      << ". Do this: pass the number of frames of each clip; x holds clips * frames images.";
  ARGOSY_CHECK(a.shift_ratio > 0 && a.shift_ratio < 0.5, invalid_argument)
      << "[temporal_shift] shift_ratio must be in (0, 0.5), got " << a.shift_ratio
      << ". Do this: pass 0.25, the usual one.";
}

}  // namespace

void temporal_shift_run(KernelFrame& f, const TemporalShiftAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  Image i = image_of(x, a.data_format == "NHWC");
  const Tensor zero = constant(0, out.dtype(), out.place());
  const int64_t t = a.seg_num, segments = i.n / t;
  const auto first = static_cast<int64_t>(static_cast<double>(i.c) * a.shift_ratio);
  const auto second = static_cast<int64_t>(static_cast<double>(i.c) * 2 * a.shift_ratio);
  // Channels [from, to) of frame k come from frame k - shift, where there is none they are zeros.
  auto move = [&](int64_t from, int64_t to, int64_t shift) {
    const int64_t frames = t - std::abs(shift);
    if (to <= from) return;
    Shape shape{segments, frames, to - from, i.h, i.w};
    Shape strides{i.sn * t, i.sn, i.sc, i.sh, i.sw};
    const int64_t source = std::max<int64_t>(0, -shift), target = std::max<int64_t>(0, shift);
    if (shift != 0) {
      const Shape end{segments, 1, to - from, i.h, i.w};
      const int64_t frame = shift > 0 ? 0 : t - 1;
      op::copy_into(out.view(end, strides, frame * i.sn + from * i.sc), zero);
    }
    if (frames == 0) return;
    op::copy_into(out.view(shape, strides, target * i.sn + from * i.sc),
                  x.view(shape, strides, source * i.sn + from * i.sc));
  };
  const int64_t forward = a.reversed ? -1 : 1;
  move(0, first, forward);
  move(first, second, -forward);
  move(second, i.c, 0);
}

namespace {

Tensors temporal_grad(const GradCall& c, const TemporalShiftAttrs& a) {
  TemporalShiftAttrs back = a;
  back.reversed = !a.reversed;
  return op::dispatch(c.op, Inputs({&c.dy(), 1}), &back);
}

ARGOSY_OP(temporal_shift, TemporalShiftAttrs)
    .python(
        "nn.functional.temporal_shift(x, seg_num, shift_ratio=0.25, name=None, "
        "data_format='NCHW')")
    .doc(
        "x [N * seg_num, C, H, W]: the first shift_ratio of the channels come from the frame "
        "before, as many after them from the frame behind, the others stay; zeros at the ends.")
    .shape("x [n,c,h,w] -> [n,c,h,w]")
    .example(R"(>>> F = argosy.nn.functional
>>> F.temporal_shift(argosy.ones([6, 4, 3, 2]), seg_num=2).shape
paddle.Size([6, 4, 3, 2]))")
    .paper("1811.08383")
    .input("x", kFloating)
    .output("out")
    .infer(temporal_infer)
    .kernel("copy", temporal_shift_run)
    .gradient(temporal_grad)
    .done();

}  // namespace
}  // namespace argosy::ops

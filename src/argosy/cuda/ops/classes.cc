#include "argosy/kernels/cuda/classes.h"

#include <algorithm>

#include "argosy/cuda/ops/move_operands.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/loss/loss.h"

// Ops that read class numbers, lengths and parents; shuffled channels.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;

// --- classes ---

struct Places {
  int64_t outer = 1, classes = 1, inner = 1;
};
Places places_of(const Tensor& x, int64_t axis) {
  Places p;
  const int d = normalize_axis("cross_entropy", axis, x.rank());
  for (int i = 0; i < x.rank(); ++i) (i < d ? p.outer : i == d ? p.classes : p.inner) *= x.dim(i);
  return p;
}

const char* select_match(const Inputs& in, const ops::ClassAttrs&) {
  return kFloat8.has(in[0].dtype()) ? "8-bit floats" : nullptr;
}
void select_run(KernelFrame& f, const ops::ClassAttrs& a) {
  const Tensor& x = f.in[0];
  const Places p = places_of(x, a.axis);
  Tensor kept;
  const Index labels = index_of(f.in[1], kept, watch_of(f, Named::label, a.ignore_index));
  select_class(stream_of(f), x.dtype(), f.out[0].raw(), x.raw(), labels, p.outer, p.classes,
               p.inner, a.ignore_index, a.fill);
}
[[maybe_unused]] const bool select_class_added =
    add_kernel<ops::ClassAttrs>("select_class", select_match, select_run);

void spread_run(KernelFrame& f, const ops::ClassAttrs& a) {
  const Tensor &value = f.in[2], &out = f.out[0];
  if (out.numel() == 0) return;
  const Places p = places_of(out, a.axis);
  Tensor kept;
  const Index labels = index_of(f.in[1], kept, watch_of(f, Named::label, a.ignore_index));
  spread_class(stream_of(f), out.raw(), value.raw(), labels, p.outer, p.classes, p.inner,
               a.ignore_index, item_size(out.dtype()));
}
[[maybe_unused]] const bool spread_class_added =
    add_kernel<ops::ClassAttrs>("spread_class", spread_run);

const char* weights_match(const Inputs&, const ops::ClassWeightsAttrs& a) {
  return kFloat8.has(a.dtype) ? "8-bit floats" : nullptr;
}
void weights_run(KernelFrame& f, const ops::ClassWeightsAttrs& a) {
  Tensor weight, kept;
  if (f.in[0].defined()) weight = as_form(f.in[0], f.in[0].shape(), a.dtype);
  const Index labels = index_of(f.in[1], kept, watch_of(f, Named::label, a.ignore_index));
  class_weights(stream_of(f), a.dtype, f.out[0].raw(), weight.defined() ? weight.raw() : nullptr,
                weight.defined() ? weight.numel() : 0, labels, kept.numel(), a.ignore_index);
}
[[maybe_unused]] const bool class_weights_added =
    add_kernel<ops::ClassWeightsAttrs>("class_weights", weights_match, weights_run);

// --- lengths and beams ---

void sequence_mask_run(KernelFrame& f, const ops::SequenceMaskAttrs& a) {
  const cudaStream_t stream = stream_of(f);
  const Tensor& x = f.in[0];
  const int64_t n = x.numel();
  // The longest counts as rounded towards 0, places as rounded up: k < 1.5 holds for 0 and 1.
  Tensor lengths = as_form(x, x.shape(), DType::int64);
  int64_t width = a.maxlen[0];
  Tensor out = f.out[0];
  if (width < 0) {
    width = 0;
    if (n > 0) {
      Scratch largest(stream, sizeof(int64_t));
      largest_of(stream, {lengths.raw(), true}, n, largest.data<int64_t>());
      width = std::max<int64_t>(0, read_number(stream, largest.data<int64_t>()));
    }
    Shape shape = x.shape();
    shape.push_back(width);
    out = f.allocate(0, shape);
  }
  if (out.numel() == 0) return;
  if (is_floating(x.dtype())) {
    const Tensor exact = as_form(x, x.shape(), DType::float64);
    lengths = Tensor::empty(x.shape(), DType::int64, x.place());
    round_up(stream, lengths.data<int64_t>(), exact.data<double>(), n);
  }
  Tensor mask = out;
  if (out.dtype() != DType::bool_) mask = Tensor::empty(out.shape(), DType::bool_, x.place());
  length_mask(stream, mask.data<bool>(), {lengths.raw(), true}, n, width);
  if (out.dtype() != DType::bool_) op::copy_into(out, mask);
}
[[maybe_unused]] const bool sequence_mask_added =
    add_kernel<ops::SequenceMaskAttrs>("sequence_mask", sequence_mask_run);

void gather_tree_run(KernelFrame& f, const NoAttrs&) {
  const Tensor &ids = f.in[0], &out = f.out[0];
  if (out.numel() == 0) return;
  const Tensor parents = as_form(f.in[1], f.in[1].shape(), DType::int64);
  gather_tree(stream_of(f), ids.dtype(), out.raw(), ids.raw(), parents.data<int64_t>(), ids.dim(0),
              ids.dim(1), ids.dim(2), watch_of(f, Named::parent));
}
[[maybe_unused]] const bool gather_tree_added = add_kernel<NoAttrs>("gather_tree", gather_tree_run);

// --- channels ---

[[maybe_unused]] const bool pixel_shuffle_added =
    add_kernel<ops::PixelShuffleAttrs>("pixel_shuffle", ops::pixel_shuffle_run);
[[maybe_unused]] const bool pixel_unshuffle_added =
    add_kernel<ops::PixelUnshuffleAttrs>("pixel_unshuffle", ops::pixel_unshuffle_run);
[[maybe_unused]] const bool channel_shuffle_added =
    add_kernel<ops::ChannelShuffleAttrs>("channel_shuffle", ops::channel_shuffle_run);
[[maybe_unused]] const bool channel_unshuffle_added =
    add_kernel<ops::ChannelShuffleAttrs>("channel_unshuffle", ops::channel_unshuffle_run);
[[maybe_unused]] const bool temporal_shift_added =
    add_kernel<ops::TemporalShiftAttrs>("temporal_shift", ops::temporal_shift_run);

}  // namespace
}  // namespace argosy::cuda

#include "argosy/ops/manip/kernels.h"

#include <vector>

#include "argosy/cuda/ops/move_operands.h"
#include "argosy/kernels/cuda/join.h"
#include "argosy/kernels/cuda/rearrange.h"
#include "argosy/ops/operands.h"

// Ops that give elements other places. Most of them are copies between views.
namespace argosy::cuda {
namespace {

using op::KernelFrame;
using op::NoAttrs;

// --- joined and taken apart ---

// The sizes of t before axis, and from it on in bytes, as one.
int64_t before(const Shape& shape, int axis) {
  int64_t n = 1;
  for (int d = 0; d < axis; ++d) n *= shape[d];
  return n;
}
int64_t bytes_from(const Tensor& t, int axis) {
  int64_t n = item_size(t.dtype());
  for (int d = axis; d < t.rank(); ++d) n *= t.dim(d);
  return n;
}

// All parts at once, where they lie as they are needed; false where not.
bool move_at_once(KernelFrame& f, const Tensor& whole, std::span<const Tensor> parts, int axis,
                  bool apart) {
  bool fits = whole.is_contiguous() && parts.size() > 1;
  for (const Tensor& t : parts) fits &= t.is_contiguous() && t.dtype() == whole.dtype();
  if (!fits) return false;
  if (whole.numel() == 0) return true;
  std::vector<Part> list;
  for (const Tensor& t : parts)
    list.push_back({t.numel() ? t.raw() : nullptr, bytes_from(t, axis)});
  move_parts(stream_of(f), whole.raw(), list, before(whole.shape(), axis), bytes_from(whole, axis),
             apart);
  return true;
}
int axis_of(const ops::JoinAxisAttrs& a, int rank) {
  return a.axis.size() == 1 && a.axis.symbols.empty() ? normalize_axis("concat", a.axis[0], rank)
                                                      : 0;
}

void concat(KernelFrame& f, const ops::JoinAxisAttrs& a) {
  const Tensor& out = f.out[0];
  if (!move_at_once(f, out, f.in.list(0), axis_of(a, out.rank()), false)) ops::concat_run(f, a);
}
[[maybe_unused]] const bool concat_added = add_kernel<ops::JoinAxisAttrs>("concat", concat, true);

void split_like(KernelFrame& f, const ops::JoinAxisAttrs& a) {
  const Tensor& x = f.in[0];
  if (!move_at_once(f, x, f.out, axis_of(a, x.rank()), true)) ops::split_like_run(f, a);
}
[[maybe_unused]] const bool split_like_added =
    add_kernel<ops::JoinAxisAttrs>("split_like", split_like, true);

void stack(KernelFrame& f, const ops::JoinAxisAttrs& a) {
  const Tensor& out = f.out[0];
  if (!move_at_once(f, out, f.in.list(0), axis_of(a, out.rank()), false)) ops::stack_run(f, a);
}
[[maybe_unused]] const bool stack_added = add_kernel<ops::JoinAxisAttrs>("stack", stack, true);
[[maybe_unused]] const bool unbind_added =
    add_kernel<ops::UnbindAttrs>("unbind", ops::unbind_nothing);
[[maybe_unused]] const bool unstack_added =
    add_kernel<ops::UnbindAttrs>("unstack", ops::unbind_nothing);

// --- another shape ---

template <class A>
void copy_elements(KernelFrame& f, const A&) {
  ops::copy_elements(f);
}
[[maybe_unused]] const bool reshape_added =
    add_kernel<ops::ReshapeAttrs>("reshape", copy_elements<ops::ReshapeAttrs>);
[[maybe_unused]] const bool squeeze_added =
    add_kernel<ops::SqueezeAttrs>("squeeze", copy_elements<ops::SqueezeAttrs>);
[[maybe_unused]] const bool unsqueeze_added =
    add_kernel<ops::SqueezeAttrs>("unsqueeze", copy_elements<ops::SqueezeAttrs>);
[[maybe_unused]] const bool flatten_added =
    add_kernel<ops::FlattenAttrs>("flatten", copy_elements<ops::FlattenAttrs>);

void view_dtype(KernelFrame& f, const ops::ViewDtypeAttrs& a) {
  op::copy_into(f.out[0], ops::view_dtype_view(f.in[0], a));
}
[[maybe_unused]] const bool view_dtype_added =
    add_kernel<ops::ViewDtypeAttrs>("view_dtype", view_dtype);

[[maybe_unused]] const bool assign_added = add_kernel<NoAttrs>("assign", ops::copy_run, true);
[[maybe_unused]] const bool expand_like_added =
    add_kernel<NoAttrs>("expand_like", ops::copy_run, true);
[[maybe_unused]] const bool reshape_like_added =
    add_kernel<NoAttrs>("reshape_like", ops::reshape_like_run, true);

// --- sizes ---

void shape(KernelFrame& f, const NoAttrs&) {
  const Shape& sizes = f.in[0].shape();
  const View out = view_of(f.out[0]);
  put_numbers(stream_of(f), static_cast<int64_t*>(out.data), sizes.data(), sizes.rank());
}
[[maybe_unused]] const bool shape_added = add_kernel<NoAttrs>("shape", shape, true);

void numel(KernelFrame& f, const NoAttrs&) {
  const int64_t n = f.in[0].numel();
  put_numbers(stream_of(f), f.out[0].data<int64_t>(), &n, 1);
}
[[maybe_unused]] const bool numel_added = add_kernel<NoAttrs>("numel", numel, true);

// --- slices ---

void set_slice(KernelFrame& f, const ops::SliceAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  if (x.raw() != out.raw()) op::copy_into(out, x);
  op::copy_into(ops::slice_view(out, a), f.in[1]);
}
[[maybe_unused]] const bool set_slice_added =
    add_kernel<ops::SliceAttrs>("set_slice", set_slice, true);

void slice_grad(KernelFrame& f, const ops::SliceAttrs& a) {
  clear(stream_of(f), f.out[0]);
  op::copy_into(ops::slice_view(f.out[0], a), f.in[0]);
}
[[maybe_unused]] const bool slice_grad_added =
    add_kernel<ops::SliceAttrs>("slice_grad", slice_grad, true);

// --- moved and repeated ---

[[maybe_unused]] const bool flip_added = add_kernel<ops::FlipAttrs>("flip", ops::flip_run, true);
[[maybe_unused]] const bool roll_added = add_kernel<ops::RollAttrs>("roll", ops::roll_run);

// One copy of x with dimensions in which it repeats, where they are few enough.
void tile(KernelFrame& f, const ops::TileAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  if (out.numel() == 0) return;
  const int rank = out.rank(), lead = rank - x.rank();
  std::vector<int64_t> sizes, strides;
  for (int d = 0; d < rank; ++d) {
    const int64_t size = d < lead ? 1 : x.dim(d - lead);
    const int64_t stride = d < lead ? 0 : x.strides()[d - lead], times = out.dim(d) / size;
    if (times > 1) {
      sizes.push_back(times);
      strides.push_back(0);
    }
    if (size == 1) continue;
    const bool joins = times == 1 && !sizes.empty() && strides.back() == stride * size;
    if (joins) {
      sizes.back() *= size;
      strides.back() = stride;
    } else {
      sizes.push_back(size);
      strides.push_back(stride);
    }
  }
  if (sizes.size() > static_cast<size_t>(argosy::kMaxRank)) return ops::tile_run(f, a);
  const Shape shape{std::span<const int64_t>(sizes)};
  op::copy_into(out.view(shape, shape.contiguous_strides()),
                x.view(shape, Shape{std::span<const int64_t>(strides)}));
}
[[maybe_unused]] const bool tile_added = add_kernel<ops::TileAttrs>("tile", tile);
[[maybe_unused]] const bool tile_grad_added =
    add_kernel<ops::TileGradAttrs>("tile_grad", ops::tile_grad_run);
[[maybe_unused]] const bool diagonal_scatter_added =
    add_kernel<ops::DiagonalAttrs>("diagonal_scatter", ops::diagonal_scatter_run, true);

void diag_embed(KernelFrame& f, const ops::DiagEmbedAttrs& a) {
  clear(stream_of(f), f.out[0]);
  op::copy_into(ops::diagonal_view(f.out[0], {a.offset, a.dim1, a.dim2}), f.in[0]);
}
[[maybe_unused]] const bool diag_embed_added =
    add_kernel<ops::DiagEmbedAttrs>("diag_embed", diag_embed, true);

const char* as_strided_add_match(const op::Inputs& in, const ops::AsStridedAttrs&) {
  return kFloating.has(in[0].dtype()) || is_complex(in[0].dtype()) ? nullptr : "8-bit floats";
}
void as_strided_add(KernelFrame& f, const ops::AsStridedAttrs& a) {
  const Tensor &dy = f.in[0], &dx = f.out[0];
  clear(stream_of(f), dx);
  View from = view_of(dy);
  for (int d = 0; d < dy.rank(); ++d) from.strides[d] = a.stride[static_cast<size_t>(d)];
  add_strided(stream_of(f), dx.raw(), dx.numel(), a.offset, from, dy.numel());
}
[[maybe_unused]] const bool as_strided_add_added =
    add_kernel<ops::AsStridedAttrs>("as_strided_add", as_strided_add_match, as_strided_add);

// --- repeat_interleave ---

// Where the repetitions of each element of the axis begin, and after the last one all of them.
Tensor starts_of(KernelFrame& f, int64_t size) {
  const Tensor& repeats = f.in[1];
  const int64_t given = repeats.numel() == 1 ? size : repeats.numel();
  ARGOSY_CHECK(given == size, invalid_argument)
      << "[repeat_interleave] expected 1 or " << size << " repeats, got " << repeats.numel()
      << ". Do this: pass one number, or one for each element of the axis.";
  const Tensor counts = as_form(repeats, {size}, DType::int64);
  Tensor starts = Tensor::empty({size + 1}, DType::int64, f.in[0].place());
  sum_before(stream_of(f), starts.data<int64_t>(), counts.data<int64_t>(), size);
  return starts;
}

struct Around {
  int64_t outer = 1, size = 1, inner = 1;
};
Around around(const Shape& shape, int axis) {
  Around a;
  for (int d = 0; d < shape.rank(); ++d)
    (d < axis ? a.outer : d == axis ? a.size : a.inner) *= shape[d];
  return a;
}

void repeat_interleave(KernelFrame& f, const ops::RepeatInterleaveAttrs& a) {
  const Tensor x = op::contiguous(f.in[0]);
  const int axis = normalize_axis("repeat_interleave", a.axis, x.rank());
  const Around l = around(x.shape(), axis);
  const Tensor starts = starts_of(f, l.size);
  Shape shape = x.shape();
  shape[axis] = read_number(stream_of(f), starts.data<int64_t>() + l.size);
  const Tensor& out = f.allocate(0, shape);
  if (out.numel() == 0) return;
  Tensor index = Tensor::empty({shape[axis]}, DType::int64, x.place());
  owners(stream_of(f), index.data<int64_t>(), starts.data<int64_t>(), l.size, shape[axis]);
  take_slices(stream_of(f), out.raw(), x.raw(), {index.raw(), true}, l.outer, l.size, shape[axis],
              l.inner, item_size(x.dtype()));
}
const char* repeat_match(const op::Inputs& in, const ops::RepeatInterleaveAttrs&) {
  return in[0].numel() < INT32_MAX ? nullptr : "more than 2^31 elements";
}
[[maybe_unused]] const bool repeat_interleave_added = add_kernel<ops::RepeatInterleaveAttrs>(
    "repeat_interleave", repeat_match, repeat_interleave, true);

void repeat_grad(KernelFrame& f, const ops::RepeatInterleaveAttrs& a) {
  const Tensor &dy = f.in[0], &out = f.out[0];
  if (out.numel() == 0) return;
  const int axis = normalize_axis("repeat_interleave", a.axis, out.rank());
  const Around l = around(out.shape(), axis);
  const Tensor starts = starts_of(f, l.size);
  add_repeats(stream_of(f), out.dtype(), out.raw(), dy.raw(), starts.data<int64_t>(), l.outer,
              l.size, dy.dim(axis), l.inner);
}
[[maybe_unused]] const bool repeat_grad_added =
    add_kernel<ops::RepeatInterleaveAttrs>("repeat_interleave_grad", repeat_match, repeat_grad);

}  // namespace
}  // namespace argosy::cuda

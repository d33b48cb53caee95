#include "argosy/cuda/ops/sparse_rows.h"
#include "argosy/cuda/ops/move_operands.h"
#include "argosy/kernels/cuda/masks.h"
#include "argosy/kernels/cuda/rows.h"
#include "argosy/kernels/cuda/sort.h"
#include "argosy/ops/sparse/sparse.h"

// Row-sparse tensors.
namespace argosy::cuda {

Tensor kept_rows(cudaStream_t stream, const Tensor& rows, const Tensor& values, int64_t height,
                 int64_t padding) {
  const int64_t n = rows.numel(), width = values.dim(1);
  int64_t kept = 0;
  Scratch keep(stream, static_cast<size_t>(n)), count(stream, sizeof(int64_t));
  if (n > 0) {
    good_rows(stream, keep.data<bool>(), {rows.raw(), true}, n, height, padding);
    count_true(stream, keep.data<bool>(), n, count.data<int64_t>());
    kept = read_number(stream, count.data<int64_t>());
  }
  if (kept == n) return Tensor::row_sparse(rows, values, height);
  const Tensor some = Tensor::empty({kept}, DType::int64, rows.place());
  const Tensor theirs = Tensor::empty({kept, width}, values.dtype(), rows.place());
  if (kept > 0) {
    Scratch places(stream, static_cast<size_t>(kept) * sizeof(int64_t));
    true_positions(stream, keep.data<bool>(), n, places.data<int64_t>());
    const Index at{places.data(), true};
    take_slices(stream, some.raw(), rows.raw(), at, 1, n, kept, 1, item_size(DType::int64));
    take_slices(stream, theirs.raw(), values.raw(), at, 1, n, kept, width,
                item_size(values.dtype()));
  }
  return Tensor::row_sparse(some, theirs, height);
}

Tensor merged_rows(cudaStream_t stream, const Tensor& x) {
  const Tensor rows = op::contiguous(x.parts()[0]), from = op::contiguous(x.parts()[1]);
  const int64_t n = rows.numel();
  if (n == 0) return x;
  const Scratch room(stream, static_cast<size_t>(n) * 2 * sizeof(uint32_t)),
      inverse(stream, static_cast<size_t>(n) * sizeof(int64_t));
  uint32_t *order = room.data<uint32_t>(), *group = order + n, groups = 0;
  group_equal(stream, DType::int64, rows.raw(), n, false, order, group);
  {
    device::HostWait wait;
    ARGOSY_CUDA(
        cudaMemcpyAsync(&groups, group + n - 1, sizeof(groups), cudaMemcpyDeviceToHost, stream));
    ARGOSY_CUDA(cudaStreamSynchronize(stream));
  }
  const int64_t m = groups;
  const Tensor merged = Tensor::empty({m}, DType::int64, rows.place());
  write_groups(stream, DType::int64, rows.raw(), n, order, group, m, merged.raw(), DType::int64,
               nullptr, inverse.data(), nullptr);
  Shape shape = x.shape();
  shape[0] = m;
  const Tensor sums = Tensor::empty(shape, x.dtype(), rows.place());
  clear(stream, sums);
  if (sums.numel())
    add_rows(stream, x.dtype(), sums.raw(), from.raw(), {inverse.data(), true}, n, m,
             sums.numel() / m, -1, false, ordered_sums());
  return Tensor::row_sparse(merged, sums, x.dim(0));
}

namespace {

using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;

bool sparse(const Tensor& x) {
  return x.layout() == Layout::row_sparse;
}

// target += the rows of x.
void add_sparse(cudaStream_t stream, const Tensor& target, const Tensor& x) {
  const Tensor rows = op::contiguous(x.parts()[0]), values = op::contiguous(x.parts()[1]);
  int64_t width = 1;
  for (int i = 1; i < x.rank(); ++i) width *= x.dim(i);
  add_rows(stream, x.dtype(), target.raw(), values.raw(), {rows.raw(), true}, rows.numel(),
           x.dim(0), width, -1, false, ordered_sums());
}

const char* rows_match(const Inputs& in, const NoAttrs&) {
  for (const Tensor& x : in.flat()) {
    if (kFloat8.has(x.dtype())) return "8-bit floats";
    if (sparse(x) && x.parts()[0].numel() >= INT32_MAX) return "more than 2^31 rows";
  }
  return nullptr;
}

// All rows of tensors, one after the other.
Tensor joined(std::span<const Tensor> xs) {
  int64_t count = 0;
  for (const Tensor& x : xs) count += x.parts()[0].numel();
  const Tensor& like = xs[0];
  const Tensor rows = Tensor::empty({count}, DType::int64, like.place());
  Shape shape = like.shape();
  shape[0] = count;
  const Tensor values = Tensor::empty(shape, like.dtype(), like.place());
  int64_t at = 0;
  for (const Tensor& x : xs) {
    const Tensor &r = x.parts()[0], &v = x.parts()[1];
    op::copy_into(rows.view(r.shape(), rows.strides(), at), r);
    op::copy_into(values.view(v.shape(), values.strides(), at * values.strides()[0]), v);
    at += r.numel();
  }
  return Tensor::row_sparse(rows, values, like.dim(0));
}

// Dense ones in their order, then each row where it belongs.
void add_rows_run(KernelFrame& f, const NoAttrs&) {
  const std::span<const Tensor> xs = f.in.list(0);
  if (sparse(f.out[0])) {
    f.out[0] = joined(xs);
    return;
  }
  const cudaStream_t stream = stream_of(f);
  bool any = false;
  for (const Tensor& x : xs) {
    if (sparse(x)) continue;
    const Tensor dense = op::contiguous(x);
    if (!any) {
      if (!f.out[0].has_data()) f.allocate(0, dense.shape());
      op::copy_into(f.out[0], dense);
    } else {
      add_dense(stream, x.dtype(), f.out[0].raw(), dense.raw(), dense.numel());
    }
    any = true;
  }
  for (const Tensor& x : xs)
    if (sparse(x)) add_sparse(stream, f.out[0], x);
}
[[maybe_unused]] const bool add_rows_added =
    add_kernel<NoAttrs>("add_rows", rows_match, add_rows_run, true);

void rows_to_dense_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  if (!sparse(x)) {
    f.out[0] = x;
    return;
  }
  const Tensor out = Tensor::empty(x.shape(), x.dtype(), x.parts()[1].place());
  clear(stream_of(f), out);
  if (out.numel()) add_sparse(stream_of(f), out, x);
  f.out[0] = out;
}
[[maybe_unused]] const bool rows_to_dense_added =
    add_kernel<NoAttrs>("rows_to_dense", rows_match, rows_to_dense_run, true);

}  // namespace
}  // namespace argosy::cuda

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/sparse/sparse.h"

namespace argosy::ops {
namespace {

// out[target[i]] += values[i], row by row in order, so the result does not depend on threads.
void add_rows(const Tensor& out, const Tensor& values, std::span<const int64_t> target) {
  const int64_t width = out.dim(0) ? out.numel() / out.dim(0) : 0;
  const int64_t row_bytes = width * item_size(out.dtype());
  const int64_t step = item_size(out.dtype());
  const int64_t strides[] = {step, step, step};
  cpu::Loop add = cpu::add_loops()[out.dtype()];
  for (size_t i = 0; i < target.size(); ++i) {
    char* to = static_cast<char*>(out.raw()) + target[i] * row_bytes;
    char* from = static_cast<char*>(values.raw()) + static_cast<int64_t>(i) * row_bytes;
    char* const ptrs[] = {to, from, to};
    add(ptrs, strides, width, nullptr);
  }
}

}  // namespace

Tensor to_dense(const Tensor& x) {
  if (x.layout() != Layout::row_sparse) return x;
  Tensor out = full(op::IntArray(x.shape()), 0, x.dtype());
  Tensor rows = op::contiguous(x.parts()[0]);
  add_rows(out, op::contiguous(x.parts()[1]),
           {rows.data<int64_t>(), static_cast<size_t>(rows.numel())});
  return out;
}

Tensor concat_rows(const Tensor& a, const Tensor& b) {
  const Tensor &ra = a.parts()[0], &rb = b.parts()[0];
  const Tensor va = op::contiguous(a.parts()[1]), vb = op::contiguous(b.parts()[1]);
  Tensor rows = Tensor::empty({ra.numel() + rb.numel()}, DType::int64, a.place());
  std::memcpy(rows.raw(), ra.raw(), ra.nbytes());
  std::memcpy(rows.data<int64_t>() + ra.numel(), rb.raw(), rb.nbytes());
  Shape shape = va.shape();
  shape[0] = rows.numel();
  Tensor values = Tensor::empty(shape, va.dtype(), a.place());
  std::memcpy(values.raw(), va.raw(), va.nbytes());
  std::memcpy(static_cast<char*>(values.raw()) + va.nbytes(), vb.raw(), vb.nbytes());
  return Tensor::row_sparse(rows, values, a.dim(0));
}

Tensor merge_rows(const Tensor& x) {
  const Tensor rows = op::contiguous(x.parts()[0]);
  const int64_t* row = rows.data<int64_t>();
  std::vector<int64_t> unique(row, row + rows.numel());
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  std::vector<int64_t> target(static_cast<size_t>(rows.numel()));
  for (size_t i = 0; i < target.size(); ++i)
    target[i] = std::lower_bound(unique.begin(), unique.end(), row[i]) - unique.begin();
  const int64_t n = static_cast<int64_t>(unique.size());
  Tensor out_rows = Tensor::empty({n}, DType::int64, x.place());
  std::copy(unique.begin(), unique.end(), out_rows.data<int64_t>());
  Shape shape = x.shape();
  shape[0] = n;
  Tensor values = full(op::IntArray(shape), 0, x.dtype());
  add_rows(values, op::contiguous(x.parts()[1]), target);
  return Tensor::row_sparse(out_rows, values, x.dim(0));
}

}  // namespace argosy::ops

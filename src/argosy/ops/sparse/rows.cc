#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/sparse/sparse.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::NoAttrs;

struct Keyed {
  int64_t row;
  uint32_t place;
};

// Stable, by 11 bits of the row at a time.
void radix_sort(std::vector<Keyed>& keys, int64_t largest) {
  constexpr int kBits = 11;
  std::vector<Keyed> other(keys.size());
  std::vector<uint32_t> counts(size_t{1} << kBits);
  const int bits = std::bit_width(static_cast<uint64_t>(largest));
  for (int shift = 0; shift < bits; shift += kBits) {
    auto digit = [&](const Keyed& k) {
      return static_cast<size_t>(k.row >> shift) & ((size_t{1} << kBits) - 1);
    };
    std::fill(counts.begin(), counts.end(), 0);
    for (const Keyed& k : keys) ++counts[digit(k)];
    uint32_t at = 0;
    for (uint32_t& c : counts) at += std::exchange(c, at);
    for (const Keyed& k : keys) other[counts[digit(k)]++] = k;
    keys.swap(other);
  }
}

std::span<const int64_t> rows_of(const Tensor& rows) {
  return {rows.data<int64_t>(), static_cast<size_t>(rows.numel())};
}

int64_t width_of(const Tensor& x) {
  int64_t width = 1;
  for (int i = 1; i < x.rank(); ++i) width *= x.dim(i);
  return width;
}

}  // namespace

RowGroups group_rows(std::span<const int64_t> rows) {
  RowGroups g;
  std::vector<Keyed> keys(rows.size());
  int64_t largest = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    keys[i] = {rows[i], static_cast<uint32_t>(i)};
    largest = std::max(largest, rows[i]);
  }
  radix_sort(keys, largest);
  g.places.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || keys[i].row != keys[i - 1].row) {
      g.rows.push_back(keys[i].row);
      g.first.push_back(static_cast<uint32_t>(i));
    }
    g.places[i] = keys[i].place;
  }
  g.first.push_back(static_cast<uint32_t>(keys.size()));
  return g;
}

Tensor to_dense(const Tensor& x) {
  if (x.layout() != Layout::row_sparse) return x;
  Tensor out = full(op::IntArray(x.shape()), 0, x.dtype());
  const Tensor merged = merge_rows(x);
  const std::span<const int64_t> rows = rows_of(merged.parts()[0]);
  const size_t bytes = static_cast<size_t>(width_of(x) * item_size(x.dtype()));
  const char* from = static_cast<const char*>(merged.parts()[1].raw());
  for (size_t i = 0; i < rows.size(); ++i)
    std::memcpy(static_cast<char*>(out.raw()) + static_cast<size_t>(rows[i]) * bytes,
                from + i * bytes, bytes);
  return out;
}

namespace {

Tensor concat_all(std::span<const Tensor> xs) {
  int64_t count = 0;
  for (const Tensor& x : xs) count += x.parts()[0].numel();
  const Tensor& like = xs[0];
  Tensor rows = Tensor::empty({count}, DType::int64, like.place());
  Shape shape = like.shape();
  shape[0] = count;
  Tensor values = Tensor::empty(shape, like.dtype(), like.place());
  int64_t at = 0;
  for (const Tensor& x : xs) {
    const Tensor &r = x.parts()[0], &v = x.parts()[1];
    op::copy_into(rows.view(r.shape(), rows.strides(), at), r);
    op::copy_into(values.view(v.shape(), values.strides(), at * values.strides()[0]), v);
    at += r.numel();
  }
  return Tensor::row_sparse(rows, values, like.dim(0));
}

}  // namespace

Tensor concat_rows(const Tensor& a, const Tensor& b) {
  const Tensor both[] = {a, b};
  return concat_all(both);
}

Tensor merge_rows(const Tensor& x) {
  const Tensor rows = op::contiguous(x.parts()[0]), from = op::contiguous(x.parts()[1]);
  const RowGroups g = group_rows(rows_of(rows));
  const auto n = static_cast<int64_t>(g.size());
  Tensor out_rows = Tensor::empty({n}, DType::int64, x.place());
  std::copy(g.rows.begin(), g.rows.end(), out_rows.data<int64_t>());
  Shape shape = x.shape();
  shape[0] = n;
  Tensor values = Tensor::empty(shape, x.dtype(), x.place());
  const int64_t width = width_of(x), step = item_size(x.dtype()), bytes = width * step;
  const int64_t strides[] = {step, step, step};
  cpu::Loop add = cpu::add_loops()[x.dtype()];
  parallel_for(n, std::max<int64_t>(1, 16384 / std::max<int64_t>(width, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   char* to = static_cast<char*>(values.raw()) + i * bytes;
                   uint32_t at = g.first[static_cast<size_t>(i)];
                   const uint32_t stop = g.first[static_cast<size_t>(i) + 1];
                   auto value = [&] {
                     return static_cast<char*>(from.raw()) + int64_t{g.places[at]} * bytes;
                   };
                   std::memcpy(to, value(), static_cast<size_t>(bytes));
                   while (++at < stop) {
                     char* const ptrs[] = {to, value(), to};
                     add(ptrs, strides, width, nullptr);
                   }
                 }
               });
  return Tensor::row_sparse(out_rows, values, x.dim(0));
}

// --- ops ---

namespace {

void add_rows_infer(InferContext& c, const NoAttrs&) {
  const std::span<const Tensor> xs = c.in.list(0);
  ARGOSY_CHECK(!xs.empty(), invalid_argument)
      << "[add_rows] needs at least one tensor, got an empty list. Do this: check that the list "
         "was filled.";
  c.out[0] = {xs[0].shape(), xs[0].dtype(), Layout::row_sparse};
  for (const Tensor& x : xs) {
    ARGOSY_CHECK(x.dtype() == xs[0].dtype() && x.rank() == xs[0].rank(), invalid_argument)
        << "[add_rows] tensors must have one form: tensor 0 is " << xs[0] << ", another is " << x
        << '.';
    if (x.layout() != Layout::row_sparse) c.out[0].layout = Layout::strided;
    for (int d = 0; d < x.rank(); ++d) {
      int64_t& size = c.out[0].shape[d];
      ARGOSY_CHECK(may_equal(size, x.dim(d)), invalid_argument)
          << "[add_rows] tensors must have one shape: tensor 0 is " << xs[0] << ", another is " << x
          << '.';
      if (size < 0) size = x.dim(d);
    }
  }
}

void add_rows_run(KernelFrame& f, const NoAttrs&) {
  const std::span<const Tensor> xs = f.in.list(0);
  if (f.out[0].layout() == Layout::row_sparse) {
    f.out[0] = concat_all(xs);
    return;
  }
  // Dense ones in their order, then each row where it belongs.
  bool any = false;
  for (const Tensor& x : xs) {
    if (x.layout() == Layout::row_sparse) continue;
    const Tensor dense = op::contiguous(x);
    if (!any) {
      if (!f.out[0].has_data()) f.allocate(0, dense.shape());
      op::copy_into(f.out[0], dense);
    } else {
      const int64_t step = item_size(x.dtype()), strides[] = {step, step, step};
      char* const ptrs[] = {static_cast<char*>(f.out[0].raw()), static_cast<char*>(dense.raw()),
                            static_cast<char*>(f.out[0].raw())};
      cpu::add_loops()[x.dtype()](ptrs, strides, dense.numel(), nullptr);
    }
    any = true;
  }
  for (const Tensor& x : xs) {
    if (x.layout() != Layout::row_sparse) continue;
    const Tensor merged = merge_rows(x);
    const std::span<const int64_t> rows = rows_of(merged.parts()[0]);
    const int64_t width = width_of(x), step = item_size(x.dtype()), bytes = width * step;
    const int64_t strides[] = {step, step, step};
    for (size_t i = 0; i < rows.size(); ++i) {
      char* to = static_cast<char*>(f.out[0].raw()) + rows[i] * bytes;
      char* const ptrs[] = {
          to, static_cast<char*>(merged.parts()[1].raw()) + static_cast<int64_t>(i) * bytes, to};
      cpu::add_loops()[x.dtype()](ptrs, strides, width, nullptr);
    }
  }
}

Tensors add_rows_grad(const GradCall& c, const NoAttrs&) {
  Tensors out;
  for (size_t i = 0; i < c.in.list(0).size(); ++i) out.push_back(c.dy());
  return out;
}

ARGOSY_OP(add_rows, NoAttrs)
    .doc("The sum of row-sparse tensors, with all their rows as they are; dense if one of x is.")
    .list_input("x", kFloating)
    .layouts(op::kDenseOrRows)
    .output("out")
    .infer(add_rows_infer)
    .kernel("rows", add_rows_run)
    .strided()
    .gradient(add_rows_grad)
    .sums()
    .done();

void rows_to_dense_infer(InferContext& c, const NoAttrs&) {
  c.out[0] = {c.in[0].shape(), c.in[0].dtype()};
}

void rows_to_dense_run(KernelFrame& f, const NoAttrs&) {
  f.out[0] = to_dense(f.in[0]);
}

Tensors rows_to_dense_grad(const GradCall& c, const NoAttrs&) {
  return c.dy();
}

ARGOSY_OP(rows_to_dense, NoAttrs)
    .doc("A row-sparse tensor with all its rows, those that it does not name zero.")
    .input("x", kFloating)
    .layouts(op::kDenseOrRows)
    .output("out")
    .infer(rows_to_dense_infer)
    .kernel("scatter", rows_to_dense_run)
    .strided()
    .gradient(rows_to_dense_grad)
    .sums()
    .done();

}  // namespace

Tensor add_rows(std::span<const Tensor> xs) {
  const uint32_t ends[] = {static_cast<uint32_t>(xs.size())};
  return std::move(add_rows_op.all(op::Inputs(xs, ends), NoAttrs())[0]);
}

Tensor rows_to_dense(const Tensor& x) {
  return x.layout() == Layout::row_sparse ? rows_to_dense_op(x) : x;
}

}  // namespace argosy::ops

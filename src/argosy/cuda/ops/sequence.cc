#include "argosy/ops/sequence/sequence.h"

#include <vector>

#include "argosy/cuda/ops/move_operands.h"
#include "argosy/cuda/ops/sparse_rows.h"
#include "argosy/kernels/cuda/pooling.h"
#include "argosy/kernels/cuda/rearrange.h"
#include "argosy/kernels/cuda/rows.h"

namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;

Pool pool_of(const std::string& name) {
  static constexpr const char* names[] = {"sum", "average", "sqrt", "max", "first", "last"};
  for (int i = 0; i < 6; ++i)
    if (name == names[i]) return static_cast<Pool>(i);
  ARGOSY_THROW(invalid_argument)
      << "[sequence_pool] pool: expected one of 'sum', 'average', 'sqrt', 'max', 'first', 'last', "
         "got '"
      << name << "'.";
}

int64_t width_of(const Tensor& x) {
  int64_t width = 1;
  for (int i = 1; i < x.rank(); ++i) width *= x.dim(i);
  return width;
}

// Sequences of `count` rows by their lengths; `starts` holds where they begin.
Ragged ragged_of(cudaStream_t stream, const Tensor& lengths, int64_t count, Tensor& starts) {
  const int64_t n = lengths.numel();
  starts = Tensor::empty({n + 1}, DType::int64, lengths.place());
  sum_before(stream, starts.data<int64_t>(), lengths.data<int64_t>(), n);
  return {starts.data<int64_t>(), 1, n, count};
}

// --- sequence_pool ---

void sequence_pool_run(KernelFrame& f, const ops::SequencePoolAttrs& a) {
  const Tensor& x = f.in[0];
  const cudaStream_t stream = stream_of(f);
  const Pool pool = pool_of(a.pool);
  if (!f.out[0].has_data()) {
    Shape shape = x.shape();
    shape[0] = f.in[1].dim(0);
    f.allocate(0, shape);
    f.allocate(1, pool == Pool::max ? shape : Shape{0});
  }
  Tensor starts;
  const Ragged ragged = ragged_of(stream, f.in[1], x.dim(0), starts);
  const int64_t width = width_of(x);
  const PoolTable rows{x.raw(), nullptr, x.dim(0), width, -1};
  int32_t* found = pool == Pool::max ? f.out[1].data<int32_t>() : nullptr;
  if (f.in[2].defined()) {
    if (found) op::copy_into(f.out[1], f.in[2].view(f.out[1].shape(), f.out[1].strides()));
    return pool_picked(stream, x.dtype(), f.out[0].raw(), f.in[2].data<int32_t>(), {width, 0}, rows,
                       ragged);
  }
  pool_rows(stream, x.dtype(), f.out[0].raw(), found, {width, 0}, rows, ragged, pool, a.pad_value);
}
const char* narrow(const Inputs& in, const ops::SequencePoolAttrs&) {
  return kFloat8.has(in[0].dtype()) ? "8-bit floats" : nullptr;
}
[[maybe_unused]] const bool sequence_pool_added =
    add_kernel<ops::SequencePoolAttrs>("sequence_pool", narrow, sequence_pool_run);

void sequence_pool_grad_run(KernelFrame& f, const ops::SequencePoolAttrs& a) {
  const Tensor &dy = f.in[0], &like = f.in[2];
  const cudaStream_t stream = stream_of(f);
  const Pool pool = pool_of(a.pool);
  if (!f.out[0].has_data()) f.allocate(0, like.shape());
  Tensor starts;
  const Ragged ragged = ragged_of(stream, f.in[1], like.dim(0), starts);
  const int64_t width = width_of(like);
  pool_row_gradients(stream, dy.dtype(), f.out[0].raw(), dy.raw(),
                     pool == Pool::max ? f.in[3].data<int32_t>() : nullptr, {width, 0}, ragged,
                     width, pool);
}
[[maybe_unused]] const bool sequence_pool_grad_added =
    add_kernel<ops::SequencePoolAttrs>("sequence_pool_grad", narrow, sequence_pool_grad_run);

// --- embedding_pool ---

struct Slots {
  std::span<const Tensor> ids, lengths, tables;

  size_t size() const { return ids.size(); }
  size_t table_of(size_t slot) const { return tables.size() == 1 ? 0 : slot; }
  const Tensor& table(size_t slot) const { return tables[table_of(slot)]; }
  int64_t samples() const { return lengths.empty() ? ids[0].dim(0) : lengths[0].dim(0); }
  int64_t width() const {
    int64_t sum = 0;
    for (size_t i = 0; i < size(); ++i) sum += table(i).dim(1);
    return sum;
  }
  int64_t column(size_t slot, const ops::EmbeddingPoolAttrs& a) const {
    if (!a.columns.empty()) return a.columns[slot];
    int64_t at = 0;
    for (size_t i = a.reversed ? slot + 1 : 0; i < (a.reversed ? size() : slot); ++i)
      at += table(i).dim(1);
    return at;
  }
};

// One slot: its ids as int64, and the samples they belong to.
struct Slot {
  Tensor ids, starts;
  Ragged ragged;
};
Slot slot_of(KernelFrame& f, const Slots& s, size_t i, int64_t samples) {
  Slot slot;
  const Tensor& given = s.ids[i];
  slot.ids = as_form(given, given.shape(), DType::int64);
  const int64_t count = given.numel();
  const int64_t have = s.lengths.empty() ? given.dim(0) : s.lengths[i].numel();
  ARGOSY_CHECK(have == samples, invalid_argument)
      << '[' << f.name() << "] slot " << i << " has the wrong number of samples: expected "
      << samples << ", as slot 0 has, got " << have << '.';
  if (s.lengths.empty())
    slot.ragged = {nullptr, samples ? count / samples : 0, samples, count};
  else
    slot.ragged = ragged_of(stream_of(f), s.lengths[i], count, slot.starts);
  return slot;
}

const char* slots_match(const Inputs& in, const ops::EmbeddingPoolAttrs&) {
  int64_t count = 0;
  for (const Tensor& t : in.flat()) {
    if (kFloat8.has(t.dtype())) return "8-bit floats";
    if (kIndex.has(t.dtype())) count += t.numel();
  }
  return count < INT32_MAX ? nullptr : "more than 2^31 ids";
}

void embedding_pool_run(KernelFrame& f, const ops::EmbeddingPoolAttrs& a) {
  const Slots s{f.in.list(0), f.in.list(2), f.in.list(1)};
  const Pool pool = pool_of(a.pool);
  const int64_t samples = s.samples(), width = s.width();
  if (!f.out[0].has_data()) {
    f.allocate(0, {samples, width});
    f.allocate(1, pool == Pool::max ? Shape{samples, width} : Shape{0});
  }
  int32_t* found = pool == Pool::max ? f.out[1].data<int32_t>() : nullptr;
  int64_t column = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    const Slot slot = slot_of(f, s, i, samples);
    const Tensor& table = s.table(i);
    pool_rows(stream_of(f), table.dtype(), f.out[0].raw(), found, {width, column},
              {table.raw(), slot.ids.data<int64_t>(), table.dim(0), table.dim(1), a.padding_idx},
              slot.ragged, pool, a.pad_value);
    column += table.dim(1);
  }
}
[[maybe_unused]] const bool embedding_pool_added =
    add_kernel<ops::EmbeddingPoolAttrs>("embedding_pool", slots_match, embedding_pool_run);

void embedding_pool_picked_run(KernelFrame& f, const ops::EmbeddingPoolAttrs& a) {
  const Slots s{f.in.list(0), f.in.list(2), f.in.list(1)};
  const Tensor &found = f.in[3], &out = f.out[0];
  for (size_t i = 0; i < s.size(); ++i) {
    const Slot slot = slot_of(f, s, i, out.dim(0));
    const Tensor& table = s.table(i);
    pool_picked(stream_of(f), out.dtype(), out.raw(), found.data<int32_t>(),
                {out.dim(1), s.column(i, a)},
                {table.raw(), slot.ids.data<int64_t>(), table.dim(0), table.dim(1), a.padding_idx},
                slot.ragged);
  }
}
[[maybe_unused]] const bool embedding_pool_picked_added = add_kernel<ops::EmbeddingPoolAttrs>(
    "embedding_pool_picked", slots_match, embedding_pool_picked_run);

void embedding_pool_grad_run(KernelFrame& f, const ops::EmbeddingPoolAttrs& a) {
  const Slots s{f.in.list(1), f.in.list(2), f.in.list(3)};
  const Tensor& dy = f.in[0];
  const cudaStream_t stream = stream_of(f);
  const Pool pool = pool_of(a.pool);
  const int32_t* found = pool == Pool::max ? f.in.list(4)[0].data<int32_t>() : nullptr;
  for (size_t t = 0; t < s.tables.size(); ++t) {
    const int64_t height = s.tables[t].dim(0), dim = s.tables[t].dim(1);
    int64_t count = 0;
    for (size_t i = 0; i < s.size(); ++i)
      if (s.table_of(i) == t) count += s.ids[i].numel();
    // The rows of all slots of this table, one slot after the other.
    const Tensor rows = Tensor::empty({count}, DType::int64, dy.place());
    const Tensor values = Tensor::empty({count, dim}, dy.dtype(), dy.place());
    int64_t at = 0;
    for (size_t i = 0; i < s.size(); ++i) {
      if (s.table_of(i) != t || s.ids[i].numel() == 0) continue;
      const Slot slot = slot_of(f, s, i, dy.dim(0));
      const int64_t n = slot.ids.numel();
      op::copy_into(rows.view({n}, {1}, at), slot.ids.view({n}, {1}));
      pool_row_gradients(stream, dy.dtype(),
                         static_cast<char*>(values.raw()) + at * dim * item_size(dy.dtype()),
                         dy.raw(), found, {dy.dim(1), s.column(i, a)}, slot.ragged, dim, pool);
      at += n;
    }
    if (a.sparse) {
      f.out[t] = kept_rows(stream, rows, values, height, a.padding_idx);
      continue;
    }
    if (!f.out[t].has_data()) f.allocate(t, s.tables[t].shape());
    clear(stream, f.out[t]);
    add_rows(stream, dy.dtype(), f.out[t].raw(), values.raw(), {rows.raw(), true}, count, height,
             dim, a.padding_idx, false, ordered_sums());
  }
}
[[maybe_unused]] const bool embedding_pool_grad_added = add_kernel<ops::EmbeddingPoolAttrs>(
    "embedding_pool_grad", slots_match, embedding_pool_grad_run);

}  // namespace
}  // namespace argosy::cuda

#include <algorithm>
#include <numeric>

#include "argosy/base/parallel.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/sequence/pool.h"
#include "argosy/ops/sequence/sequence.h"
#include "argosy/ops/sparse/sparse.h"

// Look-ups of many slots, pooled and joined, as one op: rows of ids never exist.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;
using pooling::Pool;

// Operands of both ops begin with ids, lengths; weights are `tables`.
struct Slots {
  std::span<const Tensor> ids, lengths, tables;

  size_t size() const { return ids.size(); }
  size_t table_of(size_t slot) const { return tables.size() == 1 ? 0 : slot; }
  const Tensor& table(size_t slot) const { return tables[table_of(slot)]; }
  int64_t columns(size_t slot, const EmbeddingPoolAttrs& a) const {
    if (!a.columns.empty()) return a.columns[slot];
    int64_t at = 0;
    if (a.reversed)
      for (size_t i = slot + 1; i < size(); ++i) at += table(i).dim(1);
    else
      for (size_t i = 0; i < slot; ++i) at += table(i).dim(1);
    return at;
  }
  int64_t width() const {
    int64_t sum = 0;
    for (size_t i = 0; i < size(); ++i) {
      if (table(i).dim(1) < 0) return kUnknown;
      sum += table(i).dim(1);
    }
    return sum;
  }
};

void check(const char* name, const Slots& s, const EmbeddingPoolAttrs& a) {
  pooling::pool_of(name, a.pool);
  ARGOSY_CHECK(s.size() > 0, invalid_argument) << '[' << name << "] needs at least one slot.";
  ARGOSY_CHECK(s.lengths.empty() || s.lengths.size() == s.size(), invalid_argument)
      << '[' << name << "] lengths: expected none, or one for each of " << s.size()
      << " slots, got " << s.lengths.size() << '.';
  ARGOSY_CHECK(s.tables.size() == 1 || s.tables.size() == s.size(), invalid_argument)
      << '[' << name << "] weights: expected one table, or one for each of " << s.size()
      << " slots, got " << s.tables.size() << '.';
  ARGOSY_CHECK(a.columns.empty() || a.columns.size() == s.size(), invalid_argument)
      << '[' << name << "] columns: expected one for each of " << s.size() << " slots, got "
      << a.columns.size() << '.';
  for (const Tensor& t : s.tables)
    ARGOSY_CHECK(t.rank() == 2 && t.dtype() == s.tables[0].dtype(), invalid_argument)
        << '[' << name << "] weights must be [rows, dim] of one dtype, got " << t << '.';
}

// Rows of each sample, of one slot.
struct Ragged {
  const int64_t* ids = nullptr;
  int64_t count = 0;
  std::vector<int64_t> starts;  // empty: `each` rows for every sample
  int64_t each = 1;

  int64_t begin(int64_t sample) const {
    return starts.empty() ? sample * each : starts[static_cast<size_t>(sample)];
  }
  int64_t length(int64_t sample) const {
    return starts.empty()
               ? each
               : starts[static_cast<size_t>(sample) + 1] - starts[static_cast<size_t>(sample)];
  }
};

int64_t samples_of(const Slots& s) {
  return s.lengths.empty() ? s.ids[0].dim(0) : s.lengths[0].dim(0);
}

// `kept` holds copies of ids that are not int64.
Ragged ragged(const char* name, const Slots& s, size_t slot, int64_t samples, Tensors& kept) {
  Ragged r;
  kept.push_back(as_dtype(s.ids[slot], DType::int64));
  r.ids = kept.back().data<int64_t>();
  r.count = kept.back().numel();
  if (s.lengths.empty()) {
    ARGOSY_CHECK(s.ids[slot].rank() && s.ids[slot].dim(0) == samples, invalid_argument)
        << '[' << name << "] slot " << slot << " has the wrong number of samples: expected "
        << samples << ", as slot 0 has, got ids " << s.ids[slot] << '.';
    r.each = samples ? r.count / samples : 0;
    return r;
  }
  const Tensor& lengths = s.lengths[slot];
  ARGOSY_CHECK(lengths.numel() == samples, invalid_argument)
      << '[' << name << "] slot " << slot << " has the wrong number of samples: expected "
      << samples << ", as slot 0 has, got lengths " << lengths << '.';
  r.starts = pooling::starts_of(
      name, {lengths.data<int64_t>(), static_cast<size_t>(lengths.numel())}, r.count);
  return r;
}

void check_ids(const char* name, const Ragged& r, size_t slot, int64_t height) {
  for (int64_t i = 0; i < r.count; ++i)
    ARGOSY_CHECK(static_cast<uint64_t>(r.ids[i]) < static_cast<uint64_t>(height), invalid_argument)
        << '[' << name << "] id " << r.ids[i] << " of slot " << slot
        << " is out of range: expected 0 <= id < " << height
        << " (the rows of its table). Do this: check the table's size, or the data.";
}

// --- forward ---

Slots forward_slots(const Inputs& in) {
  return {in.list(0), in.list(2), in.list(1)};
}

void pool_infer(InferContext& c, const EmbeddingPoolAttrs& a) {
  const Slots s = forward_slots(c.in);
  check("embedding_pool", s, a);
  Shape shape{samples_of(s), s.width()};
  c.out[0] = {shape, s.tables[0].dtype()};
  if (a.pool != "max") shape = Shape{0};
  c.out[1] = {shape, DType::int32};
}

void pool_run(KernelFrame& f, const EmbeddingPoolAttrs& a) {
  const Slots s = forward_slots(f.in);
  const Pool pool = pooling::pool_of("embedding_pool", a.pool);
  const int64_t samples = samples_of(s), width = s.width();
  if (!f.out[0].has_data()) {
    f.allocate(0, {samples, width});
    f.allocate(1, pool == Pool::max ? Shape{samples, width} : Shape{0});
  }
  Tensors kept;
  std::vector<Ragged> slots;
  for (size_t i = 0; i < s.size(); ++i) {
    slots.push_back(ragged("embedding_pool", s, i, samples, kept));
    check_ids("embedding_pool", slots[i], i, s.table(i).dim(0));
  }
  int32_t* found = pool == Pool::max ? f.out[1].data<int32_t>() : nullptr;
  dispatch_floating(s.tables[0].dtype(), [&]<class T>(T) {
    T* out = f.out[0].data<T>();
    parallel_for(
        samples, std::max<int64_t>(1, 16384 / std::max<int64_t>(width, 1)),
        [&](int64_t begin, int64_t end) {
          std::vector<T> zeros;
          std::vector<pooling::Wide<T>> room;
          int64_t column = 0;
          for (size_t slot = 0; slot < slots.size(); ++slot) {
            const Ragged& r = slots[slot];
            const T* table = s.table(slot).template data<T>();
            const int64_t dim = s.table(slot).dim(1);
            zeros.resize(static_cast<size_t>(dim));
            room.resize(static_cast<size_t>(dim));
            const int64_t last = end > begin ? r.begin(end - 1) + r.length(end - 1) : 0;
            constexpr int64_t kAhead = 16;
            int64_t fetched = r.begin(begin);
            for (int64_t b = begin; b < end; ++b) {
              const int64_t first = r.begin(b), n = r.length(b);
              for (const int64_t to = std::min(first + n + kAhead, last); fetched < to; ++fetched) {
                const char* row = reinterpret_cast<const char*>(table + r.ids[fetched] * dim);
                __builtin_prefetch(row);
                __builtin_prefetch(row + dim * static_cast<int64_t>(sizeof(T)) - 1);
              }
              pooling::pool_rows<T>(
                  pool, n, dim,
                  [&](int64_t i) {
                    const int64_t id = r.ids[first + i];
                    return id == a.padding_idx ? zeros.data() : table + id * dim;
                  },
                  out + b * width + column, found ? found + b * width + column : nullptr,
                  a.pad_value, room.data());
            }
            column += dim;
          }
        });
  });
}

// --- gradient ---

Slots backward_slots(const Inputs& in) {
  return {in.list(1), in.list(2), in.list(3)};
}

void grad_infer(InferContext& c, const EmbeddingPoolAttrs& a) {
  const Slots s = backward_slots(c.in);
  check("embedding_pool_grad", s, a);
  c.out.resize(s.tables.size());
  for (size_t i = 0; i < s.tables.size(); ++i) {
    c.out[i] = {s.tables[i].shape(), c.in[0].dtype()};
    if (a.sparse) c.out[i].layout = Layout::row_sparse;
  }
}

// The rows of one slot's ids and their gradients, in order; `put(place, id, write)`.
template <class T, class Put>
void each_row(const Slots& s, size_t slot, const Ragged& r, const Tensor& dy, const int32_t* found,
              const EmbeddingPoolAttrs& a, Pool pool, Put&& put) {
  const int64_t dim = s.table(slot).dim(1), width = dy.dim(1), column = s.columns(slot, a);
  for (int64_t b = 0; b < dy.dim(0); ++b) {
    const int64_t first = r.begin(b), n = r.length(b);
    const T* from = dy.data<T>() + b * width + column;
    const int32_t* where = found ? found + b * width + column : nullptr;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t id = r.ids[first + i];
      if (id == a.padding_idx) continue;
      put(id, [&](T* to) { pooling::pool_row_gradient<T>(pool, i, n, dim, from, where, to); });
    }
  }
}

void grad_run(KernelFrame& f, const EmbeddingPoolAttrs& a) {
  const Slots s = backward_slots(f.in);
  const Tensor& dy = f.in[0];
  const Pool pool = pooling::pool_of("embedding_pool_grad", a.pool);
  const int32_t* found = pool == Pool::max ? f.in.list(4)[0].data<int32_t>() : nullptr;
  Tensors kept;
  std::vector<Ragged> slots;
  for (size_t i = 0; i < s.size(); ++i)
    slots.push_back(ragged("embedding_pool_grad", s, i, dy.dim(0), kept));
  for (size_t t = 0; t < s.tables.size(); ++t) {
    const int64_t height = s.tables[t].dim(0), dim = s.tables[t].dim(1);
    int64_t count = 0;
    for (size_t i = 0; i < s.size(); ++i)
      if (s.table_of(i) == t)
        count += slots[i].count -
                 (a.padding_idx < 0
                      ? 0
                      : std::count(slots[i].ids, slots[i].ids + slots[i].count, a.padding_idx));
    dispatch_floating(dy.dtype(), [&]<class T>(T) {
      if (a.sparse) {
        Tensor rows = Tensor::empty({count}, DType::int64, dy.place());
        Tensor values = Tensor::empty({count, dim}, dy.dtype(), dy.place());
        int64_t* row = rows.data<int64_t>();
        T* value = values.data<T>();
        for (size_t i = 0; i < s.size(); ++i)
          if (s.table_of(i) == t)
            each_row<T>(s, i, slots[i], dy, found, a, pool, [&](int64_t id, auto&& write) {
              *row++ = id;
              write(value);
              value += dim;
            });
        f.out[t] = Tensor::row_sparse(rows, values, height);
        return;
      }
      using W = pooling::Wide<T>;
      if (!f.out[t].has_data()) f.allocate(t, s.tables[t].shape());
      Tensor sum = std::is_same_v<T, W> ? f.out[t]
                                        : Tensor::empty({height, dim}, DType::float32, dy.place());
      std::memset(sum.raw(), 0, sum.nbytes());
      std::vector<T> one(static_cast<size_t>(dim));
      for (size_t i = 0; i < s.size(); ++i)
        if (s.table_of(i) == t)
          each_row<T>(s, i, slots[i], dy, found, a, pool, [&](int64_t id, auto&& write) {
            write(one.data());
            W* to = sum.data<W>() + id * dim;
            for (int64_t k = 0; k < dim; ++k) to[k] += static_cast<W>(one[static_cast<size_t>(k)]);
          });
      if (!std::is_same_v<T, W>) op::copy_into(f.out[t], sum);
    });
  }
}

// --- gradient of the gradient ---

// embedding_pool of `max` where it is known which row each element came from.
void picked_infer(InferContext& c, const EmbeddingPoolAttrs& a) {
  const Slots s = forward_slots(c.in);
  check("embedding_pool_picked", s, a);
  c.out[0] = {c.in[3].shape(), s.tables[0].dtype()};
}

void picked_run(KernelFrame& f, const EmbeddingPoolAttrs& a) {
  const char* name = "embedding_pool_picked";
  const Slots s = forward_slots(f.in);
  const Tensor &found = f.in[3], &out = f.out[0];
  const int64_t samples = out.dim(0), width = out.dim(1);
  dispatch_floating(out.dtype(), [&]<class T>(T) {
    for (size_t i = 0; i < s.size(); ++i) {
      Tensors kept;
      const Ragged r = ragged(name, s, i, samples, kept);
      check_ids(name, r, i, s.table(i).dim(0));
      const T* table = s.table(i).template data<T>();
      const int64_t dim = s.table(i).dim(1), column = s.columns(i, a);
      for (int64_t b = 0; b < samples; ++b)
        for (int64_t k = 0; k < dim; ++k) {
          const int64_t at = b * width + column + k;
          const int32_t row = found.data<int32_t>()[at];  // -1: there was none
          const int64_t id = row < 0 ? a.padding_idx : r.ids[r.begin(b) + row];
          out.data<T>()[at] = row < 0 || id == a.padding_idx ? T(0.0f) : table[id * dim + k];
        }
    }
  });
}

// d/d(dy): the look-up in the gradients of the tables, its slots where dy has them.
Tensors grad_of_grad(const GradCall& c, const EmbeddingPoolAttrs& a);

ARGOSY_OP(embedding_pool_grad, EmbeddingPoolAttrs)
    .doc(
        "The gradients of embedding_pool's weights, dense, or (sparse) the rows that ids name: "
        "slot by slot in the order given, samples in order; those of padding_idx are left out.")
    .input("dy", kFloating)
    .list_input("ids", kIndex, Save::value)
    .list_input("lengths", only(DType::int64), Save::value)
    .list_input("weights", kFloating, Save::shape)
    .shape_only()
    .list_input("found", only(DType::int32), Save::value)
    .list_output("dweights")
    .infer(grad_infer)
    .kernel("rows", grad_run)
    .gradient(grad_of_grad)
    .done();

Tensors picked_grad(const GradCall& c, const EmbeddingPoolAttrs& a) {
  const Slots s = forward_slots(c.in);
  std::vector<Tensor> in{c.dy()};
  std::vector<uint32_t> ends{1};
  for (std::span<const Tensor> more : {s.ids, s.lengths, s.tables, c.in.list(3)}) {
    in.insert(in.end(), more.begin(), more.end());
    ends.push_back(static_cast<uint32_t>(in.size()));
  }
  Tensors found = embedding_pool_grad_op.all(Inputs(in, ends.data()), a);
  Tensors out;
  out.resize(c.in.flat().size());
  for (size_t t = 0; t < s.tables.size(); ++t) out[c.in.place_of(1) + t] = found[t];
  return out;
}

ARGOSY_OP(embedding_pool_picked, EmbeddingPoolAttrs)
    .doc(
        "What `found` of embedding_pool with pool='max' names, from other tables of the same "
        "shapes.")
    .list_input("ids", kIndex, Save::value)
    .list_input("weights", kFloating, Save::shape)
    .list_input("lengths", only(DType::int64), Save::value)
    .input("found", only(DType::int32), Save::value)
    .output("out")
    .infer(picked_infer)
    .kernel("gather", picked_run)
    .gradient(picked_grad)
    .done();

Tensors pool_grad(const GradCall& c, const EmbeddingPoolAttrs& a) {
  const Slots s = forward_slots(c.in);
  // From the last slot to the first, as look-ups one by one go back.
  EmbeddingPoolAttrs back = a;
  back.reversed = true;
  std::vector<Tensor> ids(s.ids.rbegin(), s.ids.rend());
  std::vector<Tensor> lengths(s.lengths.rbegin(), s.lengths.rend());
  std::vector<Tensor> tables(s.tables.rbegin(), s.tables.rend());
  std::vector<Tensor> in{c.dy()};
  std::vector<uint32_t> ends{1};
  auto list = [&](const std::vector<Tensor>& more) {
    in.insert(in.end(), more.begin(), more.end());
    ends.push_back(static_cast<uint32_t>(in.size()));
  };
  list(ids);
  list(lengths);
  list(tables);
  list(a.pool == "max" ? std::vector<Tensor>{c.out(1)} : std::vector<Tensor>{});
  const Tensors found = embedding_pool_grad_op.all(Inputs(in, ends.data()), back);
  Tensors out;
  out.resize(c.in.flat().size());
  const size_t first = c.in.place_of(1);
  for (size_t t = 0; t < s.tables.size(); ++t) out[first + t] = found[s.tables.size() - 1 - t];
  return out;
}

ARGOSY_OP(embedding_pool, EmbeddingPoolAttrs)
    .doc(
        "Looks up the ids of many slots, pools those of each sample and joins the slots: [samples, "
        "sum of dims]. weights: one table [rows, dim] for all slots, or one for each. ids of a "
        "slot: "
        "of all samples, one after the other, with their numbers in lengths; or, without lengths, "
        "[samples, ..] with equally many for each. Equal in every bit to embedding, sequence_pool "
        "and concat. padding_idx (-1: none) looks up zeros. sparse: gradients of the tables hold "
        "only the rows that occur.")
    .list_input("ids", kIndex, Save::value)
    .list_input("weights", kFloating, Save::shape)
    .list_input("lengths", only(DType::int64), Save::value)
    .output("out")
    .hidden_output("found")
    .infer(pool_infer)
    .kernel("gather", pool_run)
    .gradient(pool_grad)
    .done();

Tensors grad_of_grad(const GradCall& c, const EmbeddingPoolAttrs& a) {
  const Slots s = backward_slots(c.in);
  if (a.pool == "max") {
    std::vector<Tensor> in(s.ids.begin(), s.ids.end());
    std::vector<uint32_t> ends{static_cast<uint32_t>(in.size())};
    auto list = [&](std::span<const Tensor> from) {
      in.insert(in.end(), from.begin(), from.end());
      ends.push_back(static_cast<uint32_t>(in.size()));
    };
    std::vector<Tensor> tables;
    for (size_t t = 0; t < s.tables.size(); ++t)
      tables.push_back(c.dy(t).defined() ? rows_to_dense(c.dy(t)) : zeros_like(s.tables[t]));
    list(tables);
    list(s.lengths);
    list(c.in.list(4));
    Tensors out;
    out.resize(c.in.flat().size());
    out[0] = std::move(embedding_pool_picked_op.all(Inputs(in, ends.data()), a)[0]);
    return out;
  }
  // Slots of one call after the other, at their columns.
  std::vector<size_t> order(s.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (a.reversed) std::reverse(order.begin(), order.end());
  if (!a.columns.empty())
    std::sort(order.begin(), order.end(),
              [&](size_t x, size_t y) { return a.columns[x] < a.columns[y]; });
  std::vector<Tensor> in;
  std::vector<uint32_t> ends;
  auto list = [&](std::span<const Tensor> from) {
    for (size_t i : order)
      if (!from.empty()) in.push_back(from[i]);
    ends.push_back(static_cast<uint32_t>(in.size()));
  };
  list(s.ids);
  std::vector<Tensor> tables;
  for (size_t t = 0; t < s.tables.size(); ++t)
    tables.push_back(c.dy(t).defined() ? rows_to_dense(c.dy(t)) : zeros_like(s.tables[t]));
  if (tables.size() == 1) {
    in.push_back(tables[0]);
    ends.push_back(static_cast<uint32_t>(in.size()));
  } else {
    list(tables);
  }
  list(s.lengths);
  EmbeddingPoolAttrs forward = a;
  forward.columns.clear();
  forward.reversed = false;
  forward.pad_value = 0;
  Tensors out;
  out.resize(c.in.flat().size());
  out[0] = std::move(embedding_pool_op.all(Inputs(in, ends.data()), forward)[0]);
  return out;
}

}  // namespace
}  // namespace argosy::ops

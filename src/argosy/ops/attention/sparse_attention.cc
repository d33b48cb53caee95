#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/gemm.h"
#include "argosy/op/cost.h"
#include "argosy/op/define.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/parts.h"

// Attention of each query to the keys that a pattern names for it. A pattern is four operands:
// sparse_csr_offset, sparse_csr_columns and the two masks.
namespace argosy::ops {
namespace {

using op::Cost;
using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

constexpr DTypes kWide = only(DType::float32) | only(DType::float64);

// --- what operands must be ---

// x may be undefined.
void check_shape(const char* op, const Tensor& query, const char* name, const Tensor& x,
                 const char* axes, const Shape& shape) {
  if (!x.defined()) return;
  bool fits = x.rank() == shape.rank();
  for (int i = 0; fits && i < x.rank(); ++i)
    fits = x.dim(i) < 0 || shape[i] < 0 || x.dim(i) == shape[i];
  ARGOSY_CHECK(fits, invalid_argument)
      << '[' << op << "] " << name << " must be " << axes << " = " << shape << " for query "
      << query << ", got " << x << ". Do this: check the order of its axes, and its sizes.";
}
void check_dtype(const char* op, const Tensor& query, const char* name, const Tensor& x) {
  ARGOSY_CHECK(!x.defined() || x.dtype() == query.dtype(), invalid_argument)
      << '[' << op << "] " << name << " must have the dtype of query " << query << ", got " << x
      << ". Do this: cast it.";
}

void check_pattern(const char* op, const Tensor& query, std::span<const Tensor> pattern) {
  ARGOSY_CHECK(query.rank() == 4, invalid_argument)
      << '[' << op << "] query must be [batch, heads, length, size], got " << query
      << ". Do this: reshape it.";
  const int64_t batch = query.dim(0), heads = query.dim(1), length = query.dim(2);
  check_shape(op, query, "sparse_csr_offset", pattern[0], "[batch, heads, length + 1]",
              {batch, heads, length < 0 ? kUnknown : length + 1});
  check_shape(op, query, "sparse_csr_columns", pattern[1], "[batch, heads, columns]",
              {batch, heads, kUnknown});
  check_shape(op, query, "key_padding_mask", pattern[2], "[batch, length]", {batch, length});
  check_shape(op, query, "attn_mask", pattern[3], "[length, length]", {length, length});
  check_dtype(op, query, "key_padding_mask", pattern[2]);
  check_dtype(op, query, "attn_mask", pattern[3]);
}

// Of the op and its gradient, which begin with the same operands.
std::span<const Tensor> pattern_in(const Inputs& in) {
  return in.flat().subspan(3, 4);
}
void check_operands(const char* op, const Inputs& in) {
  check_pattern(op, in[0], pattern_in(in));
  const char* names[] = {"", "key", "value"};
  for (size_t i = 1; i < 3; ++i) {
    check_shape(op, in[0], names[i], in[i], "[batch, heads, length, size]", in[0].shape());
    check_dtype(op, in[0], names[i], in[i]);
  }
}

// --- the pattern of a call ---

// Queries are numbered through all batches and heads. T: the dtype of masks.
template <class T>
class Pattern {
 public:
  // Raises for columns that cannot be.
  Pattern(const char* op, const Tensor& query, std::span<const Tensor> operands)
      : op_(op),
        heads_(query.dim(1)),
        length_(query.dim(2)),
        room_(operands[1].dim(2)),
        offset_(as_dtype(operands[0], DType::int64)),
        columns_(as_dtype(operands[1], DType::int64)),
        keys_(operands[2].defined() ? operands[2].data<T>() : nullptr),
        pairs_(operands[3].defined() ? operands[3].data<T>() : nullptr) {
    parallel_for(query.dim(0) * heads_, 1, [&](int64_t head, int64_t last) {
      for (; head < last; ++head) check(head);
    });
  }

  // The columns of a query that no mask leaves out.
  void find(int64_t query, std::vector<int64_t>* found) const {
    const int64_t head = query / length_, row = query % length_;
    const T* keys = keys_ ? keys_ + head / heads_ * length_ : nullptr;
    const T* pairs = pairs_ ? pairs_ + row * length_ : nullptr;
    found->clear();
    for (int64_t i = offset(head)[row]; i < offset(head)[row + 1]; ++i) {
      const int64_t column = columns(head)[i];
      if ((!keys || keys[column] != 0) && (!pairs || pairs[column] != 0)) found->push_back(column);
    }
  }

  // How many queries are worth a task, where a column costs `each`.
  int64_t grain(int64_t each) const {
    const int64_t cost = (room_ / std::max<int64_t>(1, length_) + 1) * std::max<int64_t>(1, each);
    return std::max<int64_t>(1, 32768 / cost);
  }

 private:
  const int64_t* offset(int64_t head) const {
    return offset_.data<int64_t>() + head * (length_ + 1);
  }
  const int64_t* columns(int64_t head) const { return columns_.data<int64_t>() + head * room_; }

  struct Where {
    int64_t batch, head;
  };
  friend Message& operator<<(Message& m, const Where& w) {
    return m << "batch " << w.batch << ", head " << w.head;
  }

  void check(int64_t head) const {
    const int64_t* offset = this->offset(head);
    const Where where{head / heads_, head % heads_};
    ARGOSY_CHECK(offset[0] == 0, invalid_argument)
        << '[' << op_ << "] sparse_csr_offset must begin with 0, got " << offset[0] << " for "
        << where << ". Do this: count the columns of each head from 0.";
    for (int64_t row = 0; row < length_; ++row)
      ARGOSY_CHECK(offset[row] <= offset[row + 1], invalid_argument)
          << '[' << op_ << "] sparse_csr_offset must not fall: expected at least " << offset[row]
          << " at " << row + 1 << ", got " << offset[row + 1] << " for " << where
          << ". Do this: give sums of the numbers of columns of the queries before.";
    ARGOSY_CHECK(offset[length_] <= room_, invalid_argument)
        << '[' << op_ << "] sparse_csr_offset must end with at most " << room_
        << ", the columns that there are, got " << offset[length_] << " for " << where
        << ". Do this: pass all columns.";
    std::vector<int64_t> last_row(static_cast<size_t>(length_), -1);
    for (int64_t row = 0; row < length_; ++row)
      for (int64_t i = offset[row]; i < offset[row + 1]; ++i)
        check_column(columns(head)[i], row, where, last_row);
  }
  void check_column(int64_t column, int64_t row, const Where& where,
                    std::vector<int64_t>& last_row) const {
    ARGOSY_CHECK(0 <= column && column < length_, invalid_argument)
        << '[' << op_ << "] sparse_csr_columns: column " << column << " of query " << row << ", "
        << where << ", is out of range: expected 0 <= column < " << length_
        << " (the length of key). Do this: check the columns.";
    int64_t& last = last_row[static_cast<size_t>(column)];
    ARGOSY_CHECK(last != row, invalid_argument)
        << '[' << op_ << "] sparse_csr_columns: column " << column << " of query " << row << ", "
        << where << ", is there twice: expected each at most once. Do this: drop the second.";
    last = row;
  }

  const char* op_;
  const int64_t heads_, length_, room_;  // room_: columns of each head, used or not
  const Tensor offset_, columns_;
  const T *keys_, *pairs_;
};

// --- the pattern as a mask ---

void pairs_infer(InferContext& c, const NoAttrs&) {
  const Tensor& query = c.in[0];
  check_pattern(c.name(), query, c.in.flat().subspan(1));
  c.out[0] = {{query.dim(0), query.dim(1), query.dim(2), query.dim(2)}, DType::bool_};
}

void pairs_run(KernelFrame& f, const NoAttrs&) {
  const int64_t length = f.out[0].dim(3), queries = f.out[0].numel() / std::max<int64_t>(1, length);
  bool* out = f.out[0].data<bool>();
  dispatch_types<float, double>(f.in[0].dtype(), [&]<class T>(T) {
    const Pattern<T> pattern(f.name(), f.in[0], f.in.flat().subspan(1));
    parallel_for(queries, pattern.grain(1), [&](int64_t query, int64_t last) {
      std::vector<int64_t> columns;
      for (; query < last; ++query) {
        pattern.find(query, &columns);
        std::fill_n(out + query * length, length, false);
        for (int64_t column : columns) out[query * length + column] = true;
      }
    });
  });
}

ARGOSY_OP(sparse_attention_pairs, NoAttrs)
    .doc("bool [batch, heads, length, length]: the pairs that take part in sparse_attention.")
    .input("query", kWide)
    .shape_only()
    .input("sparse_csr_offset", kIndex)
    .input("sparse_csr_columns", kIndex)
    .optional_input("key_padding_mask", kWide)
    .optional_input("attn_mask", kWide)
    .index_output("out")
    .infer(pairs_infer)
    .kernel("rows", pairs_run)
    .done();

// --- from other ops ---

Tensor over_root(const Tensor& x, const Tensor& query) {
  return multiply(x, rsqrt(size_of(query, 3, query.dtype())));
}

// [batch, heads, length, length], 0 for pairs that do not take part.
Tensor weights_of(const Inputs& in) {
  const Tensor& query = in[0];
  const Tensor pairs = sparse_attention_pairs_op.all({query, in[3], in[4], in[5], in[6]})[0];
  // A finite number: a query without pairs has no NaN then, in its gradients neither.
  const Tensor lowest =
      constant(std::numeric_limits<float>::lowest(), query.dtype(), query.place());
  const Tensor scores = over_root(matmul(query, in[1], false, true), query);
  const Tensor weights = softmax(where(pairs, scores, lowest), -1);
  return where(pairs, weights, constant(0, query.dtype(), query.place()));
}

Tensors attention_parts(const Inputs& in, const NoAttrs&) {
  return {matmul(weights_of(in), in[2])};
}

Tensors grad_parts(const Inputs& in, const NoAttrs&) {
  const Tensor &query = in[0], &key = in[1], &value = in[2], &dy = in[7];
  const Tensor weights = weights_of(in);
  const Tensor dweights = matmul(dy, value, false, true);
  const Tensor dscores = over_root(softmax_grad(weights, dweights, -1), query);
  return {matmul(dscores, key), matmul(dscores, query, true), matmul(weights, dy, true)};
}

// --- kernels ---

template <class T>
T dot(int64_t n, const T* x, const T* y) {
  T sum;
  cpu::dot(dtype_of<T>, n, x, 1, y, 1, &sum);
  return sum;
}
template <class T>
void add_scaled(int64_t n, T factor, const T* __restrict x, T* __restrict y) {
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

// The columns of one query and their weights.
template <class T>
struct Row {
  std::vector<int64_t> columns;
  std::vector<T> weights;

  // key: of the query's head.
  void compute(const Pattern<T>& pattern, int64_t at, int64_t size, const T* query, const T* key) {
    pattern.find(at, &columns);
    weights.clear();
    const T factor = 1 / std::sqrt(static_cast<T>(size));
    for (int64_t column : columns)
      weights.push_back(dot(size, query, key + column * size) * factor);
    const T high = columns.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
    T sum = 0;
    for (T& w : weights) sum += w = std::exp(w - high);
    for (T& w : weights) w /= sum;
  }
};

template <class T>
void run_as(KernelFrame& f) {
  const int64_t length = f.in[0].dim(2), size = f.in[0].dim(3);
  const int64_t queries = f.in[0].dim(0) * f.in[0].dim(1) * length;
  const T *query = f.in[0].data<T>(), *key = f.in[1].data<T>(), *value = f.in[2].data<T>();
  T* out = f.out[0].data<T>();
  const Pattern<T> pattern(f.name(), f.in[0], pattern_in(f.in));
  parallel_for(queries, pattern.grain(2 * size), [&](int64_t at, int64_t last) {
    Row<T> row;
    for (; at < last; ++at) {
      const int64_t head = at / length * length * size;
      T* y = out + at * size;
      row.compute(pattern, at, size, query + at * size, key + head);
      std::fill_n(y, size, T(0));
      for (size_t i = 0; i < row.columns.size(); ++i)
        add_scaled(size, row.weights[i], value + head + row.columns[i] * size, y);
    }
  });
}

void run(KernelFrame& f, const NoAttrs&) {
  dispatch_types<float, double>(f.in[0].dtype(), [&]<class T>(T) { run_as<T>(f); });
}

// The rows of one head and their gradients.
template <class T>
struct Head {
  int64_t length, size;
  const T *query, *key, *value, *dy;
  T *dquery, *dkey, *dvalue;

  void add_row(const Row<T>& row, int64_t at, std::vector<T>& dweights) const {
    const T *q = query + at * size, *d = dy + at * size;
    const T factor = 1 / std::sqrt(static_cast<T>(size));
    T mean = 0;
    dweights.clear();
    for (size_t i = 0; i < row.columns.size(); ++i) {
      dweights.push_back(dot(size, d, value + row.columns[i] * size));
      mean += row.weights[i] * dweights[i];
    }
    for (size_t i = 0; i < row.columns.size(); ++i) {
      const int64_t column = row.columns[i] * size;
      const T weight = row.weights[i], dscore = weight * (dweights[i] - mean) * factor;
      add_scaled(size, dscore, key + column, dquery + at * size);
      add_scaled(size, dscore, q, dkey + column);
      add_scaled(size, weight, d, dvalue + column);
    }
  }
};

// A task is a head: several queries add to the same key.
template <class T>
void grad_run_as(KernelFrame& f) {
  const int64_t length = f.in[0].dim(2), size = f.in[0].dim(3);
  const Pattern<T> pattern(f.name(), f.in[0], pattern_in(f.in));
  parallel_for(f.in[0].dim(0) * f.in[0].dim(1), 1, [&](int64_t number, int64_t last) {
    Row<T> row;
    std::vector<T> dweights;
    for (; number < last; ++number) {
      auto from = [&](size_t i) { return f.in[i].data<T>() + number * length * size; };
      auto to = [&](size_t i) { return f.out[i].data<T>() + number * length * size; };
      const Head<T> head{length, size, from(0), from(1), from(2), from(7), to(0), to(1), to(2)};
      for (size_t i = 0; i < 3; ++i) std::fill_n(to(i), length * size, T(0));
      for (int64_t at = 0; at < length; ++at) {
        row.compute(pattern, number * length + at, size, head.query + at * size, head.key);
        head.add_row(row, at, dweights);
      }
    }
  });
}

void grad_run(KernelFrame& f, const NoAttrs&) {
  dispatch_types<float, double>(f.in[0].dtype(), [&]<class T>(T) { grad_run_as<T>(f); });
}

// --- descriptions ---

// Products of a query's row and another, for each column.
Cost cost_of_products(const InferContext& c, double products) {
  return op::cost_of_shapes(
      c, products * 2 * static_cast<double>(c.in[4].numel()) * static_cast<double>(c.in[0].dim(3)));
}

void grad_infer(InferContext& c, const NoAttrs&) {
  check_operands(c.name(), c.in);
  check_shape(c.name(), c.in[0], "dy", c.in[7], "[batch, heads, length, size]", c.in[0].shape());
  check_dtype(c.name(), c.in[0], "dy", c.in[7]);
  for (size_t i = 1; i < 3; ++i) c.out[i] = {c.in[i].shape(), c.in[0].dtype()};
}

Cost grad_cost(const InferContext& c, const NoAttrs&) {
  return cost_of_products(c, 5);
}

ARGOSY_OP(sparse_attention_grad, NoAttrs)
    .doc("Gradients of sparse_attention by query, key and value.")
    .input("query", kWide)
    .input("key", kWide)
    .input("value", kWide)
    .input("sparse_csr_offset", kIndex)
    .input("sparse_csr_columns", kIndex)
    .optional_input("key_padding_mask", kWide)
    .optional_input("attn_mask", kWide)
    .input("dy", kWide)
    .output("dquery")
    .output("dkey")
    .output("dvalue")
    .infer(grad_infer)
    .kernel("rows", grad_run)
    .compose(grad_parts)
    .cost(grad_cost)
    .done();

void infer(InferContext& c, const NoAttrs&) {
  check_operands(c.name(), c.in);
}

Tensors gradient(const GradCall& c, const NoAttrs&) {
  std::vector<Tensor> operands(c.in.flat().begin(), c.in.flat().end());
  operands.push_back(c.dy());
  Tensors d = sparse_attention_grad_op.all(Inputs(operands));
  d.resize(c.in.flat().size());
  return d;
}

Cost cost(const InferContext& c, const NoAttrs&) {
  return cost_of_products(c, 2);
}

ARGOSY_OP(sparse_attention, NoAttrs)
    .python(
        "nn.functional.sparse_attention(query, key, value, sparse_csr_offset, "
        "sparse_csr_columns, key_padding_mask=None, attn_mask=None, name=None)")
    .doc(
        "softmax(query key^T / sqrt(size)) value for every head, over the columns alone that a "
        "pattern in CSR form gives each query. query, key and value: [batch, heads, length, size]. "
        "Query i of a head takes part with the keys sparse_csr_columns[sparse_csr_offset[i] : "
        "sparse_csr_offset[i + 1]] of that head, in any order, none twice; columns [batch, heads, "
        "n] "
        "after the last offset [batch, heads, length + 1] are not read. Where key_padding_mask "
        "[batch, length] is 0, no query takes part with that key; where attn_mask [length, length] "
        "is 0, that query does not. Both are of query's dtype and have no gradient. A query "
        "without "
        "keys gives 0.")
    .shape(
        "query [b,h,m,d], key [b,h,m,d], value [b,h,m,d], sparse_csr_offset [b,h,o], "
        "sparse_csr_columns [b,h,p], key_padding_mask [b,m], attn_mask [m,m] -> [b,h,m,d]")
    .example(R"(>>> F = argosy.nn.functional
>>> x = argosy.ones([1, 1, 2, 4])
>>> offset, columns = argosy.to_tensor([[[0, 1, 2]]], dtype="int32"), argosy.to_tensor([[[0, 1]]], dtype="int32")
>>> F.sparse_attention(x, x, x, offset, columns).shape
paddle.Size([1, 1, 2, 4]))")
    .paper("1904.10509")
    .input("query", kWide, Save::value)
    .input("key", kWide, Save::value)
    .input("value", kWide, Save::value)
    .input("sparse_csr_offset", kIndex, Save::value)
    .input("sparse_csr_columns", kIndex, Save::value)
    .optional_input("key_padding_mask", kWide, Save::value)
    .optional_input("attn_mask", kWide, Save::value)
    .output("out")
    .infer(infer)
    .kernel("rows", run)
    .compose(attention_parts)
    .gradient(gradient)
    .cost(cost)
    .done();

}  // namespace
}  // namespace argosy::ops

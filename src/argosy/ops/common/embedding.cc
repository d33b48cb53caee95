#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/op/define.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/sparse/sparse.h"

// Rows of a table by number.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

void check_rows(const char* op, std::span<const int64_t> rows, int64_t height) {
  for (int64_t r : rows)
    ARGOSY_CHECK(0 <= r && r < height, invalid_argument)
        << '[' << op << "] index " << r << " is out of range: expected 0 <= index < " << height
        << " (the rows of weight). Do this: check num_embeddings, or the data.";
}

void embedding_infer(InferContext& c, const EmbeddingAttrs& a) {
  const Tensor &x = c.in[0], &weight = c.in[1];
  ARGOSY_CHECK(kIndex.has(x.dtype()), not_implemented)
      << "[embedding] x must be int32 or int64, got " << x << ". Do this: call x.astype('int64').";
  ARGOSY_CHECK(weight.rank() == 2, invalid_argument)
      << "[embedding] weight must be [rows, dim], got " << weight
      << ". Do this: reshape it to two dimensions.";
  ARGOSY_CHECK(a.padding_idx >= -1 && (weight.dim(0) < 0 || a.padding_idx < weight.dim(0)),
               invalid_argument)
      << "padding_idx must be within [-" << weight.dim(0) << ", " << weight.dim(0)
      << ") [embedding], got " << a.padding_idx
      << ". Do this: pass a row of weight, or None for no padding.";
  Shape shape = x.shape();
  shape.push_back(weight.dim(1));
  c.out[0] = {shape, weight.dtype()};
}

void embedding_run(KernelFrame& f, const EmbeddingAttrs& a) {
  const Tensor& weight = f.in[1];
  const Tensor& out = f.out[0];
  Tensor rows = as_dtype(f.in[0], DType::int64);
  const int64_t* row = rows.data<int64_t>();
  check_rows("embedding", {row, static_cast<size_t>(rows.numel())}, weight.dim(0));
  if (out.numel() == 0) return;
  const int64_t bytes = weight.dim(1) * item_size(weight.dtype());
  const char* from = static_cast<const char*>(weight.raw());
  char* to = static_cast<char*>(out.raw());
  parallel_for(rows.numel(), std::max<int64_t>(1, 65536 / bytes), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (row[i] == a.padding_idx)
        std::memset(to + i * bytes, 0, static_cast<size_t>(bytes));
      else
        std::memcpy(to + i * bytes, from + row[i] * bytes, static_cast<size_t>(bytes));
    }
  });
}

// How often each row occurs.
std::vector<int64_t> counts_of(std::span<const int64_t> rows, int64_t height) {
  std::vector<int64_t> counts(static_cast<size_t>(height));
  for (int64_t r : rows) ++counts[static_cast<size_t>(r)];
  return counts;
}

// dy's row i, over how often it occurs with scale_grad_by_freq.
void scale_rows(const Tensor& values, std::span<const int64_t> rows,
                const std::vector<int64_t>& counts) {
  const int64_t width = values.dim(1), item = item_size(values.dtype());
  const int64_t steps[] = {item, item};
  for (size_t i = 0; i < rows.size(); ++i) {
    cpu::LoopParams p{1 / static_cast<double>(counts[static_cast<size_t>(rows[i])]), 0};
    char* row = static_cast<char*>(values.raw()) + static_cast<int64_t>(i) * width * item;
    char* const ptrs[] = {row, row};
    cpu::scale_loops()[values.dtype()](ptrs, steps, width, &p);
  }
}

// x, dy, like: a row of dy for each number of x.
void check_gradient_rows(const InferContext& c) {
  expect_rank(c, 1, 1, kMaxRank);
  expect_rank(c, 2, 2, 2);
  const int64_t n = c.in[0].numel(), width = c.in[2].dim(1);
  if (n >= 0 && width >= 0) expect_size(c, 1, n * width);
  ARGOSY_CHECK(may_equal(c.in[1].dim(-1), width), invalid_argument)
      << '[' << c.name() << "] rows of dy must be as long as those of the table, " << width
      << ", got " << c.in[1] << ". Do this: pass the gradient of embedding's result.";
}

void grad_infer(InferContext& c, const EmbeddingAttrs&) {
  check_gradient_rows(c);
  c.out[0] = {c.in[2].shape(), c.in[1].dtype()};
}

// Rows are added in the order in which they occur, each thread in columns of its own.
void grad_run(KernelFrame& f, const EmbeddingAttrs& a) {
  const Tensor &dy = f.in[1], &out = f.out[0];
  Tensor rows = as_dtype(f.in[0], DType::int64);
  const int64_t* row = rows.data<int64_t>();
  const int64_t n = rows.numel(), height = out.dim(0), width = out.dim(1);
  check_rows("embedding", {row, static_cast<size_t>(n)}, height);
  const bool half = kHalf.has(out.dtype());
  Tensor sum = half ? Tensor::empty(out.shape(), DType::float32) : out;
  std::memset(sum.raw(), 0, sum.nbytes());
  if (n == 0 || width == 0) {
    if (half) op::copy_into(out, sum);
    return;
  }
  Tensor values = as_dtype(dy, sum.dtype());
  if (a.scale_grad_by_freq) {
    std::span<const int64_t> all(row, static_cast<size_t>(n));
    Tensor scaled = Tensor::empty({n, width}, sum.dtype());
    op::copy_into(scaled, values.view({n, width}, {width, 1}));
    scale_rows(scaled, all, counts_of(all, height));
    values = scaled;
  }
  dispatch_types<float, double, std::complex<float>, std::complex<double>>(
      sum.dtype(), [&]<class T>(T) {
        const T* from = values.data<T>();
        T* to = sum.data<T>();
        parallel_for(width, std::max<int64_t>(16, 65536 / n), [&](int64_t begin, int64_t end) {
          for (int64_t i = 0; i < n; ++i) {
            if (row[i] == a.padding_idx) continue;
            const T* source = from + i * width;
            T* target = to + row[i] * width;
            for (int64_t k = begin; k < end; ++k) target[k] += source[k];
          }
        });
      });
  if (half) op::copy_into(out, sum);
}

Tensors grad_of_grad(const GradCall& c, const EmbeddingAttrs& a);

ARGOSY_OP(embedding_grad, EmbeddingAttrs)
    .doc("Zeros of the shape of `like` with dy's rows added at the rows that x names.")
    .input("x", kAny, Save::value)
    .input("dy", kFloating | kComplex)
    .input("like")
    .shape_only()
    .output("dweight")
    .infer(grad_infer)
    .kernel("scatter", grad_run)
    .gradient(grad_of_grad)
    .lookup_gradient(2, 0, 1)
    .done();

// The rows that occur, as they are; those of padding_idx are left out.
Tensor sparse_gradient(const Tensor& x, const Tensor& dy, int64_t height, const EmbeddingAttrs& a) {
  Tensor all = as_dtype(x, DType::int64);
  const int64_t* row = all.data<int64_t>();
  const int64_t n = all.numel(), width = dy.dim(-1);
  check_rows("embedding", {row, static_cast<size_t>(n)}, height);
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) kept += row[i] != a.padding_idx;
  Tensor rows = Tensor::empty({kept}, DType::int64, x.place());
  Tensor values = Tensor::empty({kept, width}, dy.dtype(), dy.place());
  Tensor from = op::contiguous(dy);
  const size_t bytes = static_cast<size_t>(width * item_size(dy.dtype()));
  int64_t next = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (row[i] == a.padding_idx) continue;
    rows.data<int64_t>()[next] = row[i];
    std::memcpy(static_cast<char*>(values.raw()) + static_cast<size_t>(next) * bytes,
                static_cast<const char*>(from.raw()) + static_cast<size_t>(i) * bytes, bytes);
    ++next;
  }
  if (a.scale_grad_by_freq) {
    std::span<const int64_t> used(rows.data<int64_t>(), static_cast<size_t>(kept));
    scale_rows(values, used, counts_of(used, height));
  }
  return Tensor::row_sparse(rows, values, height);
}

void rows_grad_infer(InferContext& c, const EmbeddingAttrs&) {
  check_gradient_rows(c);
  c.out[0] = {c.in[2].shape(), c.in[1].dtype(), Layout::row_sparse};
}

void rows_grad_run(KernelFrame& f, const EmbeddingAttrs& a) {
  f.out[0] = sparse_gradient(f.in[0], f.in[1], f.in[2].dim(0), a);
}

ARGOSY_OP(embedding_rows_grad, EmbeddingAttrs)
    .doc(
        "embedding_grad as a row-sparse tensor of the shape of `like`: dy's rows, for those that x "
        "names; repeated ones add up.")
    .input("x", kAny, Save::value)
    .input("dy", kFloating)
    .input("like")
    .shape_only()
    .output("dweight")
    .infer(rows_grad_infer)
    .kernel("gather", rows_grad_run)
    .gradient(grad_of_grad)
    .lookup_gradient(2, 0, 1)
    .done();

Tensors embedding_grad_rule(const GradCall& c, const EmbeddingAttrs& a) {
  if (a.sparse) return {Tensor(), embedding_rows_grad_op(c.in[0], c.dy(), c.in[1], a)};
  return {Tensor(), embedding_grad_op(c.in[0], c.dy(), c.in[1], a)};
}

ARGOSY_OP(embedding, EmbeddingAttrs)
    .doc(
        "The rows of weight that x names; zeros, without gradient, for padding_idx (-1: none). "
        "sparse: the gradient of weight holds only the rows that occur. scale_grad_by_freq divides "
        "the gradient of a row by how often it occurs.")
    .shape("x [*s], weight [v,d] -> [*s,d]")
    .input("x", kAny, Save::value)
    .input("weight", kFloating | kComplex, Save::shape)
    .output("out")
    .infer(embedding_infer)
    .kernel("gather", embedding_run)
    .gradient(embedding_grad_rule)
    .lookup(1, 0)
    .amp(op::Amp::full)
    .done();

Tensors grad_of_grad(const GradCall& c, const EmbeddingAttrs& a) {
  const Tensor& x = c.in[0];
  const Tensor table = rows_to_dense(c.dy());
  Tensor found = embedding_op(x, table, EmbeddingAttrs{a.padding_idx, false, false});
  if (a.scale_grad_by_freq) {  // over how often each row occurs
    const Tensor one = ones_like(slice(found, -1, 0, 1));
    const Tensor counts = embedding_grad_op(x, one, slice(table, 1, 0, 1), EmbeddingAttrs{});
    found = divide(found, embedding_op(x, counts, EmbeddingAttrs{}));
  }
  return {Tensor(), found, Tensor()};
}

// --- rows that are too long ---

void renorm_run(KernelFrame& f, const EmbeddingRenormAttrs& a) {
  const Tensor& weight = f.out[0];
  Tensor rows = as_dtype(f.in[1], DType::int64);
  const int64_t* first = rows.data<int64_t>();
  std::vector<int64_t> unique(first, first + rows.numel());
  check_rows("embedding_renorm_", unique, weight.dim(0));
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  const int64_t width = weight.dim(1);
  dispatch_floating(weight.dtype(), [&]<class T>(T) {
    for (int64_t r : unique) {
      T* row = weight.data<T>() + r * weight.strides()[0];
      const int64_t step = weight.strides()[1];
      double norm = 0;
      for (int64_t k = 0; k < width; ++k) {
        const double v = std::abs(static_cast<double>(row[k * step]));
        norm = std::isinf(a.norm_type) ? std::max(norm, v) : norm + std::pow(v, a.norm_type);
      }
      if (!std::isinf(a.norm_type)) norm = std::pow(norm, 1 / a.norm_type);
      if (norm <= a.max_norm) continue;
      const double factor = a.max_norm / (norm + 1e-7);
      for (int64_t k = 0; k < width; ++k)
        row[k * step] = T(static_cast<double>(row[k * step]) * factor);
    }
  });
}

void renorm_infer(op::InferContext& c, const EmbeddingRenormAttrs&) {
  expect_rank(c, 0, 2, 2);
}

ARGOSY_OP(embedding_renorm_, EmbeddingRenormAttrs)
    .doc(
        "Scales, in place, the rows of weight that x names and whose norm is above max_norm to "
        "that norm.")
    .input("weight", kFloating)
    .input("x", kIndex)
    .output("out")
    .writes({0})
    .infer(renorm_infer)
    .kernel("loop", renorm_run)
    .strided()
    .done();

// --- one hot ---

int64_t classes_of(const OneHotAttrs& a) {
  ARGOSY_CHECK(a.num_classes.size() == 1, invalid_argument)
      << "[one_hot] num_classes must be one number, got " << a.num_classes.size()
      << ". Do this: pass one int.";
  return a.num_classes[0];
}

void one_hot_infer(InferContext& c, const OneHotAttrs& a) {
  const int64_t classes = classes_of(a);
  ARGOSY_CHECK(classes >= -1 && classes != 0, invalid_argument)
      << "[one_hot] num_classes must be positive, or -1 for the largest element plus 1, got "
      << classes << ". Do this: pass the number of classes.";
  Shape shape = c.in[0].shape();
  shape.push_back(classes);
  c.out[0] = {shape, DType::float32};
}

void one_hot_run(KernelFrame& f, const OneHotAttrs& a) {
  Tensor x = as_dtype(f.in[0], DType::int64);
  const int64_t* from = x.data<int64_t>();
  const int64_t n = x.numel();
  int64_t classes = classes_of(a);
  Tensor out = f.out[0];
  if (classes < 0) {
    classes = n ? *std::max_element(from, from + n) + 1 : 0;
    Shape shape = x.shape();
    shape.push_back(classes);
    out = f.allocate(0, shape);
  }
  std::memset(out.raw(), 0, out.nbytes());
  for (int64_t i = 0; i < n; ++i) {
    ARGOSY_CHECK(0 <= from[i] && from[i] < classes, invalid_argument)
        << "[one_hot] element " << from[i] << " is out of range: expected 0 <= x < " << classes
        << " (num_classes). Do this: pass a larger num_classes, or check the labels.";
    out.data<float>()[i * classes + from[i]] = 1;
  }
}

ARGOSY_OP(one_hot, OneHotAttrs)
    .doc("float32 [*x.shape, num_classes]: 1 at the element's number, else 0.")
    .shape("x [*s] -> [*s,n']")
    .input("x", kIntegral)
    .index_output("out")
    .infer(one_hot_infer)
    .kernel("scatter", one_hot_run)
    .done();

}  // namespace

Tensor embedding(const Tensor& x, const Tensor& weight, int64_t padding_idx, bool sparse) {
  return embedding_op(x, weight, EmbeddingAttrs{padding_idx, sparse, false});
}
Tensor one_hot(const Tensor& x, int64_t num_classes) {
  return one_hot_op(x, OneHotAttrs{{num_classes}});
}

}  // namespace argosy::ops

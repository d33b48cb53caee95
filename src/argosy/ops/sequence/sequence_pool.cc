#include <algorithm>

#include "argosy/base/parallel.h"
#include "argosy/op/define.h"
#include "argosy/ops/sequence/pool.h"
#include "argosy/ops/sequence/sequence.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::Save;
using pooling::Pool;

int64_t width_of(const Tensor& x) {
  int64_t width = 1;
  for (int i = 1; i < x.rank(); ++i) width *= x.dim(i);
  return width;
}
std::span<const int64_t> numbers(const Tensor& t) {
  return {t.data<int64_t>(), static_cast<size_t>(t.numel())};
}
int64_t chunk_of(int64_t width) {
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(width, 1));
}

void pool_infer(InferContext& c, const SequencePoolAttrs& a) {
  const Tensor &x = c.in[0], &lengths = c.in[1];
  ARGOSY_CHECK(x.rank() >= 1 && lengths.rank() == 1, invalid_argument)
      << "[sequence_pool] expected x of [rows, ..] and lengths of [sequences], got " << x << " and "
      << lengths
      << ". Do this: pass all rows one after the other, and how many belong to each sequence.";
  pooling::pool_of("sequence_pool", a.pool);
  Shape shape = x.shape();
  shape[0] = lengths.dim(0);
  c.out[0] = {shape, x.dtype()};
  const Tensor& where = c.in[2];
  ARGOSY_CHECK(
      !where.defined() || where.numel() == shape.numel() || where.numel() < 0 || shape.numel() < 0,
      invalid_argument)
      << "[sequence_pool] where must have a number for each of " << shape << " results, got "
      << where << ". Do this: pass what the search for the largest found.";
  if (a.pool != "max") shape = Shape{0};
  c.out[1] = {shape, DType::int32};
}

// Elements of x that a search for the largest found before.
template <class T>
void pick(const Tensor& x, const std::vector<int64_t>& starts, const Tensor& found, T* out,
          int64_t width) {
  const int32_t* where = found.data<int32_t>();
  for (size_t s = 0; s + 1 < starts.size(); ++s)
    for (int64_t k = 0; k < width; ++k, ++where, ++out) {
      ARGOSY_CHECK(*where < starts[s + 1] - starts[s], index)
          << "[sequence_pool] where names row " << *where << " of a sequence of "
          << starts[s + 1] - starts[s] << ". Do this: pass what the search for the largest found.";
      *out = *where < 0 ? T(0.0f) : x.data<T>()[(starts[s] + *where) * width + k];
    }
}

void pool_run(KernelFrame& f, const SequencePoolAttrs& a) {
  const Tensor& x = f.in[0];
  const Pool pool = pooling::pool_of("sequence_pool", a.pool);
  const auto starts = pooling::starts_of("sequence_pool", numbers(f.in[1]), x.dim(0));
  const int64_t width = width_of(x);
  if (!f.out[0].has_data()) {
    Shape shape = x.shape();
    shape[0] = f.in[1].dim(0);
    f.allocate(0, shape);
    f.allocate(1, pool == Pool::max ? shape : Shape{0});
  }
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    T* out = f.out[0].data<T>();
    int32_t* where = pool == Pool::max ? f.out[1].data<int32_t>() : nullptr;
    if (f.in[2].defined()) {
      if (where) std::copy_n(f.in[2].data<int32_t>(), f.out[1].numel(), where);
      return pick<T>(x, starts, f.in[2], out, width);
    }
    parallel_for(f.in[1].numel(), chunk_of(width), [&](int64_t begin, int64_t end) {
      std::vector<pooling::Wide<T>> room(static_cast<size_t>(width));
      for (int64_t s = begin; s < end; ++s) {
        const T* first = x.data<T>() + starts[static_cast<size_t>(s)] * width;
        const int64_t n = starts[static_cast<size_t>(s) + 1] - starts[static_cast<size_t>(s)];
        pooling::pool_rows<T>(
            pool, n, width, [&](int64_t i) { return first + i * width; }, out + s * width,
            where ? where + s * width : nullptr, a.pad_value, room.data());
      }
    });
  });
}

void grad_infer(InferContext& c, const SequencePoolAttrs&) {
  c.out[0] = {c.in[2].shape(), c.in[0].dtype()};
}

void grad_run(KernelFrame& f, const SequencePoolAttrs& a) {
  const Tensor &dy = f.in[0], &like = f.in[2];
  const Pool pool = pooling::pool_of("sequence_pool", a.pool);
  const auto starts = pooling::starts_of("sequence_pool", numbers(f.in[1]), like.dim(0));
  const int64_t width = width_of(like);
  if (!f.out[0].has_data()) f.allocate(0, like.shape());
  const int32_t* where = pool == Pool::max ? f.in[3].data<int32_t>() : nullptr;
  dispatch_floating(dy.dtype(), [&]<class T>(T) {
    parallel_for(f.in[1].numel(), chunk_of(width), [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) {
        const int64_t first = starts[static_cast<size_t>(s)];
        const int64_t n = starts[static_cast<size_t>(s) + 1] - first;
        for (int64_t i = 0; i < n; ++i)
          pooling::pool_row_gradient<T>(pool, i, n, width, dy.data<T>() + s * width,
                                        where ? where + s * width : nullptr,
                                        f.out[0].data<T>() + (first + i) * width);
      }
    });
  });
}

Tensors grad_of_grad(const GradCall& c, const SequencePoolAttrs& a);

ARGOSY_OP(sequence_pool_grad, SequencePoolAttrs)
    .doc("The gradient of sequence_pool's x, of the shape of `like`.")
    .input("dy", kFloating)
    .input("lengths", only(DType::int64), Save::value)
    .input("like")
    .shape_only()
    .optional_input("where", only(DType::int32), Save::value)
    .output("dx")
    .infer(grad_infer)
    .kernel("rows", grad_run)
    .gradient(grad_of_grad)
    .done();

Tensors pool_grad(const GradCall& c, const SequencePoolAttrs& a) {
  const Tensor in[] = {c.dy(), c.in[1], c.in[0], a.pool == "max" ? c.out(1) : Tensor()};
  return {sequence_pool_grad_op.one(in, a), Tensor(), Tensor()};
}

ARGOSY_OP(sequence_pool, SequencePoolAttrs)
    .doc(
        "One row for each sequence of a batch x [T, ..] whose sequences have `lengths` rows: their "
        "sum, average, sum over the root of the length (sqrt), elementwise largest (max), first or "
        "last; pad_value where there are none. `where`: the rows that max found before, to be "
        "taken "
        "again.")
    .shape("x [n,*d], lengths [b], where [*w] -> [b,*d]")
    .input("x", kFloating, Save::shape)
    .input("lengths", only(DType::int64), Save::value)
    .optional_input("where", only(DType::int32))
    .output("out")
    .hidden_output("found")
    .infer(pool_infer)
    .kernel("rows", pool_run)
    .gradient(pool_grad)
    .done();

Tensors grad_of_grad(const GradCall& c, const SequencePoolAttrs& a) {
  const Tensor in[] = {c.dy(), c.in[1], a.pool == "max" ? c.in[3] : Tensor()};
  return {sequence_pool_op.one(in, {a.pool, 0}), Tensor(), Tensor(), Tensor()};
}

}  // namespace

Tensor sequence_pool(const Tensor& x, const Tensor& lengths, const std::string& pool,
                     double pad_value) {
  const Tensor in[] = {x, lengths, Tensor()};
  return sequence_pool_op.one(in, {pool, pad_value});
}

}  // namespace argosy::ops

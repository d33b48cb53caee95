#include "argosy/base/parallel.h"
#include "argosy/op/define.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// Products of vectors and matrices as compositions of matmul and multiply.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

constexpr DTypes kProducts = kIntegral | kFloating | kComplex;

void check_rank(const char* op, const char* name, const Tensor& x, int rank) {
  ARGOSY_CHECK(x.rank() == rank, invalid_argument)
      << '[' << op << "] " << name << " must have " << rank << " dimensions, got shape "
      << x.shape() << ". Do this: use matmul, which takes any number, or reshape " << name << '.';
}

void check_sizes(const char* op, const Shape& x, int i, const Shape& y, int j, const char* what) {
  ARGOSY_CHECK(x[i] == y[j] || x[i] < 0 || y[j] < 0, invalid_argument)
      << '[' << op << "] " << what << " must be equal, got " << x[i] << " and " << y[j]
      << " of shapes " << x << " and " << y << ". Do this: transpose or reshape one of them.";
}

void drop_last(Shape& s) {
  s.erase(s.rank() - 1);
}

Tensors plain_product(const Inputs& in, const NoAttrs&) {
  return matmul(in[0], in[1]);
}

// --- mm, bmm, mv ---

void mm_infer(InferContext& c, const NoAttrs&) {
  Shape x = c.in[0].shape(), y = c.in[1].shape();
  ARGOSY_CHECK(x.rank() >= 1 && y.rank() >= 1, invalid_argument)
      << "[mm] operands must have at least 1 dimension, got shapes " << x << " and " << y
      << ". Do this: unsqueeze the 0-d one, or use multiply.";
  c.out[0].shape = {};
  if (x.rank() > 1) {
    c.out[0].shape = x;
    drop_last(c.out[0].shape);
  }
  if (y.rank() > 1) c.out[0].shape.push_back(y.back());
}

ARGOSY_OP(mm, NoAttrs)
    .python("mm(input, mat2, name=None)")
    .method("mm")
    .alias("x", "input")
    .alias("y", "mat2")
    .doc("The product of two matrices [m, k] and [k, n]; stacks of them as matmul takes them.")
    .shape("input [m,k], mat2 [k,n] -> [m,n] | input [*b,m,k], mat2 [*b,k,n] -> [*b,m,n]")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.mm(x, x).tolist()
[[7.0, 10.0], [15.0, 22.0]])")
    .input("input", kProducts)
    .input("mat2", kProducts)
    .output("out")
    .promote_kinds()
    .infer(mm_infer)
    .compose(plain_product)
    .amp(op::Amp::lower)
    .done();

void bmm_infer(InferContext& c, const NoAttrs&) {
  check_rank("bmm", "x", c.in[0], 3);
  check_rank("bmm", "y", c.in[1], 3);
  const Shape &x = c.in[0].shape(), &y = c.in[1].shape();
  check_sizes("bmm", x, 0, y, 0, "the numbers of matrices");
  check_sizes("bmm", x, 2, y, 1, "columns of x and rows of y");
  c.out[0].shape = {x[0] < 0 ? y[0] : x[0], x[1], y[2]};
}

Tensors bmm_parts(const Inputs& in, const NoAttrs&) {
  check_rank("bmm", "x", in[0], 3);
  check_rank("bmm", "y", in[1], 3);
  check_sizes("bmm", in[0].shape(), 0, in[1].shape(), 0, "the numbers of matrices");
  return matmul(in[0], in[1]);
}

ARGOSY_OP(bmm, NoAttrs)
    .python("bmm(x, y, name=None, *, out=None)")
    .method("bmm")
    .alias("input", "x")
    .alias("mat2", "y")
    .doc("The products of b pairs of matrices: x [b, m, k], y [b, k, n] give [b, m, n].")
    .shape("x [b,m,k], y [b,k,n] -> [b,m,n]")
    .example(R"(>>> argosy.bmm(argosy.ones([3, 2, 4]), argosy.ones([3, 4, 5])).shape
paddle.Size([3, 2, 5]))")
    .input("x", kProducts)
    .input("y", kProducts)
    .output("out")
    .promote()
    .infer(bmm_infer)
    .compose(bmm_parts)
    .done();

void mv_infer(InferContext& c, const NoAttrs&) {
  check_rank("mv", "x", c.in[0], 2);
  check_rank("mv", "vec", c.in[1], 1);
  check_sizes("mv", c.in[0].shape(), 1, c.in[1].shape(), 0, "columns of x and elements of vec");
  c.out[0].shape = {c.in[0].shape()[0]};
}

Tensors mv_parts(const Inputs& in, const NoAttrs&) {
  check_rank("mv", "x", in[0], 2);
  check_rank("mv", "vec", in[1], 1);
  return matmul(in[0], in[1]);
}

ARGOSY_OP(mv, NoAttrs)
    .python("mv(x, vec, name=None)")
    .method("mv")
    .alias("input", "x")
    .doc("The product of a matrix x [m, n] and a vector vec [n]: [m].")
    .shape("x [m,k], vec [k] -> [m]")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.mv(x, argosy.to_tensor([1.0, 10.0])).tolist()
[21.0, 43.0])")
    .input("x", kProducts)
    .input("vec", kProducts)
    .output("out")
    .promote()
    .infer(mv_infer)
    .compose(mv_parts)
    .done();

// --- dot, inner, outer ---

void check_dot(const Shape& x, const Shape& y) {
  ARGOSY_CHECK(x.rank() == y.rank() && (x.rank() == 1 || x.rank() == 2), runtime)
      << "[dot] expected two vectors [n] or two stacks [b, n], got shapes " << x << " and " << y
      << ". Do this: use matmul or inner.";
  for (int i = 0; i < x.rank(); ++i)
    ARGOSY_CHECK(x[i] == y[i] || x[i] < 0 || y[i] < 0, runtime)
        << "[dot] operands must have one shape, got " << x << " and " << y
        << ". Do this: broadcast one of them, or use matmul.";
}

void dot_infer(InferContext& c, const NoAttrs&) {
  check_dot(c.in[0].shape(), c.in[1].shape());
  drop_last(c.out[0].shape);
}

Tensors dot_parts(const Inputs& in, const NoAttrs&) {
  check_dot(in[0].shape(), in[1].shape());
  if (in[0].rank() == 1) return matmul(in[0], in[1]);
  return cast(sum(multiply(in[0], in[1]), {-1}), in[0].dtype());
}

ARGOSY_OP(dot, NoAttrs)
    .python("dot(x, y, name=None, *, out=None)")
    .method("dot")
    .alias("input", "x")
    .alias("tensor", "y")
    .doc("The sum of x * y over the last axis, of vectors [n] (0-d result) or stacks [b, n].")
    .shape("x [*b,k], y [*b,k] -> [*b]")
    .example(R"(>>> argosy.dot(argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([3.0, 4.0])).item()
11.0)")
    .input("x", kProducts)
    .input("y", kProducts)
    .output("out")
    .promote()
    .infer(dot_infer)
    .compose(dot_parts)
    .done();

void inner_infer(InferContext& c, const NoAttrs&) {
  Shape x = c.in[0].shape(), y = c.in[1].shape();
  if (x.rank() == 0 || y.rank() == 0) {
    c.out[0].shape = x.rank() ? x : y;
    return;
  }
  check_sizes("inner", x, x.rank() - 1, y, y.rank() - 1, "the last sizes");
  drop_last(x);
  drop_last(y);
  for (int64_t n : y) x.push_back(n);
  c.out[0].shape = x;
}

Tensors inner_parts(const Inputs& in, const NoAttrs&) {
  const Tensor &x = in[0], &y = in[1];
  if (x.rank() == 0 || y.rank() == 0) return multiply(x, y);
  check_sizes("inner", x.shape(), x.rank() - 1, y.shape(), y.rank() - 1, "the last sizes");
  if (y.rank() == 1) return matmul(x, y);
  if (y.rank() == 2) return matmul(x, y, false, true);
  Tensor rows = flatten(y, 0, -2);
  Tensor flat = matmul(x, rows, false, true);
  op::IntArray shape;
  for (int i = 0; i < x.rank() - 1; ++i) push_size(shape, x, i);
  for (int i = 0; i < y.rank() - 1; ++i) push_size(shape, y, i);
  return reshape(flat, shape);
}

ARGOSY_OP(inner, NoAttrs)
    .python("inner(x, y, name=None)")
    .method("inner")
    .alias("input", "x")
    .alias("other", "y")
    .doc("Sums of products over the last axis of both: x [.., n], y [*, n] give [.., *].")
    .shape("x [*a,k], y [*b,k] -> [*s'] | x [*a], y [*b] -> [*s']")
    .example(
        R"(>>> argosy.inner(argosy.to_tensor([[1.0, 2.0]]), argosy.to_tensor([[3.0, 4.0], [5.0, 6.0]])).tolist()
[[11.0, 17.0]])")
    .input("x", kProducts)
    .input("y", kProducts)
    .output("out")
    .promote_kinds()
    .infer(inner_infer)
    .compose(inner_parts)
    .done();

void outer_infer(InferContext& c, const NoAttrs&) {
  c.out[0].shape = {c.in[0].shape().numel(), c.in[1].shape().numel()};
}

Tensors outer_parts(const Inputs& in, const NoAttrs&) {
  auto vector = [](const Tensor& t) { return t.rank() == 1 ? t : reshape(t, {-1}); };
  return multiply(unsqueeze(vector(in[0]), {1}), unsqueeze(vector(in[1]), {0}));
}

ARGOSY_OP(outer, NoAttrs)
    .python("outer(x, y, name=None, *, out=None)")
    .method("outer")
    .alias("input", "x")
    .alias("vec2", "y")
    .doc("All products of an element of x and one of y, both flattened: [x.size, y.size].")
    .shape("x [*s], y [*t] -> [m',n']")
    .example(R"(>>> argosy.outer(argosy.to_tensor([1, 2]), argosy.to_tensor([3, 4])).tolist()
[[3, 4], [6, 8]])")
    .input("x", kProducts | kBool)
    .input("y", kProducts | kBool)
    .output("out")
    .promote_0d()
    .infer(outer_infer)
    .compose(outer_parts)
    .done();

// --- addmm, baddbmm ---

template <int kRank>
void check_add_product(const char* op, const Inputs& in) {
  check_rank(op, "x", in[1], kRank);
  check_rank(op, "y", in[2], kRank);
  const Shape &s = in[0].shape(), &x = in[1].shape(), &y = in[2].shape();
  check_sizes(op, x, kRank - 1, y, kRank - 2, "columns of x and rows of y");
  ARGOSY_CHECK(s.rank() >= kRank - 1 && s.rank() <= kRank, invalid_argument)
      << '[' << op << "] input must broadcast to the product of x " << x << " and y " << y
      << ", got shape " << s << ". Do this: reshape it; a bias is [columns].";
  if (kRank == 3) check_sizes(op, x, 0, y, 0, "the numbers of matrices");
}

template <int kRank>
void add_product_infer(InferContext& c, const AddProductAttrs&) {
  check_add_product<kRank>(c.name(), c.in);
  const Shape &x = c.in[1].shape(), &y = c.in[2].shape();
  c.out[0].shape = x;
  c.out[0].shape[kRank - 1] = y[kRank - 1];
}

template <int kRank>
Tensors add_product(const Inputs& in, const AddProductAttrs& a) {
  check_add_product<kRank>(kRank == 2 ? "addmm" : "baddbmm", in);
  Tensor product = matmul(in[1], in[2]);
  if (a.alpha != 1) product = scale(product, a.alpha);
  return add(product, a.beta == 1 ? in[0] : scale(in[0], a.beta));
}

ARGOSY_OP(addmm, AddProductAttrs)
    .python("addmm(input, x, y, beta=1.0, alpha=1.0, name=None)")
    .method("addmm")
    .inplace("addmm_")
    .alias("mat1", "x")
    .alias("mat2", "y")
    .doc("beta * input + alpha * x @ y; x [m, k], y [k, n], input broadcasts to [m, n].")
    .shape("input [*b], x [m,k], y [k,n] -> [m,n]")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.addmm(argosy.ones([2, 2]), x, x, beta=1.0, alpha=2.0).tolist()
[[15.0, 21.0], [31.0, 45.0]])")
    .input("input", kProducts)
    .input("x", kProducts)
    .input("y", kProducts)
    .output("out")
    .promote()
    .infer(add_product_infer<2>)
    .compose(add_product<2>)
    .done();

ARGOSY_OP(baddbmm, AddProductAttrs)
    .python("baddbmm(input, x, y, beta=1.0, alpha=1.0, name=None)")
    .method("baddbmm")
    .inplace("baddbmm_")
    .alias("batch1", "x")
    .alias("batch2", "y")
    .doc("beta * input + alpha * bmm(x, y); x [b, m, k], y [b, k, n], input as [b, m, n].")
    .shape("input [*c], x [b,m,k], y [b,k,n] -> [b,m,n]")
    .example(R"(>>> x = argosy.ones([1, 2, 2])
>>> argosy.baddbmm(x, x, x, beta=1.0, alpha=2.0).tolist()
[[[5.0, 5.0], [5.0, 5.0]]])")
    .input("input", kProducts)
    .input("x", kProducts)
    .input("y", kProducts)
    .output("out")
    .promote()
    .infer(add_product_infer<3>)
    .compose(add_product<3>)
    .done();

// --- kron, cross ---

void kron_infer(InferContext& c, const NoAttrs&) {
  Shape x = c.in[0].shape(), y = c.in[1].shape();
  while (x.rank() < y.rank()) x.insert(0, 1);
  while (y.rank() < x.rank()) y.insert(0, 1);
  for (int i = 0; i < x.rank(); ++i) x[i] = x[i] < 0 || y[i] < 0 ? kUnknown : x[i] * y[i];
  c.out[0].shape = x;
}

Tensors kron_parts(const Inputs& in, const NoAttrs&) {
  const int rank = std::max(in[0].rank(), in[1].rank());
  if (rank == 0) return multiply(in[0], in[1]);
  // x [m, 1, n, 1, ..] times y [1, p, 1, q, ..], then each pair of dimensions becomes one.
  auto spread = [&](const Tensor& t, int64_t first) {
    op::IntArray axes;
    const int missing = rank - t.rank();
    for (int i = 0; i < rank; ++i) {
      if (i < missing) {
        axes.values.push_back(2 * i);
        axes.values.push_back(2 * i + 1);
      } else {
        axes.values.push_back(2 * i + first);
      }
    }
    return unsqueeze(t, axes);
  };
  Tensor all = multiply(spread(in[0], 1), spread(in[1], 0));
  for (int i = 0; i < rank; ++i) all = flatten(all, i, i + 1);
  return all;
}

ARGOSY_OP(kron, NoAttrs)
    .python("kron(x, y, name=None)")
    .method("kron")
    .alias("input", "x")
    .alias("other", "y")
    .doc(
        "The Kronecker product: every element of x times the whole of y, as blocks. Sizes "
        "multiply; "
        "missing leading dimensions count as 1.")
    .shape("x [*s], y [*t] -> [*s']")
    .example(R"(>>> argosy.kron(argosy.to_tensor([1, 2]), argosy.to_tensor([1, 10])).tolist()
[1, 10, 2, 20])")
    .input("x", kProducts)
    .input("y", kProducts)
    .output("out")
    .promote()
    .infer(kron_infer)
    .compose(kron_parts)
    .done();

}  // namespace

int64_t cross_axis(const Shape& x, const Shape& y, int64_t axis) {
  ARGOSY_CHECK(x.rank() == y.rank(), invalid_argument)
      << "[cross] operands must have one shape, got " << x << " and " << y
      << ". Do this: broadcast one of them first.";
  for (int i = 0; i < x.rank(); ++i) check_sizes("cross", x, i, y, i, "sizes");
  if (axis == 9) {
    for (int i = 0; i < x.rank(); ++i)
      if (x[i] == 3) return i;
    ARGOSY_CHECK(false, invalid_argument)
        << "[cross] no axis of size 3 in shape " << x << ". Do this: give vectors of 3 elements.";
  }
  ARGOSY_CHECK(axis >= -x.rank() && axis < x.rank(), index)
      << "[cross] axis must be in [" << -x.rank() << ", " << x.rank() << "), got " << axis << '.';
  if (axis < 0) axis += x.rank();
  ARGOSY_CHECK(x[static_cast<int>(axis)] == 3 || x[static_cast<int>(axis)] < 0, invalid_argument)
      << "[cross] vectors must have 3 elements along axis " << axis << ", got shape " << x
      << ". Do this: name the axis that holds the 3 components.";
  return axis;
}

namespace {

void cross_infer(InferContext& c, const CrossAttrs& a) {
  const Shape &x = c.in[0].shape(), &y = c.in[1].shape();
  // Which axis has size 3 may only be known when the Program runs.
  if (a.axis != 9 || (x.known() && y.known())) cross_axis(x, y, a.axis);
}

void cross_run(KernelFrame& f, const CrossAttrs& a) {
  const Tensor &x = f.in[0], &y = f.in[1], &z = f.out[0];
  const auto axis = static_cast<int>(cross_axis(x.shape(), y.shape(), a.axis));
  const int64_t step = z.strides()[axis], vectors = z.numel() / 3;
  auto run = [&]<class T, class Acc>(T, Acc) {
    parallel_for(vectors, 1 << 13, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const int64_t at = i / step * 3 * step + i % step;
        Acc u[3], v[3];
        for (int k = 0; k < 3; ++k) {
          u[k] = static_cast<Acc>(x.data<T>()[at + k * step]);
          v[k] = static_cast<Acc>(y.data<T>()[at + k * step]);
        }
        for (int k = 0; k < 3; ++k) {
          const int p = (k + 1) % 3, q = (k + 2) % 3;
          z.data<T>()[at + k * step] = static_cast<T>(u[p] * v[q] - u[q] * v[p]);
        }
      }
    });
  };
  const DType dtype = z.dtype();
  dispatch_types<float16, bfloat16>(dtype, [&]<class T>(T t) { run(t, float()); });
  dispatch_types<float, double, complex64, complex128>(dtype, [&]<class T>(T t) { run(t, T()); });
  dispatch_types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>(
      dtype, [&]<class T>(T t) { run(t, T()); });
}

Tensors cross_grad(const GradCall& c, const CrossAttrs& a);

ARGOSY_OP(cross, CrossAttrs)
    .python("cross(x, y, axis=9, name=None)")
    .method("cross")
    .alias("input", "x")
    .alias("other", "y")
    .alias("dim", "axis")
    .doc("The vector product of 3-vectors along axis; axis 9 means the first axis of size 3.")
    .shape("x [*s], y [*s] -> [*s]")
    .example(
        R"(>>> argosy.cross(argosy.to_tensor([1.0, 0.0, 0.0]), argosy.to_tensor([0.0, 1.0, 0.0])).tolist()
[0.0, 0.0, 1.0])")
    .input("x", kProducts, Save::others)
    .input("y", kProducts, Save::others)
    .output("out")
    .promote()
    .infer(cross_infer)
    .kernel("vectors", cross_run)
    .gradient(cross_grad)
    .done();

Tensors cross_grad(const GradCall& c, const CrossAttrs& a) {
  return {c.needs(0) ? cross_op(conj_if_complex(c.in[1]), c.dy(), a) : Tensor(),
          c.needs(1) ? cross_op(c.dy(), conj_if_complex(c.in[0]), a) : Tensor()};
}

}  // namespace
}  // namespace argosy::ops

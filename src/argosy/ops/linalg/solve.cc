#include <algorithm>
#include <cstring>

#include "argosy/ops/linalg/dense.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/operands.h"

// Solving: triangular factors, inverses, determinants, least squares.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

// --- cholesky ---

template <class A>
void square_infer(InferContext& c, const A&) {
  check_square(c.name(), c.op.inputs[0].name.c_str(), c.in[0].shape());
}

void cholesky_run(KernelFrame& f, const UpperAttrs& a) {
  const Tensor& x = f.in[0];
  std::vector<int32_t> info(static_cast<size_t>(matrix_count(x)));
  cpu::cholesky(x.dtype(), matrix_count(x), x.dim(-1), a.upper, x.raw(), f.out[0].raw(),
                info.data());
  check_info("cholesky", info, "is not positive definite");
}

Tensors cholesky_grad(const GradCall& c, const UpperAttrs& a) {
  Tensor l = a.upper ? adjoint(c.out(0)) : c.out(0);
  Tensor dl = a.upper ? adjoint(c.dy()) : c.dy();
  Tensor p = matmul(adjoint(l), dl);
  p = scale(add(tril(p), tril(p, -1)), 0.5);  // the lower triangle, half of the diagonal
  Tensor lh = adjoint(l);
  // l^-H p l^-1
  Tensor left = triangular_solve(lh, p, true);
  Tensor s = adjoint(triangular_solve(lh, adjoint(left), true));
  return scale(add(s, adjoint(s)), 0.5);
}

ARGOSY_OP(cholesky, UpperAttrs)
    .python("cholesky(x, upper=False, name=None)")
    .method("cholesky")
    .alias("input", "x")
    .doc(
        "The lower triangular L with L L^H = x (upper: U with U^H U = x), for Hermitian positive "
        "definite matrices; only that triangle of x is read. Raises ValueError for others.")
    .shape("x [*b,n,n] -> [*b,n,n]")
    .example(R"(>>> argosy.linalg.cholesky(argosy.to_tensor([[4.0, 2.0], [2.0, 5.0]])).tolist()
[[2.0, 0.0], [1.0, 2.0]])")
    .input("x", kDense)
    .output("out", Save::value)
    .infer(square_infer<UpperAttrs>)
    .kernel("lapack", cholesky_run)
    .gradient(cholesky_grad)
    .done();

// --- triangular_solve, solve, inverse ---

void check_system(const char* op, const Shape& a, const Shape& b) {
  check_square(op, "x", a);
  check_matrix(op, "y", b);
  const int64_t n = a[a.rank() - 1], rows = b[b.rank() - 2];
  ARGOSY_CHECK(n == rows || n < 0 || rows < 0, invalid_argument)
      << '[' << op << "] y must have as many rows as x: x is " << a << ", y is " << b
      << ". Do this: transpose or slice one of them.";
}

Shape batch_shape(const char* op, const Tensor& a, const Tensor& b) {
  return broadcast(op, leading(a.shape(), 2), leading(b.shape(), 2));
}

void system_shape(InferContext& c) {
  const Shape& b = c.in[1].shape();
  check_system(c.name(), c.in[0].shape(), b);
  Shape out = batch_shape(c.name(), c.in[0], c.in[1]);
  out.push_back(b[b.rank() - 2]);
  out.push_back(b[b.rank() - 1]);
  c.out[0].shape = out;
}

// The operand as a packed stack over `batch`.
Tensor stacked(const Tensor& x, Shape batch) {
  batch.push_back(x.dim(-2));
  batch.push_back(x.dim(-1));
  if (batch == x.shape()) return x;
  op::IntArray shape{std::span<const int64_t>(batch.data(), static_cast<size_t>(batch.rank()))};
  op::GradMode off(false);
  return op::contiguous(expand(x, shape));
}

void triangular_infer(InferContext& c, const TriangularAttrs&) {
  system_shape(c);
}

void triangular_run(KernelFrame& f, const TriangularAttrs& t) {
  Shape batch = leading(f.out[0].shape(), 2);
  Tensor a = stacked(f.in[0], batch), b = stacked(f.in[1], batch);
  cpu::triangular_solve(a.dtype(), batch.numel(), b.dim(-2), b.dim(-1), t.upper, t.transpose,
                        t.unitriangular, a.raw(), b.raw(), f.out[0].raw());
}

Tensors triangular_grad(const GradCall& c, const TriangularAttrs& t) {
  const Tensor& a = c.in[0];
  Tensor db = triangular_solve(conj_if_complex(a), c.dy(), t.upper, !t.transpose, t.unitriangular);
  Tensor da;
  if (c.needs(0)) {
    da = t.transpose ? matmul(conj_if_complex(c.out(0)), db, false, true)
                     : matmul(db, adjoint(c.out(0)));
    da = negative(da);
    const int64_t skip = t.unitriangular ? 1 : 0;
    da = sum_like(t.upper ? triu(da, skip) : tril(da, -skip), a);
  }
  return {da, c.needs(1) ? sum_like(db, c.in[1]) : Tensor()};
}

ARGOSY_OP(triangular_solve, TriangularAttrs)
    .python("triangular_solve(x, y, upper=True, transpose=False, unitriangular=False, name=None)")
    .method("triangular_solve")
    .doc(
        "z with x z = y (transpose: x^T z = y) for triangular x [.., n, n] and y [.., n, k], whose "
        "leading dimensions broadcast; unitriangular: the diagonal counts as ones.")
    .shape("x [*b,n,n], y [*b,n,k] -> [*b,n,k]")
    .example(
        R"(>>> argosy.linalg.triangular_solve(argosy.to_tensor([[2.0, 1.0], [0.0, 4.0]]), argosy.to_tensor([[4.0], [8.0]])).tolist()
[[1.0], [2.0]])")
    .input("x", kDense, Save::value)
    .input("y", kDense, Save::shape)
    .output("out", Save::value)
    .promote()
    .infer(triangular_infer)
    .kernel("lapack", triangular_run)
    .gradient(triangular_grad)
    .done();

void solve_infer(InferContext& c, const NoAttrs&) {
  system_shape(c);
}

void solve_run(KernelFrame& f, const NoAttrs&) {
  Shape batch = leading(f.out[0].shape(), 2);
  Tensor a = stacked(f.in[0], batch), b = stacked(f.in[1], batch);
  std::vector<int32_t> info(static_cast<size_t>(batch.numel()));
  cpu::solve(a.dtype(), batch.numel(), b.dim(-2), b.dim(-1), a.raw(), b.raw(), f.out[0].raw(),
             info.data());
  check_info("solve", info, "of x is not invertible");
}

Tensors solve_grad(const GradCall& c, const NoAttrs&);

ARGOSY_OP(solve_matrix, NoAttrs)
    .doc("z with x z = y: x [.., n, n], y [.., n, k]; ValueError if x is singular.")
    .shape("x [*b,n,n], y [*b,n,k] -> [*b,n,k]")
    .input("x", kDense, Save::value)
    .input("y", kDense, Save::shape)
    .output("out", Save::value)
    .promote()
    .infer(solve_infer)
    .kernel("lapack", solve_run)
    .gradient(solve_grad)
    .done();

Tensors solve_grad(const GradCall& c, const NoAttrs&) {
  Tensor db = solve_matrix_op(adjoint(c.in[0]), c.dy());
  Tensor da;
  if (c.needs(0)) da = sum_like(negative(matmul(db, adjoint(c.out(0)))), c.in[0]);
  return {da, c.needs(1) ? sum_like(db, c.in[1]) : Tensor()};
}

void inverse_run(KernelFrame& f, const InverseAttrs& a) {
  const Tensor& x = f.in[0];
  std::vector<int32_t> info(static_cast<size_t>(matrix_count(x)));
  cpu::inverse(x.dtype(), matrix_count(x), x.dim(-1), x.raw(), f.out[0].raw(), info.data());
  if (a.check) check_info("inverse", info, "is not invertible");
}

Tensors inverse_grad(const GradCall& c, const InverseAttrs&) {
  Tensor yh = adjoint(c.out(0));
  return negative(matmul(matmul(yh, c.dy()), yh));
}

ARGOSY_OP(inverse, InverseAttrs)
    .python("inverse(x, name=None)")
    .python("inv(x, name=None)")
    .method("inverse")
    .method("inv")
    .alias("input", "x")
    .doc("The inverses of the matrices x [.., n, n]; ValueError if one is singular.")
    .shape("x [*b,n,n] -> [*b,n,n]")
    .example(R"(>>> argosy.inverse(argosy.to_tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
[[0.5, 0.0], [-0.0, 0.25]])")
    .input("x", kDense)
    .output("out", Save::value)
    .infer(square_infer<InverseAttrs>)
    .kernel("lapack", inverse_run)
    .gradient(inverse_grad)
    .done();

// --- determinants ---

void det_infer(InferContext& c, const NoAttrs&) {
  check_square(c.name(), "x", c.in[0].shape());
  c.out[0].shape = leading(c.in[0].shape(), 2);
}

void det_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  cpu::determinant(x.dtype(), matrix_count(x), x.dim(-1), x.raw(), f.out[0].raw(), nullptr,
                   nullptr);
}

// x^-H, and zeros for the singular matrices.
Tensor inverse_adjoint(const Tensor& x, const Tensor& regular) {
  Tensor inverse = adjoint(inverse_op(x, InverseAttrs{false}));
  Tensor kept = unsqueeze(regular, {-1, -2});
  return where(expand_like(kept, inverse), inverse, zeros_like(inverse));
}

Tensors det_grad(const GradCall& c, const NoAttrs&) {
  const Tensor& det = c.out(0);
  Tensor share = unsqueeze(multiply(c.dy(), conj_if_complex(det)), {-1, -2});
  return multiply(share, inverse_adjoint(c.in[0], not_equal(det, zeros_like(det))));
}

ARGOSY_OP(det, NoAttrs)
    .python("det(x, name=None)")
    .method("det")
    .doc("The determinants of the matrices x [.., n, n]. The gradient at singular ones is 0.")
    .shape("x [*b,n,n] -> [*b]")
    .example(R"(>>> argosy.linalg.det(argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])).item()
-2.0)")
    .input("x", kDense, Save::value)
    .output("out", Save::value)
    .infer(det_infer)
    .kernel("lapack", det_run)
    .gradient(det_grad)
    .done();

void slogdet_infer(InferContext& c, const NoAttrs&) {
  check_square(c.name(), "x", c.in[0].shape());
  c.out[0].shape = leading(c.in[0].shape(), 2);
  c.out[0].shape.insert(0, 2);
}

void slogdet_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  const int64_t batch = matrix_count(x);
  char* out = static_cast<char*>(f.out[0].raw());
  std::vector<double> det(static_cast<size_t>(batch));
  cpu::determinant(x.dtype(), batch, x.dim(-1), x.raw(), det.data(), out,
                   out + batch * item_size(x.dtype()));
}

Tensors slogdet_grad(const GradCall& c, const NoAttrs&) {
  Tensor sign = pick(c.out(0), 0, 0);
  Tensor dlog = pick(c.dy(), 0, 1);
  return multiply(unsqueeze(dlog, {-1, -2}),
                  inverse_adjoint(c.in[0], not_equal(sign, zeros_like(sign))));
}

ARGOSY_OP(slogdet, NoAttrs)
    .python("slogdet(x, name=None)")
    .method("slogdet")
    .doc(
        "Signs and logarithms of the absolute values of the determinants of x [.., n, n], stacked "
        "as [2, ..]; 0 and -inf for singular matrices.")
    .shape("x [*b,n,n] -> [2,*b]")
    .example(R"(>>> argosy.linalg.slogdet(argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
[-1.0, 0.69315])")
    .input("x", kDenseReal, Save::value)
    .output("out", Save::value)
    .infer(slogdet_infer)
    .kernel("lapack", slogdet_run)
    .gradient(slogdet_grad)
    .done();

// --- lu ---

void lu_infer(InferContext& c, const NoAttrs&) {
  const Shape& x = c.in[0].shape();
  check_matrix("lu", "x", x);
  Shape batch = leading(x, 2), pivots = batch;
  pivots.push_back(smaller(x[x.rank() - 2], x[x.rank() - 1]));
  c.out[1] = {pivots, DType::int32};
  c.out[2] = {batch, DType::int32};
}

void lu_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  cpu::lu_factor(x.dtype(), matrix_count(x), x.dim(-2), x.dim(-1), x.raw(), f.out[0].raw(),
                 f.out[1].data<int32_t>(), f.out[2].data<int32_t>());
}

Tensors lu_grad(const GradCall& c, const NoAttrs&);

ARGOSY_OP(lu_factor, NoAttrs)
    .doc(
        "x [.., m, n] = P L U, L and U packed into one matrix; pivots: row i was swapped with row "
        "pivots[i] - 1; infos: the first zero on U's diagonal, 1-based, or 0.")
    .shape("x [*b,m,n] -> [*b,m,n], [*b,k'], [*b]")
    .input("x", kDense)
    .output("lu", Save::value)
    .index_output("pivots", Save::value)
    .index_output("infos")
    .infer(lu_infer)
    .kernel("lapack", lu_run)
    .gradient(lu_grad)
    .done();

void permutation_infer(InferContext& c, const NoAttrs&) {
  const Tensor& lu = c.in[1];
  check_matrix("lu_unpack", "x", lu.shape());
  const int64_t rows = lu.dim(-2), columns = lu.dim(-1);
  Shape pivots = leading(lu.shape(), 2);
  pivots.push_back(rows < 0 || columns < 0 ? kUnknown : std::min(rows, columns));
  expect_shape(c, 0, pivots);
  Shape out = leading(c.in[0].shape(), 1);
  out.push_back(rows);
  out.push_back(rows);
  c.out[0] = {out, DType::float32};
}

void permutation_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& out = f.out[0];
  const int64_t rows = out.dim(-1);
  const auto n = static_cast<size_t>(rows);
  const int64_t steps = f.in[0].dim(-1), batch = leading(f.in[0].shape(), 1).numel();
  if (out.numel() == 0) return;
  std::memset(out.raw(), 0, static_cast<size_t>(out.nbytes()));
  std::vector<size_t> order(n);
  for (int64_t b = 0; b < batch; ++b) {
    for (size_t i = 0; i < n; ++i) order[i] = i;
    const int32_t* pivots = f.in[0].data<int32_t>() + b * steps;
    for (int64_t i = 0; i < steps; ++i) {
      ARGOSY_CHECK(pivots[i] >= 1 && pivots[i] <= rows, invalid_argument)
          << "[lu_unpack] pivots must be in [1, " << rows << "], got " << pivots[i] << '.';
      std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(pivots[i] - 1)]);
    }
    float* p = out.data<float>() + b * rows * rows;
    for (size_t i = 0; i < n; ++i) p[order[i] * n + i] = 1;
  }
}

ARGOSY_OP(lu_permutation, NoAttrs)
    .doc("The permutation matrices P [.., m, m] of lu_factor's pivots, float32; lu is [.., m, n].")
    .input("pivots", only(DType::int32))
    .input("lu", kDense)
    .shape_only()
    .index_output("out")
    .infer(permutation_infer)
    .kernel("swap", permutation_run)
    .done();

// A matrix [.., m, n] in blocks: [.., k, k] with k = min(m, n), what is below it, what is right of
// it; one of the two is empty, and so is the corner between them.
struct Blocks {
  Tensor square, below, right, corner;
  explicit Blocks(const Tensor& x) {
    const op::IntArray zero{0}, m = size_along(x, -2), n = size_along(x, -1), end{INT64_MAX};
    Tensor top = slice(x, -2, zero, n), rest = slice(x, -2, n, end);
    square = slice(top, -1, zero, m);
    right = slice(top, -1, m, end);
    below = slice(rest, -1, zero, m);
    corner = slice(rest, -1, m, end);
  }
};

// With X = L1^-1 P^T dA1 U1^-1, where L1, U1 and A1 are square blocks: dL1 = L1 tril(X, -1) and dU1
// = triu(X) U1. What is below L1 is A2 U1^-1, what is right of U1 is L1^-1 P^T A2, so their
// gradients reach A2 and, by the triangle they were solved with, A1.
Tensors lu_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &lu = c.out(0), &d = c.dy();
  const bool square = lu.dim(-2) == lu.dim(-1) && lu.dim(-1) >= 0;
  Tensor p = of_dtype(lu_permutation_op(c.out(1), lu), lu.dtype());
  const Blocks value(lu), grad(d);
  const Tensor u = triu(value.square), uh = adjoint(u);
  const Tensor ones = diag_embed(ones_like(pick(value.square, -1, 0)));
  const Tensor lh = adjoint(add(tril(value.square, -1), ones));
  Tensor lower = matmul(lh, tril(grad.square, -1)), upper = matmul(triu(grad.square), uh);
  if (!square) {
    lower = subtract(lower, matmul(grad.right, adjoint(value.right)));
    upper = subtract(upper, matmul(adjoint(value.below), grad.below));
  }
  auto behind_u = [&](const Tensor& t) {  // t u^-H
    return adjoint(triangular_solve(u, adjoint(t), true));
  };
  const Tensor inner = add(tril(lower, -1), triu(upper));
  Tensor dx = behind_u(triangular_solve(lh, inner, true));
  if (!square) {
    const Tensor left[] = {dx, behind_u(grad.below)};
    const Tensor right[] = {triangular_solve(lh, grad.right, true), grad.corner};
    const Tensor both[] = {concat(left, -2), concat(right, -2)};
    dx = concat(both, -1);
  }
  return {matmul(p, dx)};
}

// The unit lower trapezoid [.., m, k] and the upper one [.., k, n], k = min(m, n).
Tensors triangles(const Inputs& in, const NoAttrs&) {
  const Tensor& lu = in[0];
  const op::IntArray zero{0};
  Tensor left = slice(lu, -1, zero, size_along(lu, -2)),
         top = slice(lu, -2, zero, size_along(lu, -1));
  Tensor ones = ones_like(left);
  Tensor diagonal = subtract(tril(ones), tril(ones, -1));
  return {add(tril(left, -1), diagonal), triu(top)};
}

void triangles_infer(InferContext& c, const NoAttrs&) {
  const Shape& x = c.in[0].shape();
  check_matrix("lu_unpack", "x", x);
  const int last = x.rank() - 1;
  const int64_t k = smaller(x[last - 1], x[last]);
  c.out[0].shape[last] = k;
  c.out[1].shape[last - 1] = k;
}

ARGOSY_OP(lu_triangles, NoAttrs)
    .doc(
        "L [.., m, k] with ones on its diagonal and U [.., k, n], k = min(m, n), of packed "
        "factors.")
    .input("lu", kDense)
    .output("lower")
    .output("upper")
    .infer(triangles_infer)
    .compose(triangles)
    .done();

// --- least squares ---

void lstsq_infer(InferContext& c, const LstsqAttrs& t) {
  const Shape &a = c.in[0].shape(), &b = c.in[1].shape();
  check_matrix("lstsq", "x", a);
  check_matrix("lstsq", "y", b);
  const int64_t rows = a[a.rank() - 2], of_b = b[b.rank() - 2];
  ARGOSY_CHECK(rows == of_b || rows < 0 || of_b < 0, invalid_argument)
      << "[lstsq] y must have as many rows as x: x is " << a << ", y is " << b
      << ". Do this: transpose or slice one of them.";
  ARGOSY_CHECK(
      t.driver == "gels" || t.driver == "gelsy" || t.driver == "gelsd" || t.driver == "gelss",
      invalid_argument)
      << "[lstsq] driver must be 'gels', 'gelsy', 'gelsd' or 'gelss', got '" << t.driver
      << "'. Do this: pass 'gels', or 'gelsd' where x may lack full rank.";
  Shape batch = batch_shape("lstsq", c.in[0], c.in[1]), out = batch, singular = batch;
  out.push_back(a[a.rank() - 1]);
  out.push_back(b[b.rank() - 1]);
  singular.push_back(smaller(a[a.rank() - 2], a[a.rank() - 1]));
  c.out[0].shape = out;
  c.out[1] = {batch, DType::int32};
  c.out[2] = {singular, real_of(c.in[0].dtype())};
}

void lstsq_run(KernelFrame& f, const LstsqAttrs& t) {
  Shape batch = leading(f.out[0].shape(), 2);
  Tensor a = stacked(f.in[0], batch), b = stacked(f.in[1], batch);
  auto driver = t.driver == "gels"    ? cpu::LstsqDriver::gels
                : t.driver == "gelsy" ? cpu::LstsqDriver::gelsy
                : t.driver == "gelsd" ? cpu::LstsqDriver::gelsd
                                      : cpu::LstsqDriver::gelss;
  const bool singular = t.driver == "gelsd" || t.driver == "gelss";
  std::vector<int32_t> info(static_cast<size_t>(batch.numel()));
  cpu::lstsq(a.dtype(), batch.numel(), a.dim(-2), a.dim(-1), b.dim(-1), driver, t.rcond, a.raw(),
             b.raw(), f.out[0].raw(), f.out[1].data<int32_t>(), singular ? f.out[2].raw() : nullptr,
             info.data());
  if (!singular && f.out[2].numel())
    std::memset(f.out[2].raw(), 0, static_cast<size_t>(f.out[2].nbytes()));
  check_info("lstsq", info, "is not of full rank or did not converge");
}

ARGOSY_OP(lstsq_solution, LstsqAttrs)
    .doc(
        "z [.., n, k] of least norm among those that minimize |x z - y|, x [.., m, n], y "
        "[.., m, k]; the rank of x; its singular values (zeros for gels and gelsy).")
    .input("x", kDense)
    .input("y", kDense)
    .index_output("out")
    .index_output("rank")
    .index_output("singular")
    .promote()
    .infer(lstsq_infer)
    .kernel("lapack", lstsq_run)
    .done();

}  // namespace

Tensor triangular_solve(const Tensor& x, const Tensor& y, bool upper, bool transpose, bool unit) {
  return triangular_solve_op(x, y, TriangularAttrs{upper, transpose, unit});
}
Tensor solve(const Tensor& x, const Tensor& y) {
  return solve_matrix_op(x, y);
}

}  // namespace argosy::ops

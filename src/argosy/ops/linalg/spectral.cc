#include "argosy/ops/linalg/dense.h"
#include "argosy/ops/linalg/linalg.h"

// Orthogonal and spectral decompositions.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

Shape with(Shape batch, int64_t m, int64_t n) {
  batch.push_back(m);
  batch.push_back(n);
  return batch;
}

Tensor zeros_if_missing(const Tensor& dy, const Tensor& like) {
  return dy.defined() ? dy : zeros_like(like);
}

// --- qr ---

void qr_infer(InferContext& c, const QrAttrs& a) {
  const Shape& x = c.in[0].shape();
  check_matrix("qr", "x", x);
  const int64_t m = x[x.rank() - 2], n = x[x.rank() - 1];
  const int64_t k = a.complete ? m : smaller(m, n);
  c.out[0].shape = with(leading(x, 2), m, k);
  c.out[1].shape = with(leading(x, 2), k, n);
}

void qr_run(KernelFrame& f, const QrAttrs& a) {
  const Tensor& x = f.in[0];
  cpu::qr(x.dtype(), matrix_count(x), x.dim(-2), x.dim(-1), a.complete, x.raw(), f.out[0].raw(),
          f.out[1].raw());
}

// For m >= n: (dq + q h) r^-H, where h is Hermitian with the lower triangle of r dr^H - dq^H q.
Tensor qr_tall_grad(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  Tensor m = subtract(matmul(r, adjoint(dr)), matmul(adjoint(dq), q));
  Tensor h = add(tril(m), adjoint(tril(m, -1)));
  Tensor left = add(dq, matmul(q, h));
  return adjoint(triangular_solve(r, adjoint(left), true));
}

Tensors qr_grad(const GradCall& c, const QrAttrs& a) {
  const Tensor &q = c.out(0), &r = c.out(1);
  const int64_t m = q.dim(-2), n = r.dim(-1);
  ARGOSY_CHECK(!a.complete || m <= n || n < 0, not_implemented)
      << "[qr] mode 'complete' has no gradient for matrices of more rows than columns, got [" << m
      << ", " << n << "]. Do this: use mode 'reduced'.";
  Tensor dq = zeros_if_missing(c.dy(0), q), dr = zeros_if_missing(c.dy(1), r);
  if (m >= n && n >= 0) return qr_tall_grad(q, r, dq, dr);
  // x = [left | right], r = [u | v]: left = q u, right = q v. Of a tall x, right has no columns.
  const op::IntArray k = size_along(q, -1), zero{0}, end{INT64_MAX};
  Tensor u = slice(r, -1, zero, k), du = slice(dr, -1, zero, k), dv = slice(dr, -1, k, end);
  Tensor right = matmul(q, slice(r, -1, k, end));
  const Tensor parts[] = {qr_tall_grad(q, u, add(dq, matmul(right, adjoint(dv))), du),
                          matmul(q, dv)};
  return concat(parts, -1);
}

ARGOSY_OP(qr_factors, QrAttrs)
    .doc(
        "x [.., m, n] = q r: q [.., m, k] with orthonormal columns, r [.., k, n] upper triangular.")
    .shape("x [*b,m,n] -> [*b,m,k'], [*b,k',n]")
    .input("x", kDense)
    .output("q", Save::value)
    .output("r", Save::value)
    .infer(qr_infer)
    .kernel("lapack", qr_run)
    .gradient(qr_grad)
    .done();

// --- svd ---

void svd_infer(InferContext& c, const SvdAttrs& a) {
  const Shape& x = c.in[0].shape();
  check_matrix("svd", "x", x);
  const int64_t m = x[x.rank() - 2], n = x[x.rank() - 1], k = smaller(m, n);
  Shape batch = leading(x, 2), s = batch;
  s.push_back(k);
  c.out[0].shape = with(batch, m, a.full_matrices ? m : k);
  c.out[1] = {s, real_of(c.in[0].dtype())};
  c.out[2].shape = with(batch, a.full_matrices ? n : k, n);
}

void svd_run(KernelFrame& f, const SvdAttrs& a) {
  const Tensor& x = f.in[0];
  std::vector<int32_t> info(static_cast<size_t>(matrix_count(x)));
  cpu::svd(x.dtype(), matrix_count(x), x.dim(-2), x.dim(-1), a.full_matrices, x.raw(),
           f.out[0].raw(), f.out[1].raw(), f.out[2].raw(), info.data());
  check_info("svd", info, "did not converge; does it hold nan or inf?");
}

Tensor skew(const Tensor& x) {
  return subtract(x, adjoint(x));
}

Tensors svd_grad(const GradCall& c, const SvdAttrs& a) {
  const Tensor &u = c.out(0), &vh = c.out(2);
  const int64_t m = u.dim(-2), n = vh.dim(-1);
  const Tensor s = of_dtype(c.out(1), u.dtype());
  ARGOSY_CHECK(!a.full_matrices || m == n || m < 0 || n < 0, not_implemented)
      << "[svd] full_matrices=True has no gradient for matrices that are not square. Do this: use "
         "full_matrices=False.";
  // A gradient outside the span of u (or v) counts where x has more rows (columns) than singular
  // values. Whether it has may only be known when the Program runs.
  const bool known = m >= 0 && n >= 0;
  auto over_s = [&](const Tensor& rest, const Tensor& factor, int long_axis, int64_t axis) {
    if (known) return divide(rest, unsqueeze(s, {axis}));
    Tensor more =
        greater_than(size_of(factor, long_axis, DType::int64), size_of(s, -1, DType::int64));
    return divide(where(more, rest, zeros_like(rest)),
                  unsqueeze(where(more, s, ones_like(s)), {axis}));
  };
  const Tensor apart = of_dtype(gaps(square(c.out(1))), u.dtype());
  Tensor inner;
  auto accumulate = [](Tensor& sum, const Tensor& t) { sum = sum.defined() ? add(sum, t) : t; };
  Tensor outside;
  if (c.dy(1).defined()) inner = of_dtype(diag_embed(c.dy(1)), u.dtype());
  if (c.dy(0).defined()) {
    Tensor own = matmul(adjoint(u), c.dy(0));
    Tensor turned = skew(own);
    if (is_complex(u.dtype())) {
      // Columns of u turn by phases, those of v with them: counted here, not again below.
      accumulate(inner, diag_embed(divide(diagonal(turned), scale(s, 2.0))));
      turned = add(tril(turned, -1), triu(turned, 1));
    }
    accumulate(inner, times_columns(divide(turned, apart), s));
    if (m > n || !known) {
      Tensor rest = subtract(c.dy(0), matmul(u, own));
      accumulate(outside, matmul(over_s(rest, u, -2, -2), vh));
    }
  }
  if (c.dy(2).defined()) {
    Tensor own = matmul(c.dy(2), adjoint(vh));  // (v^H dv)^H
    Tensor turned = skew(adjoint(own));
    if (is_complex(u.dtype())) turned = add(tril(turned, -1), triu(turned, 1));
    accumulate(inner, times_rows(divide(turned, apart), s));
    if (n > m || !known) {
      Tensor rest = subtract(c.dy(2), matmul(own, vh));
      accumulate(outside, matmul(u, over_s(rest, vh, -1, -1)));
    }
  }
  Tensor dx = matmul(matmul(u, inner), vh);
  return outside.defined() ? add(dx, outside) : dx;
}

ARGOSY_OP(svd, SvdAttrs)
    .python("svd(x, full_matrices=False, name=None, *, out=None)")
    .method("svd")
    .alias("input", "x")
    .doc(
        "x [.., m, n] = u diag(s) vh, s descending; returns u [.., m, k], s [.., k] and vh "
        "[.., k, n], k = min(m, n); with full_matrices u and vh are square. Gradients need "
        "distinct "
        "singular values, and for complex matrices a result that the phases of the columns of u "
        "and "
        "v, which are not determined, do not change.")
    .shape("x [*b,m,n] -> [*b,m,k'], [*b,k'], [*b,l',n]")
    .example(
        R"(>>> u, s, vh = argosy.linalg.svd(argosy.to_tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
>>> u.shape, s.tolist(), vh.shape
(paddle.Size([3, 2]), [4.0, 3.0], paddle.Size([2, 2])))")
    .input("x", kDense)
    .output("u", Save::value)
    .output("s", Save::value)
    .output("vh", Save::value)
    .infer(svd_infer)
    .kernel("lapack", svd_run)
    .gradient(svd_grad)
    .done();

// --- eigh, eig ---

void eigh_infer(InferContext& c, const EighAttrs& a) {
  check_square("eigh", "x", c.in[0].shape());
  ARGOSY_CHECK(a.UPLO == "L" || a.UPLO == "U", invalid_argument)
      << "[eigh] UPLO must be 'L' or 'U', got '" << a.UPLO << "'.";
  c.out[0] = {leading(c.in[0].shape(), 1), real_of(c.in[0].dtype())};
}

void eigh_run(KernelFrame& f, const EighAttrs& a) {
  const Tensor& x = f.in[0];
  std::vector<int32_t> info(static_cast<size_t>(matrix_count(x)));
  cpu::eigh(x.dtype(), matrix_count(x), x.dim(-1), a.UPLO == "U", x.raw(), f.out[0].raw(),
            f.out[1].raw(), info.data());
  check_info("eigh", info, "did not converge; does it hold nan or inf?");
}

Tensors eigh_grad(const GradCall& c, const EighAttrs&) {
  const Tensor &w = c.out(0), &v = c.out(1);
  Tensor inner;
  if (c.dy(0).defined()) inner = of_dtype(diag_embed(c.dy(0)), v.dtype());
  if (c.dy(1).defined()) {
    Tensor turned = divide(matmul(adjoint(v), c.dy(1)), of_dtype(gaps(w), v.dtype()));
    // Turning along an eigenvector itself changes nothing: the diagonal does not count.
    turned = add(tril(turned, -1), triu(turned, 1));
    inner = inner.defined() ? add(inner, turned) : turned;
  }
  Tensor dx = matmul(matmul(v, inner), adjoint(v));
  return scale(add(dx, adjoint(dx)), 0.5);
}

ARGOSY_OP(eigh, EighAttrs)
    .python("eigh(x, UPLO='L', name=None)")
    .method("eigh")
    .doc(
        "Eigenvalues [.., n], ascending, and eigenvectors (columns of [.., n, n]) of Hermitian "
        "matrices, of which the triangle UPLO is read. Gradients of eigenvectors need distinct "
        "eigenvalues.")
    .shape("x [*b,n,n] -> [*b,n], [*b,n,n]")
    .example(R"(>>> values, vectors = argosy.linalg.eigh(argosy.to_tensor([[2.0, 1.0], [1.0, 2.0]]))
>>> values.tolist()
[1.0, 3.0])")
    .input("x", kDense)
    .output("values", Save::value)
    .output("vectors", Save::value)
    .infer(eigh_infer)
    .kernel("lapack", eigh_run)
    .gradient(eigh_grad)
    .done();

void eig_infer(InferContext& c, const NoAttrs&) {
  check_square("eig", "x", c.in[0].shape());
  DType dtype = complex_of(c.in[0].dtype());
  c.out[0] = {leading(c.in[0].shape(), 1), dtype};
  c.out[1] = {c.in[0].shape(), dtype};
}

void eig_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  std::vector<int32_t> info(static_cast<size_t>(matrix_count(x)));
  cpu::eig(x.dtype(), matrix_count(x), x.dim(-1), x.raw(), f.out[0].raw(), f.out[1].raw(),
           info.data());
  check_info("eig", info, "did not converge; does it hold nan or inf?");
}

Tensors eig_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &w = c.out(0), &v = c.out(1);
  Tensor vh = adjoint(v), inner;
  if (c.dy(0).defined()) inner = diag_embed(c.dy(0));
  if (c.dy(1).defined()) {
    Tensor own = matmul(vh, c.dy(1));
    Tensor along = of_dtype(real(diagonal(own)), v.dtype());  // unit length stays
    Tensor turned =
        divide(subtract(own, times_columns(matmul(vh, v), along)), conj_if_complex(gaps(w)));
    turned = add(tril(turned, -1), triu(turned, 1));
    inner = inner.defined() ? add(inner, turned) : turned;
  }
  Tensor dx = solve(vh, matmul(inner, vh));
  return is_complex(c.in[0].dtype()) ? dx : real(dx);
}

ARGOSY_OP(eig, NoAttrs)
    .python("eig(x, name=None)")
    .method("eig")
    .doc(
        "Eigenvalues [.., n] and eigenvectors (columns of [.., n, n], of unit length) of square "
        "matrices, complex, in no order. Gradients need distinct eigenvalues.")
    .shape("x [*b,n,n] -> [*b,n], [*b,n,n]")
    .example(R"(>>> values, vectors = argosy.linalg.eig(argosy.to_tensor([[2.0, 0.0], [0.0, 3.0]]))
>>> values.tolist()
[(2+0j), (3+0j)])")
    .input("x", kDense, Save::shape)
    .output("values", Save::value)
    .output("vectors", Save::value)
    .infer(eig_infer)
    .kernel("lapack", eig_run)
    .gradient(eig_grad)
    .done();

}  // namespace
}  // namespace argosy::ops

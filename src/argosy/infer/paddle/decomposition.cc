#include <limits>

#include "argosy/infer/paddle/common.h"

// Factors of matrices, what is solved with them, and what they tell.
namespace argosy::infer::paddle {
namespace {

Tensor swapped(const Tensor& x) {
  std::vector<int64_t> order = iota(0, x.rank());
  std::swap(order.at(order.size() - 2), order.back());
  return ops::transpose(x, order);
}
Tensor adjoint(const Tensor& x) {
  return ops::conj_if_complex(swapped(x));
}
void expect_matrix(const Node& n, const Tensor& x) {
  n.expect(x.rank() >= 2, "a matrix has two dimensions or more");
}

// z with A z = x; y: the triangle that A is the product of, with its adjoint.
void cholesky_solve(const Node& n) {
  const Tensor x = n.in("X"), y = n.in("Y");
  expect_matrix(n, y);
  const Tensor lower = n.flag("upper") ? adjoint(y) : y;
  const Tensor half = ops::triangular_solve(lower, x, false);
  n.out("Out", ops::triangular_solve(adjoint(lower), half, true));
}

// Of the transposed, which has the same, in Paddle's order.
void eigenvalues(const Node& n) {
  const Tensor x = n.in("X");
  expect_matrix(n, x);
  n.out("Out", call("eig", {swapped(x)}));
}

void qr(const Node& n) {
  const std::string mode = n.text("mode", "reduced");
  const Tensors both = call_all("qr_factors", {n.in("X")}, {{"complete", mode == "complete"}});
  n.out("R", both[1]);
  n.out("Q", mode == "r" ? ops::full({0}, op::Scalar(0.0), both[0].dtype()) : both[0]);
}

void lu(const Node& n) {
  if (!n.flag("pivots", true)) n.unsupported("lu without pivoting");
  const Tensors all = call_all("lu_factor", {n.in("X")});
  n.out("Out", all[0]);
  n.out("Pivots", all[1]);
  n.out("Infos", all[2]);
}

void lu_unpack(const Node& n) {
  const Tensor x = n.in("X");
  const Tensor nothing = ops::full({0}, op::Scalar(0.0), x.dtype());
  const bool p = n.flag("unpack_pivots", true), triangles = n.flag("unpack_ludata", true);
  n.out("Pmat", p ? as(call("lu_permutation", {n.in("Pivots"), x}), x.dtype()) : nothing);
  const Tensors both = triangles ? call_all("lu_triangles", {x}) : Tensors{nothing, nothing};
  n.out("L", both[0]);
  n.out("U", both[1]);
}

void lu_solve(const Node& n) {
  const Tensor b = n.in("b"), factors = n.in("lu");
  const std::string trans = n.text("trans", "N");
  n.expect(trans == "N" || trans == "T" || trans == "C", "trans is not known");
  const Tensor p = as(call("lu_permutation", {n.in("pivots"), factors}), factors.dtype());
  if (trans == "N") {
    const Tensor half = ops::triangular_solve(factors, ops::matmul(p, b, true), false, false, true);
    return n.out("out", ops::triangular_solve(factors, half, true));
  }
  const Tensor f = trans == "C" ? ops::conj_if_complex(factors) : factors;
  const Tensor half = ops::triangular_solve(f, b, true, true);
  n.out("out", ops::matmul(p, ops::triangular_solve(f, half, false, true, true)));
}

void least_squares(const Node& n) {
  const Tensor x = n.in("X"), y = n.in("Y");
  const std::string driver = n.text("driver", "gels");
  const op::Scalar bound = n.scalar("rcond", -1, "Rcond");
  if (bound.tensor.defined()) n.need_value(bound.tensor, "rcond that only a run knows");
  const Tensors all =
      call_all("lstsq_solution", {x, y}, {{"rcond", bound.real()}, {"driver", driver}});
  const auto nothing = [](DType dtype) { return ops::full({0}, op::Scalar(0.0), dtype); };
  n.out("Solution", all[0]);
  Tensor rest = nothing(x.dtype());
  if (n.wants("Residuals") && driver != "gelsy" && x.rank() >= 2) {
    const bool tall = x.dim(-2) > x.dim(-1) && x.dim(-1) >= 0;
    if (tall && driver != "gels") n.unsupported("residuals, which depend on the rank");
    if (tall)
      rest = ops::sum(ops::square(ops::abs(ops::subtract(ops::matmul(x, all[0]), y))), {-2});
  }
  n.out("Residuals", rest);
  n.out("Rank", driver == "gels" ? nothing(DType::int32) : all[1]);
  const bool has_values = driver == "gelsd" || driver == "gelss";
  n.out("SingularValues", has_values ? all[2] : nothing(all[2].dtype()));
}

void multi_dot(const Node& n) {
  const std::vector<Tensor> all = n.tensors("X");
  n.expect(!all.empty(), "nothing to multiply");
  Tensor out = all.front();
  for (size_t i = 1; i < all.size(); ++i) out = ops::matmul(out, all[i]);
  n.out("Out", out);
}

// By squares; negative powers are those of the inverse.
void matrix_power(const Node& n) {
  Tensor x = n.in("X");
  expect_matrix(n, x);
  int64_t exponent = n.integer("n", 1);
  n.expect(exponent > std::numeric_limits<int32_t>::min() &&
               exponent <= std::numeric_limits<int32_t>::max(),
           "the exponent is impossible");
  if (exponent < 0) {
    x = call("inverse", {x});
    exponent = -exponent;
  }
  Tensor out;
  if (exponent == 0) out = ops::tril(ops::triu(ops::ones_like(x)));
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) out = out.defined() ? ops::matmul(out, x) : x;
    if (exponent > 1) x = ops::matmul(x, x);
  }
  n.out("Out", out);
}

// How many singular values are above the bound, which each matrix of the stack may have of its own.
void count_above(const Node& n, const Tensor& values, Tensor bound) {
  if (bound.rank() > 0) bound = ops::unsqueeze(bound, {-1});
  const Tensor above = ops::greater_than(values, as(bound, values.dtype()));
  n.out("Out", ops::sum(as(above, DType::int64), {-1}));
}

Tensor singular_values(const Node& n, const Tensor& x) {
  expect_matrix(n, x);
  if (n.flag("hermitian")) return ops::abs(call("eigh", {x}));
  return call_all("svd", {x})[1];
}

void matrix_rank(const Node& n) {
  const Tensor x = n.in("X"), values = singular_values(n, x);
  if (n.has("TolTensor")) return count_above(n, values, n.in("TolTensor"));
  if (!n.flag("use_default_tol", true))
    return count_above(n, values, number(n.real("tol", 0), values));
  if (x.dim(-1) < 0 || x.dim(-2) < 0) n.need_sizes(x, "a matrix whose size only a run knows");
  const bool wide = values.dtype() == DType::float64;
  const double epsilon = wide ? 0x1p-52 : 0x1p-23;
  const double factor = static_cast<double>(std::max(x.dim(-1), x.dim(-2))) * epsilon;
  count_above(n, values, ops::scale(ops::max(values, {-1}), factor));
}

// The larger of an absolute bound and one relative to the largest value.
void matrix_rank_of_bounds(const Node& n) {
  const Tensor x = n.in("x"), values = singular_values(n, x);
  Tensor bound = as(n.in("atol"), values.dtype());
  if (n.has("rtol")) {
    const Tensor relative = ops::multiply(ops::max(values, {-1}), as(n.in("rtol"), values.dtype()));
    bound = ops::maximum(bound, relative);
  }
  const Tensor above =
      ops::greater_than(values, bound.rank() > 0 ? ops::unsqueeze(bound, {-1}) : bound);
  n.out("out", ops::sum(as(above, DType::int64), {-1}));
}

void sign_and_logarithm(const Node& n) {
  const Tensor both = call("slogdet", {n.in("x")});
  n.out("sign", ops::pick(both, 0, 0));
  n.out("logdet", ops::pick(both, 0, 1));
}

constexpr Row kRows[] = {
    {"cholesky_solve", cholesky_solve},
    {"eigvals", eigenvalues},
    {"lstsq", least_squares},
    {"lu", lu},
    {"lu_solve", lu_solve},
    {"lu_unpack", lu_unpack},
    {"matrix_power", matrix_power},
    {"matrix_rank", matrix_rank},
    {"matrix_rank_atol_rtol", matrix_rank_of_bounds},
    {"multi_dot", multi_dot},
    {"qr", qr},
    {"slogdet_v2", sign_and_logarithm},
};

}  // namespace

std::span<const Row> decomposition_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle

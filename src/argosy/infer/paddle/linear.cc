#include <cmath>

#include "argosy/infer/einsum.h"
#include "argosy/infer/paddle/common.h"

// Products of matrices.
namespace argosy::infer::paddle {
namespace {

void matmul(const Node& n) {
  n.out("Out", ops::matmul(n.in("X"), n.in("Y"), n.flag("trans_x"), n.flag("trans_y")));
}

// Before 2.0: a factor, and transposing a vector makes it a column.
void matmul_v1(const Node& n) {
  Tensor x = n.in("X"), y = n.in("Y");
  const bool transpose_x = n.flag("transpose_X"), transpose_y = n.flag("transpose_Y");
  Tensor out;
  if (x.rank() == 1 && y.rank() == 1 && (transpose_x || transpose_y)) {
    n.expect(transpose_x && transpose_y, "one of two vectors is transposed");
    out = ops::matmul(ops::unsqueeze(x, {1}), ops::unsqueeze(y, {0}));
  } else {
    out = ops::matmul(x, y, transpose_x && x.rank() > 1, transpose_y && y.rank() > 1);
  }
  const double alpha = n.real("alpha", 1);
  if (alpha != 1) out = ops::scale(out, alpha);
  if (out.rank() == 0) out = ops::reshape(out, {1});
  n.out("Out", out);
}

// The first `columns` dimensions of x are rows of a matrix, the others its columns.
Tensor as_matrix(const Tensor& x, int columns) {
  Tensor t = x;
  if (columns < t.rank() - 1) t = ops::flatten(t, columns, -1);
  if (columns > 1) t = ops::flatten(t, 0, columns - 1);
  return t;
}

Tensor product(const Node& n, const Tensor& x, const Tensor& y, int64_t x_columns,
               int64_t y_columns) {
  n.expect(x_columns >= 1 && x_columns < x.rank() && y_columns >= 1 && y_columns < y.rank(),
           "a number of columns is impossible");
  const auto xc = static_cast<int>(x_columns), yc = static_cast<int>(y_columns);
  const Tensor rows = xc < x.rank() - 1 ? ops::flatten(x, xc, -1) : x;
  Tensor out = ops::matmul(rows, as_matrix(y, yc));
  if (y.rank() - yc == 1) return out;
  op::IntArray shape;
  for (int d = 0; d < xc; ++d) ops::push_size(shape, x, d);
  for (int d = yc; d < y.rank(); ++d) ops::push_size(shape, y, d);
  return ops::reshape(out, shape);
}

void mul(const Node& n) {
  n.out("Out", product(n, n.in("X"), n.in("Y"), n.integer("x_num_col_dims", 1),
                       n.integer("y_num_col_dims", 1)));
}

void fc(const Node& n) {
  Tensor out = product(n, n.in("Input"), n.in("W"), n.integer("in_num_col_dims", 1), 1);
  if (n.has("Bias")) out = ops::add(out, ops::reshape(n.in("Bias"), {-1}));
  n.out("Out", activate(n, out, n.text("activation_type", "")));
}

void addmm(const Node& n) {
  n.out("Out", call("addmm", {n.in("Input"), n.in("X"), n.in("Y")},
                    {{"beta", n.real("Beta", n.real("beta", 1))},
                     {"alpha", n.real("Alpha", n.real("alpha", 1))}}));
}

void norm(const Node& n) {
  const Tensor x = n.in("X");
  op::IntArray axis{n.integer("axis", -1)};
  if (n.flag("asvector")) axis = op::IntArray::all();
  n.out("Out", ops::p_norm(x, n.real("porder", 2), axis, n.flag("keepdim")));
}

// x over its norm along an axis, and that norm.
void normalize(const Node& n) {
  const Tensor x = n.in("X");
  const Tensor norm = ops::sqrt(ops::scale(ops::sum(ops::square(x), {n.integer("axis", -1)}, true),
                                           1, n.real("epsilon", 1e-10)));
  n.out("Norm", norm);
  n.out("Out", ops::divide(x, norm));
}

void frobenius_norm(const Node& n) {
  const bool all = n.flag("reduce_all");
  n.out("Out", ops::p_norm(n.in("X"), 2, all ? op::IntArray::all() : n.numbers("dim", "AxisTensor"),
                           n.flag("keep_dim")));
}

void squared_l2_norm(const Node& n) {
  n.out("Out", ops::reshape(ops::sum(ops::square(n.in("X"))), {1}));
}

void bilinear(const Node& n) {
  const Tensor bias = n.optional("Bias");
  n.out("Out", call("bilinear", {n.in("X"), n.in("Y"), n.in("Weight"),
                                 bias.defined() ? ops::reshape(bias, {1, -1}) : bias}));
}

void mv(const Node& n) {
  n.out("Out", call("mv", {n.in("X"), n.in("Vec")}));
}

void dot(const Node& n) {
  n.out("Out", call("dot", {n.in("X"), n.in("Y")}));
}

void attention(const Node& n) {
  if (n.real("dropout_prob", 0) != 0 && !n.flag("is_test")) n.unsupported("dropout of attention");
  n.out("Out",
        call("scaled_dot_product_attention", {n.in("Q"), n.in("K"), n.in("V"), n.optional("Mask")},
             {{"is_causal", n.flag("causal")}}));
}

void of_equation(const Node& n) {
  n.out("Out", einsum(n.text("equation", ""), n.tensors("Operands")));
}

void cross(const Node& n) {
  n.out("Out", call("cross", {n.in("X"), n.in("Y")}, {{"axis", n.integer("dim", 9)}}));
}

void kron(const Node& n) {
  n.out("Out", call("kron", {n.in("X"), n.in("Y")}));
}

void cholesky(const Node& n) {
  n.out("Out", call("cholesky", {n.in("X")}, {{"upper", n.flag("upper")}}));
}

void determinant(const Node& n) {
  n.out("Out", call("det", {n.in("Input")}));
}

void inverse(const Node& n) {
  n.out("Output", call("inverse", {n.in("Input")}));
}

void solve(const Node& n) {
  Tensor y = n.in("Y");
  const bool vector = y.rank() == 1;
  if (vector) y = ops::unsqueeze(y, {1});
  const Tensor x = call("solve_matrix", {n.in("X"), y});
  n.out("Out", vector ? ops::squeeze(x, {-1}) : x);
}

void trace(const Node& n) {
  const Tensor diagonal = call("diagonal", {n.in("Input")},
                               {{"offset", n.integer("offset", 0)},
                                {"axis1", n.integer("axis1", 0)},
                                {"axis2", n.integer("axis2", 1)}});
  n.out("Out", ops::sum(diagonal, {-1}));
}

// The p-norm of all of x - y.
void dist(const Node& n) {
  const double p = n.real("p", 2);
  const Tensor d = ops::abs(ops::subtract(n.in("X"), n.in("Y")));
  if (p == 2) return n.out("Out", ops::sqrt(ops::sum(ops::square(d))));
  if (std::isinf(p)) return n.out("Out", p > 0 ? ops::max(d) : ops::min(d));
  if (p == 0) return n.out("Out", ops::sum(as(ops::not_equal(d, number(0, d)), d.dtype())));
  const Tensor sum = ops::sum(call("pow", {d, number(p, d)}));
  n.out("Out", call("pow", {sum, number(1 / p, d)}));
}

constexpr Row kRows[] = {
    {"einsum", of_equation},
    {"matmul_v2", matmul},
    {"matmul", matmul_v1},
    {"mul", mul},
    {"fc", fc},
    {"bmm", binary<"bmm">},
    {"mv", mv},
    {"dot", dot},
    {"addmm", addmm},
    {"p_norm", norm},
    {"norm", normalize},
    {"frobenius_norm", frobenius_norm},
    {"squared_l2_norm", squared_l2_norm},
    {"bilinear_tensor_product", bilinear},
    {"flash_attn", attention},
    {"cross", cross},
    {"kron", kron},
    {"cholesky", cholesky},
    {"determinant", determinant},
    {"inverse", inverse},
    {"solve", solve},
    {"trace", trace},
    {"dist", dist},
};

}  // namespace

std::span<const Row> linear_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle

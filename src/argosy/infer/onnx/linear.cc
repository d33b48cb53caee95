#include "argosy/infer/einsum.h"
#include "argosy/infer/onnx/common.h"

// Products of matrices, Gemm and Einsum.
namespace argosy::infer::onnx {
namespace {

Items matmul(const Node& n) {
  return {ops::matmul(n.in(0), n.in(1))};
}

Items gemm(const Node& n) {
  const double alpha = n.real("alpha", 1), beta = n.real("beta", 1);
  const bool flip_a = n.flag("transA"), flip_b = n.flag("transB");
  n.expect(n.rank(0) == 2 && n.rank(1) == 2, "two matrices are expected");
  const Tensor c = n.optional(2);
  const bool plain = alpha == 1 && is_floating(n.in(0).dtype());
  // What is known is transposed now, in memory of its own.
  auto ready = [](const Tensor& t, bool flip) {
    return flip && !t.symbolic() ? op::contiguous(ops::transpose(t, {1, 0})) : t;
  };
  const Tensor a = ready(n.in(0), flip_a), b = ready(n.in(1), flip_b);
  const bool late_a = flip_a && a.symbolic(), late_b = flip_b && b.symbolic();
  if (plain && beta == 1 && !late_a && !late_b && (!c.defined() || c.rank() == 1) &&
      (!c.defined() || c.dim(0) == b.dim(1)))
    return {ops::linear(a, b, c)};
  Tensor y = ops::matmul(a, b, late_a, late_b);
  if (alpha != 1) y = as(ops::scale(y, alpha), y.dtype());
  if (!c.defined() || beta == 0) return {y};
  return {ops::add(y, beta == 1 ? c : as(ops::scale(c, beta), c.dtype()))};
}

Items det(const Node& n) {
  return {call("det", {n.in()})};
}

Items of_equation(const Node& n) {
  std::vector<Tensor> operands;
  for (size_t i = 0; i < n.inputs(); ++i) operands.push_back(n.in(i));
  return {einsum(n.text("equation", ""), operands)};
}

constexpr Row kRows[] = {
    {"Det", det},
    {"Einsum", of_equation},
    {"Gemm", gemm},
    {"MatMul", matmul},
};

}  // namespace

std::span<const Row> linear_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx

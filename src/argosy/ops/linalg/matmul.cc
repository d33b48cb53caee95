#include <algorithm>

#include "argosy/kernels/cpu/gemm.h"
#include "argosy/op/cost.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/linalg/matrices.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {
namespace {

using op::Cost;
using op::cost_of_shapes;
using op::GradCall;
using op::InferContext;
using op::IntArray;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

constexpr DTypes kProducts = kIntegral | kFloating | kComplex;

Shape product_shape(const char* op, const Shape& x, const Shape& y, const MatmulAttrs& a) {
  Matrices s = matrices(op, x, y, a);
  Shape out = s.batch;
  if (!s.x_vector) out.push_back(s.m);
  if (!s.y_vector) out.push_back(s.n);
  return out;
}

void matmul_infer(InferContext& c, const MatmulAttrs& a) {
  c.out[0].shape = product_shape(c.name(), c.in[0].shape(), c.in[1].shape(), a);
}

void matmul_run(KernelFrame& f, const MatmulAttrs& a) {
  const Tensor& out = f.out[0];
  if (out.numel() == 0) return;
  Matrices s = matrices(f.name(), f.in[0].shape(), f.in[1].shape(), a);
  Stored x = stored(f.in[0], s.x, s.batch, a.transpose_x && !s.x_vector);
  Stored y = stored(f.in[1], s.y, s.batch, a.transpose_y && !s.y_vector);
  // A stack of rows times one matrix is one product.
  if (s.y.rank() == 2 && !a.transpose_x && !x.transposed && x.tensor.is_contiguous()) {
    cpu::gemm(out.dtype(), false, y.transposed, out.numel() / s.n, s.n, s.k, 1, x.tensor.raw(),
              std::max<int64_t>(s.k, 1), y.tensor.raw(), y.ld, 0, out.raw(), s.n);
    return;
  }
  if (s.batch.rank() == 0) {
    cpu::gemm(out.dtype(), x.transposed, y.transposed, s.m, s.n, s.k, 1, x.tensor.raw(), x.ld,
              y.tensor.raw(), y.ld, 0, out.raw(), s.n);
    return;
  }
  Shape steps = s.batch.contiguous_strides();
  for (int i = 0; i < steps.rank(); ++i) steps[i] *= s.m * s.n;
  cpu::gemm_batched(out.dtype(), x.transposed, y.transposed, s.m, s.n, s.k, 1, x.tensor.raw(), x.ld,
                    x.batch_strides, y.tensor.raw(), y.ld, y.batch_strides, 0, out.raw(), s.n,
                    steps, s.batch);
}

Tensors product_grads(const Tensor& left, const Tensor& right, Tensor dy, bool of_left,
                      bool of_right, const MatmulAttrs& a) {
  // The factor of which no gradient is wanted may be a mere description.
  Tensor x = of_right ? conj_if_complex(left) : left;
  Tensor y = of_left ? conj_if_complex(right) : right;
  bool tx = a.transpose_x && x.rank() > 1, ty = a.transpose_y && y.rank() > 1;
  Tensor dx, dw;
  if (x.rank() == 1 && y.rank() == 1) {
    return {of_left ? multiply(dy, y) : Tensor(), of_right ? multiply(dy, x) : Tensor()};
  }
  if (x.rank() == 1) {
    x = unsqueeze(x, {0});
    dy = unsqueeze(dy, {-2});
  }
  if (y.rank() == 1) {
    y = unsqueeze(y, {1});
    dy = unsqueeze(dy, {-1});
  }
  if (of_right) {
    if (y.rank() == 2 && x.rank() > 2 && !tx) {
      Tensor rows = flatten(x, 0, -2), drows = flatten(dy, 0, -2);
      dw = ty ? matmul(drows, rows, true, false) : matmul(rows, drows, true, false);
    } else {
      dw = ty ? matmul(dy, x, true, tx) : matmul(x, dy, !tx, false);
      dw = sum_like(dw, y);
    }
    dw = reshape_like(dw, right);
  }
  // That of x last: x itself is not needed any more then, and processes exchange that of a weight
  // meanwhile.
  if (of_left) {
    dx = tx ? matmul(y, dy, ty, true) : matmul(dy, y, false, !ty);
    dx = left.rank() == 1 ? reshape_like(sum_like(dx, x), left) : sum_like(dx, left);
  }
  return {dx, dw};
}

Tensors matmul_grad(const GradCall& c, const MatmulAttrs& a) {
  return product_grads(c.in[0], c.in[1], c.dy(), c.needs(0), c.needs(1), a);
}

Cost matmul_cost(const InferContext& c, const MatmulAttrs& a) {
  const Shape& x = c.in[0].shape();
  const int64_t k = x[x.rank() - (x.rank() > 1 && a.transpose_x ? 2 : 1)];
  return cost_of_shapes(c,
                        2.0 * static_cast<double>(c.out[0].shape.numel()) * static_cast<double>(k));
}

std::optional<op::RowSource> rows_of_product(const op::Inputs& in, const MatmulAttrs& a) {
  if (in[0].rank() != 2 || in[1].rank() != 2) return std::nullopt;
  return op::RowSource{0, a.transpose_x ? 1 : 0};
}

ARGOSY_OP(matmul, MatmulAttrs)
    .python("matmul(x, y, transpose_x=False, transpose_y=False, name=None, *, out=None)")
    .method("matmul")
    .alias("input", "x")
    .alias("other", "y")
    .doc(
        "Product of matrices (the last two dimensions), stacked over the other dimensions, which "
        "broadcast. A vector is a row on the left and a column on the right. transpose_x and "
        "transpose_y swap the last two dimensions first.")
    .shape(
        "x [k], y [k] -> [] | x [*b,m,k], y [k] -> [*b,m] | x [k], y [*b,k,n] -> [*b,n] | x "
        "[*b,m,k], y [*b,k,n] -> [*b,m,n] | x [*b,k,m], y [*b,k,n] -> [*b,m,n] | x [*b,m,k], y "
        "[*b,n,k] -> [*b,m,n] | x [*b,k,m], y [*b,n,k] -> [*b,m,n] | x [*b,k,m], y [k] -> [*b,m] | "
        "x [k], y [*b,n,k] -> [*b,n]")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.matmul(x, x).tolist()
[[7.0, 10.0], [15.0, 22.0]]
>>> argosy.matmul(x, x, transpose_y=True).tolist()
[[5.0, 11.0], [11.0, 25.0]]
>>> argosy.matmul(argosy.ones([5, 2, 3]), argosy.ones([3, 4])).shape
paddle.Size([5, 2, 4]))")
    .input("x", kProducts, Save::others)
    .input("y", kProducts, Save::others)
    .output("out")
    .promote_kinds()
    .infer(matmul_infer)
    .kernel("gemm", matmul_run)
    .strided()
    .gradient(matmul_grad)
    .cost(matmul_cost)
    .again()
    .amp(op::Amp::lower)
    .result_rows(rows_of_product)
    .done();

// --- linear ---

void linear_infer(InferContext& c, const NoAttrs&) {
  const Shape &x = c.in[0].shape(), &w = c.in[1].shape();
  ARGOSY_CHECK(x.rank() >= 1 && w.rank() >= 1, invalid_argument)
      << "[linear] expected x [.., in] and weight [in, out], got " << x << " and " << w
      << ". Do this: check in_features; a Linear's weight is [in, out], the transpose of what "
         "others keep.";
  const int64_t in = w[std::max(w.rank() - 2, 0)];
  ARGOSY_CHECK(x.back() == in || x.back() < 0 || in < 0, invalid_argument)
      << "[linear] the last size of x must be the first of weight: x is " << x << ", weight is "
      << w << ". Do this: check in_features of the layer, or flatten x.";
  if (is_usual_linear(w, c.in[2])) {
    c.out[0].shape = x;
    c.out[0].shape[x.rank() - 1] = w[1];
    return;
  }
  matmul_infer(c, {});
  if (!c.in[2].defined()) return;
  const Shape& b = c.in[2].shape();
  const int64_t out = c.out[0].shape.rank() ? c.out[0].shape.back() : 1,
                own = b.rank() ? b.back() : 1;
  ARGOSY_CHECK(own == out || own == 1 || own < 0 || out < 0 || out == 1, invalid_argument)
      << "[linear] bias must have one element for each output: weight is " << w << ", bias is " << b
      << ". Do this: make it with shape [out], or pass None.";
  c.out[0].shape = broadcast(c.name(), c.out[0].shape, b);
}

const char* usual_form(const op::Inputs& in, const NoAttrs&) {
  if (!kFloating.has(in[0].dtype())) return "not of floating dtypes";
  return is_usual_linear(in[1].shape(), in[2]) ? nullptr
                                               : "not a matrix and one bias for each output";
}
Tensors linear_parts(const op::Inputs& in, const NoAttrs&) {
  Tensor product = matmul(in[0], in[1]);
  return {in[2].defined() ? add(product, in[2]) : product};
}

void linear_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& out = f.out[0];
  if (out.numel() == 0) return;
  const Tensor &x = f.in[0], &w = f.in[1];
  cpu::Epilogue epilogue;
  if (f.in[2].defined()) epilogue.bias = f.in[2].raw();
  const int64_t k = w.dim(0), n = w.dim(1);
  cpu::gemm(out.dtype(), false, false, out.numel() / n, n, k, 1, x.raw(), std::max<int64_t>(k, 1),
            w.raw(), n, 0, out.raw(), n, epilogue);
}

// Of the product's shape; computed only in a Program, where sizes may be unknown.
Tensor product_form(const Tensor& x, const Tensor& w) {
  if (x.symbolic() || w.symbolic()) return matmul(x, w);
  return Tensor::describe(product_shape("linear", x.shape(), w.shape(), {}), x.dtype(), x.place());
}

Tensors linear_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &x = c.in[0], &w = c.in[1], &dy = c.dy();
  Tensor dx, dw, db;
  if (!is_usual_linear(w.shape(), c.in[2]) || kComplex.has(x.dtype())) {
    if (c.needs(2)) db = sum_like(dy, c.in[2]);
    const Tensor dm = c.in[2].defined() ? sum_like(dy, product_form(x, w)) : dy;
    const Tensors found = product_grads(x, w, dm, c.needs(0), c.needs(1), {});
    return {found[0], found[1], db};
  }
  // In the order of product_grads.
  if (c.needs(1)) {
    if (x.rank() == 1)
      dw = matmul(unsqueeze(x, {1}), unsqueeze(dy, {0}));
    else
      dw = matmul(flatten(x, 0, -2), flatten(dy, 0, -2), true, false);
  }
  if (c.needs(2)) db = sum_like(dy, c.in[2]);
  if (c.needs(0)) dx = matmul(dy, w, false, true);
  return {dx, dw, db};
}

Cost linear_cost(const InferContext& c, const NoAttrs&) {
  const double out = static_cast<double>(c.out[0].shape.numel());
  return cost_of_shapes(
      c, 2 * out * static_cast<double>(c.in[1].shape()[0]) + (c.in[2].defined() ? out : 0));
}

Tensor linear_weight_rows(const GradCall& c, int64_t begin, int64_t end) {
  const Tensor columns = slice(flatten(c.in[0], 0, -2), 1, begin, end);
  return matmul(columns, flatten(c.dy(), 0, -2), true, false);
}
// Of the usual form: a matrix, and rows of x.
bool linear_has_rows(const op::Inputs& in) {
  return in[0].rank() > 1 && kFloating.has(in[0].dtype()) && is_usual_linear(in[1].shape(), in[2]);
}

ARGOSY_OP(linear, NoAttrs)
    .python("nn.functional.linear(x, weight, bias=None, name=None)")
    .alias("input", "x")
    .doc(
        "x [.., in] times weight [in, out] plus bias [out]. Weights and biases of other shapes "
        "mean "
        "matmul(x, weight) + bias.")
    .shape(
        "x [*b,i], weight [i,o], bias [o] -> [*b,o] | x [*b,i], weight [i,o], bias [*c] -> [*r'] | "
        "x [*b,i], weight [i], bias [*c] -> [*r'] | x [*b,m,i], weight [*b,i,o], bias [*c] -> "
        "[*r']")
    .example(R"(>>> F = argosy.nn.functional
>>> x, weight = argosy.to_tensor([[1.0, 2.0]]), argosy.to_tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
>>> F.linear(x, weight, argosy.ones([3])).tolist()
[[2.0, 3.0, 4.0]])")
    .input("x", kProducts, Save::others)
    .input("weight", kProducts, Save::others)
    .gradient_rows({linear_has_rows, linear_weight_rows})
    .optional_input("bias", kProducts, Save::shape)
    .output("out")
    .promote_kinds()
    .infer(linear_infer)
    .kernel("gemm", usual_form, linear_run)
    .compose(linear_parts)
    .gradient(linear_grad)
    .cost(linear_cost)
    .again()
    .amp(op::Amp::lower)
    .done();

// --- gated products ---

void gated_infer(InferContext& c, const GatedAttrs& a) {
  const Shape &gate = c.in[0].shape(), &x = c.in[1].shape(), &y = c.in[2].shape();
  auto same = [](int64_t p, int64_t q) { return p < 0 || q < 0 || p == q; };
  bool fits = x.rank() >= 1 && y.rank() == 2 && gate.rank() == x.rank();
  for (int i = 0; fits && i + 1 < x.rank(); ++i) fits = same(gate[i], x[i]);
  fits = fits && same(x.back(), y[a.transpose_y]) && same(gate.back(), y[!a.transpose_y]);
  ARGOSY_CHECK(fits, invalid_argument)
      << "[gated_matmul] expected x [.., k], y [k, n] and gate [.., n], got x " << x << ", y " << y
      << " and gate " << gate << ". Do this: check transpose_y.";
}

void gated_run(KernelFrame& f, const GatedAttrs& a) {
  const Tensor &gate = f.in[0], &x = f.in[1], &y = f.in[2], &out = f.out[0];
  if (out.numel() == 0) return;
  const int64_t k = x.dim(-1), n = out.dim(-1);
  cpu::Epilogue epilogue;
  epilogue.gate = gate.raw();
  epilogue.factor = a.factor;
  cpu::gemm(out.dtype(), false, a.transpose_y, out.numel() / n, n, k, 1, x.raw(),
            std::max<int64_t>(k, 1), y.raw(), std::max<int64_t>(y.dim(-1), 1), 0, out.raw(), n,
            epilogue);
}

Tensors gated_grad(const GradCall& c, const GatedAttrs& a) {
  const Tensor &x = c.in[1], &y = c.in[2];
  const Tensor open = cast(greater_than(c.in[0], zeros_like(c.in[0])), x.dtype());
  const Tensor d = scale(multiply(c.dy(), open), a.factor);
  const Tensor rows = x.rank() == 1 ? unsqueeze(x, {0}) : flatten(x, 0, -2);
  const Tensor drows = x.rank() == 1 ? unsqueeze(d, {0}) : flatten(d, 0, -2);
  return {{},
          matmul(d, y, false, !a.transpose_y),
          a.transpose_y ? matmul(drows, rows, true) : matmul(rows, drows, true)};
}

Cost gated_cost(const InferContext& c, const GatedAttrs&) {
  return cost_of_shapes(c, 2 * static_cast<double>(c.out[0].shape.numel()) *
                               static_cast<double>(c.in[1].shape().back()));
}

ARGOSY_OP(gated_matmul, GatedAttrs)
    .doc(
        "x [.., k] times y [k, n] (transpose_y: y is [n, k]) times factor where gate [.., n] is "
        "greater than 0, else 0: the gradient of a linear layer after relu, in gate's memory if "
        "that is free.")
    .input("gate", kFloating, Save::value)
    .input("x", kFloating, Save::value)
    .input("y", kFloating, Save::value)
    .output("out")
    .infer(gated_infer)
    .kernel("gemm", gated_run)
    .overwrites()
    .gradient(gated_grad)
    .cost(gated_cost)
    .done();

}  // namespace

Tensor matmul(const Tensor& x, const Tensor& y, bool transpose_x, bool transpose_y) {
  return matmul_op(x, y, MatmulAttrs{transpose_x, transpose_y});
}
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return linear_op(x, weight, bias);
}

}  // namespace argosy::ops

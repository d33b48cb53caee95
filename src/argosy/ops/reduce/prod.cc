#include <algorithm>
#include <type_traits>

#include "argosy/base/parallel.h"
#include "argosy/ops/cumulative/cumulative.h"
#include "argosy/ops/elementwise.h"
#include "argosy/ops/reduce/common.h"

namespace argosy::ops {
namespace {

using cpu::Reduce;
using op::GradCall;
using op::NoAttrs;
using op::Save;

void prod_infer(op::InferContext& c, const TypedReduceAttrs& a) {
  infer_reduced(c, a);
  DType x = c.in[0].dtype();
  c.out[0].dtype = a.dtype.value_or(x == DType::bool_ ? DType::int64 : x);
}

// The product of the others for each element of the rows of x [outer, n], right for zeros too.
Tensors others_parts(const op::Inputs& in, const NoAttrs&) {
  if (in[0].dim(-1) >= 0)
    return multiply(product_before(in[0], in[0].rank() - 1, false),
                    product_before(in[0], in[0].rank() - 1, true));
  Tensor all = unsqueeze(prod(in[0], op::IntArray::one(-1)), op::IntArray::one(-1));
  return divide(all, in[0]);
}

template <class T, class Acc>
void others_rows(const Tensor& x, const Tensor& y, int64_t n) {
  const int64_t outer = n ? x.numel() / n : 0;
  // Each product waits for the one before: rows side by side do not wait for one another.
  constexpr int64_t kRows = 8;
  auto rows = [&]<int64_t count>(int64_t first, std::integral_constant<int64_t, count>) {
    const T* from = x.data<T>() + first * n;
    T* to = y.data<T>() + first * n;
    // Products of what comes before, then times what comes after.
    Acc left[count], right[count];
    std::fill_n(left, count, Acc(1));
    std::fill_n(right, count, Acc(1));
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t r = 0; r < count; ++r) {
        to[r * n + i] = static_cast<T>(left[r]);
        left[r] *= static_cast<Acc>(from[r * n + i]);
      }
    }
    for (int64_t i = n - 1; i >= 0; --i) {
      for (int64_t r = 0; r < count; ++r) {
        to[r * n + i] = static_cast<T>(static_cast<Acc>(to[r * n + i]) * right[r]);
        right[r] *= static_cast<Acc>(from[r * n + i]);
      }
    }
  };
  parallel_for(outer, 1 + (1 << 14) / (n + 1), [&](int64_t begin, int64_t end) {
    int64_t r = begin;
    for (; r + kRows <= end; r += kRows) rows(r, std::integral_constant<int64_t, kRows>{});
    for (; r < end; ++r) rows(r, std::integral_constant<int64_t, 1>{});
  });
}

void others_run(op::KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  const int64_t n = x.dim(-1);
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    others_rows<T, std::conditional_t<sizeof(T) == 8, double, float>>(x, f.out[0], n);
  });
  dispatch_types<complex64, complex128>(x.dtype(),
                                        [&]<class T>(T) { others_rows<T, T>(x, f.out[0], n); });
}

ARGOSY_OP(product_of_others, NoAttrs)
    .doc("For each element the product of the other elements of its last dimension.")
    .input("x", kFloating | kComplex, Save::value)
    .output("out")
    .compose(others_parts)
    .kernel("two passes", others_run)
    .done();

// Axes that are reduced go last, the gradient is taken there, and they go back.
Tensors prod_grad(const GradCall& c, const TypedReduceAttrs& a) {
  const Tensor& x = c.in[0];
  Tensor wide = a.dtype ? cast(x, *a.dtype) : x;
  Tensor dy = with_axes("prod", c.dy(), x, a.axis, a.keepdim);
  uint32_t mask = op::axes_mask("prod", a.axis, x.rank());
  Tensor others;
  if (x.rank() == 0) {
    others = ones_like(wide);
  } else {
    std::vector<int64_t> perm, back(static_cast<size_t>(x.rank()));
    int64_t kept = 0;
    for (bool reduced : {false, true}) {
      for (int d = 0; d < x.rank(); ++d)
        if ((mask >> d & 1) == reduced) perm.push_back(d);
      if (!reduced) kept = static_cast<int64_t>(perm.size());
    }
    for (size_t i = 0; i < perm.size(); ++i)
      back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    Tensor moved = transpose(wide, perm);
    Tensor rows = x.rank() - kept > 1 ? flatten(moved, kept, x.rank() - 1) : moved;
    others = transpose(reshape_like(product_of_others_op(rows), moved), back);
  }
  return cast(multiply(dy, conj_if_complex(others)), x.dtype());
}

ARGOSY_OP(prod, TypedReduceAttrs)
    .python("prod(x, axis=None, keepdim=False, dtype=None, out=None, name=None)")
    .method("prod")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc(
        "The product over axis (an int or a list; None: all), 1 of nothing. With dtype, x is cast "
        "to it first.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.prod(x).item()
24.0
>>> argosy.prod(x, axis=1).tolist()
[2.0, 12.0])")
    .input("x", kAny - kFloat8, Save::value)
    .output("out")
    .infer(prod_infer)
    .kernel("reduce", run_reduction<Reduce::prod, TypedReduceAttrs>)
    .strided()
    .gradient(prod_grad)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

}  // namespace

Tensor prod(const Tensor& x, const op::IntArray& axis, bool keepdim) {
  return prod_op(x, TypedReduceAttrs{axis, {}, keepdim});
}

}  // namespace argosy::ops

#include "argosy/ops/creation/creation.h"
#include "argosy/ops/elementwise.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// Comparisons, logic and tests of values. Their results are bool and have no gradient.
namespace argosy::ops {
namespace {

using op::NoAttrs;

constexpr DTypes kComparable = kAny - kFloat8;

// Complex numbers are ordered by their real parts, equal ones by their imaginary parts.
const char* not_complex(const op::Inputs& in, const NoAttrs&) {
  return is_complex(in[0].dtype()) ? "complex numbers are compared by parts" : nullptr;
}
template <Tensor (*kCompare)(const Tensor&, const Tensor&)>
void compare_parts(op::KernelFrame& f, const NoAttrs&) {
  Tensor a = real(f.in[0]), b = real(f.in[1]);
  Tensor rest = logical_and(equal(a, b), kCompare(imag(f.in[0]), imag(f.in[1])));
  // Strictly less or greater, whichever kCompare is about.
  Tensor apart = logical_and(kCompare(a, b), not_equal(a, b));
  op::copy_into(f.out[0], logical_or(apart, rest));
}

#define ARGOSY_COMPARE(name, table, dtypes, match, text)     \
  ARGOSY_OP(name, NoAttrs)                                   \
      .python(#name "(x, y, name=None, *, out=None)")        \
      .method(#name)                                         \
      .inplace(#name "_")                                    \
      .alias("input", "x")                                   \
      .alias("other", "y")                                   \
      .doc(text " Elementwise with broadcasting; bool.")     \
      .input("x", dtypes)                                    \
      .input("y", dtypes)                                    \
      .index_output("out")                                   \
      .promote()                                             \
      .elementwise()                                         \
      .infer(op::infer_bool<NoAttrs>)                        \
      .kernel("loops", match, run_loops<cpu::table##_loops>) \
      .strided()                                             \
      .on_loops()
#define ARGOSY_EQUATE(name, text) ARGOSY_COMPARE(name, name, kComparable, nullptr, text)
#define ARGOSY_ORDER(name, table, text)                                 \
  ARGOSY_COMPARE(name, table, kComparable, not_complex,                 \
                 text " Complex numbers by real, then imaginary part.") \
      .kernel("parts", compare_parts<name>)                             \
      .on_loops()

ARGOSY_EQUATE(equal, "Whether x == y.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.equal(x, y).tolist()
[False, False, True])")
    .done();
ARGOSY_EQUATE(not_equal, "Whether x != y.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.not_equal(x, y).tolist()
[True, True, False])")
    .done();
ARGOSY_ORDER(less_than, less, "Whether x < y.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.less_than(x, y).tolist()
[True, False, False])")
    .python("less(x, y, name=None, *, out=None)")
    .method("less(x, y, name=None, *, out=None)")
    .inplace("less_")
    .done();
ARGOSY_ORDER(less_equal, less_equal, "Whether x <= y.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.less_equal(x, y).tolist()
[True, False, True])")
    .done();
ARGOSY_ORDER(greater_than, greater, "Whether x > y.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.greater_than(x, y).tolist()
[False, True, False])")
    .python("greater(x, y, name=None, *, out=None)")
    .method("greater(x, y, name=None, *, out=None)")
    .inplace("greater_")
    .done();
ARGOSY_ORDER(greater_equal, greater_equal, "Whether x >= y.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.greater_equal(x, y).tolist()
[False, True, True])")
    .done();
ARGOSY_EQUATE(logical_and, "Whether both are not 0.")
    .example(
        R"(>>> argosy.logical_and(argosy.to_tensor([True, True, False]), argosy.to_tensor([True, False, False])).tolist()
[True, False, False])")
    .done();
ARGOSY_EQUATE(logical_or, "Whether one or both are not 0.")
    .example(
        R"(>>> argosy.logical_or(argosy.to_tensor([True, True, False]), argosy.to_tensor([True, False, False])).tolist()
[True, True, False])")
    .done();
ARGOSY_EQUATE(logical_xor, "Whether exactly one is not 0.")
    .example(
        R"(>>> argosy.logical_xor(argosy.to_tensor([True, True, False]), argosy.to_tensor([True, False, False])).tolist()
[False, True, False])")
    .done();

#define ARGOSY_TEST(name, signature, dtypes, text) \
  ARGOSY_OP(name, NoAttrs)                         \
      .python(#name signature)                     \
      .method(#name)                               \
      .alias("input", "x")                         \
      .doc(text " Elementwise; bool.")             \
      .input("x", dtypes)                          \
      .index_output("out")                         \
      .elementwise()                               \
      .infer(op::infer_bool<NoAttrs>)

ARGOSY_TEST(logical_not, "(x, name=None, *, out=None)", kComparable, "Whether x is 0.")
    .example(R"(>>> argosy.logical_not(argosy.to_tensor([True, False])).tolist()
[False, True])")
    .inplace("logical_not_")
    .kernel("loops", run_loops<cpu::logical_not_loops>)
    .strided()
    .on_loops()
    .done();
ARGOSY_TEST(isnan, "(x, name=None, *, out=None)", kNumeric, "Whether x is not a number.")
    .example(
        R"(>>> argosy.isnan(argosy.to_tensor([1.0, float("inf"), float("-inf"), float("nan")])).tolist()
[False, False, False, True])")
    .kernel("loops", run_loops<cpu::isnan_loops>)
    .strided()
    .on_loops()
    .done();
ARGOSY_TEST(isinf, "(x, name=None, *, out=None)", kNumeric, "Whether x is infinite.")
    .example(
        R"(>>> argosy.isinf(argosy.to_tensor([1.0, float("inf"), float("-inf"), float("nan")])).tolist()
[False, True, True, False])")
    .kernel("loops", run_loops<cpu::isinf_loops>)
    .strided()
    .on_loops()
    .done();
ARGOSY_TEST(isfinite, "(x, name=None, *, out=None)", kNumeric,
            "Whether x is neither infinite nor nan.")
    .example(
        R"(>>> argosy.isfinite(argosy.to_tensor([1.0, float("inf"), float("-inf"), float("nan")])).tolist()
[True, False, False, False])")
    .kernel("loops", run_loops<cpu::isfinite_loops>)
    .strided()
    .on_loops()
    .done();

Tensor zero_of(const Tensor& x) {
  return constant(0, x.dtype(), x.place());
}

Tensors isposinf_parts(const op::Inputs& in, const NoAttrs&) {
  return logical_and(isinf_op(in[0]), greater_than_op(in[0], zero_of(in[0])));
}
Tensors isneginf_parts(const op::Inputs& in, const NoAttrs&) {
  return logical_and(isinf_op(in[0]), less_than_op(in[0], zero_of(in[0])));
}
Tensors isreal_parts(const op::Inputs& in, const NoAttrs&) {
  if (!is_complex(in[0].dtype())) return full_like(in[0], true, DType::bool_);
  Tensor i = imag(in[0]);
  return equal_op(i, zero_of(i));
}

ARGOSY_TEST(isposinf, "(x, name=None)", kReal, "Whether x is +inf.")
    .example(
        R"(>>> argosy.isposinf(argosy.to_tensor([1.0, float("inf"), float("-inf"), float("nan")])).tolist()
[False, True, False, False])")
    .compose(isposinf_parts)
    .done();
ARGOSY_TEST(isneginf, "(x, name=None)", kReal, "Whether x is -inf.")
    .example(
        R"(>>> argosy.isneginf(argosy.to_tensor([1.0, float("inf"), float("-inf"), float("nan")])).tolist()
[False, False, True, False])")
    .compose(isneginf_parts)
    .done();
ARGOSY_TEST(isreal, "(x, name=None)", kAny, "Whether the imaginary part is 0.")
    .example(R"(>>> argosy.isreal(argosy.to_tensor([1 + 2j, 3 + 0j])).tolist()
[False, True])")
    .compose(isreal_parts)
    .done();

void signbit_run(op::KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  auto* out = static_cast<uint8_t*>(f.out[0].raw());
  dispatch_real(x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    for (int64_t i = 0; i < x.numel(); ++i)
      out[i] = is_floating(x.dtype()) ? __builtin_signbit(static_cast<double>(from[i])) != 0
                                      : static_cast<double>(from[i]) < 0;
  });
}

ARGOSY_TEST(signbit, "(x, name=None)", kReal, "Whether the sign bit is set (also of -0.0).")
    .example(R"(>>> argosy.signbit(argosy.to_tensor([-1.5, 0.0, 2.0])).tolist()
[True, False, False])")
    .kernel("reference", signbit_run)
    .done();

// |x - y| <= atol + rtol |y|; equal values (infinities too) are close.
Tensors isclose_parts(const op::Inputs& in, const CloseAttrs& a) {
  Tensor x = in[0], y = in[1];
  if (!is_differentiable(x.dtype())) x = cast(x, DType::float64), y = cast(y, DType::float64);
  auto number = [&](const op::Scalar& s) {
    if (!s.tensor.defined()) return constant(s, y.dtype(), y.place());
    return reshape(cast(s.tensor, y.dtype()), op::IntArray{});  // a value of a Program
  };
  const bool known = !a.rtol.tensor.defined() && !a.atol.tensor.defined();
  Tensor limit = known ? scale(abs(y), a.rtol.real(), a.atol.real())
                       : add(multiply(abs(y), number(a.rtol)), number(a.atol));
  Tensor near = logical_and(less_equal_op(abs(subtract(x, y)), limit), isfinite_op(y));
  Tensor result = logical_or_op(near, equal_op(x, y));
  if (a.equal_nan) result = logical_or_op(result, logical_and(isnan_op(x), isnan_op(y)));
  return result;
}

ARGOSY_OP(isclose, CloseAttrs)
    .python("isclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None, *, out=None)")
    .method("isclose")
    .alias("input", "x")
    .alias("other", "y")
    .doc(
        "Whether |x - y| <= atol + rtol * |y|, elementwise; bool. nan is close to nan only with "
        "equal_nan.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.isclose(x, y).tolist()
[False, False, True])")
    .input("x", kComparable)
    .input("y", kComparable)
    .index_output("out")
    .promote()
    .elementwise()
    .infer(op::infer_bool<CloseAttrs>)
    .compose(isclose_parts)
    .done();

void infer_one_bool(op::InferContext& c, const CloseAttrs&) {
  c.out[0] = {{}, DType::bool_};
}

Tensors allclose_parts(const op::Inputs& in, const CloseAttrs& a) {
  return all(isclose_op(in[0], in[1], a));
}

ARGOSY_OP(allclose, CloseAttrs)
    .python("allclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None)")
    .method("allclose")
    .alias("input", "x")
    .alias("other", "y")
    .doc("Whether |x - y| <= atol + rtol * |y| everywhere: one bool, 0-d.")
    .shape("x [*s], y [*t] -> []")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.allclose(x, y).item()
False)")
    .input("x", kComparable)
    .input("y", kComparable)
    .index_output("out")
    .promote()
    .infer(infer_one_bool)
    .compose(allclose_parts)
    .done();

void equal_all_infer(op::InferContext& c, const NoAttrs&) {
  c.out[0] = {{}, DType::bool_};
}

void equal_all_run(op::KernelFrame& f, const NoAttrs&) {
  const bool alike = f.in[0].shape() == f.in[1].shape();
  op::copy_into(f.out[0], alike ? all(equal_op(f.in[0], f.in[1]))
                                : constant(false, DType::bool_, f.in[0].place()));
}

ARGOSY_OP(equal_all, NoAttrs)
    .python("equal_all(x, y, name=None)")
    .method("equal_all")
    .alias("input", "x")
    .alias("other", "y")
    .doc("Whether x and y have one shape and equal elements: one bool, 0-d.")
    .shape("x [*s], y [*t] -> []")
    .example(R"(>>> argosy.equal_all(argosy.to_tensor([1, 2]), argosy.to_tensor([1, 2])).item()
True)")
    .input("x", kComparable)
    .input("y", kComparable)
    .index_output("out")
    .infer(equal_all_infer)
    .kernel("compare", equal_all_run)
    .strided()
    .on_loops()
    .done();

}  // namespace

Tensor equal(const Tensor& x, const Tensor& y) {
  return equal_op(x, y);
}
Tensor not_equal(const Tensor& x, const Tensor& y) {
  return not_equal_op(x, y);
}
Tensor less_than(const Tensor& x, const Tensor& y) {
  return less_than_op(x, y);
}
Tensor less_equal(const Tensor& x, const Tensor& y) {
  return less_equal_op(x, y);
}
Tensor greater_than(const Tensor& x, const Tensor& y) {
  return greater_than_op(x, y);
}
Tensor greater_equal(const Tensor& x, const Tensor& y) {
  return greater_equal_op(x, y);
}
Tensor logical_and(const Tensor& x, const Tensor& y) {
  return logical_and_op(x, y);
}
Tensor logical_or(const Tensor& x, const Tensor& y) {
  return logical_or_op(x, y);
}
Tensor logical_not(const Tensor& x) {
  return logical_not_op(x);
}
Tensor isnan(const Tensor& x) {
  return isnan_op(x);
}
Tensor isfinite(const Tensor& x) {
  return isfinite_op(x);
}

}  // namespace argosy::ops

#include <cmath>

#include "argosy/infer/onnx/common.h"
#include "argosy/infer/onnx/narrow.h"

// Constants, ranges, casts and random numbers.
namespace argosy::infer::onnx {
namespace {

Items constant(const Node& n) {
  if (n.has_attribute("sparse_value")) return {n.sparse_tensor("sparse_value")};
  if (n.has_attribute("value")) return {Item(n.tensor("value"), n.tensor_element("value"))};
  if (n.has_attribute("value_float"))
    return {ops::constant(op::Scalar(n.real("value_float", 0)), DType::float32)};
  if (n.has_attribute("value_int"))
    return {ops::constant(op::Scalar(n.integer("value_int", 0)), DType::int64)};
  if (n.has_attribute("value_ints")) return {vector_of(n.integers("value_ints"))};
  if (n.has_attribute("value_floats")) {
    const std::vector<double> values = n.reals("value_floats");
    Tensor t = Tensor::empty({static_cast<int64_t>(values.size())}, DType::float32);
    for (size_t i = 0; i < values.size(); ++i) t.data<float>()[i] = static_cast<float>(values[i]);
    return {t};
  }
  n.unsupported("a constant that is neither a tensor nor numbers");
}

Items constant_of_shape(const Node& n) {
  const op::IntArray shape = n.sizes(0);
  check_folded(n, shape);
  Tensor value = n.tensor("value");
  if (!value.defined()) value = ops::constant(op::Scalar(0.0), DType::float32);
  n.expect(value.numel() == 1, "value has to be one number");
  return {ops::expand(
      ops::reshape(value, op::IntArray(Shape::filled(static_cast<int>(shape.size()), 1))), shape)};
}

Items range(const Node& n) {
  const DType dtype = n.in(0).dtype();
  auto scalar = [&](size_t i) {
    const Tensor& t = n.in(i);
    op::Scalar s;
    if (n.session.is_known(t))
      s = is_floating(dtype) ? op::Scalar(n.known_real(i)) : op::Scalar(n.known_integer(i));
    else
      s.tensor = ops::reshape(t, op::IntArray{});
    return s;
  };
  const op::Scalar start = scalar(0), end = scalar(1), step = scalar(2);
  if (!start.tensor.defined() && !end.tensor.defined() && !step.tensor.defined())
    n.expect(step.real() != 0 && std::abs((end.real() - start.real()) / step.real()) < 1e9,
             "the range has more elements than a model may ask for");
  return {call("arange", {}, {{"start", start}, {"end", end}, {"step", step}, {"dtype", dtype}})};
}

Items eye_like(const Node& n) {
  const Tensor& x = n.in();
  n.expect(x.rank() == 2, "a matrix is expected");
  const auto dtype = dtype_of_element(n.element_attribute("dtype", element_of_dtype(x.dtype())));
  if (!dtype) n.unsupported("this dtype");
  const int64_t k = n.integer("k", 0);
  const Tensor rows = along(positions(x, 0), 0, 2), columns = along(positions(x, 1), 1, 2);
  const Tensor moved = ops::add(rows, ops::constant(op::Scalar(k), DType::int64));
  return {as(ops::equal(moved, columns), *dtype)};
}

Items one_hot(const Node& n) {
  const Tensor& indices = n.in(0);
  const int axis = n.axis(n.integer("axis", -1), indices.rank() + 1);
  const Tensor depth = n.in(1);
  op::IntArray count;
  if (n.session.is_known(depth)) {
    push(count, n.known_integer(1));
    check_folded(n, count, indices.numel());
  } else {
    count.symbols.push_back({0, as(ops::reshape(depth, op::IntArray{}), DType::int64)});
    push(count, kUnknown);
  }
  const int rank = indices.rank() + 1;
  const Tensor places = positions(count);
  // Negative indices count from the end.
  const Tensor whole = as(indices, DType::int64);
  const Tensor size = as(ops::reshape(depth, op::IntArray{}), DType::int64);
  const Tensor zero = number(0, whole);
  const Tensor index = ops::where(ops::less_than(whole, zero), ops::add(whole, size), whole);
  const Tensor hit =
      ops::equal(ops::unsqueeze(index, op::IntArray{axis}), along(places, axis, rank));
  const Tensor& values = n.in(2);
  return {ops::where(hit, ops::pick(values, 0, 1), ops::pick(values, 0, 0))};
}

// --- casts ---

Items cast_to(const Node& n, int to) {
  const auto dtype = dtype_of_element(to);
  if (!dtype) n.unsupported(std::string("elements of type ") + element_name(to));
  const bool saturate = n.flag("saturate", true);
  const std::string round = n.text("round_mode", "up");
  const Tensor& x = n.in();
  Tensor from = x;
  if ((kFloat8.has(x.dtype()))) from = as(x, DType::float32);
  Tensor y = from;
  const bool small = is_narrow(to) || kFloat8.has(*dtype);
  if (small)
    y = as(cast_elements(from, to, saturate, round), *dtype);
  else if (!n.item(0).element && x.dtype() == *dtype)
    y = x;
  else
    y = as(from, *dtype);
  if (y.rank() <= 1 && is_integral(x.dtype()) && is_integral(y.dtype()) && n.session.remembers(x))
    n.session.remember(y, n.session.integers(x));
  return {Item(y, to)};
}

Items cast(const Node& n) {
  return cast_to(n, n.element_attribute("to", 0));
}

Items cast_like(const Node& n) {
  return cast_to(n, n.element(1));
}

// --- random numbers ---

DType random_dtype(const Node& n, DType otherwise) {
  const auto dtype = dtype_of_element(n.element_attribute("dtype", element_of_dtype(otherwise)));
  if (!dtype || !kFloating.has(*dtype)) n.unsupported("this dtype");
  return *dtype;
}

// ONNX's seed is a number of any kind, ours an integer that is not 0.
int64_t seed_of(const Node& n) {
  return n.has_attribute("seed") ? static_cast<int64_t>(std::abs(n.real("seed", 0)) * 1000) + 1 : 0;
}

Items random(const Node& n, op::IntArray shape, DType dtype, bool normal) {
  check_folded(n, shape);
  const auto recording = n.session.recording();
  const int64_t seed = seed_of(n);
  if (normal)
    return {call("gaussian", {},
                 {{"shape", shape},
                  {"mean", n.real("mean", 0)},
                  {"std", n.real("scale", 1)},
                  {"seed", seed},
                  {"dtype", dtype}})};
  return {call("uniform", {},
               {{"shape", shape},
                {"min", op::Scalar(n.real("low", 0))},
                {"max", op::Scalar(n.real("high", 1))},
                {"seed", seed},
                {"dtype", dtype}})};
}

template <bool normal>
Items random_of_shape(const Node& n) {
  const std::vector<int64_t> shape = n.integers("shape");
  return random(n, op::IntArray(std::span(shape)), random_dtype(n, DType::float32), normal);
}

template <bool normal>
Items random_like(const Node& n) {
  return random(n, shape_of(n.in()), random_dtype(n, n.in().dtype()), normal);
}

Items bernoulli(const Node& n) {
  const Tensor& p = n.in();
  const auto dtype = dtype_of_element(n.element_attribute("dtype", element_of_dtype(p.dtype())));
  if (!dtype) n.unsupported("this dtype");
  const auto recording = n.session.recording();
  const Tensor drawn = call("uniform", {},
                            {{"shape", shape_of(p)},
                             {"min", op::Scalar(0.0)},
                             {"max", op::Scalar(1.0)},
                             {"seed", seed_of(n)},
                             {"dtype", DType::float64}});
  return {as(ops::less_than(drawn, as(p, DType::float64)), *dtype)};
}

Items multinomial(const Node& n) {
  const auto dtype = dtype_of_element(n.element_attribute("dtype", kInt32));
  n.expect(dtype == DType::int32 || dtype == DType::int64, "dtype has to be int32 or int64");
  const int64_t count = n.integer("sample_size", 1);
  seed_of(n);
  const auto recording = n.session.recording();
  const Tensor chances = ops::exp(as(n.in(), DType::float32));
  return {as(
      call("multinomial", {chances}, {{"num_samples", op::Scalar(count)}, {"replacement", true}}),
      *dtype)};
}

constexpr Row kRows[] = {
    {"Bernoulli", bernoulli},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"EyeLike", eye_like},
    {"Multinomial", multinomial},
    {"OneHot", one_hot},
    {"RandomNormal", random_of_shape<true>},
    {"RandomNormalLike", random_like<true>},
    {"RandomUniform", random_of_shape<false>},
    {"RandomUniformLike", random_like<false>},
    {"Range", range},
};

}  // namespace

std::span<const Row> creation_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx

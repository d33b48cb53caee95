#include "argosy/infer/paddle/common.h"
#include "argosy/program/attributes.h"

// Inputs, constants, random numbers.
namespace argosy::infer::paddle {

void check_folded(const Node& n, const op::IntArray& shape) {
  int64_t elements = 1;
  for (const int64_t v : shape.values)
    if (v > 1 && (__builtin_mul_overflow(elements, v, &elements) || elements > kMaxElements))
      n.fail("the file asks for a tensor of more than " + std::to_string(kMaxElements) +
             " elements");
}

op::Scalar scalar_of(const Tensor& t) {
  if (!t.symbolic()) return program::number_in(t);
  op::Scalar s = is_integral(t.dtype()) ? op::Scalar(int64_t{0}) : op::Scalar(0.0);
  s.tensor = t.rank() == 0 ? t : ops::reshape(t, op::IntArray{});
  return s;
}

Tensor count_up_to(const Tensor& count) {
  return call("arange", std::span<const Tensor>{},
              {{"start", op::Scalar(int64_t{0})},
               {"end", scalar_of(count)},
               {"step", op::Scalar(int64_t{1})},
               {"dtype", DType::int64}});
}

namespace {

// A number whose text is exact where a float attribute is not.
op::Scalar fill_value(const Node& n) {
  const std::string text = n.text("str_value", "");
  if (text.empty()) {
    op::Scalar v = n.scalar("value", 0);
    return v;
  }
  if (text == "inf" || text == "-inf" || text == "nan") return op::Scalar(std::stod(text));
  try {
    if (text.find_first_of(".eE") == std::string::npos)
      return op::Scalar(int64_t{std::stoll(text)});
    return op::Scalar(std::stod(text));
  } catch (const std::exception&) {
    n.fail("'" + text + "' is no number");
  }
}

// In the Program only where a run decides the shape: what is constant is computed now.
Tensor filled(const Node& n, const op::IntArray& shape, const op::Scalar& value, DType dtype) {
  check_folded(n, shape);
  return ops::full(shape, value, dtype);
}

void fill_constant(const Node& n) {
  const op::IntArray shape = n.numbers("shape", "ShapeTensor", "ShapeTensorList");
  const DType dtype = n.dtype("dtype", DType::float32);
  if (n.has("ValueTensor")) {
    const Tensor value = as(n.in("ValueTensor"), dtype);
    return n.out(
        "Out", ops::expand(value.rank() <= 1 ? ops::reshape(value, op::IntArray{}) : value, shape));
  }
  const Tensor out = filled(n, shape, fill_value(n), dtype);
  n.out("Out", out);
}

void fill_batch_size_like(const Node& n) {
  const Tensor like = n.in("Input");
  std::vector<int64_t> given = n.integers("shape");
  const auto from = static_cast<size_t>(n.axis(n.integer("input_dim_idx", 0), like.rank()));
  const auto to = static_cast<size_t>(n.integer("output_dim_idx", 0));
  n.expect(to < given.size(), "output_dim_idx is outside of the shape");
  op::IntArray shape;
  for (size_t i = 0; i < given.size(); ++i) {
    if (i == to && n.has_lengths("Input") && from == 0) {
      // The batch of sequences is as large as there are sequences.
      ops::push_size(shape, n.lengths("Input"), 0);
    } else if (i == to) {
      ops::push_size(shape, like, static_cast<int>(from));
    } else {
      shape.values.push_back(given[i]);
    }
  }
  check_folded(n, shape);
  n.out("Out",
        Item::without_lengths(ops::full(shape, fill_value(n), n.dtype("dtype", DType::float32))));
}

void fill_like(const Node& n) {
  const Tensor x = n.in("X");
  n.out("Out", ops::full_like(x, n.scalar("value", 0, "ValueTensor"), n.dtype("dtype", x.dtype())));
}

void zeros_like(const Node& n) {
  const Tensor x = n.in("X");
  n.out("Out", ops::full_like(x, op::Scalar(int64_t{0}), n.dtype("dtype", x.dtype())));
}
void ones_like(const Node& n) {
  const Tensor x = n.in("X");
  n.out("Out", ops::full_like(x, op::Scalar(1.0), n.dtype("dtype", x.dtype())));
}

// The values stand in an attribute whose name says their type.
void assign_value(const Node& n) {
  const std::vector<int64_t> given = n.integers("shape");
  const op::IntArray shape = int_array(given);
  check_folded(n, shape);
  const DType dtype = n.dtype("dtype", DType::float32);
  std::vector<double> reals;
  std::vector<int64_t> whole;
  bool is_whole = true;
  for (const char* name : {"fp32_values", "fp64_values", "values"})
    if (reals.empty() && n.has_attribute(name)) reals = n.reals(name);
  for (const char* name : {"int32_values", "int64_values", "bool_values", "int8_values"})
    if (whole.empty() && n.has_attribute(name)) whole = n.integers(name);
  is_whole = !whole.empty();
  const auto count = static_cast<int64_t>(is_whole ? whole.size() : reals.size());
  const Tensor values = Tensor::empty({count}, is_whole ? DType::int64 : DType::float64);
  if (is_whole)
    std::ranges::copy(whole, values.data<int64_t>());
  else
    std::ranges::copy(reals, values.data<double>());
  n.out("Out", ops::reshape(ops::cast(values, dtype), shape));
}

void full_int_array(const Node& n) {
  const std::vector<int64_t> values = n.integers("value");
  const Tensor t = Tensor::empty({static_cast<int64_t>(values.size())}, DType::int64);
  std::ranges::copy(values, t.data<int64_t>());
  n.out("Out", as(t, n.dtype("dtype", DType::int64)));
}

void range(const Node& n) {
  const auto number = [&](const char* slot) { return n.scalar("", 0, slot); };
  const Tensor start = n.in("Start");
  const op::Scalar from = number("Start"), to = number("End"), step = number("Step");
  if (!from.tensor.defined() && !to.tensor.defined() && !step.tensor.defined()) {
    const double count = step.real() == 0 ? 0 : (to.real() - from.real()) / step.real();
    check_folded(n, {static_cast<int64_t>(std::clamp(count, 0.0, 1e18))});
  }
  n.out("Out", call("arange", std::span<const Tensor>{},
                    {{"start", from},
                     {"end", to},
                     {"step", step},
                     {"dtype", n.dtype("dtype", start.dtype())}}));
}

void linspace(const Node& n) {
  const op::Scalar count = n.scalar("", 0, "Num");
  if (!count.tensor.defined()) check_folded(n, {count.integer()});
  n.out("Out", call("linspace", std::span<const Tensor>{},
                    {{"start", n.scalar("", 0, "Start")},
                     {"stop", n.scalar("", 0, "Stop")},
                     {"num", count},
                     {"dtype", n.dtype("dtype", n.in("Start").dtype())}}));
}

void eye(const Node& n) {
  const int64_t rows = n.known_number("num_rows", 0, "Rows");
  const int64_t columns = n.known_number("num_columns", -1, "Columns");
  check_folded(n, {rows, columns < 0 ? rows : columns});
  n.out("Out", call("eye", std::span<const Tensor>{},
                    {{"num_rows", rows},
                     {"num_columns", columns < 0 ? rows : columns},
                     {"dtype", n.dtype("dtype", DType::float32)}}));
}

// Drawn in each run.
void uniform(const Node& n) {
  const op::IntArray shape = n.numbers("shape", "ShapeTensor", "ShapeTensorList");
  const auto recording = n.session.recording();
  n.out("Out", call("uniform", std::span<const Tensor>{},
                    {{"shape", shape},
                     {"min", n.scalar("min", -1, "Min")},
                     {"max", n.scalar("max", 1, "Max")},
                     {"seed", n.integer("seed", 0)},
                     {"dtype", n.dtype("dtype", DType::float32)}}));
}

void gaussian(const Node& n) {
  const op::IntArray shape = n.numbers("shape", "ShapeTensor", "ShapeTensorList");
  const auto recording = n.session.recording();
  n.out("Out", call("gaussian", std::span<const Tensor>{},
                    {{"shape", shape},
                     {"mean", n.real("mean", 0)},
                     {"std", n.real("std", 1)},
                     {"seed", n.integer("seed", 0)},
                     {"dtype", n.dtype("dtype", DType::float32)}}));
}

void randint(const Node& n) {
  const op::IntArray shape = n.numbers("shape", "ShapeTensor", "ShapeTensorList");
  const auto recording = n.session.recording();
  n.out("Out", call("randint", std::span<const Tensor>{},
                    {{"low", n.integer("low", 0)},
                     {"high", n.integer("high", 1)},
                     {"shape", shape},
                     {"dtype", n.dtype("dtype", DType::int64)}}));
}

// What is not written before it is read: zeros.
void empty(const Node& n) {
  const op::IntArray shape = n.numbers("shape", "ShapeTensor", "ShapeTensorList");
  n.out("Out", filled(n, shape, op::Scalar(0.0), n.dtype("dtype", DType::float32)));
}
void ones(const Node& n) {
  const op::IntArray shape = n.numbers("shape");
  n.out("Out", filled(n, shape, op::Scalar(1.0), n.dtype("dtype", DType::float32)));
}

// Numbers whose logarithms are as far from each other.
void logspace(const Node& n) {
  const op::Scalar count = n.scalar("", 0, "Num");
  if (!count.tensor.defined()) check_folded(n, {count.integer()});
  n.out("Out", call("logspace", std::span<const Tensor>{},
                    {{"start", n.scalar("", 0, "Start")},
                     {"stop", n.scalar("", 0, "Stop")},
                     {"num", count},
                     {"base", n.scalar("", 10, "Base")},
                     {"dtype", n.dtype("dtype", n.in("Start").dtype())}}));
}

// Places [2, count] of a triangle of a matrix.
void triangle_places(const Node& n, int64_t rows, int64_t columns, bool lower) {
  check_folded(n, {rows, columns});
  const int64_t offset = n.integer("offset", 0);
  std::vector<int64_t> at[2];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (lower ? j - i <= offset : j - i >= offset) {
        at[0].push_back(i);
        at[1].push_back(j);
      }
  const auto count = static_cast<int64_t>(at[0].size());
  const Tensor t = Tensor::empty({2, count}, DType::int64);
  std::ranges::copy(at[1], std::ranges::copy(at[0], t.data<int64_t>()).out);
  n.out("out", as(t, n.dtype("dtype", DType::int64)));
}
void tril_indices(const Node& n) {
  triangle_places(n, n.integer("rows", 0), n.integer("cols", 0), true);
}
void triu_indices(const Node& n) {
  triangle_places(n, n.integer("row", 0), n.integer("col", 0), false);
}

void multinomial(const Node& n) {
  const auto recording = n.session.recording();
  n.out("Out", call("multinomial", {n.in("X")},
                    {{"num_samples", n.scalar("num_samples", 1, "NumSamples")},
                     {"replacement", n.flag("replacement")}}));
}

void dirichlet(const Node& n) {
  const auto recording = n.session.recording();
  const Tensor gamma = call("standard_gamma", {n.in("Alpha")});
  n.out("Out", ops::divide(gamma, ops::sum(gamma, {-1}, true)));
}

void uniform_batch_size_like(const Node& n) {
  const Tensor like = n.in("Input");
  const std::vector<int64_t> given = n.integers("shape");
  const auto from = n.axis(n.integer("input_dim_idx", 0), like.rank());
  const auto to = static_cast<size_t>(n.integer("output_dim_idx", 0));
  n.expect(to < given.size(), "output_dim_idx is outside of the shape");
  op::IntArray shape;
  for (size_t i = 0; i < given.size(); ++i) {
    if (i == to)
      ops::push_size(shape, like, from);
    else
      shape.values.push_back(given[i]);
  }
  check_folded(n, shape);
  const auto recording = n.session.recording();
  n.out("Out", call("uniform", std::span<const Tensor>{},
                    {{"shape", shape},
                     {"min", n.real("min", -1)},
                     {"max", n.real("max", 1)},
                     {"seed", n.integer("seed", 0)},
                     {"dtype", n.dtype("dtype", DType::float32)}}));
}

// An input of a `.json` file.
void data(const Node& n) {
  const std::vector<int64_t> given = n.integers("shape");
  n.expect(given.size() <= kMaxRank, "an input has too many dimensions");
  Shape shape;
  for (const int64_t d : given) shape.push_back(d < 0 ? kUnknown : d);
  n.out("Out", n.session.feed(n.text("name", "x"), shape, n.dtype("dtype", DType::float32), 0));
}

void fetch(const Node& n) {
  n.session.fetch(n.in("X"), n.text("name", "out"), n.integer("col", 0));
}

constexpr Row kRows[] = {
    {"fill_constant", fill_constant},
    {"fill_constant_batch_size_like", fill_batch_size_like},
    {"fill_any_like", fill_like},
    {"fill_zeros_like", zeros_like},
    {"fill_zeros_like2", zeros_like},
    {"ones_like", ones_like},
    {"assign_value", assign_value},
    {"full_int_array", full_int_array},
    {"range", range},
    {"linspace", linspace},
    {"eye", eye},
    {"uniform_random", uniform},
    {"gaussian_random", gaussian},
    {"randint", randint},
    {"empty", empty},
    {"zeros", empty},
    {"ones", ones},
    {"fill_any", fill_like},
    {"empty_like", zeros_like},
    {"logspace", logspace},
    {"tril_indices", tril_indices},
    {"triu_indices", triu_indices},
    {"multinomial", multinomial},
    {"dirichlet", dirichlet},
    {"uniform_random_batch_size_like", uniform_batch_size_like},
    {"data", data},
    {"fetch_value", fetch},
};

}  // namespace

std::span<const Row> creation_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle

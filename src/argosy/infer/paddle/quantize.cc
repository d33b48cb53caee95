#include "argosy/infer/paddle/common.h"

// Numbers that are rounded as integers, and integers that stand for numbers.
namespace argosy::infer::paddle {
namespace {

constexpr double kTiny = 1e-30, kInstead = 1e-6;  // scales that are next to nothing

double steps_of(int64_t bits) {
  return static_cast<double>((int64_t{1} << (bits - 1)) - 1);
}
double steps_of(const Node& n) {
  return steps_of(n.integer("bit_length", 8));
}

// The scale of all of x, or one for each place of its axis, as what broadcasts to x.
Tensor spread(const Node& n, const Tensor& scale, const Tensor& x) {
  const int64_t axis = n.integer("quant_axis", -1);
  if (axis < 0) return ops::reshape(scale, op::IntArray{});
  return stand_at(scale, n.axis(axis, x.rank()), x.rank());
}

// The code of x whose largest, `steps`, stands for scale.
Tensor codes(const Tensor& x, const Tensor& scale, double steps) {
  const Tensor tiny = ops::less_equal(scale, number(kTiny, scale));
  const Tensor safe = ops::where(tiny, ops::scale(scale, 1, kInstead), scale);
  const Tensor all = ops::round(ops::multiply(x, ops::scale(ops::reciprocal(safe), steps)));
  return ops::clip(all, -steps - 1, steps);
}

Tensor largest(const Tensor& x) {
  return ops::reshape(ops::max(ops::abs(x)), op::IntArray{1});
}
Tensor largest_along(const Tensor& x, int axis) {
  op::IntArray others;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) others.values.push_back(i);
  return ops::max(ops::abs(x), others);
}

void quantize_linear(const Node& n) {
  const Tensor x = n.in("X");
  n.out("Y", codes(x, as(spread(n, n.in("Scale"), x), x.dtype()), steps_of(n)));
}

void dequantize_linear(const Node& n) {
  const Tensor scale = n.in("Scale");
  const Tensor x = as(n.in("X"), scale.dtype());
  n.out("Y", ops::scale(ops::multiply(x, spread(n, scale, x)), 1 / steps_of(n)));
}

Tensor rounded(const Node& n, const Tensor& x, const Tensor& scale) {
  return call("fake_quantize_dequantize", {x, scale},
              {{"bit_length", n.integer("bit_length", 8)},
               {"round_type", n.integer("round_type", 1)},
               {"quant_axis", n.integer("quant_axis", -1)}});
}

void rounded_by_its_own(const Node& n) {
  const Tensor x = n.in("X"), scale = largest(x);
  n.out("OutScale", scale);
  n.out("Out", rounded(n, x, scale));
}
void rounded_by_given(const Node& n) {
  const Tensor scale = n.in("InScale");
  n.out("OutScale", scale);
  n.out("Out", rounded(n, n.in("X"), scale));
}
void rounded_by_channels(const Node& n) {
  const Tensor x = n.in("X");
  const Tensor scale = largest_along(x, n.axis(n.integer("quant_axis", 0), x.rank()));
  n.out("OutScale", scale);
  n.out("Out", rounded(n, x, scale));
}

void codes_by_its_own(const Node& n) {
  const Tensor x = n.in("X"), scale = largest(x);
  n.out("OutScale", scale);
  n.out("Out", codes(x, ops::reshape(scale, op::IntArray{}), steps_of(n)));
}
void codes_by_given(const Node& n) {
  const Tensor scale = n.in("InScale");
  n.out("OutScale", scale);
  n.out("Out", codes(n.in("X"), ops::reshape(scale, op::IntArray{}), steps_of(n)));
}

void numbers_of_codes(const Node& n) {
  const Tensor scale = ops::reshape(n.in("Scale"), op::IntArray{});
  n.out("Out", ops::scale(ops::multiply(as(n.in("X"), scale.dtype()), scale),
                          1 / n.real("max_range", 127)));
}
// Scales of the weight's channels, and perhaps one of the activation.
void numbers_of_channels(const Node& n) {
  const std::vector<Tensor> scales = n.tensors("Scales");
  const std::vector<int64_t> bits = n.integers("quant_bits", {8});
  Tensor y = as(n.in("X"), scales[0].dtype());
  for (size_t i = 0; i < scales.size(); ++i) {
    const Tensor scale =
        i == 0 ? stand_at(scales[0], n.axis(n.integer("quant_axis", 0), y.rank()), y.rank())
               : ops::reshape(scales[i], op::IntArray{});
    y = ops::scale(ops::multiply(y, scale), 1 / steps_of(bits[std::min(i, bits.size() - 1)]));
  }
  n.out("Out", y);
}

void observed(const Node& n) {
  n.out("Out", n.item("X"));
}

constexpr Row kRows[] = {
    {"dequantize_linear", dequantize_linear},
    {"fake_channel_wise_dequantize_max_abs", numbers_of_channels},
    {"fake_channel_wise_quantize_dequantize_abs_max", rounded_by_channels},
    {"fake_dequantize_max_abs", numbers_of_codes},
    {"fake_quantize_abs_max", codes_by_its_own},
    {"fake_quantize_dequantize_abs_max", rounded_by_its_own},
    {"fake_quantize_dequantize_moving_average_abs_max", rounded_by_given},
    {"fake_quantize_moving_average_abs_max", codes_by_given},
    {"fake_quantize_range_abs_max", codes_by_given},
    {"moving_average_abs_max_scale", observed},
    {"quantize_linear", quantize_linear},
};

}  // namespace

std::span<const Row> quantize_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle

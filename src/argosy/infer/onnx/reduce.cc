#include "argosy/infer/onnx/common.h"
#include "argosy/infer/onnx/narrow.h"

namespace argosy::infer::onnx {
namespace {

struct Axes {
  op::IntArray axes = op::IntArray::all();
  bool keep = true;
  bool nothing = false;  // an empty list that means no axis
};

Axes axes_of(const Node& n, int64_t input_since) {
  Axes a;
  a.keep = n.flag("keepdims", true);
  const bool noop = n.flag("noop_with_empty_axes");
  std::vector<int64_t> list = n.integers("axes");
  if (n.opset >= input_since && n.has(1)) list = n.known(1);
  a.nothing = list.empty() && noop;
  if (list.empty()) return a;
  a.axes = op::IntArray();
  for (int64_t axis : list) push(a.axes, n.axis(axis, std::max(n.rank(), 1)));
  return a;
}

// Sum-like reductions keep the dtype of what they add up.
template <Name op, int64_t input_since>
Items typed(const Node& n) {
  const Axes a = axes_of(n, input_since);
  const Tensor& x = n.in();
  if (a.nothing) return {x};
  return {call(op.text, {x}, {{"axis", a.axes}, {"keepdim", a.keep}, {"dtype", x.dtype()}})};
}

// The mean of integers is rounded towards zero.
Items mean(const Node& n) {
  const Axes a = axes_of(n, 18);
  const Tensor& x = n.in();
  if (a.nothing) return {x};
  const Tensor wide = is_floating(x.dtype()) ? x : as(x, DType::float64);
  return {as(call("mean", {wide}, {{"axis", a.axes}, {"keepdim", a.keep}}), x.dtype())};
}

// The form of a reduction of x, all of one value.
Tensor filled_form(const Tensor& x, const Axes& a, double value) {
  const Tensor form =
      call("sum", {x}, {{"axis", a.axes}, {"keepdim", a.keep}, {"dtype", x.dtype()}});
  return ops::full_like(form, op::Scalar(value));
}

template <Name op>
Items extreme(const Node& n) {
  const Axes a = axes_of(n, 18);
  const Tensor& x = n.in();
  if (a.nothing) return {x};
  bool empty = false;
  for (int64_t size : x.shape()) empty = empty || size == 0;
  if (empty) {
    const bool largest = std::string_view(op.text) == "max";
    const Range range =
        x.dtype() == DType::bool_ ? Range{0, 1} : range_of(element_of_dtype(x.dtype()));
    return {filled_form(x, a, largest ? range.low : range.high)};
  }
  return {call(op.text, {x}, {{"axis", a.axes}, {"keepdim", a.keep}})};
}

Tensor sum_of(const Tensor& x, const Axes& a) {
  return call("sum", {x}, {{"axis", a.axes}, {"keepdim", a.keep}, {"dtype", x.dtype()}});
}

Items l1(const Node& n) {
  const Axes a = axes_of(n, 18);
  return {a.nothing ? ops::abs(n.in()) : sum_of(ops::abs(n.in()), a)};
}
Items l2(const Node& n) {
  const Axes a = axes_of(n, 18);
  if (a.nothing) return {ops::abs(n.in())};
  const Tensor& x = n.in();
  const Tensor wide = is_floating(x.dtype()) ? x : as(x, DType::float64);
  return {as(ops::sqrt(sum_of(ops::square(wide), a)), x.dtype())};
}
Items log_sum(const Node& n) {
  const Axes a = axes_of(n, 18);
  return {ops::log(a.nothing ? n.in() : sum_of(n.in(), a))};
}
Items log_sum_exp(const Node& n) {
  const Axes a = axes_of(n, 18);
  const Tensor& x = n.in();
  if (a.nothing) return {x};
  if (!is_floating(x.dtype()))
    return {as(ops::log(sum_of(ops::exp(as(x, DType::float64)), a)), x.dtype())};
  for (int64_t size : x.shape())
    if (size == 0) return {ops::log(sum_of(ops::exp(x), a))};
  return {call("logsumexp", {x}, {{"axis", a.axes}, {"keepdim", a.keep}})};
}
Items sum_square(const Node& n) {
  const Axes a = axes_of(n, 18);
  const Tensor squares = ops::multiply(n.in(), n.in());
  return {a.nothing ? squares : sum_of(squares, a)};
}

template <Name op>
Items place_of_extreme(const Node& n) {
  const Tensor& x = n.in();
  const int axis = n.axis(n.integer("axis", 0), std::max(x.rank(), 1));
  const bool keep = n.flag("keepdims", true);
  if (!n.flag("select_last_index"))
    return {call(op.text, {x}, {{"axis", axis}, {"keepdim", keep}, {"dtype", DType::int64}})};
  const Tensor back = call("flip", {x}, {{"axis", op::IntArray{axis}}});
  const Tensor place =
      call(op.text, {back}, {{"axis", axis}, {"keepdim", keep}, {"dtype", DType::int64}});
  const Tensor last = ops::subtract(ops::size_of(x, axis, DType::int64),
                                    ops::constant(op::Scalar(int64_t{1}), DType::int64));
  return {ops::subtract(last, place)};
}

constexpr Row kRows[] = {
    {"ArgMax", place_of_extreme<"argmax">},
    {"ArgMin", place_of_extreme<"argmin">},
    {"ReduceL1", l1},
    {"ReduceL2", l2},
    {"ReduceLogSum", log_sum},
    {"ReduceLogSumExp", log_sum_exp},
    {"ReduceMax", extreme<"max">},
    {"ReduceMean", mean},
    {"ReduceMin", extreme<"min">},
    {"ReduceProd", typed<"prod", 18>},
    {"ReduceSum", typed<"sum", 13>},
    {"ReduceSumSquare", sum_square},
};

}  // namespace

std::span<const Row> reduce_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx

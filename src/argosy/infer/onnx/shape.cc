#include <limits>

#include "argosy/infer/onnx/common.h"

// Shapes and the order of elements.
namespace argosy::infer::onnx {
namespace {

// As the first input in all but shape.
Item like_first(const Node& n, Tensor t) {
  return {std::move(t), n.item(0).element};
}

Items identity(const Node& n) {
  return {n.has(0) ? n.item(0) : Item()};
}

Items shape(const Node& n) {
  const Tensor& x = n.in();
  const int64_t rank = x.rank();
  auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = clamp(n.integer("start", 0)), end = clamp(n.integer("end", rank));
  const op::IntArray all = shape_of(x);
  op::IntArray some;
  for (int64_t i = start; i < end; ++i) push(some, all, static_cast<size_t>(i));
  return {vector_of(n.session, some)};
}

Items size(const Node& n) {
  return {n.in().numel() >= 0 ? ops::constant(op::Scalar(n.in().numel()), DType::int64)
                              : ops::numel_of(n.in())};
}

Items reshape(const Node& n) {
  const Tensor& x = n.in();
  op::IntArray shape = n.sizes(1);
  const bool zero_is_zero = n.flag("allowzero");
  check_folded(n, shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    bool symbol = false;
    for (const auto& s : shape.symbols) symbol = symbol || s.position == i;
    if (symbol || shape[i] != 0 || zero_is_zero) continue;
    n.expect(static_cast<int>(i) < x.rank(), "0 stands for a size that the input does not have");
    const op::IntArray kept = ops::size_along(x, static_cast<int>(i));
    shape.values[i] = kept[0];
    for (const auto& s : kept.symbols) shape.symbols.push_back({static_cast<uint32_t>(i), s.value});
  }
  // What is left of an input without elements, where a size is 0: the sizes as they are.
  bool zero = false, rest = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    zero = zero || shape[i] == 0;
    rest = rest || shape[i] == -1;
  }
  if (zero && shape.symbols.empty() && x.numel() == 0) {
    op::IntArray whole = shape;
    if (rest)
      for (auto& v : whole.values) v = v == -1 ? 0 : v;
    return {like_first(n, ops::full(whole, op::Scalar(0), x.dtype()))};
  }
  // A size that a run is fed may be -1 or 0, and then stands for others.
  if (n.session.is_fed(n.in(1)))
    return {like_first(n, ops::reshape(x, op::IntArray(std::span<const int64_t>(n.known(1)))))};
  return {like_first(n, ops::reshape(x, shape))};
}

Items flatten(const Node& n) {
  const Tensor& x = n.in();
  int64_t axis = n.integer("axis", 1);
  if (axis < 0) axis += x.rank();
  n.expect(axis >= 0 && axis <= x.rank(), "axis is outside of the dimensions");
  if (x.rank() == 0) return {ops::reshape(x, op::IntArray{1, 1})};
  const int cut = static_cast<int>(axis);
  if (cut == 0) return {ops::unsqueeze(ops::flatten(x, 0, -1), op::IntArray{0})};
  if (cut == x.rank()) return {ops::unsqueeze(ops::flatten(x, 0, -1), op::IntArray{1})};
  return {ops::flatten(ops::flatten(x, cut, -1), 0, cut - 1)};
}

Items transpose(const Node& n) {
  std::vector<int64_t> perm = n.integers("perm");
  if (perm.empty())
    for (int i = n.rank(); i-- > 0;) perm.push_back(i);
  const Tensor y = ops::transpose(n.in(), perm);
  return {like_first(n, y.symbolic() ? y : op::contiguous(y))};
}

std::vector<int64_t> axes_of(const Node& n) {
  return n.opset >= 13 ? (n.has(1) ? n.known(1) : std::vector<int64_t>()) : n.integers("axes");
}

// What is remembered of a vector's numbers is known of the same numbers in another shape.
Items with_numbers(const Node& n, Tensor y) {
  if (n.session.remembers(n.in())) n.session.remember(y, n.session.integers(n.in()));
  return {like_first(n, std::move(y))};
}

Items squeeze(const Node& n) {
  std::vector<int64_t> axes = axes_of(n);
  if (axes.empty() && !(n.opset >= 13 ? n.has(1) : n.has_attribute("axes"))) {
    for (int i = 0; i < n.rank(); ++i) {
      if (n.in().dim(i) < 0) n.session.need_shapes(n);
      if (n.in().dim(i) == 1) axes.push_back(i);
    }
  }
  if (axes.empty()) return {n.item(0)};
  for (int64_t& axis : axes) axis = n.axis(axis, n.rank());
  return with_numbers(n, ops::squeeze(n.in(), op::IntArray(std::span<const int64_t>(axes))));
}

Items unsqueeze(const Node& n) {
  std::vector<int64_t> axes = axes_of(n);
  if (axes.empty()) return {n.item(0)};
  for (int64_t& axis : axes) axis = n.axis(axis, n.rank() + static_cast<int>(axes.size()));
  std::sort(axes.begin(), axes.end());
  const Tensor y = ops::unsqueeze(n.in(), op::IntArray(std::span<const int64_t>(axes)));
  return y.rank() <= 1 ? with_numbers(n, y) : Items{like_first(n, y)};
}

Items concat(const Node& n) {
  n.expect(n.inputs() > 0, "at least one input is expected");
  const int axis = n.axis(n.integer("axis"), n.rank());
  const std::vector<Tensor> parts = n.tensors();
  Tensor y = parts.size() == 1 ? parts[0] : ops::concat(parts, axis);
  if (y.symbolic() && y.rank() == 1 && y.dtype() == DType::int64 && y.numel() >= 0 &&
      y.numel() <= 2 * kMaxRank) {
    op::IntArray all;
    for (const Tensor& part : parts) {
      const op::IntArray numbers = n.session.integers(part);
      for (size_t i = 0; i < numbers.size(); ++i) push(all, numbers, i);
    }
    n.session.remember(y, all);
  }
  return {like_first(n, y)};
}

Items split(const Node& n) {
  const Tensor& x = n.in();
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  const auto count = static_cast<int64_t>(n.outputs());
  n.integer("num_outputs", count);
  std::vector<int64_t> sizes = n.integers("split");
  if (n.opset >= 13 && n.has(1)) sizes = n.known(1);
  if (sizes.empty()) {
    if (x.dim(axis) < 0) n.session.need_shapes(n);
    const int64_t each = (x.dim(axis) + count - 1) / std::max<int64_t>(count, 1);
    for (int64_t left = x.dim(axis); static_cast<int64_t>(sizes.size()) < count; left -= each)
      sizes.push_back(std::clamp<int64_t>(left, 0, each));
  }
  n.expect(static_cast<int64_t>(sizes.size()) == count, "as many sizes as outputs are expected");
  Items out;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    out.push_back(like_first(n, ops::slice(x, axis, begin, begin + size)));
    begin += size;
  }
  n.expect(x.dim(axis) < 0 || begin == x.dim(axis), "the sizes do not add up to the dimension");
  return out;
}

Items expand(const Node& n) {
  const Tensor& x = n.in();
  op::IntArray shape = n.sizes(1);
  check_folded(n, shape);
  // Sizes broadcast both ways: a 1 asks for nothing.
  const int rank = std::max(x.rank(), static_cast<int>(shape.size()));
  if (!shape.symbols.empty()) {
    // A symbol may turn out to be 1 where x has more: then a tensor of ones broadcasts x.
    check_folded(n, shape);
    return {ops::multiply(
        x,
        ops::full(shape, x.dtype() == DType::bool_ ? op::Scalar(true) : op::Scalar(1), x.dtype()))};
  }
  op::IntArray whole;
  const Tensor wide = with_rank(x, rank);
  for (int i = 0; i < rank; ++i) {
    const int given = i - (rank - static_cast<int>(shape.size()));
    const int64_t wanted = given < 0 ? 1 : shape[static_cast<size_t>(given)];
    if (wanted == 1)
      ops::push_size(whole, wide, i);
    else
      push(whole, wanted);
  }
  return {like_first(n, ops::expand(wide, whole))};
}

Items tile(const Node& n) {
  const op::IntArray repeats = n.sizes(1);
  n.expect(static_cast<int>(repeats.size()) == n.rank(),
           "one number for each dimension is expected");
  check_folded(n, repeats, n.in().numel());
  return {like_first(n, call("tile", {n.in()}, {{"repeat_times", repeats}}))};
}

// Starts, ends, axes and steps: attributes once, inputs now.
Items slice(const Node& n) {
  const Tensor& x = n.in();
  op::IntArray starts, ends;
  std::vector<int64_t> axes, steps;
  if (n.opset >= 10) {
    starts = n.sizes(1);
    ends = n.sizes(2);
    if (n.has(3)) axes = n.known(3);
    if (n.has(4)) steps = n.known(4);
  } else {
    starts = op::IntArray(std::span<const int64_t>(n.integers("starts")));
    ends = op::IntArray(std::span<const int64_t>(n.integers("ends")));
    axes = n.integers("axes");
  }
  if (axes.empty()) axes = iota(0, static_cast<int64_t>(starts.size()));
  if (steps.empty()) steps.assign(axes.size(), 1);
  n.expect(
      axes.size() == starts.size() && axes.size() == ends.size() && axes.size() == steps.size(),
      "as many starts, ends, axes and steps are expected");
  for (int64_t& axis : axes) axis = n.axis(axis, x.rank());
  for (int64_t step : steps) n.expect(step != 0, "a step is 0");
  if (axes.empty()) return {n.item(0)};
  Tensor y =
      call("slice", {x}, {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"strides", steps}});
  if (x.rank() == 1 && n.session.remembers(x) && y.symbolic() && starts.symbols.empty() &&
      ends.symbols.empty()) {
    const op::IntArray all = n.session.integers(x);
    const auto size = static_cast<int64_t>(all.size());
    auto bound = [&](int64_t i, int64_t low) {
      return std::clamp<int64_t>(i < 0 ? i + size : i, low, size);
    };
    op::IntArray some;
    if (steps[0] > 0)
      for (int64_t i = bound(starts[0], 0); i < bound(ends[0], 0); i += steps[0])
        push(some, all, static_cast<size_t>(i));
    if (steps[0] > 0 && y.numel() == static_cast<int64_t>(some.size())) n.session.remember(y, some);
  }
  return {like_first(n, y)};
}

Items depth_to_space(const Node& n) {
  const Tensor& x = n.in();
  const int64_t block = n.integer("blocksize");
  const bool columns = n.text("mode", "DCR") == "CRD";
  n.expect(x.rank() == 4 && block > 0 && block <= INT32_MAX &&
               (x.dim(1) < 0 || x.dim(1) % (block * block) == 0),
           "images whose channels the block's square divides are expected");
  const int64_t depth = x.dim(1) < 0 ? -1 : x.dim(1) / (block * block);  // -1: what is left
  op::IntArray apart = ops::size_along(x, 0), together = apart;
  apart.single = together.single = false;
  for (int64_t v : columns ? std::array{depth, block, block} : std::array{block, block, depth})
    push(apart, v);
  ops::push_size(apart, x, 2);
  ops::push_size(apart, x, 3);
  const Tensor parts = ops::reshape(x, apart);
  const Tensor placed = ops::transpose(parts, columns ? std::vector<int64_t>{0, 1, 4, 2, 5, 3}
                                                      : std::vector<int64_t>{0, 3, 4, 1, 5, 2});
  const Tensor rows = ops::flatten(placed, 4, 5);
  return {ops::flatten(rows, 2, 3)};
}

Items space_to_depth(const Node& n) {
  const int64_t block = n.integer("blocksize");
  const bool columns = n.text("mode", "DCR") == "CRD";
  const Tensor& x = n.in();
  n.expect(x.rank() == 4 && block > 0, "images and a positive block are expected");
  if (x.dim(2) < 0 || x.dim(3) < 0) n.session.need_shapes(n);
  n.expect(x.dim(2) % block == 0 && x.dim(3) % block == 0, "the block has to divide the image");
  op::IntArray apart;
  ops::push_size(apart, x, 0);
  ops::push_size(apart, x, 1);
  for (int64_t v : {x.dim(2) / block, block, x.dim(3) / block, block}) push(apart, v);
  const Tensor placed =
      ops::transpose(ops::reshape(x, apart), columns ? std::vector<int64_t>{0, 1, 3, 5, 2, 4}
                                                     : std::vector<int64_t>{0, 3, 5, 1, 2, 4});
  return {ops::flatten(placed, 1, 3)};
}

Items reverse_sequence(const Node& n) {
  const Tensor& x = n.in(0);
  const int batch = n.axis(n.integer("batch_axis", 1), x.rank());
  const int time = n.axis(n.integer("time_axis", 0), x.rank());
  n.expect(batch != time, "batch and time are different axes");
  // Place t holds what was at length - 1 - t, from length on what it held.
  const Tensor places = along(positions(x, time), time, x.rank());
  const Tensor lengths = along(n.in(1), batch, x.rank());
  const Tensor one = ops::constant(op::Scalar(int64_t{1}), DType::int64);
  const Tensor back = ops::subtract(ops::subtract(lengths, one), places);
  const Tensor from = ops::where(ops::less_than(places, lengths), back, places);
  const Tensor index = ops::expand_like(from, x);
  return {call("take_along", {x, index}, {{"axis", time}})};
}

Items center_crop_pad(const Node& n) {
  const Tensor& x = n.in();
  std::vector<int64_t> axes = n.integers("axes", iota(0, x.rank()));
  const std::vector<int64_t> wanted = n.known(1);
  n.expect(axes.size() == wanted.size(), "one size for each axis is expected");
  Tensor y = x;
  std::vector<int64_t> pads(static_cast<size_t>(2 * x.rank()));
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = n.axis(axes[i], x.rank());
    const int64_t size = x.dim(axis), want = wanted[i];
    if (size < 0) n.session.need_shapes(n);
    if (want < size) {
      const int64_t begin = (size - want) / 2;
      y = ops::slice(y, axis, begin, begin + want);
    } else {
      pads[static_cast<size_t>(2 * axis)] = (want - size) / 2;
      pads[static_cast<size_t>(2 * axis + 1)] = want - size - (want - size) / 2;
    }
  }
  return {like_first(n, call("pad", {y}, {{"paddings", pads}}))};
}

// Of each axis its numbers before and behind, wherever they come from.
Items pad(const Node& n) {
  const Tensor& x = n.in();
  const std::string mode = n.text("mode", "constant");
  const int rank = x.rank();
  op::IntArray given =
      n.opset >= 11 ? n.sizes(1) : op::IntArray(std::span<const int64_t>(n.integers("pads")));
  std::vector<int64_t> axes = iota(0, rank);
  if (n.has(3)) axes = n.known(3);
  n.expect(given.size() == 2 * axes.size(), "two numbers for each axis are expected");
  op::Scalar value(n.opset >= 11 ? 0.0 : n.real("value", 0));
  if (n.opset >= 11 && n.has(2)) {
    if (n.session.is_known(n.in(2)))
      value = is_floating(x.dtype()) ? op::Scalar(n.known_real(2)) : op::Scalar(n.known_integer(2));
    else
      value.tensor = ops::reshape(n.in(2), op::IntArray{});
  }
  op::IntArray pads;
  for (int d = 0; d < rank; ++d) {
    size_t found = axes.size();
    for (size_t i = 0; i < axes.size(); ++i)
      if (n.axis(axes[i], rank) == d) found = i;
    for (size_t side : {size_t{0}, axes.size()}) {
      if (found == axes.size())
        push(pads, 0);
      else
        push(pads, given, found + side);
    }
  }
  const char* ours = mode == "constant"  ? "constant"
                     : mode == "reflect" ? "reflect"
                     : mode == "edge"    ? "replicate"
                     : mode == "wrap"    ? "circular"
                                         : nullptr;
  if (!ours) n.unsupported("mode " + mode);
  op::IntArray padded;
  for (int d = 0; d < rank; ++d) {
    const auto i = static_cast<size_t>(2 * d);
    int64_t size = 0;
    const bool fits = !__builtin_add_overflow(std::max<int64_t>(pads[i], 0),
                                              std::max<int64_t>(pads[i + 1], 0), &size) &&
                      !__builtin_add_overflow(size, std::max<int64_t>(x.dim(d), 0), &size);
    n.expect(fits, "the padding cannot be");
    push(padded, size);
  }
  check_folded(n, padded);
  if (std::string_view(ours) == "constant" || rank == 0)
    return {
        like_first(n, call("pad", {x}, {{"paddings", pads}, {"mode", ours}, {"value", value}}))};
  return {like_first(n, call("pad", {x}, {{"paddings", pads}, {"mode", ours}}))};
}

constexpr Row kRows[] = {
    {"CenterCropPad", center_crop_pad},
    {"Concat", concat},
    {"DepthToSpace", depth_to_space},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Identity", identity},
    {"Pad", pad},
    {"Reshape", reshape},
    {"ReverseSequence", reverse_sequence},
    {"Shape", shape},
    {"Size", size},
    {"Slice", slice},
    {"SpaceToDepth", space_to_depth},
    {"Split", split},
    {"Squeeze", squeeze},
    {"Tile", tile},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const Row> shape_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx

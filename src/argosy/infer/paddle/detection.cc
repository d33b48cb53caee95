#include <cmath>

#include "argosy/infer/paddle/common.h"

// Boxes.
namespace argosy::infer::paddle {
namespace {

// [found, 6]; which box each is; how many each image has. Before 2.0 the result is a batch of
// sequences, which counts tell too.
void multiclass_nms(const Node& n) {
  const Tensors all =
      call_all("multiclass_nms", {n.in("BBoxes"), n.in("Scores"), n.optional("RoisNum")},
               {{"background_label", n.integer("background_label", 0)},
                {"score_threshold", n.real("score_threshold", 0)},
                {"nms_top_k", n.integer("nms_top_k", -1)},
                {"nms_threshold", n.real("nms_threshold", 0.3)},
                {"keep_top_k", n.integer("keep_top_k", -1)},
                {"nms_eta", n.real("nms_eta", 1)},
                {"normalized", n.flag("normalized", true)}});
  n.out("Out", Item(all[0], as(all[2], DType::int64)));
  n.out("Index", Item::without_lengths(all[1]));
  n.out("NmsRoisNum", Item::without_lengths(as(all[2], DType::int32)));
}

void matrix_nms(const Node& n) {
  const Tensors all = call_all("matrix_nms", {n.in("BBoxes"), n.in("Scores")},
                               {{"score_threshold", n.real("score_threshold", 0)},
                                {"post_threshold", n.real("post_threshold", 0)},
                                {"nms_top_k", n.integer("nms_top_k", -1)},
                                {"keep_top_k", n.integer("keep_top_k", -1)},
                                {"use_gaussian", n.flag("use_gaussian")},
                                {"gaussian_sigma", n.real("gaussian_sigma", 2)},
                                {"background_label", n.integer("background_label", 0)},
                                {"normalized", n.flag("normalized", true)}});
  n.out("Out", Item::without_lengths(all[0]));
  n.out("Index", Item::without_lengths(all[1]));
  n.out("RoisNum", Item::without_lengths(as(all[2], DType::int32)));
}

// The indices of places along a dimension, as numbers of x's dtype.
Tensor places(const Tensor& x, int axis) {
  return as(count_up_to(ops::size_of(x, axis, DType::int64)), x.dtype());
}

void yolo_box(const Node& n) {
  const Tensor raw = n.in("X");
  const std::vector<int64_t> anchors = n.integers("anchors");
  const auto count = static_cast<int64_t>(anchors.size() / 2);
  const int64_t classes = n.integer("class_num", 0);
  if (n.flag("iou_aware")) n.unsupported("iou_aware");
  n.expect(count >= 1 && classes >= 0, "anchors or class_num are impossible");
  op::IntArray shape;
  ops::push_size(shape, raw, 0);
  shape.values.push_back(count);
  shape.values.push_back(5 + classes);
  ops::push_size(shape, raw, 2);
  ops::push_size(shape, raw, 3);
  const Tensor x = ops::reshape(raw, shape);
  const Tensor height = ops::size_of(raw, 2, raw.dtype()),
               width = ops::size_of(raw, 3, raw.dtype());
  const Tensor sizes = Tensor::empty({count, 2, 1, 1}, DType::float32);
  std::ranges::copy(anchors, sizes.data<float>());
  const Tensor image = as(n.in("ImgSize"), raw.dtype());
  const auto image_size = [&](int64_t i) {
    return ops::reshape(ops::pick(image, 1, i), {-1, 1, 1, 1});
  };
  const Tensor image_h = image_size(0), image_w = image_size(1);
  const double stretch = n.real("scale_x_y", 1),
               ratio = static_cast<double>(n.integer("downsample_ratio", 32));
  const auto part = [&](int64_t i) { return ops::pick(x, 2, i); };
  const auto centre = [&](int64_t i, const Tensor& cell, const Tensor& size, const Tensor& cells) {
    const Tensor at =
        ops::add(ops::scale(ops::sigmoid(part(i)), stretch, -0.5 * (stretch - 1)), cell);
    return ops::divide(ops::multiply(at, size), cells);
  };
  const auto extent = [&](int64_t i, const Tensor& size, const Tensor& cells) {
    const Tensor anchor = as(ops::pick(sizes, 1, i - 2), raw.dtype());
    return ops::divide(ops::multiply(ops::multiply(ops::exp(part(i)), anchor), size),
                       ops::scale(cells, ratio));
  };
  const Tensor cx = centre(0, places(raw, 3), image_w, width);
  const Tensor cy = centre(1, ops::unsqueeze(places(raw, 2), {1}), image_h, height);
  const Tensor half_w = ops::scale(extent(2, image_w, width), 0.5);
  const Tensor half_h = ops::scale(extent(3, image_h, height), 0.5);
  Tensor x1 = ops::subtract(cx, half_w), y1 = ops::subtract(cy, half_h);
  Tensor x2 = ops::add(cx, half_w), y2 = ops::add(cy, half_h);
  if (n.flag("clip_bbox", true)) {
    const Tensor zero = number(0, raw);
    x1 = ops::maximum(x1, zero);
    y1 = ops::maximum(y1, zero);
    x2 = ops::minimum(x2, ops::scale(image_w, 1, -1));
    y2 = ops::minimum(y2, ops::scale(image_h, 1, -1));
  }
  const Tensor confidence = ops::sigmoid(part(4));
  const Tensor sure = ops::unsqueeze(
      as(ops::greater_equal(confidence, number(n.real("conf_thresh", 0.01), raw)), raw.dtype()),
      {-1});
  const std::vector<Tensor> corners{x1, y1, x2, y2};
  const Tensor boxes = ops::multiply(ops::stack(corners, -1), sure);
  const Tensor chances =
      ops::transpose(ops::sigmoid(ops::slice(x, 2, 5, 5 + classes)), {0, 1, 3, 4, 2});
  const Tensor scores =
      ops::multiply(ops::multiply(chances, ops::unsqueeze(confidence, {-1})), sure);
  const auto flat = [&](const Tensor& t, int64_t last) {
    op::IntArray to;
    ops::push_size(to, raw, 0);
    to.values.push_back(-1);
    to.values.push_back(last);
    return ops::reshape(t, to);
  };
  n.out("Boxes", flat(boxes, 4));
  n.out("Scores", flat(scores, classes));
}

void deformable_conv(const Node& n) {
  const Tensor x = n.in("Input"), offset = n.in("Offset"), filter = n.in("Filter");
  n.expect(filter.rank() == 4, "the filter has other than four dimensions");
  const int64_t groups = n.integer("groups", 1), out = filter.dim(0);
  const int64_t taps = filter.dim(1) * filter.dim(2) * filter.dim(3);
  n.expect(groups >= 1 && out % groups == 0, "groups do not divide the channels");
  const Tensor columns = call("deform_columns", {x, offset, n.optional("Mask")},
                              {{"kernel", std::vector<int64_t>{filter.dim(2), filter.dim(3)}},
                               {"stride", n.integers("strides")},
                               {"padding", n.integers("paddings")},
                               {"dilation", n.integers("dilations")},
                               {"groups", n.integer("deformable_groups", 1)}});
  op::IntArray shape = ops::size_along(x, 0), result = shape;
  for (const int64_t v : {groups, taps, int64_t{-1}}) shape.values.push_back(v);
  result.values.push_back(out);
  ops::push_size(result, offset, 2);
  ops::push_size(result, offset, 3);
  n.out("Output", ops::reshape(ops::matmul(ops::reshape(filter, {groups, out / groups, taps}),
                                           ops::reshape(columns, shape)),
                               result));
}

// --- the boxes of SSD ---

// Widths and heights of the boxes at each place.
std::vector<std::pair<double, double>> prior_sizes(const Node& n) {
  const std::vector<double> least = n.reals("min_sizes"), most = n.reals("max_sizes");
  n.expect(most.empty() || most.size() == least.size(), "max_sizes are not as many as min_sizes");
  std::vector<double> ratios{1};
  for (const double ratio : n.reals("aspect_ratios")) {
    if (std::ranges::any_of(ratios, [&](double r) { return std::abs(r - ratio) < 1e-6; })) continue;
    ratios.push_back(ratio);
    if (n.flag("flip")) ratios.push_back(1 / ratio);
  }
  std::vector<std::pair<double, double>> sizes;
  for (size_t i = 0; i < least.size(); ++i) {
    const double middle = most.empty() ? 0 : std::sqrt(least[i] * most[i]);
    const bool middle_first = n.flag("min_max_aspect_ratios_order");
    sizes.emplace_back(least[i], least[i]);
    if (middle > 0 && middle_first) sizes.emplace_back(middle, middle);
    for (size_t r = 1; r < ratios.size(); ++r)
      sizes.emplace_back(least[i] * std::sqrt(ratios[r]), least[i] / std::sqrt(ratios[r]));
    if (middle > 0 && !middle_first) sizes.emplace_back(middle, middle);
  }
  return sizes;
}

Tensor reals_of(const std::vector<double>& values) {
  const Tensor t = Tensor::empty({static_cast<int64_t>(values.size())}, DType::float32);
  std::ranges::transform(values, t.data<float>(), [](double v) { return static_cast<float>(v); });
  return t;
}

// [height, width, boxes, 4] in parts of the image, and four numbers for each.
void prior_box(const Node& n) {
  const Tensor map = n.in("Input"), image = n.in("Image");
  n.expect(map.rank() == 4 && image.rank() == 4, "an image has other than four dimensions");
  const auto sizes = prior_sizes(n);
  const auto count = static_cast<int64_t>(sizes.size());
  op::IntArray shape = ops::size_along(map, 2);
  ops::push_size(shape, map, 3);
  shape.values.push_back(count);
  check_folded(n, shape);
  struct Axis {
    Tensor low, high;
  };
  // Where boxes begin and end along an axis of the map.
  const auto along = [&](int axis, const char* step_name, bool widths) {
    const Tensor cells = ops::size_of(map, axis, DType::float32),
                 pixels = ops::size_of(image, axis, DType::float32);
    const double given = n.real(step_name, 0);
    const Tensor step = given > 0 ? number(given, pixels) : ops::divide(pixels, cells);
    const Tensor places = as(count_up_to(ops::size_of(map, axis, DType::int64)), DType::float32);
    const Tensor centre =
        stand_at(ops::multiply(ops::scale(places, 1, n.real("offset", 0.5)), step), axis - 2, 3);
    std::vector<double> half;
    for (const auto& [w, h] : sizes) half.push_back((widths ? w : h) / 2);
    const Tensor reach = reals_of(half);
    const auto part = [&](const Tensor& at) { return ops::expand(ops::divide(at, pixels), shape); };
    return Axis{part(ops::subtract(centre, reach)), part(ops::add(centre, reach))};
  };
  const Axis x = along(3, "step_w", true), y = along(2, "step_h", false);
  const std::vector<Tensor> corners{x.low, y.low, x.high, y.high};
  Tensor boxes = ops::stack(corners, -1);
  if (n.flag("clip")) boxes = ops::minimum(ops::maximum(boxes, number(0, boxes)), number(1, boxes));
  op::IntArray all = shape;
  all.values.push_back(4);
  n.expect(n.reals("variances").size() == 4, "variances are not four");
  n.out("Boxes", as(boxes, map.dtype()));
  n.out("Variances", as(ops::expand(reals_of(n.reals("variances")), all), map.dtype()));
}

// Boxes [.., 4] as widths, heights and centres.
struct Centres {
  Tensor w, h, x, y;
};
Centres centres_of(const Tensor& boxes, double extra) {
  const auto corner = [&](int64_t i) { return ops::pick(boxes, boxes.rank() - 1, i); };
  const Tensor w = ops::scale(ops::subtract(corner(2), corner(0)), 1, extra);
  const Tensor h = ops::scale(ops::subtract(corner(3), corner(1)), 1, extra);
  return {w, h, ops::add(corner(0), ops::scale(w, 0.5)), ops::add(corner(1), ops::scale(h, 0.5))};
}

// Boxes in terms of others, and back.
void box_coder(const Node& n) {
  const Tensor target = n.in("TargetBox");
  const std::string type = n.text("code_type", "encode_center_size");
  const bool encodes = type == "encode_center_size";
  n.expect(encodes || type == "decode_center_size", "code_type is not known");
  const double extra = n.flag("box_normalized", true) ? 0 : 1;
  const int64_t side = encodes || n.integer("axis", 0) == 0 ? 0 : 1;
  Centres prior = centres_of(n.in("PriorBox"), extra);
  for (Tensor* t : {&prior.w, &prior.h, &prior.x, &prior.y}) *t = ops::unsqueeze(*t, {side});
  const std::vector<double> given = n.reals("variance");
  n.expect(given.empty() || given.size() == 4, "variance has other than four numbers");
  const auto variance = [&](int64_t i) {
    if (n.has("PriorBoxVar")) return ops::unsqueeze(ops::pick(n.in("PriorBoxVar"), 1, i), {side});
    return number(given.empty() ? 1 : given[static_cast<size_t>(i)], target);
  };
  std::vector<Tensor> parts;
  if (encodes) {
    const Tensor boxes = ops::unsqueeze(target, {1});
    const Centres own = centres_of(boxes, extra), bare = centres_of(boxes, 0);
    const auto size = [](const Tensor& a, const Tensor& b) {
      return call("log", {call("abs", {ops::divide(a, b)})});
    };
    parts = {ops::divide(ops::subtract(bare.x, prior.x), prior.w),
             ops::divide(ops::subtract(bare.y, prior.y), prior.h), size(own.w, prior.w),
             size(own.h, prior.h)};
    for (int64_t i = 0; i < 4; ++i) {
      Tensor& part = parts[static_cast<size_t>(i)];
      part = ops::divide(part, variance(i));
    }
  } else {
    const auto code = [&](int64_t i) {
      return ops::multiply(ops::pick(target, target.rank() - 1, i), variance(i));
    };
    const Tensor x = ops::add(ops::multiply(code(0), prior.w), prior.x);
    const Tensor y = ops::add(ops::multiply(code(1), prior.h), prior.y);
    const Tensor half_w = ops::scale(ops::multiply(ops::exp(code(2)), prior.w), 0.5);
    const Tensor half_h = ops::scale(ops::multiply(ops::exp(code(3)), prior.h), 0.5);
    parts = {ops::subtract(x, half_w), ops::subtract(y, half_h),
             ops::scale(ops::add(x, half_w), 1, -extra),
             ops::scale(ops::add(y, half_h), 1, -extra)};
  }
  n.out("OutputBox", Item::without_lengths(ops::stack(parts, -1)));
}

constexpr Row kRows[] = {
    {"box_coder", box_coder},
    {"prior_box", prior_box},
    {"multiclass_nms", multiclass_nms},
    {"multiclass_nms2", multiclass_nms},
    {"multiclass_nms3", multiclass_nms},
    {"matrix_nms", matrix_nms},
    {"yolo_box", yolo_box},
    {"deformable_conv", deformable_conv},
    {"deformable_conv_v1", deformable_conv},  // without a mask
};

}  // namespace

std::span<const Row> detection_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle

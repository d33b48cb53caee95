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

void roi_align(const Node& n) {
  const Tensor rois = n.in("ROIs");
  const Tensor counts = n.has("RoisNum") ? n.in("RoisNum") : n.lengths("ROIs");
  // Which image each box is of.
  const Tensor numbers = count_up_to(ops::size_of(counts, 0, DType::int64));
  const Tensor image =
      call("repeat_interleave", {numbers, as(counts, DType::int64)}, {{"axis", 0}});
  n.out("Out", Item::without_lengths(call("roi_align", {n.in("X"), rois, image},
                                          {{"pooled_height", n.integer("pooled_height", 1)},
                                           {"pooled_width", n.integer("pooled_width", 1)},
                                           {"spatial_scale", n.real("spatial_scale", 1)},
                                           {"sampling_ratio", n.integer("sampling_ratio", -1)},
                                           {"aligned", n.flag("aligned")}})));
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

constexpr Row kRows[] = {
    {"multiclass_nms", multiclass_nms},
    {"multiclass_nms2", multiclass_nms},
    {"multiclass_nms3", multiclass_nms},
    {"matrix_nms", matrix_nms},
    {"yolo_box", yolo_box},
    {"roi_align", roi_align},
    {"deformable_conv", deformable_conv},
};

}  // namespace

std::span<const Row> detection_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle

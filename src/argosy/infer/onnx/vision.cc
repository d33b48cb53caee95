#include <cmath>
#include <limits>

#include "argosy/infer/onnx/common.h"
#include "argosy/infer/onnx/resize.h"
#include "argosy/infer/onnx/sample.h"

// Samples of images, boxes and regions. Resize is in resize.cc.
namespace argosy::infer::onnx {
namespace {

Items grid_sample(const Node& n) {
  std::string mode = n.text("mode", n.opset >= 20 ? "linear" : "bilinear");
  const std::string padding = n.text("padding_mode", "zeros");
  const bool corners = n.flag("align_corners");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic" || mode == "bicubic")
    return {sample_cubic(n, n.in(0), n.in(1), padding, corners)};
  if (mode != "bilinear" && mode != "nearest") n.unsupported("mode " + mode);
  return {call("grid_sample", {n.in(0), n.in(1)},
               {{"mode", mode}, {"padding_mode", padding}, {"align_corners", corners}})};
}

Items affine_grid(const Node& n) {
  const op::IntArray size = n.sizes(1);
  check_folded(n, size);
  return {call("affine_grid", {n.in(0)},
               {{"out_shape", size}, {"align_corners", n.flag("align_corners")}})};
}

Items roi_align(const Node& n) {
  const std::string mode = n.text("mode", "avg");
  const std::string where =
      n.text("coordinate_transformation_mode", n.opset >= 16 ? "half_pixel" : "output_half_pixel");
  if (mode != "avg" && mode != "max") n.unsupported("mode " + mode);
  const int64_t ratio = n.integer("sampling_ratio", 0);
  return {call(mode == "avg" ? "roi_align" : "roi_align_max",
               {n.in(0), n.in(1), as(n.in(2), DType::int64)},
               {{"pooled_height", n.integer("output_height", 1)},
                {"pooled_width", n.integer("output_width", 1)},
                {"spatial_scale", n.real("spatial_scale", 1)},
                {"sampling_ratio", ratio == 0 ? int64_t{-1} : ratio},
                {"aligned", where == "half_pixel"}})};
}

// Rows of regions are the number of their image and a box.
Items max_roi_pool(const Node& n) {
  const std::vector<int64_t> size = n.integers("pooled_shape");
  n.expect(size.size() == 2, "pooled_shape has two numbers");
  const Tensor boxes = ops::slice(n.in(1), 1, op::IntArray{1}, op::IntArray{5});
  return {call("roi_pool", {n.in(0), boxes, as(ops::pick(n.in(1), 1, 0), DType::int64)},
               {{"pooled_height", size[0]},
                {"pooled_width", size[1]},
                {"spatial_scale", n.real("spatial_scale", 1)}})};
}

// [x1, y1, x2, y2] of boxes [count, 4] in the given form.
Tensor corners_of(const Tensor& boxes, bool center) {
  auto column = [&](int64_t i) { return ops::pick(boxes, 1, i); };
  std::array<Tensor, 4> out;
  if (center) {
    for (int64_t d = 0; d < 2; ++d) {
      const Tensor half = ops::scale(column(2 + d), 0.5);
      out[static_cast<size_t>(d)] = ops::subtract(column(d), half);
      out[static_cast<size_t>(2 + d)] = ops::add(column(d), half);
    }
  } else {
    for (int64_t d = 0; d < 2; ++d) {
      const Tensor a = column(1 - d), b = column(3 - d);
      out[static_cast<size_t>(d)] = ops::minimum(a, b);
      out[static_cast<size_t>(2 + d)] = ops::maximum(a, b);
    }
  }
  return ops::stack(out, 1);
}

Items non_max_suppression(const Node& n) {
  const Tensor &boxes = n.in(0), &scores = n.in(1);
  const bool center = n.flag("center_point_box");
  const int64_t batches = scores.dim(0), classes = scores.dim(1);
  if (batches < 0 || classes < 0) n.session.need_shapes(n);
  const Tensor most = n.has(2) ? as(ops::reshape(n.in(2), op::IntArray{}), DType::int64)
                               : ops::constant(op::Scalar(int64_t{0}), DType::int64);
  const double overlap = n.has(3) ? n.known_real(3) : 0;
  const Tensor lowest = n.has(4) ? ops::reshape(n.in(4), op::IntArray{}) : Tensor();
  std::vector<Tensor> rows;
  for (int64_t b = 0; b < batches; ++b) {
    const Tensor all = corners_of(ops::pick(boxes, 0, b), center);
    for (int64_t c = 0; c < classes; ++c) {
      const Tensor score = ops::pick(ops::pick(scores, 0, b), 0, c);
      // Those above the threshold, best first.
      Tensor chosen = positions(score, 0);
      if (lowest.defined())
        chosen = ops::mask_indices(ops::greater_than(score, as(lowest, score.dtype())))[0];
      const Tensor order = call_all("sort_with_index", {ops::take_slices(score, chosen, 0)},
                                    {{"axis", 0}, {"descending", true}, {"stable", true}})[1];
      chosen = ops::take_slices(chosen, order, 0);
      const Tensor kept =
          call("suppress_boxes", {ops::take_slices(all, chosen, 0)}, {{"threshold", overlap}});
      op::IntArray end{kUnknown};
      end.symbols.push_back({0, most});
      if (!most.symbolic()) end = op::IntArray{*op::contiguous(most).data<int64_t>()};
      const Tensor index = ops::slice(ops::take_slices(chosen, kept, 0), 0, op::IntArray{0}, end);
      auto filled = [&](int64_t v) { return ops::full_like(index, op::Scalar(v)); };
      rows.push_back(ops::stack(std::array{filled(b), filled(c), index}, 1));
    }
  }
  n.expect(!rows.empty(), "there are no boxes to choose from");
  return {rows.size() == 1 ? rows[0] : ops::concat(rows, 0)};
}

constexpr Row kRows[] = {
    {"AffineGrid", affine_grid},  {"GridSample", grid_sample},
    {"MaxRoiPool", max_roi_pool}, {"NonMaxSuppression", non_max_suppression},
    {"Resize", resize},           {"RoiAlign", roi_align},
    {"Upsample", upsample},
};

}  // namespace

std::span<const Row> vision_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx

#include "argosy/infer/paddle/common.h"

// Regions of images: proposals, their levels, and what is pooled in them.
namespace argosy::infer::paddle {
namespace {

// Which image each box is of; counts: of the boxes of each.
Tensor images_of(const Tensor& counts) {
  const Tensor numbers = count_up_to(ops::size_of(counts, 0, DType::int64));
  return call("repeat_interleave", {numbers, as(counts, DType::int64)}, {{"axis", 0}});
}

// Pools each box of X by an op of ours.
Tensors pooled(const Node& n, const char* op) {
  const Tensor counts = n.has("RoisNum") ? n.in("RoisNum") : n.lengths("ROIs");
  return call_all(op, {n.in("X"), n.in("ROIs"), images_of(counts)},
                  {{"pooled_height", n.integer("pooled_height", 1)},
                   {"pooled_width", n.integer("pooled_width", 1)},
                   {"spatial_scale", n.real("spatial_scale", 1)},
                   {"sampling_ratio", n.integer("sampling_ratio", -1)},
                   {"aligned", n.flag("aligned")}});
}
void roi_align(const Node& n) {
  n.out("Out", Item::without_lengths(pooled(n, "roi_align")[0]));
}
void roi_pool(const Node& n) {
  n.out("Out", Item::without_lengths(pooled(n, "roi_pool")[0]));
}
void psroi_pool(const Node& n) {
  n.out("Out", Item::without_lengths(pooled(n, "psroi_pool")[0]));
}

Tensor places_where(const Tensor& mask) {
  return ops::mask_indices(mask)[0];
}

// Places of the boxes that overlap none before them.
void nms(const Node& n) {
  n.out("KeepBoxesIdxs",
        call("suppress_boxes", {n.in("Boxes")}, {{"threshold", n.real("iou_threshold", 1)}}));
}

// [A, 4] of [H, W, A of each place, 4].
Tensor boxes_in(const Node& n, const char* slot) {
  return ops::reshape(n.in(slot), {-1, 4});
}

void generate_proposals(const Node& n) {
  const Tensors all = call_all("generate_proposals",
                               {n.in("Scores"), n.in("BboxDeltas"), n.in("ImShape"),
                                boxes_in(n, "Anchors"), boxes_in(n, "Variances")},
                               {{"pre_nms_top_n", n.integer("pre_nms_topN", 6000)},
                                {"post_nms_top_n", n.integer("post_nms_topN", 1000)},
                                {"nms_thresh", n.real("nms_thresh", 0.5)},
                                {"min_size", n.real("min_size", 0.1)},
                                {"eta", n.real("eta", 1)},
                                {"pixel_offset", n.flag("pixel_offset", true)}});
  n.out("RpnRois", Item::without_lengths(all[0]));
  n.out("RpnRoiProbs", Item::without_lengths(all[1]));
  n.out("RpnRoisNum", Item::without_lengths(all[2]));
}

// Boxes by the level of a pyramid that fits their size, and where each stands then.
void distribute(const Node& n) {
  const Tensor boxes = n.in("FpnRois");
  const int64_t first = n.integer("min_level", 2), last = n.integer("max_level", 5);
  n.expect(first <= last && last - first < 64, "levels are impossible");
  const Tensor low = ops::slice(boxes, 1, 0, 2), high = ops::slice(boxes, 1, 2, 4);
  const double extra = n.flag("pixel_offset", true) ? 1 : 0;
  const Tensor sizes = ops::scale(ops::subtract(high, low), 1, extra);
  const Tensor size = ops::sqrt(ops::prod(ops::maximum(sizes, number(0, sizes)), {1}));
  const Tensor ratio =
      ops::scale(size, 1 / static_cast<double>(n.integer("refer_scale", 224)), 1e-8);
  const Tensor level =
      as(ops::clip(ops::floor(ops::scale(call("log2", {ratio}), 1,
                                         static_cast<double>(n.integer("refer_level", 4)))),
                   static_cast<double>(first), static_cast<double>(last)),
         DType::int64);
  const bool counts = n.has("RoisNum");
  const Tensor image = counts ? images_of(n.in("RoisNum")) : Tensor();
  std::vector<Tensor> parts, places, numbers;
  for (int64_t l = first; l <= last; ++l) {
    const Tensor own = places_where(ops::equal(level, ops::constant(l, DType::int64)));
    parts.push_back(ops::take_slices(boxes, own, 0));
    places.push_back(own);
    if (!counts) continue;
    const Tensor none = ops::full_like(n.in("RoisNum"), op::Scalar(int64_t{0}), DType::int32);
    const Tensor one = ops::full_like(own, op::Scalar(int64_t{1}), DType::int32);
    numbers.push_back(
        call("add_slices", {none, ops::take_slices(image, own, 0), one}, {{"axis", 0}}));
  }
  n.out_list("MultiFpnRois", parts);
  if (counts) n.out_list("MultiLevelRoIsNum", numbers);
  const Tensors order = call_all("sort_with_index", {ops::concat(places, 0)}, {{"axis", 0}});
  n.out("RestoreIndex", ops::unsqueeze(as(order[1], DType::int32), {1}));
}

constexpr Row kRows[] = {
    {"distribute_fpn_proposals", distribute},
    {"generate_proposals_v2", generate_proposals},
    {"nms", nms},
    {"psroi_pool", psroi_pool},
    {"roi_align", roi_align},
    {"roi_pool", roi_pool},
};

}  // namespace

std::span<const Row> region_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle

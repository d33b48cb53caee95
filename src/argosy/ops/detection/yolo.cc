#include "argosy/kernels/cpu/yolo.h"

#include <algorithm>

#include "argosy/op/define.h"

namespace argosy::ops {
namespace {

struct YoloAttrs {
  std::vector<int64_t> anchors, slots;
  int64_t classes = 1;
  double ignored_overlap = 0.7;
  int64_t downsample = 32;
  bool smooth = true;
  double stretch = 1;
};
ARGOSY_ATTRS(YoloAttrs, anchors, slots, classes, ignored_overlap, downsample, smooth, stretch)

constexpr DTypes kWide = only(DType::float32) | only(DType::float64);

bool fits(int64_t size, int64_t expected) {
  return size < 0 || expected < 0 || size == expected;
}

void targets_infer(op::InferContext& c, const YoloAttrs& a) {
  const Tensor &x = c.in[0], &boxes = c.in[1], &labels = c.in[2], &scores = c.in[3];
  const auto count = static_cast<int64_t>(a.anchors.size() / 2);
  const auto slots = static_cast<int64_t>(a.slots.size());
  ARGOSY_CHECK(a.anchors.size() % 2 == 0 && count > 0, invalid_argument)
      << "[yolo_loss] anchors must be pairs of width and height, got " << a.anchors.size()
      << " numbers. Do this: complete the last pair.";
  ARGOSY_CHECK(slots > 0 && std::all_of(a.slots.begin(), a.slots.end(),
                                        [&](int64_t i) { return i >= 0 && i < count; }),
               invalid_argument)
      << "[yolo_loss] anchor_mask must have indices of the " << count
      << " anchors. Do this: use 0 to " << count - 1 << '.';
  ARGOSY_CHECK(a.classes > 0, invalid_argument)
      << "[yolo_loss] class_num must be positive, got " << a.classes << ". Do this: correct it.";
  ARGOSY_CHECK(x.rank() == 4 && fits(x.dim(2), x.dim(3)), invalid_argument)
      << "[yolo_loss] x must be [N, C, H, W] with H = W, got " << x << ". Do this: reshape it.";
  ARGOSY_CHECK(fits(x.dim(1), slots * (5 + a.classes)), invalid_argument)
      << "[yolo_loss] x must have " << slots << " * (5 + " << a.classes << ") channels, got " << x
      << ". Do this: check anchor_mask and class_num.";
  ARGOSY_CHECK(boxes.rank() == 3 && fits(boxes.dim(2), 4) && fits(boxes.dim(0), x.dim(0)),
               invalid_argument)
      << "[yolo_loss] gt_box must be [N, B, 4] with N = " << x.dim(0) << ", got " << boxes
      << ". Do this: fill up with zeros where an image has fewer boxes.";
  ARGOSY_CHECK(
      labels.rank() == 2 && fits(labels.dim(0), boxes.dim(0)) && fits(labels.dim(1), boxes.dim(1)),
      invalid_argument)
      << "[yolo_loss] gt_label must be [N, B] as gt_box " << boxes << ", got " << labels
      << ". Do this: give one label for each box.";
  ARGOSY_CHECK(
      scores.rank() == 2 && fits(scores.dim(0), boxes.dim(0)) && fits(scores.dim(1), boxes.dim(1)),
      invalid_argument)
      << "[yolo_loss] gt_score must be [N, B] as gt_box " << boxes << ", got " << scores
      << ". Do this: give one score for each box.";
  const int64_t n = x.dim(0), b = boxes.dim(1);
  c.out[0] = c.out[1] = {{n, slots, x.dim(2), x.dim(3)}, x.dtype()};
  c.out[2] = {{n, b, 5 + a.classes}, DType::int64};
  c.out[3] = {{n, b, 1}, DType::bool_};
  c.out[4] = c.out[5] = {{n, b, 4}, x.dtype()};
  c.out[6] = c.out[7] = {{n, b, a.classes}, x.dtype()};
}

void targets_run(op::KernelFrame& f, const YoloAttrs& a) {
  const Tensor& x = f.in[0];
  cpu::YoloShape s{};
  s.images = x.dim(0);
  s.slots = static_cast<int64_t>(a.slots.size());
  s.classes = a.classes;
  s.grid = x.dim(2);
  s.boxes = f.in[1].dim(1);
  s.anchors = a.anchors.data();
  s.anchor_count = static_cast<int64_t>(a.anchors.size() / 2);
  s.slot_anchors = a.slots.data();
  s.pixels = static_cast<double>(a.downsample * s.grid);
  s.ignored_overlap = a.ignored_overlap;
  s.stretch = a.stretch;
  s.smooth = a.smooth ? std::min(1.0 / static_cast<double>(a.classes), 1.0 / 40) : 0;
  dispatch_types<float, double>(x.dtype(), [&]<class T>(T) {
    const auto out = [&](int i) { return f.out[i].data<T>(); };
    cpu::yolo_targets<T>(x.data<T>(), f.in[1].data<T>(), f.in[2].data<int64_t>(), f.in[3].data<T>(),
                         s,
                         {out(0), out(1), f.out[2].data<int64_t>(), f.out[3].data<bool>(), out(4),
                          out(5), out(6), out(7)});
  });
}

ARGOSY_OP(yolo_targets, YoloAttrs)
    .doc(
        "What the outputs x [N, slots (5 + classes), H, H] of YOLOv3 are trained to be for boxes "
        "[N, "
        "B, 4] (centre, width and height in parts of the image), labels [N, B] and scores [N, B]: "
        "object and its weight [N, slots, H, H]; places [N, B, 5 + classes] of each box's outputs "
        "in "
        "x; whether no later box has the same places [N, B, 1]; what these should be and their "
        "weights: four of the box, and one for each class. "
        "Redmon and Farhadi, arXiv:1804.02767.")
    .input("x", kWide)
    .input("boxes", kWide)
    .input("labels", only(DType::int64))
    .input("scores", kWide)
    .index_output("object")
    .index_output("object_weight")
    .index_output("places")
    .index_output("trains")
    .index_output("box")
    .index_output("box_weight")
    .index_output("chances")
    .index_output("chance_weight")
    .infer(targets_infer)
    .kernel("boxes", targets_run)
    .done();

}  // namespace
}  // namespace argosy::ops

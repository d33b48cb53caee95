#pragma once

#include <cstdint>

namespace argosy::cpu {

// What the outputs [N, S (5 + classes), grid, grid] of YOLOv3 are trained to be (Redmon and
// Farhadi, arXiv:1804.02767), for boxes [N, B, 4] (centre, width and height in parts of the image).
struct YoloShape {
  int64_t images, slots, classes, grid, boxes;
  const int64_t* anchors;  // widths and heights in pixels of the network's input
  int64_t anchor_count;
  const int64_t* slot_anchors;  // [slots] the anchor of each slot
  double pixels;                // of the network's input, on a side
  double ignored_overlap;  // a prediction that overlaps a box by more is not trained to be nothing
  double stretch;          // of the centres in their cells
  double smooth;           // chance of a class that is not the box's; of its own 1 - smooth
};

// Results; the terms of a box are all 0 for an empty box and for one that fits an anchor without a
// slot best.
template <class T>
struct YoloTargets {
  T *object, *object_weight;   // [N, slots, grid, grid] confidence 0 or 1, and how much it counts
  int64_t* places;             // [N, B, 5 + classes] of the box's outputs in x
  bool* trains;                // [N, B] whether no later box has these outputs
  T *box, *box_weight;         // [N, B, 4] of its first four outputs
  T *chances, *chance_weight;  // [N, B, classes] of its last ones
};

// scores [N, B]: what each box counts.
template <class T>
void yolo_targets(const T* x, const T* boxes, const int64_t* labels, const T* scores,
                  const YoloShape& s, const YoloTargets<T>& out);

}  // namespace argosy::cpu

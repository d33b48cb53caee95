#include "argosy/kernels/cpu/yolo.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "argosy/base/parallel.h"

namespace argosy::cpu {
namespace {

template <class T>
struct Box {
  T x, y, w, h;  // of the centre first
};

template <class T>
T sigmoid(T v) {
  return T(1) / (T(1) + std::exp(-v));
}
template <class T>
T common_length(T a, T a_length, T b, T b_length) {
  return std::min(a + a_length / 2, b + b_length / 2) -
         std::max(a - a_length / 2, b - b_length / 2);
}
template <class T>
T overlap(const Box<T>& a, const Box<T>& b) {
  const T w = common_length(a.x, a.w, b.x, b.w), h = common_length(a.y, a.h, b.y, b.h);
  const T common = w < 0 || h < 0 ? T(0) : w * h;
  return common / (a.w * a.h + b.w * b.h - common);
}
template <class T>
bool is_empty(const Box<T>& b) {
  return b.w <= T(1e-6) || b.h <= T(1e-6);
}

template <class T>
class Image {
 public:
  Image(const YoloShape& s, const YoloTargets<T>& out, const T* x, const T* boxes,
        const int64_t* labels, const T* scores, int64_t n)
      : s_(s),
        out_(out),
        cells_(s.grid * s.grid),
        channels_(5 + s.classes),
        n_(n),
        x_(x),
        boxes_(reinterpret_cast<const Box<T>*>(boxes) + n * s.boxes),
        labels_(labels + n * s.boxes),
        scores_(scores + n * s.boxes) {}

  void run() const {
    for (int64_t slot = 0; slot < s_.slots; ++slot) {
      for (int64_t cell = 0; cell < cells_; ++cell) {
        *object(out_.object, slot, cell) = 0;
        *object(out_.object_weight, slot, cell) =
            best_overlap(slot, cell) > s_.ignored_overlap ? T(0) : T(1);
      }
    }
    std::vector<int64_t> places(static_cast<size_t>(s_.boxes));
    for (int64_t b = 0; b < s_.boxes; ++b) places[b] = set_box(b);
    for (auto at = places.begin(); at != places.end(); ++at) {
      out_.trains[n_ * s_.boxes + (at - places.begin())] =
          *at < 0 || std::find(at + 1, places.end(), *at) == places.end();
    }
  }

 private:
  int64_t place(int64_t slot, int64_t channel, int64_t cell) const {
    return ((n_ * s_.slots + slot) * channels_ + channel) * cells_ + cell;
  }
  T* object(T* of, int64_t slot, int64_t cell) const {
    return of + (n_ * s_.slots + slot) * cells_ + cell;
  }
  T anchor(int64_t index, int side) const { return static_cast<T>(s_.anchors[2 * index + side]); }

  T best_overlap(int64_t slot, int64_t cell) const {
    const auto out = [&](int64_t channel) { return x_[place(slot, channel, cell)]; };
    const T stretch = static_cast<T>(s_.stretch), shift = T(-0.5) * (stretch - 1);
    const T grid = static_cast<T>(s_.grid), pixels = static_cast<T>(s_.pixels);
    const int64_t own = s_.slot_anchors[slot];
    const Box<T> predicted = {
        (static_cast<T>(cell % s_.grid) + sigmoid(out(0)) * stretch + shift) / grid,
        (static_cast<T>(cell / s_.grid) + sigmoid(out(1)) * stretch + shift) / grid,
        std::exp(out(2)) * anchor(own, 0) / pixels, std::exp(out(3)) * anchor(own, 1) / pixels};
    T best = 0;
    for (int64_t b = 0; b < s_.boxes; ++b) {
      if (!is_empty(boxes_[b])) best = std::max(best, overlap(predicted, boxes_[b]));
    }
    return best;
  }

  // The anchor of the most similar shape.
  int64_t best_anchor(const Box<T>& box) const {
    const T pixels = static_cast<T>(s_.pixels);
    T best = 0;
    int64_t found = 0;
    for (int64_t a = 0; a < s_.anchor_count; ++a) {
      const T o =
          overlap<T>({0, 0, anchor(a, 0) / pixels, anchor(a, 1) / pixels}, {0, 0, box.w, box.h});
      if (o > best) {
        best = o;
        found = a;
      }
    }
    return found;
  }

  // Returns where the box's outputs begin in x, or -1 if it has none.
  int64_t set_box(int64_t b) const {
    const Box<T>& box = boxes_[b];
    const int64_t row = n_ * s_.boxes + b;
    int64_t* places = out_.places + row * channels_;
    T *target = out_.box + row * 4, *weight = out_.box_weight + row * 4;
    T *chances = out_.chances + row * s_.classes, *counts = out_.chance_weight + row * s_.classes;
    const int64_t best = best_anchor(box);
    const auto* slot_end = s_.slot_anchors + s_.slots;
    const int64_t slot = std::find(s_.slot_anchors, slot_end, best) - s_.slot_anchors;
    const auto column = static_cast<int64_t>(box.x * static_cast<T>(s_.grid));
    const auto line = static_cast<int64_t>(box.y * static_cast<T>(s_.grid));
    const bool inside = column >= 0 && column < s_.grid && line >= 0 && line < s_.grid;
    if (is_empty(box) || slot == s_.slots || !inside) {
      std::fill_n(places, channels_, 0);
      std::fill_n(target, 4, T(0));
      std::fill_n(weight, 4, T(0));
      std::fill_n(chances, s_.classes, T(0));
      std::fill_n(counts, s_.classes, T(0));
      return -1;
    }
    const int64_t cell = line * s_.grid + column;
    for (int64_t c = 0; c < channels_; ++c) places[c] = place(slot, c, cell);
    const T grid = static_cast<T>(s_.grid), pixels = static_cast<T>(s_.pixels);
    target[0] = box.x * grid - static_cast<T>(column);
    target[1] = box.y * grid - static_cast<T>(line);
    target[2] = std::log(box.w * pixels / anchor(best, 0));
    target[3] = std::log(box.h * pixels / anchor(best, 1));
    // Small boxes count for more.
    std::fill_n(weight, 4, (T(2) - box.w * box.h) * scores_[b]);
    for (int64_t c = 0; c < s_.classes; ++c) {
      chances[c] = static_cast<T>(c == labels_[b] ? 1 - s_.smooth : s_.smooth);
    }
    std::fill_n(counts, s_.classes, scores_[b]);
    // Of two boxes in one place the last one decides, also that a worthless one is nothing.
    const bool counted = scores_[b] > T(1e-5);
    *object(out_.object, slot, cell) = counted ? T(1) : T(0);
    *object(out_.object_weight, slot, cell) = counted ? scores_[b] : T(scores_[b] > T(-0.5));
    return places[0];
  }

  const YoloShape& s_;
  const YoloTargets<T>& out_;
  const int64_t cells_, channels_, n_;
  const T* x_;
  const Box<T>* boxes_;
  const int64_t* labels_;
  const T* scores_;
};

}  // namespace

template <class T>
void yolo_targets(const T* x, const T* boxes, const int64_t* labels, const T* scores,
                  const YoloShape& s, const YoloTargets<T>& out) {
  parallel_for(s.images, 1, [&](int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) {
      Image<T>(s, out, x, boxes, labels, scores, n).run();
    }
  });
}

template void yolo_targets(const float*, const float*, const int64_t*, const float*,
                           const YoloShape&, const YoloTargets<float>&);
template void yolo_targets(const double*, const double*, const int64_t*, const double*,
                           const YoloShape&, const YoloTargets<double>&);

}  // namespace argosy::cpu

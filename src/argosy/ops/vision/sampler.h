#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "argosy/op/define.h"
#include "argosy/ops/vision/vision.h"

// What the files of grid_sample share.
namespace argosy::ops {

// The elements of one plane that a point is made of.
template <class T>
class Sampler {
 public:
  static constexpr int kMaxTaps = 8;

  // pixels: points are places of elements, not parts of [-1, 1].
  Sampler(const Tensor& x, const SampleAttrs& a, bool pixels = false)
      : dims_(x.rank() - 2),
        nearest_(a.mode == "nearest"),
        corners_(a.align_corners),
        pixels_(pixels),
        border_(a.padding_mode == "border"),
        reflect_(a.padding_mode == "reflection") {
    for (int d = dims_; d-- > 0;) {
      size_[d] = x.dim(2 + d);
      step_[d] = d + 1 == dims_ ? 1 : step_[d + 1] * size_[d + 1];
    }
  }

  int dims() const { return dims_; }
  int count() const { return count_; }
  int64_t index(int t) const { return index_[t]; }
  T weight(int t) const { return weight_[t]; }
  // How the weight of tap t changes with coordinate i of the point.
  T slope(int t, int i) const { return slope_[t][i]; }

  // What tap t counts when differentiated by those coordinates whose bits are set, once each; with
  // none this is its weight. Twice by one coordinate is always 0.
  T factor(int t, uint32_t coordinates) const {
    if (nearest_) return coordinates ? T(0) : T(1);
    T product = 1;
    for (int d = 0; d < dims_; ++d) {
      const bool upper = tap_[t] >> d & 1;
      product *= coordinates >> (dims_ - 1 - d) & 1 ? (upper ? rate_[d] : -rate_[d])
                                                    : (upper ? part_[d] : 1 - part_[d]);
    }
    return product;
  }

  // point: x, y(, z). Without `slopes` those of the taps are left as they were.
  template <bool slopes = true>
  void at(const T* point) {
    dims_ == 2 ? find<2, slopes>(point) : find<3, slopes>(point);
  }

 private:
  template <int dims, bool slopes>
  void find(const T* point) {
    int64_t first[dims];
    for (int d = 0; d < dims; ++d) {
      const T p = place(point[dims - 1 - d], size_[d], &rate_[d]);
      // What lies further out, or is not a number, meets no element.
      const bool near = p > T(-2) && p < static_cast<T>(size_[d] + 1);
      const T low = near ? (nearest_ ? std::nearbyint(p) : std::floor(p)) : T(-2);
      first[d] = static_cast<int64_t>(low);
      part_[d] = near ? p - low : T(0);
    }
    count_ = 0;
    for (int t = 0; t < (nearest_ ? 1 : 1 << dims); ++t) {
      int64_t index = 0;
      T weight[dims];
      bool inside = true;
      for (int d = 0; d < dims; ++d) {
        const int64_t k = first[d] + (t >> d & 1);
        inside = inside && k >= 0 && k < size_[d];
        index += k * step_[d];
        weight[d] = nearest_ ? T(1) : t >> d & 1 ? part_[d] : 1 - part_[d];
      }
      if (!inside) continue;
      index_[count_] = index;
      tap_[count_] = t;
      T whole = 1;
      for (int d = 0; d < dims; ++d) {
        whole *= weight[d];
        if constexpr (slopes) {
          T s = nearest_ ? T(0) : t >> d & 1 ? rate_[d] : -rate_[d];
          for (int e = 0; e < dims; ++e)
            if (e != d) s *= weight[e];
          slope_[count_][dims - 1 - d] = s;
        }
      }
      weight_[count_++] = whole;
    }
  }

  // From [-1, 1] to elements of an axis; rate: how fast it changes.
  T place(T g, int64_t n, T* rate) const {
    const T size = static_cast<T>(n), last = size - 1;
    T p = corners_ ? (g + 1) / 2 * last : ((g + 1) * size - 1) / 2;
    *rate = (corners_ ? last : size) / 2;
    if (pixels_) {
      p = g;
      *rate = 1;
    }
    if (reflect_) {
      // Mirrors at the centres or at the outer edges of the first and last element.
      const T low = corners_ ? T(0) : T(-0.5), span = corners_ ? last : size;
      if (span <= 0) {
        *rate = 0;
        return 0;
      }
      T q = p - low;
      if (q < 0) {
        q = -q;
        *rate = -*rate;
      }
      q -= std::floor(q / (2 * span)) * 2 * span;
      if (q > span) {
        q = 2 * span - q;
        *rate = -*rate;
      }
      p = q + low;
    }
    if (border_ || reflect_) {
      if (p > 0 && p < last) return p;
      if (p != 0 && p != last) *rate = 0;
      return p >= last ? last : T(0);
    }
    return p;
  }

  int dims_;
  bool nearest_, corners_, pixels_, border_, reflect_;
  int64_t size_[3], step_[3];
  T part_[3], rate_[3];
  int count_ = 0;
  int tap_[kMaxTaps];
  int64_t index_[kMaxTaps];
  T weight_[kMaxTaps];
  T slope_[kMaxTaps][3];
};

// A tensor of 16-bit floats in float32, which is what they compute in, empty or with its values;
// others as they are.
Tensor widened(const Tensor& t, bool values);

// The gradient rule of grid_sample_grad.
Tensors sample_second_gradient(const op::GradCall& c, const SampleAttrs& a);

}  // namespace argosy::ops

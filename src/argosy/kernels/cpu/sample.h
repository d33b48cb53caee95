#pragma once

#include <cstdint>

// Points of images (two spatial axes) for sampling, some at a time and in arrays, so that the loops
// over them vectorize.
namespace argosy::cpu {

inline constexpr int kPlanarPoints = 256;

struct SampleMode {
  bool nearest, align_corners, border, reflect;
};

// The places of points along one axis.
template <class T>
struct PlanarAxis {
  T part[kPlanarPoints];                            // how far behind the first of its two elements
  T rate[kPlanarPoints];                            // of the place by the coordinate
  int32_t low[kPlanarPoints], high[kPlanarPoints];  // the elements, brought inside
  int32_t has_low[kPlanarPoints], has_high[kPlanarPoints];  // -1, or 0 for one that was outside

  // grid: every second number is a coordinate.
  void find(const T* grid, int n, int64_t elements, SampleMode mode);
};

// T: float or double. n: at most kPlanarPoints; the same in all calls after a find.
template <class T>
class Planar {
 public:
  static constexpr int kTaps = 4;

  // REQUIRES: an image has elements, less than 2^31.
  Planar(int64_t height, int64_t width, SampleMode mode)
      : height_(height), width_(width), mode_(mode) {}

  // grid: x and y of n points.
  void find(const T* grid, int n);
  // finite: the plane is; then what is outside need not be left out.
  void sample(const T* plane, T* to, int n, bool finite) const;
  bool finite(const T* plane) const;
  // Adds to the plane what the points' gradients are to its elements.
  void scatter(const T* dy, T* plane, int n) const;
  // Adds to the slopes by x and y of each point, but for the factors that rates() multiplies them
  // with.
  void slopes(const T* plane, const T* dy, T* by_x, T* by_y, int n) const;
  // to: of x and y of n points.
  void rates(const T* by_x, const T* by_y, T* to, int n) const;

 private:
  int64_t height_, width_;
  SampleMode mode_;
  PlanarAxis<T> x_, y_;
  int32_t index_[kTaps][kPlanarPoints], has_[kTaps][kPlanarPoints];
  T weight_[kTaps][kPlanarPoints];
};

extern template class Planar<float>;
extern template class Planar<double>;

}  // namespace argosy::cpu

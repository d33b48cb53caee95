#include "argosy/kernels/cpu/sample.h"

#include <algorithm>
#include <cmath>

namespace argosy::cpu {
namespace {

// At the centres or at the outer edges of the first and the last element.
template <class T>
void mirror(T* part, T* rate, int n, T edge, T span) {
  if (span <= 0) {
    std::fill_n(part, n, T(0));
    std::fill_n(rate, n, T(0));
    return;
  }
  for (int k = 0; k < n; ++k) {
    const T from = part[k] - edge;
    T q = std::abs(from);
    T r = from < 0 ? -rate[k] : rate[k];
    q -= std::floor(q / (2 * span)) * 2 * span;
    r = q > span ? -r : r;
    q = q > span ? 2 * span - q : q;
    part[k] = q + edge;
    rate[k] = r;
  }
}

// The value at an index, or 0 where mask is 0, whatever is there.
template <class T>
T masked(T v, int32_t mask) {
  return mask ? v : T(0);
}

}  // namespace

template <class T>
void PlanarAxis<T>::find(const T* grid, int n, int64_t elements, SampleMode mode) {
  const T size = static_cast<T>(elements), last = size - 1;
  T* p = part;
  if (mode.align_corners) {
    for (int k = 0; k < n; ++k) p[k] = (grid[2 * k] + 1) / 2 * last;
  } else {
    for (int k = 0; k < n; ++k) p[k] = ((grid[2 * k] + 1) * size - 1) / 2;
  }
  std::fill_n(rate, n, (mode.align_corners ? last : size) / 2);
  if (mode.reflect)
    mirror<T>(part, rate, n, mode.align_corners ? T(0) : T(-0.5), mode.align_corners ? last : size);
  if (mode.border || mode.reflect) {
    for (int k = 0; k < n; ++k) {
      rate[k] = p[k] >= 0 && p[k] <= last ? rate[k] : T(0);
      const T above = p[k] > 0 ? p[k] : T(0);
      p[k] = p[k] >= last ? last : above;
    }
  }
  const auto end = static_cast<int32_t>(elements);
  T whole[kPlanarPoints];
  if (mode.nearest) {
    for (int k = 0; k < n; ++k) whole[k] = std::rint(p[k]);
  } else {
    for (int k = 0; k < n; ++k) whole[k] = std::floor(p[k]);
  }
  for (int k = 0; k < n; ++k) {
    // What lies further out, or is not a number, meets no element.
    const bool near = p[k] > T(-2) && p[k] < static_cast<T>(end + 1);
    whole[k] = near ? whole[k] : T(-2);
    p[k] = near ? p[k] - whole[k] : T(0);
  }
  for (int k = 0; k < n; ++k) {
    const auto i = static_cast<int32_t>(whole[k]);
    const int32_t next = i + 1;
    has_low[k] = -static_cast<int32_t>((i >= 0) & (i < end));
    has_high[k] = -static_cast<int32_t>((next >= 0) & (next < end));
    const int32_t above = i > 0 ? i : 0, next_above = next > 0 ? next : 0;
    low[k] = above < end ? above : end - 1;
    high[k] = next_above < end ? next_above : end - 1;
  }
}

template <class T>
void Planar<T>::find(const T* grid, int n) {
  x_.find(grid, n, width_, mode_);
  y_.find(grid + 1, n, height_, mode_);
  const auto width = static_cast<int32_t>(width_);
  for (int k = 0; k < n; ++k) {
    index_[0][k] = y_.low[k] * width + x_.low[k];
    has_[0][k] = y_.has_low[k] & x_.has_low[k];
  }
  if (mode_.nearest) return;
  for (int k = 0; k < n; ++k) {
    index_[1][k] = y_.low[k] * width + x_.high[k];
    index_[2][k] = y_.high[k] * width + x_.low[k];
    index_[3][k] = y_.high[k] * width + x_.high[k];
    has_[1][k] = y_.has_low[k] & x_.has_high[k];
    has_[2][k] = y_.has_high[k] & x_.has_low[k];
    has_[3][k] = y_.has_high[k] & x_.has_high[k];
  }
  for (int k = 0; k < n; ++k) {
    const T x = x_.part[k], y = y_.part[k];
    weight_[0][k] = (1 - x) * (1 - y);
    weight_[1][k] = x * (1 - y);
    weight_[2][k] = (1 - x) * y;
    weight_[3][k] = x * y;
  }
  for (int t = 0; t < kTaps; ++t)
    for (int k = 0; k < n; ++k) weight_[t][k] = masked(weight_[t][k], has_[t][k]);
}

template <class T>
bool Planar<T>::finite(const T* plane) const {
  T sum = 0;  // 0 or nan
  T lane[16] = {};
  const int64_t n = height_ * width_;
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int l = 0; l < 16; ++l) lane[l] += plane[i + l] * 0;
  for (; i < n; ++i) sum += plane[i] * 0;
  for (T v : lane) sum += v;
  return sum == 0;
}

template <class T>
void Planar<T>::sample(const T* plane, T* to, int n, bool finite) const {
  if (finite && !mode_.nearest) {
    for (int k = 0; k < n; ++k)
      to[k] = weight_[0][k] * plane[index_[0][k]] + weight_[1][k] * plane[index_[1][k]] +
              weight_[2][k] * plane[index_[2][k]] + weight_[3][k] * plane[index_[3][k]];
    return;
  }
  if (mode_.nearest) {
    for (int k = 0; k < n; ++k) to[k] = masked(plane[index_[0][k]], has_[0][k]);
    return;
  }
  for (int k = 0; k < n; ++k)
    to[k] = weight_[0][k] * masked(plane[index_[0][k]], has_[0][k]) +
            weight_[1][k] * masked(plane[index_[1][k]], has_[1][k]) +
            weight_[2][k] * masked(plane[index_[2][k]], has_[2][k]) +
            weight_[3][k] * masked(plane[index_[3][k]], has_[3][k]);
}

template <class T>
void Planar<T>::scatter(const T* dy, T* plane, int n) const {
  for (int k = 0; k < n; ++k) {
    if (mode_.nearest) {
      plane[index_[0][k]] += masked(dy[k], has_[0][k]);
      continue;
    }
    for (int t = 0; t < kTaps; ++t)
      plane[index_[t][k]] += masked(dy[k] * weight_[t][k], has_[t][k]);
  }
}

template <class T>
void Planar<T>::slopes(const T* plane, const T* dy, T* by_x, T* by_y, int n) const {
  if (mode_.nearest) return;
  for (int k = 0; k < n; ++k) {
    const T a = masked(plane[index_[0][k]], has_[0][k]),
            b = masked(plane[index_[1][k]], has_[1][k]),
            c = masked(plane[index_[2][k]], has_[2][k]),
            d = masked(plane[index_[3][k]], has_[3][k]);
    const T x = x_.part[k], y = y_.part[k];
    by_x[k] += dy[k] * ((b - a) * (1 - y) + (d - c) * y);
    by_y[k] += dy[k] * ((c - a) * (1 - x) + (d - b) * x);
  }
}

template <class T>
void Planar<T>::rates(const T* by_x, const T* by_y, T* to, int n) const {
  for (int k = 0; k < n; ++k) {
    to[2 * k] = by_x[k] * x_.rate[k];
    to[2 * k + 1] = by_y[k] * y_.rate[k];
  }
}

template class Planar<float>;
template class Planar<double>;

}  // namespace argosy::cpu

#include "argosy/kernels/cpu/interp.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/gemm_blas.h"
#include "argosy/kernels/cpu/items.h"
#include "argosy/kernels/cpu/scratch.h"

// Every mode is separable: one pass for each spatial dim, in which an output is a weighted sum of
// a few inputs along that dim. The gradient runs the passes' transposes in reverse order.
namespace argosy::cpu {
namespace {

// Output k of a dim is the sum of weight[k * taps + t] times input index[k * taps + t].
struct Axis {
  int64_t in, out;
  int taps;
  std::vector<int64_t> index;
  std::vector<float> weight;
};

float cubic_near(float t) {
  constexpr float a = -0.75f;
  return ((a + 2) * t - (a + 3)) * t * t + 1;
}
float cubic_far(float t) {
  constexpr float a = -0.75f;
  return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
}

float triangle(float t) {
  return std::max(0.0f, 1 - std::abs(t));
}
float cubic_half(float t) {
  constexpr float a = -0.5f;
  t = std::abs(t);
  if (t >= 2) return 0;
  return t < 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : (((t - 5) * t + 8) * t - 4) * a;
}

Axis make_antialias_axis(InterpMode mode, const InterpShape& s, int d, float ratio) {
  const bool cubic = mode == InterpMode::cubic;
  const float stretch = std::max(1.0f, ratio), support = (cubic ? 2.0f : 1.0f) * stretch;
  Axis axis{s.in[d], s.out[d], 2 * static_cast<int>(std::ceil(support)) + 1, {}, {}};
  for (int64_t k = 0; k < s.out[d]; ++k) {
    const float centre = ratio * (static_cast<float>(k) + 0.5f);
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(centre - support + 0.5f));
    const int64_t end = std::min(s.in[d], static_cast<int64_t>(centre + support + 0.5f));
    const size_t row = axis.weight.size();
    float sum = 0;
    for (int t = 0; t < axis.taps; ++t) {
      const int64_t at = first + t;
      float w = 0;
      if (at < end) {
        const float distance = (static_cast<float>(at) - centre + 0.5f) / stretch;
        w = cubic ? cubic_half(distance) : triangle(distance);
      }
      axis.index.push_back(std::min(at, s.in[d] - 1));
      axis.weight.push_back(w);
      sum += w;
    }
    for (size_t t = row; sum != 0 && t < axis.weight.size(); ++t) axis.weight[t] /= sum;
  }
  return axis;
}

Axis make_axis(InterpMode mode, const InterpShape& s, int d) {
  Axis axis{s.in[d],
            s.out[d],
            mode == InterpMode::nearest  ? 1
            : mode == InterpMode::linear ? 2
                                         : 4,
            {},
            {}};
  const float in = static_cast<float>(s.in[d]), out = static_cast<float>(s.out[d]);
  float ratio = 0;
  if (s.out[d] > 1) {
    ratio = s.align_corners  ? (in - 1) / (out - 1)
            : s.scale[d] > 0 ? 1 / static_cast<float>(s.scale[d])
                             : in / out;
  }
  if (s.antialias && mode != InterpMode::nearest) return make_antialias_axis(mode, s, d, ratio);
  bool half = !s.align_corners &&
              (mode == InterpMode::cubic || (mode == InterpMode::linear && s.half_pixel));
  const int64_t last = s.in[d] - 1;
  auto add = [&](int64_t at, float weight) {
    axis.index.push_back(std::clamp<int64_t>(at, 0, last));
    axis.weight.push_back(weight);
  };
  for (int64_t k = 0; k < s.out[d]; ++k) {
    const float position = static_cast<float>(k);
    float source = half ? ratio * (position + 0.5f) - 0.5f : ratio * position;
    if (mode == InterpMode::nearest) {
      add(static_cast<int64_t>(s.align_corners ? source + 0.5f : source), 1);
    } else if (mode == InterpMode::linear) {
      source = std::max(source, 0.0f);
      auto at = std::min(static_cast<int64_t>(source), last);
      float part = source - static_cast<float>(at);
      add(at, 1 - part);
      add(at + 1, part);
    } else {
      float floor = std::floor(source), t = source - floor;
      auto at = static_cast<int64_t>(floor);
      add(at - 1, cubic_far(t + 1));
      add(at, cubic_near(t));
      add(at + 1, cubic_near(1 - t));
      add(at + 2, cubic_far(2 - t));
    }
  }
  return axis;
}

// One output of a pass, of `inner` elements. kTaps 0: any.
template <int kTaps, class T>
void weigh(const Axis& axis, size_t at, int64_t inner, const T* x, T* y) {
  const int taps = kTaps ? kTaps : axis.taps;
  const int64_t* index = &axis.index[at * static_cast<size_t>(taps)];
  const float* weight = &axis.weight[at * static_cast<size_t>(taps)];
  if (inner == 1) {
    T sum = static_cast<T>(weight[0]) * x[index[0]];
    for (int t = 1; t < taps; ++t) sum += static_cast<T>(weight[t]) * x[index[t]];
    *y = sum;
  } else if (kTaps == 2) {
    const T *first = x + index[0] * inner, *second = x + index[1] * inner;
    const T a = static_cast<T>(weight[0]), b = static_cast<T>(weight[1]);
    for (int64_t i = 0; i < inner; ++i) y[i] = a * first[i] + b * second[i];
  } else {
    for (int t = 0; t < taps; ++t) {
      const T* from = x + index[t] * inner;
      const T w = static_cast<T>(weight[t]);
      if (t == 0)
        for (int64_t i = 0; i < inner; ++i) y[i] = w * from[i];
      else
        for (int64_t i = 0; i < inner; ++i) y[i] += w * from[i];
    }
  }
}

// [outer, in, inner] to [outer, out, inner].
template <int kTaps, class T>
void pass_of(const Axis& axis, int64_t outer, int64_t inner, const T* x, T* y) {
  const auto out = static_cast<size_t>(axis.out);
  for (int64_t o = 0; o < outer; ++o, x += axis.in * inner) {
    if (inner == 1) {
      for (size_t k = 0; k < out; ++k) weigh<kTaps>(axis, k, 1, x, y++);
      continue;
    }
    for (size_t k = 0; k < out; ++k, y += inner) weigh<kTaps>(axis, k, inner, x, y);
  }
}
template <class T>
void pass(const Axis& axis, int64_t outer, int64_t inner, const T* x, T* y) {
  (axis.taps == 2 ? pass_of<2, T> : pass_of<0, T>)(axis, outer, inner, x, y);
}

template <class T>
void pass_transposed(const Axis& axis, int64_t outer, int64_t inner, const T* dy, T* dx) {
  std::fill(dx, dx + outer * axis.in * inner, T(0));
  const auto taps = static_cast<size_t>(axis.taps), count = static_cast<size_t>(axis.out) * taps;
  for (int64_t o = 0; o < outer; ++o, dx += axis.in * inner) {
    if (inner == 1) {
      for (size_t at = 0; at < count; at += taps, ++dy)
        for (size_t t = 0; t < taps; ++t)
          dx[axis.index[at + t]] += static_cast<T>(axis.weight[at + t]) * *dy;
      continue;
    }
    for (size_t at = 0; at < count; at += taps, dy += inner)
      for (size_t t = 0; t < taps; ++t) {
        T* to = dx + axis.index[at + t] * inner;
        const T w = static_cast<T>(axis.weight[at + t]);
        for (int64_t i = 0; i < inner; ++i) to[i] += w * dy[i];
      }
  }
}

// A plane, or an image with its channels last; all passes over one.
class Resizer {
 public:
  Resizer(InterpMode mode, const InterpShape& s) : lanes_(s.channels_last ? s.channels : 1) {
    bool same = true;
    for (int d = 0; d < s.dims; ++d) {
      in_ *= s.in[d];
      out_ *= s.out[d];
      same = same && s.in[d] == s.out[d];
    }
    in_ *= lanes_;
    out_ *= lanes_;
    parts_ = s.channels_last ? s.batch : s.batch * s.channels;
    for (int d = 0; d < s.dims && !same; ++d) axes_.push_back(make_axis(mode, s, d));
    most_ = in_;
    int64_t size = in_;
    for (size_t d = axes_.size(); d-- > 0;) {
      size = size / axes_[d].in * axes_[d].out;
      most_ = std::max(most_, size);
    }
  }
  bool is_copy() const { return axes_.empty(); }
  int64_t parts() const { return parts_; }
  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  int64_t lanes() const { return lanes_; }
  const std::vector<Axis>& axes() const { return axes_; }
  int64_t grain() const { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, in_ + out_)); }

  template <class T>
  void forward(const T* x, T* y) const {
    Scratch scratch(static_cast<size_t>(2 * most_) * sizeof(T));
    T* buffers[] = {scratch.as<T>(), scratch.as<T>(most_)};
    int64_t outer = 1, inner = lanes_;
    for (size_t d = 0; d + 1 < axes_.size(); ++d) outer *= axes_[d].in;
    for (size_t d = axes_.size(), step = 0; d-- > 0; ++step) {
      T* to = d == 0 ? y : buffers[step % 2];
      pass(axes_[d], outer, inner, x, to);
      inner *= axes_[d].out;
      if (d > 0) outer /= axes_[d - 1].in;
      x = to;
    }
  }

  template <class T>
  void backward(const T* dy, T* dx) const {
    Scratch scratch(static_cast<size_t>(2 * most_) * sizeof(T));
    T* buffers[] = {scratch.as<T>(), scratch.as<T>(most_)};
    int64_t outer = 1, inner = out_;
    for (size_t d = 0; d < axes_.size(); ++d) {
      inner /= axes_[d].out;
      T* to = d + 1 == axes_.size() ? dx : buffers[d % 2];
      pass_transposed(axes_[d], outer, inner, dy, to);
      outer *= axes_[d].in;
      dy = to;
    }
  }

 private:
  int64_t lanes_, parts_, in_ = 1, out_ = 1;
  int64_t most_;  // elements of the largest stage
  std::vector<Axis> axes_;
};

template <class T>
void nearest(const Resizer& r, const T* x, T* y) {
  const auto& axes = r.axes();
  const Axis one{1, 1, 1, {0}, {1}};
  const Axis& last = axes.back();
  const Axis& middle = axes.size() > 1 ? axes[axes.size() - 2] : one;
  const Axis& first = axes.size() > 2 ? axes[0] : one;
  for (int64_t z : first.index)
    for (int64_t row : middle.index) {
      const T* from = x + (z * middle.in + row) * last.in * r.lanes();
      for (int64_t column : last.index) {
        if (r.lanes() == 1)
          *y = from[column];
        else
          std::memcpy(y, from + column * r.lanes(), static_cast<size_t>(r.lanes()) * sizeof(T));
        y += r.lanes();
      }
    }
}

void nearest_part(const Resizer& r, int item, const char* x, char* y) {
  with_item(item, [&]<class T>(T) {
    nearest(r, reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y));
  });
}

// Calls part(from, to) with float or double pointers; 16-bit floats go through float32 copies.
template <class Part>
void for_parts(DType dtype, const Resizer& r, const void* from, int64_t from_size, void* to,
               int64_t to_size, Part&& part) {
  parallel_for(r.parts(), r.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (dtype == DType::float64) {
        part(static_cast<const double*>(from) + i * from_size,
             static_cast<double*>(to) + i * to_size);
      } else if (dtype == DType::float32) {
        part(static_cast<const float*>(from) + i * from_size,
             static_cast<float*>(to) + i * to_size);
      } else {
        Scratch scratch(static_cast<size_t>(from_size + to_size) * sizeof(float));
        float *a = scratch.as<float>(), *b = a + from_size;
        half_to_float(dtype, static_cast<const char*>(from) + 2 * i * from_size, a, from_size);
        part(static_cast<const float*>(a), b);
        float_to_half(dtype, b, static_cast<char*>(to) + 2 * i * to_size, to_size);
      }
    }
  });
}

void check(DType dtype) {
  ARGOSY_CHECK(kFloating.has(dtype), type)
      << "[interpolate] has no kernel for " << dtype
      << ": expected float16, bfloat16, float32 or float64. Do this: cast the input first, or use "
         "mode 'nearest'.";
}

}  // namespace

void interp(DType dtype, InterpMode mode, const InterpShape& shape, const void* x, void* y) {
  if (mode != InterpMode::nearest) check(dtype);
  Resizer r(mode, shape);
  if (r.parts() == 0 || r.out() == 0) return;
  int item = item_size(dtype);
  if (r.is_copy()) {
    std::memcpy(y, x, static_cast<size_t>(r.parts() * r.in() * item));
    return;
  }
  if (mode == InterpMode::nearest) {
    return parallel_for(r.parts(), r.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        nearest_part(r, item, static_cast<const char*>(x) + i * r.in() * item,
                     static_cast<char*>(y) + i * r.out() * item);
    });
  }
  for_parts(dtype, r, x, r.in(), y, r.out(),
            [&]<class T>(const T* from, T* to) { r.forward(from, to); });
}

void interp_backward(DType dtype, InterpMode mode, const InterpShape& shape, const void* dy,
                     void* dx) {
  check(dtype);
  Resizer r(mode, shape);
  if (r.parts() == 0 || r.in() == 0) return;
  if (r.is_copy()) {
    std::memcpy(dx, dy, static_cast<size_t>(r.parts() * r.in() * item_size(dtype)));
    return;
  }
  for_parts(dtype, r, dy, r.out(), dx, r.in(),
            [&]<class T>(const T* from, T* to) { r.backward(from, to); });
}

}  // namespace argosy::cpu

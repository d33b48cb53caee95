#include "argosy/kernels/cpu/pool.h"

#include <algorithm>
#include <cmath>

#include "argosy/base/error.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/gemm_blas.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/reduce.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/kernels/cpu/simd/pool.h"

namespace argosy::cpu {
namespace {

// Planes, or images with their channels last, one after the other.
struct PoolLayout {
  explicit PoolLayout(const PoolShape& s) {
    windows.lanes = s.channels_last ? s.channels : 1;
    windows.adaptive = s.adaptive;
    windows.exclusive = true;
    windows.divisor = 0;
    windows.plain_sum = false;
    for (int d = 0; d < 3; ++d) {
      windows.in[d] = windows.out[d] = windows.kernel[d] = windows.stride[d] = 1;
      windows.pad[d] = 0;
    }
    bool even = true;
    for (int d = 0; d < s.dims; ++d) {
      int at = 3 - s.dims + d;
      windows.in[at] = s.in[d];
      windows.out[at] = s.out[d];
      windows.kernel[at] = s.kernel[d];
      windows.stride[at] = s.stride[d];
      windows.pad[at] = s.pad[d];
      in *= s.in[d];
      out *= s.out[d];
      even = even && s.out[d] > 0 && s.in[d] % s.out[d] == 0;
    }
    if (s.adaptive && even) {
      windows.adaptive = false;
      for (int d = 0; d < 3; ++d) {
        windows.kernel[d] = windows.stride[d] = windows.in[d] / windows.out[d];
        windows.pad[d] = 0;
      }
    }
    parts = s.channels_last ? s.batch : s.batch * s.channels;
    in *= windows.lanes;
    out *= windows.lanes;
    double taps = 1;
    for (int64_t k : windows.kernel) taps *= static_cast<double>(k);
    if (windows.adaptive) taps = static_cast<double>(in) / std::max(1.0, static_cast<double>(out));
    work = static_cast<double>(in) + static_cast<double>(out) * taps;
    grain = at_least(30000 / std::max(work, 1.0));
    windows.first_row = 0;
    windows.last_row = windows.out[1];
  }
  static int64_t at_least(double n) { return std::max<int64_t>(1, static_cast<int64_t>(n)); }
  bool empty() const { return parts == 0 || out == 0; }
  // One window, which is all of a plane.
  bool is_global() const {
    bool all = !windows.adaptive && out == windows.lanes;
    for (int d = 0; d < 3; ++d) all &= windows.kernel[d] == windows.in[d] && windows.pad[d] == 0;
    return all;
  }

  PoolWindows windows;
  int64_t parts;
  int64_t in = 1, out = 1;  // elements of a part
  double work;              // of a part
  int64_t grain;            // parts
};

void check(DType dtype, const char* op) {
  ARGOSY_CHECK(kFloating.has(dtype), type)
      << '[' << op << "] has no kernel for " << dtype
      << ": expected float16, bfloat16, float32 or float64. Do this: cast the input first.";
}

bool wide() {
  return isa() == Isa::avx512;
}

template <class T>
void max_part(const PoolWindows& w, const T* x, T* y, int32_t* indices) {
  wide() ? avx512::pool_max(w, x, y, indices) : avx2::pool_max(w, x, y, indices);
}
template <class T>
void average_part(const PoolWindows& w, const T* x, T* y) {
  wide() ? avx512::pool_average(w, x, y) : avx2::pool_average(w, x, y);
}
template <class T>
void average_backward_part(const PoolWindows& w, const T* dy, T* dx) {
  wide() ? avx512::pool_average_backward(w, dy, dx) : avx2::pool_average_backward(w, dy, dx);
}

// Calls part(index, from, to) for each part with pointers to float or double; 16-bit floats go
// through float32 copies.
template <class Part>
void for_parts(DType dtype, const PoolLayout& l, const void* from, int64_t from_size, void* to,
               int64_t to_size, Part&& part) {
  parallel_for(l.parts, l.grain, [&](int64_t begin, int64_t end) {
    if (dtype == DType::float64) {
      for (int64_t i = begin; i < end; ++i)
        part(i, static_cast<const double*>(from) + i * from_size,
             static_cast<double*>(to) + i * to_size);
    } else if (dtype == DType::float32) {
      for (int64_t i = begin; i < end; ++i)
        part(i, static_cast<const float*>(from) + i * from_size,
             static_cast<float*>(to) + i * to_size);
    } else {
      Scratch scratch(static_cast<size_t>(from_size + to_size) * sizeof(float));
      float *a = scratch.as<float>(), *b = a + from_size;
      for (int64_t i = begin; i < end; ++i) {
        half_to_float(dtype, static_cast<const char*>(from) + 2 * i * from_size, a, from_size);
        part(i, static_cast<const float*>(a), b);
        float_to_half(dtype, b, static_cast<char*>(to) + 2 * i * to_size, to_size);
      }
    }
  });
}

// Calls rows(windows, x, y, place of y) for images with channels last in float or double, whose
// rows of windows are cut into tasks: few images would keep few threads busy. False for others.
template <class Rows>
bool for_image_rows(DType dtype, const PoolLayout& l, const void* x, void* y, Rows&& rows) {
  const PoolWindows& w = l.windows;
  if (w.lanes == 1 || w.out[0] != 1 || item_size(dtype) == 2) return false;
  const int64_t height = w.out[1], of_row = l.out / height;
  auto run = [&]<class T>(const T* from, T* to, int64_t begin, int64_t end) {
    PoolWindows some = w;
    for (int64_t i = begin; i < end; i += some.last_row - some.first_row) {
      some.first_row = i % height;
      some.last_row = std::min(height, some.first_row + end - i);
      rows(some, from + i / height * l.in, to + i * of_row, i * of_row);
    }
  };
  const int64_t grain = PoolLayout::at_least(20000 * static_cast<double>(height) / l.work);
  parallel_for(l.parts * height, grain, [&](int64_t begin, int64_t end) {
    if (dtype == DType::float64)
      run(static_cast<const double*>(x), static_cast<double*>(y), begin, end);
    else
      run(static_cast<const float*>(x), static_cast<float*>(y), begin, end);
  });
  return true;
}

template <class T>
T power(T x, T p) {
  return p == 2 ? x * x : p == 1 ? x : std::pow(x, p);
}

// Reads elements of a 16-bit tensor as float too.
template <class T>
T at(DType dtype, const void* p, int64_t i) {
  if (dtype == DType::float16) return static_cast<const float16*>(p)[i];
  if (dtype == DType::bfloat16) return static_cast<const bfloat16*>(p)[i];
  return static_cast<const T*>(p)[i];
}

}  // namespace

void max_pool(DType dtype, const PoolShape& shape, const void* x, void* y, int32_t* indices) {
  check(dtype, "max_pool");
  PoolLayout l(shape);
  if (l.empty()) return;
  ARGOSY_CHECK(l.in / l.windows.lanes <= INT32_MAX, invalid_argument)
      << "[max_pool] a plane of " << l.in / l.windows.lanes
      << " elements is more than its int32 indices can name (2147483647).";
  if (for_image_rows(dtype, l, x, y,
                     [&]<class T>(const PoolWindows& w, const T* from, T* to, int64_t at) {
                       max_part(w, from, to, indices ? indices + at : nullptr);
                     }))
    return;
  for_parts(dtype, l, x, l.in, y, l.out, [&]<class T>(int64_t i, const T* from, T* to) {
    max_part(l.windows, from, to, indices ? indices + i * l.out : nullptr);
  });
}

void max_pool_backward(DType dtype, const PoolShape& shape, const void* dy, const int32_t* indices,
                       void* dx) {
  check(dtype, "max_pool");
  PoolLayout l(shape);
  if (l.parts == 0 || l.in == 0) return;
  int64_t lanes = l.windows.lanes;
  for_parts(dtype, l, dy, l.out, dx, l.in, [&]<class T>(int64_t i, const T* from, T* to) {
    std::fill(to, to + l.in, T(0));
    const int32_t* index = indices + i * l.out;
    if (lanes == 1) {
      for (int64_t o = 0; o < l.out; ++o) to[index[o]] += from[o];
      return;
    }
    for (int64_t o = 0; o < l.out; o += lanes)
      for (int64_t c = 0; c < lanes; ++c) to[index[o + c] * lanes + c] += from[o + c];
  });
}

void avg_pool(DType dtype, const PoolShape& shape, AverageDivisor divisor, const void* x, void* y) {
  check(dtype, "avg_pool");
  PoolLayout l(shape);
  if (l.empty()) return;
  if (divisor.fixed == 0 && l.is_global()) {
    const int64_t lanes = l.windows.lanes, sizes[] = {l.parts, l.in / lanes, lanes};
    const int64_t strides[] = {l.in, lanes, 1};
    return reduce(Reduce::mean, dtype, x, sizes, strides, 1u << 1, y);
  }
  l.windows.exclusive = divisor.exclusive;
  l.windows.divisor = divisor.fixed;
  if (for_image_rows(dtype, l, x, y,
                     [&]<class T>(const PoolWindows& w, const T* from, T* to, int64_t) {
                       average_part(w, from, to);
                     }))
    return;
  for_parts(dtype, l, x, l.in, y, l.out,
            [&]<class T>(int64_t, const T* from, T* to) { average_part(l.windows, from, to); });
}

void avg_pool_backward(DType dtype, const PoolShape& shape, AverageDivisor divisor, const void* dy,
                       void* dx) {
  check(dtype, "avg_pool");
  PoolLayout l(shape);
  if (l.parts == 0 || l.in == 0) return;
  l.windows.exclusive = divisor.exclusive;
  l.windows.divisor = divisor.fixed;
  for_parts(dtype, l, dy, l.out, dx, l.in, [&]<class T>(int64_t, const T* from, T* to) {
    std::fill(to, to + l.in, T(0));
    average_backward_part(l.windows, from, to);
  });
}

void lp_pool(DType dtype, const PoolShape& shape, double p, const void* x, void* y) {
  check(dtype, "lp_pool");
  PoolLayout l(shape);
  if (l.empty()) return;
  l.windows.plain_sum = true;
  for_parts(dtype, l, x, l.in, y, l.out, [&]<class T>(int64_t, const T* from, T* to) {
    Scratch scratch(static_cast<size_t>(l.in) * sizeof(T));
    T* powers = scratch.as<T>();
    for (int64_t i = 0; i < l.in; ++i) powers[i] = power(from[i], T(p));
    average_part(l.windows, static_cast<const T*>(powers), to);
    for (int64_t i = 0; i < l.out; ++i) to[i] = p == 2 ? std::sqrt(to[i]) : power(to[i], T(1 / p));
  });
}

// dx = x^(p-1) * sum over windows of dy * y^(1-p).
void lp_pool_backward(DType dtype, const PoolShape& shape, double p, const void* x, const void* y,
                      const void* dy, void* dx) {
  check(dtype, "lp_pool");
  PoolLayout l(shape);
  if (l.parts == 0 || l.in == 0) return;
  l.windows.plain_sum = true;
  for_parts(dtype, l, dy, l.out, dx, l.in, [&]<class T>(int64_t part, const T* from, T* to) {
    Scratch scratch(static_cast<size_t>(l.out) * sizeof(T));
    T* scaled = scratch.as<T>();
    for (int64_t i = 0; i < l.out; ++i) {
      T v = at<T>(dtype, y, part * l.out + i);
      scaled[i] = v == 0 ? T(0) : from[i] * power(v, T(1 - p));
    }
    std::fill(to, to + l.in, T(0));
    average_backward_part(l.windows, static_cast<const T*>(scaled), to);
    for (int64_t i = 0; i < l.in; ++i) {
      T v = at<T>(dtype, x, part * l.in + i);
      to[i] *= p == 1 ? T(1) : power(v, T(p - 1));
    }
  });
}

}  // namespace argosy::cpu

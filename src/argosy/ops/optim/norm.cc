#include "argosy/ops/optim/norm.h"

#include <algorithm>
#include <vector>

#include "argosy/base/parallel.h"

namespace argosy::ops::optim {
namespace {

constexpr int64_t kChunk = 16 * 1024;

template <class T>
double sum_range(const T* x, int64_t n) {
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) {
      const double v = static_cast<double>(x[i + k]);
      lanes[k] += v * v;
    }
  double sum = 0;
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  for (double lane : lanes) sum += lane;
  return sum;
}

template <>
double sum_range(const float16* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<float>(x[i]);
    sum += v * v;
  }
  return sum;
}
template <>
double sum_range(const bfloat16* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<float>(x[i]);
    sum += v * v;
  }
  return sum;
}

}  // namespace

double sum_of_squares(const Tensor& x) {
  const int64_t n = x.numel();
  double sum = 0;
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    const T* data = x.data<T>();
    if (n <= kChunk) {
      sum = sum_range(data, n);
      return;
    }
    std::vector<double> parts(static_cast<size_t>((n + kChunk - 1) / kChunk));
    parallel_for(n, kChunk, [&](int64_t begin, int64_t end) {
      parts[static_cast<size_t>(begin / kChunk)] = sum_range(data + begin, end - begin);
    });
    for (double part : parts) sum += part;
  });
  return sum;
}

}  // namespace argosy::ops::optim

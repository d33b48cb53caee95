#pragma once

#include "argosy/kernels/cpu/simd/exp.h"
#include "argosy/kernels/cpu/simd/rows.h"
#include "argosy/kernels/cpu/simd/vector.h"

// Kernels of rows with exponentials, for the two files that instantiate them: for every dtype, and
// for vectors of double.
namespace argosy::cpu::ARGOSY_ISA {
namespace {

template <class T>
ARGOSY_INLINE T* scratch_row(void* scratch, int64_t n, int i) {
  return static_cast<T*>(scratch) + i * n;
}

template <class T>
ARGOSY_INLINE double sum_of(const T* x, int64_t n) {
  return sum_all<T>(
      n, [x](int64_t i) { return load(x + i); }, [x](int64_t i) { return x[i]; });
}

constexpr int64_t kBlock = 1024;

// y = exp(x - shift); returns the sum. Blocks are summed while they are in the cache.
template <class T>
double exp_row(const T* x, T* y, int64_t n, T shift) {
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t m = n - begin < kBlock ? n - begin : kBlock;
    const T* in = x + begin;
    T* out = y + begin;
#pragma GCC ivdep
    for (int64_t i = 0; i < m; ++i) out[i] = exp_or_zero(in[i] - shift);
    sum += sum_of(out, m);
  }
  return sum;
}
template <class T>
double exp_sum(const T* x, int64_t n, T shift) {
  T block[kBlock];
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t m = n - begin < kBlock ? n - begin : kBlock;
    sum += exp_row(x + begin, block, m, shift);
  }
  return sum;
}

template <class T>
ARGOSY_INLINE void scale_row(const T* x, T* y, int64_t n, T factor) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

template <class S>
void softmax_row(const void* in, void* out, int64_t n, void* scratch) {
  using T = Computed<S>;
  const T* x = row_of<S>(in, n, scratch_row<T>(scratch, n, 0));
  T* y = target_of<S>(out, scratch_row<T>(scratch, n, 0));
  const T high = combine_all<Max, T>(x, n);
  const double sum = exp_row(x, y, n, high);
  scale_row(y, y, n, static_cast<T>(1 / sum));
  put<S>(y, out, n);
}

template <class S>
void log_softmax_row(const void* in, void* out, int64_t n, void* scratch) {
  using T = Computed<S>;
  const T* x = row_of<S>(in, n, scratch_row<T>(scratch, n, 0));
  T* y = target_of<S>(out, scratch_row<T>(scratch, n, 0));
  const T high = combine_all<Max, T>(x, n);
  const T log_sum = static_cast<T>(__builtin_log(exp_sum(x, n, high)));
  // In this order: high may be far greater than log_sum.
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - high - log_sum;
  put<S>(y, out, n);
}

template <class S>
void softmax_grad_row(const void* y_in, const void* dy_in, void* out, int64_t n, void* scratch) {
  using T = Computed<S>;
  const T* y = row_of<S>(y_in, n, scratch_row<T>(scratch, n, 0));
  const T* dy = row_of<S>(dy_in, n, scratch_row<T>(scratch, n, 1));
  T* dx = target_of<S>(out, scratch_row<T>(scratch, n, 2));
  const T dot = static_cast<T>(sum_all<T>(
      n, [=](int64_t i) { return load(y + i) * load(dy + i); },
      [=](int64_t i) { return y[i] * dy[i]; }));
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
  put<S>(dx, out, n);
}

template <class S>
void log_softmax_grad_row(const void* y_in, const void* dy_in, void* out, int64_t n,
                          void* scratch) {
  using T = Computed<S>;
  const T* y = row_of<S>(y_in, n, scratch_row<T>(scratch, n, 0));
  const T* dy = row_of<S>(dy_in, n, scratch_row<T>(scratch, n, 1));
  T* dx = target_of<S>(out, scratch_row<T>(scratch, n, 2));
  const T sum = static_cast<T>(sum_of(dy, n));
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] - exp_of(y[i]) * sum;
  put<S>(dx, out, n);
}

template <class S>
double loss_row(const void* in, int64_t label, void* out, int64_t n, void* scratch) {
  using T = Computed<S>;
  const T* x = row_of<S>(in, n, scratch_row<T>(scratch, n, 0));
  const T high = combine_all<Max, T>(x, n);
  const double at_label = label >= 0 ? static_cast<double>(x[label]) : 0.0;
  double sum;
  if (out) {
    T* y = target_of<S>(out, scratch_row<T>(scratch, n, 1));
    sum = exp_row(x, y, n, high);
    scale_row(y, y, n, static_cast<T>(1 / sum));
    put<S>(y, out, n);
  } else {
    sum = exp_sum(x, n, high);
  }
  return __builtin_log(sum) + (static_cast<double>(high) - at_label);
}

ARGOSY_INLINE double log_of_sum(float, double sum) {
  return log_core(sum);
}
ARGOSY_INLINE double log_of_sum(double, double sum) {
  return log_of(sum);
}

template <class T>
void loss_columns(const void* in, int64_t stride, void* out, int64_t n, int64_t width,
                  double* base) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  T high[kLossColumns];
  double sum[kLossColumns];
  for (int64_t j = 0; j < width; ++j) high[j] = x[j], sum[j] = 0;
  for (int64_t k = 1; k < n; ++k) {
    const T* row = x + k * stride;
    for (int64_t j = 0; j < width; ++j) high[j] = Max::run(high[j], row[j]);
  }
  for (int64_t k = 0; k < n; ++k) {
    const T* row = x + k * stride;
    T* to = y + k * width;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) to[j] = exp_or_zero(row[j] - high[j]);
    for (int64_t j = 0; j < width; ++j) sum[j] += static_cast<double>(to[j]);
  }
  for (int64_t j = 0; j < width; ++j) {
    base[j] = log_of_sum(T{}, sum[j]) + static_cast<double>(high[j]);
    high[j] = static_cast<T>(1 / sum[j]);
  }
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t j = 0; j < width; ++j) y[k * width + j] *= high[j];
  }
}

template <class S>
void loss_grad_row(const void* in, int64_t label, double scale, void* out, int64_t n,
                   void* scratch) {
  using T = Computed<S>;
  const T* y = row_of<S>(in, n, scratch_row<T>(scratch, n, 0));
  T* dx = target_of<S>(out, scratch_row<T>(scratch, n, 0));
  scale_row(y, dx, n, static_cast<T>(scale));
  dx[label] -= static_cast<T>(scale);
  put<S>(dx, out, n);
}

}  // namespace
}  // namespace argosy::cpu::ARGOSY_ISA

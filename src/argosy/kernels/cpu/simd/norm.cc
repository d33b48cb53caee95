#include "argosy/kernels/cpu/simd/rows.h"
#include "argosy/kernels/cpu/simd/vector.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

constexpr int64_t kBlock = 512;

template <class S>
void norm_row(const void* in, const void* gamma_in, const void* beta_in, void* out, int64_t n,
              double epsilon, bool rms, double* mean_out, double* rstd_out, void* scratch) {
  using T = Computed<S>;
  T* room = static_cast<T*>(scratch);
  const T* x = row_of<S>(in, n, room);
  T* y = target_of<S>(out, room);
  const T* gamma = static_cast<const T*>(gamma_in);
  const T* beta = static_cast<const T*>(beta_in);
  const double count = static_cast<double>(n);
  const double mean =
      rms ? 0
          : sum_all<T>(
                n, [=](int64_t i) { return load(x + i); }, [=](int64_t i) { return x[i]; }) /
                count;
  const T m = static_cast<T>(mean);
  const Vector<T> mv = splat(m);
  double squares = sum_all<T>(
      n,
      [=](int64_t i) {
        Vector<T> d = load(x + i) - mv;
        return d * d;
      },
      [=](int64_t i) { return (x[i] - m) * (x[i] - m); });
  // What rounding the mean to T shifted.
  const double shift = mean - static_cast<double>(m);
  const double variance = squares / count - shift * shift;
  const double rstd =
      1 / __builtin_sqrt((variance > 0 || variance != variance ? variance : 0) + epsilon);
  *mean_out = mean;
  *rstd_out = rstd;
  const T r = static_cast<T>(rstd);
  if (gamma && beta) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r * gamma[i] + beta[i];
  } else if (gamma) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r * gamma[i];
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r;
    if (beta) {
      for (int64_t i = 0; i < n; ++i) y[i] += beta[i];
    }
  }
  put<S>(y, out, n);
}

// g = dy * gamma, h = (x - mean) * rstd: dx = rstd * (g - mean(g) - h * mean(g * h)).
template <class S>
void norm_row_grad(const void* x_in, const void* gamma_in, double mean, double rstd, bool rms,
                   const void* dy_in, void* out, void* dgamma_out, void* dbeta_out, int64_t n,
                   void* scratch) {
  using T = Computed<S>;
  T* room = static_cast<T*>(scratch);
  const T* x = row_of<S>(x_in, n, room);
  const T* dy = row_of<S>(dy_in, n, room + n);
  const T* gamma = static_cast<const T*>(gamma_in);
  const T m = static_cast<T>(mean), r = static_cast<T>(rstd);
  if (T* dgamma = static_cast<T*>(dgamma_out)) {
    for (int64_t i = 0; i < n; ++i) dgamma[i] += dy[i] * ((x[i] - m) * r);
  }
  if (T* dbeta = static_cast<T*>(dbeta_out)) {
    for (int64_t i = 0; i < n; ++i) dbeta[i] += dy[i];
  }
  if (!out) return;
  const Vector<T> mv = splat(m);
  double s1, s2;
  if (gamma) {
    s1 = rms ? 0
             : sum_all<T>(
                   n, [=](int64_t i) { return load(dy + i) * load(gamma + i); },
                   [=](int64_t i) { return dy[i] * gamma[i]; });
    s2 = sum_all<T>(
        n, [=](int64_t i) { return load(dy + i) * load(gamma + i) * (load(x + i) - mv); },
        [=](int64_t i) { return dy[i] * gamma[i] * (x[i] - m); });
  } else {
    s1 = rms ? 0
             : sum_all<T>(
                   n, [=](int64_t i) { return load(dy + i); }, [=](int64_t i) { return dy[i]; });
    s2 = sum_all<T>(
        n, [=](int64_t i) { return load(dy + i) * (load(x + i) - mv); },
        [=](int64_t i) { return dy[i] * (x[i] - m); });
  }
  const double count = static_cast<double>(n);
  const T a = static_cast<T>(s1 / count * rstd),
          b = static_cast<T>(s2 / count * rstd * rstd * rstd);
  T* dx = target_of<S>(out, room + 2 * n);
  if (gamma) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * gamma[i] * r - a - (x[i] - m) * b;
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * r - a - (x[i] - m) * b;
  }
  put<S>(dx, out, n);
}

template <class S>
ARGOSY_INLINE const char* at(const void* p, int64_t i) {
  return static_cast<const char*>(p) + i * sizeof(S);
}
template <class S>
ARGOSY_INLINE char* at(void* p, int64_t i) {
  return static_cast<char*>(p) + i * sizeof(S);
}

template <class S>
void affine(const void* in, void* out, int64_t n, double md, double ad, double bd) {
  using T = Computed<S>;
  const T m = static_cast<T>(md), a = static_cast<T>(ad), b = static_cast<T>(bd);
  T room[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t k = n - begin < kBlock ? n - begin : kBlock;
    const T* x = row_of<S>(at<S>(in, begin), k, room);
    T* y = target_of<S>(at<S>(out, begin), room);
#pragma GCC ivdep
    for (int64_t i = 0; i < k; ++i) y[i] = (x[i] - m) * a + b;
    put<S>(y, at<S>(out, begin), k);
  }
}

template <class S>
void affine_columns(const void* in, void* out, int64_t rows, int64_t width, const double* md,
                    const double* ad, const double* bd) {
  using T = Computed<S>;
  T m[kBlock], a[kBlock], b[kBlock], room[kBlock];
  for (int64_t c = 0; c < width; c += kBlock) {
    const int64_t k = width - c < kBlock ? width - c : kBlock;
    for (int64_t i = 0; i < k; ++i) {
      m[i] = static_cast<T>(md[c + i]);
      a[i] = static_cast<T>(ad[c + i]);
      b[i] = static_cast<T>(bd[c + i]);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const T* x = row_of<S>(at<S>(in, r * width + c), k, room);
      void* to = at<S>(out, r * width + c);
      T* y = target_of<S>(to, room);
#pragma GCC ivdep
      for (int64_t i = 0; i < k; ++i) y[i] = (x[i] - m[i]) * a[i] + b[i];
      put<S>(y, to, k);
    }
  }
}

template <class S>
void affine2(const void* x_in, const void* dy_in, void* out, int64_t n, double md, double d1,
             double d2, double d3) {
  using T = Computed<S>;
  const T m = static_cast<T>(md), c1 = static_cast<T>(d1), c2 = static_cast<T>(d2),
          c3 = static_cast<T>(d3);
  T room[2][kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t k = n - begin < kBlock ? n - begin : kBlock;
    const T* x = row_of<S>(at<S>(x_in, begin), k, room[0]);
    const T* dy = row_of<S>(at<S>(dy_in, begin), k, room[1]);
    T* dx = target_of<S>(at<S>(out, begin), room[0]);
#pragma GCC ivdep
    for (int64_t i = 0; i < k; ++i) dx[i] = c1 * dy[i] + c2 * (x[i] - m) + c3;
    put<S>(dx, at<S>(out, begin), k);
  }
}

template <class S>
void affine2_columns(const void* x_in, const void* dy_in, void* out, int64_t rows, int64_t width,
                     const double* md, const double* d1, const double* d2, const double* d3) {
  using T = Computed<S>;
  T m[kBlock], c1[kBlock], c2[kBlock], c3[kBlock], room[2][kBlock];
  for (int64_t c = 0; c < width; c += kBlock) {
    const int64_t k = width - c < kBlock ? width - c : kBlock;
    for (int64_t i = 0; i < k; ++i) {
      m[i] = static_cast<T>(md[c + i]);
      c1[i] = static_cast<T>(d1[c + i]);
      c2[i] = static_cast<T>(d2[c + i]);
      c3[i] = static_cast<T>(d3[c + i]);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const T* x = row_of<S>(at<S>(x_in, r * width + c), k, room[0]);
      const T* dy = row_of<S>(at<S>(dy_in, r * width + c), k, room[1]);
      void* to = at<S>(out, r * width + c);
      T* dx = target_of<S>(to, room[0]);
#pragma GCC ivdep
      for (int64_t i = 0; i < k; ++i) dx[i] = c1[i] * dy[i] + c2[i] * (x[i] - m[i]) + c3[i];
      put<S>(dx, to, k);
    }
  }
}

template <class S>
void pair(const void* x_in, const void* dy_in, int64_t n, double md, double* s1, double* s2) {
  using T = Computed<S>;
  const T m = static_cast<T>(md);
  const Vector<T> mv = splat(m);
  T room[2][kBlock];
  // Blocks only where 16-bit floats are to be widened.
  const int64_t block = std::is_same_v<S, T> ? n : kBlock;
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t k = n - begin < block ? n - begin : block;
    const T* x = row_of<S>(at<S>(x_in, begin), k, room[0]);
    const T* dy = row_of<S>(at<S>(dy_in, begin), k, room[1]);
    *s1 += sum_all<T>(
        k, [=](int64_t i) { return load(dy + i); }, [=](int64_t i) { return dy[i]; });
    *s2 += sum_all<T>(
        k, [=](int64_t i) { return load(dy + i) * (load(x + i) - mv); },
        [=](int64_t i) { return dy[i] * (x[i] - m); });
  }
}

template <class S>
void pair_columns(const void* x_in, const void* dy_in, int64_t rows, int64_t width,
                  const double* md, double* s1, double* s2) {
  using T = Computed<S>;
  constexpr int64_t kFlush = 64;
  T m[kBlock], a[kBlock], b[kBlock], room[2][kBlock];
  for (int64_t c = 0; c < width; c += kBlock) {
    const int64_t k = width - c < kBlock ? width - c : kBlock;
    for (int64_t i = 0; i < k; ++i) m[i] = static_cast<T>(md[c + i]);
    for (int64_t r0 = 0; r0 < rows; r0 += kFlush) {
      const int64_t r1 = rows - r0 < kFlush ? rows : r0 + kFlush;
      for (int64_t i = 0; i < k; ++i) a[i] = b[i] = 0;
      for (int64_t r = r0; r < r1; ++r) {
        const T* x = row_of<S>(at<S>(x_in, r * width + c), k, room[0]);
        const T* dy = row_of<S>(at<S>(dy_in, r * width + c), k, room[1]);
#pragma GCC ivdep
        for (int64_t i = 0; i < k; ++i) {
          a[i] += dy[i];
          b[i] += dy[i] * (x[i] - m[i]);
        }
      }
      for (int64_t i = 0; i < k; ++i) {
        s1[c + i] += static_cast<double>(a[i]);
        s2[c + i] += static_cast<double>(b[i]);
      }
    }
  }
}

#define ARGOSY_ROWS(f) \
  { f<float16>, f<bfloat16>, f<float>, f<double> }
constexpr NormKernels kKernels = {
    .row = ARGOSY_ROWS(norm_row),
    .row_grad = ARGOSY_ROWS(norm_row_grad),
    .affine = ARGOSY_ROWS(affine),
    .affine_columns = ARGOSY_ROWS(affine_columns),
    .affine2 = ARGOSY_ROWS(affine2),
    .affine2_columns = ARGOSY_ROWS(affine2_columns),
    .pair = ARGOSY_ROWS(pair),
    .pair_columns = ARGOSY_ROWS(pair_columns),
};
#undef ARGOSY_ROWS

}  // namespace

const NormKernels norm_kernels = kKernels;

}  // namespace argosy::cpu::ARGOSY_ISA

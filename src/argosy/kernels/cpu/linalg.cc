#include "argosy/kernels/cpu/linalg.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "argosy/base/error.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/linalg_lapack.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/kernels/cpu/simd/copy.h"

// LAPACK reads a row-major matrix as its transpose. Where the algebra allows, that is used (the
// Cholesky factor, the inverse, the SVD of a transpose give the wanted result as they lie);
// elsewhere a transposed copy is made, which costs little beside the factorization.
namespace argosy::cpu {
namespace {

using lapack::Real;

template <class F>
void dispatch(DType dtype, const char* op, F&& f) {
  bool known = dispatch_types<float, double, complex64, complex128>(dtype, f);
  ARGOSY_CHECK(known, type)
      << '[' << op << "] has no kernel for " << dtype
      << ": expected float32, float64, complex64 or complex128. Do this: cast "
         "the matrix first.";
}

int side(const char* op, int64_t n) {
  ARGOSY_CHECK(n <= 46340, not_implemented)
      << '[' << op << "] a side of " << n
      << " is more than LAPACK with 32-bit indices can address (46340).";
  return static_cast<int>(n);
}

// Chunks of matrices worth a thread's while. work: multiplications for each.
template <class F>
void for_matrices(int64_t batch, double work, F&& f) {
  int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(200e3 / std::max(work, 1.0)));
  parallel_for(batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

double cube(int64_t n) {
  double d = static_cast<double>(n);
  return d * d * d;
}

template <class T>
void transpose(int64_t rows, int64_t cols, const T* from, int64_t from_ld, T* to, int64_t to_ld) {
  transpose_kernel(sizeof(T))(to, to_ld, from, from_ld, rows, cols);
}

// Of a matrix with a side up to kSmall by columns, in place, as getrf does it: a library's checks
// cost more than the work there. The first column without a pivot from 1, or 0.
constexpr int kSmall = 8;
template <class T>
double pivot_size(T v) {
  if constexpr (std::is_floating_point_v<T>)
    return std::abs(v);
  else
    return std::abs(v.real()) + std::abs(v.imag());
}
template <class T>
int small_lu(int n, T* a, int* pivots) {
  int info = 0;
  for (int k = 0; k < n; ++k) {
    T* column = a + k * n;
    int best = k;
    for (int i = k + 1; i < n; ++i)
      if (pivot_size(column[i]) > pivot_size(column[best])) best = i;
    pivots[k] = best + 1;
    if (column[best] == T(0)) {
      if (info == 0) info = k + 1;
      continue;
    }
    if (best != k)
      for (int j = 0; j < n; ++j) std::swap(a[j * n + k], a[j * n + best]);
    for (int i = k + 1; i < n; ++i) column[i] /= column[k];
    for (int j = k + 1; j < n; ++j) {
      T* other = a + j * n;
      for (int i = k + 1; i < n; ++i) other[i] -= column[i] * other[k];
    }
  }
  return info;
}

// The inverse from these factors, by columns.
template <class T>
void small_inverse(int n, const T* f, const int* pivots, T* out) {
  T reciprocal[kSmall];
  int order[kSmall];
  for (int i = 0; i < n; ++i) {
    reciprocal[i] = T(1) / f[i * n + i];
    order[i] = i;
  }
  for (int i = 0; i < n; ++i) std::swap(order[i], order[pivots[i] - 1]);
  for (int c = 0; c < n; ++c) {  // column c of P is 1 in the row that took the place of row c
    T* x = out + order[c] * n;
    for (int i = 0; i < n; ++i) x[i] = T(i == c);
    for (int k = c; k < n; ++k)
      for (int i = k + 1; i < n; ++i) x[i] -= f[k * n + i] * x[k];
    for (int k = n - 1; k >= 0; --k) {
      x[k] *= reciprocal[k];
      for (int i = 0; i < k; ++i) x[i] -= f[k * n + i] * x[k];
    }
  }
}

template <class T>
bool all_finite(const T* a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(a[i])) return false;
    } else {
      if (!std::isfinite(a[i].real()) || !std::isfinite(a[i].imag())) return false;
    }
  }
  return true;
}

constexpr int32_t kNotFinite = 1;

template <class T>
void copy_if_apart(const T* from, int64_t n, T* to) {
  if (from != to) std::copy(from, from + n, to);
}

template <class T>
const T* at(const void* p, int64_t i) {
  return static_cast<const T*>(p) + i;
}
template <class T>
T* at(void* p, int64_t i) {
  return p ? static_cast<T*>(p) + i : nullptr;
}

}  // namespace

void cholesky(DType dtype, int64_t batch, int64_t n, bool upper, const void* a, void* out,
              int32_t* info) {
  int in = side("cholesky", n);
  dispatch(dtype, "cholesky", [&]<class T>(T) {
    for_matrices(batch, cube(n) / 3, [&](int64_t s) {
      T* to = at<T>(out, s * n * n);
      copy_if_apart(at<T>(a, s * n * n), n * n, to);
      info[s] = n == 0 ? 0 : lapack::potrf(upper ? 'L' : 'U', in, to, in);
      for (int64_t i = 0; i < n; ++i) {
        if (upper)
          std::fill(to + i * n, to + i * n + i, T(0));
        else
          std::fill(to + i * n + i + 1, to + (i + 1) * n, T(0));
      }
    });
  });
}

void triangular_solve(DType dtype, int64_t batch, int64_t n, int64_t columns, bool upper,
                      bool transposed, bool unit, const void* a, const void* b, void* x) {
  int in = side("triangular_solve", n), ic = static_cast<int>(columns);
  dispatch(dtype, "triangular_solve", [&]<class T>(T) {
    if (n == 0 || columns == 0) return;
    for_matrices(
        batch, static_cast<double>(n * n) * static_cast<double>(columns) / 2, [&](int64_t s) {
          T* to = at<T>(x, s * n * columns);
          copy_if_apart(at<T>(b, s * n * columns), n * columns, to);
          lapack::trsm(upper, transposed ? 'T' : 'N', unit, in, ic, at<T>(a, s * n * n), to);
        });
  });
}

void lu_factor(DType dtype, int64_t batch, int64_t m, int64_t n, const void* a, void* lu,
               int32_t* pivots, int32_t* info) {
  int im = side("lu", m), in = side("lu", n);
  int64_t k = std::min(m, n);
  dispatch(dtype, "lu", [&]<class T>(T) {
    for_matrices(batch, cube(k), [&](int64_t s) {
      info[s] = 0;
      if (k == 0) return;
      Scratch scratch(static_cast<size_t>(m * n) * sizeof(T));
      T* work = scratch.as<T>();
      transpose(m, n, at<T>(a, s * m * n), n, work, m);
      info[s] = lapack::getrf(im, in, work, im, pivots + s * k);
      transpose(n, m, work, m, at<T>(lu, s * m * n), n);
    });
  });
}

void solve(DType dtype, int64_t batch, int64_t n, int64_t columns, const void* a, const void* b,
           void* x, int32_t* info) {
  int in = side("solve", n), ic = static_cast<int>(columns);
  dispatch(dtype, "solve", [&]<class T>(T) {
    double work = cube(n) / 3 + static_cast<double>(n * n) * static_cast<double>(columns);
    for_matrices(batch, work, [&](int64_t s) {
      info[s] = 0;
      if (n == 0) return;
      Scratch scratch(static_cast<size_t>(n * n + n * columns) * sizeof(T)),
          pivots(static_cast<size_t>(n) * sizeof(int));
      T *f = scratch.as<T>(), *rhs = f + n * n;
      const T* from = at<T>(a, s * n * n);
      std::copy(from, from + n * n, f);
      info[s] = lapack::getrf(in, in, f, in, pivots.as<int>());
      if (info[s] != 0 || columns == 0) return;
      transpose(n, columns, at<T>(b, s * n * columns), columns, rhs, n);
      lapack::getrs('T', in, ic, f, in, pivots.as<int>(), rhs, in);
      transpose(columns, n, static_cast<const T*>(rhs), n, at<T>(x, s * n * columns), columns);
    });
  });
}

void inverse(DType dtype, int64_t batch, int64_t n, const void* a, void* out, int32_t* info) {
  int in = side("inverse", n);
  dispatch(dtype, "inverse", [&]<class T>(T) {
    for_matrices(batch, cube(n), [&](int64_t s) {
      info[s] = 0;
      if (n == 0) return;
      T* to = at<T>(out, s * n * n);
      if (n <= kSmall) {
        T f[kSmall * kSmall];
        int pivots[kSmall];
        std::copy_n(at<T>(a, s * n * n), n * n, f);
        info[s] = small_lu(in, f, pivots);
        if (info[s] == 0) small_inverse(in, f, pivots, to);
        return;
      }
      Scratch pivots(static_cast<size_t>(n) * sizeof(int));
      copy_if_apart(at<T>(a, s * n * n), n * n, to);
      info[s] = lapack::getrf(in, in, to, in, pivots.as<int>());
      if (info[s] == 0) info[s] = lapack::getri(in, to, in, pivots.as<int>());
    });
  });
}

void determinant(DType dtype, int64_t batch, int64_t n, const void* a, void* det, void* sign,
                 void* log_abs) {
  int in = side("det", n);
  dispatch(dtype, "det", [&]<class T>(T) {
    // Products of many factors leave float32's range before the result does.
    using Wide = std::conditional_t<std::is_floating_point_v<T>, double, complex128>;
    for_matrices(batch, cube(n) / 3, [&](int64_t s) {
      T few[kSmall * kSmall];
      int few_pivots[kSmall];
      const bool small = n <= kSmall;
      Scratch scratch(small ? 0 : static_cast<size_t>(n * n) * sizeof(T)),
          room(small ? 0 : static_cast<size_t>(n) * sizeof(int));
      T* f = small ? few : scratch.as<T>();
      int* pivots = small ? few_pivots : room.as<int>();
      std::copy_n(at<T>(a, s * n * n), n * n, f);
      if (small)
        small_lu(in, f, pivots);
      else
        lapack::getrf(in, in, f, in, pivots);
      Wide product = 1, phase = 1;
      double log = 0;
      for (int64_t i = 0; i < n; ++i) {
        Wide d = static_cast<Wide>(f[i * n + i]);
        if (pivots[i] != i + 1) {
          product = -product;
          phase = -phase;
        }
        product *= d;
        if (!sign && !log_abs) continue;
        double size = std::abs(d);
        log += std::log(size);
        phase = size == 0 ? Wide(0) : phase * (d / size);
      }
      if (det) *at<T>(det, s) = static_cast<T>(product);
      if (sign) *at<T>(sign, s) = static_cast<T>(phase);
      if (log_abs) *at<Real<T>>(log_abs, s) = static_cast<Real<T>>(log);
    });
  });
}

void qr(DType dtype, int64_t batch, int64_t m, int64_t n, bool complete, const void* a, void* q,
        void* r) {
  int im = side("qr", m), in = side("qr", n);
  int64_t k = std::min(m, n), width = complete ? m : k;
  dispatch(dtype, "qr", [&]<class T>(T) {
    for_matrices(batch, static_cast<double>(m * n) * static_cast<double>(k), [&](int64_t s) {
      Scratch scratch(static_cast<size_t>(m * std::max(n, width) + k) * sizeof(T));
      T *work = scratch.as<T>(), *tau = work + m * std::max(n, width);
      transpose(m, n, at<T>(a, s * m * n), n, work, m);
      if (k > 0) lapack::geqrf(im, in, work, im, tau);
      T* to = at<T>(r, s * width * n);
      for (int64_t i = 0; i < width; ++i)
        for (int64_t j = 0; j < n; ++j) to[i * n + j] = j < i ? T(0) : work[j * m + i];
      if (!q || m == 0) return;
      // Columns beyond the reflectors: those of the identity.
      for (int64_t j = n; j < width; ++j) std::fill(work + j * m, work + (j + 1) * m, T(0));
      if (width > 0) lapack::orgqr(im, static_cast<int>(width), static_cast<int>(k), work, im, tau);
      transpose(width, m, static_cast<const T*>(work), m, at<T>(q, s * m * width), width);
    });
  });
}

// The matrix itself goes to LAPACK, not its transpose as which it could be read: so vectors have
// the phases that others give them. [= Paddle]
void svd(DType dtype, int64_t batch, int64_t m, int64_t n, bool full, const void* a, void* u,
         void* s_out, void* vh, int32_t* info) {
  int im = side("svd", m), in = side("svd", n);
  int64_t k = std::min(m, n), u_cols = full ? m : k, v_rows = full ? n : k;
  dispatch(dtype, "svd", [&]<class T>(T) {
    auto identity = [](T* to, int64_t side) {
      if (to)
        for (int64_t i = 0; i < side * side; ++i) to[i] = T(i % (side + 1) == 0 ? 1 : 0);
    };
    for_matrices(batch, 8 * static_cast<double>(m * n) * static_cast<double>(k), [&](int64_t s) {
      info[s] = 0;
      T *us = at<T>(u, s * m * u_cols), *vs = at<T>(vh, s * v_rows * n);
      if (k == 0) {
        if (full) identity(us, m), identity(vs, n);
        return;
      }
      const T* from = at<T>(a, s * m * n);
      if (!all_finite(from, m * n)) return void(info[s] = kNotFinite);
      const int64_t vectors = u ? m * u_cols + v_rows * n : 0;
      Scratch scratch(static_cast<size_t>(m * n + vectors) * sizeof(T));
      T *work = scratch.as<T>(), *left = work + m * n, *right = left + m * u_cols;
      transpose(m, n, from, n, work, m);
      char job = !u ? 'N' : full ? 'A' : 'S';
      info[s] = lapack::gesdd(job, im, in, work, im, at<Real<T>>(s_out, s * k), left, im, right,
                              static_cast<int>(v_rows));
      if (!u) return;
      transpose(u_cols, m, static_cast<const T*>(left), m, us, u_cols);
      transpose(n, v_rows, static_cast<const T*>(right), v_rows, vs, n);
    });
  });
}

// The triangle is handed over as it is, so that vectors have the phases of LAPACK. [= Paddle]
void eigh(DType dtype, int64_t batch, int64_t n, bool upper, const void* a, void* w, void* v,
          int32_t* info) {
  int in = side("eigh", n);
  dispatch(dtype, "eigh", [&]<class T>(T) {
    for_matrices(batch, 4 * cube(n), [&](int64_t s) {
      info[s] = 0;
      if (n == 0) return;
      const T* from = at<T>(a, s * n * n);
      Scratch scratch(static_cast<size_t>(n * n) * sizeof(T));
      T* work = scratch.as<T>();
      std::fill(work, work + n * n, T(0));
      for (int64_t i = 0; i < n; ++i) {
        int64_t begin = upper ? i : 0, end = upper ? n : i + 1;
        for (int64_t j = begin; j < end; ++j) work[j * n + i] = from[i * n + j];
      }
      if (!all_finite(static_cast<const T*>(work), n * n)) return void(info[s] = kNotFinite);
      info[s] =
          lapack::heevd(v ? 'V' : 'N', upper ? 'U' : 'L', in, work, in, at<Real<T>>(w, s * n));
      if (!v) return;
      T* to = at<T>(v, s * n * n);
      transpose(n, n, static_cast<const T*>(work), n, to, n);
    });
  });
}

void eig(DType dtype, int64_t batch, int64_t n, const void* a, void* w, void* v, int32_t* info) {
  int in = side("eig", n);
  dispatch(dtype, "eig", [&]<class T>(T) {
    using C = std::complex<Real<T>>;
    for_matrices(batch, 10 * cube(n), [&](int64_t s) {
      info[s] = 0;
      if (n == 0) return;
      const T* from = at<T>(a, s * n * n);
      if (!all_finite(from, n * n)) return void(info[s] = kNotFinite);
      Scratch scratch(static_cast<size_t>(n * n) * sizeof(T)),
          vectors(static_cast<size_t>(v ? n * n : 1) * sizeof(C));
      transpose(n, n, from, n, scratch.as<T>(), n);
      info[s] =
          lapack::geev(v != nullptr, in, scratch.as<T>(), in, at<C>(w, s * n), vectors.as<C>());
      if (v) transpose(n, n, static_cast<const C*>(vectors.as<C>()), n, at<C>(v, s * n * n), n);
    });
  });
}

void lstsq(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t columns, LstsqDriver driver,
           double rcond, const void* a, const void* b, void* x, int32_t* rank, void* singular,
           int32_t* info) {
  int im = side("lstsq", m), in = side("lstsq", n), ic = static_cast<int>(columns);
  int64_t k = std::min(m, n), ldb = std::max<int64_t>({m, n, 1});
  dispatch(dtype, "lstsq", [&]<class T>(T) {
    using R = Real<T>;
    R limit = rcond < 0 ? std::numeric_limits<R>::epsilon() : static_cast<R>(rcond);
    for_matrices(batch, 4 * static_cast<double>(m * n) * static_cast<double>(k), [&](int64_t s) {
      info[s] = 0;
      T* to = at<T>(x, s * n * columns);
      if (k == 0 || columns == 0) {
        std::fill(to, to + n * columns, T(0));
        if (rank) rank[s] = 0;
        if (k == 0) return;
      }
      const T* from = at<T>(a, s * m * n);
      if (!all_finite(from, m * n)) return void(info[s] = kNotFinite);
      Scratch scratch(static_cast<size_t>(m * n + ldb * std::max<int64_t>(columns, 1)) * sizeof(T)),
          values(static_cast<size_t>(k) * sizeof(R));
      T *work = scratch.as<T>(), *rhs = work + m * n;
      R* sv = singular ? at<R>(singular, s * k) : values.as<R>();
      std::fill(rhs, rhs + ldb * std::max<int64_t>(columns, 1), T(0));
      transpose(m, n, from, n, work, m);
      if (columns > 0) transpose(m, columns, at<T>(b, s * m * columns), columns, rhs, ldb);
      int found = static_cast<int>(k), ldi = static_cast<int>(ldb);
      switch (driver) {
        case LstsqDriver::gels:
          info[s] = lapack::gels(im, in, ic, work, im, rhs, ldi);
          break;
        case LstsqDriver::gelsy:
          info[s] = lapack::gelsy(im, in, ic, work, im, rhs, ldi, limit, &found);
          break;
        case LstsqDriver::gelsd:
          info[s] = lapack::gelsd(im, in, ic, work, im, rhs, ldi, sv, limit, &found);
          break;
        case LstsqDriver::gelss:
          info[s] = lapack::gelss(im, in, ic, work, im, rhs, ldi, sv, limit, &found);
          break;
      }
      if (rank) rank[s] = found;
      transpose(columns, n, static_cast<const T*>(rhs), ldb, to, columns);
    });
  });
}

}  // namespace argosy::cpu

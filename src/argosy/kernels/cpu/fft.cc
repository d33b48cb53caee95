#include "argosy/kernels/cpu/fft.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/simd/copy.h"

namespace argosy::cpu {
namespace {

constexpr int64_t kLargestDirectFactor = 31;

// std::complex multiplies through a library call that looks for nan. T may be a vector: one number
// of several lines each, multiplied by scalar roots.
template <class T>
struct Complex {
  T re{}, im{};
  Complex operator+(Complex b) const { return {re + b.re, im + b.im}; }
  Complex operator-(Complex b) const { return {re - b.re, im - b.im}; }
  template <class U>
  Complex operator*(Complex<U> b) const {
    return {re * b.re - im * b.im, re * b.im + im * b.re};
  }
  Complex conj() const { return {re, -im}; }
};

template <class T>
struct LanesOf {
  typedef T type __attribute__((vector_size(32)));
};
template <class T>
using Lanes = typename LanesOf<T>::type;
// Longer lines go one by one: several at once would leave the cache.
constexpr int64_t kLongestTogether = 1 << 14;

template <class T>
Complex<T> root_of_unity(double numerator, double denominator) {
  const double angle = 2 * M_PI * numerator / denominator;
  return {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
}

// Transforms of one length: exp(sign * 2 pi i j k / n), unscaled.
template <class T>
class FftPlan {
 public:
  using C = Complex<T>;

  FftPlan(int64_t n, int sign) : n_(n), sign_(sign) {
    int64_t rest = n;
    for (int64_t p = 4; rest > 1; p = p == 4 ? 2 : p == 2 ? 3 : p + 2) {
      if (p > 4 && p * p > rest) p = rest;
      while (rest % p == 0) {
        factors_.push_back(p);
        rest /= p;
      }
    }
    bool direct = true;
    for (int64_t p : factors_) direct &= p <= kLargestDirectFactor;
    if (direct) {
      roots_.resize(static_cast<size_t>(n));
      for (int64_t k = 0; k < n; ++k)
        roots_[static_cast<size_t>(k)] =
            root_of_unity<T>(static_cast<double>(sign * k), static_cast<double>(n));
    } else {
      prepare_chirp();
    }
  }

  // Elements that run() needs as scratch.
  int64_t scratch() const { return forward_ ? 2 * forward_->n_ : 0; }

  // out and in do not overlap. D: Complex<T>, or of lanes of T.
  template <class D>
  void run(const D* in, D* out, D* scratch) const {
    if (forward_)
      chirp(in, out, scratch);
    else
      step(in, out, n_, 1, 0);
  }

 private:
  template <class D>
  void step(const D* in, D* out, int64_t n, int64_t stride, size_t level) const {
    if (n == 1) {
      out[0] = in[0];
      return;
    }
    const int64_t p = factors_[level], m = n / p;
    if (m == 1) {
      for (int64_t q = 0; q < p; ++q) out[q] = in[q * stride];
    } else {
      for (int64_t q = 0; q < p; ++q) step(in + q * stride, out + q * m, m, stride * p, level + 1);
    }
    if (p == 2) {
      for (int64_t k = 0; k < m; ++k) {
        const D a = out[k], b = out[m + k] * root(k * stride);
        out[k] = a + b;
        out[m + k] = a - b;
      }
    } else if (p == 4) {
      const T turn = static_cast<T>(sign_);
      for (int64_t k = 0; k < m; ++k) {
        const D a = out[k], b = out[m + k] * root(k * stride);
        const D c = out[2 * m + k] * root(2 * k * stride);
        const D d = out[3 * m + k] * root(3 * k * stride);
        const D even = a + c, odd = b + d, gap = a - c, other = b - d;
        const D turned = {-turn * other.im, turn * other.re};
        out[k] = even + odd;
        out[m + k] = gap + turned;
        out[2 * m + k] = even - odd;
        out[3 * m + k] = gap - turned;
      }
    } else {
      D part[kLargestDirectFactor];
      for (int64_t k = 0; k < m; ++k) {
        for (int64_t q = 0; q < p; ++q) part[q] = out[q * m + k] * root(q * k * stride);
        for (int64_t r = 0; r < p; ++r) {
          D sum = part[0];
          int64_t at = 0;
          for (int64_t q = 1; q < p; ++q) {
            at += r;
            if (at >= p) at -= p;
            sum = sum + part[q] * root(at * m * stride);
          }
          out[r * m + k] = sum;
        }
      }
    }
  }
  // Below n: q * k * stride < p * m * stride = n.
  C root(int64_t k) const { return roots_[static_cast<size_t>(k)]; }

  // j k = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution with w[j] = exp(pi i j^2 /
  // n), done by transforms of a power of two.
  void prepare_chirp() {
    int64_t size = 1;
    while (size < 2 * n_ - 1) size *= 2;
    forward_ = std::make_unique<FftPlan>(size, -1);
    backward_ = std::make_unique<FftPlan>(size, 1);
    chirp_.resize(static_cast<size_t>(n_));
    for (int64_t k = 0; k < n_; ++k) {
      const int64_t square = k * k % (2 * n_);  // the angle loses no digits for large k
      chirp_[static_cast<size_t>(k)] =
          root_of_unity<T>(static_cast<double>(sign_ * square), static_cast<double>(2 * n_));
    }
    std::vector<C> kernel(static_cast<size_t>(size));
    for (int64_t k = 0; k < n_; ++k) {
      const C w = chirp_[static_cast<size_t>(k)].conj();
      kernel[static_cast<size_t>(k)] = w;
      if (k) kernel[static_cast<size_t>(size - k)] = w;
    }
    kernel_.resize(static_cast<size_t>(size));
    forward_->run(kernel.data(), kernel_.data(), static_cast<C*>(nullptr));
    for (C& value : kernel_) {
      value.re /= static_cast<T>(size);
      value.im /= static_cast<T>(size);
    }
  }

  template <class D>
  void chirp(const D* in, D* out, D* scratch) const {
    const int64_t size = forward_->n_;
    D *a = scratch, *b = scratch + size, *none = nullptr;
    for (int64_t k = 0; k < size; ++k) a[k] = k < n_ ? in[k] * chirp_[static_cast<size_t>(k)] : D{};
    forward_->run(a, b, none);
    for (int64_t k = 0; k < size; ++k) b[k] = b[k] * kernel_[static_cast<size_t>(k)];
    backward_->run(b, a, none);
    for (int64_t k = 0; k < n_; ++k) out[k] = a[k] * chirp_[static_cast<size_t>(k)];
  }

  int64_t n_;
  int sign_;
  std::vector<int64_t> factors_;
  std::vector<C> roots_;
  std::unique_ptr<FftPlan> forward_, backward_;
  std::vector<C> chirp_, kernel_;
};

// Lines [first, first + count) at once, count up to the number of lanes.
template <class T>
void run_together(const FftPlan<T>& plan, Complex<T>* data, int64_t n, int64_t inner, int64_t first,
                  int64_t count, T factor, std::vector<Complex<Lanes<T>>>& buffer) {
  constexpr int64_t kWidth = sizeof(Lanes<T>) / sizeof(T);
  Complex<Lanes<T>>*in = buffer.data(), *out = in + n, *scratch = out + n;
  T* to = reinterpret_cast<T*>(in);
  const T* from = reinterpret_cast<const T*>(out);
  if (inner == 1) {
    // Lines are rows of 2 n numbers, and lanes columns of them.
    const Transpose transpose = transpose_kernel(sizeof(T));
    T* rows = reinterpret_cast<T*>(data + first * n);
    if (count < kWidth) std::fill_n(in, n, Complex<Lanes<T>>{});
    transpose(to, kWidth, rows, 2 * n, count, 2 * n);
    plan.run(in, out, scratch);
    for (int64_t k = 0; factor != 1 && k < n; ++k) {
      out[k].re *= factor;
      out[k].im *= factor;
    }
    transpose(rows, 2 * n, from, kWidth, 2 * n, count);
    return;
  }
  Complex<T>* lines[kWidth];
  for (int64_t l = 0; l < count; ++l) {
    const int64_t line = first + l;
    lines[l] = data + line / inner * n * inner + line % inner;
  }
  // Few numbers of each line at a time, so that what is spread over lanes stays in the cache.
  constexpr int64_t kTile = 32;
  for (int64_t tile = 0; tile < n; tile += kTile) {
    const int64_t end = std::min(n, tile + kTile);
    for (int64_t l = 0; l < count; ++l) {
      const Complex<T>* at = lines[l];
      for (int64_t k = tile; k < end; ++k) {
        to[2 * k * kWidth + l] = at[k * inner].re;
        to[(2 * k + 1) * kWidth + l] = at[k * inner].im;
      }
    }
  }
  plan.run(in, out, scratch);
  for (int64_t tile = 0; tile < n; tile += kTile) {
    const int64_t end = std::min(n, tile + kTile);
    for (int64_t l = 0; l < count; ++l) {
      Complex<T>* at = lines[l];
      for (int64_t k = tile; k < end; ++k)
        at[k * inner] = {from[2 * k * kWidth + l] * factor,
                         from[(2 * k + 1) * kWidth + l] * factor};
    }
  }
}

}  // namespace

template <class T>
void fft(T* x, int64_t outer, int64_t n, int64_t inner, bool forward, double scale) {
  using C = Complex<T>;
  const int64_t lines = outer * inner;
  if (lines == 0 || n == 0) return;
  const FftPlan<T> plan(n, forward ? -1 : 1);
  C* data = reinterpret_cast<C*>(x);
  const T factor = static_cast<T>(scale);
  // A single line too: a line has the same result whatever stands beside it.
  if (n + plan.scratch() <= kLongestTogether) {
    constexpr int64_t kWidth = sizeof(Lanes<T>) / sizeof(T);
    parallel_for((lines + kWidth - 1) / kWidth, 1 + 4096 / n, [&](int64_t first, int64_t last) {
      std::vector<Complex<Lanes<T>>> buffer(static_cast<size_t>(2 * n + plan.scratch()));
      for (int64_t g = first; g < last; ++g) {
        run_together(plan, data, n, inner, g * kWidth, std::min(kWidth, lines - g * kWidth), factor,
                     buffer);
      }
    });
    return;
  }
  const int64_t grain = 1 + 16384 / n;
  parallel_for(lines, grain, [&](int64_t first, int64_t last) {
    std::vector<C> buffer(static_cast<size_t>(2 * n + plan.scratch()));
    C *in = buffer.data(), *out = in + n, *scratch = out + n;
    for (int64_t line = first; line < last; ++line) {
      C* at = data + line / inner * n * inner + line % inner;
      for (int64_t k = 0; k < n; ++k) in[k] = at[k * inner];
      plan.run(in, out, scratch);
      for (int64_t k = 0; k < n; ++k) at[k * inner] = {out[k].re * factor, out[k].im * factor};
    }
  });
}

template void fft<float>(float*, int64_t, int64_t, int64_t, bool, double);
template void fft<double>(double*, int64_t, int64_t, int64_t, bool, double);

}  // namespace argosy::cpu

#include "argosy/kernels/cpu/fft.h"

#include <cmath>
#include <memory>
#include <vector>

#include "argosy/base/parallel.h"

namespace argosy::cpu {
namespace {

constexpr int64_t kLargestDirectFactor = 31;

// std::complex multiplies through a library call that looks for nan.
template <class T>
struct Complex {
  T re = 0, im = 0;
  Complex operator+(Complex b) const { return {re + b.re, im + b.im}; }
  Complex operator-(Complex b) const { return {re - b.re, im - b.im}; }
  Complex operator*(Complex b) const { return {re * b.re - im * b.im, re * b.im + im * b.re}; }
  Complex conj() const { return {re, -im}; }
};

template <class T>
Complex<T> root_of_unity(double numerator, double denominator) {
  const double angle = 2 * M_PI * numerator / denominator;
  return {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
}

// Transforms of one length: exp(sign * 2 pi i j k / n), unscaled.
template <class T>
class Plan {
 public:
  using C = Complex<T>;

  Plan(int64_t n, int sign) : n_(n), sign_(sign) {
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

  // out and in do not overlap.
  void run(const C* in, C* out, C* scratch) const {
    if (forward_)
      chirp(in, out, scratch);
    else
      step(in, out, n_, 1, 0);
  }

 private:
  void step(const C* in, C* out, int64_t n, int64_t stride, size_t level) const {
    if (n == 1) {
      out[0] = in[0];
      return;
    }
    const int64_t p = factors_[level], m = n / p;
    for (int64_t q = 0; q < p; ++q) step(in + q * stride, out + q * m, m, stride * p, level + 1);
    if (p == 2) {
      for (int64_t k = 0; k < m; ++k) {
        const C a = out[k], b = out[m + k] * root(k * stride);
        out[k] = a + b;
        out[m + k] = a - b;
      }
    } else if (p == 4) {
      const T turn = static_cast<T>(sign_);
      for (int64_t k = 0; k < m; ++k) {
        const C a = out[k], b = out[m + k] * root(k * stride);
        const C c = out[2 * m + k] * root(2 * k * stride);
        const C d = out[3 * m + k] * root(3 * k * stride);
        const C even = a + c, odd = b + d, gap = a - c, other = b - d;
        const C turned = {-turn * other.im, turn * other.re};
        out[k] = even + odd;
        out[m + k] = gap + turned;
        out[2 * m + k] = even - odd;
        out[3 * m + k] = gap - turned;
      }
    } else {
      C part[kLargestDirectFactor];
      for (int64_t k = 0; k < m; ++k) {
        for (int64_t q = 0; q < p; ++q) part[q] = out[q * m + k] * root(q * k * stride);
        for (int64_t r = 0; r < p; ++r) {
          C sum = part[0];
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
    forward_ = std::make_unique<Plan>(size, -1);
    backward_ = std::make_unique<Plan>(size, 1);
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
    forward_->run(kernel.data(), kernel_.data(), nullptr);
    for (C& value : kernel_) {
      value.re /= static_cast<T>(size);
      value.im /= static_cast<T>(size);
    }
  }

  void chirp(const C* in, C* out, C* scratch) const {
    const int64_t size = forward_->n_;
    C *a = scratch, *b = scratch + size;
    for (int64_t k = 0; k < size; ++k) a[k] = k < n_ ? in[k] * chirp_[static_cast<size_t>(k)] : C{};
    forward_->run(a, b, nullptr);
    for (int64_t k = 0; k < size; ++k) b[k] = b[k] * kernel_[static_cast<size_t>(k)];
    backward_->run(b, a, nullptr);
    for (int64_t k = 0; k < n_; ++k) out[k] = a[k] * chirp_[static_cast<size_t>(k)];
  }

  int64_t n_;
  int sign_;
  std::vector<int64_t> factors_;
  std::vector<C> roots_;
  std::unique_ptr<Plan> forward_, backward_;
  std::vector<C> chirp_, kernel_;
};

}  // namespace

template <class T>
void fft(T* x, int64_t outer, int64_t n, int64_t inner, bool forward, double scale) {
  using C = Complex<T>;
  const int64_t lines = outer * inner;
  if (lines == 0 || n == 0) return;
  const Plan<T> plan(n, forward ? -1 : 1);
  C* data = reinterpret_cast<C*>(x);
  const T factor = static_cast<T>(scale);
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

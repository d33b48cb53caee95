#include "argosy/kernels/cpu/expm.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/gemm.h"
#include "argosy/kernels/cpu/linalg.h"

namespace argosy::cpu {
namespace {

// Coefficients of Pade's numerator, the last one 1; the denominator is that of -x.
constexpr double kPade[] = {64764752532480000.,
                            32382376266240000.,
                            7771770303897600.,
                            1187353796428800.,
                            129060195264000.,
                            10559470521600.,
                            670442572800.,
                            33522128640.,
                            1323241920.,
                            40840800.,
                            960960.,
                            16380.,
                            182.,
                            1.};
// Up to this norm order 13 is exact to float64.
constexpr double kReach = 5.371920351148152;

// The largest sum of moduli of a column.
template <class T>
double norm(const T* a, int64_t n) {
  std::vector<double> sums(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) sums[static_cast<size_t>(j)] += std::abs(a[i * n + j]);
  double most = 0;
  for (double sum : sums) {
    if (!std::isfinite(sum)) return std::numeric_limits<double>::infinity();
    most = std::max(most, sum);
  }
  return most;
}

template <class T>
class Exponential {
 public:
  Exponential(DType dtype, int64_t n) : dtype_(dtype), n_(n), size_(static_cast<size_t>(n * n)) {}

  void operator()(const T* a, T* out) {
    const double length = norm(a, n_);
    if (!std::isfinite(length)) {
      std::fill_n(out, size_, T(std::numeric_limits<double>::quiet_NaN()));
      return;
    }
    int halvings = 0;
    if (length > kReach)
      halvings = std::max(0, static_cast<int>(std::ceil(std::log2(length / kReach))));
    std::vector<T> x(a, a + size_);
    for (T& v : x) v *= static_cast<Real>(std::ldexp(1.0, -halvings));
    // odd(x) = x (..), even(x) from powers of the square; the sums are divided by the first
    // coefficient, which keeps float32 in range.
    std::vector<T> powers[4];  // x^0 (unused), x^2, x^4, x^6
    for (int i = 1; i < 4; ++i) powers[i].resize(size_);
    product(x, x, powers[1]);
    product(powers[1], powers[1], powers[2]);
    product(powers[2], powers[1], powers[3]);
    const std::vector<T> even = series(powers, 0);
    std::vector<T> odd(size_);
    product(x, series(powers, 1), odd);
    std::vector<T> left(size_), result(size_);
    for (size_t i = 0; i < size_; ++i) {
      left[i] = even[i] - odd[i];
      result[i] = even[i] + odd[i];
    }
    int32_t info = 0;
    solve(dtype_, 1, n_, n_, left.data(), result.data(), result.data(), &info);
    for (; halvings > 0; --halvings) {
      product(result, result, left);
      result.swap(left);
    }
    std::copy(result.begin(), result.end(), out);
  }

 private:
  using Real = decltype(std::abs(T()));

  void product(const std::vector<T>& a, const std::vector<T>& b, std::vector<T>& c) const {
    gemm(dtype_, false, false, n_, n_, n_, 1, a.data(), n_, b.data(), n_, 0, c.data(), n_);
  }
  // Sum of the coefficients from `first` on, every other one, times powers of the square.
  std::vector<T> series(const std::vector<T> (&powers)[4], int first) const {
    auto weight = [&](int k) { return static_cast<Real>(kPade[2 * k + first] / kPade[0]); };
    std::vector<T> high(size_), sum(size_);
    for (size_t i = 0; i < size_; ++i)
      high[i] = weight(4) * powers[1][i] + weight(5) * powers[2][i] + weight(6) * powers[3][i];
    product(powers[3], high, sum);
    for (size_t i = 0; i < size_; ++i)
      sum[i] += weight(1) * powers[1][i] + weight(2) * powers[2][i] + weight(3) * powers[3][i];
    for (int64_t i = 0; i < n_; ++i) sum[static_cast<size_t>(i * n_ + i)] += weight(0);
    return sum;
  }

  DType dtype_;
  int64_t n_;
  size_t size_;
};

}  // namespace

void matrix_exp(DType dtype, int64_t batch, int64_t n, const void* a, void* out) {
  const double work = 20.0 * static_cast<double>(n * n) * static_cast<double>(n);
  const auto grain = std::max<int64_t>(1, static_cast<int64_t>(200e3 / std::max(work, 1.0)));
  dispatch_types<float, double, complex64, complex128>(dtype, [&]<class T>(T) {
    auto some = [&](int64_t begin, int64_t end) {
      Exponential<T> exponential(dtype, n);
      for (int64_t i = begin; i < end; ++i)
        exponential(static_cast<const T*>(a) + i * n * n, static_cast<T*>(out) + i * n * n);
    };
    if (batch == 1)
      some(0, 1);  // its products may use all threads
    else
      parallel_for(batch, grain, some);
  });
}

}  // namespace argosy::cpu

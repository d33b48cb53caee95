#include "argosy/base/random.h"

#include <immintrin.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <random>
#include <vector>

#include "argosy/base/draw_order.h"
#include "argosy/base/error.h"

namespace argosy::random {

constinit std::atomic<void (*)()> before_draw{nullptr};

struct Generator::State {
  mutable std::mutex mutex;  // guards all below, held while a call draws
  Engine engine;
  uint64_t seed = 0;
  uint64_t place = 0;  // the next one

  State();
  ~State();
};

namespace {

// All generators alive, so that a fork finds their locks free.
struct Registry {
  std::mutex mutex;
  std::vector<std::mutex*> locks;

  static Registry& instance() {
    static Registry* registry = new Registry;
    return *registry;
  }

  void add(std::mutex* lock) {
    std::lock_guard guard(mutex);
    locks.push_back(lock);
  }
  void remove(std::mutex* lock) {
    std::lock_guard guard(mutex);
    std::erase(locks, lock);
  }

 private:
  Registry() { pthread_atfork(lock_all, unlock_all, unlock_all); }
  static void lock_all() {
    instance().mutex.lock();
    for (std::mutex* lock : instance().locks) lock->lock();
  }
  static void unlock_all() {
    for (std::mutex* lock : instance().locks) lock->unlock();
    instance().mutex.unlock();
  }
};

// T(word) * 2^-64, below 1.
template <class T>
T unit(uint64_t word) {
  constexpr T kBelowOne = 1 - std::numeric_limits<T>::epsilon() / 2;
  return std::min(static_cast<T>(word) * static_cast<T>(0x1p-64), kBelowOne);
}

template <class T>
T unit(Engine& engine) {
  return unit<T>(engine());
}

// Four words as doubles, rounded once: the halves are put into the mantissas of 2^84 and 2^52.
__m256d to_double(const uint64_t* words) {
  __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
  __m256i high = _mm256_or_si256(_mm256_srli_epi64(w, 32), _mm256_set1_epi64x(0x4530000000000000));
  __m256i low = _mm256_blend_epi16(w, _mm256_set1_epi64x(0x4330000000000000), 0xcc);
  __m256d top = _mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(0x1p84 + 0x1p52));
  return _mm256_add_pd(top, _mm256_castsi256_pd(low));
}

// The same as unit(word) for each.
void units(const uint64_t* words, double* out, int n) {
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    __m256d u = _mm256_mul_pd(to_double(words + i), _mm256_set1_pd(0x1p-64));
    _mm256_storeu_pd(out + i, _mm256_min_pd(u, _mm256_set1_pd(1 - 0x1p-53)));
  }
  for (; i < n; ++i) out[i] = unit<double>(words[i]);
}

void units(const uint64_t* words, float* out, int n) {
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    __m256d d = to_double(words + i);
    // Rounding twice differs from rounding once only if the double lies halfway between two floats.
    __m256i tail = _mm256_and_si256(_mm256_castpd_si256(d), _mm256_set1_epi64x(0x1fffffff));
    __m256i halfway = _mm256_cmpeq_epi64(tail, _mm256_set1_epi64x(0x10000000));
    __m128 u = _mm256_cvtpd_ps(_mm256_mul_pd(d, _mm256_set1_pd(0x1p-64)));
    _mm_storeu_ps(out + i, _mm_min_ps(u, _mm_set1_ps(1 - 0x1p-24f)));
    if (!_mm256_testz_si256(halfway, halfway)) [[unlikely]] {
      for (int j = i; j < i + 4; ++j) out[j] = unit<float>(words[j]);
    }
  }
  for (; i < n; ++i) out[i] = unit<float>(words[i]);
}

template <class T>
void draw_units(Engine& engine, T* out, int n) {
  while (n > 0) {
    std::span<const uint64_t> words = engine.take(n);
    int count = static_cast<int>(words.size());
    units(words.data(), out, count);
    out += count;
    n -= count;
  }
}

constexpr int kBlock = 256;

template <class T, class Out>
void fill_uniform(Engine& engine, Out* out, int64_t n, T low, T high) {
  T width = high - low, u[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    int count = static_cast<int>(std::min<int64_t>(n - begin, kBlock));
    draw_units(engine, u, count);
    for (int i = 0; i < count; ++i) out[begin + i] = Out(u[i] * width + low);
  }
}

// n <= kBlock / 2 points of the unit disk: x, y and r = x*x + y*y. A rejected point is overwritten
// by the next, which spares a branch that cannot be predicted. Never more are drawn than are still
// wanted, so the stream ends where it would one by one.
template <class T>
void draw_points(Engine& engine, T* x, T* y, T* r, int n) {
  T u[kBlock];
  for (int kept = 0; kept < n;) {
    int wanted = n - kept;
    draw_units(engine, u, 2 * wanted);
    for (int i = 0; i < wanted; ++i) {
      T a = 2 * u[2 * i] - 1, b = 2 * u[2 * i + 1] - 1, square = a * a + b * b;
      x[kept] = a, y[kept] = b, r[kept] = square;
      kept += static_cast<int>(square <= 1) & static_cast<int>(square != 0);
    }
  }
}

template <class T, class Out>
void fill_normal(Engine& engine, Out* out, int64_t n, T mean, T stddev) {
  T x[kBlock / 2], y[kBlock / 2], r[kBlock / 2];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    int values = static_cast<int>(std::min<int64_t>(n - begin, kBlock)), points = (values + 1) / 2;
    draw_points(engine, x, y, r, points);
    for (int i = 0; i < points; ++i) r[i] = std::sqrt(-2 * std::log(r[i]) / r[i]);
    for (int i = 0; i < values / 2; ++i) {
      out[begin + 2 * i] = Out(y[i] * r[i] * stddev + mean);
      out[begin + 2 * i + 1] = Out(x[i] * r[i] * stddev + mean);
    }
    if (values % 2) out[begin + values - 1] = Out(y[points - 1] * r[points - 1] * stddev + mean);
  }
}

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x * M_SQRT1_2);
}

// Wichura 1988, algorithm AS 241 (PPND16): relative error about 1e-16. Infinite at 0 and at 1,
// which rounding can give.
double normal_quantile(double p) {
  auto ratio = [](const double(&a)[8], const double(&b)[8], double r) {
    double top = a[7], bottom = b[7];
    for (int i = 6; i >= 0; --i) top = top * r + a[i], bottom = bottom * r + b[i];
    return top / bottom;
  };
  static constexpr double kA[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                   1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                   4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                   3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr double kB[8] = {1.0,
                                   4.2313330701600911252e+1,
                                   6.8718700749205790830e+2,
                                   5.3941960214247511077e+3,
                                   2.1213794301586595867e+4,
                                   3.9307895800092710610e+4,
                                   2.8729085735721942674e+4,
                                   5.2264952788528545610e+3};
  static constexpr double kC[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                   5.76949722146069140550e0,  3.64784832476320460504e0,
                                   1.27045825245236838258e0,  2.41780725177450611770e-1,
                                   2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double kD[8] = {1.0,
                                   2.05319162663775882187e0,
                                   1.67638483018380384940e0,
                                   6.89767334985100004550e-1,
                                   1.48103976427480074590e-1,
                                   1.51986665636164571966e-2,
                                   5.47593808499534494600e-4,
                                   1.05075007164441684324e-9};
  static constexpr double kE[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                   1.78482653991729133580e0,  2.96560571828504891230e-1,
                                   2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                   2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double kF[8] = {1.0,
                                   5.99832206555887937690e-1,
                                   1.36929880922735805310e-1,
                                   1.48753612908506148525e-2,
                                   7.86869131145613259100e-4,
                                   1.84631831751005468180e-5,
                                   1.42151175831644588870e-7,
                                   2.04426310338993978564e-15};
  if (p <= 0 || p >= 1) return std::copysign(HUGE_VAL, p - 0.5);
  double q = p - 0.5;
  if (std::abs(q) <= 0.425) return q * ratio(kA, kB, 0.180625 - q * q);
  double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  double x = r <= 5 ? ratio(kC, kD, r - 1.6) : ratio(kE, kF, r - 5);
  return q < 0 ? -x : x;
}

template <class T>
void fill_truncated_normal(Engine& engine, T* out, int64_t n, double mean, double stddev,
                           double low, double high) {
  const T from = static_cast<T>(normal_cdf((low - mean) / stddev));
  const T to = static_cast<T>(normal_cdf((high - mean) / stddev));
  for (int64_t i = 0; i < n; ++i) {
    // Rounded to T here and there, so that also the rare values far out are those of Paddle's
    // seeds.
    const T p = from + (to - from) * unit<T>(engine), z = 2 * p - 1;
    double x = normal_quantile((1.0 + z) / 2) * stddev + mean;
    out[i] = static_cast<T>(std::clamp(x, low, high));
  }
}

// An integer of [0, range), range > 0.
uint64_t draw_below(Engine& engine, uint64_t range) {
  auto product = static_cast<unsigned __int128>(engine()) * range;
  if (static_cast<uint64_t>(product) < range) [[unlikely]] {
    uint64_t biased = -range % range;
    while (static_cast<uint64_t>(product) < biased) {
      product = static_cast<unsigned __int128>(engine()) * range;
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

template <class T>
void fill_integers(Engine& engine, T* out, int64_t n, T low, T high) {
  uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<T>(static_cast<uint64_t>(low) + draw_below(engine, range));
}

// Each element is swapped with one that is not behind it. One draw gives the places of two
// elements, of (i + 1) * (i + 2) pairs, so of an even number the second element goes alone.
template <class T>
void fill_permutation(Engine& engine, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(i);
  const uint64_t count = static_cast<uint64_t>(n);
  uint64_t i = 1;
  if (count > UINT32_MAX) {  // the number of pairs needs more than 64 bits
    for (; i < count; ++i) std::swap(out[i], out[draw_below(engine, i + 1)]);
    return;
  }
  if (count && count % 2 == 0) std::swap(out[i], out[draw_below(engine, 2)]), ++i;
  for (; i < count; i += 2) {
    const uint64_t pair = draw_below(engine, (i + 1) * (i + 2));
    std::swap(out[i], out[pair / (i + 2)]);
    std::swap(out[i + 1], out[pair % (i + 2)]);
  }
}

template <class T>
void fill_bernoulli(Engine& engine, T* out, const T* p, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = unit<T>(engine) < p[i];
}

template <class T>
void fill_exponential(Engine& engine, T* out, int64_t n, T rate) {
  T scale = -1 / rate;
  for (int64_t i = 0; i < n; ++i) out[i] = scale * std::log(1 - unit<T>(engine));
}

// Poisson numbers of one mean (Devroye 1986, X.3). Below 12: how many factors u it takes to get
// below e^-mean. Else by rejection around the mode m: x, the distance from it, comes from a density
// that lies above all in five parts: half a normal to its left, half a normal up to d to its right,
// the points -1, 0 and 1, and an exponential tail. The order of draws and of roundings is part of
// the contract.
class Poisson {
 public:
  Poisson(Engine& engine, double mean) : engine_(engine), mean_(mean) {}

  int draw() { return mean_ < 12 ? draw_few() : draw_many(); }

 private:
  static constexpr double kPi4 = 0.78539816339744830962;      // pi / 4
  static constexpr double kRootPi2 = 1.25331413731550025121;  // sqrt(pi / 2)
  static constexpr double kExp78 = 1.01290304793200183186;    // e^(1 / 78)
  static constexpr double kBelowHalf = (1 - 0x1p-52) / 2;

  int draw_few() {
    const double least = std::exp(-mean_);
    int factors = 0;
    double product = 1;
    do {
      product *= unit<double>(engine_);
      ++factors;
    } while (product > least);
    return factors - 1;
  }

  int draw_many() {
    const double m = std::floor(mean_), log_mean = std::log(mean_), log_top = std::lgamma(m + 1);
    const double left = std::sqrt(m);
    const double d =
        std::round(std::max(6.0, std::min(m, std::sqrt(2 * m * std::log(32 * m / kPi4)))));
    const double both = 2 * m + d, right = std::sqrt(both / 2), inverse = 1 / both;
    // Where each part ends.
    const double at_left = left * kRootPi2;
    const double at_right = std::sqrt(kPi4 * both) * std::exp(inverse) + at_left;
    const double at_less = at_right + 1, at_none = at_less + 1, at_more = at_none + kExp78;
    const double all = 2 * both * std::exp(-d * inverse * (1 + d / 2)) / d + at_more;
    for (;;) {
      const double u = all * unit<double>(engine_);
      const double e = -std::log(1.0 - unit<double>(engine_));
      double x, w = 0;
      if (u <= at_left) {
        const double z = normal();
        x = std::floor(-std::abs(z) * left - 1);
        w = -z * z / 2;
        if (x < -m) continue;
      } else if (u <= at_right) {
        const double y = 1 + std::abs(normal()) * right;
        x = std::ceil(y);
        w = y * (2 - y) * inverse;
        if (x > d) continue;
      } else if (u <= at_less) {
        x = -1;
      } else if (u <= at_none) {
        x = 0;
      } else if (u <= at_more) {
        x = 1;
        w = 1.0 / 78;
      } else {
        const double y = d + -std::log(1.0 - unit<double>(engine_)) * (2 * both) / d;
        x = std::ceil(y);
        w = -d * inverse * (1 + y / 2);
      }
      if (w - e - x * log_mean > log_top - std::lgamma(x + m + 1)) continue;
      if (x + m >= std::numeric_limits<int>::max() + kBelowHalf) continue;
      return static_cast<int>(x + m + kBelowHalf);
    }
  }

  // Normals come in pairs, as in fill_normal; the second waits.
  double normal() {
    if (waits_) {
      waits_ = false;
      return second_;
    }
    double x, y, square;
    draw_points(engine_, &x, &y, &square, 1);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    second_ = x * factor;
    waits_ = true;
    return y * factor;
  }

  Engine& engine_;
  const double mean_;
  double second_ = 0;
  bool waits_ = false;
};

template <class T>
void fill_poisson(Engine& engine, T* out, const T* mean, int64_t n) {
  constexpr T kMost = T(2e9);  // what is drawn is an int; larger means would never be done
  for (int64_t i = 0; i < n; ++i) {
    ARGOSY_CHECK(!(mean[i] > kMost), invalid_argument)
        << "[poisson] a mean must be at most " << kMost << ", got " << mean[i]
        << ". Do this: draw from a normal distribution instead.";
    out[i] = 0;
    if (mean[i] > 0) out[i] = static_cast<T>(Poisson(engine, mean[i]).draw());
  }
}

// With x normal, d (1 + c x)^3 is nearly Gamma(shape) for d = shape - 1/3, c = 1 / sqrt(9 d); the
// rest is rejected. A shape below 1 goes through shape + 1. (The float constants are part of the
// contract.)
template <class T>
void fill_gamma(Engine& engine, T* out, const T* shapes, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T shape = shapes[i], scale = 1;
    out[i] = 0;
    if (!(shape > 0)) continue;
    if (shape < 1) scale = std::pow(1 - unit<T>(engine), 1 / shape), shape += 1;
    T d = shape - static_cast<T>(1.0f / 3.0f), c = 1 / std::sqrt(9 * d);
    for (;;) {
      T x;
      fill_normal<T>(engine, &x, 1, 0, 1);
      T v = 1 + c * x;
      if (v <= 0) continue;
      v = v * v * v;
      T u = 1 - unit<T>(engine), square = x * x;
      if (u < 1 - static_cast<T>(0.0331f) * square * square ||
          std::log(u) < static_cast<T>(0.5) * square + d * (1 - v + std::log(v))) {
        out[i] = scale * d * v;
        break;
      }
    }
  }
}

// Counts geometric waiting times (Devroye 1986). For trials * p < 10.
template <class T>
int64_t binomial_by_waiting(Engine& engine, T trials, T p) {
  T sum = 0, log_failure = std::log1p(-p);
  for (int64_t count = 0;; ++count) {
    sum += std::ceil(std::log(unit<T>(engine)) / log_failure);
    if (sum > trials) return count;
  }
}

// What Stirling's formula for log(k!) lacks.
template <class T>
T stirling_rest(T k) {
  static constexpr double kSmall[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                      0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                      0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                      0.00833056343336287};
  if (k <= 9) return static_cast<T>(kSmall[static_cast<int>(k)]);
  T square = (k + 1) * (k + 1);
  return static_cast<T>((1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1));
}

// Transformed rejection (Hoermann 1993, algorithm BTRS). For p <= 1/2, trials * p >= 10.
template <class T>
int64_t binomial_by_rejection(Engine& engine, T n, T p) {
  T spread = std::sqrt(n * p * (1 - p));
  T b = static_cast<T>(1.15 + 2.53 * spread);
  T a = static_cast<T>(-0.0873 + 0.0248 * b + 0.01 * p);
  T c = static_cast<T>(n * p + 0.5), v_r = static_cast<T>(0.92 - 4.2 / b), odds = p / (1 - p);
  T alpha = static_cast<T>((2.83 + 5.1 / b) * spread), m = std::floor((n + 1) * p);
  for (;;) {
    T u = static_cast<T>(unit<T>(engine) - 0.5), v = unit<T>(engine);
    T us = static_cast<T>(0.5 - std::abs(u)), k = std::floor((2 * a / us + b) * u + c);
    if (k < 0 || k > n) continue;
    if (us >= 0.07 && v <= v_r) return static_cast<int64_t>(k);
    v = std::log(v * alpha / (a / (us * us) + b));
    T bound = static_cast<T>((m + 0.5) * std::log((m + 1) / (odds * (n - m + 1))) +
                             (n + 1) * std::log((n - m + 1) / (n - k + 1)) +
                             (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_rest(m) +
                             stirling_rest(n - m) - stirling_rest(k) - stirling_rest(n - k));
    if (v <= bound) return static_cast<int64_t>(k);
  }
}

template <class T>
void fill_binomial(Engine& engine, int64_t* out, const int64_t* trials, const T* p, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = 0;
    if (!(trials[i] > 0 && p[i] > 0)) continue;
    out[i] = trials[i];
    if (p[i] >= 1) continue;
    T count = static_cast<T>(trials[i]), q = p[i] <= T(0.5) ? p[i] : 1 - p[i];
    int64_t drawn = count * q >= 10 ? binomial_by_rejection(engine, count, q)
                                    : binomial_by_waiting(engine, count, q);
    out[i] = p[i] <= T(0.5) ? drawn : trials[i] - drawn;
  }
}

template <class T>
void check_weights(const T* weights, int64_t categories, int64_t samples, bool replacement) {
  T sum = 0;
  int64_t nonzero = 0;
  for (int64_t i = 0; i < categories; ++i) {
    ARGOSY_CHECK(weights[i] >= 0 && std::isfinite(weights[i]), invalid_argument)
        << "[multinomial] expected weights >= 0 that are finite, got "
        << static_cast<double>(weights[i]) << " for category " << i << '.';
    sum += weights[i];
    nonzero += weights[i] != 0;
  }
  ARGOSY_CHECK(sum > 0, invalid_argument)
      << "[multinomial] expected a weight > 0, got " << categories << " zeros.";
  ARGOSY_CHECK(replacement || nonzero >= samples, invalid_argument)
      << "[multinomial] cannot draw " << samples << " samples without replacement from " << nonzero
      << " categories of weight > 0. Do this: draw fewer, or pass replacement=True.";
}

// The first category whose cumulative probability is >= u and that can be drawn, also where u is 0
// or rounding leaves the last sum below u.
template <class T>
int64_t category_at(const std::vector<T>& cumulative, T u) {
  auto found = std::lower_bound(cumulative.begin(), cumulative.end(), u);
  if (found == cumulative.end()) {
    found = std::lower_bound(cumulative.begin(), cumulative.end(), cumulative.back());
  } else if (*found == 0) {
    found = std::upper_bound(found, cumulative.end(), T{0});
  }
  return found - cumulative.begin();
}

template <class T>
void fill_multinomial(Engine& engine, int64_t* out, const T* weights, int64_t rows,
                      int64_t categories, int64_t samples, bool replacement) {
  for (int64_t r = 0; r < rows; ++r) {
    check_weights(weights + r * categories, categories, samples, replacement);
  }
  std::vector<T> cumulative(categories);
  for (int64_t r = 0; r < rows; ++r, weights += categories, out += samples) {
    T sum = std::accumulate(weights, weights + categories, T{0}), partial = 0;
    for (int64_t i = 0; i < categories; ++i) cumulative[i] = (partial += weights[i]) / sum;
    for (int64_t s = 0; s < samples; ++s) {
      int64_t chosen = out[s] = category_at(cumulative, unit<T>(engine));
      if (replacement) continue;
      T share = cumulative[chosen] - (chosen > 0 ? cumulative[chosen - 1] : 0), left = 1 - share;
      for (int64_t i = 0; i < chosen; ++i) cumulative[i] /= left;
      for (int64_t i = chosen; i < categories; ++i) cumulative[i] = (cumulative[i] - share) / left;
    }
  }
}

// unit<float>(word) < p for the words below this many.
unsigned __int128 words_below(float p) {
  unsigned __int128 low = 0, high = static_cast<unsigned __int128>(1) << 64;
  while (low < high) {
    unsigned __int128 middle = low + (high - low) / 2;
    if (unit<float>(static_cast<uint64_t>(middle)) < p) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void fill_dropped(Engine& engine, uint8_t* out, int64_t n, float p) {
  unsigned __int128 below = words_below(p);
  uint64_t last = static_cast<uint64_t>(below - 1);
  if (below == 0) {
    for (int64_t i = 0; i < n; ++i) engine();
    std::fill(out, out + n, uint8_t{0});
  } else {
    while (n > 0) {
      std::span<const uint64_t> words = engine.take(n);
      for (size_t i = 0; i < words.size(); ++i) out[i] = words[i] <= last;
      out += words.size();
      n -= static_cast<int64_t>(words.size());
    }
  }
}

void fill_kept_bits(Engine& engine, uint8_t* out, int64_t n, float p) {
  const unsigned __int128 below = words_below(p);
  const bool all = below == 0;
  const uint64_t last = static_cast<uint64_t>(below - 1);
  uint8_t flags[Engine::kWords + 16];
  size_t waiting = 0;  // choices that do not fill a byte yet
  while (n > 0) {
    const std::span<const uint64_t> words = engine.take(n);
    for (size_t i = 0; i < words.size(); ++i) flags[waiting + i] = all | (words[i] > last);
    n -= static_cast<int64_t>(words.size());
    const size_t count = waiting + words.size();
    if (n == 0) std::fill_n(flags + count, 7, uint8_t{0});
    const size_t end = n == 0 ? (count + 7) / 8 * 8 : count / 8 * 8;
    for (size_t i = 0; i < end; i += 8) {
      uint64_t eight;
      std::memcpy(&eight, flags + i, 8);
      *out++ = static_cast<uint8_t>(eight * 0x0102040810204080u >> 56);  // byte i's bit to bit i
    }
    waiting = count > end ? count - end : 0;
    std::copy_n(flags + end, waiting, flags);
  }
}

constexpr char kMagic[8] = {'A', 'R', 'G', 'O', 'S', 'Y', 'R', '2'};
constexpr char kOldMagic[8] = {'A', 'R', 'G', 'O', 'S', 'Y', 'R', '1'};  // without `place`
struct Saved {
  char magic[8];
  uint64_t seed;
  uint64_t position;
  uint64_t words[Engine::kWords];
  uint64_t place;
};
constexpr size_t kOldSize = offsetof(Saved, place);

// Is it a state? An old one begins at place 0.
bool read_state(std::string_view bytes, Saved& saved) {
  const bool old = bytes.size() == kOldSize;
  if (!old && bytes.size() != sizeof(saved)) return false;
  saved.place = 0;
  std::memcpy(static_cast<void*>(&saved), bytes.data(), bytes.size());
  return !std::memcmp(saved.magic, old ? kOldMagic : kMagic, sizeof(kMagic)) &&
         saved.position <= Engine::kWords;
}

// The generator is the thread's, after all that was called before.
class Turn {
 public:
  explicit Turn(std::mutex& mutex) : lock_(mutex, std::defer_lock) {
    wait_for_draws();
    lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace

Generator::State::State() {
  Registry::instance().add(&mutex);
}
Generator::State::~State() {
  Registry::instance().remove(&mutex);
}

// Nobody else draws from it yet.
Generator::Generator(uint64_t value) : state_(std::make_unique<State>()) {
  state_->engine.seed_sequence(value);
  state_->seed = value;
}
Generator::~Generator() = default;

void Generator::seed(uint64_t value) {
  const Turn turn(state_->mutex);
  state_->engine.seed_sequence(value);
  state_->seed = value;
  state_->place = 0;
}

void Generator::seed_for_op(uint64_t value) {
  const Turn turn(state_->mutex);
  state_->engine.seed(value);
  state_->seed = value;
  state_->place = 0;
}

uint64_t Generator::initial_seed() const {
  const Turn turn(state_->mutex);
  return state_->seed;
}

Generator::Places Generator::take_places(uint64_t count) {
  const Turn turn(state_->mutex);
  const uint64_t first = state_->place;
  state_->place += count;
  return {state_->seed, first};
}

std::string Generator::state() const {
  Saved saved;
  {
    const Turn turn(state_->mutex);
    std::memcpy(saved.magic, kMagic, sizeof(kMagic));
    saved.seed = state_->seed;
    saved.place = state_->place;
    saved.position = static_cast<uint64_t>(state_->engine.position());
    std::memcpy(saved.words, state_->engine.words(), sizeof(saved.words));
  }
  return std::string(reinterpret_cast<const char*>(&saved), sizeof(saved));
}

void Generator::set_state(std::string_view bytes) {
  Saved saved;
  ARGOSY_CHECK(read_state(bytes, saved), invalid_argument)
      << "[set_rng_state] expected the " << sizeof(saved) << " bytes of a generator's state, got "
      << bytes.size()
      << " bytes that are not one. Do this: pass what get_rng_state returned, unchanged.";
  const Turn turn(state_->mutex);
  state_->engine.restore(saved.words, static_cast<int>(saved.position));
  state_->seed = saved.seed;
  state_->place = saved.place;
}

// Each draws under the lock.
#define ARGOSY_DRAW(call)          \
  const Turn turn(state_->mutex);  \
  Engine& engine = state_->engine; \
  call

uint64_t Generator::word() {
  ARGOSY_DRAW(return engine();)
}

#define ARGOSY_FILL(T, Out)                                       \
  void Generator::uniform(Out* out, int64_t n, T low, T high) {   \
    ARGOSY_DRAW(fill_uniform(engine, out, n, low, high);)         \
  }                                                               \
  void Generator::normal(Out* out, int64_t n, T mean, T stddev) { \
    ARGOSY_DRAW(fill_normal(engine, out, n, mean, stddev);)       \
  }
ARGOSY_FILL(double, double)
ARGOSY_FILL(float, float)
ARGOSY_FILL(float, float16)
ARGOSY_FILL(float, bfloat16)

#define ARGOSY_FILL_REAL(T)                                                                      \
  void Generator::truncated_normal(T* out, int64_t n, double mean, double stddev, double low,    \
                                   double high) {                                                \
    ARGOSY_DRAW(fill_truncated_normal(engine, out, n, mean, stddev, low, high);)                 \
  }                                                                                              \
  void Generator::bernoulli(T* out, const T* p, int64_t n) {                                     \
    ARGOSY_DRAW(fill_bernoulli(engine, out, p, n);)                                              \
  }                                                                                              \
  void Generator::exponential(T* out, int64_t n, T rate) {                                       \
    ARGOSY_DRAW(fill_exponential(engine, out, n, rate);)                                         \
  }                                                                                              \
  void Generator::poisson(T* out, const T* mean, int64_t n) {                                    \
    ARGOSY_DRAW(fill_poisson(engine, out, mean, n);)                                             \
  }                                                                                              \
  void Generator::gamma(T* out, const T* shape, int64_t n) {                                     \
    ARGOSY_DRAW(fill_gamma(engine, out, shape, n);)                                              \
  }                                                                                              \
  void Generator::binomial(int64_t* out, const int64_t* trials, const T* p, int64_t n) {         \
    ARGOSY_DRAW(fill_binomial(engine, out, trials, p, n);)                                       \
  }                                                                                              \
  void Generator::multinomial(int64_t* out, const T* weights, int64_t rows, int64_t categories,  \
                              int64_t samples, bool replacement) {                               \
    ARGOSY_DRAW(fill_multinomial(engine, out, weights, rows, categories, samples, replacement);) \
  }
ARGOSY_FILL_REAL(double)
ARGOSY_FILL_REAL(float)

#define ARGOSY_FILL_PERMUTATION(T)                 \
  void Generator::permutation(T* out, int64_t n) { \
    ARGOSY_DRAW(fill_permutation(engine, out, n);) \
  }
ARGOSY_FILL_PERMUTATION(int32_t)
ARGOSY_FILL_PERMUTATION(int64_t)
ARGOSY_FILL_PERMUTATION(float)
ARGOSY_FILL_PERMUTATION(double)

void Generator::integers(int32_t* out, int64_t n, int32_t low, int32_t high) {
  ARGOSY_DRAW(fill_integers(engine, out, n, low, high);)
}
void Generator::integers(int64_t* out, int64_t n, int64_t low, int64_t high) {
  ARGOSY_DRAW(fill_integers(engine, out, n, low, high);)
}

void Generator::dropped(uint8_t* out, int64_t n, float p) {
  ARGOSY_DRAW(fill_dropped(engine, out, n, p);)
}
void Generator::kept_bits(uint8_t* out, int64_t n, float p) {
  ARGOSY_DRAW(fill_kept_bits(engine, out, n, p);)
}

}  // namespace argosy::random

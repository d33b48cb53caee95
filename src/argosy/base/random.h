#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "argosy/base/export.h"
#include "argosy/base/half.h"
#include "argosy/base/place.h"

// Seeded random numbers. For the same seed and the same calls the values are bit for bit those of
// PaddlePaddle 3.3.1 on the CPU where [= Paddle] stands, so what is drawn in which order is a
// contract; tests/cpp/base/random_test.cc holds values that Paddle gave. They come from the 64-bit
// Mersenne Twister (Matsumoto and Nishimura) and the formulas that libstdc++ uses for the standard
// distributions, written out here so that no library may change them. Code that must keep to them
// is compiled without fused multiply-add.
//
// Below, T is the type of the values, `word` the next 64-bit output, and
//   u = T(word) * 2^-64, or the largest T below 1 where that rounds to 1 (one word).
// 16-bit types are computed in float and rounded at the end.
namespace argosy::random {

// mt19937_64, with its state at hand.
class ARGOSY_API Engine {
 public:
  using result_type = uint64_t;
  static constexpr int kWords = 312;

  // The C++ library's seed(value), and seed(seed_seq{value}) of the value's low 32 bits.
  void seed(uint64_t value);
  void seed_sequence(uint64_t value);

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }
  uint64_t operator()() {
    if (position_ == kWords) refill();
    return out_[position_++];
  }
  // The next words at once: at least 1 and at most `most`, valid until the next call.
  std::span<const uint64_t> take(int64_t most) {
    if (position_ == kWords) refill();
    int count = static_cast<int>(std::min<int64_t>(most, kWords - position_));
    position_ += count;
    return {out_ + position_ - count, static_cast<size_t>(count)};
  }

  // The recurrence's words, and how many of the current outputs are used up (0 to kWords).
  const uint64_t* words() const { return words_; }
  int position() const { return position_; }
  void restore(const uint64_t* words, int position);

 private:
  void refill();
  void temper();

  uint64_t words_[kWords] = {};
  uint64_t out_[kWords] = {};
  int position_ = kWords;
};

// Thread safe: each call holds the generator's lock until its last value is drawn, so what one call
// draws is contiguous in the stream.
class ARGOSY_API Generator {
 public:
  // As after seed(value).
  explicit Generator(uint64_t value = 0);
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // Restarts the stream: paddle.seed(value). Like there, only the low 32 bits count.
  void seed(uint64_t value);
  // Restarts it as an op with a `seed` attribute of its own (other than 0) does.
  void seed_for_op(uint64_t value);
  uint64_t initial_seed() const;  // of the last seed..(), kept by states

  // Numbers of devices are functions of (seed, place, index): a call takes places of its own, as
  // many as it needs, so that what it draws depends on the seed and the calls before alone. seed()
  // begins at 0 again. These places and the stream of words know nothing of each other.
  struct Places {
    uint64_t seed = 0, first = 0;
  };
  Places take_places(uint64_t count);

  // Seed and position of the stream, and the next place, as bytes, the same on every machine;
  // set_state throws ErrorKind::invalid_argument for anything that state() did not give.
  std::string state() const;
  void set_state(std::string_view bytes);

  uint64_t word();

  // low + u * (high - low), in index order. [= Paddle, whose ops round low and high to float also
  // for double]
  void uniform(double* out, int64_t n, double low, double high);
  void uniform(float* out, int64_t n, float low, float high);
  void uniform(float16* out, int64_t n, float low, float high);
  void uniform(bfloat16* out, int64_t n, float low, float high);

  // Marsaglia's polar method: x = 2u - 1, y = 2u - 1 until 0 < r = x*x + y*y <= 1; then
  // m = sqrt(-2 log(r) / r) gives y*m and, as the next value, x*m (dropped at the end of an odd n);
  // value * stddev + mean. [= Paddle, whose ops round mean and stddev to float also for double, and
  // draw complex numbers as pairs of these with float(1/sqrt(2)) * stddev]
  void normal(double* out, int64_t n, double mean, double stddev);
  void normal(float* out, int64_t n, float mean, float stddev);
  void normal(float16* out, int64_t n, float mean, float stddev);
  void normal(bfloat16* out, int64_t n, float mean, float stddev);

  // Normal, cut to low <= value <= high, by the inverse of the distribution function at
  // cdf(low) + u * (cdf(high) - cdf(low)). [as Paddle up to rounding]
  void truncated_normal(double* out, int64_t n, double mean, double stddev, double low,
                        double high);
  void truncated_normal(float* out, int64_t n, double mean, double stddev, double low, double high);

  // Integers of [low, high), low < high: the high 64 bits of word * (high - low), with the words
  // that would bias it redrawn (Lemire 2019). [= Paddle]
  void integers(int32_t* out, int64_t n, int32_t low, int32_t high);
  void integers(int64_t* out, int64_t n, int64_t low, int64_t high);

  // 0 .. n-1 shuffled: from the second on, in pairs (the second alone if n is even), each element
  // is swapped with one at or before its place. [= Paddle, and so std::shuffle of libstdc++]
  void permutation(int32_t* out, int64_t n);
  void permutation(int64_t* out, int64_t n);
  void permutation(float* out, int64_t n);
  void permutation(double* out, int64_t n);

  // 1 where u < p[i], else 0. [= Paddle]
  void bernoulli(double* out, const double* p, int64_t n);
  void bernoulli(float* out, const float* p, int64_t n);
  // 1 where u < p, u a float: what dropout drops, whatever the tensor's dtype. [= Paddle]
  void dropped(uint8_t* out, int64_t n, float p);
  // The same choices as bits, turned round: bit i % 8 of byte i / 8 is 0 where `dropped` gives 1.
  // Bits after the last are 0.
  void kept_bits(uint8_t* out, int64_t n, float p);

  // -1/rate * log(1 - u). [= Paddle, with rate rounded to float]
  void exponential(double* out, int64_t n, double rate);
  void exponential(float* out, int64_t n, float rate);

  // Below a mean of 12 by products of u, else by rejection (Devroye 1986); 0 where mean <= 0.
  // [= Paddle, and so std::poisson_distribution<int> of libstdc++, a new one for each element]
  void poisson(double* out, const double* mean, int64_t n);
  void poisson(float* out, const float* mean, int64_t n);

  // Gamma of scale 1 (Marsaglia and Tsang 2000); 0 where shape <= 0. For each value: if shape < 1,
  // first u of the factor (1 - u)^(1/shape); then pairs of a normal (as `normal`, n = 1) and u,
  // until one is accepted; no u is drawn where 1 + c * normal <= 0. [= Paddle]
  void gamma(double* out, const double* shape, int64_t n);
  void gamma(float* out, const float* shape, int64_t n);

  // By q = min(p, 1 - p): trials * q < 10 by waiting times, else by transformed rejection; nothing
  // is drawn where the result is certain (p <= 0, p >= 1, trials <= 0). [= Paddle]
  void binomial(int64_t* out, const int64_t* trials, const double* p, int64_t n);
  void binomial(int64_t* out, const int64_t* trials, const float* p, int64_t n);

  // Row by row: `samples` indices of each row of `weights` [rows, categories], drawn with
  // probability proportional to the weight: the first i whose cumulative probability c[i], sum of
  // weights up to i / sum of all, is >= u. Without replacement the share of i is then taken off
  // c[i] and all after it, and c divided by 1 - share. All sums in T. [= Paddle] Throws
  // ErrorKind::invalid_argument for weights that are negative or not finite, a row of zeros, and
  // fewer nonzero weights than samples without replacement.
  void multinomial(int64_t* out, const double* weights, int64_t rows, int64_t categories,
                   int64_t samples, bool replacement);
  void multinomial(int64_t* out, const float* weights, int64_t rows, int64_t categories,
                   int64_t samples, bool replacement);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The generator of a place, seeded by chance at the first use. The CPU has one.
ARGOSY_API Generator& default_generator(Place place);
// paddle.seed: restarts the default generators of all places, also of those not used yet.
ARGOSY_API void seed(uint64_t value);
ARGOSY_API uint64_t entropy();  // a seed by chance

}  // namespace argosy::random

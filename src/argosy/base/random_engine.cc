#include <algorithm>
#include <random>

#include "argosy/base/random.h"

namespace argosy::random {
namespace {

constexpr int kMiddle = 156;

uint64_t next_word(uint64_t high, uint64_t low, uint64_t middle) {
  constexpr uint64_t kLowBits = (uint64_t{1} << 31) - 1;
  uint64_t y = (high & ~kLowBits) | (low & kLowBits);
  return middle ^ (y >> 1) ^ (-(y & 1) & 0xb5026f5aa96619e9);
}

}  // namespace

void Engine::seed(uint64_t value) {
  words_[0] = value;
  for (uint64_t i = 1; i < kWords; ++i) {
    words_[i] = 6364136223846793005 * (words_[i - 1] ^ (words_[i - 1] >> 62)) + i;
  }
  position_ = kWords;
}

void Engine::seed_sequence(uint64_t value) {
  // The seeding of the standard, whose generate() gives the words' halves, low first.
  std::seed_seq sequence{static_cast<uint32_t>(value)};
  uint32_t halves[2 * kWords];
  sequence.generate(halves, halves + 2 * kWords);
  bool zero = true;
  for (int i = 0; i < kWords; ++i) {
    words_[i] = halves[2 * i] | static_cast<uint64_t>(halves[2 * i + 1]) << 32;
    zero &= (i == 0 ? words_[i] >> 31 : words_[i]) == 0;
  }
  if (zero) words_[0] = uint64_t{1} << 63;
  position_ = kWords;
}

void Engine::restore(const uint64_t* words, int position) {
  std::copy(words, words + kWords, words_);
  position_ = position;
  temper();
}

void Engine::refill() {
  uint64_t* w = words_;
  for (int i = 0; i < kWords - kMiddle; ++i) w[i] = next_word(w[i], w[i + 1], w[i + kMiddle]);
  for (int i = kWords - kMiddle; i < kWords - 1; ++i) {
    w[i] = next_word(w[i], w[i + 1], w[i + kMiddle - kWords]);
  }
  w[kWords - 1] = next_word(w[kWords - 1], w[0], w[kMiddle - 1]);
  temper();
  position_ = 0;
}

void Engine::temper() {
  for (int i = 0; i < kWords; ++i) {
    uint64_t z = words_[i];
    z ^= (z >> 29) & 0x5555555555555555;
    z ^= (z << 17) & 0x71d67fffeda60000;
    z ^= (z << 37) & 0xfff7eee000000000;
    out_[i] = z ^ (z >> 43);
  }
}

}  // namespace argosy::random

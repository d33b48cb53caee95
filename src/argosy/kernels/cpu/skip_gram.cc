#include "argosy/kernels/cpu/skip_gram.h"

#include <algorithm>
#include <utility>

#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/simd/skip_gram.h"

namespace argosy::cpu {
namespace {

constexpr int kMost = 64;  // targets of a pair

uint64_t next(uint64_t* state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

int64_t draw(const Noise& noise, uint64_t* state) {
  const uint64_t r = next(state);
  const auto i = static_cast<int64_t>(((r >> 32) * static_cast<uint64_t>(noise.words)) >> 32);
  const float u = static_cast<float>((r & 0xffffffff) >> 8) * 0x1p-24f;
  return u < noise.threshold[i] ? i : noise.alias[i];
}

struct Pair {
  float* input = nullptr;
  float* targets[kMost];
  int count = 0;
};

void prefetch_row(const float* row, int64_t dim) {
  for (int64_t i = 0; i < dim; i += 16) __builtin_prefetch(row + i, 1);
}

}  // namespace

SkipGramResult train_skip_gram(const SkipGram& s, const int64_t* sentence, int64_t length,
                               uint64_t* state) {
  const bool wide = isa() == Isa::avx512;
  const auto logits_of = wide ? avx512::skip_gram_logits : avx2::skip_gram_logits;
  const auto steps_of = wide ? avx512::skip_gram_steps : avx2::skip_gram_steps;
  const auto update = wide ? avx512::skip_gram_update : avx2::skip_gram_update;

  SkipGramResult result;
  Pair pairs[2];  // the one at work, and the next, whose rows are on their way from memory
  Pair* now = &pairs[0];
  Pair* coming = &pairs[1];
  const auto train = [&](const Pair& p) {
    if (!p.count) return;
    float logits[kMost], steps[kMost];
    logits_of(s.dim, p.input, p.targets, p.count, logits);
    result.loss += static_cast<double>(steps_of(logits, p.count, s.learning_rate, steps));
    update(s.dim, p.input, p.targets, steps, p.count);
    ++result.pairs;
  };
  for (int64_t i = 0; i < length; ++i) {
    const int64_t reach = 1 + static_cast<int64_t>(next(state) % static_cast<uint64_t>(s.window));
    const int64_t begin = std::max<int64_t>(0, i - reach), end = std::min(length, i + reach + 1);
    for (int64_t j = begin; j < end; ++j) {
      if (j == i) continue;
      coming->input = s.words + sentence[j] * s.dim;
      coming->targets[0] = s.contexts + sentence[i] * s.dim;
      coming->count = 1;
      for (int k = 0; k < s.negatives; ++k) {
        const int64_t word = draw(s.noise, state);
        if (word == sentence[i]) continue;
        float* row = s.contexts + word * s.dim;
        prefetch_row(row, s.dim);
        coming->targets[coming->count++] = row;
      }
      train(*now);
      std::swap(now, coming);
    }
  }
  train(*now);
  return result;
}

}  // namespace argosy::cpu

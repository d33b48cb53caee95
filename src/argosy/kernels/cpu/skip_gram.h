#pragma once

#include <cstdint>

#include "argosy/base/export.h"

// Skip-gram with negative sampling (Mikolov et al. 2013), trained in place.
namespace argosy::cpu {

// The words that negatives are drawn from, as an alias table (Walker 1977): place i stands for word
// i below threshold[i], else for alias[i].
struct Noise {
  const float* threshold;
  const int64_t* alias;
  int64_t words;
};

// Words to the left and right are those of one sentence. `words` and `contexts` are tables of rows
// [.., dim]; other threads may train the same tables: then an update may be lost, none is torn by
// more than a vector register.
struct SkipGram {
  float* words;
  float* contexts;
  int64_t dim;
  int window;     // at most this many words to each side; each center draws its own in [1, window]
  int negatives;  // of each pair; one that is the center itself is left out
  float learning_rate;
  Noise noise;
};

struct SkipGramResult {
  double loss = 0;  // -log sigmoid(positive) - sum of log sigmoid(-negative), over all pairs
  int64_t pairs = 0;
};

// Trains on one sentence; `state` is the generator's, SplitMix64, and moves on.
ARGOSY_API SkipGramResult train_skip_gram(const SkipGram& s, const int64_t* sentence,
                                          int64_t length, uint64_t* state);

}  // namespace argosy::cpu

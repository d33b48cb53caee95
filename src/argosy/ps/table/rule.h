#pragma once

#include <cstddef>
#include <cstdint>

#include "argosy/ps/config.h"
#include "argosy/ps/key.h"

// How weights follow gradients: one function call for a group of rows, none for a row.
//
// A part of a row is [weights][state], both at offsets that are multiples of 4. Weights are stored
// as
//   float32   4 * dim bytes
//   float16   2 * dim bytes, filled up to a multiple of 4
//   int8      a float32 scale, then dim bytes, filled up to a multiple of 4; weight = scale * byte
// State is float32: none (sgd, sum), 1 (adagrad), dim (momentum, adagrad_elementwise, adagrad_lazy,
// rmsprop without momentum), 2 dim (rmsprop, ftrl, adam_lazy), 3 dim (adam_lazy with amsgrad),
// 2 dim + 2 (adam), 4 (adam_shared).
namespace argosy::ps {

enum class Storage : uint8_t { float32, float16, int8 };

struct Rule;

// `count` rows. A row may occur more than once: they are updated in order.
struct RuleBatch {
  size_t count = 0;
  std::byte* const* parts = nullptr;
  const float* const* gradients = nullptr;
  const Key* keys = nullptr;
  uint32_t turn = 0;  // of the call; with the keys it decides how packed weights are rounded
  const float* scales = nullptr;  // what gradients are divided by; null: 1
  float learning_rate = 0;
};

struct Rule {
  OptimizerConfig config;
  Storage storage = Storage::float32;
  uint32_t dim = 0;
  uint32_t weight_bytes = 0, state_bytes = 0;
  bool powers = false;  // the state ends with the powers of beta1 and beta2
  uint32_t bytes() const { return weight_bytes + state_bytes; }

  void (*update)(const Rule& rule, const RuleBatch& batch) = nullptr;

  // A new part: weights by key (the `first`th number of the key's stream and on), state at its
  // start.
  void start(std::byte* part, Key key, uint32_t first) const;
  void start_state(std::byte* part) const;
  void read(const std::byte* part, float* weights) const;
  void write(std::byte* part, const float* weights) const;
};

Rule make_rule(const OptimizerConfig& config, uint32_t dim, Storage storage);
Storage storage_of(const std::string& dtype);

// Whether n numbers are all finite.
bool all_finite(const float* values, size_t n);

}  // namespace argosy::ps

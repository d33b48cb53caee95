#pragma once

#include <cstdint>
#include <span>

#include "argosy/ps/key.h"

// What is asked of tables, several at once. They point to memory of the caller.
namespace argosy::ps {

struct SparsePull {
  uint32_t table;
  std::span<const Key> keys;
  float* out;  // [keys, pull width]
};

struct SparsePush {
  uint32_t table;
  std::span<const Key> keys;
  const float* values;  // [keys, push width]
  float learning_rate;  // below 0: the table's own
};

struct DensePush {
  uint32_t table;
  std::span<const float> values;
  float learning_rate;
};

}  // namespace argosy::ps

#pragma once

#include "argosy/op/attrs.h"

// What integers of a width leave of numbers.
namespace argosy::ops {

struct FakeQuantizeAttrs {
  int64_t bit_length = 8;
  int64_t round_type = 1;  // 0: halves to even, after scaling; 1: halves away from zero
  int64_t quant_axis = -1;
};
ARGOSY_ATTRS(FakeQuantizeAttrs, bit_length, round_type, quant_axis)

}  // namespace argosy::ops

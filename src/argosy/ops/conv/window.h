#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/tensor/tensor.h"

// What convolutions and pools share: where the spatial dimensions are, and padding by name.
namespace argosy::ops {

struct Spatial {
  int dims;     // 1 to 3
  int first;    // first spatial dimension of the tensor
  int channel;  // the channel dimension
};

// Of a tensor of rank dims + 2; raises naming op and shape otherwise.
Spatial spatial_of(const char* op, const Shape& x, int dims, bool channels_last);

struct Padding {
  int64_t before, after;
};

// The product of two factors of a size; raises where it and what is added to it could overflow.
int64_t counted_product(const char* op, int64_t a, int64_t b);

// padding: (before, after) of each spatial dimension, read for "EXPLICIT"; "VALID": none; "SAME":
// so that the output is ceil(in / stride), the odd one after. in may be unknown for the first two.
// Raises for numbers whose sums could overflow.
Padding padding_of(const char* op, const std::vector<int64_t>& padding,
                   const std::string& algorithm, int d, int64_t in, int64_t kernel, int64_t stride);

}  // namespace argosy::ops

#pragma once

#include <cstdint>
#include <string>

#include "argosy/infer/onnx/types.h"

// Element types that no dtype is: their values are kept in a wider dtype (dtype_of_element), and
// what makes them rounds to the values that they have.
namespace argosy::infer::onnx {

// How many bits an element takes in a file.
int bits_of(int element);
// The number that these bits are.
double decode(int element, uint32_t bits);

// x, of any element type, as elements of type `to`, in the dtype that holds them. saturate: numbers
// that are too large become the largest, else infinite or not a number. round: of E8M0, "up",
// "down" or "nearest".
Tensor cast_elements(const Tensor& x, int to, bool saturate = true,
                     const std::string& round = "up");

struct Range {
  double low, high;
};
// The least and the largest finite number.
Range range_of(int element);

}  // namespace argosy::infer::onnx

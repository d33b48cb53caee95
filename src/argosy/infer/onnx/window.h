#pragma once

#include <string>
#include <vector>

#include "argosy/infer/onnx/node.h"

namespace argosy::infer::onnx {

// What attributes say of the windows of a convolution or a pool.
struct Window {
  std::vector<int64_t> kernel, stride, dilation;
  std::vector<int64_t> padding;  // (before, after) of each spatial dimension
  bool same = false;             // auto_pad was SAME_UPPER or SAME_LOWER
  bool lower = false;            // it was SAME_LOWER
};

// transposed: padding of SAME is left to the caller, who knows the size that is wanted.
Window window_of(const Node& n, const Tensor& x, std::vector<int64_t> kernel, bool transposed);
// "conv2d" of "conv" and 2.
std::string with_dims(const char* op, size_t dims, const char* tail = "");
// The convolution that the node's attributes describe.
Tensor convolve(const Node& n, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace argosy::infer::onnx

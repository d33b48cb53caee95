#pragma once

#include <string>
#include <vector>

#include "argosy/infer/onnx/node.h"

namespace argosy::infer::onnx {

// What attributes say of the windows of a convolution or a pool.
struct Window {
  std::vector<int64_t> kernel, stride, dilation;
  std::vector<int64_t> padding;  // (before, after) of each spatial dimension
  // "SAME": padding is what our op makes of sizes that only a run knows.
  std::string algorithm = "EXPLICIT";
  bool same = false;   // auto_pad was SAME_UPPER or SAME_LOWER
  bool lower = false;  // it was SAME_LOWER
};

// Who turns auto_pad SAME into numbers, where sizes decide them: window_of, which needs the sizes;
// our op, when it runs, if it can; the caller, of a transposed window.
enum class SamePadding : uint8_t { here, in_op, by_caller };

Window window_of(const Node& n, const Tensor& x, std::vector<int64_t> kernel,
                 SamePadding same = SamePadding::here);
// "conv2d" of "conv" and 2.
std::string with_dims(const char* op, size_t dims, const char* tail = "");
// The convolution that the node's attributes describe.
Tensor convolve(const Node& n, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace argosy::infer::onnx

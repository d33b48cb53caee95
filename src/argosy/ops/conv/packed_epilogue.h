#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "argosy/kernels/cpu/packed.h"
#include "argosy/op/define.h"
#include "argosy/ops/operands.h"

// What ops with packed weights have in common: operands 2 and 3 are a bias and a residual, and the
// attributes post, alpha, beta, scale and shift say what follows the product.
namespace argosy::ops {

// In the order of cpu::PostOp.
inline constexpr std::string_view kPosts[] = {"",          "relu",      "clip",       "elu",
                                              "sigmoid",   "tanh",      "silu",       "gelu",
                                              "gelu_tanh", "hardswish", "hardsigmoid"};

inline void check_post(const op::InferContext& c, const std::string& post) {
  ARGOSY_CHECK(std::find(std::begin(kPosts), std::end(kPosts), post) != std::end(kPosts),
               invalid_argument)
      << '[' << c.name() << "] post: there is no activation '" << post
      << "' for it. Do this: leave the activation as an operation of its own.";
}

template <class A>
cpu::PackedEpilogue epilogue_of(const op::KernelFrame& f, const A& a) {
  cpu::PackedEpilogue e;
  if (f.in[2].defined()) e.bias = f.in[2].data<float>();
  if (f.in[3].defined()) e.residual = f.in[3].data<float>();
  e.post = static_cast<cpu::PostOp>(std::find(std::begin(kPosts), std::end(kPosts), a.post) -
                                    std::begin(kPosts));
  e.alpha = static_cast<float>(a.alpha);
  e.beta = static_cast<float>(a.beta);
  e.scale = static_cast<float>(a.scale);
  e.shift = static_cast<float>(a.shift);
  return e;
}

inline void expect_epilogue(const op::InferContext& c, int64_t channels) {
  expect_size(c, 2, channels);
  if (c.in[3].defined()) expect_shape(c, 3, c.out[0].shape);
}

inline void expect_packed(const op::InferContext& c, size_t i, int64_t bytes) {
  ARGOSY_CHECK(bytes > 0 && c.in[i].rank() == 1 && may_equal(c.in[i].dim(0), bytes),
               invalid_argument)
      << '[' << c.name() << "] weight: expected " << bytes << " packed bytes, got " << c.in[i]
      << ". Do this: pack the weights on this machine, with the attributes of this operation.";
}

}  // namespace argosy::ops

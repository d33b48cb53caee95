#pragma once

#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "argosy/kernels/cpu/packed.h"

// oneDNN's convolutions that read packed weights, kept by what they compute. Private to
// kernels/cpu.
namespace argosy::cpu {

// What a primitive depends on. Compared and hashed as bytes.
struct PackedKey {
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
  int64_t form[2];  // spatial sizes that the weights were packed for; 0: in any order
  int64_t bias, residual, post;
  float alpha, beta, scale, shift;
};

class PackedPrimitive {
 public:
  // `form`: the order that weights have; nothing: that which the primitive likes best.
  // Throws dnnl::error where the library has no code for it.
  PackedPrimitive(const PackedKey& key, const std::optional<dnnl::memory::desc>& form);

  // Vector code, rather than loops for reference?
  bool fast() const { return fast_; }
  const dnnl::memory::desc& weights() const { return weights_; }
  // On the calling thread. Thread safe.
  void run(const float* x, const void* packed, const PackedEpilogue& epilogue, float* y) const;

 private:
  struct Bound;
  void make(const PackedKey& key, const dnnl::memory::desc& weights,
            const dnnl::primitive_attr& attributes);
  Bound& bound() const;

  uint64_t id_;  // unique in the process: threads keep arguments by it
  bool fast_ = false;
  dnnl::primitive primitive_;
  dnnl::memory::desc x_, weights_, bias_, residual_, y_, scratchpad_;
};

// Kept for the next call; null where `make` throws dnnl::error, or the code is not fast.
std::shared_ptr<const PackedPrimitive> packed_primitive(
    const PackedKey& key, const std::function<std::optional<dnnl::memory::desc>()>& form);

// Puts plain weights into another order.
void reorder_weights(const dnnl::memory::desc& from, const void* plain,
                     const dnnl::memory::desc& to, void* packed);

}  // namespace argosy::cpu

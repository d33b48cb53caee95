#pragma once

#include <cstdint>
#include <memory>

// Prepared oneDNN convolutions. Private to kernels/cpu.
namespace argosy::cpu {

enum class ConvKind : int64_t { forward, backward_data, backward_weights };

// What one chunk computes: `images` images, and of the sliced channels (the output's; the input's
// for backward_data) `slice` ones. Everything that a plan depends on, and nothing else: compared
// and hashed as bytes.
struct ConvTask {
  ConvKind kind;
  int64_t half;  // activations are bfloat16, and so are weights that are read; the rest is float32
  int64_t dims, channels_last, images, slice, bias;
  int64_t in_channels, out_channels, groups;  // of the whole convolution
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
};
static_assert(sizeof(ConvTask) == sizeof(int64_t) * 28);

// The three tensors by role: the activation that is read whole (x; dy for backward_data), the one
// that is sliced (y; dx; dy for backward_weights), and the weights.
enum class ConvRole { whole, sliced, weights };

// Thread safe; each call works on the calling thread only.
class ConvPlan {
 public:
  virtual ~ConvPlan() = default;

  // Whether the primitive wants the tensor in a layout of its own, and how many bytes that takes.
  virtual bool is_packed(ConvRole role) const = 0;
  virtual int64_t packed_bytes(ConvRole role) const = 0;
  // Between the chunk's part of a plain tensor (its first element) and a packed buffer.
  virtual void pack(ConvRole role, const void* plain, void* packed) const = 0;
  virtual void unpack(ConvRole role, const void* packed, void* plain) const = 0;

  // Runs the primitive on buffers that are packed where is_packed says so, plain otherwise.
  virtual void run(void* whole, void* weights, float* bias, void* sliced) const = 0;
};

// From a cache of recently used plans; null if oneDNN has only reference code for the task.
std::shared_ptr<const ConvPlan> conv_plan(const ConvTask& task);

}  // namespace argosy::cpu

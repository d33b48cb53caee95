#pragma once

#include "argosy/kernels/cpu/packed.h"

// The ways to convolve with packed weights, as packed.h has them for all. Which one it is depends
// on `form` alone. Private to kernels/cpu.
namespace argosy::cpu {

// One group: a product of windows with panels of weights.
int64_t windows_bytes(const ConvShape& form);
void pack_windows(const ConvShape& form, const float* w, void* packed);
void windows(const ConvShape& form, const ConvShape& shape, const float* x, const void* packed,
             const PackedEpilogue& epilogue, float* y);

// Each channel by itself.
int64_t depthwise_bytes(const ConvShape& form);
void pack_depthwise(const ConvShape& form, const float* w, void* packed);
void depthwise(const ConvShape& form, const ConvShape& shape, const float* x, const void* packed,
               const PackedEpilogue& epilogue, float* y);

// Several channels in each of several groups.
int64_t grouped_bytes(const ConvShape& form);
void pack_grouped(const ConvShape& form, const float* w, void* packed);
void grouped(const ConvShape& form, const ConvShape& shape, const float* x, const void* packed,
             const PackedEpilogue& epilogue, float* y);

}  // namespace argosy::cpu

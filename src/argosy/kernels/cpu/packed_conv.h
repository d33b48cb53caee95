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

// Those for which oneDNN has vector code: several channels in each of several groups, few channels.
// onednn() is false, and has done nothing, where it has none for this shape.
int64_t onednn_bytes(const ConvShape& form);
void pack_onednn(const ConvShape& form, const float* w, void* packed);
bool onednn(const ConvShape& form, const ConvShape& shape, const float* x, const void* packed,
            const PackedEpilogue& epilogue, float* y);

}  // namespace argosy::cpu

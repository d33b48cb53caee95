#pragma once

#include <cstdint>

// Elements of tensors of images: [N, C, three sizes], or [N, three sizes, C].
namespace argosy::cuda {

struct Element {
  int64_t n, c, at[3];
};

// n / d and the rest, by 32 bits where n fits: division of 64 is many times slower.
__device__ __forceinline__ int64_t divide(int64_t n, int64_t d, int64_t& rest) {
  if (((n | d) >> 32) == 0) {
    const uint32_t a = static_cast<uint32_t>(n), b = static_cast<uint32_t>(d), q = a / b;
    rest = a - q * b;
    return q;
  }
  const int64_t q = n / d;
  rest = n - q * d;
  return q;
}

struct Places {
  bool channels_last;
  int64_t channels;
  int64_t size[3];

  __device__ __forceinline__ int64_t channel_step() const {
    return channels_last ? 1 : size[0] * size[1] * size[2];
  }
  __device__ __forceinline__ int64_t offset(int64_t n, int64_t c, int64_t z, int64_t r,
                                            int64_t q) const {
    if (channels_last) return (((n * size[0] + z) * size[1] + r) * size[2] + q) * channels + c;
    return (((n * channels + c) * size[0] + z) * size[1] + r) * size[2] + q;
  }
  __device__ __forceinline__ bool has(int64_t z, int64_t r, int64_t q) const {
    return z >= 0 && z < size[0] && r >= 0 && r < size[1] && q >= 0 && q < size[2];
  }
  __device__ __forceinline__ Element element(int64_t i) const {
    Element e;
    e.c = 0;
    if (channels_last) i = divide(i, channels, e.c);
    i = divide(i, size[2], e.at[2]);
    i = divide(i, size[1], e.at[1]);
    i = divide(i, size[0], e.at[0]);
    if (channels_last)
      e.n = i;
    else
      e.n = divide(i, channels, e.c);
    return e;
  }
};

}  // namespace argosy::cuda

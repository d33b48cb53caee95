#pragma once

#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/random.h"

// Random numbers that are functions of a seed and a counter: Philox4x32-10 (Salmon et al. 2011).
namespace argosy::cuda {

struct Philox {
  uint32_t key0, key1;
  __host__ __device__ explicit Philox(uint64_t seed)
      : key0(static_cast<uint32_t>(seed)), key1(static_cast<uint32_t>(seed >> 32)) {}

  // 128 bits of a place, for each `draw` others.
  __device__ __forceinline__ uint4 operator()(uint64_t place, uint32_t draw = 0) const {
    uint32_t c0 = static_cast<uint32_t>(place), c1 = static_cast<uint32_t>(place >> 32);
    uint32_t c2 = draw, c3 = 0, k0 = key0, k1 = key1;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xd2511f53u} * c0, b = uint64_t{0xcd9e8d57u} * c2;
      c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
      c1 = static_cast<uint32_t>(b);
      c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
      c3 = static_cast<uint32_t>(a);
      k0 += 0x9e3779b9u;
      k1 += 0xbb67ae85u;
    }
    return {c0, c1, c2, c3};
  }
};

__device__ __forceinline__ uint64_t word64(uint32_t high, uint32_t low) {
  return static_cast<uint64_t>(high) << 32 | low;
}

// Numbers of T that one place gives.
template <class T>
inline constexpr int kPerPlace = sizeof(T) == 8 ? 2 : 4;

// Of [0, 1).
__device__ __forceinline__ float unit(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}
__device__ __forceinline__ double unit(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}
__device__ __forceinline__ void units(uint4 bits, float* u) {
  u[0] = unit(bits.x), u[1] = unit(bits.y), u[2] = unit(bits.z), u[3] = unit(bits.w);
}
__device__ __forceinline__ void units(uint4 bits, double* u) {
  u[0] = unit(word64(bits.x, bits.y)), u[1] = unit(word64(bits.z, bits.w));
}

// Standard normal numbers (Box and Muller 1958).
__device__ __forceinline__ void normals(uint4 bits, float* z) {
  const uint32_t w[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int k = 0; k < 4; k += 2) {
    const float u = static_cast<float>(w[k]) * 0x1p-32f + 0x1p-33f;  // of (0, 1]
    const float r = sqrtf(-2.0f * logf(u));
    float s, c;
    sincospif(static_cast<float>(w[k + 1]) * 0x1p-31f, &s, &c);
    z[k] = r * c;
    z[k + 1] = r * s;
  }
}
__device__ __forceinline__ void normals(uint4 bits, double* z) {
  const double r = sqrt(-2.0 * log(unit(word64(bits.x, bits.y)) + 0x1p-53));
  double s, c;
  sincospi(2.0 * unit(word64(bits.z, bits.w)), &s, &c);
  z[0] = r * c;
  z[1] = r * s;
}

// As many numbers as it takes, all of one place.
class Draws {
 public:
  __device__ Draws(Philox philox, uint64_t place) : philox_(philox), place_(place) {}
  __device__ double uniform() {  // of [0, 1)
    if (half_) {
      half_ = false;
      return unit(word64(bits_.z, bits_.w));
    }
    half_ = true;
    bits_ = philox_(place_, draw_++);
    return unit(word64(bits_.x, bits_.y));
  }
  __device__ double normal() {
    double z[2];
    normals(philox_(place_, draw_++), z);
    return z[0];
  }

 private:
  Philox philox_;
  uint64_t place_;
  uint32_t draw_ = 0;
  uint4 bits_ = {};
  bool half_ = false;
};

}  // namespace argosy::cuda

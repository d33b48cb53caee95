#pragma once

#include "argosy/kernels/cuda/common.cuh"

// Elements as unsigned numbers that sort as they do. The dtype is known when it runs: sorting
// kernels are compiled once.
namespace argosy::cuda {

// Bits of a key: as many as an element has.
struct Keys {
  const void* data = nullptr;
  DType dtype = DType::float32;
  int bits = 32;
  uint64_t all = 0xffffffff;  // these bits: the key of nan
  bool floating = true, descending = false;

  Keys() = default;
  Keys(const void* x, DType t, bool reversed)
      : data(x), dtype(t), bits(item_size(t) * 8), floating(is_floating(t)), descending(reversed) {
    all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  }

  __device__ __forceinline__ uint64_t raw(int64_t at) const {
    switch (bits) {
      case 8:
        return static_cast<const uint8_t*>(data)[at];
      case 16:
        return static_cast<const uint16_t*>(data)[at];
      case 32:
        return static_cast<const uint32_t*>(data)[at];
      default:
        return static_cast<const uint64_t*>(data)[at];
    }
  }
  __device__ __forceinline__ bool is_nan(uint64_t raw_bits) const {
    const uint64_t infinity = dtype == DType::float16    ? 0x7c00
                              : dtype == DType::bfloat16 ? 0x7f80
                              : dtype == DType::float32  ? 0x7f800000
                                                         : 0x7ff0000000000000;
    return floating && (raw_bits & (all >> 1)) > infinity;
  }
  // Rising, whatever `descending` says.
  __device__ __forceinline__ uint64_t rising(int64_t at) const {
    const uint64_t v = raw(at), sign = all ^ (all >> 1);
    if (floating) {
      if (is_nan(v)) return all;
      if ((v & (all >> 1)) == 0) return sign;  // -0 and 0
      return v & sign ? ~v & all : v | sign;
    }
    switch (dtype) {
      case DType::int8:
      case DType::int16:
      case DType::int32:
      case DType::int64:
        return v ^ sign;
      default:
        return v;
    }
  }
  __device__ __forceinline__ uint64_t at(int64_t i) const {
    const uint64_t key = rising(i);
    return descending ? ~key & all : key;
  }
};

__device__ __forceinline__ void copy_item(int item_size, void* to, int64_t to_at, const void* from,
                                          int64_t from_at) {
  switch (item_size) {
    case 1:
      static_cast<uint8_t*>(to)[to_at] = static_cast<const uint8_t*>(from)[from_at];
      return;
    case 2:
      static_cast<uint16_t*>(to)[to_at] = static_cast<const uint16_t*>(from)[from_at];
      return;
    case 4:
      static_cast<uint32_t*>(to)[to_at] = static_cast<const uint32_t*>(from)[from_at];
      return;
    default:
      static_cast<uint64_t*>(to)[to_at] = static_cast<const uint64_t*>(from)[from_at];
  }
}

}  // namespace argosy::cuda

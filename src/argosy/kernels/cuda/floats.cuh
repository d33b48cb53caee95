#pragma once

#include "argosy/kernels/cuda/common.cuh"

// Elements of floating types that differ from array to array of one launch: four at a time, into a
// computing type and back.
namespace argosy::cuda {

enum class Kind : uint8_t { none, f16, bf16, f32, f64 };

inline Kind kind_of(const void* data, DType dtype) {
  if (!data) return Kind::none;
  switch (dtype) {
    case DType::float16:
      return Kind::f16;
    case DType::bfloat16:
      return Kind::bf16;
    case DType::float32:
      return Kind::f32;
    case DType::float64:
      return Kind::f64;
    default:
      fail_dtype("optimizer", dtype);
  }
}

struct Raw {
  uint4 low, high;
};

__device__ __forceinline__ int width(Kind kind) {
  return kind == Kind::f64 ? 8 : kind == Kind::f32 ? 4 : 2;
}

__device__ __forceinline__ Raw fetch(const char* data, Kind kind, int64_t i) {
  Raw raw{};
  const char* at = data + i * width(kind);
  if (kind == Kind::f32) {
    raw.low = *reinterpret_cast<const uint4*>(at);
  } else if (kind == Kind::f64) {
    raw.low = reinterpret_cast<const uint4*>(at)[0];
    raw.high = reinterpret_cast<const uint4*>(at)[1];
  } else {
    const uint2 two = *reinterpret_cast<const uint2*>(at);
    raw.low.x = two.x;
    raw.low.y = two.y;
  }
  return raw;
}

template <class T>
__device__ __forceinline__ void decode(const Raw& raw, Kind kind, T* out) {
  const uint32_t w[4] = {raw.low.x, raw.low.y, raw.low.z, raw.low.w};
  if (kind == Kind::f32) {
#pragma unroll
    for (int k = 0; k < 4; ++k) out[k] = static_cast<T>(__uint_as_float(w[k]));
  } else if (kind == Kind::f64) {
    const uint32_t h[4] = {raw.high.x, raw.high.y, raw.high.z, raw.high.w};
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      out[k] = static_cast<T>(
          __hiloint2double(static_cast<int>(w[2 * k + 1]), static_cast<int>(w[2 * k])));
      out[2 + k] = static_cast<T>(
          __hiloint2double(static_cast<int>(h[2 * k + 1]), static_cast<int>(h[2 * k])));
    }
  } else {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const auto bits = static_cast<uint16_t>(w[k / 2] >> (k % 2 * 16));
      out[k] = kind == Kind::f16 ? static_cast<T>(__half2float(__ushort_as_half(bits)))
                                 : static_cast<T>(__bfloat162float(__ushort_as_bfloat16(bits)));
    }
  }
}

template <class T>
__device__ __forceinline__ uint32_t bits16(T value, Kind kind) {
  const float v = static_cast<float>(value);
  return kind == Kind::f16 ? __half_as_ushort(__float2half_rn(v))
                           : __bfloat16_as_ushort(__float2bfloat16_rn(v));
}

template <class T>
__device__ __forceinline__ void put(char* data, Kind kind, int64_t i, const T* v) {
  char* at = data + i * width(kind);
  if (kind == Kind::f32) {
    *reinterpret_cast<float4*>(at) =
        make_float4(static_cast<float>(v[0]), static_cast<float>(v[1]), static_cast<float>(v[2]),
                    static_cast<float>(v[3]));
  } else if (kind == Kind::f64) {
    reinterpret_cast<double2*>(at)[0] = make_double2(v[0], v[1]);
    reinterpret_cast<double2*>(at)[1] = make_double2(v[2], v[3]);
  } else {
    *reinterpret_cast<uint2*>(at) = make_uint2(bits16(v[0], kind) | bits16(v[1], kind) << 16,
                                               bits16(v[2], kind) | bits16(v[3], kind) << 16);
  }
}

template <class T>
__device__ __forceinline__ T get_one(const char* data, Kind kind, int64_t i) {
  const char* at = data + i * width(kind);
  switch (kind) {
    case Kind::f16:
      return static_cast<T>(__half2float(*reinterpret_cast<const half_t*>(at)));
    case Kind::bf16:
      return static_cast<T>(__bfloat162float(*reinterpret_cast<const bf16_t*>(at)));
    case Kind::f32:
      return static_cast<T>(*reinterpret_cast<const float*>(at));
    default:
      return static_cast<T>(*reinterpret_cast<const double*>(at));
  }
}
template <class T>
__device__ __forceinline__ void put_one(char* data, Kind kind, int64_t i, T v) {
  char* at = data + i * width(kind);
  switch (kind) {
    case Kind::f32:
      *reinterpret_cast<float*>(at) = static_cast<float>(v);
      break;
    case Kind::f64:
      *reinterpret_cast<double*>(at) = static_cast<double>(v);
      break;
    default:
      *reinterpret_cast<uint16_t*>(at) = static_cast<uint16_t>(bits16(v, kind));
  }
}

}  // namespace argosy::cuda

#pragma once

#include "argosy/kernels/cuda/bounds.cuh"
#include "argosy/kernels/cuda/common.cuh"

namespace argosy::cuda {

// Class numbers. Of a label that is no class, results are NaN, and the watch is told.
struct Labels {
  const void* data;
  bool narrow;  // int32
  int64_t classes, ignore_index;
  Watch watch;

  __device__ __forceinline__ int64_t operator[](int64_t i) const {
    return narrow ? static_cast<const int32_t*>(data)[i] : static_cast<const int64_t*>(data)[i];
  }
  __device__ __forceinline__ bool is_class(int64_t v) const { return 0 <= v && v < classes; }
  __device__ __forceinline__ void check(int64_t v) const {
    if (!is_class(v) && v != ignore_index) tell(watch, v, classes);
  }
};

// Numbers of T, or of float beside 16-bit T.
template <class T>
__device__ __forceinline__ Computed<T> read_wide(const void* p, int64_t i, bool narrow) {
  if (sizeof(T) > 2 || narrow) return load(static_cast<const T*>(p)[i]);
  return static_cast<const Computed<T>*>(p)[i];
}
template <class T>
__device__ __forceinline__ void write_wide(void* p, int64_t i, bool narrow, Computed<T> v) {
  if (sizeof(T) > 2 || narrow)
    static_cast<T*>(p)[i] = store<T>(v);
  else
    static_cast<Computed<T>*>(p)[i] = v;
}

}  // namespace argosy::cuda

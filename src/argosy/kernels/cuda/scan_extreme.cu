#include "argosy/kernels/cuda/integers.cuh"
#include "argosy/kernels/cuda/scan.cuh"

// Running extremes. Integers come as unsigned ones, of which the largest is sought (order_flip).
namespace argosy::cuda {
namespace {

template <class T>
struct alignas(16) Best {
  T value;
  int64_t at;  // -1: none yet
};

template <class T>
struct RunningExtreme {
  using Value = Computed<T>;
  using Acc = Best<Value>;
  const T* x;
  T* y;
  void* index;
  bool narrow, largest;
  uint64_t flip;

  __device__ Acc identity() const { return {Value{}, -1}; }
  __device__ Acc get(int64_t at, int64_t k) const {
    if constexpr (std::is_integral_v<T>)
      return {static_cast<T>(x[at] ^ static_cast<T>(flip)), k};
    else
      return {load(x[at]), k};
  }
  __device__ Acc combine(Acc a, Acc b) const {
    if (b.at < 0) return a;
    if (a.at < 0) return b;
    if constexpr (std::is_integral_v<T>) {
      return b.value >= a.value ? b : a;
    } else {
      if (b.value != b.value) return b;
      if (a.value != a.value) return a;
      return (largest ? b.value >= a.value : b.value <= a.value) ? b : a;
    }
  }
  __device__ void put(int64_t at, Acc a) const {
    if constexpr (std::is_integral_v<T>)
      y[at] = static_cast<T>(a.value ^ static_cast<T>(flip));
    else
      y[at] = store<T>(a.value);
    if (narrow)
      static_cast<int32_t*>(index)[at] = static_cast<int32_t>(a.at);
    else
      static_cast<int64_t*>(index)[at] = a.at;
  }
};

}  // namespace

void scan_extreme(cudaStream_t stream, bool largest, DType dtype, const void* x, void* y,
                  DType index_dtype, void* index, const ScanShape& s) {
  const uint64_t flip = is_floating(dtype) ? 0 : order_flip(dtype, largest);
  const auto run = [&]<class T>(Type<T>) {
    scan_with(stream, s, false,
              RunningExtreme<T>{static_cast<const T*>(x), static_cast<T*>(y), index,
                                index_dtype == DType::int32, largest, flip});
  };
  if (is_floating(dtype)) return with_floating("cummax", dtype, run);
  with_unsigned(item_size(dtype), run);
}

}  // namespace argosy::cuda

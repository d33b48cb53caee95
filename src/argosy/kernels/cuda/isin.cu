#include "argosy/kernels/cuda/isin.h"

#include <cub/device/device_radix_sort.cuh>

#include "argosy/kernels/cuda/index.cuh"

namespace argosy::cuda {
namespace {

constexpr uint64_t kNaN = ~uint64_t{0};  // no number has this key

// Equal numbers, and no others, have equal keys: order does not matter.
template <class T>
__device__ __forceinline__ uint64_t key_of(T v) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(v);
  } else {
    const double wide = static_cast<double>(load(v));
    if (wide != wide) return kNaN;
    return wide == 0 ? 0 : static_cast<uint64_t>(__double_as_longlong(wide));
  }
}

template <class T>
struct GiveKey {
  uint64_t* key;
  const T* x;
  __device__ void operator()(int64_t i) const { key[i] = key_of(x[i]); }
};

template <class T>
struct Search {
  bool* target;
  const T* x;
  const uint64_t* keys;
  int64_t m;
  bool invert;
  __device__ void operator()(int64_t i) const {
    const uint64_t key = key_of(x[i]);
    int64_t low = 0, high = m;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (keys[middle] < key)
        low = middle + 1;
      else
        high = middle;
    }
    bool found = low < m && keys[low] == key;
    if constexpr (!std::is_integral_v<T>) found = found && key != kNaN;
    target[i] = found != invert;
  }
};

}  // namespace

void isin(cudaStream_t stream, DType dtype, bool* target, const void* x, int64_t n,
          const void* test, int64_t m, bool invert) {
  if (n == 0) return;
  Scratch given(stream, static_cast<size_t>(m) * sizeof(uint64_t));
  Scratch keys(stream, static_cast<size_t>(m) * sizeof(uint64_t));
  auto search = [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, m, GiveKey<T>{given.data<uint64_t>(), static_cast<const T*>(test)});
    if (m > 0) {
      size_t bytes = 0;
      auto run = [&](void* room) {
        ARGOSY_CUDA(cub::DeviceRadixSort::SortKeys(room, bytes, given.data<uint64_t>(),
                                                   keys.data<uint64_t>(), static_cast<int>(m), 0,
                                                   64, stream));
      };
      run(nullptr);
      Scratch room(stream, bytes);
      run(room.data());
    }
    for_each_item(stream, n,
                  Search<T>{target, static_cast<const T*>(x), keys.data<uint64_t>(), m, invert});
  };
  if (dtype == DType::bool_)
    search(Type<uint8_t>{});
  else
    with_real("isin", dtype, search);
}

}  // namespace argosy::cuda

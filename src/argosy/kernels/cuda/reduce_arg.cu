#include "argosy/kernels/cuda/reduce.cuh"
#include "argosy/kernels/cuda/reduce.h"

// Places of extremes: of equal ones the first.
namespace argosy::cuda {
namespace {

template <class T>
struct alignas(16) Place {
  T value;
  int64_t at;  // kNowhere: none yet
};
constexpr int64_t kNowhere = INT64_MAX;

// Integers come as unsigned ones, of which the largest is sought (order_flip).
template <class T>
struct ArgOp {
  using Value = Computed<T>;
  using Acc = Place<Value>;
  static constexpr bool kShift = false, kWide = !std::is_integral_v<T>;
  void* y;
  bool largest, narrow;
  uint64_t flip;

  // The first nan beats everything.
  __device__ bool better(Value v, Value best) const {
    if constexpr (std::is_integral_v<T>)
      return v > best;
    else
      return (largest ? v > best : v < best) || (v != v && best == best);
  }
  __device__ Acc identity() const { return {Value{}, kNowhere}; }
  __device__ Acc combine(Acc a, Acc b) const {
    if (b.at == kNowhere) return a;
    if (a.at == kNowhere) return b;
    if (better(b.value, a.value)) return b;
    return better(a.value, b.value) || a.at < b.at ? a : b;
  }
  __device__ Acc add(Acc a, T v, int64_t k, double) const {
    Value value;
    if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(v ^ static_cast<T>(flip));
    else
      value = load(v);
    return a.at == kNowhere || better(value, a.value) ? Acc{value, k} : a;
  }
  __device__ void store(int64_t at, Acc a) const {
    if (narrow)
      static_cast<int32_t*>(y)[at] = static_cast<int32_t>(a.at);
    else
      static_cast<int64_t*>(y)[at] = a.at;
  }
};

}  // namespace

void reduce_arg(cudaStream_t stream, bool largest, const View& x, int axis, void* y,
                DType y_dtype) {
  const uint64_t flip = is_floating(x.dtype) ? 0 : order_flip(x.dtype, largest);
  const auto run = [&]<class T>(Type<T>) {
    reduce_with<T>(stream, x, x.rank ? 1u << axis : 0,
                   ArgOp<T>{y, largest, y_dtype == DType::int32, flip});
  };
  if (is_floating(x.dtype)) return with_floating("argmax", x.dtype, run);
  with_unsigned(item_size(x.dtype), run);
}

}  // namespace argosy::cuda

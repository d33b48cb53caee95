#include "argosy/kernels/cuda/reduce.cuh"
#include "argosy/kernels/cuda/reduce.h"

// Largest and smallest elements. Which of both is asked for is known when it runs.
namespace argosy::cuda {
namespace {

// Floats.
template <class T>
struct ExtremeOp {
  using Acc = Computed<T>;
  static constexpr bool kShift = false, kWide = true;
  T* y;
  bool largest;

  __device__ Acc identity() const {
    const Acc inf = static_cast<Acc>(__int_as_float(0x7f800000));
    return largest ? -inf : inf;
  }
  __device__ Acc combine(Acc a, Acc b) const {
    return (largest ? b > a : b < a) || b != b ? b : a;  // nan stays
  }
  __device__ Acc add(Acc a, T v, int64_t, double) const { return combine(a, load(v)); }
  __device__ void store(int64_t at, Acc a) const { y[at] = argosy::cuda::store<T>(a); }
};

// Integers as unsigned ones, of which the largest is sought (order_flip).
template <class T>
struct IntegerExtremeOp {
  using Acc = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  static constexpr bool kShift = false, kWide = false;
  T* y;
  T flip;

  __device__ Acc identity() const { return 0; }
  __device__ Acc combine(Acc a, Acc b) const { return b > a ? b : a; }
  __device__ Acc add(Acc a, T v, int64_t, double) const {
    return combine(a, static_cast<Acc>(static_cast<T>(v ^ flip)));
  }
  __device__ void store(int64_t at, Acc a) const {
    y[at] = static_cast<T>(static_cast<T>(a) ^ flip);
  }
};

}  // namespace

void reduce_extreme(cudaStream_t stream, bool largest, const View& x, uint32_t axes, void* y) {
  if (is_floating(x.dtype)) {
    return with_floating("max", x.dtype, [&]<class T>(Type<T>) {
      reduce_with<T>(stream, x, axes, ExtremeOp<T>{static_cast<T*>(y), largest});
    });
  }
  const uint64_t flip = order_flip(x.dtype, largest);
  with_unsigned(item_size(x.dtype), [&]<class T>(Type<T>) {
    reduce_with<T>(stream, x, axes, IntegerExtremeOp<T>{static_cast<T*>(y), static_cast<T>(flip)});
  });
}

}  // namespace argosy::cuda

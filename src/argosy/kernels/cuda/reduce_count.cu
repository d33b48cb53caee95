#include "argosy/kernels/cuda/reduce.cuh"
#include "argosy/kernels/cuda/reduce.h"

// How many elements are not 0, by the width of their dtype alone.
namespace argosy::cuda {
namespace {

template <class T>
struct CountOp {
  using Acc = uint64_t;
  static constexpr bool kShift = false, kWide = sizeof(T) == 1 || sizeof(T) == 4;
  void* y;
  DType y_dtype;
  CountKind kind;
  int64_t count;
  uint64_t mask;  // of the bits that count: not the sign of floats

  __device__ Acc identity() const { return 0; }
  __device__ Acc combine(Acc a, Acc b) const { return a + b; }
  __device__ Acc add(Acc a, T v, int64_t, double) const {
    if constexpr (std::is_same_v<T, Wide>)
      return a + (((v.a | v.b) & mask) != 0);
    else
      return a + ((static_cast<uint64_t>(v) & mask) != 0);
  }
  __device__ void store(int64_t at, Acc a) const {
    const int64_t n = static_cast<int64_t>(a);
    if (kind == CountKind::any)
      static_cast<bool*>(y)[at] = n > 0;
    else if (kind == CountKind::all)
      static_cast<bool*>(y)[at] = n == count;
    else if (is_floating(y_dtype))
      put_real(y, y_dtype, at, static_cast<double>(n));
    else
      put_integer(y, y_dtype, at, n);
  }
};

uint64_t counting_bits(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::bfloat16:
      return 0x7fff;
    case DType::float32:
      return 0x7fffffff;
    case DType::complex64:
      return 0x7fffffff7fffffff;
    case DType::float64:
    case DType::complex128:
      return 0x7fffffffffffffff;
    default:
      return ~uint64_t{0};
  }
}

}  // namespace

void reduce_count(cudaStream_t stream, CountKind kind, const View& x, uint32_t axes, void* y,
                  DType y_dtype) {
  int64_t count = 1;
  for (int d = 0; d < x.rank; ++d)
    if (axes >> d & 1) count *= x.shape[d];
  with_width(item_size(x.dtype), [&]<class T>(Type<T>) {
    reduce_with<T>(stream, x, axes, CountOp<T>{y, y_dtype, kind, count, counting_bits(x.dtype)});
  });
}

}  // namespace argosy::cuda

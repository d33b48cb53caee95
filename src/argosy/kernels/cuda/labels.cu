#include "argosy/kernels/cuda/cross_entropy.h"
#include "argosy/kernels/cuda/each.cuh"
#include "argosy/kernels/cuda/labels.cuh"

namespace argosy::cuda {
namespace {

Labels labels_of(const CrossEntropy& a, const void* labels) {
  return {labels, a.label_dtype == DType::int32, a.n, a.ignore_index};
}

// Where class v of row i is.
__device__ __forceinline__ int64_t place_of(int64_t i, int64_t v, int64_t n, int64_t inner) {
  return (i / inner * n + v) * inner + i % inner;
}

template <class T>
void select(cudaStream_t stream, const CrossEntropy& a, Labels of, const T* from, double fill,
            T* to) {
  const int64_t n = a.n, inner = a.inner;
  const T otherwise = static_cast<T>(static_cast<Computed<T>>(fill));
  each(stream, a.outer * inner, [=] __device__(int64_t i) {
    const int64_t v = of[i];
    if (v == of.ignore_index)
      to[i] = otherwise;
    else
      to[i] = of.is_class(v) ? from[place_of(i, v, n, inner)]
                             : store<T>(static_cast<Computed<T>>(NAN));
  });
}

template <class T>
void spread(cudaStream_t stream, const CrossEntropy& a, Labels of, const T* from, T* to) {
  const int64_t n = a.n, inner = a.inner;
  each(stream, a.outer * inner, [=] __device__(int64_t i) {
    const int64_t v = of[i];
    if (v == of.ignore_index) return;
    if (of.is_class(v))
      to[place_of(i, v, n, inner)] = from[i];
    else
      to[place_of(i, 0, n, inner)] = store<T>(static_cast<Computed<T>>(NAN));
  });
}

template <class T>
void weights(cudaStream_t stream, const CrossEntropy& a, Labels of, const T* from, T* to) {
  using C = Computed<T>;
  each(stream, a.outer, [=] __device__(int64_t i) {
    const int64_t v = of[i];
    if (v == of.ignore_index)
      to[i] = store<T>(C(0));
    else if (!from)
      to[i] = store<T>(C(1));
    else
      to[i] = of.is_class(v) ? from[v] : store<T>(static_cast<C>(NAN));
  });
}

}  // namespace

void select_class(cudaStream_t stream, const CrossEntropy& a, const void* x, const void* labels,
                  double fill, void* out) {
  with_floating("select_class", a.dtype, [&]<class T>(Type<T>) {
    select<T>(stream, a, labels_of(a, labels), static_cast<const T*>(x), fill,
              static_cast<T*>(out));
  });
}

void spread_class(cudaStream_t stream, const CrossEntropy& a, const void* labels,
                  const void* values, void* out) {
  const int64_t all = a.outer * a.inner * a.n;
  if (all == 0) return;
  ARGOSY_CUDA(cudaMemsetAsync(out, 0, static_cast<size_t>(all * item_size(a.dtype)), stream));
  with_floating("spread_class", a.dtype, [&]<class T>(Type<T>) {
    spread<T>(stream, a, labels_of(a, labels), static_cast<const T*>(values),
              static_cast<T*>(out));
  });
}

void class_weights(cudaStream_t stream, const CrossEntropy& a, const void* weight,
                   const void* labels, void* out) {
  with_floating("class_weights", a.dtype, [&]<class T>(Type<T>) {
    weights<T>(stream, a, labels_of(a, labels), static_cast<const T*>(weight),
               static_cast<T*>(out));
  });
}

}  // namespace argosy::cuda

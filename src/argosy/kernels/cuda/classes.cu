#include "argosy/kernels/cuda/classes.h"

#include "argosy/kernels/cuda/index.cuh"

namespace argosy::cuda {
namespace {

struct Largest {
  Index numbers;
  long long* largest;
  __device__ void operator()(int64_t i) const {
    atomicMax(largest, static_cast<long long>(load_index(numbers, i)));
  }
};
struct SetNumber {
  int64_t* at;
  int64_t value;
  __device__ void operator()(int64_t) const { *at = value; }
};

struct OneHot {
  float* target;
  Index labels;
  int64_t classes;
  __device__ void operator()(int64_t i) const {
    const int64_t label = load_index(labels, i);
    if (label >= 0 && label < classes)
      target[i * classes + label] = 1.0f;
    else
      tell(labels.watch, label, classes);
  }
};

template <class T>
struct SelectClass {
  T* target;
  const T* x;
  Index labels;
  Splitter inner;
  int64_t classes, ignore;
  T fill;
  __device__ void operator()(int64_t i) const {
    const int64_t label = load_index(labels, i);
    int64_t column;
    const int64_t row = inner.split(i, &column);
    T v = fill;
    if (label != ignore) {
      const bool good = label >= 0 && label < classes;
      v = good ? x[(row * classes + label) * inner.d + column] : T{};
      if (!good) tell(labels.watch, label, classes);
    }
    target[i] = v;
  }
};

template <class T>
struct SpreadClass {
  T* target;
  const T* value;
  Index labels;
  Splitter inner;
  int64_t classes, ignore;
  __device__ void operator()(int64_t i) const {
    const int64_t label = load_index(labels, i);
    if (label == ignore) return;
    if (label < 0 || label >= classes) return tell(labels.watch, label, classes);
    int64_t column;
    const int64_t row = inner.split(i, &column);
    target[(row * classes + label) * inner.d + column] = value[i];
  }
};

template <class T>
struct ClassWeight {
  T* target;
  const T* weight;
  Index labels;
  int64_t classes, ignore;
  __device__ void operator()(int64_t i) const {
    const int64_t label = load_index(labels, i);
    T v = store<T>(Computed<T>(0));
    if (label != ignore) {
      if (!weight)
        v = store<T>(Computed<T>(1));
      else if (label >= 0 && label < classes)
        v = weight[label];
      else
        tell(labels.watch, label, classes);
    }
    target[i] = v;
  }
};

struct LengthMask {
  bool* mask;
  Index lengths;
  Splitter width;
  __device__ void operator()(int64_t i) const {
    int64_t k;
    const int64_t row = width.split(i, &k);
    mask[i] = k < load_index(lengths, row);
  }
};
struct RoundUp {
  int64_t* target;
  const double* numbers;
  __device__ void operator()(int64_t i) const {
    target[i] = static_cast<int64_t>(ceil(numbers[i]));
  }
};

template <class T>
struct FollowBeam {
  T* target;
  const T* ids;
  const int64_t* parents;
  int64_t length, batch, beams;
  Watch watch;
  __device__ void operator()(int64_t i) const {
    const int64_t b = i / beams;
    int64_t beam = i % beams;
    const int64_t own = beam;
    for (int64_t t = length - 1; t >= 0; --t) {
      const int64_t row = (t * batch + b) * beams;
      const bool good = beam >= 0 && beam < beams;
      target[row + own] = good ? ids[row + beam] : T(0);
      if (good)
        beam = parents[row + beam];
      else
        tell(watch, beam, beams);
    }
  }
};

}  // namespace

void largest_of(cudaStream_t stream, Index numbers, int64_t n, int64_t* largest) {
  for_each_item(stream, 1, SetNumber{largest, INT64_MIN});
  for_each_item(stream, n, Largest{numbers, reinterpret_cast<long long*>(largest)});
}

void one_hot(cudaStream_t stream, float* target, Index labels, int64_t n, int64_t classes) {
  if (n * classes == 0) return;
  ARGOSY_CUDA(cudaMemsetAsync(target, 0, static_cast<size_t>(n * classes) * sizeof(float), stream));
  for_each_item(stream, n, OneHot{target, labels, classes});
}

void select_class(cudaStream_t stream, DType dtype, void* target, const void* x, Index labels,
                  int64_t outer, int64_t classes, int64_t inner, int64_t ignore, double fill) {
  with_floating("select_class", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, outer * inner,
                  SelectClass<T>{static_cast<T*>(target), static_cast<const T*>(x), labels,
                                 Splitter(inner, outer * inner), classes, ignore,
                                 static_cast<T>(static_cast<Computed<T>>(fill))});
  });
}

void spread_class(cudaStream_t stream, void* target, const void* value, Index labels, int64_t outer,
                  int64_t classes, int64_t inner, int64_t ignore, int item) {
  const int64_t n = outer * inner;
  if (n * classes == 0) return;
  ARGOSY_CUDA(cudaMemsetAsync(target, 0, static_cast<size_t>(n * classes * item), stream));
  with_width(item, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, n,
                  SpreadClass<T>{static_cast<T*>(target), static_cast<const T*>(value), labels,
                                 Splitter(inner, n), classes, ignore});
  });
}

void class_weights(cudaStream_t stream, DType dtype, void* target, const void* weight,
                   int64_t classes, Index labels, int64_t n, int64_t ignore) {
  with_floating("class_weights", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, n,
                  ClassWeight<T>{static_cast<T*>(target), static_cast<const T*>(weight), labels,
                                 classes, ignore});
  });
}

void length_mask(cudaStream_t stream, bool* mask, Index lengths, int64_t n, int64_t width) {
  for_each_item(stream, n * width, LengthMask{mask, lengths, Splitter(width, n * width)});
}
void round_up(cudaStream_t stream, int64_t* target, const double* numbers, int64_t n) {
  for_each_item(stream, n, RoundUp{target, numbers});
}

void gather_tree(cudaStream_t stream, DType dtype, void* target, const void* ids,
                 const int64_t* parents, int64_t length, int64_t batch, int64_t beams,
                 const Watch& watch) {
  with_index("gather_tree", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, batch * beams,
                  FollowBeam<T>{static_cast<T*>(target), static_cast<const T*>(ids), parents,
                                length, batch, beams, watch});
  });
}

}  // namespace argosy::cuda

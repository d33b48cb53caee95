#include "argosy/kernels/cuda/ctr.h"

#include "argosy/kernels/cuda/index.cuh"

namespace argosy::cuda {
namespace {

constexpr double kNoShow = 1e-7;  // of slots: a show count below is none

template <class F>
void with_wide(const char* what, DType dtype, F&& f) {
  if (dtype == DType::float32)
    f(Type<float>{});
  else if (dtype == DType::float64)
    f(Type<double>{});
  else
    fail_dtype(what, dtype);
}

template <class T>
struct CountScore {
  int64_t* positive;
  int64_t* negative;
  const T* score;
  const bool* label;
  const bool* weight;
  int64_t width, thresholds;
  __device__ void operator()(int64_t i) const {
    if (weight && !weight[i]) return;
    const double share = static_cast<double>(score[i * width]);
    if (share != share) return;
    double place = floor(share * static_cast<double>(thresholds));
    place = place < 0 ? 0 : place > thresholds ? static_cast<double>(thresholds) : place;
    int64_t* to = (label[i] ? positive : negative) + static_cast<int64_t>(place);
    atomicAdd(reinterpret_cast<unsigned long long*>(to), 1ull);
  }
};

constexpr int kAreaThreads = 512;

// One block. Bins go from the last to the first; each thread takes neighbours of that order, and
// starts with the counts of the threads before it.
__global__ void __launch_bounds__(kAreaThreads)
    area_of(double* result, const int64_t* positive, const int64_t* negative, int64_t runs,
            int64_t bins, bool roc) {
  __shared__ double before[2][kAreaThreads];
  __shared__ double shared[kWarp];
  const int64_t each = (bins + kAreaThreads - 1) / kAreaThreads;
  const int64_t begin = min(bins, threadIdx.x * each), end = min(bins, begin + each);
  auto counts = [&](int64_t i, double* p, double* q) {
    *p = *q = 0;
    for (int64_t k = bins - 1 - i; k < runs * bins; k += bins) {
      *p += static_cast<double>(positive[k]);
      *q += static_cast<double>(negative[k]);
    }
  };
  double ones = 0, zeros = 0, p, q;
  for (int64_t i = begin; i < end; ++i) {
    counts(i, &p, &q);
    ones += p;
    zeros += q;
  }
  before[0][threadIdx.x] = ones;
  before[1][threadIdx.x] = zeros;
  __syncthreads();
  ones = zeros = 0;
  for (int t = 0; t < static_cast<int>(threadIdx.x); ++t) {
    ones += before[0][t];
    zeros += before[1][t];
  }
  double area = 0;
  double precision = ones + zeros > 0 ? ones / (ones + zeros) : 1;
  for (int64_t i = begin; i < end; ++i) {
    counts(i, &p, &q);
    ones += p;
    zeros += q;
    if (roc) {
      area += q * (ones - p / 2);
      continue;
    }
    const double now = ones + zeros > 0 ? ones / (ones + zeros) : 1;
    area += p * (precision + now) / 2;
    precision = now;
  }
  area = block_reduce(area, 0.0, Sum(), shared);
  if (threadIdx.x == kAreaThreads - 1) {
    const double scale = roc ? ones * zeros : ones;
    *result = scale > 0 ? area / scale : 0;
  }
}

template <class T>
struct ValueModel {
  T* y;
  const T* x;
  Splitter to;
  int64_t from;
  bool logs;
  __device__ void operator()(int64_t i) const {
    int64_t k;
    const int64_t row = to.split(i, &k);
    const T* at = x + row * from;
    T v = at[from - to.d + k];
    if (logs && k < 2) {
      const T show = log(at[0] + T(1));
      v = k == 0 ? show : log(at[1] + T(1)) - show;
    }
    y[i] = v;
  }
};

template <class T>
struct ValueModelGrad {
  T* dx;
  const T* dy;
  const T* counts;
  Splitter to;
  int64_t from;
  __device__ void operator()(int64_t i) const {
    int64_t k;
    const int64_t row = to.split(i, &k);
    dx[i] = k < 2 ? counts[row * 2 + k] : dy[row * from + from - to.d + k];
  }
};

template <class T>
struct NormOf {
  const T *size, *sum, *square, *weight;
  int64_t slot_dim;
  explicit NormOf(const DataNorm& n)
      : size(static_cast<const T*>(n.size)),
        sum(static_cast<const T*>(n.sum)),
        square(static_cast<const T*>(n.square)),
        weight(static_cast<const T*>(n.weight)),
        slot_dim(n.slot_dim) {}
  __device__ T mean(int64_t k) const { return sum[k] / size[k]; }
  __device__ T scale(int64_t k) const { return sqrt(size[k] / square[k]); }
  // Is the slot of column k in this row one that was never shown?
  __device__ bool absent(const T* row, int64_t k) const {
    if (slot_dim <= 0) return false;
    const T shown = row[k - k % slot_dim];
    return (shown < 0 ? -shown : shown) < T(kNoShow);
  }
};

template <class T>
struct Normalize {
  T* y;
  const T* x;
  const T* bias;
  NormOf<T> norm;
  Splitter width;
  __device__ void operator()(int64_t i) const {
    int64_t k;
    const int64_t row = width.split(i, &k);
    T v = (x[i] - norm.mean(k)) * norm.scale(k);
    if (norm.weight) v = v * norm.weight[k] + bias[k];
    y[i] = norm.absent(x + row * width.d, k) ? T(0) : v;
  }
};

template <class T>
struct Sums {
  T *size, *sum, *square, *weight, *bias;
};
// A block for each column.
template <class T>
__global__ void __launch_bounds__(kThreads)
    norm_grad(T* dx, Sums<T> sums, const T* dy, const T* x, NormOf<T> norm, int64_t n,
              int64_t width, double epsilon) {
  __shared__ double shared[kWarp];
  for (int64_t k = blockIdx.x; k < width; k += gridDim.x) {
    const T mean = norm.mean(k), scale = norm.scale(k);
    double count = 0, sum = 0, square = 0, dw = 0, db = 0;
    for (int64_t row = threadIdx.x; row < n; row += kThreads) {
      const int64_t i = row * width + k;
      const bool skip = norm.absent(x + row * width, k);
      const T centred = x[i] - mean;
      dx[i] = norm.weight ? (skip ? T(0) : dy[i] * scale * norm.weight[k]) : dy[i] * scale;
      if (skip) continue;
      count += 1;
      sum += x[i];
      square += centred * centred;
      dw += dy[i] * centred * scale;
      db += dy[i];
    }
    count = block_reduce(count, 0.0, Sum(), shared);
    sum = block_reduce(sum, 0.0, Sum(), shared);
    square = block_reduce(square, 0.0, Sum(), shared);
    dw = block_reduce(dw, 0.0, Sum(), shared);
    db = block_reduce(db, 0.0, Sum(), shared);
    if (threadIdx.x) continue;
    // With slots a batch counts as one sample: the average of those that were shown.
    const double per = norm.slot_dim > 0 && count > 0 ? count : 1;
    sums.size[k] = static_cast<T>(count / per);
    sums.sum[k] = static_cast<T>(sum / per);
    sums.square[k] = static_cast<T>(square / per + count * epsilon);
    if (!norm.weight) continue;
    sums.weight[k] = static_cast<T>(dw);
    sums.bias[k] = static_cast<T>(db);
  }
}

template <class T>
struct Decay {
  T* p;
  const T* g;
  double decay;
  __device__ void operator()(int64_t i) const {
    p[i] = static_cast<T>(static_cast<double>(p[i]) * decay + static_cast<double>(g[i]));
  }
};

}  // namespace

void auc_count(cudaStream_t stream, DType dtype, int64_t* positive, int64_t* negative,
               const void* score, const bool* label, const bool* weight, int64_t n, int64_t width,
               int64_t thresholds) {
  with_wide("auc_count", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, n,
                  CountScore<T>{positive, negative, static_cast<const T*>(score) + width - 1, label,
                                weight, width, thresholds});
  });
}

void auc_area(cudaStream_t stream, double* area, const int64_t* positive, const int64_t* negative,
              int64_t runs, int64_t bins, bool roc) {
  area_of<<<1, kAreaThreads, 0, stream>>>(area, positive, negative, runs, bins, roc);
  ARGOSY_CUDA_LAUNCHED();
}

void value_model(cudaStream_t stream, DType dtype, void* y, const void* x, int64_t n, int64_t from,
                 int64_t to, bool logs) {
  with_wide("continuous_value_model", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, n * to,
                  ValueModel<T>{static_cast<T*>(y), static_cast<const T*>(x), Splitter(to, n * to),
                                from, logs});
  });
}

void value_model_grad(cudaStream_t stream, DType dtype, void* dx, const void* dy,
                      const void* counts, int64_t n, int64_t from, int64_t to) {
  with_wide("continuous_value_model_grad", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, n * to,
                  ValueModelGrad<T>{static_cast<T*>(dx), static_cast<const T*>(dy),
                                    static_cast<const T*>(counts), Splitter(to, n * to), from});
  });
}

void data_norm(cudaStream_t stream, DType dtype, void* y, const void* x, const DataNorm& norm,
               const void* bias, int64_t n, int64_t width) {
  with_wide("data_norm", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(
        stream, n * width,
        Normalize<T>{static_cast<T*>(y), static_cast<const T*>(x), static_cast<const T*>(bias),
                     NormOf<T>(norm), Splitter(width, n * width)});
  });
}

void data_norm_grad(cudaStream_t stream, DType dtype, void* dx, void* const sums[5], const void* dy,
                    const void* x, const DataNorm& norm, int64_t n, int64_t width, double epsilon) {
  if (width == 0) return;
  with_wide("data_norm_grad", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const Sums<T> to{static_cast<T*>(sums[0]), static_cast<T*>(sums[1]), static_cast<T*>(sums[2]),
                     static_cast<T*>(sums[3]), static_cast<T*>(sums[4])};
    norm_grad<T><<<grid(width, 1), kThreads, 0, stream>>>(
        static_cast<T*>(dx), to, static_cast<const T*>(dy), static_cast<const T*>(x),
        NormOf<T>(norm), n, width, epsilon);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void summary_update(cudaStream_t stream, DType dtype, void* p, const void* g, int64_t n,
                    double decay) {
  with_wide("summary_update_", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, n, Decay<T>{static_cast<T*>(p), static_cast<const T*>(g), decay});
  });
}

}  // namespace argosy::cuda

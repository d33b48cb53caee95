#include "argosy/kernels/cuda/class_paths.h"
#include "argosy/kernels/cuda/each.cuh"

namespace argosy::cuda {
namespace {

struct Cutoffs {
  int64_t at[kMostCutoffs];
  int count;
};

constexpr int kThreads = 128;

// What a block knows of the row's labels: how many there are, and whether all are classes.
struct RowLabels {
  const int64_t* labels;
  int64_t count;
  bool wrong;

  __device__ RowLabels(const int64_t* of_row, int64_t classes) : labels(of_row) {
    __shared__ unsigned long long shared_end;
    if (threadIdx.x == 0) shared_end = static_cast<unsigned long long>(classes);
    __syncthreads();
    bool bad = false;
    for (int64_t i = threadIdx.x; i < classes; i += kThreads) {
      if (labels[i] == -1) atomicMin(&shared_end, static_cast<unsigned long long>(i));
      bad = bad || labels[i] < -1 || labels[i] >= classes;
    }
    wrong = __syncthreads_or(bad);
    count = static_cast<int64_t>(shared_end);
    __syncthreads();
  }
  __device__ bool has(int64_t k) const {
    for (int64_t i = 0; i < count; ++i)
      if (labels[i] == k) return true;
    return false;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    margin_rows(const T* x, const int64_t* labels, int64_t rows, int64_t classes, T* loss) {
  __shared__ double shared[kWarp];
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* row = x + r * classes;
    const RowLabels own(labels + r * classes, classes);
    double total = 0;
    if (!own.wrong) {
      for (int64_t k = threadIdx.x; k < classes; k += kThreads) {
        if (own.has(k)) continue;
        for (int64_t i = 0; i < own.count; ++i) {
          const double missing =
              1 - static_cast<double>(row[own.labels[i]]) + static_cast<double>(row[k]);
          if (!(missing <= 0)) total += missing;
        }
      }
    }
    total = block_reduce(total, 0.0, Sum(), shared);
    if (threadIdx.x == 0)
      loss[r] =
          own.wrong ? static_cast<T>(NAN) : static_cast<T>(total / static_cast<double>(classes));
  }
}

// Each thread makes whole elements: of a class that is no label, by how many labels it is too near;
// of a label, minus how many classes are too near, once for each time it stands there.
template <class T>
__global__ void __launch_bounds__(kThreads)
    margin_rows_grad(const T* x, const int64_t* labels, const T* dloss, int64_t rows,
                     int64_t classes, T* dx) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* row = x + r * classes;
    const RowLabels own(labels + r * classes, classes);
    const double step = static_cast<double>(dloss[r]) / static_cast<double>(classes);
    auto near = [&](int64_t t, int64_t k) {
      return !(1 - static_cast<double>(row[t]) + static_cast<double>(row[k]) <= 0);
    };
    for (int64_t k = threadIdx.x; k < classes; k += kThreads) {
      double steps = own.wrong ? NAN : 0;
      int64_t times = 0;
      for (int64_t i = 0; i < own.count && !own.wrong; ++i) times += own.labels[i] == k;
      if (times) {
        for (int64_t other = 0; other < classes; ++other)
          if (near(k, other) && !own.has(other)) steps -= static_cast<double>(times);
      } else if (!own.wrong) {
        for (int64_t i = 0; i < own.count; ++i) steps += near(own.labels[i], k) ? 1 : 0;
      }
      dx[r * classes + k] = static_cast<T>(steps * step);
    }
  }
}

template <class F>
void with_wide(DType dtype, F&& f) {
  dtype == DType::float64 ? f(Type<double>{}) : f(Type<float>{});
}

}  // namespace

void hsigmoid_path(cudaStream_t stream, const int64_t* labels, int64_t n, int64_t classes,
                   int64_t depth, int64_t* table, int64_t* code) {
  each(stream, n * depth, [=] __device__(int64_t i) {
    const int64_t c = labels[i / depth], b = i % depth;
    const bool good = 0 <= c && c < classes;
    const int64_t node = good ? ((c + classes) >> (b + 1)) - 1 : -1;
    table[i] = node;
    code[i] = node < 0 ? -1 : (c + classes) >> b & 1;
  });
}

void cluster_labels(cudaStream_t stream, const int64_t* labels, int64_t n,
                    const std::vector<int64_t>& cutoffs, int64_t* out) {
  Cutoffs to;
  to.count = static_cast<int>(cutoffs.size());
  std::copy(cutoffs.begin(), cutoffs.end(), to.at);
  each(stream, n, [=] __device__(int64_t i) {
    const int64_t v = labels[i];
    int64_t* row = out + i * to.count;
    row[0] = 0 <= v && v < to.at[to.count - 1] ? v : -1;
    for (int k = 1; k < to.count; ++k) {
      const bool inside = to.at[k - 1] <= v && v < to.at[k];
      row[k] = inside ? v - to.at[k - 1] : -1;
      if (inside) row[0] = to.at[0] + k - 1;
    }
  });
}

void multi_label_margin(cudaStream_t stream, DType dtype, const void* x, const int64_t* labels,
                        int64_t rows, int64_t classes, void* loss) {
  if (rows == 0) return;
  with_wide(dtype, [&]<class T>(Type<T>) {
    margin_rows<T><<<grid(rows, 1, 16), kThreads, 0, stream>>>(
        static_cast<const T*>(x), labels, rows, classes, static_cast<T*>(loss));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void multi_label_margin_grad(cudaStream_t stream, DType dtype, const void* x, const int64_t* labels,
                             const void* dloss, int64_t rows, int64_t classes, void* dx) {
  if (rows * classes == 0) return;
  with_wide(dtype, [&]<class T>(Type<T>) {
    margin_rows_grad<T><<<grid(rows, 1, 16), kThreads, 0, stream>>>(
        static_cast<const T*>(x), labels, static_cast<const T*>(dloss), rows, classes,
        static_cast<T*>(dx));
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda

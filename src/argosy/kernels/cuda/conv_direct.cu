#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/conv.h"
#include "argosy/kernels/cuda/places.cuh"

// Convolutions as they are defined: each result by one thread, each weight's gradient by one block.
namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

// ConvShape with what the kernels need of it worked out.
struct Direct {
  Places x, y;
  int64_t in_group, out_group;  // channels of a group
  int64_t taps;
  int64_t kernel[3], stride[3], dilation[3], pad[3];
};

Direct direct_of(const ConvShape& s) {
  Direct d;
  d.x = {s.channels_last, s.in_channels, {s.in[0], s.in[1], s.in[2]}};
  d.y = {s.channels_last, s.out_channels, {s.out[0], s.out[1], s.out[2]}};
  d.in_group = s.in_channels / s.groups;
  d.out_group = s.out_channels / s.groups;
  d.taps = s.taps();
  for (int i = 0; i < 3; ++i) {
    d.kernel[i] = s.kernel[i];
    d.stride[i] = s.stride[i];
    d.dilation[i] = s.dilation[i];
    d.pad[i] = s.pad[i];
  }
  return d;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(Direct d, int64_t total, const T* __restrict__ x, const T* __restrict__ w,
                   const T* __restrict__ bias, T* __restrict__ y) {
  using C = Computed<T>;
  const int64_t step_x = d.x.channel_step();
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = d.y.element(i);
    const int64_t first = e.c / d.out_group * d.in_group;
    const T* filter = w + e.c * d.in_group * d.taps;
    C sum = 0;
    int64_t tap = 0;
    for (int64_t kz = 0; kz < d.kernel[0]; ++kz) {
      const int64_t z = e.at[0] * d.stride[0] - d.pad[0] + kz * d.dilation[0];
      for (int64_t ky = 0; ky < d.kernel[1]; ++ky) {
        const int64_t r = e.at[1] * d.stride[1] - d.pad[1] + ky * d.dilation[1];
        for (int64_t kx = 0; kx < d.kernel[2]; ++kx, ++tap) {
          const int64_t q = e.at[2] * d.stride[2] - d.pad[2] + kx * d.dilation[2];
          if (!d.x.has(z, r, q)) continue;
          const T* from = x + d.x.offset(e.n, first, z, r, q);
          for (int64_t c = 0; c < d.in_group; ++c)
            sum += load(from[c * step_x]) * load(filter[c * d.taps + tap]);
        }
      }
    }
    if (bias) sum += load(bias[e.c]);
    y[i] = store<T>(sum);
  }
}

// The output along dimension k whose window has place `at` of x under tap `tap`; -1: none.
__device__ __forceinline__ int64_t output_at(const Direct& d, int k, int64_t at, int64_t tap) {
  const int64_t t = at + d.pad[k] - tap * d.dilation[k];
  if (t < 0) return -1;
  const int64_t o = t / d.stride[k];
  return o * d.stride[k] == t && o < d.y.size[k] ? o : -1;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    data_kernel(Direct d, int64_t total, const T* __restrict__ dy, const T* __restrict__ w,
                T* __restrict__ dx) {
  using C = Computed<T>;
  const int64_t step_y = d.y.channel_step();
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = d.x.element(i);
    const int64_t group = e.c / d.in_group, inside = e.c - group * d.in_group;
    const int64_t first = group * d.out_group;
    const T* filter = w + (first * d.in_group + inside) * d.taps;
    C sum = 0;
    int64_t tap = 0;
    for (int64_t kz = 0; kz < d.kernel[0]; ++kz) {
      const int64_t z = output_at(d, 0, e.at[0], kz);
      for (int64_t ky = 0; ky < d.kernel[1]; ++ky) {
        const int64_t r = output_at(d, 1, e.at[1], ky);
        for (int64_t kx = 0; kx < d.kernel[2]; ++kx, ++tap) {
          if (z < 0 || r < 0) continue;
          const int64_t q = output_at(d, 2, e.at[2], kx);
          if (q < 0) continue;
          const T* from = dy + d.y.offset(e.n, first, z, r, q);
          for (int64_t c = 0; c < d.out_group; ++c)
            sum += load(from[c * step_y]) * load(filter[c * d.in_group * d.taps + tap]);
        }
      }
    }
    dx[i] = store<T>(sum);
  }
}

// A block for each weight; its threads go over the batch and the places of dy.
template <class T>
__global__ void __launch_bounds__(kThreads)
    weight_kernel(Direct d, int64_t weights, int64_t batch, const T* __restrict__ x,
                  const T* __restrict__ dy, T* __restrict__ dw) {
  using C = Computed<T>;
  __shared__ C shared[kWarp];
  const int64_t places = d.y.size[0] * d.y.size[1] * d.y.size[2];
  const Places plane{false, 1, {d.y.size[0], d.y.size[1], d.y.size[2]}};
  for (int64_t i = blockIdx.x; i < weights; i += gridDim.x) {
    int64_t rest = i;
    const int64_t kx = rest % d.kernel[2];
    rest /= d.kernel[2];
    const int64_t ky = rest % d.kernel[1];
    rest /= d.kernel[1];
    const int64_t kz = rest % d.kernel[0];
    rest /= d.kernel[0];
    const int64_t out = rest / d.in_group;
    const int64_t in = out / d.out_group * d.in_group + rest % d.in_group;
    C sum = 0;
    for (int64_t p = threadIdx.x; p < batch * places; p += kThreads) {
      const Element e = plane.element(p);
      const int64_t z = e.at[0] * d.stride[0] - d.pad[0] + kz * d.dilation[0];
      const int64_t r = e.at[1] * d.stride[1] - d.pad[1] + ky * d.dilation[1];
      const int64_t q = e.at[2] * d.stride[2] - d.pad[2] + kx * d.dilation[2];
      if (!d.x.has(z, r, q)) continue;
      sum += load(x[d.x.offset(e.n, in, z, r, q)]) *
             load(dy[d.y.offset(e.n, out, e.at[0], e.at[1], e.at[2])]);
    }
    sum = block_reduce(sum, C(0), Sum{}, shared);
    if (threadIdx.x == 0) dw[i] = store<T>(sum);
  }
}

}  // namespace

void direct_forward(cudaStream_t stream, DType dtype, const ConvShape& s, const void* x,
                    const void* w, const void* bias, void* y) {
  const int64_t total = s.y_size();
  if (total == 0) return;
  with_floating("conv", dtype, [&]<class T>(Type<T>) {
    forward_kernel<T><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        direct_of(s), total, static_cast<const T*>(x), static_cast<const T*>(w),
        static_cast<const T*>(bias), static_cast<T*>(y));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void direct_data(cudaStream_t stream, DType dtype, const ConvShape& s, const void* dy,
                 const void* w, void* dx) {
  const int64_t total = s.x_size();
  if (total == 0) return;
  with_floating("conv_data", dtype, [&]<class T>(Type<T>) {
    data_kernel<T><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        direct_of(s), total, static_cast<const T*>(dy), static_cast<const T*>(w),
        static_cast<T*>(dx));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void direct_weight(cudaStream_t stream, DType dtype, const ConvShape& s, const void* x,
                   const void* dy, void* dw) {
  const int64_t weights = s.w_size();
  if (weights == 0) return;
  with_floating("conv_weight", dtype, [&]<class T>(Type<T>) {
    weight_kernel<T><<<grid(weights, 1, 64), kThreads, 0, stream>>>(
        direct_of(s), weights, s.batch, static_cast<const T*>(x), static_cast<const T*>(dy),
        static_cast<T*>(dw));
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda

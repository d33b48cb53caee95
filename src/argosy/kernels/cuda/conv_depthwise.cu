#include "argosy/kernels/cuda/conv.h"
#include "argosy/kernels/cuda/geometry.cuh"

// Convolutions each of whose outputs reads one channel, by square windows of two dimensions.
namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

struct Depthwise {
  Lattice<int32_t> in, out;  // parts: planes, or images with their channels last
  Splitter<int32_t> by_multiplier, by_out_channels, by_in_channels, by_stride[2];
  int32_t batch, in_channels, out_channels, multiplier;
  int32_t stride[2], dilation[2], pad[2];

  explicit Depthwise(const ConvShape& s)
      : in(s.in, s.channels_last ? s.in_channels : 1),
        out(s.out, s.channels_last ? s.out_channels : 1),
        by_multiplier(s.out_channels / s.in_channels),
        by_out_channels(s.out_channels),
        by_in_channels(s.in_channels),
        batch(static_cast<int32_t>(s.batch)),
        in_channels(static_cast<int32_t>(s.in_channels)),
        out_channels(static_cast<int32_t>(s.out_channels)),
        multiplier(static_cast<int32_t>(s.out_channels / s.in_channels)) {
    for (int d = 0; d < 2; ++d) {
      stride[d] = static_cast<int32_t>(s.stride[1 + d]);
      dilation[d] = static_cast<int32_t>(s.dilation[1 + d]);
      pad[d] = static_cast<int32_t>(s.pad[1 + d]);
      by_stride[d] = Splitter<int32_t>(s.stride[1 + d]);
    }
  }
  __device__ __forceinline__ int32_t height() const { return in.size[1]; }
  __device__ __forceinline__ int32_t width() const { return in.size[2]; }
  // Row and column of x under a tap of an output's.
  __device__ __forceinline__ int32_t row(int32_t r, int k) const {
    return r * stride[0] - pad[0] + k * dilation[0];
  }
  __device__ __forceinline__ int32_t column(int32_t q, int k) const {
    return q * stride[1] - pad[1] + k * dilation[1];
  }
  // The first element of channel c of image n, and what is from one place to the next.
  __device__ __forceinline__ int32_t x_base(int32_t n, int32_t c) const {
    return in.lanes == 1 ? (n * in_channels + c) * height() * width()
                         : n * height() * width() * in_channels + c;
  }
  __device__ __forceinline__ int32_t y_base(int32_t n, int32_t c) const {
    const int32_t places = out.size[1] * out.size[2];
    return out.lanes == 1 ? (n * out_channels + c) * places : n * places * out_channels + c;
  }
};

template <class T, int K>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(const Depthwise s, bool last, int32_t total, const T* __restrict__ x,
                   const T* __restrict__ w, const T* __restrict__ bias, T* __restrict__ y) {
  using C = Computed<T>;
  for (int32_t i = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x); i < total;
       i += static_cast<int32_t>(gridDim.x) * kThreads) {
    const PlaceOf<int32_t> p = s.out.place(i);
    int32_t n = p.part, c = p.lane, rest;
    if (!last) n = s.by_out_channels(p.part, c);
    const int32_t step = last ? s.in_channels : 1;
    const T* from = x + s.x_base(n, s.by_multiplier(c, rest));
    const T* filter = w + c * K * K;
    C sum = bias ? load(bias[c]) : C(0);
#pragma unroll
    for (int ky = 0; ky < K; ++ky) {
      const int32_t r = s.row(p.r, ky);
      if (r < 0 || r >= s.height()) continue;
#pragma unroll
      for (int kx = 0; kx < K; ++kx) {
        const int32_t q = s.column(p.q, kx);
        if (q >= 0 && q < s.width())
          sum += load(from[(r * s.width() + q) * step]) * load(filter[ky * K + kx]);
      }
    }
    y[i] = store<T>(sum);
  }
}

// The output along dimension d whose window has place `at` of x under tap k; -1: none.
__device__ __forceinline__ int32_t output_at(const Depthwise& s, int d, int32_t at, int k) {
  const int32_t t = at + s.pad[d] - k * s.dilation[d];
  if (t < 0) return -1;
  int32_t rest;
  const int32_t o = s.by_stride[d](t, rest);
  return rest == 0 && o < s.out.size[1 + d] ? o : -1;
}

template <class T, int K>
__global__ void __launch_bounds__(kThreads)
    data_kernel(const Depthwise s, bool last, int32_t total, const T* __restrict__ dy,
                const T* __restrict__ w, T* __restrict__ dx) {
  using C = Computed<T>;
  for (int32_t i = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x); i < total;
       i += static_cast<int32_t>(gridDim.x) * kThreads) {
    const PlaceOf<int32_t> p = s.in.place(i);
    int32_t n = p.part, c = p.lane;
    if (!last) n = s.by_in_channels(p.part, c);
    const int32_t step = last ? s.out_channels : 1;
    C sum = 0;
    for (int32_t m = 0; m < s.multiplier; ++m) {
      const int32_t channel = c * s.multiplier + m;
      const T* from = dy + s.y_base(n, channel);
      const T* filter = w + channel * K * K;
#pragma unroll
      for (int ky = 0; ky < K; ++ky) {
        const int32_t r = output_at(s, 0, p.r, ky);
        if (r < 0) continue;
#pragma unroll
        for (int kx = 0; kx < K; ++kx) {
          const int32_t q = output_at(s, 1, p.q, kx);
          if (q >= 0) sum += load(from[(r * s.out.size[2] + q) * step]) * load(filter[ky * K + kx]);
        }
      }
    }
    dx[i] = store<T>(sum);
  }
}

// Adds what the output at place (r, q) of an image gives to the gradients of one channel's weights.
template <class T, int K>
__device__ __forceinline__ void add_taps(const Depthwise& s, const T* from, int32_t step, int32_t r,
                                         int32_t q, Computed<T> g, Computed<T> (&sums)[K * K]) {
#pragma unroll
  for (int ky = 0; ky < K; ++ky) {
    const int32_t y = s.row(r, ky);
    if (y < 0 || y >= s.height()) continue;
#pragma unroll
    for (int kx = 0; kx < K; ++kx) {
      const int32_t x = s.column(q, kx);
      if (x >= 0 && x < s.width()) sums[ky * K + kx] += g * load(from[(y * s.width() + x) * step]);
    }
  }
}

// Channels first: block (channel, part of the batch). parts: [gridDim.y, channels, K * K].
template <class T, int K>
__global__ void __launch_bounds__(kThreads)
    weight_kernel(const Depthwise s, const T* __restrict__ x, const T* __restrict__ dy,
                  Computed<T>* __restrict__ parts) {
  using C = Computed<T>;
  __shared__ C shared[kWarp];
  const auto c = static_cast<int32_t>(blockIdx.x);
  const int32_t width = s.out.size[2], places = s.out.size[1] * width;
  int32_t rest;
  const int32_t source = s.by_multiplier(c, rest);
  C sums[K * K] = {};
  for (auto n = static_cast<int32_t>(blockIdx.y); n < s.batch;
       n += static_cast<int32_t>(gridDim.y)) {
    const T* from = x + s.x_base(n, source);
    const T* g = dy + s.y_base(n, c);
    for (auto i = static_cast<int32_t>(threadIdx.x); i < places; i += kThreads) {
      int32_t q;
      const int32_t r = s.out.by[2](i, q);
      add_taps<T, K>(s, from, 1, r, q, load(g[i]), sums);
    }
  }
  C* to = parts + (int64_t{blockIdx.y} * s.out_channels + c) * K * K;
  for (int k = 0; k < K * K; ++k) {
    const C sum = block_reduce(sums[k], C(0), Sum{}, shared);
    if (threadIdx.x == 0) to[k] = sum;
  }
}

constexpr int kLanes = 32, kRows = 8;

// Channels last: block (32 channels, part of the places of all images), rows of threads over these.
template <class T, int K>
__global__ void __launch_bounds__(kLanes* kRows)
    weight_last_kernel(const Depthwise s, const T* __restrict__ x, const T* __restrict__ dy,
                       Computed<T>* __restrict__ parts) {
  using C = Computed<T>;
  __shared__ C shared[kRows][kLanes];
  const auto c = static_cast<int32_t>(blockIdx.x * kLanes + threadIdx.x);
  const bool has = c < s.out_channels;
  const int32_t width = s.out.size[2], places = s.out.size[1] * width;
  int32_t rest;
  const int32_t source = s.by_multiplier(has ? c : 0, rest);
  C sums[K * K] = {};
  const auto first = static_cast<int32_t>(blockIdx.y * kRows + threadIdx.y);
  const auto step = static_cast<int32_t>(gridDim.y) * kRows;
  for (int32_t i = first; has && i < s.batch * places; i += step) {
    int32_t q, r;
    const int32_t n = s.out.by[1](s.out.by[2](i, q), r);
    add_taps<T, K>(s, x + s.x_base(n, source), s.in_channels, r, q,
                   load(dy[i * s.out_channels + c]), sums);
  }
  C* to = parts + (int64_t{blockIdx.y} * s.out_channels + c) * K * K;
  for (int k = 0; k < K * K; ++k) {
    shared[threadIdx.y][threadIdx.x] = sums[k];
    __syncthreads();
    if (threadIdx.y == 0 && has) {
      C sum = 0;
      for (int row = 0; row < kRows; ++row) sum += shared[row][threadIdx.x];
      to[k] = sum;
    }
    __syncthreads();
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    add_parts_kernel(int32_t count, int32_t total, const Computed<T>* __restrict__ parts,
                     T* __restrict__ dw) {
  for (auto i = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x); i < total;
       i += static_cast<int32_t>(gridDim.x) * kThreads) {
    Computed<T> sum = 0;
    for (int32_t k = 0; k < count; ++k) sum += parts[int64_t{k} * total + i];
    dw[i] = store<T>(sum);
  }
}

template <class F>
void with_kernel(const ConvShape& s, DType dtype, F&& f) {
  with_floating("conv", dtype, [&]<class T>(Type<T> type) {
    if (s.kernel[2] == 3)
      f(type, std::integral_constant<int, 3>{});
    else
      f(type, std::integral_constant<int, 5>{});
  });
}

// Parts that keep the device full, `blocks` being there for each.
unsigned parts_for(int64_t blocks, int64_t most) {
  const int64_t wanted = int64_t{multiprocessors()} * 8 / std::max<int64_t>(blocks, 1) + 1;
  return static_cast<unsigned>(std::clamp<int64_t>(wanted, 1, std::clamp<int64_t>(most, 1, 1024)));
}

}  // namespace

bool takes_depthwise(const ConvShape& s) {
  const bool square = s.kernel[1] == s.kernel[2] && (s.kernel[2] == 3 || s.kernel[2] == 5);
  const int64_t most = int64_t{1} << 30;
  int64_t reach = 0;
  for (int d = 1; d < 3; ++d)
    reach =
        std::max(reach, s.out[d] * s.stride[d] + s.kernel[d] * s.dilation[d] + s.in[d] + s.pad[d]);
  return s.groups > 1 && s.groups == s.in_channels && s.dims <= 2 && square && s.x_size() > 0 &&
         s.y_size() > 0 && s.x_size() < most && s.y_size() < most && s.w_size() < most &&
         reach < most;
}

void depthwise_forward(cudaStream_t stream, DType dtype, const ConvShape& s, const void* x,
                       const void* w, const void* bias, void* y) {
  const auto total = static_cast<int32_t>(s.y_size());
  with_kernel(s, dtype, [&]<class T, int K>(Type<T>, std::integral_constant<int, K>) {
    forward_kernel<T, K><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        Depthwise(s), s.channels_last, total, static_cast<const T*>(x), static_cast<const T*>(w),
        static_cast<const T*>(bias), static_cast<T*>(y));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void depthwise_data(cudaStream_t stream, DType dtype, const ConvShape& s, const void* dy,
                    const void* w, void* dx) {
  const auto total = static_cast<int32_t>(s.x_size());
  with_kernel(s, dtype, [&]<class T, int K>(Type<T>, std::integral_constant<int, K>) {
    data_kernel<T, K><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        Depthwise(s), s.channels_last, total, static_cast<const T*>(dy), static_cast<const T*>(w),
        static_cast<T*>(dx));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void depthwise_weight(cudaStream_t stream, DType dtype, const ConvShape& s, const void* x,
                      const void* dy, void* dw) {
  const auto channels = static_cast<unsigned>(s.out_channels),
             total = static_cast<unsigned>(s.w_size());
  const unsigned across = s.channels_last ? (channels + kLanes - 1) / kLanes : channels;
  const unsigned count =
      parts_for(across, s.channels_last ? s.batch * s.out_places() / kRows : s.batch);
  with_kernel(s, dtype, [&]<class T, int K>(Type<T>, std::integral_constant<int, K>) {
    const Scratch parts(stream, size_t{count} * total * sizeof(Computed<T>));
    auto* sums = parts.template data<Computed<T>>();
    const auto *from = static_cast<const T*>(x), *g = static_cast<const T*>(dy);
    const Depthwise shape(s);
    if (s.channels_last) {
      weight_last_kernel<T, K>
          <<<dim3(across, count), dim3(kLanes, kRows), 0, stream>>>(shape, from, g, sums);
    } else {
      weight_kernel<T, K><<<dim3(across, count), kThreads, 0, stream>>>(shape, from, g, sums);
    }
    ARGOSY_CUDA_LAUNCHED();
    add_parts_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(
        static_cast<int32_t>(count), static_cast<int32_t>(total), sums, static_cast<T*>(dw));
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda

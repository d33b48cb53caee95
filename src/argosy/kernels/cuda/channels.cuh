#pragma once

#include "argosy/kernels/cuda/norm_weights.cuh"

// Sums over an image for each of some units (a channel, a channel of a sample, a group), and what
// is made of each element from numbers of its unit.
namespace argosy::cuda {

// Where the elements of units are. In runs: unit u has `pieces` runs of `length` elements from u *
// length on, piece_stride apart. In columns: unit (b, c) is column c of the matrix b [length,
// columns]; pieces is the number of matrices.
struct Units {
  bool columns;
  int64_t units;  // in columns: of one matrix
  int64_t pieces, length, piece_stride;
  int64_t count() const { return columns ? pieces * units : units; }
};

// Sums of dy and of dy * (x - mean).
template <class C>
struct PairSums {
  C sum = 0, product = 0;
  __device__ __forceinline__ void add(const PairSums& other) {
    sum += other.sum;
    product += other.product;
  }
};

template <class S>
__device__ __forceinline__ S shuffled(const S& s, int step) {
  S out;
  constexpr int kWords = sizeof(S) / 4;
  const auto* from = reinterpret_cast<const int*>(&s);
  auto* to = reinterpret_cast<int*>(&out);
#pragma unroll
  for (int i = 0; i < kWords; ++i) to[i] = __shfl_xor_sync(0xffffffffu, from[i], step);
  return out;
}
// Lane 0's is right; so are the others' up to rounding.
template <class S>
__device__ __forceinline__ void merge_warp(S& s) {
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) s.add(shuffled(s, step));
}

// n / d, fast where all n are below 2^31.
struct Division {
  Divider fast;
  int64_t d;
  bool small;
  Division(int64_t divisor, int64_t most) : d(divisor), small(most < INT32_MAX) {
    if (small) fast = Divider(static_cast<uint32_t>(d));
  }
  __device__ __forceinline__ int64_t operator()(int64_t n) const {
    return small ? fast.quotient(static_cast<uint32_t>(n)) : n / d;
  }
};

// What a kernel of sums reads: Moments of x, or PairSums of x and dy about the mean of
// unit / members (in columns: of matrix b, column c, the mean b * groups + c / members).
template <class T>
struct Source {
  const T *x, *dy;
  const Computed<T>* mean;
  int64_t members, groups;
};

// Parts [units, splits].
template <class S, class T, int P>
__global__ void __launch_bounds__(256)
    sum_runs(Source<T> in, Units a, Division by_packs, S* parts) {
  using C = Computed<T>;
  constexpr bool kPair = std::is_same_v<S, PairSums<C>>;
  alignas(S) __shared__ unsigned char room[8 * sizeof(S)];
  S* shared = reinterpret_cast<S*>(room);
  const int64_t unit = blockIdx.x;
  const int64_t packs = a.length / P;
  const int64_t all = a.pieces * packs, first = unit * a.length;
  const int64_t each = (all + gridDim.y - 1) / gridDim.y, begin = each * blockIdx.y;
  const int64_t end = begin + each < all ? begin + each : all;
  const C mean = kPair ? in.mean[unit / in.members] : C(0);
  S s;
  const bool one = a.pieces == 1;
  auto place = [&](int64_t i) {
    const int64_t piece = one ? 0 : by_packs(i);
    return first + piece * a.piece_stride + (i - piece * packs) * P;
  };
  int64_t i = begin + threadIdx.x;
  if constexpr (kPair) {
#pragma unroll 4
    for (; i < end; i += blockDim.x) {
      const int64_t at = place(i);
      const auto raw = *reinterpret_cast<const Pack<T, P>*>(in.x + at);
      const auto of_dy = *reinterpret_cast<const Pack<T, P>*>(in.dy + at);
#pragma unroll
      for (int k = 0; k < P; ++k) {
        const C dy = load(of_dy.at[k]);
        s.sum += dy;
        s.product += dy * (load(raw.at[k]) - mean);
      }
    }
  } else {
    // Eight numbers at once share a division; one access at a time is left for the end.
    constexpr int kAtOnce = P < 8 ? 8 / P : 1;
    auto add = [&]<int n>(std::integral_constant<int, n>) {
      Pack<T, P> raw[n];
#pragma unroll
      for (int u = 0; u < n; ++u)
        raw[u] = *reinterpret_cast<const Pack<T, P>*>(in.x + place(i + u * int64_t{blockDim.x}));
      C v[n * P];
#pragma unroll
      for (int k = 0; k < n * P; ++k) v[k] = load(raw[k / P].at[k % P]);
      s.add(v);
    };
#pragma unroll 2
    for (; i + (kAtOnce - 1) * int64_t{blockDim.x} < end; i += kAtOnce * int64_t{blockDim.x})
      add(std::integral_constant<int, kAtOnce>());
    if constexpr (kAtOnce > 1) {
      for (; i < end; i += blockDim.x) add(std::integral_constant<int, 1>());
    }
  }
  merge_warp(s);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  if (threadIdx.x % kWarp == 0) shared[warp] = s;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < static_cast<int>(blockDim.x) / kWarp; ++w) s.add(shared[w]);
  parts[unit * gridDim.y + blockIdx.y] = s;
}

// f(n, r) for the rows r, r + step, .. of n: four at once as long as there are so many, else one.
// What f loads of them is under way together.
template <int kAtOnce, class F>
__device__ __forceinline__ void for_rows(int64_t r, int64_t step, int64_t end, F&& f) {
  for (; r + (kAtOnce - 1) * step < end; r += kAtOnce * step)
    f(std::integral_constant<int, kAtOnce>(), r);
  for (; r < end; r += step) f(std::integral_constant<int, 1>(), r);
}

// What threads of a block of 256 have summed up of `x` packs of columns, x a power of 2 below 33:
// f(column of the block, sum). All lanes of a warp call it; `shared`: 8 warps of kWarp * P items.
template <int P, class S, class F>
__device__ __forceinline__ void give_columns(S (&s)[P], unsigned x, S* shared, F&& f) {
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % kWarp;
  for (unsigned step = x; step < kWarp; step *= 2) {
#pragma unroll
    for (int k = 0; k < P; ++k) s[k].add(shuffled(s[k], static_cast<int>(step)));
  }
  if (lane < x) {
#pragma unroll
    for (int k = 0; k < P; ++k) shared[(thread / kWarp * x + lane) * P + k] = s[k];
  }
  __syncthreads();
  if (thread < x * P) {
    S all = shared[thread];
    for (unsigned warp = 1; warp < 256 / kWarp; ++warp) all.add(shared[warp * x * P + thread]);
    f(thread, all);
  }
  __syncthreads();
}

// Threads (x: packs of columns, y: rows); blocks (x: columns, y: splits of rows, z: matrices).
template <class S, class T, int P>
__global__ void __launch_bounds__(256, sizeof(T) < 8 ? 4 : 1)
    sum_columns(Source<T> in, Units a, S* parts) {
  using C = Computed<T>;
  constexpr bool kPair = std::is_same_v<S, PairSums<C>>;
  alignas(S) __shared__ unsigned char room[8 * kWarp * P * sizeof(S)];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x * P;
  const int64_t column = first + threadIdx.x * P;
  const bool inside = column < a.units;
  for (int64_t matrix = blockIdx.z; matrix < a.pieces; matrix += gridDim.z) {
    S s[P];
    C mean[P];
#pragma unroll
    for (int k = 0; k < P; ++k) {
      const int64_t of = in.members == 1 ? column + k : (column + k) / in.members;
      mean[k] = kPair && inside ? in.mean[matrix * in.groups + of] : C(0);
    }
    const int64_t base = matrix * a.piece_stride + column;
    C count = 0;
    const auto add = [&]<int n>(std::integral_constant<int, n>, int64_t r, int64_t step) {
      Pack<T, P> raw[n];
      [[maybe_unused]] Pack<T, P> of_dy[n];
#pragma unroll
      for (int u = 0; u < n; ++u) {
        const int64_t at = base + (r + u * step) * a.units;
        raw[u] = *reinterpret_cast<const Pack<T, P>*>(in.x + at);
        if constexpr (kPair) of_dy[u] = *reinterpret_cast<const Pack<T, P>*>(in.dy + at);
      }
      if constexpr (kPair) {
#pragma unroll
        for (int u = 0; u < n; ++u) {
#pragma unroll
          for (int k = 0; k < P; ++k) {
            const C dy = load(of_dy[u].at[k]);
            s[k].sum += dy;
            s[k].product += dy * (load(raw[u].at[k]) - mean[k]);
          }
        }
      } else {
        // As Moments are added, with one division for all columns.
        const C share = n / (count + n), weight = count * share;
        count += n;
#pragma unroll
        for (int k = 0; k < P; ++k) {
          C middle = 0, squares = 0;
#pragma unroll
          for (int u = 0; u < n; ++u) middle += load(raw[u].at[k]);
          middle *= C(1) / n;
#pragma unroll
          for (int u = 0; u < n; ++u) {
            const C apart = load(raw[u].at[k]) - middle;
            squares += apart * apart;
          }
          const C apart = middle - s[k].mean;
          s[k].mean += apart * share;
          s[k].squares += squares + apart * apart * weight;
        }
      }
    };
    if (inside) {
      const int64_t step = static_cast<int64_t>(gridDim.y) * blockDim.y;
      for_rows<4>(static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y, step, a.length,
                  [&](auto n, int64_t r) { add(n, r, step); });
    }
    if constexpr (!kPair) {
#pragma unroll
      for (int k = 0; k < P; ++k) s[k].count = count;
    }
    give_columns<P>(s, blockDim.x, reinterpret_cast<S*>(room), [&](unsigned c, const S& all) {
      if (first + c < a.units) parts[(matrix * a.units + first + c) * gridDim.y + blockIdx.y] = all;
    });
  }
}

// merged[i] of `run` parts each, which lie side by side; one warp for each.
template <class S>
__device__ __forceinline__ S merged(const S* parts, int64_t run, int64_t i) {
  S s;
  for (int64_t k = threadIdx.x % kWarp; k < run; k += kWarp) s.add(parts[i * run + k]);
  merge_warp(s);
  return s;
}
// About the mean of all, which takes no division for each part.
template <class C>
__device__ __forceinline__ Moments<C> merged(const Moments<C>* parts, int64_t run, int64_t i) {
  const Moments<C>* own = parts + i * run;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  Moments<C> all;
  for (int64_t k = lane; k < run; k += kWarp) {
    all.count += own[k].count;
    all.mean += own[k].count * own[k].mean;
  }
  all.count = warp_reduce(all.count, Sum());
  all.mean = warp_reduce(all.mean, Sum()) / (all.count > 0 ? all.count : C(1));
  for (int64_t k = lane; k < run; k += kWarp) {
    const C apart = own[k].mean - all.mean;
    all.squares += own[k].squares + own[k].count * apart * apart;
  }
  all.squares = warp_reduce(all.squares, Sum());
  return all;
}

struct SumPlan {
  dim3 blocks, threads;
  int64_t splits;
};
// How Units are cut so that the device is busy; `packs`: elements of an access.
inline SumPlan plan_sums(const Units& a, int packs, int64_t blocks_per_multiprocessor = 4) {
  const int64_t wanted = blocks_per_multiprocessor * multiprocessors();
  if (!a.columns) {
    const int64_t all = a.pieces * (a.length / packs);
    const auto threads =
        static_cast<unsigned>(std::clamp<int64_t>((all + kWarp - 1) / kWarp * kWarp, kWarp, 256));
    // Sixteen accesses a thread are worth a block.
    const int64_t most = std::max<int64_t>(1, all / (16 * threads));
    const int64_t splits = std::clamp<int64_t>((wanted + a.units - 1) / a.units, 1, most);
    const int64_t fits = std::min<int64_t>(splits, 65535);
    return {dim3(static_cast<unsigned>(a.units), static_cast<unsigned>(fits)), dim3(threads), fits};
  }
  const int64_t across = (a.units + packs - 1) / packs;
  unsigned x = 1;
  while (x < 32 && x < across) x *= 2;
  const unsigned y = 256 / x;
  const int64_t tiles = (across + x - 1) / x;
  const int64_t most = std::max<int64_t>(1, a.length / (8 * y));
  const int64_t splits =
      std::min<int64_t>(std::clamp<int64_t>(wanted / (tiles * a.pieces), 1, most), 65535);
  return {dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(splits),
               static_cast<unsigned>(std::min<int64_t>(a.pieces, 65535))),
          dim3(x, y), splits};
}

// Can accesses be whole packs?
template <class T>
bool packs_fit(const Units& a, const void* x, const void* dy = nullptr) {
  return (a.columns ? a.units : a.length) % kPack<T> == 0 && a.piece_stride % kPack<T> == 0 &&
         aligned(x) && aligned(dy);
}

// f(parts, run): parts of Units by unit, `run` side by side for each.
template <class S, class T, class F>
void with_sums(cudaStream_t stream, const Source<T>& in, const Units& a, F&& f) {
  auto launch = [&]<int P>(std::integral_constant<int, P>) {
    const SumPlan plan = plan_sums(a, P);
    const Scratch parts(stream, static_cast<size_t>(a.count() * plan.splits) * sizeof(S));
    S* to = parts.template data<S>();
    if (a.columns)
      sum_columns<S, T, P><<<plan.blocks, plan.threads, 0, stream>>>(in, a, to);
    else
      sum_runs<S, T, P><<<plan.blocks, plan.threads, 0, stream>>>(
          in, a, Division(a.length / P, a.pieces * (a.length / P)), to);
    ARGOSY_CUDA_LAUNCHED();
    f(static_cast<const S*>(to), plan.splits);
  };
  if (kPack<T> != 1 && packs_fit<T>(a, in.x, in.dy))
    launch(std::integral_constant<int, kPack<T>>());
  else
    launch(std::integral_constant<int, 1>());
}

// What is made of an element from numbers of its unit: (x - mean) * a + b; of a gradient
// a * dy + b * (x - mean) + c.
template <class C>
struct alignas(4 * sizeof(C)) Numbers {
  C mean, a, b, c;
};
template <bool kBack, class T>
__device__ __forceinline__ T made(const Numbers<Computed<T>>& k, T x, T dy) {
  if constexpr (kBack) return store<T>(k.a * load(dy) + k.b * (load(x) - k.mean) + k.c);
  return store<T>((load(x) - k.mean) * k.a + k.b);
}

// Elements lie in runs of `inner`; run r has the numbers r % units. `n`: elements.
template <bool kBack, class T, int P>
__global__ void __launch_bounds__(256)
    apply_runs(const T* x, const T* dy, T* y, const Numbers<Computed<T>>* numbers, int64_t n,
               int64_t inner, int64_t units, Division by_inner, Division by_units) {
  using C = Computed<T>;
  const int64_t packs = n / P, step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
#pragma unroll 2
  for (int64_t i = thread; i < packs; i += step) {
    const int64_t run = by_inner(i * P);
    int64_t unit = run - by_units(run) * units;
    const int64_t rest = (run + 1) * inner - i * P;  // of the run
    int left = rest < P ? static_cast<int>(rest) : P;
    auto raw = *reinterpret_cast<const Pack<T, P>*>(x + i * P);
    Pack<T, P> of_dy;
    if constexpr (kBack) of_dy = *reinterpret_cast<const Pack<T, P>*>(dy + i * P);
    Numbers<C> k = numbers[unit];
#pragma unroll
    for (int e = 0; e < P; ++e) {
      if (e == left) {  // the pack goes on in the next run
        unit = unit + 1 == units ? 0 : unit + 1;
        left += inner < P ? static_cast<int>(inner) : P;
        k = numbers[unit];
      }
      raw.at[e] = made<kBack, T>(k, raw.at[e], kBack ? of_dy.at[e] : T());
    }
    *reinterpret_cast<Pack<T, P>*>(y + i * P) = raw;
  }
  if (const int64_t at = packs * P + thread; at < n) {
    const int64_t run = by_inner(at);
    y[at] = made<kBack, T>(numbers[run - by_units(run) * units], x[at], kBack ? dy[at] : T());
  }
}

// Threads and blocks as those of sum_columns; numbers [pieces, units].
template <bool kBack, class T, int P>
__global__ void __launch_bounds__(256)
    apply_columns(const T* x, const T* dy, T* y, const Numbers<Computed<T>>* numbers, Units a) {
  using C = Computed<T>;
  const int64_t column = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * P;
  if (column >= a.units) return;
  const int64_t step = static_cast<int64_t>(gridDim.y) * blockDim.y;
  for (int64_t matrix = blockIdx.z; matrix < a.pieces; matrix += gridDim.z) {
    Numbers<C> k[P];
#pragma unroll
    for (int e = 0; e < P; ++e) k[e] = numbers[matrix * a.units + column + e];
    const int64_t base = matrix * a.piece_stride + column;
    const auto rows = [&]<int n>(std::integral_constant<int, n>, int64_t r) {
      Pack<T, P> raw[n];
      [[maybe_unused]] Pack<T, P> of_dy[n];
#pragma unroll
      for (int u = 0; u < n; ++u) {
        const int64_t at = base + (r + u * step) * a.units;
        raw[u] = *reinterpret_cast<const Pack<T, P>*>(x + at);
        if constexpr (kBack) of_dy[u] = *reinterpret_cast<const Pack<T, P>*>(dy + at);
      }
#pragma unroll
      for (int u = 0; u < n; ++u) {
#pragma unroll
        for (int e = 0; e < P; ++e)
          raw[u].at[e] = made<kBack, T>(k[e], raw[u].at[e], kBack ? of_dy[u].at[e] : T());
        *reinterpret_cast<Pack<T, P>*>(y + base + (r + u * step) * a.units) = raw[u];
      }
    };
    for_rows<kBack ? 2 : 4>(static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y, step,
                            a.length, rows);
  }
}

// y of all elements of Units from the numbers of each unit; in runs, these are of one piece.
template <bool kBack, class T>
void apply(cudaStream_t stream, const Units& a, const T* x, const T* dy, T* y,
           const Numbers<Computed<T>>* numbers) {
  const bool ready = aligned(x) && aligned(dy) && aligned(y);
  auto launch = [&]<int P>(std::integral_constant<int, P>) {
    if (a.columns) {
      const SumPlan plan = plan_sums(a, P, 16);
      apply_columns<kBack, T, P><<<plan.blocks, plan.threads, 0, stream>>>(x, dy, y, numbers, a);
    } else {
      const int64_t n = a.units * a.pieces * a.length;
      apply_runs<kBack, T, P><<<grid(n / P, 256), 256, 0, stream>>>(
          x, dy, y, numbers, n, a.length, a.units, Division(a.length, n), Division(a.units, n));
    }
    ARGOSY_CUDA_LAUNCHED();
  };
  if (kPack<T> != 1 && ready && (!a.columns || a.units % kPack<T> == 0))
    launch(std::integral_constant<int, kPack<T>>());
  else
    launch(std::integral_constant<int, 1>());
}

}  // namespace argosy::cuda

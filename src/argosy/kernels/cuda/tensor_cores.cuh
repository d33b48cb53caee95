#pragma once

#include "argosy/kernels/cuda/common.cuh"

// Products of tiles in shared memory by a warp's tensor cores. A tile has rows of D elements,
// tile_stride<T, D> apart; a product has 16 rows, and columns in groups of 8. Where an element of a
// result is: thread `lane` has rows lane / 4 and lane / 4 + 8, columns 2 (lane % 4) and the next of
// each group: c[0], c[1] in the first row, c[2], c[3] in the second.
namespace argosy::cuda {

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
// Four matrices of 8 x 8 16-bit elements; lane i names row i % 8 of matrix i / 8. `kTurned`: each
// is transposed.
template <bool kTurned>
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const void* row) {
  if constexpr (kTurned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// How a tensor core takes T: kStep terms of a sum at once.
template <class T>
struct Cores {
  static constexpr int kStep = 16;
  static constexpr int kPad = 8;  // elements behind a row, so that rows begin in other banks
  struct Left {                   // 16 rows of kStep
    uint32_t r[4];
  };
  struct Right {  // kStep of two groups of 8 columns
    uint32_t r[4];
  };
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kWarp; }

  __device__ static Left left(const T* tile, int stride, int row, int k) {
    Left a;
    load_matrices<false>(a.r, tile + (row + lane() % 16) * stride + k + lane() / 16 * 8);
    return a;
  }
  // Columns are rows of the tile, [n, k].
  __device__ static Right of_rows(const T* tile, int stride, int n, int k) {
    Right b;
    load_matrices<false>(
        b.r, tile + (n + lane() % 8 + lane() / 16 * 8) * stride + k + lane() / 8 % 2 * 8);
    return b;
  }
  // Columns are those of the tile, [k, n].
  __device__ static Right of_columns(const T* tile, int stride, int k, int n) {
    Right b;
    load_matrices<true>(b.r, tile + (k + lane() % 16) * stride + n + lane() / 16 * 8);
    return b;
  }
  __device__ static uint32_t both(float low, float high) {
    Pack<T, 2> two;
    two.at[0] = store<T>(low);
    two.at[1] = store<T>(high);
    uint32_t bits;
    memcpy(&bits, &two, sizeof bits);
    return bits;
  }
  // A result, as the left operand of a further product: its columns are the terms.
  __device__ static Left of_result(const float (*c)[4]) {
    return {{both(c[0][0], c[0][1]), both(c[0][2], c[0][3]), both(c[1][0], c[1][1]),
             both(c[1][2], c[1][3])}};
  }
  __device__ static void add(float (&c)[4], const Left& a, uint32_t b0, uint32_t b1) {
    if constexpr (std::is_same_v<T, half_t>)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
          "{%8, %9}, {%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b0), "r"(b1));
    else
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, "
          "%7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b0), "r"(b1));
  }
  __device__ static void add(float (&c0)[4], float (&c1)[4], const Left& a, const Right& b) {
    add(c0, a, b.r[0], b.r[1]);
    add(c1, a, b.r[2], b.r[3]);
  }
};

// float32 as a sum of two numbers of TF32, of whose four products all but the least are added: 22
// bits of each factor count.
template <>
struct Cores<float> {
  static constexpr int kStep = 8;
  static constexpr int kPad = 4;
  struct Left {
    uint32_t big[4], small[4];
  };
  struct Right {
    uint32_t big[4], small[4];
  };
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ static uint32_t rounded(float x) {
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
  }
  template <class Parts>
  __device__ static void split(Parts& to, int i, float x) {
    to.big[i] = rounded(x);
    to.small[i] = rounded(x - __uint_as_float(to.big[i]));
  }

  __device__ static Left left(const float* tile, int stride, int row, int k) {
    const float* at = tile + (row + lane() / 4) * stride + k + lane() % 4;
    Left a;
    split(a, 0, at[0]);
    split(a, 1, at[8 * stride]);
    split(a, 2, at[4]);
    split(a, 3, at[8 * stride + 4]);
    return a;
  }
  __device__ static Right of_rows(const float* tile, int stride, int n, int k) {
    const float* at = tile + (n + lane() / 4) * stride + k + lane() % 4;
    Right b;
    split(b, 0, at[0]);
    split(b, 1, at[4]);
    split(b, 2, at[8 * stride]);
    split(b, 3, at[8 * stride + 4]);
    return b;
  }
  // Of the terms lane % 4 and lane % 4 + 4 a thread has the columns of a result, 2 (lane % 4) and
  // the next: a sum may be in any order, if both operands agree. See of_result.
  __device__ static Right of_columns(const float* tile, int stride, int k, int n) {
    const float* at = tile + (k + lane() % 4 * 2) * stride + n + lane() / 4;
    Right b;
    split(b, 0, at[0]);
    split(b, 1, at[stride]);
    split(b, 2, at[8]);
    split(b, 3, at[stride + 8]);
    return b;
  }
  __device__ static Left of_result(const float (*c)[4]) {
    Left a;
    split(a, 0, c[0][0]);
    split(a, 1, c[0][2]);
    split(a, 2, c[0][1]);
    split(a, 3, c[0][3]);
    return a;
  }
  __device__ static void one(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  __device__ static void add(float (&c0)[4], float (&c1)[4], const Left& a, const Right& b) {
    one(c0, a.small, b.big[0], b.big[1]);
    one(c1, a.small, b.big[2], b.big[3]);
    one(c0, a.big, b.small[0], b.small[1]);
    one(c1, a.big, b.small[2], b.small[3]);
    one(c0, a.big, b.big[0], b.big[1]);
    one(c1, a.big, b.big[2], b.big[3]);
  }
};

template <class T, int D>
inline constexpr int tile_stride = D + Cores<T>::kPad;

// c[16 rows, 8 kGroups] += 16 rows of `left`, from `row` on, times the rows of `right`.
template <class T, int D, int kGroups>
__device__ __forceinline__ void add_by_rows(float (&c)[kGroups][4], const T* left, int row,
                                            const T* right) {
  using M = Cores<T>;
  constexpr int kStride = tile_stride<T, D>;
#pragma unroll 4
  for (int k = 0; k < D; k += M::kStep) {
    const typename M::Left a = M::left(left, kStride, row, k);
#pragma unroll
    for (int n = 0; n < kGroups; n += 2)
      M::add(c[n], c[n + 1], a, M::of_rows(right, kStride, 8 * n, k));
  }
}

// c[16 rows, D] += p[16 rows, 8 kGroups], a result, times the first 8 kGroups rows of `right`.
template <class T, int D, int kGroups>
__device__ __forceinline__ void add_result_times(float (&c)[D / 8][4], const float (&p)[kGroups][4],
                                                 const T* right) {
  using M = Cores<T>;
  constexpr int kStride = tile_stride<T, D>;
#pragma unroll
  for (int k = 0; k < 8 * kGroups; k += M::kStep) {
    const typename M::Left a = M::of_result(p + k / 8);
#pragma unroll
    for (int n = 0; n < D / 8; n += 2)
      M::add(c[n], c[n + 1], a, M::of_columns(right, kStride, k, 8 * n));
  }
}

// --- tiles from global memory ---

__device__ __forceinline__ void copy_16_bytes(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(there ? 16 : 0)
               : "memory");
}
// Copies until here are one batch; wait_copies<n> waits for all batches of the thread but the last
// n.
__device__ __forceinline__ void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int n>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}

// Rows of a matrix [rows, size] in global memory. `whole`: rows begin at multiples of 16 bytes and
// size is such a multiple.
template <class T>
struct TileSource {
  const T* data;
  int64_t stride;
  int rows, size;
  bool whole;
};
// kRows rows from `first` on, zeros where there are none; by all kThreads threads, in the current
// batch of copies.
template <class T, int D, int kRows, int kThreads>
__device__ __forceinline__ void load_tile(T* tile, const TileSource<T>& from, int first) {
  constexpr int kMany = kPack<T>, kPacks = D / kMany;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kPacks; i += kThreads) {
    const int row = i / kPacks, column = i % kPacks * kMany;
    T* to = tile + row * tile_stride<T, D> + column;
    const bool has_row = first + row < from.rows;
    const T* at = from.data + (has_row ? (first + row) * from.stride : 0) + column;
    if (from.whole) {
      const bool there = has_row && column < from.size;
      copy_16_bytes(to, there ? at : from.data, there);
      continue;
    }
#pragma unroll
    for (int e = 0; e < kMany; ++e) to[e] = has_row && column + e < from.size ? at[e] : T(0.0f);
  }
}

}  // namespace argosy::cuda

#include "argosy/kernels/cpu/simd/attention.h"

#include "argosy/kernels/cpu/simd/exp.h"
#include "argosy/kernels/cpu/simd/vector.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

template <class T>
ARGOSY_INLINE double row_sum(const T* x, int64_t n) {
  return sum_all<T>(
      n, [x](int64_t i) { return load(x + i); }, [x](int64_t i) { return x[i]; });
}

template <class T>
ARGOSY_INLINE T exp_row(int64_t n, T* scores, T* high, T* sum) {
  const T before = *high;
  const T now = Max::run(before, combine_all<Max, T>(scores, n));
  // Where no key takes part yet there is nothing to be shifted.
  const T shift = now == -kInf<T> ? T(0) : now;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) scores[i] = exp_or_zero(scores[i] - shift);
  const T factor = exp_or_zero(before - shift);
  *high = now;
  *sum = *sum * factor + static_cast<T>(row_sum(scores, n));
  return factor;
}

template <class T>
ARGOSY_INLINE void grad_row(int64_t n, T* __restrict scores, T* __restrict d, T log_sum, T delta,
                            T scale) {
  for (int64_t i = 0; i < n; ++i) {
    const T weight = exp_or_zero(scores[i] - log_sum);
    scores[i] = weight;
    d[i] = weight * (d[i] - delta) * scale;
  }
}

template <class T>
ARGOSY_INLINE T dot(int64_t n, const T* x, const T* y) {
  return static_cast<T>(sum_all<T>(
      n, [=](int64_t i) { return load(x + i) * load(y + i); },
      [=](int64_t i) { return x[i] * y[i]; }));
}

// --- choices by bits ---

template <class T>
struct IntOf {
  using type = int32_t;
};
template <>
struct IntOf<double> {
  using type = int64_t;
};

template <class T>
ARGOSY_INLINE void keep(const T* x, const uint8_t* bits, int64_t first, int64_t n, int64_t total,
                        T factor, T* y) {
  using Int = typename IntOf<T>::type;
  constexpr int kL = kLanes<T>;
  Vector<Int> powers;
  for (int l = 0; l < kL; ++l) powers[l] = Int{1} << l;
  // Four bytes are read at once, as far as there are four.
  const int64_t whole = (total + 7) / 8 - 4;
  int64_t i = 0;
  for (; i + kL <= n && (first + i) / 8 <= whole; i += kL) {
    uint32_t word;
    __builtin_memcpy(&word, bits + (first + i) / 8, 4);
    const Vector<Int> chosen = (splat(static_cast<Int>(word >> (first + i) % 8)) & powers) != 0;
    const Vector<T> value = load(x + i) * splat(factor);
    const Vector<T> out = chosen ? value : Vector<T>{};
    __builtin_memcpy(y + i, &out, sizeof(out));
  }
  for (; i < n; ++i) {
    const int64_t at = first + i;
    y[i] = bits[at / 8] >> at % 8 & 1 ? x[i] * factor : T(0);
  }
}

template <class S>
void keep_row(const void* x, const uint8_t* bits, int64_t first, int64_t n, int64_t total,
              double factor, void* y) {
  using T = Computed<S>;
  const T f = static_cast<T>(factor);
  if constexpr (std::is_same_v<S, T>) {
    keep(static_cast<const T*>(x), bits, first, n, total, f, static_cast<T*>(y));
  } else {
    constexpr int64_t kBlock = 512;
    T block[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t m = n - i < kBlock ? n - i : kBlock;
      row_of<S>(static_cast<const S*>(x) + i, m, block);
      keep(block, bits, first + i, m, total, f, block);
      put<S>(block, static_cast<S*>(y) + i, m);
    }
  }
}

}  // namespace

#define ARGOSY_ATTENTION_KERNELS(T)                                               \
  T exp_scores(int64_t n, T* scores, T* high, T* sum) {                           \
    return exp_row(n, scores, high, sum);                                         \
  }                                                                               \
  void scores_backward(int64_t n, T* scores, T* d, T log_sum, T delta, T scale) { \
    grad_row(n, scores, d, log_sum, delta, scale);                                \
  }                                                                               \
  T dot_rows(int64_t n, const T* x, const T* y) {                                 \
    return dot(n, x, y);                                                          \
  }
ARGOSY_ATTENTION_KERNELS(float)
ARGOSY_ATTENTION_KERNELS(double)

const KeepKernel keep_kernels[] = {keep_row<float16>, keep_row<bfloat16>, keep_row<float>,
                                   keep_row<double>};

}  // namespace argosy::cpu::ARGOSY_ISA

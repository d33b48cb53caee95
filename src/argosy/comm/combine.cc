#include "argosy/comm/combine.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "argosy/base/error.h"

namespace argosy::comm {

namespace {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
inline constexpr bool kIsComplex = std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

// What T is computed in.
template <class T>
struct Wide {
  using type = T;
};
template <>
struct Wide<float16> {
  using type = float;
};
template <>
struct Wide<bfloat16> {
  using type = float;
};

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};

template <Reduce op, class W>
W join(W a, W b) {
  if constexpr (std::is_same_v<W, bool>) {
    if constexpr (op == Reduce::sum || op == Reduce::max) return a || b;
    return a && b;
  } else if constexpr (op == Reduce::sum) {
    if constexpr (std::is_integral_v<W>) {
      using U = std::make_unsigned_t<W>;  // wraps
      return static_cast<W>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  } else if constexpr (op == Reduce::prod) {
    if constexpr (std::is_integral_v<W>) {
      // unsigned short would be widened to int, which may overflow
      return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  } else if constexpr (!kIsComplex<W>) {
    const bool first = op == Reduce::max ? a > b : a < b;
    if constexpr (std::is_floating_point_v<W>) return first || a != a ? a : b;
    return first ? a : b;
  } else {
    return a;
  }
}

constexpr int64_t kBlock = 512;

// Two sources of a type that is computed in itself: the common case, in one loop that the compiler
// vectorizes. Exact aliasing is fine for ivdep.
template <Reduce op, class T>
void two(T* target, const T* a, const T* b, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) target[i] = join<op>(a[i], b[i]);
}

// The same, into both of them where they are: in one pass over memory that two processors share.
template <Reduce op, class T>
void two_in_place(T* a, T* b, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) a[i] = b[i] = join<op>(a[i], b[i]);
}

// The same for the average over ranks. Half of a sum is what dividing it by two gives, bit for bit.
template <class T>
void average_of_two(T* target, const T* a, const T* b, int64_t n, int ranks) {
  using Real = typename RealOf<T>::type;
  const auto divisor = static_cast<Real>(ranks);
  if (ranks == 2) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) target[i] = (a[i] + b[i]) * Real(0.5);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) target[i] = (a[i] + b[i]) / divisor;
  }
}

template <class T>
void half_of_two_in_place(T* a, T* b, int64_t n) {
  using Real = typename RealOf<T>::type;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) a[i] = b[i] = (a[i] + b[i]) * Real(0.5);
}

// Whether it was of two ranks, and is done.
template <Reduce op, class T>
bool run_two_in_place(std::span<char* const> targets, std::span<const char* const> sources,
                      int64_t count, int ranks, bool average) {
  if (targets.size() != 2 || !std::ranges::equal(targets, sources)) return false;
  T* a = reinterpret_cast<T*>(targets[0]);
  T* b = reinterpret_cast<T*>(targets[1]);
  if (!average) {
    two_in_place<op>(a, b, count);
    return true;
  }
  if constexpr (!std::is_integral_v<T>) {
    if (ranks == 2) half_of_two_in_place(a, b, count);
    return ranks == 2;
  }
  return false;
}

template <Reduce op, class T>
void run(std::span<char* const> targets, std::span<const char* const> sources, int64_t count,
         int ranks, bool average) {
  using W = typename Wide<T>::type;
  T* out = reinterpret_cast<T*>(targets[0]);
  if constexpr (std::is_same_v<W, T>) {
    if (run_two_in_place<op, T>(targets, sources, count, ranks, average)) return;
    if (sources.size() == 2 && targets.size() == 1) {
      const T* a = reinterpret_cast<const T*>(sources[0]);
      const T* b = reinterpret_cast<const T*>(sources[1]);
      if (!average) return two<op>(out, a, b, count);
      if constexpr (!std::is_integral_v<T>) return average_of_two(out, a, b, count, ranks);
    }
  }
  W sum[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    const T* first = reinterpret_cast<const T*>(sources[0]) + begin;
    for (int64_t i = 0; i < n; ++i) sum[i] = static_cast<W>(first[i]);
    for (const char* source : sources.subspan(1)) {
      const T* more = reinterpret_cast<const T*>(source) + begin;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) sum[i] = join<op>(sum[i], static_cast<W>(more[i]));
    }
    if constexpr (!std::is_integral_v<W>) {
      if (average) {
        // A real divisor for complex numbers too.
        using Real = typename RealOf<W>::type;
        const auto divisor = static_cast<Real>(ranks);
        for (int64_t i = 0; i < n; ++i) sum[i] = sum[i] / divisor;
      }
    }
    for (int64_t i = 0; i < n; ++i) out[begin + i] = static_cast<T>(sum[i]);
    for (char* more : targets.subspan(1))
      std::memcpy(reinterpret_cast<T*>(more) + begin, out + begin,
                  static_cast<size_t>(n) * sizeof(T));
  }
}

}  // namespace

bool reduces(Reduce op, DType dtype) {
  switch (op) {
    case Reduce::none:
      return true;
    case Reduce::sum:
    case Reduce::prod:
      return (kNumeric | kBool).has(dtype);
    case Reduce::max:
    case Reduce::min:
      return (kReal | kBool).has(dtype);
    case Reduce::avg:
      return (kFloating | kComplex).has(dtype);
  }
  return false;
}

void combine(Reduce op, DType dtype, std::span<char* const> targets,
             std::span<const char* const> sources, int64_t count, int ranks) {
  const bool done = dispatch_all(dtype, [&]<class T>(T) {
    switch (op) {
      case Reduce::sum:
        return run<Reduce::sum, T>(targets, sources, count, ranks, false);
      case Reduce::avg:
        return run<Reduce::sum, T>(targets, sources, count, ranks, true);
      case Reduce::prod:
        return run<Reduce::prod, T>(targets, sources, count, ranks, false);
      case Reduce::max:
        return run<Reduce::max, T>(targets, sources, count, ranks, false);
      case Reduce::min:
        return run<Reduce::min, T>(targets, sources, count, ranks, false);
      case Reduce::none:
        break;
    }
  });
  ARGOSY_INVARIANT(done && op != Reduce::none);
}

}  // namespace argosy::comm

#include "argosy/kernels/cpu/scan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "argosy/base/parallel.h"

namespace argosy::cpu {
namespace {

constexpr int64_t kWork = 32768;
constexpr int64_t kTile = 64;  // columns at a time

// Calls body(first item, columns) for strips of up to kTile rows along n that lie side by side.
template <class F>
void for_strips(int64_t outer, int64_t n, int64_t inner, F&& body) {
  if (outer * n * inner == 0) return;
  const int64_t width = std::min(inner, kTile), tiles = (inner + width - 1) / width;
  parallel_for(outer * tiles, std::max<int64_t>(1, kWork / (n * width)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t first = i % tiles * width;
                   body(i / tiles * n * inner + first, std::min(width, inner - first));
                 }
               });
}

// What a running sum or product is kept in.
template <class T>
struct AccumulatorOf {
  using type = T;
};
template <>
struct AccumulatorOf<float16> {
  using type = float;
};
template <>
struct AccumulatorOf<bfloat16> {
  using type = float;
};
template <>
struct AccumulatorOf<float> {
  using type = double;
};
template <>
struct AccumulatorOf<complex64> {
  using type = complex128;
};
// Integers wrap.
template <class T>
requires(std::is_integral_v<T>) struct AccumulatorOf<T> {
  using type = uint64_t;
};

struct Sum {
  template <class A>
  static A identity() {
    return A(0);
  }
  template <class A>
  static A run(A a, A x) {
    return a + x;
  }
};
struct Product {
  template <class A>
  static A identity() {
    return A(1);
  }
  template <class A>
  static A run(A a, A x) {
    if constexpr (std::is_same_v<A, complex128>) {
      return {a.real() * x.real() - a.imag() * x.imag(), a.real() * x.imag() + a.imag() * x.real()};
    } else {
      return a * x;
    }
  }
};

template <class T, class A>
T narrowed(A a) {
  if constexpr (std::is_same_v<A, float>) {
    return T(a);
  } else {
    return static_cast<T>(a);
  }
}

template <class Op, class T>
void scan_typed(const T* x, T* y, int64_t outer, int64_t n, int64_t inner, bool exclusive,
                bool reverse) {
  using A = typename AccumulatorOf<T>::type;
  for_strips(outer, n, inner, [&](int64_t start, int64_t width) {
    A acc[kTile];
    std::fill_n(acc, width, Op::template identity<A>());
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = start + (reverse ? n - 1 - i : i) * inner;
      for (int64_t j = 0; j < width; ++j) {
        const A next = Op::template run<A>(acc[j], static_cast<A>(x[at + j]));
        y[at + j] = narrowed<T>(exclusive ? acc[j] : next);
        acc[j] = next;
      }
    }
  });
}

template <class T>
void scan_logsumexp(const T* x, T* y, int64_t outer, int64_t n, int64_t inner, bool exclusive,
                    bool reverse) {
  for_strips(outer, n, inner, [&](int64_t start, int64_t width) {
    for (int64_t j = 0; j < width; ++j) {
      // The sum so far is sum * exp(high).
      double high = -INFINITY, sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = start + (reverse ? n - 1 - i : i) * inner + j;
        const double v = static_cast<double>(x[at]);
        const double before = sum == 0 ? -INFINITY : high + std::log(sum);
        if (v > high || v != v) {
          sum = sum * std::exp(high - v) + 1;
          high = v;
        } else if (v > -INFINITY) {
          sum += v == high ? 1 : std::exp(v - high);
        }
        const double result = exclusive ? before : sum == 0 ? -INFINITY : high + std::log(sum);
        y[at] = narrowed<T>(static_cast<std::conditional_t<sizeof(T) == 2, float, double>>(result));
      }
    }
  });
}

template <class T>
bool is_nan(T v) {
  return v != v;
}

template <class T, class I>
void scan_extreme_typed(bool largest, const T* x, T* y, I* index, int64_t outer, int64_t n,
                        int64_t inner) {
  for_strips(outer, n, inner, [&](int64_t start, int64_t width) {
    for (int64_t j = 0; j < width; ++j) {
      T best = x[start + j];
      I at_best = 0;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = start + i * inner + j;
        const T v = x[at];
        if (is_nan(v) || (!is_nan(best) && (largest ? v >= best : v <= best))) {
          best = v;
          at_best = static_cast<I>(i);
        }
        y[at] = best;
        index[at] = at_best;
      }
    }
  });
}

// ---- order ----

// An unsigned number that sorts as the value does: nan last, -0 equal to 0.
template <class T>
auto order_key(T v) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return order_key(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<T>) {
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr U kSign = U{1} << (sizeof(U) * 8 - 1);
    if (v != v) return std::numeric_limits<U>::max();
    const U bits = std::bit_cast<U>(v + T(0));
    return static_cast<U>(bits & kSign ? ~bits : bits | kSign);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<uint64_t>(v) ^ (std::is_signed_v<T> ? uint64_t{1} << 63 : 0);
  } else {
    return static_cast<uint32_t>(static_cast<int64_t>(v) +
                                 (std::is_signed_v<T> ? int64_t{1} << 31 : 0));
  }
}

// Key and position in one number where both fit, so that no two are equal and any sort is stable.
struct WideEntry {
  uint64_t key;
  uint32_t at;
  bool operator<(const WideEntry& o) const { return key < o.key || (key == o.key && at < o.at); }
};
struct NarrowEntry {
  uint64_t packed;
  bool operator<(const NarrowEntry& o) const { return packed < o.packed; }
};
NarrowEntry make_entry(uint32_t key, int64_t at) {
  return {uint64_t{key} << 32 | static_cast<uint32_t>(at)};
}
WideEntry make_entry(uint64_t key, int64_t at) {
  return {key, static_cast<uint32_t>(at)};
}
int64_t position(NarrowEntry e) {
  return static_cast<uint32_t>(e.packed);
}
int64_t position(WideEntry e) {
  return e.at;
}
uint64_t key_byte(NarrowEntry e, int byte) {
  return e.packed >> (32 + 8 * byte) & 0xff;
}
uint64_t key_byte(const WideEntry& e, int byte) {
  return e.key >> (8 * byte) & 0xff;
}

// Least significant byte first; bytes that are the same everywhere are skipped.
template <class E>
void radix_sort(E* entries, E* room, int64_t n, int bytes) {
  std::vector<int64_t> counts(bytes * 256);
  for (int64_t i = 0; i < n; ++i) {
    for (int b = 0; b < bytes; ++b) ++counts[b * 256 + key_byte(entries[i], b)];
  }
  E *from = entries, *to = room;
  for (int b = 0; b < bytes; ++b) {
    int64_t* count = &counts[b * 256];
    if (count[key_byte(from[0], b)] == n) continue;
    int64_t sum = 0;
    for (int v = 0; v < 256; ++v) {
      const int64_t here = count[v];
      count[v] = sum;
      sum += here;
    }
    for (int64_t i = 0; i < n; ++i) to[count[key_byte(from[i], b)]++] = from[i];
    std::swap(from, to);
  }
  if (from != entries) std::copy_n(from, n, entries);
}

// k == n: a full sort; otherwise the first k in order.
template <class T>
void sort_typed(const T* x, T* values, int64_t* index, int64_t outer, int64_t n, int64_t inner,
                int64_t k, bool descending) {
  using Key = decltype(order_key(T{}));
  using Entry = decltype(make_entry(Key{}, 0));
  if (outer * inner == 0 || k == 0) return;
  parallel_for(outer * inner, std::max<int64_t>(1, kWork / (n * 10)),
               [&](int64_t begin, int64_t end) {
                 std::vector<Entry> entries(n), room;
                 for (int64_t r = begin; r < end; ++r) {
                   const T* row = x + r / inner * n * inner + r % inner;
                   for (int64_t i = 0; i < n; ++i) {
                     const Key key = order_key(row[i * inner]);
                     entries[i] = make_entry(static_cast<Key>(descending ? ~key : key), i);
                   }
                   if (k < n) {
                     std::nth_element(entries.begin(), entries.begin() + k, entries.end());
                     std::sort(entries.begin(), entries.begin() + k);
                   } else if (n < 512) {
                     std::sort(entries.begin(), entries.end());
                   } else {
                     room.resize(n);
                     radix_sort(entries.data(), room.data(), n, sizeof(Key));
                   }
                   const int64_t out = r / inner * k * inner + r % inner;
                   if (index) {
                     for (int64_t i = 0; i < k; ++i) index[out + i * inner] = position(entries[i]);
                   }
                   if (values) {
                     for (int64_t i = 0; i < k; ++i)
                       values[out + i * inner] = row[position(entries[i]) * inner];
                   }
                 }
               });
}

template <class F>
void with_real(DType type, F&& f) {
  dispatch_types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t,
                 float16, bfloat16, float, double>(type, static_cast<F&&>(f));
}

}  // namespace

void scan(Scan kind, DType type, const void* x, void* y, int64_t outer, int64_t n, int64_t inner,
          bool exclusive, bool reverse) {
  auto run = [&]<class T>(T) {
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(y);
    if (kind == Scan::sum) return scan_typed<Sum>(in, out, outer, n, inner, exclusive, reverse);
    if (kind == Scan::prod)
      return scan_typed<Product>(in, out, outer, n, inner, exclusive, reverse);
    if constexpr (is_floating(dtype_of<T>))
      scan_logsumexp(in, out, outer, n, inner, exclusive, reverse);
  };
  dispatch_types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float16,
                 bfloat16, float, double, complex64, complex128>(type, run);
}

void scan_extreme(bool largest, DType type, const void* x, void* y, DType index_type, void* index,
                  int64_t outer, int64_t n, int64_t inner) {
  dispatch_real(type, [&]<class T>(T) {
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(y);
    if (index_type == DType::int32) {
      scan_extreme_typed(largest, in, out, static_cast<int32_t*>(index), outer, n, inner);
    } else {
      scan_extreme_typed(largest, in, out, static_cast<int64_t*>(index), outer, n, inner);
    }
  });
}

void sort(DType type, const void* x, void* values, int64_t* index, int64_t outer, int64_t n,
          int64_t inner, bool descending) {
  topk(type, x, values, index, outer, n, inner, n, descending);
}

void topk(DType type, const void* x, void* values, int64_t* index, int64_t outer, int64_t n,
          int64_t inner, int64_t k, bool largest) {
  with_real(type, [&]<class T>(T) {
    sort_typed(static_cast<const T*>(x), static_cast<T*>(values), index, outer, n, inner, k,
               largest);
  });
}

void searchsorted(DType type, const void* sorted, const void* values, DType index_type, void* index,
                  int64_t outer, int64_t sorted_rows, int64_t n, int64_t m, bool right) {
  with_real(type, [&]<class T>(T) {
    const T* all = static_cast<const T*>(sorted);
    const T* wanted = static_cast<const T*>(values);
    auto less = [](const T& a, const T& b) { return a < b || (is_nan(b) && !is_nan(a)); };
    parallel_for(outer * m, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = all + (sorted_rows == 1 ? 0 : i / m * n);
        const T* at = right ? std::upper_bound(row, row + n, wanted[i], less)
                            : std::lower_bound(row, row + n, wanted[i], less);
        if (index_type == DType::int32) {
          static_cast<int32_t*>(index)[i] = static_cast<int32_t>(at - row);
        } else {
          static_cast<int64_t*>(index)[i] = at - row;
        }
      }
    });
  });
}

}  // namespace argosy::cpu

#include "argosy/kernels/cpu/unique.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>

#include "argosy/kernels/cpu/mask.h"
#include "argosy/kernels/cpu/sort.h"

namespace argosy::cpu {
namespace {

// Up to so many distinct values are looked up in a table instead of sorting.
constexpr int64_t kMostHashed = 4096;
constexpr int kMostTableBits = 14;
// Integers of a range up to this (or twice their number) have a table of their own.
constexpr uint64_t kSmallRange = 1 << 16;

template <class F>
void with_real(DType type, F&& f) {
  dispatch_types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t,
                 float16, bfloat16, float, double>(type, static_cast<F&&>(f));
}

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsHalf<T>;

// The same number for equal values.
template <class T>
uint64_t identity(T v) {
  if constexpr (kIsHalf<T>) {
    return identity(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(v + 0.0f);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(v + 0.0);
  } else {
    return static_cast<uint64_t>(v);
  }
}

// Values met so far, in the order in which they came.
struct Met {
  std::vector<int64_t> first, counts;

  int64_t add(int64_t at) {
    first.push_back(at);
    counts.push_back(0);
    return static_cast<int64_t>(first.size()) - 1;
  }
};

// Numbers x[i] by first appearance. False, with anything in the results, if there are more than
// kMostHashed values, or nan.
template <class T>
bool number_by_hash(const T* x, int64_t n, Met& met, int32_t* number) {
  struct Bucket {
    uint64_t key;
    int64_t number = -1;
  };
  // At least half empty.
  const int bits =
      std::clamp(static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) + 1, 4, kMostTableBits);
  std::vector<Bucket> table(size_t{1} << bits);
  const size_t mask = table.size() - 1;
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kIsFloat<T>) {
      if (static_cast<double>(x[i]) != static_cast<double>(x[i])) return false;
    }
    const uint64_t key = identity(x[i]);
    size_t at = key * 0x9e3779b97f4a7c15u >> (64 - bits);
    while (table[at].number >= 0 && table[at].key != key) at = (at + 1) & mask;
    if (table[at].number < 0) {
      if (static_cast<int64_t>(met.first.size()) == kMostHashed) return false;
      table[at] = {key, met.add(i)};
    }
    ++met.counts[static_cast<size_t>(table[at].number)];
    if (number) number[i] = static_cast<int32_t>(table[at].number);
  }
  return true;
}

// The same for integers of a small range; numbers are already in rising order.
template <class T>
bool number_by_range(const T* x, int64_t n, Met& met, int64_t* number) {
  T low = x[0], high = x[0];
  for (int64_t i = 0; i < n; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (span >= std::max(kSmallRange, 2 * static_cast<uint64_t>(n))) return false;
  auto slot = [&](int64_t i) {
    return static_cast<size_t>(static_cast<uint64_t>(x[i]) - static_cast<uint64_t>(low));
  };
  std::vector<int64_t> counts(span + 1, 0), rank(span + 1, -1);
  for (int64_t i = 0; i < n; ++i) ++counts[slot(i)];
  int64_t groups = 0;
  for (size_t v = 0; v <= span; ++v) {
    if (counts[v] == 0) continue;
    met.counts.push_back(counts[v]);
    rank[v] = groups++;
  }
  met.first.assign(static_cast<size_t>(groups), -1);
  if (number) {
    for (int64_t i = 0; i < n; ++i) number[i] = rank[slot(i)];
  }
  int64_t missing = groups;
  for (int64_t i = 0; missing > 0; ++i) {
    int64_t& first = met.first[static_cast<size_t>(rank[slot(i)])];
    if (first < 0) {
      first = i;
      --missing;
    }
  }
  return true;
}

// Runs of equal neighbours; `at(i)` is the place of the i-th one in x.
template <class T, class At>
void group_runs(const T* x, int64_t n, At&& at, Met& met, int64_t* inverse) {
  for (int64_t k = 0; k < n; ++k) {
    if (k == 0 || !(x[at(k)] == x[at(k - 1)])) met.add(at(k));
    ++met.counts.back();
    if (inverse) inverse[at(k)] = static_cast<int64_t>(met.first.size()) - 1;
  }
}

template <class T>
void group(DType type, const T* x, int64_t n, bool consecutive, int64_t* inverse, Met& met) {
  if (consecutive)
    return group_runs(
        x, n, [](int64_t k) { return k; }, met, inverse);
  if constexpr (!kIsFloat<T>) {
    if (number_by_range(x, n, met, inverse)) return;
    met = {};
  }
  std::vector<int32_t> number(static_cast<size_t>(inverse ? n : 0));
  if (number_by_hash(x, n, met, inverse ? number.data() : nullptr)) {
    std::vector<int64_t> order(met.first.size()), rank(order.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return x[met.first[static_cast<size_t>(a)]] < x[met.first[static_cast<size_t>(b)]];
    });
    Met sorted;
    for (size_t k = 0; k < order.size(); ++k) {
      const size_t old = static_cast<size_t>(order[k]);
      rank[old] = static_cast<int64_t>(k);
      sorted.first.push_back(met.first[old]);
      sorted.counts.push_back(met.counts[old]);
    }
    met = std::move(sorted);
    if (inverse) {
      for (int64_t i = 0; i < n; ++i)
        inverse[i] = rank[static_cast<size_t>(number[static_cast<size_t>(i)])];
    }
    return;
  }
  met = {};
  std::vector<int64_t> order(static_cast<size_t>(n));
  sort(type, x, nullptr, order.data(), 1, n, 1, false);
  group_runs(
      x, n, [&](int64_t k) { return order[static_cast<size_t>(k)]; }, met, inverse);
}

}  // namespace

Groups group_equal(DType type, const void* x, int64_t n, bool consecutive, int64_t* inverse) {
  Met met;
  if (n > 0) {
    with_real(type, [&]<class T>(T) {
      group(type, static_cast<const T*>(x), n, consecutive, inverse, met);
    });
  }
  return {std::move(met.first), std::move(met.counts)};
}

int64_t distinct_values(DType type, const void* x, int64_t n, bool consecutive, void* values) {
  int64_t count = 0;
  if (n == 0) return count;
  with_real(type, [&]<class T>(T) {
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(values);
    std::unique_ptr<T[]> sorted;
    if (!consecutive) {
      Met met;
      bool few = false;
      if constexpr (!kIsFloat<T>) few = number_by_range(from, n, met, nullptr);
      if (!few) {
        met = {};
        few = number_by_hash(from, n, met, nullptr);
        if (few)
          std::sort(met.first.begin(), met.first.end(),
                    [&](int64_t a, int64_t b) { return from[a] < from[b]; });
      }
      if (few) {
        for (int64_t at : met.first) to[count++] = from[at];
        return;
      }
      sorted = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(n));
      sort(type, from, sorted.get(), nullptr, 1, n, 1, false);
      from = sorted.get();
    }
    auto starts = std::make_unique_for_overwrite<bool[]>(static_cast<size_t>(n));
    starts[0] = true;
    for (int64_t i = 1; i < n; ++i) starts[i] = !(from[i] == from[i - 1]);
    count = count_true(starts.get(), n);
    select_true(to, starts.get(), n, from, sizeof(T));
  });
  return count;
}

}  // namespace argosy::cpu

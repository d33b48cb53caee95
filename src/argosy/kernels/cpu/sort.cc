#include "argosy/kernels/cpu/sort.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

#include "argosy/base/parallel.h"

namespace argosy::cpu {
namespace {

constexpr int64_t kWork = 32768;

template <class T>
bool is_nan(T v) {
  return v != v;
}

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
uint32_t key_of(NarrowEntry e) {
  return static_cast<uint32_t>(e.packed >> 32);
}
uint64_t key_of(const WideEntry& e) {
  return e.key;
}
uint64_t key_byte(NarrowEntry e, int byte) {
  return e.packed >> (32 + 8 * byte) & 0xff;
}
uint64_t key_byte(const WideEntry& e, int byte) {
  return e.key >> (8 * byte) & 0xff;
}
uint64_t key_byte(uint32_t key, int byte) {
  return key >> (8 * byte) & 0xff;
}
uint64_t key_byte(uint64_t key, int byte) {
  return key >> (8 * byte) & 0xff;
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

// The first k of n entries in order, the rest anyhow. Out of line: one copy for all dtypes.
template <class E>
[[gnu::noinline]] void first_of(std::vector<E>& entries, int64_t k) {
  if (k < static_cast<int64_t>(entries.size()))
    std::nth_element(entries.begin(), entries.begin() + k, entries.end());
  std::sort(entries.begin(), entries.begin() + k);
}

// The same; all of many entries must come in the order of their positions.
template <class E>
[[gnu::noinline]] void sort_entries(std::vector<E>& entries, std::vector<E>& room, int64_t k,
                                    int key_bytes) {
  const int64_t n = static_cast<int64_t>(entries.size());
  if (k < n || n < 512) {
    first_of(entries, k);
  } else {
    room.resize(n);
    radix_sort(entries.data(), room.data(), n, key_bytes);
  }
}

// Numbers of 4 or 8 bytes whose bits can be had back from an unsigned number that sorts as they do.
template <class T>
constexpr bool kReversible = sizeof(T) >= 4 && std::is_arithmetic_v<T>;

// nan last, -0 before 0.
template <class T>
auto exact_key(T v) {
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr U kSign = U{1} << (sizeof(U) * 8 - 1);
  const U bits = std::bit_cast<U>(v);
  if constexpr (std::is_floating_point_v<T>) {
    if (v != v) return std::numeric_limits<U>::max();
    return static_cast<U>(bits & kSign ? ~bits : bits | kSign);
  } else {
    return static_cast<U>(std::is_signed_v<T> ? bits ^ kSign : bits);
  }
}
template <class T, class U>
T value_of_key(U key) {
  constexpr U kSign = U{1} << (sizeof(U) * 8 - 1);
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<T>(static_cast<U>(key & kSign ? key ^ kSign : ~key));
  } else {
    return std::bit_cast<T>(static_cast<U>(std::is_signed_v<T> ? key ^ kSign : key));
  }
}

// A row without its positions: half the memory to move.
template <class T>
void sort_values(const T* x, T* values, int64_t n, bool descending) {
  using Key = decltype(exact_key(T{}));
  std::vector<Key> keys(n), room(n);
  for (int64_t i = 0; i < n; ++i) {
    keys[i] = exact_key(x[i]);
    if (descending) keys[i] = static_cast<Key>(~keys[i]);
  }
  radix_sort(keys.data(), room.data(), n, sizeof(Key));
  for (int64_t i = 0; i < n; ++i)
    values[i] = value_of_key<T>(static_cast<Key>(descending ? ~keys[i] : keys[i]));
}

// The first few of a row, kept in order while the row passes by. Of equal ones the earlier stay.
constexpr int64_t kFew = 16;
template <class T, class Entry>
void pick_few(const T* row, int64_t inner, int64_t n, int64_t k, bool descending, Entry* few) {
  using Key = decltype(order_key(T{}));
  auto key_at = [&](int64_t i) {
    const Key key = order_key(row[i * inner]);
    return static_cast<Key>(descending ? ~key : key);
  };
  Key keys[kFew];
  int64_t held = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Key key = key_at(i);
    if (held == k && key >= keys[k - 1]) continue;
    int64_t at = held < k ? held++ : k - 1;
    for (; at > 0 && key < keys[at - 1]; --at) {
      keys[at] = keys[at - 1];
      few[at] = few[at - 1];
    }
    keys[at] = key;
    few[at] = make_entry(key, i);
  }
}

// The first k of a long row. Those that may be among them are gathered in a room of 2k entries;
// when it is full its first k stay, and what comes later must be before the last of these.
template <class T, class Entry>
void pick_some(const T* row, int64_t inner, int64_t n, int64_t k, bool descending,
               std::vector<Entry>& room) {
  using Key = decltype(order_key(T{}));
  room.clear();
  bool bounded = false;
  Key bound = 0;
  for (int64_t i = 0; i < n; ++i) {
    Key key = order_key(row[i * inner]);
    if (descending) key = static_cast<Key>(~key);
    if (bounded && key >= bound) continue;
    room.push_back(make_entry(key, i));
    if (static_cast<int64_t>(room.size()) < 2 * k) continue;
    std::nth_element(room.begin(), room.begin() + (k - 1), room.end());
    room.resize(k);
    bound = key_of(room.back());
    bounded = true;
  }
  first_of(room, k);
}

// Numbers of int64 that are less than 2^32 apart, as most are: by their distance from the
// least one they are half as large, and have fewer bytes to sort by. False for others.
template <class T>
bool sort_near(const T* row, int64_t inner, int64_t n, bool descending,
               std::vector<NarrowEntry>& entries, std::vector<NarrowEntry>& room) {
  if constexpr (std::is_same_v<T, int64_t>) {
    T least = row[0], most = row[0];
    for (int64_t i = 1; i < n; ++i) {
      least = std::min(least, row[i * inner]);
      most = std::max(most, row[i * inner]);
    }
    const uint64_t range = static_cast<uint64_t>(most) - static_cast<uint64_t>(least);
    if (range > UINT32_MAX) return false;
    const auto from = static_cast<uint64_t>(descending ? most : least);
    entries.resize(n);
    room.resize(n);
    for (int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<uint64_t>(row[i * inner]);
      entries[i] = make_entry(static_cast<uint32_t>(descending ? from - v : v - from), i);
    }
    radix_sort(entries.data(), room.data(), n, (static_cast<int>(std::bit_width(range)) + 7) / 8);
    return true;
  }
  return false;
}

// k == n: a full sort; otherwise the first k in order.
template <class T>
void sort_typed(const T* x, T* values, int64_t* index, int64_t outer, int64_t n, int64_t inner,
                int64_t k, bool descending) {
  using Key = decltype(order_key(T{}));
  using Entry = decltype(make_entry(Key{}, 0));
  if (outer * inner == 0 || k == 0) return;
  if constexpr (kReversible<T>) {
    if (!index && k == n && outer * inner == 1 && n >= 512)
      return sort_values(x, values, n, descending);
  }
  const bool few = k <= kFew && 2 * k < n, some = !few && 8 * k < n;
  const bool whole = std::is_same_v<T, int64_t> && k == n && n >= 512;
  const auto write = [=](int64_t r, const auto& entries) {
    const T* row = x + r / inner * n * inner + r % inner;
    const int64_t out = r / inner * k * inner + r % inner;
    for (int64_t i = 0; index && i < k; ++i) index[out + i * inner] = position(entries[i]);
    for (int64_t i = 0; values && i < k; ++i)
      values[out + i * inner] = row[position(entries[i]) * inner];
  };
  parallel_for(outer * inner, std::max<int64_t>(1, kWork / (n * (few || some ? 2 : 10))),
               [&](int64_t begin, int64_t end) {
                 std::vector<Entry> entries(few ? k : some ? 2 * k : n), room;
                 std::vector<NarrowEntry> near, near_room;
                 for (int64_t r = begin; r < end; ++r) {
                   const T* row = x + r / inner * n * inner + r % inner;
                   if (few) {
                     pick_few(row, inner, n, k, descending, entries.data());
                   } else if (some) {
                     pick_some(row, inner, n, k, descending, entries);
                   } else if (!whole || !sort_near(row, inner, n, descending, near, near_room)) {
                     for (int64_t i = 0; i < n; ++i) {
                       const Key key = order_key(row[i * inner]);
                       entries[i] = make_entry(static_cast<Key>(descending ? ~key : key), i);
                     }
                     sort_entries(entries, room, k, sizeof(Key));
                   } else {
                     write(r, near);
                     continue;
                   }
                   write(r, entries);
                 }
               });
}

// The most frequent of n keys, the least of several. The keys are put in order where their range is
// too wide to count them.
template <class Key>
Key most_frequent(std::vector<Key>& keys, std::vector<Key>& room, std::vector<uint32_t>& counts) {
  const int64_t n = static_cast<int64_t>(keys.size());
  const auto [low, high] = std::minmax_element(keys.begin(), keys.end());
  const Key first = *low, range = static_cast<Key>(*high - *low);
  if (range < static_cast<uint64_t>(4 * n)) {
    counts.assign(static_cast<size_t>(range) + 1, 0);
    for (const Key key : keys) ++counts[static_cast<size_t>(key - first)];
    const auto best = std::max_element(counts.begin(), counts.end());
    return static_cast<Key>(first + static_cast<Key>(best - counts.begin()));
  }
  if (n < 512) {
    std::sort(keys.begin(), keys.end());
  } else {
    room.resize(keys.size());
    radix_sort(keys.data(), room.data(), n, sizeof(Key));
  }
  Key best = keys[0];
  int64_t longest = 0;
  for (int64_t i = 0, start = 0; i < n; ++i) {
    if (keys[i] != keys[start]) start = i;
    if (i - start + 1 > longest) {
      longest = i - start + 1;
      best = keys[i];
    }
  }
  return best;
}

template <class T>
void mode_typed(const T* x, T* values, int64_t* index, int64_t outer, int64_t n, int64_t inner) {
  using Key = decltype(order_key(T{}));
  const int64_t grain = std::max<int64_t>(1, kWork / (n * 4));
  parallel_for(outer * inner, grain, [&](int64_t begin, int64_t end) {
    std::vector<Key> keys(n), room;
    std::vector<uint32_t> counts;
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x + r / inner * n * inner + r % inner;
      for (int64_t i = 0; i < n; ++i) keys[i] = order_key(row[i * inner]);
      const Key best = most_frequent(keys, room, counts);
      int64_t last = n - 1;
      while (order_key(row[last * inner]) != best) --last;
      values[r] = row[last * inner];
      index[r] = last;
    }
  });
}

template <class F>
void with_real(DType type, F&& f) {
  dispatch_types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t,
                 float16, bfloat16, float, double>(type, static_cast<F&&>(f));
}

}  // namespace

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

void select(DType type, const void* row, int64_t n, const int64_t* ranks, int64_t count,
            int64_t* positions) {
  dispatch_floating(type, [&]<class T>(T) {
    using Entry = decltype(make_entry(order_key(T{}), 0));
    const T* x = static_cast<const T*>(row);
    std::vector<Entry> entries(n);
    for (int64_t i = 0; i < n; ++i) entries[i] = make_entry(order_key(x[i]), i);
    auto first = entries.begin();  // of those that no rank has passed yet
    for (int64_t k = 0; k < count; ++k) {
      const auto at = entries.begin() + ranks[k];
      if (at == first) {
        std::iter_swap(at, std::min_element(first, entries.end()));
      } else {
        std::nth_element(first, at, entries.end());
      }
      positions[k] = position(*at);
      first = at + 1;
    }
  });
}

void mode(DType type, const void* x, void* values, int64_t* index, int64_t outer, int64_t n,
          int64_t inner) {
  with_real(type, [&]<class T>(T) {
    mode_typed(static_cast<const T*>(x), static_cast<T*>(values), index, outer, n, inner);
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

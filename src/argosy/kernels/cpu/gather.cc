#include "argosy/kernels/cpu/gather.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/items.h"

namespace argosy::cpu {
namespace {

constexpr int64_t kBlock = 1024;   // indices checked at a time
constexpr int64_t kGrain = 16384;  // elements for a thread
constexpr int64_t kGrainBytes = 1 << 15;

template <class F>
void with_number(DType type, F&& f) {
  dispatch_types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float16,
                 bfloat16, float, double, complex64, complex128>(type, static_cast<F&&>(f));
}

template <class T>
void add_to(T& a, const T& b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    a = static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    a = static_cast<T>(a + b);
  }
}

// Are all of n indices in [-size, size)?
bool all_good(const int64_t* index, int64_t n, int64_t size) {
  uint64_t bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= (index[i] < -size) | (index[i] >= size);
  return bad == 0;
}

// The smallest position of a bad index that any thread met.
class Bad {
 public:
  // Notes a bad index of index[begin, end) if there is one.
  bool found(const int64_t* index, int64_t begin, int64_t end, int64_t size) {
    if (all_good(index + begin, end - begin, size)) return false;
    int64_t at = begin;
    while (index[at] >= -size && index[at] < size) ++at;
    int64_t seen = at_.load();
    while ((seen < 0 || at < seen) && !at_.compare_exchange_weak(seen, at)) {
    }
    return true;
  }
  int64_t at() const { return at_.load(); }

 private:
  std::atomic<int64_t> at_{-1};
};

int64_t wrapped(int64_t index, int64_t size) {
  return index < 0 ? index + size : index;
}

// use(i, place) for each index, where `place` is the element of [outer, size, inner] that it names.
// Threads share the outer rows, or else the inner columns: elements of one place stay in order.
template <class F>
int64_t for_along(const int64_t* index, int64_t outer, int64_t size, int64_t m, int64_t inner,
                  F&& use) {
  Bad bad;
  const int64_t strips = outer > 1 || inner < 64 ? 1 : std::min<int64_t>(8, inner / 32);
  const int64_t work = m * inner / strips;
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t o = job / strips, strip = job % strips;
      const int64_t first = inner * strip / strips, last = inner * (strip + 1) / strips;
      if (inner == 1) {
        for (int64_t j = 0; j < m; j += kBlock) {
          const int64_t from = o * m + j, to = o * m + std::min(m, j + kBlock);
          if (bad.found(index, from, to, size)) return;
          for (int64_t i = from; i < to; ++i) use(i, o * size + wrapped(index[i], size));
        }
        continue;
      }
      for (int64_t j = 0; j < m; ++j) {
        const int64_t row = (o * m + j) * inner;
        if (bad.found(index, row + first, row + last, size)) return;
        for (int64_t i = first; i < last; ++i) {
          use(row + i, (o * size + wrapped(index[row + i], size)) * inner + i);
        }
      }
    }
  };
  parallel_for(outer * strips, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)), run);
  return bad.at();
}

// run(part, parts): rows are shared by their offsets, so that those of one place stay in order.
template <class F>
void by_place(int64_t n, int64_t row_bytes, F&& run) {
  const int64_t most = n * row_bytes < 4 * kGrainBytes || row_bytes < 64 ? 1 : num_threads();
  const int64_t parts = std::min<int64_t>(most, 8);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) run(static_cast<uint64_t>(part), parts);
  });
}
bool owns(uint64_t part, int64_t parts, int64_t offset) {
  return parts == 1 || (static_cast<uint64_t>(offset) * 0x9e3779b97f4a7c15u >> 40) %
                               static_cast<uint64_t>(parts) ==
                           part;
}

}  // namespace

int64_t index_offsets(int64_t* offset, const int64_t* index, int64_t n, int64_t size,
                      int64_t stride, bool add) {
  Bad bad;
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; block += kBlock) {
      const int64_t last = std::min(end, block + kBlock);
      if (bad.found(index, block, last, size)) return;
      if (add) {
        for (int64_t i = block; i < last; ++i) offset[i] += wrapped(index[i], size) * stride;
      } else {
        for (int64_t i = block; i < last; ++i) offset[i] = wrapped(index[i], size) * stride;
      }
    }
  });
  return bad.at();
}

void gather_offsets(void* target, const void* source, const int64_t* offset, int64_t n,
                    int64_t item, int64_t row_bytes) {
  char* to = static_cast<char*>(target);
  const char* from = static_cast<const char*>(source);
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(row_bytes, 4));
  if (row_bytes != item) {
    parallel_for(n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::memcpy(to + i * row_bytes, from + offset[i] * item, static_cast<size_t>(row_bytes));
    });
    return;
  }
  with_item(item, [&]<class T>(T) {
    parallel_for(n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        static_cast<T*>(target)[i] = static_cast<const T*>(source)[offset[i]];
    });
  });
}

void scatter_offsets(void* target, const int64_t* offset, int64_t n, int64_t item,
                     int64_t row_bytes, const void* source, int64_t source_step) {
  char* to = static_cast<char*>(target);
  const char* from = static_cast<const char*>(source);
  if (row_bytes == item) {
    with_item(item, [&]<class T>(T) {
      const int64_t step = source_step ? 1 : 0;
      for (int64_t i = 0; i < n; ++i)
        static_cast<T*>(target)[offset[i]] = static_cast<const T*>(source)[i * step];
    });
    return;
  }
  by_place(n, row_bytes, [&](uint64_t part, int64_t parts) {
    for (int64_t i = 0; i < n; ++i) {
      if (!owns(part, parts, offset[i])) continue;
      std::memcpy(to + offset[i] * item, from + i * source_step, static_cast<size_t>(row_bytes));
    }
  });
}

void scatter_add_offsets(DType type, void* target, const int64_t* offset, int64_t n, int64_t width,
                         const void* source) {
  with_number(type, [&]<class T>(T) {
    T* to = static_cast<T*>(target);
    const T* from = static_cast<const T*>(source);
    if (width == 1) {
      for (int64_t i = 0; i < n; ++i) add_to(to[offset[i]], from[i]);
      return;
    }
    by_place(n, width * static_cast<int64_t>(sizeof(T)), [&](uint64_t part, int64_t parts) {
      for (int64_t i = 0; i < n; ++i) {
        if (!owns(part, parts, offset[i])) continue;
        T* row = to + offset[i];
        for (int64_t j = 0; j < width; ++j) add_to(row[j], from[i * width + j]);
      }
    });
  });
}

int64_t take_along(void* target, const void* source, const int64_t* index, int64_t outer,
                   int64_t size, int64_t m, int64_t inner, int64_t item) {
  int64_t bad = -1;
  with_item(item, [&]<class T>(T) {
    T* to = static_cast<T*>(target);
    const T* from = static_cast<const T*>(source);
    bad = for_along(index, outer, size, m, inner,
                    [&](int64_t i, int64_t place) { to[i] = from[place]; });
  });
  return bad;
}

int64_t put_along(void* target, const int64_t* index, const void* values, int64_t value_step,
                  int64_t outer, int64_t size, int64_t m, int64_t inner, int64_t item) {
  int64_t bad = -1;
  with_item(item, [&]<class T>(T) {
    T* to = static_cast<T*>(target);
    const T* from = static_cast<const T*>(values);
    bad = for_along(index, outer, size, m, inner,
                    [&](int64_t i, int64_t place) { to[place] = from[i * value_step]; });
  });
  return bad;
}

int64_t add_along(DType type, void* target, const int64_t* index, const void* values,
                  int64_t value_step, int64_t outer, int64_t size, int64_t m, int64_t inner) {
  int64_t bad = -1;
  with_number(type, [&]<class T>(T) {
    T* to = static_cast<T*>(target);
    const T* from = static_cast<const T*>(values);
    bad = for_along(index, outer, size, m, inner,
                    [&](int64_t i, int64_t place) { add_to(to[place], from[i * value_step]); });
  });
  return bad;
}

namespace {
template <class T>
T combined(Combine how, T a, T b) {
  using U = std::conditional_t<!std::is_integral_v<T>, T,
                               std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;  // wraps
  switch (how) {
    case Combine::add:
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case Combine::multiply:
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case Combine::max:
      return b > a || b != b ? b : a;
    case Combine::min:
      return b < a || b != b ? b : a;
  }
  return a;
}
}  // namespace

int64_t combine_along(DType type, Combine how, void* target, int32_t* counts, const int64_t* index,
                      const void* values, int64_t value_step, int64_t outer, int64_t size,
                      int64_t m, int64_t inner) {
  int64_t bad = -1;
  dispatch_types<int32_t, int64_t, float, double>(type, [&]<class T>(T) {
    T* to = static_cast<T*>(target);
    const T* from = static_cast<const T*>(values);
    bad = for_along(index, outer, size, m, inner, [&](int64_t i, int64_t place) {
      const T v = from[i * value_step];
      const bool first = counts && counts[place]++ == 0;
      to[place] = first ? v : combined(how, to[place], v);
    });
  });
  return bad;
}

}  // namespace argosy::cpu

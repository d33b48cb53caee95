#include "argosy/kernels/cpu/copy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/items.h"
#include "argosy/kernels/cpu/loops.h"
#include "argosy/kernels/cpu/simd/copy.h"

namespace argosy::cpu {
namespace {

// Nanoseconds to move an item, for the grain.
double move_cost(int item_size) {
  return 0.1 * item_size;
}

template <class T>
void copy_loop(char* const* ptrs, const int64_t* strides, int64_t n, const void*) {
  const char* from = ptrs[0];
  char* to = ptrs[1];
  if (strides[0] == sizeof(T) && strides[1] == sizeof(T)) {
    std::memcpy(to, from, n * sizeof(T));
  } else if (strides[0] == -static_cast<int64_t>(sizeof(T)) && strides[1] == sizeof(T)) {
    const T* last = reinterpret_cast<const T*>(from);
    T* first = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < n; ++i) first[i] = last[-i];
  } else if (strides[0] == 2 * sizeof(T) && strides[1] == sizeof(T)) {
    // A step that the compiler knows: these two loops are vectorized.
    const T* first = reinterpret_cast<const T*>(from);
    T* target = reinterpret_cast<T*>(to);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) target[i] = first[2 * i];
  } else if (strides[0] == sizeof(T) && strides[1] == 2 * sizeof(T)) {
    const T* first = reinterpret_cast<const T*>(from);
    T* target = reinterpret_cast<T*>(to);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) target[2 * i] = first[i];
  } else if (strides[0] == 0) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    if (strides[1] == sizeof(T)) {
      std::fill_n(reinterpret_cast<T*>(to), n, value);
      return;
    }
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * strides[1], &value, sizeof(T));
  } else {
    for (int64_t i = 0; i < n; ++i) {
      std::memcpy(to + i * strides[1], from + i * strides[0], sizeof(T));
    }
  }
}

int log2_size(int item_size) {
  return std::countr_zero(static_cast<unsigned>(item_size));
}

constexpr Loop kCopyLoops[] = {copy_loop<uint8_t>, copy_loop<uint16_t>, copy_loop<uint32_t>,
                               copy_loop<uint64_t>, copy_loop<Item16>};

struct Dim {
  int64_t size, target, source;
};

// Without dimensions of size 1, the target's contiguous one last, merged where both allow it.
int normalize(Dim* dims, std::span<const int64_t> shape, const int64_t* target_strides,
              const int64_t* source_strides) {
  int rank = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1) dims[rank++] = {shape[d], target_strides[d], source_strides[d]};
  }
  std::stable_sort(dims, dims + rank,
                   [](const Dim& a, const Dim& b) { return a.target > b.target; });
  int last = 0;
  for (int d = 1; d < rank; ++d) {
    Dim& outer = dims[last];
    if (outer.target == dims[d].target * dims[d].size &&
        outer.source == dims[d].source * dims[d].size) {
      outer = {outer.size * dims[d].size, dims[d].target, dims[d].source};
    } else {
      dims[++last] = dims[d];
    }
  }
  return rank == 0 ? 0 : last + 1;
}

// The last dimension is contiguous in the target, dims[across] in the source.
void transpose(const Dim* dims, int rank, int across, char* target, const char* source,
               int item_size) {
  constexpr int64_t kTile = 256;
  const Dim along = dims[rank - 1], over = dims[across];
  const Transpose kernel = transpose_kernel(item_size);
  const int64_t tiles_along = (along.size + kTile - 1) / kTile;
  const int64_t tiles_over = (over.size + kTile - 1) / kTile;
  int64_t outer = 1;
  for (int d = 0; d < rank - 1; ++d) {
    if (d != across) outer *= dims[d].size;
  }
  const int64_t tile_items = std::min(along.size, kTile) * std::min(over.size, kTile);
  const int64_t grain = std::max<int64_t>(1, 65536 / tile_items);
  parallel_for(outer * tiles_over * tiles_along, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t a = i % tiles_along * kTile, o = i / tiles_along % tiles_over * kTile;
      int64_t rest = i / (tiles_along * tiles_over);
      int64_t to = a * along.target + o * over.target, from = a * along.source + o * over.source;
      for (int d = rank - 2; d >= 0; --d) {
        if (d == across) continue;
        const int64_t at = rest % dims[d].size;
        rest /= dims[d].size;
        to += at * dims[d].target;
        from += at * dims[d].source;
      }
      kernel(target + to * item_size, over.target, source + from * item_size, along.source,
             std::min(kTile, along.size - a), std::min(kTile, over.size - o));
    }
  });
}

// memcpy without a call where it is short.
void copy_run(char* to, const char* from, int64_t bytes) {
  if (bytes < 16 || bytes > 512) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  for (int64_t i = 0; i + 16 < bytes; i += 16) std::memcpy(to + i, from + i, 16);
  std::memcpy(to + bytes - 16, from + bytes - 16, 16);
}

// The last dimension is contiguous in both: rows of it, two loops deep, the others by division.
void copy_rows(const Dim* dims, int rank, char* target, const char* source, int item_size) {
  const int64_t bytes = dims[rank - 1].size * item_size;
  const Dim row = dims[rank - 2];
  int64_t outer = 1;
  for (int d = 0; d < rank - 2; ++d) outer *= dims[d].size;
  // Threads share [outer, parts of the rows].
  const int64_t part = std::clamp<int64_t>(65536 / bytes, 1, row.size);
  const int64_t parts = (row.size + part - 1) / part;
  const int64_t grain = std::max<int64_t>(1, 65536 / (bytes * part));
  parallel_for(outer * parts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t first = job % parts * part, last = std::min(row.size, first + part);
      int64_t to = first * row.target, from = first * row.source, rest = job / parts;
      for (int d = rank - 3; d >= 0; --d) {
        const int64_t at = rest % dims[d].size;
        rest /= dims[d].size;
        to += at * dims[d].target;
        from += at * dims[d].source;
      }
      char* t = target + to * item_size;
      const char* s = source + from * item_size;
      for (int64_t i = first; i < last; ++i) {
        copy_run(t, s, bytes);
        t += row.target * item_size;
        s += row.source * item_size;
      }
    }
  });
}

template <class F>
void with_index(DType type, F&& body) {
  if (type == DType::int32) {
    body(int32_t{});
  } else {
    body(int64_t{});
  }
}

}  // namespace

Transpose transpose_kernel(int item_size) {
  const CopyKernels& kernels = isa() == Isa::avx512 ? avx512::copy_kernels : avx2::copy_kernels;
  return kernels.transpose[log2_size(item_size)];
}

void copy_strided(void* target, const int64_t* target_strides, const void* source,
                  const int64_t* source_strides, std::span<const int64_t> shape, int item_size) {
  Dim dims[kMaxLoopRank];
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  if (n == 0) return;
  if (n >= 64) {
    int rank = normalize(dims, shape, target_strides, source_strides);
    const Dim& inner = dims[rank - 1];
    if (rank > 1 && inner.target == 1 && inner.source == 1 && inner.size > 1) {
      return copy_rows(dims, rank, static_cast<char*>(target), static_cast<const char*>(source),
                       item_size);
    }
    if (rank > 1 && inner.target == 1 && inner.source != 1 && inner.size >= 4) {
      for (int d = 0; d < rank - 1; ++d) {
        if (dims[d].source == 1 && dims[d].size >= 4) {
          return transpose(dims, rank, d, static_cast<char*>(target),
                           static_cast<const char*>(source), item_size);
        }
      }
    }
  }
  const Operand operands[] = {{const_cast<void*>(source), source_strides, item_size},
                              {target, target_strides, item_size}};
  run_loop(kCopyLoops[log2_size(item_size)], shape, operands, nullptr, move_cost(item_size));
}

int64_t find_bad_index(DType type, const void* index, int64_t n, int64_t low, int64_t high) {
  int64_t bad = -1;
  with_index(type, [&]<class I>(I) {
    const I* p = static_cast<const I*>(index);
    bool any = false;
    for (int64_t i = 0; i < n; ++i) any |= p[i] < low || p[i] >= high;
    if (!any) return;
    for (bad = 0; p[bad] >= low && p[bad] < high;) ++bad;
  });
  return bad;
}

void index_select(void* target, const void* source, int64_t outer, int64_t size,
                  int64_t inner_bytes, DType index_type, const void* index, int64_t n) {
  char* to = static_cast<char*>(target);
  const char* from = static_cast<const char*>(source);
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(inner_bytes, 8));
  with_index(index_type, [&]<class I>(I) {
    const I* at = static_cast<const I*>(index);
    // Where each one lies within its part of the source; asked for once, but used `outer` times.
    std::unique_ptr<int64_t[]> offset(new int64_t[n]);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = at[i];
      offset[i] = (row < 0 ? row + size : row) * inner_bytes;
    }
    auto select = [&](auto copy_item) {
      parallel_for(outer * n, grain, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end;) {
          const int64_t o = k / n, first = k - o * n, last = std::min(n, first + end - k);
          const char* base = from + o * size * inner_bytes;
          char* row = to + o * n * inner_bytes;
          for (int64_t i = first; i < last; ++i) copy_item(row + i * inner_bytes, base + offset[i]);
          k += last - first;
        }
      });
    };
    with_short_rows(inner_bytes, select);
  });
}

namespace {

template <class T>
void add_to(T& a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    a = static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    a = static_cast<T>(a + b);
  }
}

template <class T, class I>
void scatter_add_typed(T* target, const T* updates, int64_t outer, int64_t size, int64_t inner,
                       const I* index, int64_t n) {
  // Each part owns some target rows and passes over all indices, so that every row sees its updates
  // in order.
  const int64_t parts = n * inner < 16384 ? 1 : std::min(8, num_threads());
  std::unique_ptr<int64_t[]> rows(new int64_t[n]);
  for (int64_t i = 0; i < n; ++i) rows[i] = index[i] < 0 ? index[i] + size : index[i];
  if (parts == 1 && inner == 1) {
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(n, 1));
    return parallel_for(outer, grain, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        for (int64_t i = 0; i < n; ++i) add_to(target[o * size + rows[i]], updates[o * n + i]);
      }
    });
  }
  parallel_for(outer * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t o = job / parts, part = job % parts;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t row = rows[i];
        if (parts > 1 && row % parts != part) continue;
        T* to = target + (o * size + row) * inner;
        const T* from = updates + (o * n + i) * inner;
        for (int64_t j = 0; j < inner; ++j) add_to(to[j], from[j]);
      }
    }
  });
}

}  // namespace

void scatter_add(DType type, void* target, const void* updates, int64_t outer, int64_t size,
                 int64_t inner, DType index_type, const void* index, int64_t n) {
  auto run = [&]<class T>(T) {
    with_index(index_type, [&]<class I>(I) {
      scatter_add_typed(static_cast<T*>(target), static_cast<const T*>(updates), outer, size, inner,
                        static_cast<const I*>(index), n);
    });
  };
  dispatch_types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float16,
                 bfloat16, float, double, complex64, complex128>(type, run);
}

}  // namespace argosy::cpu

#include "argosy/kernels/cpu/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "argosy/base/error.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/copy.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/loops.h"
#include "argosy/kernels/cpu/simd/copy.h"
#include "argosy/kernels/cpu/simd/reduce.h"

namespace argosy::cpu {
namespace {

constexpr int64_t kChunk = 65536;  // elements worth a task of its own

const ReduceKernels& kernels() {
  return isa() == Isa::avx512 ? avx512::reduce_kernels : avx2::reduce_kernels;
}

// One result in progress; which member counts follows from dtype and step.
union Acc {
  double f;
  int64_t i;
  uint64_t u;
};
enum class Class : uint8_t { floating, integer, unsigned_integer };

Class class_of(DType t) {
  if (is_floating(t)) return Class::floating;
  return (kUnsigned | kBool).has(t) ? Class::unsigned_integer : Class::integer;
}

Acc identity(Step step, Class c) {
  const double inf = INFINITY;
  switch (step) {
    case Step::prod:
      return c == Class::floating ? Acc{.f = 1} : Acc{.i = 1};
    case Step::max:
      return c == Class::floating  ? Acc{.f = -inf}
             : c == Class::integer ? Acc{.i = INT64_MIN}
                                   : Acc{.u = 0};
    case Step::min:
      return c == Class::floating  ? Acc{.f = inf}
             : c == Class::integer ? Acc{.i = INT64_MAX}
                                   : Acc{.u = UINT64_MAX};
    default:
      return c == Class::floating ? Acc{.f = 0} : Acc{.i = 0};
  }
}

template <class T>
T extreme(bool largest, T a, T b) {
  return (largest ? b > a : b < a) || b != b ? b : a;
}

Acc combine(Step step, Class c, Acc a, Acc b) {
  if (step == Step::max || step == Step::min) {
    const bool largest = step == Step::max;
    if (c == Class::floating) return {.f = extreme(largest, a.f, b.f)};
    if (c == Class::integer) return {.i = extreme(largest, a.i, b.i)};
    return {.u = extreme(largest, a.u, b.u)};
  }
  if (step == Step::prod) return c == Class::floating ? Acc{.f = a.f * b.f} : Acc{.u = a.u * b.u};
  return c == Class::floating ? Acc{.f = a.f + b.f} : Acc{.u = a.u + b.u};
}

struct Dim {
  int64_t size, stride, out;  // in items; out: stride in the result, of kept ones
};

// The work in canonical form: kept and reduced dimensions apart, each with the largest stride
// first, merged where that is possible; the elements of the innermost of all lie side by side.
struct ReduceLayout {
  Dim kept[kMaxLoopRank], reduced[kMaxLoopRank];
  int kept_rank = 0, reduced_rank = 0;
  int64_t results = 1, reduced_size = 1;
  bool inner_reduced = true;
  const char* data = nullptr;
  std::unique_ptr<char[]> copy;  // where the elements lay nowhere side by side
};

int merge(Dim* dims, int rank, bool kept) {
  if (rank == 0) return 0;
  int last = 0;
  for (int d = 1; d < rank; ++d) {
    Dim& o = dims[last];
    const Dim& i = dims[d];
    if (o.stride == i.stride * i.size && (!kept || o.out == i.out * i.size)) {
      o = {o.size * i.size, i.stride, i.out};
    } else {
      dims[++last] = i;
    }
  }
  return last + 1;
}

void order(Dim* dims, int rank) {
  // Broadcast dimensions outermost.
  std::stable_sort(dims, dims + rank, [](const Dim& a, const Dim& b) {
    if ((a.stride == 0) != (b.stride == 0)) return a.stride == 0;
    return std::abs(a.stride) > std::abs(b.stride);
  });
}

ReduceLayout arrange(const void* x, int item_size, std::span<const int64_t> shape,
                     const int64_t* strides, uint32_t axes) {
  ARGOSY_INVARIANT(shape.size() <= kMaxLoopRank);
  ReduceLayout l;
  l.data = static_cast<const char*>(x);
  int64_t out = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    const bool reduced = axes >> d & 1;
    if (shape[d] != 1) {
      if (reduced) {
        l.reduced[l.reduced_rank++] = {shape[d], strides[d], 0};
      } else {
        l.kept[l.kept_rank++] = {shape[d], strides[d], out};
      }
    }
    if (reduced) {
      l.reduced_size *= shape[d];
    } else {
      out *= shape[d];
    }
  }
  l.results = out;
  if (out == 0 || l.reduced_size == 0) return l;
  std::reverse(l.kept, l.kept + l.kept_rank);
  std::reverse(l.reduced, l.reduced + l.reduced_rank);
  for (Dim* d = l.reduced; d < l.reduced + l.reduced_rank; ++d) {
    if (d->stride < 0) {  // the order of what is combined is ours to choose
      l.data += (d->size - 1) * d->stride * item_size;
      d->stride = -d->stride;
    }
  }
  order(l.kept, l.kept_rank);
  order(l.reduced, l.reduced_rank);
  l.kept_rank = merge(l.kept, l.kept_rank, true);
  l.reduced_rank = merge(l.reduced, l.reduced_rank, false);
  const bool reduced_inner = l.reduced_rank > 0 && l.reduced[l.reduced_rank - 1].stride == 1;
  const bool kept_inner = l.kept_rank > 0 && l.kept[l.kept_rank - 1].stride == 1;
  l.inner_reduced = reduced_inner || !kept_inner;
  if (reduced_inner || kept_inner || l.reduced_rank + l.kept_rank == 0) return l;

  // Nothing is contiguous: copy, kept dimensions outside.
  int64_t all_shape[2 * kMaxLoopRank], from[2 * kMaxLoopRank], to[2 * kMaxLoopRank];
  int rank = 0;
  int64_t stride = 1;
  for (const Dim* d = l.kept; d < l.kept + l.kept_rank; ++d)
    all_shape[rank] = d->size, from[rank++] = d->stride;
  for (const Dim* d = l.reduced; d < l.reduced + l.reduced_rank; ++d)
    all_shape[rank] = d->size, from[rank++] = d->stride;
  for (int d = rank; d-- > 0;) {
    to[d] = stride;
    stride *= all_shape[d];
  }
  l.copy.reset(new char[stride * item_size]);
  copy_strided(l.copy.get(), to, l.data, from, std::span(all_shape, rank), item_size);
  l.data = l.copy.get();
  for (int d = 0; d < l.kept_rank; ++d) l.kept[d].stride = to[d];
  for (int d = 0; d < l.reduced_rank; ++d) l.reduced[d].stride = to[l.kept_rank + d];
  l.kept_rank = merge(l.kept, l.kept_rank, true);
  l.reduced_rank = merge(l.reduced, l.reduced_rank, false);
  l.inner_reduced = l.reduced_rank > 0;
  return l;
}

// Offset in items of the i-th element of some dimensions.
int64_t offset_of(const Dim* dims, int rank, int64_t i) {
  int64_t offset = 0;
  for (int d = rank; d-- > 0;) {
    offset += i % dims[d].size * dims[d].stride;
    i /= dims[d].size;
  }
  return offset;
}

struct Numbers {
  const double* each = nullptr;  // one for each result, in the order of `kept`
  double common = 0;
};

// Results of a few contiguous elements each: blocks of them are transposed, so that results lie
// side by side.
void reduce_short_rows(Step step, DType type, const ReduceLayout& l, Numbers numbers, Acc* accs) {
  constexpr int64_t kBlock = 256;
  const ReduceColumns columns =
      kernels().steps[static_cast<int>(step)][static_cast<int>(type)].columns;
  const int size = item_size(type);
  const Transpose transpose = transpose_kernel(size);
  const Dim& inner = l.kept[l.kept_rank - 1];
  const int64_t n = l.reduced_size, blocks = (inner.size + kBlock - 1) / kBlock;
  const int64_t outer = l.results / inner.size;
  parallel_for(
      outer * blocks, std::max<int64_t>(1, kChunk / (n * kBlock)), [&](int64_t begin, int64_t end) {
        std::unique_ptr<char[]> block(new char[n * kBlock * size]);
        double common[kBlock];
        std::fill_n(common, kBlock, numbers.common);
        for (int64_t i = begin; i < end; ++i) {
          const int64_t first = i % blocks * kBlock, count = std::min(kBlock, inner.size - first);
          const int64_t result = i / blocks * inner.size + first;
          const int64_t at = offset_of(l.kept, l.kept_rank - 1, i / blocks) + first * inner.stride;
          transpose(block.get(), kBlock, l.data + at * size, inner.stride, count, n);
          std::fill_n(accs + result, count, identity(step, class_of(type)));
          columns(block.get(), n, kBlock * size, count,
                  numbers.each ? numbers.each + result : common, accs + result);
        }
      });
}

// accs[i]: i counts kept elements in the order of l.kept.
void reduce_rows(Step step, DType type, const ReduceLayout& l, Numbers numbers, Acc* accs) {
  const ReduceRun run = kernels().steps[static_cast<int>(step)][static_cast<int>(type)].run;
  const Class c = class_of(type);
  const int size = item_size(type);
  const int64_t n = l.reduced_rank ? l.reduced[l.reduced_rank - 1].size : 1;
  const int outer_rank = std::max(0, l.reduced_rank - 1);
  const Dim outer = outer_rank ? l.reduced[outer_rank - 1] : Dim{1, 0, 0};
  // All elements of one result that begin at `base`.
  auto whole = [&](const char* base, double number, Acc* acc) {
    for (int64_t o = 0; o < l.reduced_size / n; o += outer.size) {
      const int64_t at = outer_rank > 1 ? offset_of(l.reduced, outer_rank, o) : 0;
      for (int64_t i = 0; i < outer.size; ++i)
        run(base + (at + i * outer.stride) * size, n, number, acc);
    }
  };
  // Elements [begin, end) of one result.
  auto range = [&](int64_t result, int64_t begin, int64_t end, Acc* acc) {
    const char* base = l.data + offset_of(l.kept, l.kept_rank, result) * size;
    const double number = numbers.each ? numbers.each[result] : numbers.common;
    for (int64_t done = begin; done < end;) {
      const int64_t in_run = done % n, m = std::min(n - in_run, end - done);
      const int64_t at = in_run + offset_of(l.reduced, outer_rank, done / n);
      run(base + at * size, m, number, acc);
      done += m;
    }
  };
  const int64_t chunks = l.results < 16 ? (l.reduced_size + kChunk - 1) / kChunk : 1;
  if (chunks <= 1) {
    const int64_t grain = std::max<int64_t>(1, kChunk / std::max<int64_t>(l.reduced_size, 8));
    const Dim inner = l.kept_rank ? l.kept[l.kept_rank - 1] : Dim{1, 0, 0};
    auto body = [&](int64_t begin, int64_t end) {
      const Acc first = identity(step, c);
      for (int64_t i = begin; i < end;) {
        const int64_t place = l.kept_rank > 1 ? i % inner.size : i;
        const char* base = l.data + offset_of(l.kept, l.kept_rank, i) * size;
        const int64_t count = std::min(inner.size - place, end - i);
        for (int64_t k = 0; k < count; ++k, ++i) {
          accs[i] = first;
          whole(base + k * inner.stride * size, numbers.each ? numbers.each[i] : numbers.common,
                &accs[i]);
        }
      }
    };
    if (l.results <= grain) return body(0, l.results);
    return parallel_for(l.results, grain, body);
  }
  std::unique_ptr<Acc[]> partial(new Acc[l.results * chunks]);
  parallel_for(l.results * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      partial[i] = identity(step, c);
      const int64_t first = i % chunks * kChunk;
      range(i / chunks, first, std::min(first + kChunk, l.reduced_size), &partial[i]);
    }
  });
  for (int64_t i = 0; i < l.results; ++i) {
    accs[i] = partial[i * chunks];
    for (int64_t k = 1; k < chunks; ++k)
      accs[i] = combine(step, c, accs[i], partial[i * chunks + k]);
  }
}

// A few columns side by side over many rows that follow each other: `group` rows are taken as one
// wide one, and their columns are added up at the end: at least 8 wide rows, 32 where that leaves
// groups of 16.
constexpr int64_t kFold = 256;

void columns_folded(Step step, DType type, const void* x, int64_t rows, int64_t row_bytes,
                    int64_t width, const double* numbers, Acc* accs) {
  const ReduceColumns columns =
      kernels().steps[static_cast<int>(step)][static_cast<int>(type)].columns;
  const int64_t group = std::min({kFold / width, rows / 8, std::max<int64_t>(rows / 32, 16)});
  if (width > kFold / 4 || row_bytes != width * item_size(type) || group < 2) {
    return columns(x, rows, row_bytes, width, numbers, accs);
  }
  const Class c = class_of(type);
  Acc wide[kFold];
  double wide_numbers[kFold];
  std::fill_n(wide, group * width, identity(step, c));
  for (int64_t g = 0; numbers && g < group; ++g)
    std::copy_n(numbers, width, wide_numbers + g * width);
  columns(x, rows / group, row_bytes * group, group * width, numbers ? wide_numbers : nullptr,
          wide);
  for (int64_t g = 0; g < group; ++g) {
    for (int64_t i = 0; i < width; ++i) accs[i] = combine(step, c, accs[i], wide[g * width + i]);
  }
  const int64_t rest = rows % group;
  columns(static_cast<const char*>(x) + (rows - rest) * row_bytes, rest, row_bytes, width, numbers,
          accs);
}

void reduce_columns(Step step, DType type, const ReduceLayout& l, Numbers numbers, Acc* accs) {
  constexpr int64_t kTile = 512;
  const Class c = class_of(type);
  const int size = item_size(type);
  const int64_t width = l.kept[l.kept_rank - 1].size;
  const int64_t outer = l.results / width, tiles = (width + kTile - 1) / kTile;
  const int last = l.reduced_rank - 1;
  const int64_t inner_rows = last >= 0 ? l.reduced[last].size : 1;
  const int64_t row_bytes = last >= 0 ? l.reduced[last].stride * size : 0;
  const int64_t tile_width = std::min(width, kTile);
  // Rows of one task: enough work, and cut only where there are few tasks otherwise.
  const int64_t chunk_rows = std::max<int64_t>(64, kChunk / tile_width);
  const int64_t chunks = outer * tiles < 16 ? (l.reduced_size + chunk_rows - 1) / chunk_rows : 1;
  std::unique_ptr<Acc[]> partial;
  if (chunks > 1) partial.reset(new Acc[l.results * chunks]);
  Acc* to = chunks > 1 ? partial.get() : accs;
  // Common numbers are asked for by column here.
  double common[kTile];
  std::fill_n(common, tile_width, numbers.common);

  auto body = [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t tile = task % tiles, o = task / tiles % outer, chunk = task / (tiles * outer);
      const int64_t first = tile * kTile, w = std::min(kTile, width - first);
      Acc* acc = to + chunk * l.results + o * width + first;
      std::fill_n(acc, w, identity(step, c));
      const char* base = l.data + (offset_of(l.kept, l.kept_rank - 1, o) + first) * size;
      const double* p = numbers.each ? numbers.each + o * width + first : common;
      const int64_t r1 =
          chunks > 1 ? std::min((chunk + 1) * chunk_rows, l.reduced_size) : l.reduced_size;
      for (int64_t r = chunks > 1 ? chunk * chunk_rows : 0; r < r1;) {
        const int64_t in_run = r % inner_rows, m = std::min(inner_rows - in_run, r1 - r);
        int64_t at = offset_of(l.reduced, std::max(last, 0), r / inner_rows);
        if (last >= 0) at += in_run * l.reduced[last].stride;
        columns_folded(step, type, base + at * size, m, row_bytes, w, p, acc);
        r += m;
      }
    }
  };
  const int64_t tasks = outer * tiles * chunks;
  const int64_t task_work =
      tile_width * std::min(l.reduced_size, chunks > 1 ? chunk_rows : INT64_MAX);
  const int64_t grain = std::max<int64_t>(1, kChunk / std::max<int64_t>(task_work, 1));
  if (tasks <= grain) {
    body(0, tasks);
  } else {
    parallel_for(tasks, grain, body);
  }
  if (chunks > 1) {
    for (int64_t i = 0; i < l.results; ++i) {
      accs[i] = partial[i];
      for (int64_t k = 1; k < chunks; ++k)
        accs[i] = combine(step, c, accs[i], partial[k * l.results + i]);
    }
  }
}

void run_step(Step step, DType type, const ReduceLayout& l, Numbers numbers, Acc* accs) {
  if (l.reduced_size == 0) {
    std::fill_n(accs, l.results, identity(step, class_of(type)));
  } else if (l.inner_reduced && l.reduced_size <= 32 && l.reduced_rank == 1 && l.kept_rank > 0 &&
             l.kept[l.kept_rank - 1].size >= 32) {
    reduce_short_rows(step, type, l, numbers, accs);
  } else if (l.inner_reduced) {
    reduce_rows(step, type, l, numbers, accs);
  } else {
    reduce_columns(step, type, l, numbers, accs);
  }
}

// Accumulators of all results; on the stack where they are few.
class Accs {
 public:
  explicit Accs(int64_t n) {
    if (n > kFew) many_.reset(new Acc[n]);
  }
  Acc* get() { return many_ ? many_.get() : few_; }

 private:
  static constexpr int64_t kFew = 64;
  Acc few_[kFew];
  std::unique_ptr<Acc[]> many_;
};

template <class F>
void write_as(const ReduceLayout& l, const Acc* accs, F&& write) {
  if (l.kept_rank == 0 || (l.kept_rank == 1 && l.kept[0].out == 1)) {
    for (int64_t i = 0; i < l.results; ++i) write(i, accs[i]);
    return;
  }
  int64_t index[kMaxLoopRank] = {}, out = 0;
  for (int64_t i = 0; i < l.results; ++i) {
    write(out, accs[i]);
    for (int d = l.kept_rank; d-- > 0;) {
      out += l.kept[d].out;
      if (++index[d] < l.kept[d].size) break;
      out -= l.kept[d].out * l.kept[d].size;
      index[d] = 0;
    }
  }
}

// result[..] = finish(acc), stored as `type`.
template <class F>
void write_floating(DType type, const ReduceLayout& l, const Acc* accs, void* result, F&& finish) {
  dispatch_floating(type, [&]<class T>(T) {
    T* out = static_cast<T*>(result);
    write_as(l, accs, [&](int64_t at, const Acc& acc) {
      // Through float32 for the 16-bit types, as everything else.
      if constexpr (sizeof(T) == 2) {
        out[at] = T(static_cast<float>(finish(acc.f)));
      } else {
        out[at] = static_cast<T>(finish(acc.f));
      }
    });
  });
}

void reduce_complex(Reduce kind, DType type, const void* x, std::span<const int64_t> shape,
                    const int64_t* strides, uint32_t axes, void* result) {
  // As reals with one more dimension: kept by sums, reduced by norms.
  const size_t rank = shape.size();
  ARGOSY_INVARIANT(rank < kMaxLoopRank);
  int64_t real_shape[kMaxLoopRank], real_strides[kMaxLoopRank];
  for (size_t d = 0; d < rank; ++d) real_shape[d] = shape[d], real_strides[d] = 2 * strides[d];
  real_shape[rank] = 2;
  real_strides[rank] = 1;
  const bool norm = kind == Reduce::sum_squares || kind == Reduce::norm;
  if (norm) axes |= 1u << rank;
  if (norm || kind == Reduce::sum || kind == Reduce::mean) {
    return reduce(kind, real_of(type), x, {real_shape, rank + 1}, real_strides, axes, result);
  }
  dispatch_types<complex64, complex128>(type, [&]<class T>(T) {
    ReduceLayout l = arrange(x, sizeof(T), shape, strides, axes);
    Accs accs(l.results * 2);
    auto* sums = reinterpret_cast<complex128*>(accs.get());
    int64_t nonzero = 0;
    T* out = static_cast<T*>(result);
    for (int64_t i = 0; i < l.results; ++i) {
      const T* base = reinterpret_cast<const T*>(l.data) + offset_of(l.kept, l.kept_rank, i);
      complex128 sum = kind == Reduce::prod ? 1 : 0;
      nonzero = 0;
      for (int64_t k = 0; k < l.reduced_size; ++k) {
        const complex128 v = base[offset_of(l.reduced, l.reduced_rank, k)];
        if (kind == Reduce::prod) {
          sum = {sum.real() * v.real() - sum.imag() * v.imag(),
                 sum.real() * v.imag() + sum.imag() * v.real()};
        } else {
          sum += kind == Reduce::sum_abs ? complex128(std::abs(v)) : v;
        }
        nonzero += v != complex128(0);
      }
      if (kind == Reduce::count_nonzero) sum = static_cast<double>(nonzero);
      if (kind == Reduce::any) sum = nonzero > 0;
      if (kind == Reduce::all) sum = nonzero == l.reduced_size;
      sums[i] = sum;
    }
    static_assert(sizeof(Acc) * 2 == sizeof(complex128));
    int64_t index[kMaxLoopRank] = {}, at = 0;
    for (int64_t i = 0; i < l.results; ++i) {
      const complex128 v = sums[i];
      switch (kind) {
        case Reduce::any:
        case Reduce::all:
          static_cast<bool*>(result)[at] = v.real() != 0;
          break;
        case Reduce::count_nonzero:
          static_cast<int64_t*>(result)[at] = static_cast<int64_t>(v.real());
          break;
        case Reduce::sum_abs:
          static_cast<typename T::value_type*>(result)[at] =
              static_cast<typename T::value_type>(v.real());
          break;
        default:
          out[at] = T(v);
      }
      for (int d = l.kept_rank; d-- > 0;) {
        at += l.kept[d].out;
        if (++index[d] < l.kept[d].size) break;
        at -= l.kept[d].out * l.kept[d].size;
        index[d] = 0;
      }
    }
  });
}

Step step_of(Reduce kind) {
  switch (kind) {
    case Reduce::prod:
      return Step::prod;
    case Reduce::max:
      return Step::max;
    case Reduce::min:
      return Step::min;
    case Reduce::any:
    case Reduce::all:
    case Reduce::count_nonzero:
      return Step::nonzero;
    case Reduce::sum_squares:
    case Reduce::mean_squares:
    case Reduce::norm:
      return Step::squares;
    case Reduce::sum_abs:
      return Step::abs;
    case Reduce::logsumexp:
      return Step::exp;
    case Reduce::sum_numbers:
      return Step::numbers;
    default:
      return Step::sum;
  }
}

}  // namespace

DType reduced_dtype(Reduce kind, DType t) {
  switch (kind) {
    case Reduce::any:
    case Reduce::all:
      return DType::bool_;
    case Reduce::count_nonzero:
      return DType::int64;
    case Reduce::sum:
    case Reduce::prod:
      return (kIntegral | kBool).has(t) ? DType::int64 : t;
    case Reduce::sum_squares:
    case Reduce::sum_abs:
    case Reduce::norm:
      return real_of(t);
    default:
      return t;
  }
}

void reduce(Reduce kind, DType type, const void* x, std::span<const int64_t> shape,
            const int64_t* strides, uint32_t axes, void* result) {
  if (is_complex(type)) return reduce_complex(kind, type, x, shape, strides, axes, result);
  const Step step = step_of(kind);
  ARGOSY_INVARIANT(kernels().steps[static_cast<int>(step)][static_cast<int>(type)].run != nullptr);
  ReduceLayout l = arrange(x, item_size(type), shape, strides, axes);
  if (l.results == 0) return;
  Accs storage(l.results);
  Acc* accs = storage.get();
  Numbers numbers;
  std::unique_ptr<double[]> shifts;
  if (kind == Reduce::logsumexp) {
    run_step(Step::max, type, l, {}, accs);
    shifts.reset(new double[l.results]);
    for (int64_t i = 0; i < l.results; ++i) shifts[i] = std::isinf(accs[i].f) ? 0 : accs[i].f;
    numbers.each = shifts.get();
  }
  run_step(step, type, l, numbers, accs);

  const double n = static_cast<double>(l.reduced_size);
  switch (kind) {
    case Reduce::any:
    case Reduce::all:
    case Reduce::count_nonzero:
      write_as(l, accs, [&](int64_t at, const Acc& acc) {
        const int64_t count =
            class_of(type) == Class::floating ? static_cast<int64_t>(acc.f) : acc.i;
        if (kind == Reduce::count_nonzero) {
          static_cast<int64_t*>(result)[at] = count;
        } else {
          static_cast<bool*>(result)[at] =
              kind == Reduce::any ? count > 0 : count == l.reduced_size;
        }
      });
      return;
    case Reduce::mean:
    case Reduce::mean_squares:
      return write_floating(type, l, accs, result, [n](double v) { return v / n; });
    case Reduce::norm:
      return write_floating(type, l, accs, result, [](double v) { return std::sqrt(v); });
    case Reduce::logsumexp:
      for (int64_t i = 0; i < l.results; ++i) accs[i].f = std::log(accs[i].f) + shifts[i];
      return write_floating(type, l, accs, result, [](double v) { return v; });
    default:
      break;
  }
  if (is_floating(type)) {
    return write_floating(type, l, accs, result, [](double v) { return v; });
  }
  if (kind == Reduce::sum || kind == Reduce::prod) {
    return write_as(l, accs,
                    [&](int64_t at, const Acc& acc) { static_cast<int64_t*>(result)[at] = acc.i; });
  }
  dispatch_types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(
      type, [&]<class T>(T) {
        write_as(l, accs, [&](int64_t at, const Acc& acc) {
          static_cast<T*>(result)[at] = static_cast<T>(acc.i);
        });
      });
}

void reduce_norm(double p, DType type, const void* x, std::span<const int64_t> shape,
                 const int64_t* strides, uint32_t axes, void* result) {
  if (p == 2) return reduce(Reduce::norm, type, x, shape, strides, axes, result);
  if (p == 1) return reduce(Reduce::sum_abs, type, x, shape, strides, axes, result);
  ReduceLayout l = arrange(x, item_size(type), shape, strides, axes);
  if (l.results == 0) return;
  Accs accs(l.results);
  run_step(Step::power, type, l, {.common = p}, accs.get());
  write_floating(type, l, accs.get(), result, [p](double v) { return std::pow(v, 1 / p); });
}

namespace {

// Second of two passes: sums of (x - mean)^2, given sums of x. The kernels round the mean to the
// computing type; what that shifts is taken out again.
void center(DType type, const ReduceLayout& l, Acc* accs) {
  const double n = static_cast<double>(l.reduced_size);
  std::unique_ptr<double[]> means(new double[l.results]);
  for (int64_t i = 0; i < l.results; ++i) means[i] = accs[i].f / n;
  run_step(Step::centered, type, l, {.each = means.get()}, accs);
  if (type != DType::float64) {
    for (int64_t i = 0; i < l.results; ++i) {
      const double shift = means[i] - static_cast<double>(static_cast<float>(means[i]));
      const double v = accs[i].f - n * shift * shift;
      if (std::isfinite(shift)) accs[i].f = v < 0 ? 0 : v;
    }
  }
}

}  // namespace

void reduce_variance(DType type, const void* x, std::span<const int64_t> shape,
                     const int64_t* strides, uint32_t axes, double correction, void* variance,
                     void* mean) {
  ReduceLayout l = arrange(x, item_size(type), shape, strides, axes);
  if (l.results == 0) return;
  Accs accs(l.results);
  run_step(Step::sum, type, l, {}, accs.get());
  const double n = static_cast<double>(l.reduced_size);
  if (mean) write_floating(type, l, accs.get(), mean, [n](double v) { return v / n; });
  center(type, l, accs.get());
  const double divisor = std::max(n - correction, 0.0);
  write_floating(type, l, accs.get(), variance, [divisor](double v) { return v / divisor; });
}

void reduce_moments(DType type, const void* x, std::span<const int64_t> shape,
                    const int64_t* strides, uint32_t axes, double* mean, double* variance) {
  ReduceLayout l = arrange(x, item_size(type), shape, strides, axes);
  if (l.results == 0) return;
  Accs accs(l.results);
  const double n = static_cast<double>(l.reduced_size);
  run_step(Step::sum, type, l, {}, accs.get());
  write_as(l, accs.get(), [&](int64_t at, const Acc& acc) { mean[at] = acc.f / n; });
  center(type, l, accs.get());
  write_as(l, accs.get(), [&](int64_t at, const Acc& acc) { variance[at] = acc.f / n; });
}

void reduce_arg(bool largest, DType type, const void* x, std::span<const int64_t> shape,
                const int64_t* strides, int axis, int64_t* result) {
  const auto& kernel = kernels().arg[largest][static_cast<int>(type)];
  const int size = item_size(type);
  // As [outer, n, inner] contiguous: what is not is copied.
  int64_t dense[kMaxLoopRank], outer = 1, inner = 1;
  const int rank = static_cast<int>(shape.size());
  bool contiguous = true;
  int64_t stride = 1;
  for (int d = rank; d-- > 0;) {
    dense[d] = stride;
    contiguous &= strides[d] == stride || shape[d] == 1;
    stride *= shape[d];
    if (d < axis) outer *= shape[d];
    if (d > axis) inner *= shape[d];
  }
  if (stride == 0) return;
  const int64_t n = rank ? shape[axis] : 1;
  const char* data = static_cast<const char*>(x);
  std::unique_ptr<char[]> copy;
  if (!contiguous) {
    copy.reset(new char[stride * size]);
    copy_strided(copy.get(), dense, x, strides, shape, size);
    data = copy.get();
  }
  if (inner == 1) {
    parallel_for(outer, std::max<int64_t>(1, kChunk / n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) result[i] = kernel.run(data + i * n * size, n);
    });
    return;
  }
  const int64_t tiles = (inner + kArgColumns - 1) / kArgColumns;
  const int64_t work = n * std::min<int64_t>(inner, kArgColumns);
  parallel_for(outer * tiles, std::max<int64_t>(1, kChunk / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t o = i / tiles, first = i % tiles * kArgColumns;
      kernel.columns(data + (o * n * inner + first) * size, n, inner * size,
                     std::min<int64_t>(kArgColumns, inner - first), result + o * inner + first);
    }
  });
}

}  // namespace argosy::cpu

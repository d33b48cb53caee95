#include "argosy/kernels/cpu/simd/pool.h"

#include "argosy/kernels/cpu/simd/map.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

struct Span {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

ARGOSY_INLINE int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
ARGOSY_INLINE int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// The input of window o along d, padding left out.
ARGOSY_INLINE Span window(const PoolWindows& w, int d, int64_t o) {
  if (w.adaptive) {
    return {o * w.in[d] / w.out[d], ((o + 1) * w.in[d] + w.out[d] - 1) / w.out[d]};
  }
  int64_t begin = o * w.stride[d] - w.pad[d];
  Span s{most(begin, 0), least(begin + w.kernel[d], w.in[d])};
  if (s.end < s.begin) s.end = s.begin;
  return s;
}

// What window o counts along d in an average.
ARGOSY_INLINE int64_t counted(const PoolWindows& w, int d, int64_t o) {
  if (w.adaptive || w.exclusive) return window(w, d, o).size();
  int64_t begin = o * w.stride[d] - w.pad[d];
  return least(begin + w.kernel[d], w.in[d] + w.pad[d]) - begin;
}

// The outputs whose window has an input at tap k along the last dim.
ARGOSY_INLINE Span reached(const PoolWindows& w, int64_t k) {
  int64_t shift = k - w.pad[2], step = w.stride[2];
  int64_t begin = shift >= 0 ? 0 : (-shift + step - 1) / step;
  int64_t end = shift >= w.in[2] ? 0 : least(w.out[2], (w.in[2] - shift + step - 1) / step);
  return {begin, most(begin, end)};
}

// reached() of every tap, computed once for a plane.
constexpr int64_t kMaxTaps = 64;
struct Taps {
  explicit Taps(const PoolWindows& w) {
    for (int64_t k = 0; k < w.kernel[2]; ++k) spans[k] = reached(w, k);
  }
  Span spans[kMaxTaps];
};

template <class T>
constexpr T kLowest = -static_cast<T>(__builtin_inf());

template <class T>
ARGOSY_INLINE bool beats(T v, T best) {
  return (v > best) | (v != v);
}

// Where a window of nothing but minus infinity has its maximum.
ARGOSY_INLINE int32_t first_place(const PoolWindows& w, Span depth, Span rows, Span columns) {
  int64_t at = (depth.begin * w.in[1] + rows.begin) * w.in[2] + columns.begin;
  return static_cast<int32_t>(least(at, w.in[0] * w.in[1] * w.in[2] - 1));
}

// One tap of a row of windows; kStep 0: any.
template <int kStep, bool kIndex, class T>
ARGOSY_INLINE void max_tap(const T* __restrict from, int64_t any_step, int64_t n, int32_t place,
                           T* __restrict best, int32_t* __restrict index) {
  const int64_t step = kStep ? kStep : any_step;
  const int32_t step32 = static_cast<int32_t>(step);
  for (int64_t i = 0; i < n; ++i) {
    T v = from[i * step];
    bool take = beats(v, best[i]);
    best[i] = take ? v : best[i];
    if (kIndex) index[i] = take ? place + static_cast<int32_t>(i) * step32 : index[i];
  }
}

template <int kStep, bool kIndex, class T>
void max_row(const PoolWindows& w, const Taps& taps, const T* x, Span depth, Span rows, T* y,
             int32_t* index) {
  for (int64_t o = 0; o < w.out[2]; ++o) {
    y[o] = kLowest<T>;
    if (kIndex) index[o] = first_place(w, depth, rows, window(w, 2, o));
  }
  for (int64_t z = depth.begin; z < depth.end; ++z)
    for (int64_t r = rows.begin; r < rows.end; ++r)
      for (int64_t k = 0; k < w.kernel[2]; ++k) {
        Span out = taps.spans[k];
        int64_t at = (z * w.in[1] + r) * w.in[2] + out.begin * w.stride[2] + k - w.pad[2];
        max_tap<kStep, kIndex>(x + at, w.stride[2], out.size(), static_cast<int32_t>(at),
                               y + out.begin, index + out.begin);
      }
}

// Windows of 2x2 that do not overlap.
bool is_halving(const PoolWindows& w) {
  return w.in[0] == 1 && w.kernel[1] == 2 && w.kernel[2] == 2 && w.stride[1] == 2 &&
         w.stride[2] == 2 && w.pad[1] == 0 && w.pad[2] == 0 && 2 * w.out[1] <= w.in[1] &&
         2 * w.out[2] <= w.in[2];
}

template <bool kIndex, class T>
void max_halves(const T* __restrict x, int64_t width, int64_t n, int32_t place, T* __restrict y,
                int32_t* __restrict index) {
  const T* __restrict below = x + width;
  const int32_t down = static_cast<int32_t>(width);
  for (int64_t i = 0; i < n; ++i) {
    T best = x[2 * i], b = x[2 * i + 1], c = below[2 * i], d = below[2 * i + 1];
    int32_t at = place + 2 * static_cast<int32_t>(i), where = at;
    where = beats(b, best) ? at + 1 : where;
    best = beats(b, best) ? b : best;
    where = beats(c, best) ? at + down : where;
    best = beats(c, best) ? c : best;
    where = beats(d, best) ? at + down + 1 : where;
    best = beats(d, best) ? d : best;
    y[i] = best;
    if (kIndex) index[i] = where;
  }
}

template <bool kIndex, class T>
void max_plane(const PoolWindows& w, const T* x, T* y, int32_t* index) {
  const Taps taps(w);
  const bool halves = is_halving(w);
  for (int64_t oz = 0; oz < w.out[0]; ++oz)
    for (int64_t oy = 0; oy < w.out[1]; ++oy) {
      Span depth = window(w, 0, oz), rows = window(w, 1, oy);
      if (halves)
        max_halves<kIndex>(x + rows.begin * w.in[2], w.in[2], w.out[2],
                           static_cast<int32_t>(rows.begin * w.in[2]), y, index);
      else if (w.stride[2] == 1)
        max_row<1, kIndex>(w, taps, x, depth, rows, y, index);
      else if (w.stride[2] == 2)
        max_row<2, kIndex>(w, taps, x, depth, rows, y, index);
      else
        max_row<0, kIndex>(w, taps, x, depth, rows, y, index);
      y += w.out[2];
      if (kIndex) index += w.out[2];
    }
}

// window() and counted() of the last dim, kept for all rows while they fit.
class Columns {
 public:
  explicit Columns(const PoolWindows& w) : w_(w) {
    if (w.out[2] > kMost) return;
    for (int64_t o = 0; o < w.out[2]; ++o) {
      spans_[o] = window(w, 2, o);
      counts_[o] = counted(w, 2, o);
    }
  }
  Span span(int64_t o) const { return w_.out[2] > kMost ? window(w_, 2, o) : spans_[o]; }
  int64_t count(int64_t o) const { return w_.out[2] > kMost ? counted(w_, 2, o) : counts_[o]; }

 private:
  static constexpr int64_t kMost = 256;
  const PoolWindows& w_;
  Span spans_[kMost];
  int64_t counts_[kMost];
};

// The greatest of n numbers, or nan.
template <class T>
ARGOSY_INLINE T max_of(const T* x, int64_t n) {
  T lane[8];
  int64_t i = 0;
  for (int l = 0; l < 8; ++l) lane[l] = kLowest<T>;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; ++l) lane[l] = beats(x[i + l], lane[l]) ? x[i + l] : lane[l];
  for (; i < n; ++i) lane[0] = beats(x[i], lane[0]) ? x[i] : lane[0];
  for (int l = 1; l < 8; ++l) lane[0] = beats(lane[l], lane[0]) ? lane[l] : lane[0];
  return lane[0];
}

// n elements that lie one after the other in a plane, the first at `place`. As one by one: the
// first of equals, the last nan.
template <class T>
ARGOSY_INLINE void max_run(const T* x, int64_t n, int64_t place, T* best, int32_t* index) {
  if (n < 8) {
    T v = *best;
    int64_t at = -1;
    for (int64_t i = 0; i < n; ++i) {
      const bool take = beats(x[i], v);
      v = take ? x[i] : v;
      at = take ? i : at;
    }
    if (at < 0) return;
    *best = v;
    if (index) *index = static_cast<int32_t>(place + at);
    return;
  }
  const T v = max_of(x, n);
  if (!beats(v, *best)) return;
  *best = v;
  if (!index) return;
  int64_t i = v == v ? 0 : n - 1;
  if (v == v) {
    while (x[i] != v) ++i;
  } else {
    while (x[i] == x[i]) --i;
  }
  *index = static_cast<int32_t>(place + i);
}

// Windows of any form, channels side by side.
template <class T>
void max_lanes(const PoolWindows& w, const T* x, T* y, int32_t* index) {
  const int64_t lanes = w.lanes;
  const Columns all(w);
  for (int64_t oz = 0; oz < w.out[0]; ++oz)
    for (int64_t oy = w.first_row; oy < w.last_row; ++oy) {
      const Span depth = window(w, 0, oz), rows = window(w, 1, oy);
      for (int64_t ox = 0; ox < w.out[2]; ++ox) {
        const Span columns = all.span(ox);
        for (int64_t c = 0; c < lanes; ++c) y[c] = kLowest<T>;
        if (index)
          for (int64_t c = 0; c < lanes; ++c) index[c] = first_place(w, depth, rows, columns);
        // Whole rows lie one after the other.
        const bool joined = lanes == 1 && columns.size() == w.in[2];
        for (int64_t z = depth.begin; z < depth.end; ++z)
          for (int64_t r = rows.begin; r < rows.end; ++r) {
            int64_t at = (z * w.in[1] + r) * w.in[2] + columns.begin;
            if (lanes == 1) {
              max_run(x + at, joined ? rows.size() * w.in[2] : columns.size(), at, y, index);
              if (joined) break;
              continue;
            }
            for (int64_t q = columns.begin; q < columns.end; ++q, ++at) {
              const T* from = x + at * lanes;
              const int32_t place = static_cast<int32_t>(at);
              if (index) {
                for (int64_t c = 0; c < lanes; ++c) {
                  bool take = beats(from[c], y[c]);
                  y[c] = take ? from[c] : y[c];
                  index[c] = take ? place : index[c];
                }
              } else {
                for (int64_t c = 0; c < lanes; ++c) y[c] = beats(from[c], y[c]) ? from[c] : y[c];
              }
            }
          }
        y += lanes;
        if (index) index += lanes;
      }
    }
}

// Rows of windows pay where rows are long; windows one by one where they are few or irregular.
bool by_rows(const PoolWindows& w) {
  return w.lanes == 1 && !w.adaptive && w.kernel[2] <= kMaxTaps &&
         (w.out[2] >= 4 || w.kernel[2] < 4);
}

template <class T>
void run_max(const PoolWindows& w, const T* x, T* y, int32_t* indices) {
  if (!by_rows(w)) return max_lanes(w, x, y, indices);
  if (indices)
    max_plane<true>(w, x, y, indices);
  else
    max_plane<false>(w, x, y, indices);
}

template <class T>
ARGOSY_INLINE T divisor(const PoolWindows& w, int64_t count) {
  if (w.plain_sum) return T(1);
  return static_cast<T>(w.divisor ? w.divisor : most(count, 1));
}

template <int kStep, class T>
ARGOSY_INLINE void add_tap(const T* __restrict from, int64_t any_step, int64_t n,
                           T* __restrict to) {
  const int64_t step = kStep ? kStep : any_step;
  for (int64_t i = 0; i < n; ++i) to[i] += from[i * step];
}

template <int kStep, class T>
void add_row(const PoolWindows& w, const Taps& taps, const T* x, Span depth, Span rows, T* y) {
  for (int64_t z = depth.begin; z < depth.end; ++z)
    for (int64_t r = rows.begin; r < rows.end; ++r)
      for (int64_t k = 0; k < w.kernel[2]; ++k) {
        Span out = taps.spans[k];
        int64_t at = (z * w.in[1] + r) * w.in[2] + out.begin * w.stride[2] + k - w.pad[2];
        add_tap<kStep>(x + at, w.stride[2], out.size(), y + out.begin);
      }
}

template <class T>
ARGOSY_INLINE T sum_of(const T* x, int64_t n) {
  T lane[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; ++l) lane[l] += x[i + l];
  T sum = ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
  for (; i < n; ++i) sum += x[i];
  return sum;
}

template <class T>
ARGOSY_INLINE T sum_of_window(const PoolWindows& w, const T* x, Span depth, Span rows,
                              Span columns) {
  T sum = 0;
  for (int64_t z = depth.begin; z < depth.end; ++z) {
    const T* from = x + (z * w.in[1] + rows.begin) * w.in[2] + columns.begin;
    if (columns.size() == w.in[2]) {  // whole rows lie one after the other
      sum += sum_of(from, rows.size() * w.in[2]);
      continue;
    }
    for (int64_t r = rows.begin; r < rows.end; ++r, from += w.in[2]) {
      if (columns.size() >= 8) {
        sum += sum_of(from, columns.size());
      } else {
        for (int64_t q = 0; q < columns.size(); ++q) sum += from[q];
      }
    }
  }
  return sum;
}

template <class T>
void average_lanes(const PoolWindows& w, const T* x, T* y) {
  const int64_t lanes = w.lanes;
  const Columns all(w);
  for (int64_t oz = 0; oz < w.out[0]; ++oz)
    for (int64_t oy = w.first_row; oy < w.last_row; ++oy) {
      const Span depth = window(w, 0, oz), rows = window(w, 1, oy);
      const int64_t outer = counted(w, 0, oz) * counted(w, 1, oy);
      for (int64_t ox = 0; ox < w.out[2]; ++ox, y += lanes) {
        const Span columns = all.span(ox);
        const T by = divisor<T>(w, outer * all.count(ox));
        if (lanes == 1) {
          *y = sum_of_window(w, x, depth, rows, columns) / by;
          continue;
        }
        for (int64_t c = 0; c < lanes; ++c) y[c] = 0;
        for (int64_t z = depth.begin; z < depth.end; ++z)
          for (int64_t r = rows.begin; r < rows.end; ++r) {
            const T* from = x + ((z * w.in[1] + r) * w.in[2] + columns.begin) * lanes;
            for (int64_t q = columns.begin; q < columns.end; ++q, from += lanes)
              for (int64_t c = 0; c < lanes; ++c) y[c] += from[c];
          }
        for (int64_t c = 0; c < lanes; ++c) y[c] /= by;
      }
    }
}

// The rows of a window as one: sum[k] of their elements k.
template <class T>
void add_rows(const PoolWindows& w, const T* x, Span depth, Span rows, T* sum) {
  for (int64_t k = 0; k < w.in[2]; ++k) sum[k] = 0;
  for (int64_t z = depth.begin; z < depth.end; ++z)
    for (int64_t r = rows.begin; r < rows.end; ++r)
      add_tap<1>(x + (z * w.in[1] + r) * w.in[2], 1, w.in[2], sum);
}

template <class T>
void run_average(const PoolWindows& w, const T* x, T* y) {
  constexpr int64_t kMostColumns = 512;
  if (!by_rows(w)) return average_lanes(w, x, y);
  const Taps taps(w);
  const bool summed = w.kernel[0] * w.kernel[1] > 2 && w.kernel[2] > 2 && w.in[2] <= kMostColumns;
  T sum[kMostColumns];
  for (int64_t oz = 0; oz < w.out[0]; ++oz)
    for (int64_t oy = 0; oy < w.out[1]; ++oy, y += w.out[2]) {
      Span depth = window(w, 0, oz), rows = window(w, 1, oy);
      for (int64_t o = 0; o < w.out[2]; ++o) y[o] = 0;
      if (summed) {
        add_rows(w, x, depth, rows, sum);
        for (int64_t k = 0; k < w.kernel[2]; ++k) {
          const Span out = taps.spans[k];
          const T* from = sum + out.begin * w.stride[2] + k - w.pad[2];
          w.stride[2] == 1 ? add_tap<1>(from, 1, out.size(), y + out.begin)
                           : add_tap<0>(from, w.stride[2], out.size(), y + out.begin);
        }
      } else if (w.stride[2] == 1)
        add_row<1>(w, taps, x, depth, rows, y);
      else if (w.stride[2] == 2)
        add_row<2>(w, taps, x, depth, rows, y);
      else
        add_row<0>(w, taps, x, depth, rows, y);
      int64_t outer = counted(w, 0, oz) * counted(w, 1, oy);
      for (int64_t o = 0; o < w.out[2]; ++o) y[o] /= divisor<T>(w, outer * counted(w, 2, o));
    }
}

template <class T>
void run_average_backward(const PoolWindows& w, const T* dy, T* dx) {
  const int64_t lanes = w.lanes;
  const Columns all(w);
  for (int64_t oz = 0; oz < w.out[0]; ++oz)
    for (int64_t oy = 0; oy < w.out[1]; ++oy) {
      Span depth = window(w, 0, oz), rows = window(w, 1, oy);
      const int64_t outer = counted(w, 0, oz) * counted(w, 1, oy);
      for (int64_t ox = 0; ox < w.out[2]; ++ox, dy += lanes) {
        Span columns = all.span(ox);
        const T scale = 1 / divisor<T>(w, outer * all.count(ox));
        for (int64_t z = depth.begin; z < depth.end; ++z)
          for (int64_t r = rows.begin; r < rows.end; ++r) {
            T* to = dx + ((z * w.in[1] + r) * w.in[2] + columns.begin) * lanes;
            if (lanes == 1) {
              const T g = *dy * scale;
              for (int64_t q = 0; q < columns.size(); ++q) to[q] += g;
              continue;
            }
            for (int64_t q = columns.begin; q < columns.end; ++q, to += lanes)
              for (int64_t c = 0; c < lanes; ++c) to[c] += dy[c] * scale;
          }
      }
    }
}

}  // namespace

#define ARGOSY_POOL_KERNELS(T)                                              \
  void pool_max(const PoolWindows& w, const T* x, T* y, int32_t* indices) { \
    run_max(w, x, y, indices);                                              \
  }                                                                         \
  void pool_average(const PoolWindows& w, const T* x, T* y) {               \
    run_average(w, x, y);                                                   \
  }                                                                         \
  void pool_average_backward(const PoolWindows& w, const T* dy, T* dx) {    \
    run_average_backward(w, dy, dx);                                        \
  }
ARGOSY_POOL_KERNELS(float)
ARGOSY_POOL_KERNELS(double)

}  // namespace argosy::cpu::ARGOSY_ISA

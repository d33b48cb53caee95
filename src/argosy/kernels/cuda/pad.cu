#include "argosy/kernels/cuda/pad.h"

#include <cstring>

#include "argosy/kernels/cuda/index.cuh"

namespace argosy::cuda {
namespace {

// Axes that are not padded are one with those before them: the last axis moves long runs.
PadShape merged(const PadShape& given) {
  PadShape s;
  s.mode = given.mode;
  for (int d = 0; d < given.rank; ++d) {
    const bool same = given.before[d] == 0 && given.in[d] == given.out[d];
    const int last = s.rank - 1;
    if (same && last >= 0 && s.before[last] == 0 && s.in[last] == s.out[last]) {
      s.in[last] *= given.in[d];
      s.out[last] *= given.out[d];
      continue;
    }
    s.in[s.rank] = given.in[d];
    s.out[s.rank] = given.out[d];
    s.before[s.rank++] = given.before[d];
  }
  return s;
}

// The place of x that place k of a padded axis repeats, or -1.
__device__ __forceinline__ int64_t source_of(PadMode mode, int64_t k, int64_t before, int64_t in) {
  const int64_t s = k - before;
  if (s >= 0 && s < in) return s;
  switch (mode) {
    case PadMode::constant:
      return -1;
    case PadMode::reflect:
      return s < 0 ? -s : 2 * (in - 1) - s;
    case PadMode::replicate:
      return s < 0 ? 0 : in - 1;
    case PadMode::circular: {
      const int64_t r = s % in;
      return r < 0 ? r + in : r;
    }
  }
  return -1;
}

// The place of x that place i of y repeats.
struct PadPlace {
  PadShape shape;
  Splitter out[kMaxRank];
  __device__ __forceinline__ int64_t operator()(int64_t i) const {
    int64_t rest = i, place = 0, step = 1;
    bool inside = true;
    for (int d = shape.rank - 1; d >= 0; --d) {
      int64_t k = rest;
      if (d > 0) rest = out[d].split(rest, &k);
      const int64_t s = source_of(shape.mode, k, shape.before[d], shape.in[d]);
      inside &= s >= 0;
      place += s * step;
      step *= shape.in[d];
    }
    return inside ? place : kNowhere;
  }
};

// How many places of y repeat place s of x on one axis, and which the n-th is. An axis of circular
// mode repeats as often as y is long; the others at most once before and once behind, or, of
// replicate's ends, all of the border.
struct Repeats {
  int64_t first, count, step;  // first, first + step, ..
  int64_t mirror[2];           // of reflect: others, -1 for none
};
__device__ __forceinline__ Repeats repeats_of(PadMode mode, int64_t s, int64_t before, int64_t in,
                                              int64_t out) {
  Repeats r{s + before, 1, 1, {-1, -1}};
  if (mode == PadMode::circular) {
    r.step = in;
    r.first = (s + before) % in;
    if (r.first < 0) r.first += in;
    r.count = r.first < out ? (out - 1 - r.first) / in + 1 : 0;
    return r;
  }
  if (mode == PadMode::replicate) {
    int64_t begin = s == 0 ? (before < 0 ? s + before : 0) : s + before;
    int64_t end = s == in - 1 ? (out > s + before + 1 ? out : s + before + 1) : s + before + 1;
    if (begin < 0) begin = 0;
    if (end > out) end = out;
    r.first = begin;
    r.count = end > begin ? end - begin : 0;
    return r;
  }
  if (r.first < 0 || r.first >= out) r.count = 0;
  if (mode == PadMode::reflect) {
    const int64_t low = before - s, high = 2 * (in - 1) - s + before;
    if (s > 0 && low >= 0 && low < out) r.mirror[0] = low;
    if (s < in - 1 && high >= 0 && high < out) r.mirror[1] = high;
  }
  return r;
}

// One axis: dx [outer, in, inner] = sums of dy [outer, out, inner].
template <class To, class From>
struct AddUp {
  To* dx;
  const From* dy;
  PadMode mode;
  int64_t in, out, before;
  Splitter inner, size;
  __device__ void operator()(int64_t i) const {
    int64_t column, s;
    const int64_t o = size.split(inner.split(i, &column), &s);
    const From* from = dy + o * out * inner.d + column;
    const Repeats r = repeats_of(mode, s, before, in, out);
    using W = Computed<From>;
    W sum{};
    for (int64_t k = 0; k < r.count; ++k)
      sum = plus<W>(sum, load(from[(r.first + k * r.step) * inner.d]));
    for (int64_t m : r.mirror)
      if (m >= 0) sum = plus<W>(sum, load(from[m * inner.d]));
    dx[i] = static_cast<To>(sum);
  }
};

template <class To, class From>
void add_up(cudaStream_t stream, To* dx, const From* dy, const PadShape& s, int d, int64_t outer,
            int64_t inner) {
  const int64_t n = outer * s.in[d] * inner;
  for_each_item(stream, n,
                AddUp<To, From>{dx, dy, s.mode, s.in[d], s.out[d], s.before[d], Splitter(inner, n),
                                Splitter(s.in[d], n)});
}

template <class T>
void pad_grad_of(cudaStream_t stream, T* dx, const T* dy, const PadShape& s) {
  using W = Computed<T>;
  int first = -1, last = -1;  // the axes that change
  int64_t inner = 1, outer = 1, most = 1;
  for (int d = 0; d < s.rank; ++d) {
    inner *= s.out[d];
    if (s.before[d] == 0 && s.in[d] == s.out[d]) continue;
    if (first < 0) first = d;
    last = d;
  }
  if (first < 0) {
    ARGOSY_CUDA(cudaMemcpyAsync(dx, dy, static_cast<size_t>(inner) * sizeof(T),
                                cudaMemcpyDeviceToDevice, stream));
    return;
  }
  int64_t size = most = inner;
  for (int d = 0; d < s.rank; ++d) {
    size = size / s.out[d] * s.in[d];
    most = size > most ? size : most;
  }
  const size_t room = first == last ? 0 : static_cast<size_t>(most) * sizeof(W);
  Scratch one(stream, room), two(stream, room);
  W* buffers[] = {one.data<W>(), two.data<W>()};
  const W* from = nullptr;
  int turn = 0;
  for (int d = 0; d < s.rank; ++d) {
    inner /= s.out[d];
    if (s.before[d] != 0 || s.in[d] != s.out[d]) {
      W* to = buffers[turn];
      if (d == first && d == last)
        add_up<T, T>(stream, dx, dy, s, d, outer, inner);
      else if (d == first)
        add_up<W, T>(stream, to, dy, s, d, outer, inner);
      else if (d == last)
        add_up<T, W>(stream, dx, from, s, d, outer, inner);
      else
        add_up<W, W>(stream, to, from, s, d, outer, inner);
      from = to;
      turn ^= 1;
    }
    outer *= s.in[d];
  }
}

}  // namespace

void pad(cudaStream_t stream, void* y, const void* x, const void* fill, const PadShape& given,
         int item) {
  PadPlace place{merged(given), {}};
  PadShape& shape = place.shape;
  // A last axis that is not padded moves in wider units.
  const int last = shape.rank - 1;
  int unit = item;
  if (shape.before[last] == 0 && shape.in[last] == shape.out[last]) {
    unit = widest(shape.in[last] * item, reinterpret_cast<uintptr_t>(x),
                  reinterpret_cast<uintptr_t>(y));
    shape.in[last] = shape.out[last] = shape.in[last] * item / unit;
  }
  int64_t n = 1;
  for (int d = 0; d < shape.rank; ++d) n *= shape.out[d];
  for (int d = 0; d < shape.rank; ++d) place.out[d] = Splitter(shape.out[d], n);
  char filled[sizeof(Wide)] = {};
  for (int at = 0; at < unit; at += item) std::memcpy(filled + at, fill, static_cast<size_t>(item));
  with_width(unit, [&](auto type) {
    using T = typename decltype(type)::type;
    T none;
    std::memcpy(&none, filled, sizeof(T));
    gather_each<T>(stream, y, x, n, place, none);
  });
}

void pad_grad(cudaStream_t stream, DType dtype, void* dx, const void* dy, const PadShape& given) {
  const PadShape shape = merged(given);
  auto run = [&](auto type) {
    using T = typename decltype(type)::type;
    pad_grad_of<T>(stream, static_cast<T*>(dx), static_cast<const T*>(dy), shape);
  };
  if (dtype == DType::complex64)
    run(Type<c64>{});
  else if (dtype == DType::complex128)
    run(Type<c128>{});
  else
    with_floating("pad_grad", dtype, run);
}

}  // namespace argosy::cuda

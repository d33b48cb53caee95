#include "argosy/kernels/cuda/gather.h"

#include "argosy/kernels/cuda/index.cuh"
#include "argosy/kernels/cuda/rows.h"

namespace argosy::cuda {
namespace {

// The place of element i of target [outer, n, units] in [outer, size, units].
struct SlicePlace {
  Index index;
  Splitter row, n;
  int64_t size, units;
  __device__ __forceinline__ int64_t operator()(int64_t i) const {
    int64_t unit, j;
    const int64_t o = n.split(row.split(i, &unit), &j);
    const int64_t at = wrapped(index, j, size);
    return at < 0 ? kNowhere : (o * size + at) * units + unit;
  }
};

// The place that element i of an index names along an axis.
struct AlongPlace {
  Index index;
  Along along;
  Splitter split[kMaxRank];
  __host__ AlongPlace(Index index, const Along& along, int64_t n) : index(index), along(along) {
    for (int d = 0; d < along.rank; ++d) split[d] = Splitter(along.shape[d], n);
  }
  __device__ __forceinline__ int64_t operator()(int64_t i) const {
    const int64_t at = wrapped(index, i, along.size);
    if (at < 0) return kNowhere;
    int64_t place = along.rank ? at * along.strides[along.axis] : 0;
    for (int d = along.rank - 1; d >= 0 && i; --d) {
      int64_t k;
      i = split[d].split(i, &k);
      if (d != along.axis) place += k * along.strides[d];
    }
    return place;
  }
};

__device__ __forceinline__ int64_t place_of(const Indices& indices, int64_t i) {
  int64_t place = 0;
  for (int k = 0; k < indices.count; ++k) {
    const int64_t at = wrapped(indices.at[k].index, i, indices.at[k].size);
    if (at < 0) return kNowhere;
    place += at * indices.at[k].stride;
  }
  return place;
}
__device__ __forceinline__ int64_t place_in(const Rest& rest, int64_t r) {
  int64_t place = 0;
  for (int d = rest.rank - 1; d > 0; --d) {
    place += r % rest.shape[d] * rest.strides[d];
    r /= rest.shape[d];
  }
  return rest.rank ? place + r * rest.strides[0] : 0;
}

// The place of element i of [n, rest]: index i / width, element i % width of the rest.
struct IndexedPlace {
  Indices indices;
  Rest rest;
  Splitter width;
  bool dense;
  __device__ __forceinline__ int64_t operator()(int64_t i) const {
    int64_t r;
    const int64_t row = width.split(i, &r);
    const int64_t place = place_of(indices, row);
    return place == kNowhere ? place : place + (dense ? r : place_in(rest, r));
  }
};

int64_t width_of(const Rest& rest) {
  int64_t width = 1;
  for (int d = 0; d < rest.rank; ++d) width *= rest.shape[d];
  return width;
}

// Neighbouring dimensions that are one run of memory become one.
Rest merged(const Rest& rest) {
  Rest out;
  for (int d = 0; d < rest.rank; ++d) {
    if (rest.shape[d] == 1) continue;
    const int last = out.rank - 1;
    if (last >= 0 && out.strides[last] == rest.strides[d] * rest.shape[d]) {
      out.shape[last] *= rest.shape[d];
      out.strides[last] = rest.strides[d];
      continue;
    }
    out.shape[out.rank] = rest.shape[d];
    out.strides[out.rank++] = rest.strides[d];
  }
  return out;
}

bool is_dense(const Rest& rest) {
  return rest.rank == 0 || (rest.rank == 1 && rest.strides[0] == 1);
}

// --- what is done for each item ---

template <class T, class Place>
struct AddItem {
  T* target;
  const T* values;
  int64_t step;
  Place place;
  __device__ void operator()(int64_t i) const {
    const int64_t at = place(i);
    if (at != kNowhere) add_at(target + at, values[i * step]);
  }
};
template <class T, class Place>
struct WriteItem {
  T* target;
  const T* values;
  int64_t step;
  Place place;
  __device__ void operator()(int64_t i) const {
    const int64_t at = place(i);
    if (at != kNowhere) target[at] = values[i * step];
  }
};

// winner[place] = the last i that names it.
template <class W, class Place>
struct FindWinner {
  W* winner;
  Place place;
  __device__ void operator()(int64_t i) const {
    const int64_t at = place(i);
    if (at != kNowhere) atomicMax(winner + at, static_cast<W>(i));
  }
};
// Only the last of several values for one place is written.
template <class T, class W, class Place>
struct WriteWinner {
  T* target;
  const T* values;
  const W* winner;
  Place place;
  __device__ void operator()(int64_t i) const {
    const int64_t at = place(i);
    if (at != kNowhere && winner[at] == static_cast<W>(i)) target[at] = values[i];
  }
};
template <class T, class W, class Number>
struct WriteWinnerRow {
  T* target;
  const T* values;
  const W* winner;
  Number number;
  IndexedPlace place;
  __device__ void operator()(int64_t i) const {
    int64_t r;
    const int64_t row = place.width.split(i, &r);
    const int64_t at = number(row);
    if (at != kNowhere && winner[at] == static_cast<W>(row)) target[place(i)] = values[i];
  }
};
template <class W, class Place>
struct IsWinner {
  bool* target;
  const W* winner;
  Place place;
  __device__ void operator()(int64_t i) const {
    const int64_t at = place(i);
    target[i] = at != kNowhere && winner[at] == static_cast<W>(i);
  }
};

// use(winner) with winners of n items among `places`.
template <class Place, class Use>
void with_winners(cudaStream_t stream, int64_t places, int64_t n, Place place, Use use) {
  auto find = [&](auto none) {
    using W = decltype(none);
    Scratch room(stream, static_cast<size_t>(places) * sizeof(W));
    W* winner = room.template data<W>();
    ARGOSY_CUDA(cudaMemsetAsync(winner, 0xff, room.bytes(), stream));
    for_each_item(stream, n, FindWinner<W, Place>{winner, place});
    use(static_cast<const W*>(winner));
  };
  if (n < INT32_MAX)
    find(int{-1});
  else
    find(static_cast<long long>(-1));
}

template <class Place>
struct CountItem {
  int32_t* counts;
  Place place;
  __device__ void operator()(int64_t i) const {
    const int64_t at = place(i);
    if (at != kNowhere) atomicAdd(counts + at, 1);
  }
};
template <class T, class Place>
struct FillItem {
  T* target;
  T value;
  Place place;
  __device__ void operator()(int64_t i) const {
    const int64_t at = place(i);
    if (at != kNowhere) target[at] = value;
  }
};
template <class T>
struct DivideItem {
  T* target;
  const int32_t* counts;
  int32_t own;
  __device__ void operator()(int64_t i) const {
    const int32_t n = counts[i] + own;
    if (n > 1)
      target[i] = store<T>(static_cast<Computed<T>>(load(target[i]) / static_cast<Computed<T>>(n)));
  }
};

template <class T>
struct Multiply {
  T v;
  __device__ T operator()(T old) const {
    return store<T>(static_cast<Computed<T>>(load(old) * load(v)));
  }
};
// NaN wins, as in maximum and minimum.
template <class T, bool kLargest>
struct Extreme {
  T v;
  __device__ T operator()(T old) const {
    const Computed<T> a = load(old), b = load(v);
    if (a != a) return old;
    return (kLargest ? b > a : b < a) || b != b ? v : old;
  }
};
template <class T>
struct ChangeItem {
  T* target;
  const T* values;
  int64_t step;
  Combine combine;
  AlongPlace place;
  __device__ void operator()(int64_t i) const {
    const int64_t at = place(i);
    if (at == kNowhere) return;
    const T v = values[i * step];
    if (combine == Combine::multiply)
      change(target + at, Multiply<T>{v});
    else if (combine == Combine::largest)
      change(target + at, Extreme<T, true>{v});
    else
      change(target + at, Extreme<T, false>{v});
  }
};

// key[i] = the place of item i * width, none where it is nowhere.
template <class Place>
struct KeyItem {
  uint64_t* key;
  int64_t width;
  uint64_t none;
  Place place;
  __device__ void operator()(int64_t i) const {
    const int64_t at = place(i * width);
    key[i] = at == kNowhere ? none : static_cast<uint64_t>(at);
  }
};
// What AddItem does, in the same order in each run: n rows of `width`
// neighbours, of a target of fewer than `limit` elements.
template <class Place>
void add_ordered(cudaStream_t stream, DType dtype, void* target, const void* values, int64_t step,
                 int64_t n, int64_t width, int64_t limit, Place place) {
  RowOrder order(stream, n, static_cast<uint64_t>(limit));
  for_each_item(stream, n,
                KeyItem<Place>{order.given(), width, static_cast<uint64_t>(limit), place});
  order.sort();
  order.add(dtype, target, 1, width, values, step, false);
}

struct PlaceNumber {
  Indices indices;
  __device__ __forceinline__ int64_t operator()(int64_t i) const { return place_of(indices, i); }
};

}  // namespace

void take_slices(cudaStream_t stream, void* target, const void* source, Index index, int64_t outer,
                 int64_t size, int64_t n, int64_t inner, int item) {
  const int64_t bytes = inner * item;
  const int wide =
      widest(bytes, reinterpret_cast<uintptr_t>(target), reinterpret_cast<uintptr_t>(source));
  const int64_t units = bytes / wide, all = outer * n * units;
  const SlicePlace place{index, Splitter(units, all), Splitter(n, all), size, units};
  with_width(wide, [&](auto type) {
    gather_each<typename decltype(type)::type>(stream, target, source, all, place);
  });
}

void add_slices(cudaStream_t stream, DType dtype, void* target, const void* values,
                int64_t value_step, Index index, int64_t outer, int64_t size, int64_t n,
                int64_t inner, bool ordered) {
  const int64_t all = outer * n * inner;
  if (all == 0) return;
  if (ordered) {
    const SlicePlace place{index, Splitter(inner, all), Splitter(n, all), size, inner};
    return add_ordered(stream, dtype, target, values, value_step, outer * n, inner,
                       outer * size * inner, place);
  }
  const int64_t width = value_step ? inner : 1;  // one value for all goes element by element
  with_neighbours("add_slices", dtype, width, target, values, [&](auto type, int many) {
    using T = typename decltype(type)::type;
    const int64_t units = inner / many;
    const SlicePlace place{index, Splitter(units, all), Splitter(n, all), size, units};
    for_each_item(stream, all / many,
                  AddItem<T, SlicePlace>{static_cast<T*>(target), static_cast<const T*>(values),
                                         value_step, place});
  });
}

void take_along(cudaStream_t stream, void* target, const void* source, Index index,
                const Along& along, int64_t n, int item) {
  const AlongPlace place(index, along, n);
  with_width(item, [&](auto type) {
    gather_each<typename decltype(type)::type>(stream, target, source, n, place);
  });
}

void put_along(cudaStream_t stream, DType dtype, void* target, int64_t places, const void* values,
               int64_t value_step, Index index, const Along& along, int64_t n, Combine combine,
               int32_t* counts, bool ordered) {
  if (n == 0) return;
  const AlongPlace place(index, along, n);
  if (counts) for_each_item(stream, n, CountItem<AlongPlace>{counts, place});
  if (combine == Combine::add && ordered)
    return add_ordered(stream, dtype, target, values, value_step, n, 1, places, place);
  if (combine == Combine::add) {
    return with_addable("put_along", dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      for_each_item(stream, n,
                    AddItem<T, AlongPlace>{static_cast<T*>(target), static_cast<const T*>(values),
                                           value_step, place});
    });
  }
  if (combine != Combine::assign) {
    return with_real("put_along", dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      for_each_item(stream, n,
                    ChangeItem<T>{static_cast<T*>(target), static_cast<const T*>(values),
                                  value_step, combine, place});
    });
  }
  with_width(item_size(dtype), [&](auto type) {
    using T = typename decltype(type)::type;
    T* to = static_cast<T*>(target);
    const T* from = static_cast<const T*>(values);
    if (value_step == 0)
      return for_each_item(stream, n, WriteItem<T, AlongPlace>{to, from, 0, place});
    with_winners(stream, places, n, place, [&]<class W>(const W* winner) {
      for_each_item(stream, n, WriteWinner<T, W, AlongPlace>{to, from, winner, place});
    });
  });
}

void fill_along(cudaStream_t stream, DType dtype, void* target, double value, Index index,
                const Along& along, int64_t n) {
  const AlongPlace place(index, along, n);
  with_real("put_along", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, n,
                  FillItem<T, AlongPlace>{static_cast<T*>(target), static_cast<T>(value), place});
  });
}

void last_along(cudaStream_t stream, bool* target, int64_t places, Index index, const Along& along,
                int64_t n) {
  if (n == 0) return;
  const AlongPlace place(index, along, n);
  with_winners(stream, places, n, place, [&]<class W>(const W* winner) {
    for_each_item(stream, n, IsWinner<W, AlongPlace>{target, winner, place});
  });
}

void divide_by_counts(cudaStream_t stream, DType dtype, void* target, const int32_t* counts,
                      int32_t own, int64_t n) {
  with_real("put_along", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, n, DivideItem<T>{static_cast<T*>(target), counts, own});
  });
}

void index_get(cudaStream_t stream, void* target, const void* source, const Indices& indices,
               const Rest& given, int64_t n, int item) {
  Rest rest = merged(given);
  const int64_t width = width_of(rest);
  if (n * width == 0) return;
  IndexedPlace place{indices, rest, Splitter(), is_dense(rest)};
  int unit = item;
  if (place.dense) {
    // Rows of wider units, where all of them begin at one.
    uint64_t all = static_cast<uint64_t>(width * item) | reinterpret_cast<uintptr_t>(target) |
                   reinterpret_cast<uintptr_t>(source);
    for (int k = 0; k < indices.count; ++k)
      all |= static_cast<uint64_t>(indices.at[k].stride * item);
    unit = widest(all);
    for (int k = 0; k < indices.count; ++k)
      place.indices.at[k].stride = indices.at[k].stride * item / unit;
  }
  const int64_t units = width * item / unit;
  place.width = Splitter(units, n * units);
  with_width(unit, [&](auto type) {
    gather_each<typename decltype(type)::type>(stream, target, source, n * units, place);
  });
}

void index_put(cudaStream_t stream, DType dtype, void* target, const void* values,
               int64_t value_step, const Indices& indices, const Rest& given, int64_t n, bool add,
               int64_t limit) {
  const Rest rest = merged(given);
  const int64_t width = width_of(rest), all = n * width;
  if (all == 0) return;
  const IndexedPlace place{indices, rest, Splitter(width, all), is_dense(rest)};
  if (add && limit && place.dense)
    return add_ordered(stream, dtype, target, values, value_step, n, width, limit, place);
  if (add && limit)
    return add_ordered(stream, dtype, target, values, value_step, all, 1, limit, place);
  if (add) {
    return with_addable("index_put", dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      for_each_item(stream, all,
                    AddItem<T, IndexedPlace>{static_cast<T*>(target), static_cast<const T*>(values),
                                             value_step, place});
    });
  }
  // Places are counted as if the indexed dimensions lay side by side: strides do not matter.
  PlaceNumber number{indices};
  int64_t places = 1;
  for (int k = indices.count - 1; k >= 0; --k) {
    number.indices.at[k].stride = places;
    places *= indices.at[k].size;
  }
  with_width(item_size(dtype), [&](auto type) {
    using T = typename decltype(type)::type;
    T* to = static_cast<T*>(target);
    const T* from = static_cast<const T*>(values);
    if (n == 1 || value_step == 0)
      return for_each_item(stream, all, WriteItem<T, IndexedPlace>{to, from, value_step, place});
    with_winners(stream, places, n, number, [&]<class W>(const W* winner) {
      for_each_item(stream, all,
                    WriteWinnerRow<T, W, PlaceNumber>{to, from, winner, number, place});
    });
  });
}

}  // namespace argosy::cuda

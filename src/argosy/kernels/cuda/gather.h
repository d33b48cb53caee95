#pragma once

#include "argosy/kernels/cuda/bounds.h"
#include "argosy/kernels/cuda/runtime.h"

// Elements that integers name one by one. Indices are int32 (`wide` false) or int64; negative ones
// count from the end. The element of an index out of range reads as zeros and is not written, and
// the index is told to its watch.
namespace argosy::cuda {

struct Index {
  const void* data = nullptr;
  bool wide = true;
  Watch watch;

  Index() = default;
  Index(const void* data, bool wide) : data(data), wide(wide) {}
};

// target [outer, n, inner] = source [outer, size, inner] at index [n] of the middle.
void take_slices(cudaStream_t stream, void* target, const void* source, Index index, int64_t outer,
                 int64_t size, int64_t n, int64_t inner, int item);
// target [outer, size, inner] += values [outer, n, inner] at index [n] of the middle.
// value_step 0: one value for all, else 1. ordered: additions to one place happen in the
// same order in each run (slower); else in any.
void add_slices(cudaStream_t stream, DType dtype, void* target, const void* values,
                int64_t value_step, Index index, int64_t outer, int64_t size, int64_t n,
                int64_t inner, bool ordered);

// Elements of source, and the index that each element of `index` names on `axis` of it; both of one
// rank. `shape` is that of index; strides are those of source in elements.
struct Along {
  int rank = 0, axis = 0;
  int64_t size = 0;
  int64_t shape[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
};
// target[i] = source at the place of index[i].
void take_along(cudaStream_t stream, void* target, const void* source, Index index,
                const Along& along, int64_t n, int item);
enum class Combine : uint8_t { assign, add, multiply, largest, smallest };
// target (of `places` elements) at the place of index[i] is combined with values[i * value_step];
// of several assigned values the last stays. counts, if given, [places] int32, count up for each.
void put_along(cudaStream_t stream, DType dtype, void* target, int64_t places, const void* values,
               int64_t value_step, Index index, const Along& along, int64_t n, Combine combine,
               int32_t* counts, bool ordered);
// target[place] = `value`, an element, at all places of index.
void fill_along(cudaStream_t stream, DType dtype, void* target, double value, Index index,
                const Along& along, int64_t n);
// target[i] = whether no later element of index names the place that index[i] does.
void last_along(cudaStream_t stream, bool* target, int64_t places, Index index, const Along& along,
                int64_t n);
// target[i] /= counts[i] + own where that is above 1.
void divide_by_counts(cudaStream_t stream, DType dtype, void* target, const int32_t* counts,
                      int32_t own, int64_t n);

// Places that several indices name together: index k runs along a dimension of `size` elements,
// `stride` apart.
struct Indices {
  struct One {
    Index index;
    int64_t size = 0, stride = 0;
  };
  int count = 0;
  One at[kMaxRank];
};
// What is left of a tensor at one place.
struct Rest {
  int rank = 0;
  int64_t shape[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
};
// target [n, rest] = source at indices [n].
void index_get(cudaStream_t stream, void* target, const void* source, const Indices& indices,
               const Rest& rest, int64_t n, int item);
// The reverse: values [n, rest], value_step 1, or one for all, value_step 0. Of several values for
// one place the last stays. add: they are added, in the same order in each run if
// `limit`, above all places of target, is given.
void index_put(cudaStream_t stream, DType dtype, void* target, const void* values,
               int64_t value_step, const Indices& indices, const Rest& rest, int64_t n, bool add,
               int64_t limit);

}  // namespace argosy::cuda

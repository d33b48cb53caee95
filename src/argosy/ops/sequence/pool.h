#pragma once

#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "argosy/base/error.h"

// How rows of a sequence become one row: what sequence_pool and embedding_pool share, so that they
// agree in every bit.
namespace argosy::ops::pooling {

enum class Pool : uint8_t { sum, average, sqrt, max, first, last };

inline Pool pool_of(const char* op, const std::string& name) {
  static constexpr const char* names[] = {"sum", "average", "sqrt", "max", "first", "last"};
  for (int i = 0; i < 6; ++i)
    if (name == names[i]) return static_cast<Pool>(i);
  ARGOSY_THROW(invalid_argument)
      << '[' << op
      << "] pool: expected one of 'sum', 'average', 'sqrt', 'max', 'first', 'last', got '" << name
      << "'.";
}

// Where each sequence begins, and one past the last; raises unless they are `rows` rows.
inline std::vector<int64_t> starts_of(const char* op, std::span<const int64_t> lengths,
                                      int64_t rows) {
  std::vector<int64_t> starts(lengths.size() + 1);
  for (size_t i = 0; i < lengths.size(); ++i) {
    ARGOSY_CHECK(lengths[i] >= 0, invalid_argument)
        << '[' << op << "] lengths: expected numbers >= 0, got " << lengths[i] << '.';
    starts[i + 1] = starts[i] + lengths[i];
  }
  ARGOSY_CHECK(starts.back() == rows, invalid_argument)
      << '[' << op << "] lengths add up to " << starts.back() << ", but there are " << rows
      << " rows. Do this: give each sequence its number of rows.";
  return starts;
}

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// row(i), i < n: width elements each. `where`, of Pool::max: which row each element came from.
// `room`: width elements, for types that are summed in another.
template <class T, class Row>
void pool_rows(Pool pool, int64_t n, int64_t width, Row&& row, T* __restrict out, int32_t* where,
               double pad, Wide<T>* room) {
  using W = Wide<T>;
  if (n == 0) {
    for (int64_t k = 0; k < width; ++k) out[k] = static_cast<T>(static_cast<W>(pad));
    if (where) std::fill(where, where + width, -1);
    return;
  }
  if (n == 1 || pool == Pool::first || pool == Pool::last) {
    std::memcpy(out, row(pool == Pool::last ? n - 1 : 0), static_cast<size_t>(width) * sizeof(T));
    if (where) std::fill(where, where + width, 0);
    return;
  }
  if (pool == Pool::max) {
    std::memcpy(out, row(0), static_cast<size_t>(width) * sizeof(T));
    std::fill(where, where + width, 0);
    for (int64_t i = 1; i < n; ++i) {
      const T* x = row(i);
      for (int64_t k = 0; k < width; ++k)
        if (static_cast<W>(x[k]) > static_cast<W>(out[k])) {
          out[k] = x[k];
          where[k] = static_cast<int32_t>(i);
        }
    }
    return;
  }
  W* __restrict sum = room;
  if constexpr (std::is_same_v<T, W>) sum = out;
  const T* x = row(0);
  for (int64_t k = 0; k < width; ++k) sum[k] = static_cast<W>(x[k]);
  for (int64_t i = 1; i < n; ++i) {
    x = row(i);
    for (int64_t k = 0; k < width; ++k) sum[k] += static_cast<W>(x[k]);
  }
  W size = 1;
  if (pool == Pool::average) size = static_cast<W>(n);
  if (pool == Pool::sqrt) size = std::sqrt(static_cast<W>(n));
  if (size == 1 && std::is_same_v<T, W>) return;
  for (int64_t k = 0; k < width; ++k) out[k] = static_cast<T>(sum[k] / size);
}

// The gradient of row i of n, from that of the pooled row.
template <class T>
void pool_row_gradient(Pool pool, int64_t i, int64_t n, int64_t width, const T* __restrict dy,
                       const int32_t* where, T* __restrict dx) {
  using W = Wide<T>;
  const size_t bytes = static_cast<size_t>(width) * sizeof(T);
  switch (pool) {
    case Pool::first:
    case Pool::last:
      if (i == (pool == Pool::first ? 0 : n - 1))
        std::memcpy(dx, dy, bytes);
      else
        std::memset(static_cast<void*>(dx), 0, bytes);
      return;
    case Pool::max:
      for (int64_t k = 0; k < width; ++k) dx[k] = where[k] == i ? dy[k] : T(0.0f);
      return;
    case Pool::sum:
      std::memcpy(dx, dy, bytes);
      return;
    case Pool::average:
    case Pool::sqrt:
      const W size = pool == Pool::average ? static_cast<W>(n) : std::sqrt(static_cast<W>(n));
      for (int64_t k = 0; k < width; ++k) dx[k] = static_cast<T>(static_cast<W>(dy[k]) / size);
      return;
  }
}

}  // namespace argosy::ops::pooling

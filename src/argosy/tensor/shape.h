#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "argosy/base/error.h"

namespace argosy {

inline constexpr int kMaxRank = 9;
inline constexpr int64_t kUnknown = -1;  // a size not known while a Program is built

// Up to kMaxRank sizes (or strides), without heap.
class ARGOSY_API Shape {
 public:
  Shape() {}  // not defaulted: `{}` would zero the sizes first
  Shape(std::initializer_list<int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const int64_t> sizes);
  Shape(const Shape& o) : rank_(o.rank_) {
    for (int i = 0; i < rank_; ++i) d_[i] = o.d_[i];
  }
  Shape& operator=(const Shape& o) {
    rank_ = o.rank_;
    for (int i = 0; i < rank_; ++i) d_[i] = o.d_[i];
    return *this;
  }
  static Shape filled(int rank, int64_t value);

  int rank() const { return rank_; }
  // Raises where there is no such dimension: what operations made of axes that do not fit the rank
  // was read and written outside of the sizes.
  int64_t operator[](int i) const {
    check(i);
    return d_[i];
  }
  int64_t& operator[](int i) {
    check(i);
    return d_[i];
  }
  int64_t back() const { return (*this)[rank_ - 1]; }
  const int64_t* data() const { return d_; }
  int64_t* data() { return d_; }
  const int64_t* begin() const { return d_; }
  const int64_t* end() const { return d_ + rank_; }
  operator std::span<const int64_t>() const { return {d_, rank_}; }

  void push_back(int64_t size);
  void insert(int at, int64_t size);
  void erase(int at);

  bool known() const {
    for (int64_t v : *this)
      if (v < 0) return false;
    return true;
  }
  // Product of the sizes; kUnknown if any is unknown (unless another is 0).
  int64_t numel() const;
  Shape contiguous_strides() const;

  bool operator==(const Shape& o) const {
    if (rank_ != o.rank_) return false;
    for (int i = 0; i < rank_; ++i)
      if (d_[i] != o.d_[i]) return false;
    return true;
  }

 private:
  void check(int i) const {
    if (static_cast<unsigned>(i) >= rank_) [[unlikely]]
      absent(i);
  }
  [[noreturn]] void absent(int i) const;

  int64_t d_[kMaxRank];
  uint8_t rank_ = 0;
};

ARGOSY_API Message& operator<<(Message& m, const Shape& s);  // [2, 3, ?]

// NumPy broadcasting with unknown sizes: (?, 1) -> ?, (?, n) -> n, (?, ?) -> ?.
ARGOSY_API Shape broadcast(const char* op, const Shape& a, const Shape& b);
// Python's negative axes; raises `kind` naming op, axis and rank.
ARGOSY_API int normalize_axis(const char* op, int64_t axis, int rank,
                              ErrorKind kind = ErrorKind::axis);
// The same for operations that take a tensor without dimensions as one of one element: its axis is
// 0. No size may be asked of that axis.
ARGOSY_API int normalize_axis_of_any(const char* op, int64_t axis, int rank,
                                     ErrorKind kind = ErrorKind::axis);

}  // namespace argosy

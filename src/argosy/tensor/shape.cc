#include "argosy/tensor/shape.h"

namespace argosy {
namespace {

void check_rank(size_t rank) {
  ARGOSY_CHECK(rank <= kMaxRank, invalid_argument)
      << "A tensor has at most " << kMaxRank << " dimensions: got " << rank
      << ". Do this: merge dimensions with reshape.";
}

}  // namespace

Shape::Shape(std::span<const int64_t> sizes) {
  check_rank(sizes.size());
  for (int64_t s : sizes) d_[rank_++] = s;
}

Shape Shape::filled(int rank, int64_t value) {
  Shape s;
  check_rank(static_cast<size_t>(rank));
  while (s.rank_ < rank) s.d_[s.rank_++] = value;
  return s;
}

void Shape::push_back(int64_t size) {
  check_rank(rank_ + 1u);
  d_[rank_++] = size;
}

void Shape::insert(int at, int64_t size) {
  ARGOSY_CHECK(at >= 0 && at <= rank_, index)
      << "Shape " << *this << " has no place " << at << " for a dimension.";
  push_back(size);
  for (int i = rank_ - 1; i > at; --i) d_[i] = d_[i - 1];
  d_[at] = size;
}

void Shape::erase(int at) {
  ARGOSY_CHECK(at >= 0 && at < rank_, index)
      << "Shape " << *this << " has no dimension " << at << '.';
  --rank_;
  for (int i = at; i < rank_; ++i) d_[i] = d_[i + 1];
}

void Shape::absent(int i) const {
  ARGOSY_THROW(axis) << "A tensor of shape " << *this << " has no dimension " << i
                     << ". Do this: check the axes and the number of dimensions.";
}

int64_t Shape::numel() const {
  int64_t n = 1;
  bool unknown = false, overflow = false;
  for (int64_t v : *this) {
    if (v == 0) return 0;
    if (v < 0)
      unknown = true;
    else
      overflow |= __builtin_mul_overflow(n, v, &n);
  }
  ARGOSY_CHECK(!overflow, memory) << "A tensor of shape " << *this
                                  << " has more than 2^63 elements.";
  return unknown ? kUnknown : n;
}

Shape Shape::contiguous_strides() const {
  Shape s = filled(rank_, 1);
  // Wraps around where a size of 0 makes strides meaningless.
  for (int i = rank_ - 2; i >= 0; --i)
    s.d_[i] = static_cast<int64_t>(static_cast<uint64_t>(s.d_[i + 1]) *
                                   static_cast<uint64_t>(d_[i + 1] > 1 ? d_[i + 1] : 1));
  return s;
}

Message& operator<<(Message& m, const Shape& s) {
  m << '[';
  for (int i = 0; i < s.rank(); ++i) {
    if (i) m << ", ";
    if (s[i] < 0)
      m << '?';
    else
      m << s[i];
  }
  return m << ']';
}

Shape broadcast(const char* op, const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  int skip = longer.rank() - shorter.rank();
  for (int i = skip; i < longer.rank(); ++i) {
    int64_t x = longer[i], y = shorter[i - skip];
    if (x == y || y == 1) continue;
    if (x == 1 || x == kUnknown) {
      out[i] = y;
    } else if (y != kUnknown) {
      ARGOSY_THROW(invalid_argument)
          << '[' << op << "] cannot broadcast shapes " << a << " and " << b << ": sizes " << x
          << " and " << y << " of dimension " << i
          << " differ and neither is 1. Do this: reshape, unsqueeze or expand one of them.";
    }
  }
  return out;
}

int normalize_axis(const char* op, int64_t axis, int rank, ErrorKind kind) {
  if (rank == 0) [[unlikely]]
    Thrower{kind} & Message() << '[' << op
                              << "] axis is out of range: a tensor of 0 dimensions has "
                              << "none, got " << axis << ". Do this: unsqueeze it.";
  return normalize_axis_of_any(op, axis, rank, kind);
}

int normalize_axis_of_any(const char* op, int64_t axis, int rank, ErrorKind kind) {
  int64_t range = rank > 0 ? rank : 1;
  if (axis < -range || axis >= range) [[unlikely]]
    Thrower{kind} & Message() << '[' << op << "] axis is out of range: expected " << -range
                              << " <= axis < " << range << " for a tensor of " << rank
                              << " dimensions, got " << axis << '.';
  return static_cast<int>(axis < 0 ? axis + range : axis);
}

}  // namespace argosy

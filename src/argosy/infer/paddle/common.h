#pragma once

#include <algorithm>
#include <array>

#include "argosy/infer/paddle/node.h"
#include "argosy/infer/paddle/session.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// What the families share.
namespace argosy::infer::paddle {

// A name as a template argument.
template <size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&s)[N]) { std::copy_n(s, N, text); }
};

// An operation that is an op of ours on the same tensors: X (and Y) to Out.
template <Name op>
void unary(const Node& n) {
  n.out("Out", call(op.text, {n.in("X")}));
}
template <Name op>
void binary(const Node& n) {
  n.out("Out", call(op.text, {n.in("X"), n.in("Y")}));
}

inline Tensor as(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : ops::cast(x, dtype);
}
inline Tensor number(double value, const Tensor& like) {
  return ops::constant(value, like.dtype());
}
inline op::IntArray int_array(const std::vector<int64_t>& values) {
  return op::IntArray(std::span(values));
}
inline std::vector<int64_t> iota(int64_t begin, int64_t end) {
  std::vector<int64_t> all;
  for (int64_t i = begin; i < end; ++i) all.push_back(i);
  return all;
}
// The sizes of x, symbols where they are not known.
inline op::IntArray sizes_of(const Tensor& x) {
  op::IntArray all;
  for (int d = 0; d < x.rank(); ++d) ops::push_size(all, x, d);
  return all;
}
// A number of one element that only a run may know.
op::Scalar scalar_of(const Tensor& t);
// 0, 1, .., count - 1 as int64; count: of one element.
Tensor count_up_to(const Tensor& count);
// One more number at the end of a: number i of b.
inline void push(op::IntArray& a, const op::IntArray& b, size_t i) {
  for (const op::IntArray::Symbol& s : b.symbols)
    if (s.position == i) a.symbols.push_back({static_cast<uint32_t>(a.size()), s.value});
  a.values.push_back(b[i]);
}
// y with sizes of 1 at its end, so that it stands at `axis` of a tensor with `rank` dimensions.
Tensor stand_at(const Tensor& y, int64_t axis, int rank);
// `slice` of an array of tensors: one of its elements.
void slice_array(const Node& n);
// Applies an activation by the name that fused operations give it; "" and "identity" are none.
Tensor activate(const Node& n, const Tensor& x, const std::string& name);
// Raises where a result of that shape, which the file alone decides, would take too much memory.
void check_folded(const Node& n, const op::IntArray& shape);
bool channels_last(const Node& n, const char* attribute = "data_format");

}  // namespace argosy::infer::paddle

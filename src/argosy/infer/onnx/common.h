#pragma once

#include <algorithm>
#include <array>

#include "argosy/infer/onnx/node.h"
#include "argosy/infer/onnx/session.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// What the families share.
namespace argosy::infer::onnx {

// The name of one of our ops as a template argument.
template <size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&s)[N]) { std::copy_n(s, N, text); }
};

// An operator that is an op of ours on the same inputs.
template <Name op>
Items same(const Node& n) {
  return {call(op.text, n.tensors())};
}

inline Tensor number(double value, const Tensor& like) {
  return ops::constant(value, like.dtype());
}
inline Tensor as(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : ops::cast(x, dtype);
}

// Sizes of x, symbols where they are not known.
op::IntArray shape_of(const Tensor& x);
// One more number at the end of a.
void push(op::IntArray& a, int64_t number);
void push(op::IntArray& a, const op::IntArray& other, size_t i);
// One of a's numbers as a list of one.
op::IntArray at(const op::IntArray& a, size_t i);
// The numbers as a tensor int64[n], remembered by the session.
Tensor vector_of(Session& session, const op::IntArray& a);
Tensor vector_of(std::span<const int64_t> a);
inline Tensor vector_of(std::initializer_list<int64_t> a) {
  return vector_of(std::span(a.begin(), a.size()));
}
// x with dimensions of size 1 put in front until it has `rank`.
Tensor with_rank(const Tensor& x, int rank);
// x, a vector, along dimension `axis` of `rank`.
Tensor along(const Tensor& x, int axis, int rank);
std::vector<int64_t> iota(int64_t begin, int64_t end);
Tensor transposed(const Tensor& x, std::vector<int64_t> perm);
// Raises where a result of that shape, or of times as many elements, which constants decide, would
// take too much memory.
void check_folded(const Node& n, const op::IntArray& shape, int64_t times = 1);
// 0, 1, .., n - 1 as int64 for n sizes of x along axis.
Tensor positions(const Tensor& x, int axis);
Tensor positions(const op::IntArray& count);

}  // namespace argosy::infer::onnx

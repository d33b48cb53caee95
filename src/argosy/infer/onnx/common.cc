#include "argosy/infer/onnx/common.h"

#include <cstring>
#include <numeric>

namespace argosy::infer::onnx {

op::IntArray shape_of(const Tensor& x) {
  op::IntArray shape;
  for (int i = 0; i < x.rank(); ++i) ops::push_size(shape, x, i);
  return shape;
}

void push(op::IntArray& a, int64_t number) {
  a.values.push_back(number);
}

void push(op::IntArray& a, const op::IntArray& other, size_t i) {
  const auto place = static_cast<uint32_t>(a.values.size());
  a.values.push_back(other.values[i]);
  for (const auto& s : other.symbols)
    if (s.position == i) a.symbols.push_back({place, s.value});
}

op::IntArray at(const op::IntArray& a, size_t i) {
  op::IntArray one;
  push(one, a, i);
  return one;
}

Tensor vector_of(std::span<const int64_t> a) {
  Tensor t = Tensor::empty({static_cast<int64_t>(a.size())}, DType::int64);
  std::copy(a.begin(), a.end(), t.data<int64_t>());
  return t;
}

Tensor vector_of(Session& session, const op::IntArray& a) {
  if (a.symbols.empty()) return vector_of(std::span(a.values.data(), a.values.size()));
  std::vector<Tensor> parts;
  for (size_t i = 0; i < a.size(); ++i) {
    Tensor part;
    for (const auto& s : a.symbols)
      if (s.position == i) part = as(ops::reshape(s.value, op::IntArray{1}), DType::int64);
    parts.push_back(part.defined() ? part : vector_of({a[i]}));
  }
  Tensor whole = parts.size() == 1 ? parts[0] : ops::concat(parts, 0);
  session.remember(whole, a);
  return whole;
}

Tensor with_rank(const Tensor& x, int rank) {
  if (x.rank() >= rank) return x;
  op::IntArray axes;
  for (int i = 0; i < rank - x.rank(); ++i) push(axes, i);
  return ops::unsqueeze(x, axes);
}

Tensor along(const Tensor& x, int axis, int rank) {
  op::IntArray axes;
  for (int i = 0; i < rank; ++i)
    if (i != axis) push(axes, i);
  return axes.size() ? ops::unsqueeze(x, axes) : x;
}

std::vector<int64_t> iota(int64_t begin, int64_t end) {
  std::vector<int64_t> list(static_cast<size_t>(std::max<int64_t>(end - begin, 0)));
  std::iota(list.begin(), list.end(), begin);
  return list;
}

Tensor transposed(const Tensor& x, std::vector<int64_t> perm) {
  return std::is_sorted(perm.begin(), perm.end()) ? x : ops::transpose(x, perm);
}

void check_folded(const Node& n, const op::IntArray& shape, int64_t times) {
  int64_t numel = std::max<int64_t>(times, 1);
  for (int64_t size : shape.values)
    if (size >= 0 && __builtin_mul_overflow(numel, std::max<int64_t>(size, 1), &numel))
      numel = kMaxFolded + 1;
  if (numel > kMaxFolded) n.fail("the result would have more elements than a model may ask for");
}

Tensor positions(const op::IntArray& count) {
  op::Scalar end = count[0];
  for (const auto& s : count.symbols) end.tensor = s.value;
  return call("arange", {}, {{"end", end}, {"dtype", DType::int64}});
}

Tensor positions(const Tensor& x, int axis) {
  return positions(ops::size_along(x, axis));
}

}  // namespace argosy::infer::onnx

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "argosy/tensor/tensor.h"

// What tests of several rooms share: tensors of given elements, and their elements again, read
// without any op.
namespace argosy::test {

// A contiguous tensor of these elements, row by row.
template <class T>
Tensor tensor(const Shape& shape, const std::vector<T>& values) {
  Tensor t = Tensor::empty(shape, dtype_of<T>);
  EXPECT_EQ(t.numel(), static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}
inline Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return tensor<float>(shape, values);
}
inline Tensor number(float value) {
  return floats({}, {value});
}

// first, first + 1, ..
template <class T = float>
Tensor counting(const Shape& shape, T first = 0) {
  Tensor t = Tensor::empty(shape, dtype_of<T>);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<T>()[i] = first + static_cast<T>(i);
  return t;
}

// Calls f(index) for each index of the shape, row by row.
template <class F>
void each_index(const Shape& shape, F f) {
  if (shape.numel() == 0) return;
  Shape index = Shape::filled(shape.rank(), 0);
  for (;;) {
    f(index);
    int d = shape.rank() - 1;
    while (d >= 0 && ++index[d] == shape[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

inline int64_t offset_of(const Shape& index, const Shape& strides) {
  int64_t at = 0;
  for (int d = 0; d < index.rank(); ++d) at += index[d] * strides[d];
  return at;
}

// Row by row, whatever the strides.
template <class T = float>
std::vector<T> elements(const Tensor& t) {
  EXPECT_EQ(t.dtype(), dtype_of<T>);
  std::vector<T> out;
  if (t.dtype() != dtype_of<T>) return out;
  each_index(t.shape(), [&](const Shape& index) {
    out.push_back(t.data<T>()[offset_of(index, t.strides())]);
  });
  return out;
}

// x with dimensions in another order, as a view.
inline Tensor permuted(const Tensor& x, std::initializer_list<int> order) {
  Shape shape, strides;
  for (int d : order) shape.push_back(x.dim(d)), strides.push_back(x.strides()[d]);
  return x.view(shape, strides);
}

// As in messages.
template <class T>
std::string text_of(const T& value) {
  Message m;
  m << value;
  return m.str();
}

// The text of the Error of that kind which f throws.
template <class F>
std::string error_of(ErrorKind kind, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(static_cast<int>(e.kind()), static_cast<int>(kind)) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace argosy::test

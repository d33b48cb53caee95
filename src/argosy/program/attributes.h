#pragma once

#include <optional>

#include "argosy/op/attrs.h"

namespace argosy::program {

// Calls fn(Tensor&, int64_t* size, op::Scalar* scalar) for each element of attributes that is or
// stands for a value, in order: size if it is a size of an IntArray, else scalar.
template <class F>
void each_element(const op::AttrType& type, void* attrs, F&& fn) {
  for (const op::Field& f : type.fields) {
    void* field = static_cast<char*>(attrs) + f.offset;
    if (f.kind == op::FieldKind::int_array) {
      auto& array = *static_cast<op::IntArray*>(field);
      for (auto& s : array.symbols) fn(s.value, &array.values[s.position], nullptr);
      continue;
    }
    op::Scalar* scalar = nullptr;
    if (f.kind == op::FieldKind::scalar) scalar = static_cast<op::Scalar*>(field);
    if (f.kind == op::FieldKind::optional_scalar) {
      auto& optional = *static_cast<std::optional<op::Scalar>*>(field);
      if (optional) scalar = &*optional;
    }
    if (scalar && scalar->tensor.defined()) fn(scalar->tensor, nullptr, scalar);
  }
}

// Stands, in the attributes of an Operation, for an element that is an operand.
ARGOSY_API const Tensor& element_placeholder();

// The number in a concrete tensor of one element.
ARGOSY_API op::Scalar number_in(const Tensor& t);

}  // namespace argosy::program

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/op/attrs.h"

// One attribute in a form that does not depend on its struct: between attribute structs and files.
namespace argosy::program {

struct FieldValue {
  op::FieldKind kind = op::FieldKind::boolean;
  bool none = false;       // an optional value, or the list of an IntArray, is missing
  bool single = false;     // IntArray::single
  bool is_symbol = false;  // the scalar is an operand
  op::Scalar::Kind number = op::Scalar::Kind::real;
  int64_t integer = 0;  // of booleans, integers, dtypes and scalars
  double real = 0, imaginary = 0;
  std::string text;
  std::vector<int64_t> integers;  // of lists of integers and dtypes
  std::vector<double> reals;
  std::vector<std::string> texts;
  std::vector<uint32_t> symbols;  // places of an IntArray that are operands
};

ARGOSY_API FieldValue read_field(const op::Field& field, const void* attrs);

// Null, or what is wrong with it for this field, which then is unchanged. Values of a kind that the
// field's kind contains fit, as an integer does where there may be none, or a list.
ARGOSY_API const char* write_field(const op::Field& field, void* attrs, FieldValue value);

const char* kind_name(op::FieldKind kind);

}  // namespace argosy::program

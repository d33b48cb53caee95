#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "argosy/program/program.h"

// The text form of Programs, which Program::print() writes. docs/program.md has its grammar.
namespace argosy::program {

// The inverse of print(): raises ErrorKind::invalid_argument with line and column, and verifies the
// result. Constants of more than kPrintedElements are printed as digests only: their tensors are
// looked for among `constants`, in any order. With `without_data` a constant that is not there
// gets the type that the text says and no values (it is on the null device).
ARGOSY_API std::shared_ptr<Program> parse(std::string_view text,
                                          std::span<const Tensor> constants = {},
                                          bool without_data = false);

// As parse(), but whether the Program verifies is not looked at, as with deserialize_unverified().
ARGOSY_API std::shared_ptr<Program> parse_unverified(std::string_view text);

inline constexpr int64_t kPrintedElements = 64;

// "[1.0, 2.5]", row by row; floats with as many digits as tell them apart.
void print_elements(Message& m, const Tensor& t);
// Of dtype, layout, shape and values; 16 hexadecimal digits.
std::string digest_of(const Tensor& t);
// Whether print() writes the elements.
bool is_printed(const Tensor& t);
// In double quotes, control characters escaped.
void quote(Message& m, std::string_view text);
const char* layout_name(Layout layout);

// Does a gradient flow through it?
inline bool carries_gradient(const Value& v) {
  return v.requires_grad && !v.stop;
}
// Whether one flows through a value, as far as that follows from the operation's operands.
// Text says only where it is otherwise: "grad", "stop".
bool flows(const Operation& o, const Value& result);
bool flows(const Operation& owner, size_t argument, const Value& v);

}  // namespace argosy::program

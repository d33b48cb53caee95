#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "argosy/base/export.h"

// Typed errors. Each kind is one Python exception and one category that the message begins with
// in Python (bindings map them, python/src/error_types.h), so pick by what the caller did wrong, not
// by where it was noticed. Texts read
//   [op] what is wrong: expected .., got .. (names, shapes, dtypes). Do this: ..
namespace argosy {

enum class ErrorKind : uint8_t {
  invalid_argument,  // ValueError
  type,              // TypeError: an operand of a wrong dtype, an argument of a wrong type
  operand,           // TypeError: not a tensor where one belongs
  attribute,         // TypeError: an attribute of an op of a wrong type
  index,             // IndexError: an element that is not there
  axis,              // IndexError: a dimension that is not there
  not_found,         // RuntimeError and ValueError: a name that nothing has
  already_exists,    // RuntimeError and ValueError: a name that something has
  permission,        // RuntimeError: what must not be written was
  not_implemented,   // NotImplementedError
  memory,            // MemoryError
  runtime,           // RuntimeError: a state in which the call cannot work
  io,                // OSError
  timeout,           // TimeoutError
  internal,          // argosy.InternalError: a defect of Argosy itself
  device,            // argosy.DeviceError: a device is missing or failed
};

class ARGOSY_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
  std::string message_;
};

// Builds a message with `<<`. Types of higher rooms (shapes, dtypes, tensors) add their own
// operator<<(Message&, T), so nothing here is a template.
class ARGOSY_API Message {
 public:
  Message& operator<<(std::string_view text);
  Message& operator<<(const char* text) { return *this << std::string_view(text); }
  Message& operator<<(const std::string& text) { return *this << std::string_view(text); }
  Message& operator<<(char c) { return *this << std::string_view(&c, 1); }
  Message& operator<<(bool value) { return *this << (value ? "True" : "False"); }
  Message& operator<<(int value) { return *this << static_cast<long long>(value); }
  Message& operator<<(unsigned value) { return *this << static_cast<unsigned long long>(value); }
  Message& operator<<(long value) { return *this << static_cast<long long>(value); }
  Message& operator<<(unsigned long value) {
    return *this << static_cast<unsigned long long>(value);
  }
  Message& operator<<(long long value);
  Message& operator<<(unsigned long long value);
  Message& operator<<(double value);

  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

// Helper of the macros below: `Thrower(kind) & (Message() << ...)` throws.
struct ARGOSY_API Thrower {
  ErrorKind kind;
  [[noreturn]] void operator&(const Message& message) const;
};

}  // namespace argosy

// ARGOSY_THROW(invalid_argument) << "[concat] needs at least one input, got none.";
#define ARGOSY_THROW(kind_name) \
  ::argosy::Thrower{::argosy::ErrorKind::kind_name} & ::argosy::Message()
// ARGOSY_CHECK(axis < rank, index) << "[flip] axis " << axis << " ...";
// An expression, so that it may stand in an if without braces.
#define ARGOSY_CHECK(condition, kind_name) \
  __builtin_expect(static_cast<bool>(condition), 1) ? (void)0 : ARGOSY_THROW(kind_name)
// For what cannot happen unless Argosy is wrong.
#define ARGOSY_INVARIANT(condition) \
  ARGOSY_CHECK(condition, internal) \
      << "Argosy defect: `" #condition "` does not hold at " __FILE__ ":" << __LINE__ << '.'

#include "argosy/base/error.h"

#include <charconv>

namespace argosy {
namespace {

template <class T>
std::string_view format(char (&buffer)[32], T value) {
  auto [end, status] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return {buffer, static_cast<size_t>(end - buffer)};
}

}  // namespace

Message& Message::operator<<(std::string_view text) {
  text_.append(text);
  return *this;
}

Message& Message::operator<<(long long value) {
  char buffer[32];
  return *this << format(buffer, value);
}

Message& Message::operator<<(unsigned long long value) {
  char buffer[32];
  return *this << format(buffer, value);
}

Message& Message::operator<<(double value) {
  char buffer[32];
  return *this << format(buffer, value);
}

void Thrower::operator&(const Message& message) const {
  throw Error(kind, message.str());
}

}  // namespace argosy

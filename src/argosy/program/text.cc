#include "argosy/program/text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"

namespace argosy::program {
namespace {

template <class T>
void print_floating(Message& m, T v) {
  if (std::isnan(v) || std::isinf(v)) {
    m << (std::isnan(v) ? (std::signbit(v) ? "-nan" : "nan") : v > 0 ? "inf" : "-inf");
    return;
  }
  char buffer[32];
  std::string_view text(
      buffer, static_cast<size_t>(std::to_chars(buffer, buffer + sizeof(buffer), v).ptr - buffer));
  m << text;
  if (text.find_first_of(".e") == text.npos) m << ".0";
}

void print_one(Message& m, bool v) {
  m << v;
}
void print_one(Message& m, float v) {
  print_floating(m, v);
}
void print_one(Message& m, double v) {
  print_floating(m, v);
}
template <class T>
void print_one(Message& m, std::complex<T> v) {
  m << '(';
  print_floating(m, v.real());
  m << ", ";
  print_floating(m, v.imag());
  m << ')';
}
template <class T>
requires std::is_integral_v<T>
void print_one(Message& m, T v) {
  if constexpr (std::is_signed_v<T>)
    m << static_cast<long long>(v);
  else
    m << static_cast<unsigned long long>(v);
}

// Values may be of any length; eight bytes at a time.
struct Digest {
  uint64_t state = 0x9e3779b97f4a7c15;
  void mix(uint64_t v) {
    state = (std::rotl(state, 29) ^ v) * 0xd1342543de82ef95;
    state ^= state >> 32;
  }
  void bytes(const void* data, size_t size) {
    const char* at = static_cast<const char*>(data);
    for (; size >= 8; size -= 8, at += 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      mix(word);
    }
    uint64_t rest = 0;
    std::memcpy(&rest, at, size);
    mix(rest);
  }
  void tensor(const Tensor& t) {
    mix(t.defined());
    if (!t.defined()) return;
    mix(static_cast<uint64_t>(t.dtype()) << 8 | static_cast<uint64_t>(t.layout()));
    for (int64_t size : t.shape()) mix(static_cast<uint64_t>(size));
    for (const Tensor& part : t.parts()) tensor(part);
    if (t.layout() != Layout::strided || !t.has_data() || t.place().kind == DeviceKind::null)
      return;
    const Tensor dense = op::to_host(t);
    bytes(dense.raw(), dense.nbytes());
  }
};

}  // namespace

void quote(Message& m, std::string_view text) {
  m << '"';
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      m << '\\' << c;
    else if (c == '\n')
      m << "\\n";
    else if (code < 0x20 || code == 0x7f)
      m << "\\x"
        << "0123456789abcdef"[code >> 4] << "0123456789abcdef"[code & 15];
    else
      m << c;
  }
  m << '"';
}

const char* layout_name(Layout layout) {
  static constexpr const char* names[] = {"strided", "ragged", "row_sparse", "coo", "csr", "array"};
  return names[static_cast<int>(layout)];
}

bool flows(const Operation& o, const Value& result) {
  if (!is_differentiable(result.dtype)) return false;
  for (const Ref<Value>& v : o.operands)
    if (v && carries_gradient(*v)) return true;
  return false;
}

bool flows(const Operation& owner, size_t argument, const Value& v) {
  if (!is_differentiable(v.dtype)) return false;
  const bool is_if = owner.is_if();
  // What a loop carries may come from its body.
  if (!is_if && argument < owner.results.size()) return true;
  const size_t operand = argument + is_if;
  return operand < owner.operands.size() && owner.operands[operand] &&
         carries_gradient(*owner.operands[operand]);
}

bool is_printed(const Tensor& t) {
  return t.layout() == Layout::strided && t.has_data() && t.place().kind != DeviceKind::null &&
         t.numel() <= kPrintedElements;
}

void print_elements(Message& m, const Tensor& t) {
  const Tensor dense = op::to_host(t);
  m << '[';
  dispatch_types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t,
                 float8_e4m3, float8_e5m2, float16, bfloat16, float, double, complex64, complex128>(
      t.dtype(), [&]<class T>(T) {
        for (int64_t i = 0; i < dense.numel(); ++i) {
          if (i) m << ", ";
          const T v = dense.data<T>()[i];
          if constexpr (sizeof(T) <= 2 && !std::is_integral_v<T>)
            print_one(m, static_cast<float>(v));
          else
            print_one(m, v);
        }
      });
  m << ']';
}

std::string digest_of(const Tensor& t) {
  // One without data is known only by what its text said.
  if (t.place().kind == DeviceKind::null && t.impl()->name) return *t.impl()->name;
  Digest d;
  d.tensor(t);
  std::string hex;
  for (int shift = 60; shift >= 0; shift -= 4) hex += "0123456789abcdef"[d.state >> shift & 15];
  return hex;
}

}  // namespace argosy::program

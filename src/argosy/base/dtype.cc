#include "argosy/base/dtype.h"

#include <cctype>

#include "argosy/base/error.h"

namespace argosy {
namespace {

constexpr const char* kNames[kDTypeCount] = {
    "bool",     "uint8",   "int8",    "uint16",        "int16",       "uint32",
    "int32",    "uint64",  "int64",   "float8_e4m3fn", "float8_e5m2", "float16",
    "bfloat16", "float32", "float64", "complex64",     "complex128"};

struct Alias {
  std::string_view name;
  DType dtype;
};
// NumPy's other names for the same types, which Paddle passes on to NumPy.
constexpr Alias kAliases[] = {
    {"bool_", DType::bool_},        {"float8_e4m3", DType::float8_e4m3},
    {"half", DType::float16},       {"single", DType::float32},
    {"double", DType::float64},     {"float", DType::float64},
    {"byte", DType::int8},          {"ubyte", DType::uint8},
    {"short", DType::int16},        {"ushort", DType::uint16},
    {"intc", DType::int32},         {"int", DType::int64},
    {"long", DType::int64},         {"longlong", DType::int64},
    {"complex", DType::complex128}, {"csingle", DType::complex64},
    {"cdouble", DType::complex128}, {"b1", DType::bool_},
    {"u1", DType::uint8},           {"i1", DType::int8},
    {"u2", DType::uint16},          {"i2", DType::int16},
    {"u4", DType::uint32},          {"i4", DType::int32},
    {"u8", DType::uint64},          {"i8", DType::int64},
    {"f2", DType::float16},         {"f4", DType::float32},
    {"f8", DType::float64},         {"c8", DType::complex64},
    {"c16", DType::complex128},
};

int kind_of(DType t) {
  return is_complex(t) ? 3 : is_floating(t) ? 2 : is_integral(t) ? 1 : 0;
}

DType promote_integers(DType a, DType b) {
  if (kUnsigned.has(a) == kUnsigned.has(b)) return item_size(a) >= item_size(b) ? a : b;
  DType u = kUnsigned.has(a) ? a : b, s = kUnsigned.has(a) ? b : a;
  if (item_size(s) > item_size(u)) return s;
  switch (item_size(u)) {
    case 1:
      return DType::int16;
    case 2:
      return DType::int32;
    case 4:
      return DType::int64;
    default:
      return DType::float32;  // no integer holds uint64 and a negative number
  }
}

DType promote_floating(DType a, DType b) {
  if (item_size(a) != item_size(b)) return item_size(a) > item_size(b) ? a : b;
  return item_size(a) == 1 ? DType::float16 : DType::float32;  // float16 with bfloat16, and below
}

DType promote_kinds(DType low, DType high) {
  return is_complex(high) && low == DType::float64 ? DType::complex128 : high;
}

}  // namespace

const char* name_of(DType t) {
  return kNames[static_cast<int>(t)];
}

std::optional<DType> dtype_from_name(std::string_view s) {
  for (std::string_view prefix : {"paddle.", "argosy."}) {
    if (s.starts_with(prefix)) {
      s.remove_prefix(prefix.size());
      break;
    }
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    if (s == kNames[i]) return static_cast<DType>(i);
  }
  for (const Alias& alias : kAliases) {
    if (s == alias.name) return alias.dtype;
  }
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  int ka = kind_of(a), kb = kind_of(b);
  if (ka != kb) return ka < kb ? promote_kinds(a, b) : promote_kinds(b, a);
  if (ka == 1) return promote_integers(a, b);
  if (ka == 2) return promote_floating(a, b);
  return DType::complex128;
}

bool promotable(DType a, DType b) {
  if (a == b) return true;
  if (kFloat8.has(a) || kFloat8.has(b)) return false;
  return is_complex(a) || is_complex(b) || (is_floating(a) && is_floating(b));
}

std::optional<DType> promote_tensors(DType a, bool a_is_0d, DType b, bool b_is_0d) {
  if (a == b) return a;
  if (!a_is_0d && !b_is_0d) {
    if (!promotable(a, b)) return std::nullopt;
  } else if (a_is_0d != b_is_0d && kind_of(a) == kind_of(b)) {
    return a_is_0d ? b : a;
  }
  return promote(a, b);
}

Message& operator<<(Message& m, DType t) {
  return m << name_of(t);
}

Message& operator<<(Message& m, DTypes set) {
  const char* separator = "";
  for (int i = 0; i < kDTypeCount; ++i) {
    if (!set.has(static_cast<DType>(i))) continue;
    m << separator << kNames[i];
    separator = ", ";
  }
  return m;
}

}  // namespace argosy

#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "argosy/tensor/tensor.h"

// Typed attributes. A plain struct of the field types below, listed once in ARGOSY_ATTRS, gets
// hashing, equality, printing, parsing from Python and serialization from its field table.
namespace argosy::op {

// A number of Python: weakly typed, kept in its widest form. May be a value of a Program
// (`tensor`).
struct ARGOSY_API Scalar {
  enum class Kind : uint8_t { boolean, integer, real, complex } kind = Kind::real;
  int64_t i = 0;
  std::complex<double> c = 0;
  Tensor tensor;

  Scalar() = default;
  Scalar(bool v) : kind(Kind::boolean), i(v), c(v) {}
  Scalar(int v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(int64_t v) : kind(Kind::integer), i(v), c(static_cast<double>(v)) {}
  Scalar(double v) : kind(Kind::real), i(static_cast<int64_t>(v)), c(v) {}
  Scalar(std::complex<double> v) : kind(Kind::complex), c(v) {}
  double real() const { return c.real(); }
  int64_t integer() const { return i; }
  bool operator==(const Scalar& o) const;
};

// Integers given as None, one int, a list, or with elements that are tensors: a concrete one is
// read when parsed; a symbolic one is kept in `symbols` and reads as kUnknown meanwhile.
struct ARGOSY_API IntArray {
  InlineVector<int64_t, 6> values;
  bool none = false;    // None was given (or is the default)
  bool single = false;  // one int rather than a list
  struct Symbol {
    uint32_t position;
    Tensor value;
    bool operator==(const Symbol& o) const { return position == o.position && value.is(o.value); }
  };
  std::vector<Symbol> symbols;

  IntArray() = default;
  IntArray(const IntArray&) = default;
  IntArray(IntArray&&) noexcept = default;
  IntArray& operator=(const IntArray&) = default;
  IntArray& operator=(IntArray&&) noexcept = default;
  ~IntArray();  // out of line: compositions make and drop one with every other call
  IntArray(std::initializer_list<int64_t> v) : values(v) {}
  explicit IntArray(std::span<const int64_t> v) : values(v) {}
  static IntArray all() {
    IntArray a;
    a.none = true;
    return a;
  }
  static IntArray one(int64_t v) {
    IntArray a{v};
    a.single = true;
    return a;
  }
  size_t size() const { return values.size(); }
  int64_t operator[](size_t i) const { return values[i]; }
  bool operator==(const IntArray& o) const = default;
};

// Axes of `rank` dimensions, negatives resolved, sorted, as a bit mask; None or empty = all.
// Raises on duplicates and out-of-range values.
ARGOSY_API uint32_t axes_mask(const char* op, const IntArray& axes, int rank);

enum class FieldKind : uint8_t {
  boolean,
  integer,
  real,
  string,
  dtype,
  optional_boolean,
  optional_integer,
  optional_real,
  optional_dtype,
  optional_string,
  integers,
  reals,
  strings,
  scalar,
  optional_scalar,
  int_array,
  dtypes,
};

// clang-format off
template <class T> inline constexpr FieldKind field_kind_of = [] { static_assert(sizeof(T) == 0, "not an attribute type"); return FieldKind{}; }();
template <> inline constexpr FieldKind field_kind_of<bool> = FieldKind::boolean;
template <> inline constexpr FieldKind field_kind_of<int64_t> = FieldKind::integer;
template <> inline constexpr FieldKind field_kind_of<double> = FieldKind::real;
template <> inline constexpr FieldKind field_kind_of<std::string> = FieldKind::string;
template <> inline constexpr FieldKind field_kind_of<DType> = FieldKind::dtype;
template <> inline constexpr FieldKind field_kind_of<std::optional<bool>> = FieldKind::optional_boolean;
template <> inline constexpr FieldKind field_kind_of<std::optional<int64_t>> = FieldKind::optional_integer;
template <> inline constexpr FieldKind field_kind_of<std::optional<double>> = FieldKind::optional_real;
template <> inline constexpr FieldKind field_kind_of<std::optional<DType>> = FieldKind::optional_dtype;
template <> inline constexpr FieldKind field_kind_of<std::optional<std::string>> = FieldKind::optional_string;
template <> inline constexpr FieldKind field_kind_of<std::vector<int64_t>> = FieldKind::integers;
template <> inline constexpr FieldKind field_kind_of<std::vector<double>> = FieldKind::reals;
template <> inline constexpr FieldKind field_kind_of<std::vector<std::string>> = FieldKind::strings;
template <> inline constexpr FieldKind field_kind_of<Scalar> = FieldKind::scalar;
template <> inline constexpr FieldKind field_kind_of<std::optional<Scalar>> = FieldKind::optional_scalar;
template <> inline constexpr FieldKind field_kind_of<IntArray> = FieldKind::int_array;
template <> inline constexpr FieldKind field_kind_of<std::vector<DType>> = FieldKind::dtypes;
// clang-format on

struct Field {
  const char* name;
  FieldKind kind;
  uint16_t offset;
};

// Everything the core needs to handle an attribute struct without knowing it.
struct AttrType {
  const char* name;
  size_t size;
  size_t align;
  std::span<const Field> fields;
  const void* defaults;
  bool trivial;           // may be copied by memcpy and dropped
  bool may_hold_symbols;  // has a field that can be a value of a Program
  void (*copy)(void* to, const void* from);
  void (*destroy)(void* value);
};

ARGOSY_API bool equal(const AttrType& type, const void* a, const void* b);
ARGOSY_API size_t hash(const AttrType& type, const void* value);
ARGOSY_API std::string print(const AttrType& type, const void* value);  // {axis=1, keepdim=False}
ARGOSY_API std::string print_field(const Field& field, const void* value);  // as a Python literal

struct NoAttrs {};
ARGOSY_API const AttrType& attr_type(const NoAttrs*);

// A copy of some attribute struct on the heap or, if small and trivial, in place.
class ARGOSY_API AttrBox {
 public:
  AttrBox() = default;
  AttrBox(const AttrType& type, const void* value);
  AttrBox(AttrBox&& o) noexcept { take(o); }
  AttrBox& operator=(AttrBox&& o) noexcept {
    if (this != &o) {
      reset();
      take(o);
    }
    return *this;
  }
  ~AttrBox() { reset(); }
  const AttrType* type() const { return type_; }
  const void* get() const { return heap_ ? heap_ : room_; }
  void* get() { return heap_ ? heap_ : room_; }

 private:
  void reset();
  void take(AttrBox& o);
  static constexpr size_t kRoom = 32;
  const AttrType* type_ = nullptr;
  void* heap_ = nullptr;
  alignas(16) unsigned char room_[kRoom];
};

namespace detail {
inline bool holds_symbols(std::span<const Field> fields) {
  for (const Field& f : fields)
    if (f.kind == FieldKind::int_array || f.kind == FieldKind::scalar ||
        f.kind == FieldKind::optional_scalar)
      return true;
  return false;
}
template <class T>
AttrType make_attr_type(const char* name, std::span<const Field> fields, const T* defaults) {
  return {name,
          sizeof(T),
          alignof(T),
          fields,
          defaults,
          std::is_trivially_copyable_v<T>,
          holds_symbols(fields),
          [](void* to, const void* from) { new (to) T(*static_cast<const T*>(from)); },
          [](void* value) { static_cast<T*>(value)->~T(); }};
}
}  // namespace detail

}  // namespace argosy::op

// clang-format off
#define ARGOSY_EXPAND_(...) ARGOSY_E4_(ARGOSY_E4_(ARGOSY_E4_(__VA_ARGS__)))
#define ARGOSY_E4_(...) ARGOSY_E3_(ARGOSY_E3_(ARGOSY_E3_(__VA_ARGS__)))
#define ARGOSY_E3_(...) ARGOSY_E2_(ARGOSY_E2_(ARGOSY_E2_(__VA_ARGS__)))
#define ARGOSY_E2_(...) __VA_ARGS__
#define ARGOSY_PARENS_ ()
#define ARGOSY_FIELDS_(T, f, ...) ARGOSY_FIELD_(T, f) __VA_OPT__(ARGOSY_AGAIN_ ARGOSY_PARENS_ (T, __VA_ARGS__))
#define ARGOSY_AGAIN_() ARGOSY_FIELDS_
#define ARGOSY_FIELD_(T, f) {#f, ::argosy::op::field_kind_of<decltype(T::f)>, offsetof(T, f)},
// clang-format on

// ARGOSY_ATTRS(GeluAttrs, approximate): at namespace scope, after the struct, naming every field
// once (a forgotten, unknown or doubled one does not compile).
#define ARGOSY_ATTRS(T, ...)                                                                      \
  [[maybe_unused]] inline void argosy_check_fields_(T& attrs_) {                                  \
    [[maybe_unused]] auto& [__VA_ARGS__] = attrs_;                                                \
  }                                                                                               \
  [[maybe_unused]] inline const ::argosy::op::AttrType& attr_type(const T*) {                     \
    static const T defaults{};                                                                    \
    _Pragma("GCC diagnostic push")                                                                \
        _Pragma("GCC diagnostic ignored \"-Winvalid-offsetof\"") static const ::argosy::op::Field \
            fields[] = {ARGOSY_EXPAND_(ARGOSY_FIELDS_(T, __VA_ARGS__))};                          \
    _Pragma("GCC diagnostic pop") static const ::argosy::op::AttrType type =                      \
        ::argosy::op::detail::make_attr_type<T>(#T, fields, &defaults);                           \
    return type;                                                                                  \
  }

#include "argosy/program/fields.h"

#include "argosy/program/attributes.h"

namespace argosy::program {
namespace {

using op::Field;
using op::FieldKind;
using op::IntArray;
using op::Scalar;

template <class T>
const T& at(const Field& f, const void* attrs) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(attrs) + f.offset);
}
template <class T>
T& at(const Field& f, void* attrs) {
  return *reinterpret_cast<T*>(static_cast<char*>(attrs) + f.offset);
}

void read_scalar(const Scalar& s, FieldValue& v) {
  v.is_symbol = s.tensor.defined();
  if (v.is_symbol) return;
  v.number = s.kind;
  v.integer = s.i;
  v.real = s.c.real();
  v.imaginary = s.c.imag();
}

// Fills the member of v for a T, and back.
void read(bool x, FieldValue& v) {
  v.integer = x;
}
void read(int64_t x, FieldValue& v) {
  v.integer = x;
}
void read(double x, FieldValue& v) {
  v.real = x;
}
void read(DType x, FieldValue& v) {
  v.integer = static_cast<int64_t>(x);
}
void read(const std::string& x, FieldValue& v) {
  v.text = x;
}
void read(const Scalar& x, FieldValue& v) {
  read_scalar(x, v);
}
template <class T>
void read(const std::optional<T>& x, FieldValue& v) {
  v.none = !x;
  if (x) read(*x, v);
}

bool is_dtype(int64_t number) {
  return number >= 0 && number < kDTypeCount;
}

const char* write(bool& x, FieldValue& v) {
  if (v.integer != 0 && v.integer != 1) return "is neither true nor false";
  x = v.integer != 0;
  return nullptr;
}
const char* write(int64_t& x, FieldValue& v) {
  x = v.integer;
  return nullptr;
}
const char* write(double& x, FieldValue& v) {
  x = v.real;
  return nullptr;
}
const char* write(DType& x, FieldValue& v) {
  if (!is_dtype(v.integer)) return "is no dtype that this Argosy knows";
  x = static_cast<DType>(v.integer);
  return nullptr;
}
const char* write(std::string& x, FieldValue& v) {
  x = std::move(v.text);
  return nullptr;
}
const char* write(Scalar& x, FieldValue& v) {
  x = Scalar();
  if (v.is_symbol) {
    x.tensor = element_placeholder();
    return nullptr;
  }
  switch (v.number) {
    case Scalar::Kind::boolean:
      if (v.integer != 0 && v.integer != 1) return "is neither true nor false";
      x = Scalar(v.integer != 0);
      return nullptr;
    case Scalar::Kind::integer:
      x = Scalar(v.integer);
      return nullptr;
    case Scalar::Kind::real:
      x = Scalar(v.real);
      return nullptr;
    case Scalar::Kind::complex:
      x = Scalar(std::complex<double>(v.real, v.imaginary));
      return nullptr;
  }
  return "is no kind of number that this Argosy knows";
}
template <class T>
const char* write(std::optional<T>& x, FieldValue& v) {
  if (v.none) {
    x.reset();
    return nullptr;
  }
  T value{};
  const char* wrong = write(value, v);
  if (!wrong) x = std::move(value);
  return wrong;
}

const char* write(IntArray& x, FieldValue& v) {
  IntArray a;
  a.none = v.none;
  a.single = v.single;
  if (v.none && !v.integers.empty()) return "is None and a list at once";
  if (v.single && (v.none || v.integers.size() != 1)) return "is one number and a list at once";
  a.values.append(v.integers.data(), v.integers.data() + v.integers.size());
  for (size_t i = 0; i < v.symbols.size(); ++i) {
    if (v.symbols[i] >= v.integers.size() || (i && v.symbols[i] <= v.symbols[i - 1]))
      return "has an element that is an operand at a place it does not have";
    a.values[v.symbols[i]] = kUnknown;
    a.symbols.push_back({v.symbols[i], element_placeholder()});
  }
  x = std::move(a);
  return nullptr;
}

// The kind of what may be missing.
FieldKind without_none(FieldKind kind) {
  switch (kind) {
    case FieldKind::optional_boolean:
      return FieldKind::boolean;
    case FieldKind::optional_integer:
      return FieldKind::integer;
    case FieldKind::optional_real:
      return FieldKind::real;
    case FieldKind::optional_dtype:
      return FieldKind::dtype;
    case FieldKind::optional_string:
      return FieldKind::string;
    case FieldKind::optional_scalar:
      return FieldKind::scalar;
    default:
      return kind;
  }
}

// Makes v a value of the kind if it is one of a kind that is contained in it.
bool widen(FieldValue& v, FieldKind to) {
  const FieldKind target = without_none(to);
  if (v.none && target == to && to != FieldKind::int_array) return false;
  if (v.kind == to) return true;
  const FieldKind from = without_none(v.kind);
  if (v.none && from != target) return false;
  if (from != target) {
    if (target == FieldKind::real && from == FieldKind::integer) {
      v.real = static_cast<double>(v.integer);
    } else if (target == FieldKind::scalar &&
               (from == FieldKind::boolean || from == FieldKind::integer ||
                from == FieldKind::real)) {
      v.number = from == FieldKind::boolean   ? Scalar::Kind::boolean
                 : from == FieldKind::integer ? Scalar::Kind::integer
                                              : Scalar::Kind::real;
    } else if (target == FieldKind::int_array && from == FieldKind::integer) {
      v.single = true;
      v.integers = {v.integer};
    } else if (!(target == FieldKind::int_array && from == FieldKind::integers)) {
      return false;
    }
  }
  v.kind = to;
  return true;
}

template <class F>
decltype(auto) visit(const Field& f, F&& fn) {
  switch (f.kind) {
    case FieldKind::boolean:
      return fn(static_cast<bool*>(nullptr));
    case FieldKind::integer:
      return fn(static_cast<int64_t*>(nullptr));
    case FieldKind::real:
      return fn(static_cast<double*>(nullptr));
    case FieldKind::string:
      return fn(static_cast<std::string*>(nullptr));
    case FieldKind::dtype:
      return fn(static_cast<DType*>(nullptr));
    case FieldKind::optional_boolean:
      return fn(static_cast<std::optional<bool>*>(nullptr));
    case FieldKind::optional_integer:
      return fn(static_cast<std::optional<int64_t>*>(nullptr));
    case FieldKind::optional_real:
      return fn(static_cast<std::optional<double>*>(nullptr));
    case FieldKind::optional_dtype:
      return fn(static_cast<std::optional<DType>*>(nullptr));
    case FieldKind::optional_string:
      return fn(static_cast<std::optional<std::string>*>(nullptr));
    case FieldKind::integers:
      return fn(static_cast<std::vector<int64_t>*>(nullptr));
    case FieldKind::reals:
      return fn(static_cast<std::vector<double>*>(nullptr));
    case FieldKind::strings:
      return fn(static_cast<std::vector<std::string>*>(nullptr));
    case FieldKind::scalar:
      return fn(static_cast<Scalar*>(nullptr));
    case FieldKind::optional_scalar:
      return fn(static_cast<std::optional<Scalar>*>(nullptr));
    case FieldKind::int_array:
      return fn(static_cast<IntArray*>(nullptr));
    case FieldKind::dtypes:
      return fn(static_cast<std::vector<DType>*>(nullptr));
  }
  __builtin_unreachable();
}

void read(const std::vector<int64_t>& x, FieldValue& v) {
  v.integers = x;
}
void read(const std::vector<double>& x, FieldValue& v) {
  v.reals = x;
}
void read(const std::vector<std::string>& x, FieldValue& v) {
  v.texts = x;
}
void read(const std::vector<DType>& x, FieldValue& v) {
  for (DType t : x) v.integers.push_back(static_cast<int64_t>(t));
}
void read(const IntArray& x, FieldValue& v) {
  v.none = x.none;
  v.single = x.single;
  v.integers.assign(x.values.begin(), x.values.end());
  for (const IntArray::Symbol& s : x.symbols) v.symbols.push_back(s.position);
}

const char* write(std::vector<int64_t>& x, FieldValue& v) {
  x = std::move(v.integers);
  return nullptr;
}
const char* write(std::vector<double>& x, FieldValue& v) {
  x = std::move(v.reals);
  return nullptr;
}
const char* write(std::vector<std::string>& x, FieldValue& v) {
  x = std::move(v.texts);
  return nullptr;
}
const char* write(std::vector<DType>& x, FieldValue& v) {
  std::vector<DType> list;
  for (int64_t number : v.integers) {
    if (!is_dtype(number)) return "has a dtype that this Argosy does not know";
    list.push_back(static_cast<DType>(number));
  }
  x = std::move(list);
  return nullptr;
}

}  // namespace

FieldValue read_field(const Field& f, const void* attrs) {
  FieldValue v;
  v.kind = f.kind;
  visit(f, [&]<class T>(T*) { read(at<T>(f, attrs), v); });
  return v;
}

const char* write_field(const Field& f, void* attrs, FieldValue v) {
  if (!widen(v, f.kind)) return "is of another kind";
  return visit(f, [&]<class T>(T*) { return write(at<T>(f, attrs), v); });
}

const char* kind_name(FieldKind kind) {
  static constexpr const char* names[] = {
      "bool",         "int",           "float",         "str",           "dtype",
      "bool or None", "int or None",   "float or None", "dtype or None", "str or None",
      "list of int",  "list of float", "list of str",   "number",        "number or None",
      "sizes",        "list of dtype"};
  return names[static_cast<int>(kind)];
}

}  // namespace argosy::program

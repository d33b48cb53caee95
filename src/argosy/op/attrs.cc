#include "argosy/op/attrs.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <new>

namespace argosy::op {

IntArray::~IntArray() = default;

namespace {

template <class T>
const T& at(const Field& f, const void* value) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(value) + f.offset);
}

// Floats compare and hash by bits, so that NaN equals itself and 0.0 differs from -0.0.
uint64_t bits(double v) {
  return std::bit_cast<uint64_t>(v);
}

// Calls f(const T&) with the field's typed value.
template <class F>
decltype(auto) visit(const Field& f, const void* v, F&& fn) {
  switch (f.kind) {
    case FieldKind::boolean:
      return fn(at<bool>(f, v));
    case FieldKind::integer:
      return fn(at<int64_t>(f, v));
    case FieldKind::real:
      return fn(at<double>(f, v));
    case FieldKind::string:
      return fn(at<std::string>(f, v));
    case FieldKind::dtype:
      return fn(at<DType>(f, v));
    case FieldKind::optional_boolean:
      return fn(at<std::optional<bool>>(f, v));
    case FieldKind::optional_integer:
      return fn(at<std::optional<int64_t>>(f, v));
    case FieldKind::optional_real:
      return fn(at<std::optional<double>>(f, v));
    case FieldKind::optional_dtype:
      return fn(at<std::optional<DType>>(f, v));
    case FieldKind::optional_string:
      return fn(at<std::optional<std::string>>(f, v));
    case FieldKind::integers:
      return fn(at<std::vector<int64_t>>(f, v));
    case FieldKind::reals:
      return fn(at<std::vector<double>>(f, v));
    case FieldKind::strings:
      return fn(at<std::vector<std::string>>(f, v));
    case FieldKind::scalar:
      return fn(at<Scalar>(f, v));
    case FieldKind::optional_scalar:
      return fn(at<std::optional<Scalar>>(f, v));
    case FieldKind::int_array:
      return fn(at<IntArray>(f, v));
    case FieldKind::dtypes:
      return fn(at<std::vector<DType>>(f, v));
  }
  __builtin_unreachable();
}

struct Hasher {
  size_t state = 0x9e3779b97f4a7c15ull;
  void mix(uint64_t v) { state = (std::rotl(state, 13) ^ v) * 0x2545f4914f6cdd1dull; }
  void operator()(bool v) { mix(v); }
  void operator()(int64_t v) { mix(static_cast<uint64_t>(v)); }
  void operator()(double v) { mix(bits(v)); }
  void operator()(DType v) { mix(static_cast<uint64_t>(v)); }
  void operator()(const std::string& v) { mix(std::hash<std::string_view>()(v)); }
  void operator()(const Scalar& v) {
    mix(static_cast<uint64_t>(v.kind));
    mix(static_cast<uint64_t>(v.i));
    mix(bits(v.c.real()));
    mix(bits(v.c.imag()));
    mix(reinterpret_cast<uintptr_t>(v.tensor.impl()));
  }
  void operator()(const IntArray& v) {
    mix(v.none * 2 + v.single);
    for (int64_t e : v.values) (*this)(e);
    for (const IntArray::Symbol& s : v.symbols)
      mix(s.position), mix(reinterpret_cast<uintptr_t>(s.value.impl()));
  }
  template <class T>
  void operator()(const std::optional<T>& v) {
    mix(v.has_value());
    if (v) (*this)(*v);
  }
  template <class T>
  void operator()(const std::vector<T>& v) {
    mix(v.size());
    for (const T& e : v) (*this)(e);
  }
};

template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
template <>
bool same(const double& a, const double& b) {
  return bits(a) == bits(b);
}
template <>
bool same(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || bits(*a) == bits(*b));
}
template <>
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || !std::memcmp(a.data(), b.data(), a.size() * 8));
}

struct Printer {
  std::string out;
  void operator()(bool v) { out += v ? "True" : "False"; }
  void operator()(int64_t v) { out += std::to_string(v); }
  void operator()(double v) {
    if (std::isnan(v) || std::isinf(v)) {
      out += std::isnan(v) ? "float('nan')" : v > 0 ? "float('inf')" : "float('-inf')";
      return;
    }
    char buffer[32];
    auto end = std::to_chars(buffer, buffer + sizeof(buffer), v).ptr;
    std::string_view text(buffer, static_cast<size_t>(end - buffer));
    out += text;
    if (text.find_first_of(".e") == text.npos) out += ".0";
  }
  void operator()(DType v) { (*this)(std::string(name_of(v))); }
  void operator()(const std::string& v) {
    out += '\'';
    for (char c : v) {
      const auto code = static_cast<unsigned char>(c);
      if (code < 0x20 || code == 0x7f) {
        out += "\\x";
        out += "0123456789abcdef"[code >> 4];
        out += "0123456789abcdef"[code & 15];
        continue;
      }
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
    out += '\'';
  }
  void operator()(const Scalar& v) {
    if (v.tensor.defined())
      out += '$';
    else if (v.kind == Scalar::Kind::boolean)
      (*this)(v.i != 0);
    else if (v.kind == Scalar::Kind::integer)
      (*this)(v.i);
    else if (v.kind == Scalar::Kind::real)
      (*this)(v.c.real());
    else {
      out += "complex(";
      (*this)(v.c.real());
      out += ", ";
      (*this)(v.c.imag());
      out += ')';
    }
  }
  void operator()(const IntArray& v) {
    if (v.none) {
      out += "None";
    } else if (v.single) {
      if (v.symbols.empty())
        (*this)(v.values[0]);
      else
        out += '$';
    } else {
      out += '[';
      for (size_t i = 0; i < v.size(); ++i) {
        if (i) out += ", ";
        bool symbol = false;
        for (const IntArray::Symbol& s : v.symbols) symbol |= s.position == i;
        if (symbol)
          out += '$';
        else
          (*this)(v[i]);
      }
      out += ']';
    }
  }
  template <class T>
  void operator()(const std::optional<T>& v) {
    if (v)
      (*this)(*v);
    else
      out += "None";
  }
  template <class T>
  void operator()(const std::vector<T>& v) {
    out += '[';
    for (size_t i = 0; i < v.size(); ++i) {
      if (i) out += ", ";
      (*this)(v[i]);
    }
    out += ']';
  }
};

}  // namespace

bool Scalar::operator==(const Scalar& o) const {
  return kind == o.kind && i == o.i && bits(c.real()) == bits(o.c.real()) &&
         bits(c.imag()) == bits(o.c.imag()) && tensor.is(o.tensor);
}

uint32_t axes_mask(const char* op, const IntArray& axes, int rank) {
  if (axes.none || axes.size() == 0) return rank ? (1u << rank) - 1 : 0;
  ARGOSY_CHECK(axes.symbols.empty(), not_implemented)
      << '[' << op << "] axis is a value of the Program, which only a run knows, and what it says "
      << "about sizes is needed before. Do this: give numbers as axes.";
  uint32_t mask = 0;
  for (int64_t axis : axes.values) {
    const int64_t limit = rank ? rank : 1;  // a number has axes 0 and -1, which are nothing
    ARGOSY_CHECK(axis >= -limit && axis < limit, invalid_argument)
        << '[' << op << "] axis " << axis << " is out of range: expected from " << -limit << " to "
        << limit - 1 << " for a tensor of " << rank
        << " dimensions. Do this: check the axis, or unsqueeze the tensor.";
    if (rank == 0) continue;
    const int64_t a = axis < 0 ? axis + rank : axis;
    ARGOSY_CHECK(!(mask >> a & 1), invalid_argument)
        << '[' << op << "] axis " << axis << " is given twice. Do this: name each axis once.";
    mask |= 1u << a;
  }
  return mask;
}

bool equal(const AttrType& type, const void* a, const void* b) {
  for (const Field& f : type.fields) {
    bool is_same = visit(f, a, [&]<class T>(const T& left) { return same<T>(left, at<T>(f, b)); });
    if (!is_same) return false;
  }
  return true;
}

size_t hash(const AttrType& type, const void* value) {
  Hasher hasher;
  for (const Field& f : type.fields) visit(f, value, hasher);
  return hasher.state;
}

std::string print_field(const Field& field, const void* value) {
  Printer printer;
  visit(field, value, printer);
  return printer.out;
}

std::string print(const AttrType& type, const void* value) {
  std::string out = "{";
  for (const Field& f : type.fields) {
    if (out.size() > 1) out += ", ";
    out += f.name;
    out += '=';
    out += print_field(f, value);
  }
  return out + "}";
}

const AttrType& attr_type(const NoAttrs*) {
  static const NoAttrs defaults;
  static const AttrType type = detail::make_attr_type<NoAttrs>("NoAttrs", {}, &defaults);
  return type;
}

AttrBox::AttrBox(const AttrType& type, const void* value) : type_(&type) {
  if (type.trivial && type.size <= kRoom) {
    std::memcpy(room_, value, type.size);
    return;
  }
  heap_ = ::operator new(type.size, std::align_val_t(type.align));
  type.copy(heap_, value);
}

void AttrBox::reset() {
  if (!heap_) return;
  type_->destroy(heap_);
  ::operator delete(heap_, std::align_val_t(type_->align));
  heap_ = nullptr;
}

void AttrBox::take(AttrBox& o) {
  type_ = o.type_;
  heap_ = std::exchange(o.heap_, nullptr);
  if (!heap_) std::memcpy(room_, o.room_, kRoom);
}

}  // namespace argosy::op

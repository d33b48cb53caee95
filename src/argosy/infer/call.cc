#include "argosy/infer/call.h"

#include "argosy/op/dispatch.h"
#include "argosy/program/fields.h"

namespace argosy::infer {
namespace {

using program::FieldValue;

struct Filler {
  const op::Field& field;
  void* attrs;

  template <class T>
  T* typed() const {
    return reinterpret_cast<T*>(static_cast<char*>(attrs) + field.offset);
  }
  template <class T>
  const char* plain(op::FieldKind kind, T FieldValue::*member, T value) const {
    FieldValue v;
    v.kind = kind;
    v.*member = std::move(value);
    return program::write_field(field, attrs, std::move(v));
  }

  const char* operator()(bool v) const {
    return plain(op::FieldKind::boolean, &FieldValue::integer, int64_t{v});
  }
  const char* operator()(int64_t v) const {
    if (field.kind == op::FieldKind::real) return (*this)(static_cast<double>(v));
    if (field.kind == op::FieldKind::int_array) return (*this)(op::IntArray::one(v));
    if (field.kind == op::FieldKind::scalar || field.kind == op::FieldKind::optional_scalar)
      return (*this)(op::Scalar(v));
    return plain(op::FieldKind::integer, &FieldValue::integer, v);
  }
  const char* operator()(double v) const {
    if (field.kind == op::FieldKind::scalar || field.kind == op::FieldKind::optional_scalar)
      return (*this)(op::Scalar(v));
    return plain(op::FieldKind::real, &FieldValue::real, v);
  }
  const char* operator()(const std::string& v) const {
    return plain(op::FieldKind::string, &FieldValue::text, v);
  }
  const char* operator()(const std::vector<int64_t>& v) const {
    if (field.kind == op::FieldKind::int_array) return (*this)(op::IntArray(std::span(v)));
    return plain(op::FieldKind::integers, &FieldValue::integers, v);
  }
  const char* operator()(const std::vector<double>& v) const {
    return plain(op::FieldKind::reals, &FieldValue::reals, v);
  }
  const char* operator()(DType v) const {
    return plain(op::FieldKind::dtype, &FieldValue::integer, static_cast<int64_t>(v));
  }
  const char* operator()(const op::IntArray& v) const {
    if (field.kind == op::FieldKind::int_array) {
      *typed<op::IntArray>() = v;
      return nullptr;
    }
    if (!v.symbols.empty()) return "it has to be known when the Program is made";
    return plain(op::FieldKind::integers, &FieldValue::integers,
                 std::vector<int64_t>(v.values.begin(), v.values.end()));
  }
  const char* operator()(const op::Scalar& v) const {
    if (field.kind == op::FieldKind::scalar)
      *typed<op::Scalar>() = v;
    else if (field.kind == op::FieldKind::optional_scalar)
      *typed<std::optional<op::Scalar>>() = v;
    else
      return "it is no scalar";
    return nullptr;
  }
};

void fill(const op::OpDef& def, void* attrs, const Arg& arg) {
  for (const op::Field& field : def.attrs->fields) {
    if (std::string_view(field.name) != arg.name) continue;
    const char* wrong = std::visit(Filler{field, attrs}, arg.value);
    ARGOSY_CHECK(!wrong, internal) << "[infer] attribute " << arg.name << " of " << def.name
                                   << " cannot be set: " << wrong << '.';
    return;
  }
  ARGOSY_THROW(internal) << "[infer] " << def.name << " has no attribute " << arg.name << '.';
}

}  // namespace

Tensors call_all(std::string_view name, std::span<const Tensor> in, std::span<const Arg> args) {
  const op::OpDef& def = op::get(name);
  op::AttrBox attrs(*def.attrs, def.attrs->defaults);
  for (const Arg& arg : args) fill(def, attrs.get(), arg);
  std::vector<Tensor> flat(in.begin(), in.end());
  if (!def.any_list) {
    ARGOSY_CHECK(flat.size() <= def.inputs.size(), internal)
        << "[infer] " << name << " is called with too many inputs.";
    flat.resize(def.inputs.size());
    return op::dispatch(def, op::Inputs(flat), attrs.get());
  }
  std::vector<uint32_t> ends;
  uint32_t at = 0;
  for (const op::InputDef& input : def.inputs) {
    at += input.list ? static_cast<uint32_t>(flat.size() - (def.inputs.size() - 1)) : 1;
    ends.push_back(at);
  }
  ARGOSY_CHECK(at == flat.size(), internal)
      << "[infer] " << name << " is called with " << flat.size() << " inputs.";
  return op::dispatch(def, op::Inputs(flat, ends.data()), attrs.get());
}

}  // namespace argosy::infer

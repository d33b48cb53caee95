#include <cmath>
#include <deque>
#include <string>

#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/program/attributes.h"
#include "argosy/program/builder.h"
#include "entries.h"

// argosy._core.ops.NAME: one C function per op (and one per in-place form), by position: inputs,
// then attributes. Missing trailing attributes take their defaults.
namespace argosy::python {
namespace {

struct Entry {
  const op::OpDef* op;
  bool inplace;
  PyMethodDef method;
};

// Tensors borrowed from Python objects for the length of a call: same form as Tensor[], no
// counting.
template <size_t N>
class Borrowed {
 public:
  ~Borrowed() {}
  void push(TensorImpl* impl) { room_[size_++] = impl; }
  size_t size() const { return size_; }
  std::span<const Tensor> span() const {
    static_assert(sizeof(Tensor) == sizeof(TensorImpl*));
    return {reinterpret_cast<const Tensor*>(room_), size_};
  }

 private:
  TensorImpl* room_[N];
  size_t size_ = 0;
};

constexpr int64_t kReleaseGilAbove = 1 << 15;  // elements: above, the work is worth a switch

Tensors run(const op::OpDef& op, const op::Inputs& in, const void* attrs, bool inplace) {
  auto go = [&] {
    return inplace ? Tensors(op::dispatch_inplace(op, in, attrs)) : op::dispatch(op, in, attrs);
  };
  for (const Tensor& t : in.flat()) {
    if (!t.defined() || t.numel() < kReleaseGilAbove || t.symbolic()) continue;
    WithoutGil no_gil;
    return go();
  }
  return go();
}

[[noreturn]] void fail_input(const op::OpDef& op, const op::InputDef& def, PyObject* got) {
  ARGOSY_THROW(operand) << '[' << op.name << "] " << def.name << ": expected "
                        << (def.list ? "a list of Tensors" : "a Tensor") << ", got "
                        << Py_TYPE(got)->tp_name
                        << ". Do this: make it one with argosy.to_tensor(..).";
}

// The tensor that weak scalars of this call take their dtype from.
const TensorImpl* strongest(PyObject* const* args, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (is_tensor(args[i]) && !is_made_number(args[i])) return impl_of(args[i]);
  return nullptr;
}

Tensor operand(PyObject* o, const TensorImpl* like) {
  return like && is_made_number(o) ? made_number_of(o, like) : tensor_of(o);
}

// What is no tensor, as one. `beside`: the first tensor of the list that it stands in. Beside none
// it is new data, as that of to_tensor.
Tensor made_of(PyObject* o, const TensorImpl* like, const TensorImpl* beside = nullptr) {
  Tensor t = to_tensor(o, like);
  if (like || t.symbolic() || (beside && beside->symbol)) return t;
  return beside ? op::to_place(t, beside->place) : on_current_place(std::move(t));
}

PyObject* give(const op::OpDef& op, Tensors& out) {
  if (op.outputs.size() == 1 && !op.outputs[0].list) return wrap(std::move(out[0]));
  if (op.outputs.size() == 1) return wrap_list(out);
  if (!op.writes.empty() && op.any_list) Py_RETURN_NONE;
  // A list output, the last, takes all that is left.
  auto hidden = [&](size_t i) { return op.outputs[std::min(i, op.outputs.size() - 1)].hidden; };
  size_t visible = 0, last = 0;
  for (size_t i = 0; i < out.size(); ++i)
    if (!hidden(i)) ++visible, last = i;
  if (visible == 1) return wrap(std::move(out[last]));
  Py tuple(check(PyTuple_New(static_cast<Py_ssize_t>(visible))));
  Py_ssize_t at = 0;
  for (size_t i = 0; i < out.size(); ++i)
    if (!hidden(i)) PyTuple_SET_ITEM(tuple.get(), at++, check(wrap(out[i])));
  return tuple.release();
}

// --- attributes ---

[[noreturn]] void fail_attr(const op::OpDef& op, const op::Field& f, const char* expected,
                            PyObject* got) {
  if (PyErr_Occurred()) PyErr_Clear();
  Py shown(PyObject_Repr(got));
  std::string text = shown ? PyUnicode_AsUTF8(shown.get()) : "?";
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  ARGOSY_THROW(attribute) << '[' << op.name << "] " << f.name << ": expected " << expected
                          << ", got " << text << " (" << Py_TYPE(got)->tp_name << ").";
}

// A tensor; one of a Program whose elements are known already is what it will be.
Tensor known(PyObject* o) {
  const Tensor t = program::noted_or_written(tensor_of(o));
  if (!t.symbolic()) return t;
  Tensor value = program::known(t);
  return value.defined() ? value : t;
}

// A NumPy array of one element stands for the number in it, as a tensor does.
PyObject* number_in_array(PyObject* o, Py& holder) {
  if (is_tensor(o) || PyNumber_Check(o) == 0 || !PyObject_HasAttrString(o, "__array_interface__"))
    return o;
  holder = Py(PyObject_CallMethod(o, "item", nullptr));
  if (holder) return holder.get();
  PyErr_Clear();  // it has several
  return o;
}

int64_t number_of(const op::OpDef& op, const op::Field& f, PyObject* o) {
  const int64_t v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) fail_attr(op, f, "an integer of 64 bits", o);
  return v;
}

int64_t parse_int(const op::OpDef& op, const op::Field& f, PyObject* o) {
  if (is_tensor(o) && tensor_of(o).symbolic()) {
    Tensor t = known(o);
    ARGOSY_CHECK(!t.symbolic(), type)
        << '[' << op.name << "] " << f.name << ": expected an int, got " << t
        << ", a value of the Program that only a run knows. Do this: give a number.";
    return program::number_in(t).integer();
  }
  if (PyLong_CheckExact(o)) return number_of(op, f, o);
  if (PyBool_Check(o))
    fail_attr(op, f, "an int", o);  // where a switch was meant, or one argument too many
  if (PyFloat_Check(o)) {
    double v = PyFloat_AS_DOUBLE(o);
    if (v == std::floor(v) && std::abs(v) < 9e15) return static_cast<int64_t>(v);
    fail_attr(op, f, "an int", o);
  }
  Py index(PyNumber_Index(o));
  if (!index) {
    PyErr_Clear();
    Py number;
    if (PyObject* alone = number_in_array(o, number); alone != o) return parse_int(op, f, alone);
  }
  if (!index) fail_attr(op, f, "an int", o);
  return number_of(op, f, index.get());
}

// An axis or a size alone may be a float without a fraction, in a list it may not. [= Paddle]
int64_t parse_int_item(const op::OpDef& op, const op::Field& f, PyObject* o) {
  if (PyFloat_Check(o)) fail_attr(op, f, "whole numbers as ints", o);
  return parse_int(op, f, o);
}

double parse_real(const op::OpDef& op, const op::Field& f, PyObject* o) {
  if (PyFloat_CheckExact(o)) return PyFloat_AS_DOUBLE(o);
  if (PyUnicode_Check(o)) fail_attr(op, f, "a number", o);
  Py number;
  double v = PyFloat_AsDouble(number_in_array(o, number));
  if (v == -1.0 && PyErr_Occurred()) fail_attr(op, f, "a number", o);
  return v;
}

// True, False, one of NumPy's, a tensor of one bool, and None, which is no. Numbers and lists are
// no switches: they are arguments in the wrong place. [= Paddle]
bool parse_bool(const op::OpDef& op, const op::Field& f, PyObject* o) {
  if (o == Py_True) return true;
  if (o == Py_False || o == Py_None) return false;
  Py held;
  const bool truth =
      is_tensor(o) ? tensor_of(o).dtype() == DType::bool_ : PyBool_Check(number_in_array(o, held));
  const int v = truth ? PyObject_IsTrue(o) : -1;
  if (v < 0) fail_attr(op, f, "a bool", o);
  return v;
}

std::string parse_string(const op::OpDef& op, const op::Field& f, PyObject* o) {
  if (!PyUnicode_Check(o)) fail_attr(op, f, "a str", o);
  Py_ssize_t n;
  const char* text = PyUnicode_AsUTF8AndSize(o, &n);
  if (!text) throw PythonError{};
  return {text, static_cast<size_t>(n)};
}

// Calls fn(item) for each element of a list, tuple or array.
template <class F>
void each(const op::OpDef& op, const op::Field& f, PyObject* o, F&& fn) {
  if (PyUnicode_Check(o)) fail_attr(op, f, "a list", o);
  Py fast(PySequence_Fast(o, ""));
  if (!fast) fail_attr(op, f, "a list", o);
  Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
  for (Py_ssize_t i = 0; i < n; ++i) fn(PySequence_Fast_GET_ITEM(fast.get(), i));
}

int64_t whole_number_in(const op::OpDef& op, const op::Field& f, const Tensor& t) {
  const op::Scalar number = program::number_in(t);
  if (number.kind != op::Scalar::Kind::real) return number.integer();
  const bool whole = number.real() == std::floor(number.real()) && std::abs(number.real()) < 0x1p63;
  ARGOSY_CHECK(whole, attribute) << '[' << op.name << "] " << f.name
                                 << ": expected a tensor of a whole number, got one of "
                                 << number.real()
                                 << ". Do this: round it, and cast it with .astype('int64').";
  return static_cast<int64_t>(number.real());
}

void parse_int_array(const op::OpDef& op, const op::Field& f, PyObject* o, op::IntArray& out) {
  out = {};
  if (o == Py_None) {
    out.none = true;
    return;
  }
  if (is_tensor(o)) {
    Tensor t = known(o);
    if (t.symbolic()) {
      ARGOSY_CHECK(t.rank() <= 1 && t.numel() >= 0, not_implemented)
          << '[' << op.name << "] " << f.name << ": how many sizes the tensor " << t
          << " has is not known while a Program is built. Do this: pass a list of its elements.";
      out.single = t.rank() == 0;
      for (int64_t i = 0; i < t.numel(); ++i) {
        out.values.push_back(kUnknown);
        out.symbols.push_back({static_cast<uint32_t>(i), t.rank() ? ops::pick(t, 0, i) : t});
      }
      return;
    }
    if (t.rank() == 0) {
      out.single = true;
      out.values.push_back(whole_number_in(op, f, t));
      return;
    }
    Tensor flat = op::to_host(t);
    ARGOSY_CHECK(kIndex.has(t.dtype()) && t.rank() == 1, attribute)
        << '[' << op.name << "] " << f.name << ": expected a 1-d int32 or int64 tensor, got " << t
        << '.';
    for (int64_t i = 0; i < t.numel(); ++i)
      out.values.push_back(t.dtype() == DType::int64 ? flat.data<int64_t>()[i]
                                                     : flat.data<int32_t>()[i]);
    return;
  }
  if (PyBool_Check(o)) fail_attr(op, f, "an int or a list of ints", o);
  if (PyLong_Check(o) || PyIndex_Check(o)) {
    // NumPy arrays have an index slot too, but only 0-d ones are numbers.
    Py index(PyNumber_Index(o));
    if (index) {
      out.single = true;
      out.values.push_back(number_of(op, f, index.get()));
      return;
    }
    PyErr_Clear();
  }
  each(op, f, o, [&](PyObject* item) {
    if (!is_tensor(item)) return out.values.push_back(parse_int_item(op, f, item));
    Tensor t = known(item);
    if (t.symbolic()) {
      out.symbols.push_back({static_cast<uint32_t>(out.values.size()), t});
      out.values.push_back(kUnknown);
    } else {
      out.values.push_back(whole_number_in(op, f, t));
    }
  });
}

template <class T>
T& at(void* attrs, const op::Field& f) {
  return *reinterpret_cast<T*>(static_cast<char*>(attrs) + f.offset);
}

void parse_attr(const op::OpDef& op, const op::Field& f, PyObject* o, void* attrs) {
  using op::FieldKind;
  auto optional = [&]<class T>(std::optional<T>& field, auto parse) {
    if (o == Py_None)
      field.reset();
    else
      field = parse(op, f, o);
  };
  switch (f.kind) {
    case FieldKind::boolean:
      at<bool>(attrs, f) = parse_bool(op, f, o);
      return;
    case FieldKind::integer:
      at<int64_t>(attrs, f) = parse_int(op, f, o);
      return;
    case FieldKind::real:
      at<double>(attrs, f) = parse_real(op, f, o);
      return;
    case FieldKind::string:
      at<std::string>(attrs, f) = parse_string(op, f, o);
      return;
    case FieldKind::dtype:
      at<DType>(attrs, f) = to_dtype(o);
      return;
    case FieldKind::optional_boolean:
      return optional(at<std::optional<bool>>(attrs, f), parse_bool);
    case FieldKind::optional_integer:
      return optional(at<std::optional<int64_t>>(attrs, f), parse_int);
    case FieldKind::optional_real:
      return optional(at<std::optional<double>>(attrs, f), parse_real);
    case FieldKind::optional_string:
      return optional(at<std::optional<std::string>>(attrs, f), parse_string);
    case FieldKind::optional_dtype:
      if (o == Py_None)
        at<std::optional<DType>>(attrs, f).reset();
      else
        at<std::optional<DType>>(attrs, f) = to_dtype(o);
      return;
    case FieldKind::integers: {
      auto& list = at<std::vector<int64_t>>(attrs, f);
      list.clear();
      if (PyLong_Check(o))
        list.push_back(parse_int(op, f, o));
      else
        each(op, f, o, [&](PyObject* item) { list.push_back(parse_int_item(op, f, item)); });
      return;
    }
    case FieldKind::reals: {
      auto& list = at<std::vector<double>>(attrs, f);
      list.clear();
      if (PyFloat_Check(o) || PyLong_Check(o))
        list.push_back(parse_real(op, f, o));
      else
        each(op, f, o, [&](PyObject* item) { list.push_back(parse_real(op, f, item)); });
      return;
    }
    case FieldKind::strings: {
      auto& list = at<std::vector<std::string>>(attrs, f);
      list.clear();
      each(op, f, o, [&](PyObject* item) { list.push_back(parse_string(op, f, item)); });
      return;
    }
    case FieldKind::dtypes: {
      auto& list = at<std::vector<DType>>(attrs, f);
      list.clear();
      each(op, f, o, [&](PyObject* item) { list.push_back(to_dtype(item)); });
      return;
    }
    case FieldKind::scalar: {
      Py number;
      if (!is_tensor(o) && !is_number(o)) o = number_in_array(o, number);
      if (!is_tensor(o) && !is_number(o)) fail_attr(op, f, "a number", o);
      at<op::Scalar>(attrs, f) = to_scalar(o);
      return;
    }
    case FieldKind::optional_scalar: {
      if (o == Py_None) {
        at<std::optional<op::Scalar>>(attrs, f).reset();
        return;
      }
      Py number;
      if (!is_tensor(o) && !is_number(o)) o = number_in_array(o, number);
      if (!is_tensor(o) && !is_number(o)) fail_attr(op, f, "a number", o);
      at<std::optional<op::Scalar>>(attrs, f) = to_scalar(o);
      return;
    }
    case FieldKind::int_array:
      return parse_int_array(op, f, o, at<op::IntArray>(attrs, f));
  }
}

PyObject* enter(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  auto* entry = static_cast<Entry*>(PyCapsule_GetPointer(self, nullptr));
  return guarded_object([&] { return call_op(*entry->op, args, count, entry->inplace); });
}

}  // namespace

PyObject* call_op(const op::OpDef& op, PyObject* const* args, Py_ssize_t count, bool inplace) {
  const size_t given = static_cast<size_t>(count);
  const size_t inputs = op.inputs.size();
  ARGOSY_CHECK(given <= inputs + op.attrs->fields.size(), type)
      << '[' << op.name << "] takes at most " << inputs + op.attrs->fields.size()
      << " arguments, got " << given << '.';

  // Attributes: the defaults are used in place when none is given.
  alignas(16) unsigned char room[512];
  struct Attrs {
    const op::AttrType* type = nullptr;
    void* value = nullptr;
    ~Attrs() {
      if (value) type->destroy(value);
    }
  } own;
  const void* attrs = op.attrs->defaults;
  if (given > inputs) {
    ARGOSY_INVARIANT(op.attrs->size <= sizeof(room));
    op.attrs->copy(room, op.attrs->defaults);
    own.type = op.attrs;
    own.value = room;
    for (size_t i = inputs; i < given; ++i)
      parse_attr(op, op.attrs->fields[i - inputs], args[i], room);
    attrs = room;
  }

  // Inputs: all plain tensors is the common case and counts nothing.
  bool plain = !op.any_list && inputs <= 8 && given >= inputs;
  if (plain) {
    Borrowed<8> borrowed;
    for (size_t i = 0; i < inputs && plain; ++i) {
      plain = is_tensor(args[i]) && !is_made_number(args[i]);
      if (plain) borrowed.push(impl_of(args[i]));
    }
    if (plain) {
      Tensors out = run(op, op::Inputs(borrowed.span()), attrs, inplace);
      return give(op, out);
    }
  }
  InlineVector<Tensor, 8> flat;
  InlineVector<uint32_t, 8> ends;
  const TensorImpl* like =
      strongest(args, std::min<Py_ssize_t>(count, static_cast<Py_ssize_t>(inputs)));
  for (size_t i = 0; i < inputs; ++i) {
    const op::InputDef& def = op.inputs[i];
    PyObject* o = i < given ? args[i] : Py_None;
    if (def.list) {
      if (is_tensor(o)) {
        flat.push_back(tensor_of(o));
      } else if (o != Py_None) {
        Py fast(PySequence_Fast(o, ""));
        if (!fast) {
          PyErr_Clear();
          fail_input(op, def, o);
        }
        const TensorImpl* beside =
            strongest(PySequence_Fast_ITEMS(fast.get()), PySequence_Fast_GET_SIZE(fast.get()));
        for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(fast.get()); ++j) {
          PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), j);
          if (is_tensor(item))
            flat.push_back(operand(item, like));
          else if (is_number(item))
            flat.push_back(made_of(item, like, beside));
          else
            fail_input(op, def, item);
        }
      }
    } else if (o == Py_None) {
      flat.push_back({});
    } else if (is_tensor(o)) {
      flat.push_back(operand(o, like));
    } else if (is_number(o) || PyObject_CheckBuffer(o)) {
      flat.push_back(made_of(o, like));
    } else {
      fail_input(op, def, o);
    }
    ends.push_back(static_cast<uint32_t>(flat.size()));
  }
  op::Inputs in(flat, op.any_list ? ends.data() : nullptr);
  Tensors out = run(op, in, attrs, inplace);
  return give(op, out);
}

namespace {

PyObject* ops_module = nullptr;  // argosy._core.ops, as long as the process

void add_entry(const op::OpDef& def, const char* name, bool inplace) {
  static std::deque<Entry> entries;  // PyMethodDefs must outlive their functions
  Entry& e = entries.emplace_back();
  e.op = &def;
  e.inplace = inplace;
  e.method = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(enter)),
              METH_FASTCALL, nullptr};
  Py module_name(check(PyUnicode_FromString("argosy._core.ops")));
  Py capsule(check(PyCapsule_New(&e, nullptr, nullptr)));
  Py function(check(PyCFunction_NewEx(&e.method, capsule.get(), module_name.get())));
  if (PyModule_AddObjectRef(ops_module, name, function.get())) throw PythonError{};
}

}  // namespace

void add_entries(std::span<const op::OpDef* const> defs) {
  for (const op::OpDef* def : defs) {
    add_entry(*def, def->name.c_str(), false);
    for (const std::string& name : def->inplace) add_entry(*def, name.c_str(), true);
  }
}

void add_ops(PyObject* module) {
  ops_module = check(PyModule_New("argosy._core.ops"));
  add_entries(op::all());
  PyModule_AddObjectRef(module, "ops", ops_module);
}

}  // namespace argosy::python

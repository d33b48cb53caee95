#include "argosy/autograd/node.h"
#include "argosy/base/device.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/program/builder.h"
#include "count_object.h"
#include "functions.h"
#include "grad_node_object.h"
#include "python.h"
#include "size_object.h"

#include <structmember.h>

#include <cstring>

// The Python face of Tensor. One body has at most one Python object at a time:
// * Python first: the object counts its body, the body points back (not counted).
// * When Python's count ends while C++ still holds the body, and the object carries something worth
//   keeping (attributes, a subclass), ownership flips: the body owns the object until Python asks
//   for it again, or until the body goes.
namespace argosy::python {

PyTypeObject* tensor_type = nullptr;

// Objects start untracked: only attributes and hooks can make cycles through them.
void track(PyObject* tensor) {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}

namespace {

PyObject* place_factory = nullptr;

TensorObject* cast(PyObject* o) {
  return reinterpret_cast<TensorObject*>(o);
}

bool worth_keeping(PyObject* self) {
  TensorObject* t = cast(self);
  return t->impl && t->impl->ref_count() > 1 && !t->impl->owns_python &&
         (Py_TYPE(self) != tensor_type || (t->dict && PyDict_GET_SIZE(t->dict) > 0));
}

void flip_to_body(PyObject* self) {
  TensorObject* t = cast(self);
  t->impl->owns_python = true;
  t->impl->release();  // not the last: worth_keeping saw another
}

#ifdef Py_GIL_DISABLED
#error Free-threaded Python keeps the mark of finalized objects elsewhere: see finalized_word. \
  Do this: build with a Python that has the GIL.
#endif

// CPython finalizes an object once: when that is done, it marks it in the last word of the
// collector's header, which lies before the object. No function takes the mark away, so wrap()
// does, when a new life begins. The layout is no part of CPython's API: check_finalized_mark tries
// it when the module is imported.
constexpr uintptr_t kFinalized = 1;
uintptr_t& finalized_word(PyObject* self) {
  return reinterpret_cast<uintptr_t*>(self)[-1];
}

// Runs before deallocation (also of subclasses); taking a new reference keeps the object alive.
void finalize(PyObject* self) {
  if (!worth_keeping(self)) return;
  Py_INCREF(self);
  flip_to_body(self);
}

void dealloc(PyObject* self) {
  TensorObject* t = cast(self);
  PyTypeObject* type = Py_TYPE(self);
  if (type == tensor_type) {
    if (worth_keeping(self)) {
      if (PyObject_CallFinalizerFromDealloc(self) < 0) return;
    }
  }
  PyObject_GC_UnTrack(self);
  if (t->weakrefs) PyObject_ClearWeakRefs(self);
  Py_CLEAR(t->dict);
  if (TensorImpl* impl = std::exchange(t->impl, nullptr)) {
    impl->python = nullptr;
    impl->release();
  }
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(cast(self)->dict);
  Py_VISIT(Py_TYPE(self));
  return visit_history(cast(self)->impl, visit, arg);
}

int clear(PyObject* self) {
  Py_CLEAR(cast(self)->dict);
  return 0;
}

PyObject* construct(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  TensorImpl* impl = new TensorImpl();
  impl->python = self;
  cast(self)->impl = impl;
  return self;
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  int status = PyObject_GenericSetAttr(self, name, value);
  if (status == 0 && cast(self)->dict) track(self);
  return status;
}

// The last C++ handle of a body that owned its object is gone.
void release_object(void* object) {
  auto* self = static_cast<PyObject*>(object);
  if (!Py_IsInitialized()) {
    // Also while Python shuts down, when the collector still visits the object.
    cast(self)->impl = nullptr;
    return;
  }
  WithGil gil;
  cast(self)->impl = nullptr;
  Py_DECREF(self);
}

// --- getters ---

template <PyObject* (*F)(PyObject*)>
PyObject* get(PyObject* self, void*) {
  return guarded_object([&] { return F(self); });
}
template <void (*F)(PyObject*, PyObject*)>
int set(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    if (!value) ARGOSY_THROW(type) << "Attributes of a tensor cannot be deleted.";
    F(self, value);
    return 0;
  });
}

PyObject* get_shape(PyObject* self) {
  return size_of(impl_of(self)->shape);
}

PyObject* get_strides(PyObject* self) {
  const Shape& s = impl_of(self)->strides;
  PyObject* list = check(PyList_New(s.rank()));
  for (int i = 0; i < s.rank(); ++i) PyList_SET_ITEM(list, i, PyLong_FromLongLong(s[i]));
  return list;
}

PyObject* get_offset(PyObject* self) {
  return PyLong_FromLongLong(impl_of(self)->offset);
}

PyObject* get_dtype(PyObject* self) {
  return wrap(impl_of(self)->dtype);
}
PyObject* get_ndim(PyObject* self) {
  return PyLong_FromLong(impl_of(self)->shape.rank());
}
PyObject* get_size(PyObject* self) {
  const TensorImpl* impl = impl_of(self);
  return count_of(impl->numel, impl->shape);
}
PyObject* get_stop_gradient(PyObject* self) {
  return PyBool_FromLong(impl_of(self)->stop_gradient);
}
// A text or a list is true or false too, but was never meant as a flag.
bool flag_of(const char* name, PyObject* value) {
  const PyNumberMethods* number = Py_TYPE(value)->tp_as_number;
  ARGOSY_CHECK(value == Py_None || (number != nullptr && number->nb_bool != nullptr), type)
      << "Tensor." << name << ": expected True or False, got " << Py_TYPE(value)->tp_name
      << ". Do this: assign one of them.";
  return truth(value);
}
void set_stop_gradient(PyObject* self, PyObject* value) {
  program::set_stop_gradient(tensor_of(self), flag_of("stop_gradient", value));
}
PyObject* get_persistable(PyObject* self) {
  return PyBool_FromLong(impl_of(self)->persistable);
}
void set_persistable(PyObject* self, PyObject* value) {
  impl_of(self)->persistable = flag_of("persistable", value);
}
PyObject* get_is_leaf(PyObject* self) {
  return PyBool_FromLong(autograd::is_leaf(tensor_of(self)));
}
PyObject* get_grad(PyObject* self) {
  return wrap(autograd::grad_of(tensor_of(self)));
}
void set_grad(PyObject* self, PyObject* value) {
  Tensor t = tensor_of(self);
  if (value == Py_None) {
    if (t.impl()->record) autograd::set_grad(t, Tensor());
    return;
  }
  ARGOSY_CHECK(is_tensor(value), type)
      << "Tensor.grad: expected a Tensor or None, got " << Py_TYPE(value)->tp_name << '.';
  Tensor grad = tensor_of(value);
  ARGOSY_CHECK(grad.shape() == t.shape(), invalid_argument)
      << "Tensor.grad must have the shape of its tensor: expected " << t.shape() << ", got "
      << grad.shape() << '.';
  autograd::set_grad(t, grad);
}
PyObject* get_name(PyObject* self) {
  static uint64_t next = 0;
  TensorImpl* impl = impl_of(self);
  if (program::Value* v = program::value_of(tensor_of(self))) {
    // Unique in its Program.
    if (v->name.empty())
      v->name =
          (v->producer ? v->producer->op->name : "value") + "_" + std::to_string(v->id) + ".tmp_0";
    return PyUnicode_FromStringAndSize(v->name.data(), static_cast<Py_ssize_t>(v->name.size()));
  }
  if (!impl->name)
    impl->name = std::make_unique<std::string>("generated_tensor_" + std::to_string(next++));
  return PyUnicode_FromStringAndSize(impl->name->data(),
                                     static_cast<Py_ssize_t>(impl->name->size()));
}
void set_name(PyObject* self, PyObject* value) {
  const char* text = PyUnicode_AsUTF8(value);
  if (!text) throw PythonError{};
  if (program::Value* v = program::value_of(tensor_of(self))) v->name = text;
  if (program::State* s = program::state_of(tensor_of(self))) s->name = text;
  impl_of(self)->name = std::make_unique<std::string>(text);
}
// What a call of Tensor names; null where it does not.
struct Arguments {
  PyObject* value = nullptr;
  PyObject* dtype = nullptr;
  PyObject* place = nullptr;
  PyObject* persistable = nullptr;
  PyObject* zero_copy = nullptr;
  PyObject* name = nullptr;
  PyObject* stop_gradient = nullptr;
};

PyObject*& argument(Arguments& a, PyObject* key) {
  const std::string_view name = PyUnicode_AsUTF8(key);
  if (name == "value" || name == "data") return a.value;
  if (name == "dtype") return a.dtype;
  if (name == "place") return a.place;
  if (name == "persistable") return a.persistable;
  if (name == "zero_copy") return a.zero_copy;
  if (name == "name") return a.name;
  if (name == "stop_gradient") return a.stop_gradient;
  ARGOSY_THROW(type) << "[Tensor] unknown argument '" << std::string(name)
                     << "': expected data, dtype, place, persistable, name or stop_gradient. Do "
                        "this: leave it out, or use argosy.to_tensor(..).";
}

// By position: sizes alone, or a value and what says more of it.
Arguments arguments_of(PyObject* args, PyObject* options) {
  Arguments a;
  PyObject *key, *option;
  for (Py_ssize_t at = 0; options && PyDict_Next(options, &at, &key, &option);)
    argument(a, key) = option;
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  ARGOSY_CHECK(count == 0 || !a.value, type)
      << "[Tensor] data is given by name, and there are " << static_cast<long long>(count)
      << " arguments by position beside it. Do this: give it once.";
  if (count == 0 || PyLong_CheckExact(PyTuple_GET_ITEM(args, 0))) return a;
  PyObject** const of_arrays[] = {&a.value,     &a.place, &a.persistable,
                                  &a.zero_copy, &a.name,  &a.stop_gradient};
  PyObject** const of_tensors[] = {&a.value, &a.place, &a.name};
  const bool tensor = is_tensor(PyTuple_GET_ITEM(args, 0));
  ARGOSY_CHECK(count <= (tensor ? 3 : 6), type)
      << "[Tensor] takes at most " << (tensor ? 3 : 6) << " arguments by position, got "
      << static_cast<long long>(count) << ". Do this: name what says more of the value.";
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject*& to = *(tensor ? of_tensors : of_arrays)[i];
    ARGOSY_CHECK(!to, type) << "[Tensor] argument " << static_cast<long long>(i)
                            << " is given by position and by name. Do this: give it once.";
    to = PyTuple_GET_ITEM(args, i);
  }
  return a;
}

// Tensor(): no elements. Tensor(2, 3): zeros of this shape. Tensor(data): a copy; lists become the
// default dtype.
Tensor initial_value(PyObject* args, const Arguments& a) {
  if (a.value) {
    Tensor value = from_users_data(a.value, Py_None, true);
    const bool list = PyList_Check(a.value) || PyTuple_Check(a.value);
    if (list || a.dtype)
      value = ops::cast(value, a.dtype && a.dtype != Py_None ? to_dtype(a.dtype)
                               : list                        ? op::default_dtype()
                                                             : value.dtype());
    return value;
  }
  const DType dtype = a.dtype && a.dtype != Py_None ? to_dtype(a.dtype) : op::default_dtype();
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  Shape shape;
  for (Py_ssize_t i = 0; i < count; ++i) shape.push_back(to_int(PyTuple_GET_ITEM(args, i)));
  if (count == 0) shape.push_back(0);
  Tensor zeros = Tensor::empty(shape, dtype, {});
  std::memset(zeros.raw(), 0, zeros.nbytes());
  return on_current_place(zeros);
}

int init(PyObject* self, PyObject* args, PyObject* options) {
  return guarded_int([&] {
    const Arguments a = arguments_of(args, options);
    ARGOSY_CHECK(!a.zero_copy || !truth(a.zero_copy), not_implemented)
        << "[Tensor] zero_copy: expected False, got another value: elements are copied. Do this: "
           "leave it out, or share memory through DLPack.";
    Tensor value = initial_value(args, a);
    if (a.place && a.place != Py_None) value = op::to_place(value, to_place(a.place));
    value.set_stop_gradient(!a.stop_gradient || flag_of("stop_gradient", a.stop_gradient));
    TensorObject* t = cast(self);
    t->impl->python = nullptr;
    t->impl->release();
    t->impl = value.impl();
    t->impl->retain();
    t->impl->python = self;
    if (a.persistable) set_persistable(self, a.persistable);
    if (a.name && a.name != Py_None) set_name(self, a.name);
    return 0;
  });
}

PyObject* get_version(PyObject* self) {
  // Another form in place (reshape_, cast_) is a write for who counts them.
  return PyLong_FromLong(tensor_of(self).version() + impl_of(self)->forms);
}
PyObject* get_place(PyObject* self) {
  static PyObject* cpu = nullptr;
  Place p = impl_of(self)->place;
  if (op::is_pinned(tensor_of(self)))
    return check(PyObject_CallFunction(place_factory, "si", "pinned", 0));
  if (p.kind == DeviceKind::cpu && cpu) return Py_NewRef(cpu);
  PyObject* made = check(PyObject_CallFunction(place_factory, "si", device::kind_name(p.kind),
                                               static_cast<int>(p.index)));
  if (p.kind == DeviceKind::cpu) cpu = Py_NewRef(made);
  return made;
}
PyObject* get_layout(PyObject* self) {
  const char* names[] = {"strided", "ragged", "row_sparse", "coo", "csr", "tensor_array"};
  return PyUnicode_FromString(names[static_cast<int>(impl_of(self)->layout)]);
}
PyObject* get_parts(PyObject* self) {
  return wrap_list(impl_of(self)->parts);
}
PyObject* get_grad_fn(PyObject* self) {
  Tensor t = tensor_of(self);
  if (autograd::is_leaf(t)) Py_RETURN_NONE;
  return grad_node_of(
      Ref<autograd::Node>::share(static_cast<autograd::Node*>(t.impl()->grad_fn.get())));
}
PyObject* get_symbolic(PyObject* self) {
  return PyBool_FromLong(static_cast<bool>(impl_of(self)->symbol));
}

#define GETSET(attribute, doc) \
  { #attribute, get < get_##attribute>, set < set_##attribute>, doc, nullptr }
#define GETTER(attribute, doc) \
  { #attribute, get < get_##attribute>, nullptr, doc, nullptr }
PyGetSetDef getters[] = {
    GETTER(shape, "Sizes of the dimensions, a list; -1 where unknown."),
    GETTER(strides, "Steps between neighbours of each dimension, in elements."),
    GETTER(offset, "Bytes from the start of the memory it shares to its first element."),
    GETTER(dtype, "Type of the elements."),
    GETTER(ndim, "Number of dimensions."),
    GETTER(size, "Number of elements. Called, it gives the sizes, or that of one axis."),
    GETSET(stop_gradient, "True: no gradient flows to or through this tensor."),
    GETSET(persistable, "Kept between runs and saved with the model."),
    GETTER(is_leaf, "True unless an op with gradient made it."),
    GETSET(grad, "Accumulated gradient, or None."),
    GETSET(name, "Unique name."),
    GETTER(place, "Device of the data."),
    GETTER(grad_fn,
           "Gradient of the op that made it: a node with name() and next_functions; None "
           "for leaves."),
    {"inplace_version", get<get_version>, nullptr,
     "Number of writes to the memory, and of forms given in place.", nullptr},
    {"_layout", get<get_layout>, nullptr, nullptr, nullptr},
    {"_parts", get<get_parts>, nullptr, nullptr, nullptr},
    {"_symbolic", get<get_symbolic>, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};

// --- methods ---

PyObject* set_data(PyObject* self, PyObject* other) {
  return guarded_object([&]() -> PyObject* {
    ARGOSY_CHECK(is_tensor(other), type)
        << "_set_data: expected a Tensor, got " << Py_TYPE(other)->tp_name << '.';
    TensorImpl* to = impl_of(self);
    const TensorImpl* from = impl_of(other);
    if ((to->storage || to->symbol) && (to->symbol || from->symbol)) {
      op::hooks.rebind(tensor_of(self), tensor_of(other));
      Py_RETURN_NONE;
    }
    to->take_content(*from);
    to->symbol = from->symbol;
    Py_RETURN_NONE;
  });
}
PyObject* become(PyObject* self, PyObject* other) {
  Py done(set_data(self, other));
  if (!done) return nullptr;
  TensorImpl* to = impl_of(self);
  const TensorImpl* from = impl_of(other);
  if (from->grad_fn) {
    to->grad_fn = from->grad_fn;
    to->grad_index = from->grad_index;
    to->stop_gradient = false;
  }
  Py_RETURN_NONE;
}

PyObject* detach(PyObject* self, PyObject*) {
  return guarded_object([&] {
    Tensor t = tensor_of(self);
    bool recorded = t.symbolic() || op::thread_state.recorder;
    return wrap(recorded ? program::detached(t) : t.detach());
  });
}

PyObject* copy_from(PyObject* self, PyObject* other) {
  return guarded_object([&]() -> PyObject* {
    Tensor dst = tensor_of(self);
    ARGOSY_CHECK(is_tensor(other), type)
        << "_copy_from: expected a Tensor, got " << Py_TYPE(other)->tp_name << '.';
    Tensor src = tensor_of(other);
    if (src.symbolic() || dst.symbolic() || program::captures()) {
      // A value of its own: what is written into src later stays there. No gradient comes this way
      // in eager mode.
      op::GradMode follows(op::thread_state.grad_enabled && !program::captures());
      op::hooks.rebind(dst,
                       src.dtype() == dst.dtype() ? ops::assign(src) : ops::cast(src, dst.dtype()));
      Py_RETURN_NONE;
    }
    ARGOSY_CHECK(src.shape() == dst.shape(), invalid_argument)
        << "Cannot copy a value of shape " << src.shape() << " into a tensor of shape "
        << dst.shape() << ". Do this: give a value of the same shape.";
    dst.prepare_write();
    op::copy_into(dst, src);
    dst.wrote("copy_");
    Py_RETURN_NONE;
  });
}

PyObject* is_contiguous(PyObject* self, PyObject*) {
  return PyBool_FromLong(impl_of(self)->contiguous);
}

PyObject* data_ptr(PyObject* self, PyObject*) {
  return guarded_object([&] {
    const Tensor t = tensor_of(self);
    t.prepare_write();  // the address is the tensor's own
    return PyLong_FromVoidPtr(t.raw());
  });
}

PyObject* shares_with(PyObject* self, PyObject* other) {
  if (!is_tensor(other)) Py_RETURN_FALSE;
  return PyBool_FromLong(impl_of(self)->storage &&
                         impl_of(self)->storage == impl_of(other)->storage);
}

PyObject* bump_version(PyObject* self, PyObject*) {
  tensor_of(self).wrote("_bump_inplace_version");
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"_set_data", set_data, METH_O, "Becomes a handle on the other tensor's data."},
    {"_become", become, METH_O, "_set_data that takes the other tensor's history over, too."},
    {"_copy_from", copy_from, METH_O, "Copies the other tensor's values into this memory."},
    {"detach", detach, METH_NOARGS, "The same data without history; writes are shared."},
    {"is_contiguous", is_contiguous, METH_NOARGS, "Whether elements lie in C order without gaps."},
    {"data_ptr", data_ptr, METH_NOARGS, "Address of the first element."},
    {"_is_shared_buffer_with", shares_with, METH_O, "Whether both view the same memory."},
    {"_bump_inplace_version", bump_version, METH_NOARGS, "Counts a write."},
    {}};

// --- operators ---

// Definitions looked up once.
const op::OpDef& def(const char* name) {
  return op::get(name);
}

struct AsTensor {
  Tensor tensor;
  bool ok = true;
};

// A tensor operand of a binary operator, or not ours to handle.
AsTensor operand(PyObject* o, const TensorImpl* other) {
  if (is_tensor(o)) return {tensor_of(o)};
  if (!is_number(o) && !PyObject_CheckBuffer(o)) return {{}, false};
  return {to_tensor(o, other)};
}

PyObject* binary(const op::OpDef& op, PyObject* a, PyObject* b) {
  return guarded_object([&]() -> PyObject* {
    PyObject* const args[] = {a, b};
    const TensorImpl* ia = is_tensor(a) ? impl_of(a) : nullptr;
    const TensorImpl* ib = is_tensor(b) ? impl_of(b) : nullptr;
    if (ia && ib) return call_op(op, args, 2, false);
    AsTensor x = operand(a, ib), y = operand(b, ia);
    if (!x.ok || !y.ok) Py_RETURN_NOTIMPLEMENTED;
    const Tensor in[] = {x.tensor, y.tensor};
    Tensors out = op::dispatch(op, op::Inputs(in), op.attrs->defaults);
    return wrap(std::move(out[0]));
  });
}

#define BINARY(slot, op_name)                  \
  PyObject* slot(PyObject* a, PyObject* b) {   \
    static const op::OpDef& op = def(op_name); \
    return binary(op, a, b);                   \
  }
BINARY(nb_add, "add")
BINARY(nb_subtract, "subtract")
BINARY(nb_multiply, "multiply")
BINARY(nb_true_divide, "divide")
BINARY(nb_floor_divide, "floor_divide")
BINARY(nb_remainder, "remainder")
BINARY(nb_matmul, "matmul")
BINARY(nb_and, "bitwise_and")
BINARY(nb_or, "bitwise_or")
BINARY(nb_xor, "bitwise_xor")
BINARY(nb_lshift, "bitwise_left_shift")
BINARY(nb_rshift, "bitwise_right_shift")

PyObject* nb_power(PyObject* a, PyObject* b, PyObject*) {
  static const op::OpDef& op = def("pow");
  return binary(op, a, b);
}

PyObject* unary(const op::OpDef& op, PyObject* x) {
  return guarded_object([&] { return call_op(op, &x, 1, false); });
}
PyObject* nb_negative(PyObject* x) {
  static const op::OpDef& op = def("negative");
  return unary(op, x);
}
PyObject* nb_absolute(PyObject* x) {
  static const op::OpDef& op = def("abs");
  return unary(op, x);
}
PyObject* nb_invert(PyObject* x) {
  static const op::OpDef& op = def("bitwise_not");
  return unary(op, x);
}
PyObject* nb_positive(PyObject* x) {
  return Py_NewRef(x);
}

PyObject* compare(PyObject* a, PyObject* b, int which) {
  static const char* names[] = {"less_than", "less_equal",   "equal",
                                "not_equal", "greater_than", "greater_equal"};
  static const op::OpDef* ops[6] = {};
  if (b == Py_None) Py_RETURN_NOTIMPLEMENTED;
  return guarded_object([&]() -> PyObject* {
    if (!ops[which]) ops[which] = &def(names[which]);
    return check(binary(*ops[which], a, b));
  });
}

Py_hash_t hash(PyObject* self) {
  return _Py_HashPointer(self);
}

// The one element as a Scalar, for int(), float(), bool().
op::Scalar element(PyObject* self, const char* what) {
  Tensor t = tensor_of(self);
  ARGOSY_CHECK(!t.symbolic(), type)
      << what << ": this tensor is a value of a Program being built (" << t
      << "), it has no number yet. Do this: use argosy ops (where, static.nn.cond, while_loop), or "
         "fetch it with Executor.run.";
  if (t.numel() != 1)
    throw_conversion_error(Message()
                           << what << ": only a tensor of one element can be converted, got " << t
                           << ". Do this: reduce it first, e.g. with .any(), .all() or .sum().");
  return to_scalar(self);
}

op::Scalar real_element(PyObject* self, const char* what) {
  op::Scalar s = element(self, what);
  ARGOSY_CHECK(s.kind != op::Scalar::Kind::complex, type)
      << what << ": a complex number has no order, got " << tensor_of(self)
      << ". Do this: take complex(..) of it, or its .real().";
  return s;
}
int nb_bool(PyObject* self) {
  return guarded_int([&] { return element(self, "bool()").c != 0.0 ? 1 : 0; });
}
PyObject* nb_int(PyObject* self) {
  return guarded_object([&] {
    op::Scalar s = real_element(self, "int()");
    return s.kind == op::Scalar::Kind::real ? PyLong_FromDouble(s.real())
                                            : PyLong_FromLongLong(s.integer());
  });
}
PyObject* nb_float(PyObject* self) {
  return guarded_object([&] { return PyFloat_FromDouble(real_element(self, "float()").real()); });
}
PyObject* nb_index(PyObject* self) {
  return guarded_object([&]() -> PyObject* {
    op::Scalar s = element(self, "index");
    ARGOSY_CHECK(s.kind != op::Scalar::Kind::real && s.kind != op::Scalar::Kind::complex, type)
        << "index: only an integer tensor can be an index, got " << tensor_of(self) << '.';
    return PyLong_FromLongLong(s.integer());
  });
}
Py_ssize_t length(PyObject* self) {
  TensorImpl* impl = impl_of(self);
  if (impl->shape.rank() > 0 && impl->shape[0] >= 0) return impl->shape[0];
  return guarded_int([&] {
    if (impl->shape.rank() > 0)
      throw_conversion_error(Message() << "len(): the first size of this tensor is known only when "
                                          "the Program runs. Do this: use argosy.shape(x)[0].");
    throw_conversion_error(Message() << "len() of a 0-d tensor: it has no first dimension. Do "
                                        "this: use .item() or reshape it.");
    return -1;
  });
}

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {}};

#define SLOT(id, function) \
  { id, reinterpret_cast<void*>(function) }
PyType_Slot slots[] = {
    SLOT(Py_tp_new, construct),
    SLOT(Py_tp_init, init),
    SLOT(Py_tp_dealloc, dealloc),
    SLOT(Py_tp_finalize, finalize),
    SLOT(Py_tp_traverse, traverse),
    SLOT(Py_tp_clear, clear),
    SLOT(Py_tp_setattro, set_attribute),
    SLOT(Py_tp_getset, getters),
    SLOT(Py_tp_methods, methods),
    SLOT(Py_tp_members, members),
    SLOT(Py_tp_richcompare, compare),
    SLOT(Py_tp_hash, hash),
    SLOT(Py_tp_doc, const_cast<char*>("An n-dimensional array on a device, with gradient.")),
    SLOT(Py_nb_add, nb_add),
    SLOT(Py_nb_subtract, nb_subtract),
    SLOT(Py_nb_multiply, nb_multiply),
    SLOT(Py_nb_true_divide, nb_true_divide),
    SLOT(Py_nb_floor_divide, nb_floor_divide),
    SLOT(Py_nb_remainder, nb_remainder),
    SLOT(Py_nb_power, nb_power),
    SLOT(Py_nb_matrix_multiply, nb_matmul),
    SLOT(Py_nb_and, nb_and),
    SLOT(Py_nb_or, nb_or),
    SLOT(Py_nb_xor, nb_xor),
    SLOT(Py_nb_lshift, nb_lshift),
    SLOT(Py_nb_rshift, nb_rshift),
    SLOT(Py_nb_negative, nb_negative),
    SLOT(Py_nb_positive, nb_positive),
    SLOT(Py_nb_absolute, nb_absolute),
    SLOT(Py_nb_invert, nb_invert),
    SLOT(Py_nb_bool, nb_bool),
    SLOT(Py_nb_int, nb_int),
    SLOT(Py_nb_float, nb_float),
    SLOT(Py_nb_index, nb_index),
    SLOT(Py_mp_length, length),
    SLOT(Py_mp_subscript, tensor_getitem),
    SLOT(Py_mp_ass_subscript, tensor_setitem),
    SLOT(Py_bf_getbuffer, get_buffer),
    SLOT(Py_bf_releasebuffer, release_buffer),
    {0, nullptr}};
PyType_Spec spec = {"argosy.Tensor", sizeof(TensorObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

PyObject* set_place_factory(PyObject*, PyObject* factory) {
  Py_XSETREF(place_factory, Py_NewRef(factory));
  Py_RETURN_NONE;
}
PyMethodDef functions[] = {
    {"_set_place_factory", set_place_factory, METH_O, "factory(kind, index) makes Place objects."},
    {}};

// Is the mark where wrap() takes it away? Reads only, until that is known.
bool finds_finalized_mark(PyObject* probe) {
  const uintptr_t before = finalized_word(probe);
  if (PyObject_GC_IsFinalized(probe) || before & kFinalized) return false;
  PyObject_CallFinalizer(probe);
  if (!PyObject_GC_IsFinalized(probe) || finalized_word(probe) != (before | kFinalized))
    return false;
  finalized_word(probe) &= ~kFinalized;
  return !PyObject_GC_IsFinalized(probe) && finalized_word(probe) == before;
}

void check_finalized_mark() {
  Py probe(wrap(Tensor::describe({}, DType::float32)));
  if (finds_finalized_mark(probe.get())) return;
  PyErr_Format(PyExc_ImportError,
               "Argosy cannot run on this Python (%s): it lays out objects in another way than "
               "CPython 3.10 to 3.13 do. Do this: use one of these.",
               Py_GetVersion());
  throw PythonError{};
}

}  // namespace

PyObject* wrap(Tensor t) {
  if (!t.defined()) Py_RETURN_NONE;
  TensorImpl* impl = t.impl();
  if (impl->python) {
    auto* existing = static_cast<PyObject*>(impl->python);
    if (!impl->owns_python) return Py_NewRef(existing);
    // The object counts its body again; we hand out the body's reference.
    impl->owns_python = false;
    impl->retain();
    finalized_word(existing) &= ~kFinalized;
    return existing;
  }
  TensorObject* self = PyObject_GC_New(TensorObject, tensor_type);
  if (!self) throw PythonError{};
  self->impl = impl;
  self->dict = nullptr;
  self->weakrefs = nullptr;
  impl->python = self;
  impl->retain();
  return reinterpret_cast<PyObject*>(self);
}

PyObject* wrap_list(std::span<const Tensor> list) {
  Py out(check(PyList_New(static_cast<Py_ssize_t>(list.size()))));
  for (size_t i = 0; i < list.size(); ++i)
    PyList_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), check(wrap(list[i])));
  return out.release();
}

void add_tensor_type(PyObject* module) {
  tensor_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)));
  PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type));
  add_size_type(module);
  add_count_type();
  add_grad_node_type();
  add_functions(module, functions);
  release_python_object = release_object;
  check_finalized_mark();
}

}  // namespace argosy::python

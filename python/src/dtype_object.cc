#include <string>

#include "python.h"

namespace argosy::python {
namespace {

struct DTypeObject {
  PyObject_HEAD DType value;
};

PyTypeObject* dtype_type = nullptr;
PyObject* singletons[kDTypeCount];

PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("paddle.%s", name_of(reinterpret_cast<DTypeObject*>(self)->value));
}

PyObject* get_name(PyObject* self, void*) {
  Py lower(PyUnicode_FromString(name_of(reinterpret_cast<DTypeObject*>(self)->value)));
  return PyObject_CallMethod(lower.get(), "upper", nullptr);
}

PyObject* get_itemsize(PyObject* self, void*) {
  return PyLong_FromLong(item_size(reinterpret_cast<DTypeObject*>(self)->value));
}

// Paddle's number of the type, which its files hold.
PyObject* get_value(PyObject* self, void*) {
  constexpr int kNumbers[kDTypeCount] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 18, 15, 16, 10, 11, 12, 13};
  return PyLong_FromLong(kNumbers[static_cast<int>(reinterpret_cast<DTypeObject*>(self)->value)]);
}

// int(dtype): the number that attributes of operations in Paddle's files give it (VarDesc.VarType).
PyObject* to_int(PyObject* self) {
  constexpr int kNumbers[kDTypeCount] = {0,  20, 21, -1, 1, -1, 2,  -1, 3,
                                         32, 33, 4,  22, 5, 6,  23, 24};
  DType type = reinterpret_cast<DTypeObject*>(self)->value;
  int number = kNumbers[static_cast<int>(type)];
  if (number >= 0) return PyLong_FromLong(number);
  return PyErr_Format(
      PyExc_TypeError,
      "[dtype] Paddle's attributes have no number for %s: expected a dtype that Paddle has."
      " Do this: use another dtype.",
      name_of(type));
}

// Dtypes are singletons; a program may also compare one with its name.
PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  bool same = a == b;
  if (!same && PyUnicode_Check(b)) {
    const char* text = PyUnicode_AsUTF8(b);
    if (!text) return nullptr;
    auto named = dtype_from_name(text);
    same = named && *named == reinterpret_cast<DTypeObject*>(a)->value;
  }
  return PyBool_FromLong(same == (op == Py_EQ));
}

Py_hash_t hash(PyObject* self) {
  return 7919 + static_cast<int>(reinterpret_cast<DTypeObject*>(self)->value);
}

PyObject* reduce(PyObject* self, PyObject*) {
  Py module(PyImport_ImportModule("argosy._core"));
  if (!module) return nullptr;
  return Py_BuildValue("N(s)", PyObject_GetAttrString(module.get(), "dtype"),
                       name_of(reinterpret_cast<DTypeObject*>(self)->value));
}

PyObject* construct(PyTypeObject*, PyObject* args, PyObject*) {
  PyObject* source;
  if (!PyArg_ParseTuple(args, "O", &source)) return nullptr;
  return guarded_object([&] { return wrap(to_dtype(source)); });
}

PyGetSetDef getters[] = {{"name", get_name, nullptr, "Upper-case name.", nullptr},
                         {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
                         {"value", get_value, nullptr, "Paddle's number of the type.", nullptr},
                         {}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_str, reinterpret_cast<void*>(repr)},
                       {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                       {Py_tp_hash, reinterpret_cast<void*>(hash)},
                       {Py_nb_int, reinterpret_cast<void*>(to_int)},
                       {Py_tp_getset, getters},
                       {Py_tp_methods, methods},
                       {Py_tp_new, reinterpret_cast<void*>(construct)},
                       {Py_tp_doc, const_cast<char*>("The type of a tensor's elements.")},
                       {0, nullptr}};
PyType_Spec spec = {"argosy.dtype", sizeof(DTypeObject), 0, Py_TPFLAGS_DEFAULT, slots};

// The name under which NumPy or Python knows a dtype-like object, or nothing.
std::string name_behind(PyObject* o) {
  for (const char* attribute : {"name", "__name__"}) {
    Py value(PyObject_GetAttrString(o, attribute));
    if (!value) {
      PyErr_Clear();
      continue;
    }
    if (PyUnicode_Check(value.get())) return PyUnicode_AsUTF8(value.get());
  }
  return {};
}

}  // namespace

PyObject* wrap(DType t) {
  return Py_NewRef(singletons[static_cast<int>(t)]);
}
bool is_dtype(PyObject* o) {
  return Py_TYPE(o) == dtype_type;
}

DType to_dtype(PyObject* o) {
  if (is_dtype(o)) return reinterpret_cast<DTypeObject*>(o)->value;
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::float64;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::int64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::bool_;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::complex128;
  std::string text;
  if (PyUnicode_Check(o))
    text = PyUnicode_AsUTF8(o);
  else
    text = name_behind(o);
  if (auto t = dtype_from_name(text)) return *t;
  if (text == "bool_") return DType::bool_;
  Py shown(PyObject_Repr(o));
  ARGOSY_THROW(type) << "Unknown dtype " << (shown ? PyUnicode_AsUTF8(shown.get()) : "?")
                     << ": expected one of bool, uint8, int8, int16, int32, int64, float16, "
                        "bfloat16, float32, float64, complex64, complex128 (or their NumPy form).";
}

void add_dtype_type(PyObject* module) {
  dtype_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)));
  PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(dtype_type));
  for (int i = 0; i < kDTypeCount; ++i) {
    auto* o = reinterpret_cast<DTypeObject*>(check(dtype_type->tp_alloc(dtype_type, 0)));
    o->value = static_cast<DType>(i);
    singletons[i] = reinterpret_cast<PyObject*>(o);
    PyModule_AddObjectRef(module, name_of(o->value), singletons[i]);
  }
}

}  // namespace argosy::python

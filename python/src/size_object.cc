#include "size_object.h"

// Size is a list of ints that also equals tuples, and stays a Size when it is joined with lists and
// tuples, repeated or sliced.
namespace argosy::python {
namespace {

PyTypeObject* size_type = nullptr;

bool is_size(PyObject* o) {
  return PyObject_TypeCheck(o, size_type);
}

PyObject* text(PyObject* self) {
  Py list(PyList_Type.tp_repr(self));
  return list ? PyUnicode_FromFormat("paddle.Size(%U)", list.get()) : nullptr;
}

// A Size of the items of a list, whose reference it takes over. Null stays null.
PyObject* size_of_list(PyObject* list) {
  Py items(list);
  if (!items) return nullptr;
  Py size(size_type->tp_alloc(size_type, 0));
  if (!size || PyList_SetSlice(size.get(), 0, 0, items.get())) return nullptr;
  return size.release();
}

int init(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (PyList_Type.tp_init(self, args, kwargs)) return -1;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(self); ++i) {
    PyObject* item = PyList_GET_ITEM(self, i);
    if (PyLong_Check(item)) continue;
    PyObject* number = PyNumber_Index(item);
    if (!number) {
      PyErr_Format(PyExc_TypeError,
                   "[Size] expected ints, got item %zd of type %s. Do this: convert it by int(..).",
                   i, Py_TYPE(item)->tp_name);
      return -1;
    }
    if (PyList_SetItem(self, i, number)) return -1;
  }
  return 0;
}

PyObject* compare(PyObject* self, PyObject* other, int op) {
  if (!PyTuple_Check(other) || (op != Py_EQ && op != Py_NE))
    return PyList_Type.tp_richcompare(self, other, op);
  Py list(PySequence_List(other));
  return list ? PyList_Type.tp_richcompare(self, list.get(), op) : nullptr;
}

// Either may be the Size.
PyObject* add(PyObject* a, PyObject* b) {
  for (PyObject* o : {a, b})
    if (!is_size(o) && !PyList_Check(o) && !PyTuple_Check(o)) Py_RETURN_NOTIMPLEMENTED;
  Py first(PySequence_List(a));
  if (!first) return nullptr;
  Py_ssize_t end = PyList_GET_SIZE(first.get());
  if (PyList_SetSlice(first.get(), end, end, b)) return nullptr;
  return size_of_list(first.release());
}

PyObject* repeat(PyObject* self, Py_ssize_t n) {
  return size_of_list(PyList_Type.tp_as_sequence->sq_repeat(self, n));
}

PyObject* subscript(PyObject* self, PyObject* key) {
  PyObject* found = PyList_Type.tp_as_mapping->mp_subscript(self, key);
  return PySlice_Check(key) ? size_of_list(found) : found;
}

PyObject* numel(PyObject* self, PyObject*) {
  int64_t n = 1;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(self); ++i)
    n *= PyLong_AsLongLong(PyList_GET_ITEM(self, i));
  return PyLong_FromLongLong(n);
}

PyMethodDef methods[] = {{"numel", numel, METH_NOARGS, "Product of the sizes."}, {}};
#define SLOT(id, function) \
  { id, reinterpret_cast<void*>(function) }
PyType_Slot slots[] = {SLOT(Py_tp_init, init),
                       SLOT(Py_tp_repr, text),
                       SLOT(Py_tp_richcompare, compare),
                       SLOT(Py_tp_hash, PyObject_HashNotImplemented),
                       SLOT(Py_tp_methods, methods),
                       SLOT(Py_nb_add, add),
                       SLOT(Py_sq_repeat, repeat),
                       SLOT(Py_mp_subscript, subscript),
                       {Py_tp_doc, const_cast<char*>("Sizes of a tensor; a list.")},
                       {0, nullptr}};
PyType_Spec spec = {"argosy.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

PyObject* size_of(const Shape& shape) {
  Py list(check(size_type->tp_alloc(size_type, 0)));
  for (int64_t v : shape) {
    Py item(check(PyLong_FromLongLong(v)));
    if (PyList_Append(list.get(), item.get())) throw PythonError{};
  }
  return list.release();
}

void add_size_type(PyObject* module) {
  Py bases(check(PyTuple_Pack(1, &PyList_Type)));
  size_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpecWithBases(&spec, bases.get())));
  PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(size_type));
}

}  // namespace argosy::python

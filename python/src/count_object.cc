#include "count_object.h"

#include <cstddef>
#include <new>
#include <type_traits>

#include "size_object.h"

namespace argosy::python {
namespace {

// An int keeps its digits behind its head, as many as it has, and PyLong's constructor knows
// nothing of fields behind them. So these stand behind the most digits that an int64 can have.
constexpr size_t kDigitBytes = 16;
struct CountObject {
  PyLongObject number;
  std::byte digits[kDigitBytes];
  Shape shape;
};
static_assert(std::is_trivially_destructible_v<Shape>);

PyTypeObject* count_type = nullptr;

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* dim = Py_None;
  const char* words[] = {"dim", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:size", const_cast<char**>(words), &dim))
    return nullptr;
  return guarded_object([&] {
    Py sizes(size_of(reinterpret_cast<CountObject*>(self)->shape));
    return dim == Py_None ? sizes.release() : PyObject_GetItem(sizes.get(), dim);
  });
}

// A plain int.
PyObject* reduce(PyObject* self, PyObject*) {
  return Py_BuildValue("O(N)", &PyLong_Type, PyNumber_Positive(self));
}

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("How many elements a tensor has. Called, it gives the tensor's "
                                  "sizes, or that of one axis.")},
    {0, nullptr}};
PyType_Spec spec = {"argosy.TensorSize", sizeof(CountObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyObject* count_of(int64_t numel, const Shape& shape) {
  Py number(check(PyLong_FromLongLong(numel)));
  Py args(check(PyTuple_Pack(1, number.get())));
  PyObject* count = check(PyLong_Type.tp_new(count_type, args.get(), nullptr));
  new (&reinterpret_cast<CountObject*>(count)->shape) Shape(shape);
  return count;
}

void add_count_type() {
  if (offsetof(CountObject, shape) < PyLong_Type.tp_basicsize + kDigitBytes) {
    PyErr_SetString(
        PyExc_ImportError,
        "argosy: this Python keeps the digits of an int elsewhere. Do this: build Argosy "
        "with it.");
    throw PythonError{};
  }
  Py bases(check(PyTuple_Pack(1, &PyLong_Type)));
  count_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpecWithBases(&spec, bases.get())));
}

}  // namespace argosy::python

#include "grad_node_object.h"

#include <cctype>
#include <new>
#include <string>
#include <utility>

namespace argosy::python {
namespace {

// Keeps the node, and with it the history before it, alive.
struct GradNodeObject {
  PyObject_HEAD Ref<autograd::Node> node;
};

PyTypeObject* grad_node_type = nullptr;

autograd::Node& node_of(PyObject* self) {
  return *reinterpret_cast<GradNodeObject*>(self)->node;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<GradNodeObject*>(self)->node.~Ref();
  type->tp_free(self);
  Py_DECREF(type);
}

// "batch_norm" -> "BatchNormGradNode", as Paddle calls its nodes.
std::string name_of(const autograd::Node& node) {
  if (dynamic_cast<const autograd::Accumulate*>(&node)) return "GradNodeAccumulation";
  std::string name;
  bool begins = true;
  for (const char* c = node.name(); *c; ++c) {
    if (*c == '_') {
      begins = true;
      continue;
    }
    name += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(*c))) : *c;
    begins = false;
  }
  return name + "GradNode";
}

PyObject* name(PyObject* self, PyObject*) {
  return guarded_object([&] { return PyUnicode_FromString(name_of(node_of(self)).c_str()); });
}

PyObject* repr(PyObject* self) {
  return guarded_object([&] {
    return PyUnicode_FromFormat("<%s of op %s>", name_of(node_of(self)).c_str(),
                                node_of(self).name());
  });
}

PyObject* node_ptr(PyObject* self, PyObject*) {
  return PyLong_FromVoidPtr(&node_of(self));
}

PyObject* next_functions(PyObject* self, void*) {
  return guarded_object([&]() -> PyObject* {
    Py list(check(PyList_New(0)));
    for (const autograd::Edge& edge : node_of(self).edges) {
      if (!edge.node) continue;
      Py next(grad_node_of(edge.node));
      if (PyList_Append(list.get(), next.get())) throw PythonError{};
    }
    return list.release();
  });
}

PyObject* compare(PyObject* self, PyObject* other, int op) {
  if ((op != Py_EQ && op != Py_NE) || Py_TYPE(other) != grad_node_type) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((&node_of(self) == &node_of(other)) == (op == Py_EQ));
}

Py_hash_t hash(PyObject* self) {
  return _Py_HashPointer(&node_of(self));
}

PyMethodDef methods[] = {
    {"name", name, METH_NOARGS,
     "Name of the gradient of the op: 'MultiplyGradNode'; 'GradNodeAccumulation' of a leaf."},
    {"node_ptr", node_ptr, METH_NOARGS, "Address of the node."},
    {}};
PyGetSetDef getters[] = {
    {"next_functions", next_functions, nullptr,
     "Nodes that the gradients go to, one for each input that needs one.", nullptr},
    {}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                       {Py_tp_hash, reinterpret_cast<void*>(hash)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getters},
                       {Py_tp_doc, const_cast<char*>("The gradient of the op that made a tensor.")},
                       {0, nullptr}};
PyType_Spec spec = {"argosy.GradNode", sizeof(GradNodeObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyObject* grad_node_of(Ref<autograd::Node> node) {
  if (!node) Py_RETURN_NONE;
  PyObject* self = check(grad_node_type->tp_alloc(grad_node_type, 0));
  new (&reinterpret_cast<GradNodeObject*>(self)->node) Ref<autograd::Node>(std::move(node));
  return self;
}

void add_grad_node_type() {
  grad_node_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)));
}

}  // namespace argosy::python

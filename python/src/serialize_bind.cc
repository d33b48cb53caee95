#include <unistd.h>

#include "argosy/program/cost.h"
#include "argosy/program/model.h"
#include "argosy/program/serialize.h"
#include "argosy/program/text.h"
#include "argosy/program/weights.h"
#include "functions.h"
#include "program.h"

// Functions of argosy._core that save and load Programs and weights.
namespace argosy::python {
namespace {

std::string path_of(PyObject* o) {
  PyObject* encoded = nullptr;
  if (!PyUnicode_FSConverter(o, &encoded)) throw PythonError{};
  Py owned(encoded);
  return PyBytes_AsString(encoded);
}

// As Python's open: FileNotFoundError, PermissionError.
void check_readable(const std::string& path) {
  if (::access(path.c_str(), R_OK) == 0) return;
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  throw PythonError{};
}

PyObject* text(const std::string& s) {
  return check(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
}

template <class F>
void each_item(PyObject* dict, F&& fn) {
  ARGOSY_CHECK(PyDict_Check(dict), type)
      << "expected a dict, got " << Py_TYPE(dict)->tp_name << '.';
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &value)) fn(key, value);
}

PyObject* dict_of(const program::NamedTensors& list) {
  Py dict(check(PyDict_New()));
  for (const auto& [name, t] : list) {
    Py key(text(name)), value(check(wrap(t)));
    if (PyDict_SetItem(dict.get(), key.get(), value.get())) throw PythonError{};
  }
  return dict.release();
}

PyObject* dict_of(const program::Strings& list) {
  Py dict(check(PyDict_New()));
  for (const auto& [key, value] : list) {
    Py k(text(key)), v(text(value));
    if (PyDict_SetItem(dict.get(), k.get(), v.get())) throw PythonError{};
  }
  return dict.release();
}

PyObject* f_to_bytes(Args a) {
  const std::string bytes = program::serialize(*program_of(a[0]));
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

PyObject* f_from_bytes(Args a) {
  Py_buffer view;
  if (PyObject_GetBuffer(a[0], &view, PyBUF_SIMPLE)) throw PythonError{};
  struct Release {
    Py_buffer* view;
    ~Release() { PyBuffer_Release(view); }
  } release{&view};
  return wrap_program(
      program::deserialize({static_cast<const char*>(view.buf), static_cast<size_t>(view.len)}));
}

// (path, {name: tensor}, {key: text} or None)
PyObject* f_weights_save(Args a) {
  const std::string path = path_of(a[0]);
  program::NamedTensors list;
  each_item(a[1], [&](PyObject* key, PyObject* value) {
    ARGOSY_CHECK(is_tensor(value), type)
        << "[weights_save] '" << text_of(key) << "' is no Tensor but " << Py_TYPE(value)->tp_name;
    list.emplace_back(text_of(key), tensor_of(value));
  });
  program::Strings metadata;
  if (a[2] != Py_None)
    each_item(a[2], [&](PyObject* key, PyObject* value) {
      metadata.emplace_back(text_of(key), text_of(value));
    });
  {
    WithoutGil no_gil;
    program::save_weights(path, list, metadata);
  }
  Py_RETURN_NONE;
}

// path: ({name: tensor}, {key: text})
PyObject* f_weights_load(Args a) {
  const std::string path = path_of(a[0]);
  check_readable(path);
  program::NamedTensors list;
  program::Strings metadata;
  {
    WithoutGil no_gil;
    list = program::load_weights(path, &metadata);
  }
  Py tensors(dict_of(list)), texts(dict_of(metadata));
  return PyTuple_Pack(2, tensors.get(), texts.get());
}

// (program, prefix, scope or None)
PyObject* f_save(Args a) {
  auto p = program_of(a[0]);
  const std::string prefix = path_of(a[1]);
  std::shared_ptr<program::Scope> scope = a[2] == Py_None ? nullptr : scope_of(a[2]);
  program::save_model(*p, prefix, scope.get());
  Py_RETURN_NONE;
}

// prefix: (program, scope)
PyObject* f_load(Args a) {
  const std::string prefix = path_of(a[0]);
  check_readable(prefix + ".argosy");
  check_readable(prefix + ".safetensors");
  program::Model m;
  {
    WithoutGil no_gil;
    m = program::load_model(prefix);
  }
  Py p(wrap_program(m.program)), s(wrap_scope(m.scope));
  return PyTuple_Pack(2, p.get(), s.get());
}

// (text, tensors of constants, may constants be without data)
PyObject* f_parse(Args a) {
  return wrap_program(program::parse(text_of(a[0]), to_tensor_list("parse", a[1]), truth(a[2])));
}

// (program, size that stands for unknown ones):
// [(op, count, arithmetic, bytes, parameters, estimated)]
PyObject* f_cost(Args a) {
  Py list(check(PyList_New(0)));
  for (const program::OpCost& c : program::cost(*program_of(a[0]), to_int(a[1]))) {
    Py row(check(Py_BuildValue("(sLddLN)", c.op.c_str(), static_cast<long long>(c.count),
                               c.arithmetic, c.bytes, static_cast<long long>(c.parameters),
                               PyBool_FromLong(c.estimated))));
    if (PyList_Append(list.get(), row.get())) throw PythonError{};
  }
  return list.release();
}

// The number that a symbolic tensor's value is printed with, or None.
PyObject* f_value_id(Args a) {
  program::Value* v = program::value_of(tensor_of(a[0]));
  if (!v) Py_RETURN_NONE;
  return PyLong_FromUnsignedLong(v->id);
}

PyObject* f_metadata(Args a) {
  return dict_of(program_of(a[0])->metadata);
}

// (program, {key: text}): replaces it.
PyObject* f_set_metadata(Args a) {
  program::Strings metadata;
  each_item(a[1], [&](PyObject* key, PyObject* value) {
    metadata.emplace_back(text_of(key), text_of(value));
  });
  program_of(a[0])->metadata = std::move(metadata);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {FUNCTION("program_to_bytes", f_to_bytes, 1),
                           FUNCTION("program_from_bytes", f_from_bytes, 1),
                           FUNCTION("program_save", f_save, 3),
                           FUNCTION("program_load", f_load, 1),
                           FUNCTION("program_parse", f_parse, 3),
                           FUNCTION("program_cost", f_cost, 2),
                           FUNCTION("program_value_id", f_value_id, 1),
                           FUNCTION("program_metadata", f_metadata, 1),
                           FUNCTION("program_set_metadata", f_set_metadata, 2),
                           FUNCTION("weights_save", f_weights_save, 3),
                           FUNCTION("weights_load", f_weights_load, 1),
                           {}};

}  // namespace

void add_serialize(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

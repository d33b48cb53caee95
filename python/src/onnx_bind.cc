#include "onnx.h"

#include "argosy/infer/onnx.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/host_work.h"
#include "argosy/program/builder.h"
#include "functions.h"
#include "program.h"
#include "shared_capsule.h"

// Functions of argosy._core over ONNX models, which Python holds as capsules; the classes are in
// argosy/onnx.
namespace argosy::python {
namespace {

using infer::OnnxGiven;
using infer::OnnxModel;
using infer::OnnxPort;

constexpr const char* kName = "argosy.onnx_model";

const OnnxModel& model_of(PyObject* o) {
  return *unwrap<OnnxModel>(o, kName);
}

PyObject* f_open(Args a) {
  const std::string path = text_of(a[0]);
  std::shared_ptr<OnnxModel> model;
  {
    WithoutGil no_gil;
    model = infer::open_onnx(path);
  }
  return wrap_shared(std::move(model), kName);
}

// (bytes, folder)
PyObject* f_parse(Args a) {
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(a[0], &bytes, &size)) throw PythonError{};
  return wrap_shared(infer::parse_onnx({bytes, static_cast<size_t>(size)}, text_of(a[1])), kName);
}

void append(PyObject* list, PyObject* item) {
  Py owned(check(item));
  if (PyList_Append(list, owned.get())) throw PythonError{};
}

PyObject* text(const std::string& s) {
  return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace");
}

PyObject* sizes_of(const Shape& shape) {
  Py list(check(PyList_New(0)));
  for (int64_t size : shape) append(list.get(), PyLong_FromLongLong(size));
  return list.release();
}

PyObject* describe(const std::vector<OnnxPort>& ports) {
  static constexpr const char* kKinds[] = {"tensor", "sequence", "optional", "optional sequence"};
  Py list(check(PyList_New(0)));
  for (const OnnxPort& port : ports) {
    Py d(check(PyDict_New())), axes(check(PyList_New(0)));
    for (const std::string& axis : port.axes) append(axes.get(), text(axis));
    put(d.get(), "name", text(port.name));
    put(d.get(), "kind", PyUnicode_FromString(kKinds[static_cast<size_t>(port.kind)]));
    put(d.get(), "dtype", PyUnicode_FromString(name_of(port.dtype)));
    put(d.get(), "element", PyLong_FromLong(port.element));
    if (port.ranked)
      put(d.get(), "shape", sizes_of(port.shape));
    else
      put(d.get(), "shape", Py_NewRef(Py_None));
    put(d.get(), "axes", axes.release());
    append(list.get(), d.release());
  }
  return list.release();
}

// model -> {"inputs", "outputs", "metadata"}
PyObject* f_describe(Args a) {
  const OnnxModel& model = model_of(a[0]);
  Py d(check(PyDict_New())), metadata(check(PyDict_New()));
  for (const auto& [key, value] : model.metadata()) {
    Py k(check(text(key))), v(check(text(value)));
    if (PyDict_SetItem(metadata.get(), k.get(), v.get())) throw PythonError{};
  }
  put(d.get(), "inputs", describe(model.inputs()));
  put(d.get(), "outputs", describe(model.outputs()));
  put(d.get(), "metadata", metadata.release());
  return d.release();
}

// (name, None) is missing, (name, [tensor or (shape, dtype)]) is known.
OnnxGiven given_of(PyObject* pair) {
  OnnxGiven given;
  given.name = text_of(PyTuple_GetItem(pair, 0));
  PyObject* value = PyTuple_GetItem(pair, 1);
  given.missing = value == Py_None;
  if (given.missing) return given;
  Py list(check(PySequence_Fast(value, "expected a list")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list.get(), i);
    given.tensors.push_back(PyTuple_Check(item)
                                ? Tensor::describe(to_shape(PyTuple_GetItem(item, 0)),
                                                   to_dtype(PyTuple_GetItem(item, 1)))
                                : op::contiguous(op::to_place(tensor_of(item), Place{})).detach());
  }
  return given;
}

// (model, [(name, what is given)]) -> (program or None, [(name, kind, count, element)],
// [(input, is its value needed)])
PyObject* f_build(Args a) {
  std::vector<OnnxGiven> given;
  Py list(check(PySequence_Fast(a[1], "expected a list")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
    given.push_back(given_of(PySequence_Fast_GET_ITEM(list.get(), i)));
  const OnnxModel& model = model_of(a[0]);
  infer::OnnxProgram made;
  {
    WithoutGil no_gil;
    program::Recording off(nullptr);
    const op::MakesOnHost on_host;
    made = model.build(given);
  }
  Py outputs(check(PyList_New(0))), needs(check(PyList_New(0)));
  for (const infer::OnnxOutput& o : made.outputs)
    append(outputs.get(), Py_BuildValue("(NOOni)", text(o.name), o.sequence ? Py_True : Py_False,
                                        o.missing ? Py_True : Py_False,
                                        static_cast<Py_ssize_t>(o.count), o.element));
  for (const infer::OnnxNeed& need : made.needs)
    append(needs.get(), Py_BuildValue("(NO)", text(need.input), need.value ? Py_True : Py_False));
  PyObject* program = made.program ? wrap_program(made.program) : Py_NewRef(Py_None);
  return check(Py_BuildValue("(NNN)", program, outputs.release(), needs.release()));
}

// (program, opset, name, [[names of axes] of each input]) -> bytes
PyObject* f_write(Args a) {
  infer::OnnxExport options;
  options.opset = to_int(a[1]);
  options.name = text_of(a[2]);
  Py inputs(check(PySequence_Fast(a[3], "expected a list")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(inputs.get()); ++i) {
    Py axes(check(PySequence_Fast(PySequence_Fast_GET_ITEM(inputs.get(), i), "expected a list")));
    std::vector<std::string> names;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(axes.get()); ++k)
      names.push_back(text_of(PySequence_Fast_GET_ITEM(axes.get(), k)));
    options.axes.push_back(std::move(names));
  }
  const auto& program = program_of(a[0]);
  std::string bytes;
  {
    WithoutGil no_gil;
    bytes = infer::write_onnx(*program, options);
  }
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

PyMethodDef functions[] = {
    FUNCTION("onnx_open", f_open, 1),         FUNCTION("onnx_parse", f_parse, 2),
    FUNCTION("onnx_describe", f_describe, 1), FUNCTION("onnx_build", f_build, 2),
    FUNCTION("onnx_write", f_write, 4),       {}};

}  // namespace

void add_onnx(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

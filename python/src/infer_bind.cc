#include "argosy/infer/predictor.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/host_work.h"
#include "array.h"
#include "functions.h"
#include "program.h"
#include "python.h"
#include "shared_capsule.h"

// Functions of argosy._core over predictors, which Python holds as capsules.
namespace argosy::python {
namespace {

using infer::Options;
using infer::Port;
using infer::Predictor;

constexpr const char* kName = "argosy.predictor";

Predictor& predictor_of(PyObject* o) {
  void* p = PyCapsule_GetPointer(o, kName);
  if (!p) throw PythonError{};
  return *static_cast<Predictor*>(p);
}

PyObject* capsule(std::unique_ptr<Predictor> predictor) {
  PyObject* made = check(PyCapsule_New(predictor.get(), kName, [](PyObject* o) {
    delete static_cast<Predictor*>(PyCapsule_GetPointer(o, kName));
  }));
  predictor.release();
  return made;
}

std::string_view bytes_of(PyObject* o) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(o, &data, &size)) throw PythonError{};
  return {data, static_cast<size_t>(size)};
}

std::vector<std::string> texts_of(PyObject* o) {
  Py list(check(PySequence_Fast(o, "expected a list of names")));
  std::vector<std::string> texts;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
    texts.push_back(text_of(PySequence_Fast_GET_ITEM(list.get(), i)));
  return texts;
}

// {name of a field of Options: value}
Options options_of(PyObject* dict) {
  Options options;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    const std::string name = text_of(key);
    if (name == "path")
      options.model.path = text_of(value);
    else if (name == "weights")
      options.model.weights = text_of(value);
    else if (name == "program_bytes")
      options.model.program_bytes = bytes_of(value);
    else if (name == "weight_bytes")
      options.model.weight_bytes = bytes_of(value);
    else if (name == "optimize")
      options.optimize = truth(value);
    else if (name == "without")
      options.without = texts_of(value);
    else if (name == "plans")
      options.plans = static_cast<size_t>(to_int(value));
    else if (name == "memory_limit")
      options.memory_limit = static_cast<size_t>(to_int(value));
    else if (name == "time_limit")
      options.time_limit = to_double(value);
    else if (name == "device")
      options.device = text_of(value);
    else if (name == "device_index")
      options.device_index = static_cast<int>(to_int(value));
    else if (name == "device_pool")
      options.device_pool = static_cast<size_t>(to_int(value));
    else if (name == "precision")
      options.precision = to_dtype(value);
    else if (name == "lowered")
      options.lowered = texts_of(value);
    else if (name == "kept_float")
      options.kept_float = texts_of(value);
    else
      ARGOSY_THROW(type) << "[infer_load] there is no option '" << name << "'.";
  }
  return options;
}

PyObject* f_load(Args a) {
  const Options options = options_of(a[0]);
  std::unique_ptr<Predictor> made;
  {
    WithoutGil no_gil;
    const op::MakesOnHost on_host;
    made = std::make_unique<Predictor>(options);
  }
  return capsule(std::move(made));
}

// (program, scope) of a model as its files have it.
PyObject* f_read(Args a) {
  const Options options = options_of(a[0]);
  program::Model m;
  {
    WithoutGil no_gil;
    const op::MakesOnHost on_host;
    m = infer::load(options.model);
  }
  Py p(wrap_program(m.program)), s(wrap_scope(m.scope));
  return PyTuple_Pack(2, p.get(), s.get());
}

PyObject* f_clone(Args a) {
  return capsule(predictor_of(a[0]).clone());
}

PyObject* list_of(std::span<const Port> ports) {
  Py list(check(PyList_New(0)));
  for (const Port& p : ports) {
    Py shape(check(PyList_New(0)));
    for (int64_t v : p.shape) {  // empty where it is not ranked
      Py size(check(PyLong_FromLongLong(v)));
      if (PyList_Append(shape.get(), size.get())) throw PythonError{};
    }
    Py row(check(Py_BuildValue("(sNO)", p.name.c_str(), wrap(p.dtype), shape.get())));
    if (PyList_Append(list.get(), row.get())) throw PythonError{};
  }
  return list.release();
}

// ([(name, dtype, shape)] of inputs, of outputs); a shape of which nothing is known is [].
PyObject* f_ports(Args a) {
  const Predictor& p = predictor_of(a[0]);
  return check(Py_BuildValue("(NN)", list_of(p.inputs()), list_of(p.outputs())));
}

size_t place(PyObject* o, size_t count) {
  const int64_t i = to_int(o);
  ARGOSY_CHECK(i >= 0 && static_cast<size_t>(i) < count, index) << "there is no port " << i << '.';
  return static_cast<size_t>(i);
}

// A tensor, or a view of an array, which is on the host whatever place is current.
Tensor fed(PyObject* o) {
  if (is_tensor(o)) return tensor_of(o);
  const op::MakesOnHost on_host;
  return from_data(o, Py_None, false);
}

// (predictor, i, array): copied into memory of the predictor.
PyObject* f_copy_in(Args a) {
  Predictor& p = predictor_of(a[0]);
  const size_t i = place(a[1], p.inputs().size());
  const Port& port = p.inputs()[i];
  if (!is_tensor(a[2]) && copy_buffer_of(a[2], port.dtype, [&](const Shape& shape) {
        return p.input_buffer(i, shape).raw();
      }))
    Py_RETURN_NONE;
  const Tensor from = fed(a[2]);
  ARGOSY_CHECK(from.dtype() == port.dtype, type)
      << "[copy_from_cpu] input '" << port.name << "': expected " << port.dtype << ", got "
      << from.dtype() << ". Do this: convert the array with .astype().";
  const Tensor& to = p.input_buffer(i, from.shape());
  if (from.numel()) op::copy_into(to, from);
  Py_RETURN_NONE;
}

// (predictor, i, shape): memory of that shape, to be filled.
PyObject* f_reshape(Args a) {
  Predictor& p = predictor_of(a[0]);
  p.input_buffer(place(a[1], p.inputs().size()), to_shape(a[2]));
  Py_RETURN_NONE;
}

// (predictor, i, array or tensor): read where it is by each run.
PyObject* f_share(Args a) {
  Predictor& p = predictor_of(a[0]);
  const size_t i = place(a[1], p.inputs().size());
  p.set_input(i, fed(a[2]));
  Py_RETURN_NONE;
}

// (predictor, i): what was set, or None.
PyObject* f_input(Args a) {
  Predictor& p = predictor_of(a[0]);
  return wrap(p.input_tensor(place(a[1], p.inputs().size())));
}

PyObject* f_run(Args a) {
  Predictor& p = predictor_of(a[0]);
  {
    WithoutGil no_gil;
    p.run();
  }
  Py_RETURN_NONE;
}

PyObject* f_interrupt(Args a) {
  predictor_of(a[0]).interrupt();
  Py_RETURN_NONE;
}

// (predictor, i): the output, or None before a run.
PyObject* f_output(Args a) {
  const Predictor& p = predictor_of(a[0]);
  return wrap(p.output_tensor(place(a[1], p.outputs().size())));
}

// (predictor, i): the output as an array of its own, or None before a run.
PyObject* f_copy_out(Args a) {
  const Predictor& p = predictor_of(a[0]);
  const size_t i = place(a[1], p.outputs().size());
  Tensor t;
  if (p.place().kind == DeviceKind::cpu) {
    t = p.output_tensor(i);
  } else {
    WithoutGil no_gil;  // it waits
    t = p.output_on_host(i);
  }
  if (!t.defined()) Py_RETURN_NONE;
  return to_numpy(t, true);
}

// (predictor, i): the shape of the output, or None before a run.
PyObject* f_output_shape(Args a) {
  const Predictor& p = predictor_of(a[0]);
  const auto shape = p.output_shape(place(a[1], p.outputs().size()));
  if (!shape) Py_RETURN_NONE;
  Py list(check(PyList_New(0)));
  for (int64_t v : *shape) {
    Py size(check(PyLong_FromLongLong(v)));
    if (PyList_Append(list.get(), size.get())) throw PythonError{};
  }
  return list.release();
}

PyObject* f_release(Args a) {
  predictor_of(a[0]).release_memory();
  Py_RETURN_NONE;
}

// What the passes made of the model; None before the first run where what is fed decides it.
PyObject* f_program(Args a) {
  const std::shared_ptr<program::Program>& p = predictor_of(a[0]).program();
  if (!p) Py_RETURN_NONE;
  return wrap_program(p);
}

// The steps of the last run as text, or None.
PyObject* f_plan(Args a) {
  const runtime::Plan* plan = predictor_of(a[0]).plan();
  if (!plan) Py_RETURN_NONE;
  return check(PyUnicode_FromString(plan->print().c_str()));
}

PyMethodDef functions[] = {FUNCTION("infer_load", f_load, 1),
                           FUNCTION("infer_clone", f_clone, 1),
                           FUNCTION("infer_ports", f_ports, 1),
                           FUNCTION("infer_copy_in", f_copy_in, 3),
                           FUNCTION("infer_read", f_read, 1),
                           FUNCTION("infer_reshape", f_reshape, 3),
                           FUNCTION("infer_share", f_share, 3),
                           FUNCTION("infer_input", f_input, 2),
                           FUNCTION("infer_run", f_run, 1),
                           FUNCTION("infer_interrupt", f_interrupt, 1),
                           FUNCTION("infer_output", f_output, 2),
                           FUNCTION("infer_copy_out", f_copy_out, 2),
                           FUNCTION("infer_release", f_release, 1),
                           FUNCTION("infer_program", f_program, 1),
                           FUNCTION("infer_plan", f_plan, 1),
                           FUNCTION("infer_output_shape", f_output_shape, 2),
                           {}};

}  // namespace

void add_infer(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

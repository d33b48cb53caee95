#include "argosy/op/library.h"

#include "argosy/extension/access.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/runtime_op.h"
#include "argosy/ops/creation/creation.h"
#include "entries.h"
#include "functions.h"

// Ops that come while the process runs: from libraries, and described in Python.
namespace argosy::python {
namespace {

PyObject* names_of(const std::vector<const op::OpDef*>& list) {
  Py names(check(PyList_New(0)));
  for (const op::OpDef* def : list) {
    Py name(check(
        PyUnicode_FromStringAndSize(def->name.data(), static_cast<Py_ssize_t>(def->name.size()))));
    if (PyList_Append(names.get(), name.get())) throw PythonError{};
  }
  return names.release();
}

// load_op_library(path) -> names of its ops
PyObject* f_load(Args args) {
  std::vector<const op::OpDef*> list = op::load_library(text_of(args[0]));
  add_entries(list);
  return names_of(list);
}

PyObject* f_abi_version(Args) {
  return PyUnicode_FromString(op::abi_version());
}

// inplace_of(name) -> [(output, input), ..]
PyObject* f_inplace_of(Args args) {
  Py list(check(PyList_New(0)));
  for (auto [out, in] : extension::inplace_of(op::get(text_of(args[0])))) {
    Py pair(
        check(Py_BuildValue("(nn)", static_cast<Py_ssize_t>(out), static_cast<Py_ssize_t>(in))));
    if (PyList_Append(list.get(), pair.get())) throw PythonError{};
  }
  return list.release();
}

// --- ops whose functions are Python's ---

// Of the one attribute that such an op has: the values of all parameters that are no tensors, as
// Python writes them.
const std::string& constants_of(const op::OpDef& op, const void* attrs) {
  return op::runtime_field<std::string>(op, attrs, 0);
}

PyObject* form_of(const Tensor& t) {
  Py shape(check(PyList_New(0)));
  for (int64_t size : t.shape()) {
    Py item(check(PyLong_FromLongLong(size)));
    if (PyList_Append(shape.get(), item.get())) throw PythonError{};
  }
  Py dtype(check(wrap(t.dtype())));
  return check(PyTuple_Pack(2, shape.get(), dtype.get()));
}

// function([(shape, dtype), ..], constants) -> [(shape, dtype), ..], one for each output
void infer_python(PyObject* function, op::InferContext& c, const void* attrs) {
  WithGil gil;
  try {
    Py forms(check(PyList_New(0)));
    for (const Tensor& t : c.in.flat()) {
      Py form(form_of(t));
      if (PyList_Append(forms.get(), form.get())) throw PythonError{};
    }
    Py constants(check(PyUnicode_FromString(constants_of(c.op, attrs).c_str())));
    Py made(check(PyObject_CallFunctionObjArgs(function, forms.get(), constants.get(), nullptr)));
    const Py_ssize_t count = PySequence_Size(made.get());
    ARGOSY_CHECK(count == static_cast<Py_ssize_t>(c.out.size()), invalid_argument)
        << '[' << c.name() << "] infer_meta must return one MetaTensor for each output: expected "
        << c.out.size() << ", got " << count << '.';
    for (size_t i = 0; i < c.out.size(); ++i) {
      Py form(check(PySequence_GetItem(made.get(), static_cast<Py_ssize_t>(i))));
      Py shape(check(PySequence_GetItem(form.get(), 0))),
          dtype(check(PySequence_GetItem(form.get(), 1)));
      c.out[i] = {to_shape(shape.get()), to_dtype(dtype.get())};
    }
  } catch (const PythonError&) {
    throw_python_error();
  }
}

// function([Tensor, ..], constants) -> [Tensor, ..]
void run_python(PyObject* function, op::KernelFrame& f, const void* attrs) {
  op::InsideKernel inside;
  WithGil gil;
  try {
    Tensors in;
    for (const Tensor& t : f.in.flat()) in.push_back(t.defined() ? t.detach() : t);
    Py list(check(wrap_list(in)));
    Py constants(check(PyUnicode_FromString(constants_of(f.op, attrs).c_str())));
    Py made(check(PyObject_CallFunctionObjArgs(function, list.get(), constants.get(), nullptr)));
    Tensors out;
    for (Tensor& t : to_tensor_list(f.name(), made.get()))
      out.push_back(t.defined() ? t.detach() : std::move(t));
    op::give_outputs(f, std::move(out));
  } catch (const PythonError&) {
    throw_python_error();
  }
}

std::vector<std::string> texts_of(PyObject* list) {
  std::vector<std::string> out;
  for (Py_ssize_t i = 0; i < PySequence_Size(list); ++i) {
    Py item(check(PySequence_GetItem(list, i)));
    out.push_back(text_of(item.get()));
  }
  return out;
}

// The rule of an op with `inputs` inputs: `def` of inputs, outputs and gradients of outputs, in
// this order, gives the gradients of the inputs.
Tensors gradient_by(const op::OpDef& def, const op::GradCall& c, const void* attrs) {
  std::vector<Tensor> all(c.in.flat().begin(), c.in.flat().end());
  all.insert(all.end(), c.outs().begin(), c.outs().end());
  for (size_t i = 0; i < c.dys().size(); ++i)
    all.push_back(c.dy(i).defined() ? c.dy(i) : ops::zeros_like(c.out(i)));
  ARGOSY_CHECK(def.inputs.size() == all.size() && def.outputs.size() == c.in.flat().size(),
               invalid_argument)
      << '[' << c.op.name << "] backward: " << def.name << " takes " << def.inputs.size()
      << " tensors and gives " << def.outputs.size() << ": expected " << all.size() << " (inputs, "
      << "outputs, gradients of outputs) and " << c.in.flat().size() << " (gradients of inputs).";
  const op::AttrBox box = op::runtime_attrs(def, c.op, attrs);
  return op::dispatch(def, op::Inputs(all), box.get());
}

// register_python_op(name, doc, file, inputs, outputs, infer, forward, gradient, pure): `gradient`
// is the name of another such op, or None.
PyObject* f_register(Args args) {
  op::RuntimeOp r;
  r.name = text_of(args[0]);
  r.doc = text_of(args[1]);
  r.file = text_of(args[2]);
  const std::string gradient = args[7] == Py_None ? "" : text_of(args[7]);
  const op::OpDef* back = gradient.empty() ? nullptr : &op::get(gradient);
  for (const std::string& name : texts_of(args[3])) {
    op::InputDef in;
    in.name = name;
    in.save = back ? op::Save::value : op::Save::nothing;
    r.inputs.push_back(std::move(in));
  }
  for (const std::string& name : texts_of(args[4])) {
    op::OutputDef out;
    out.name = name;
    out.save = back ? op::Save::value : op::Save::nothing;
    r.outputs.push_back(std::move(out));
  }
  r.attrs.push_back({"constants", op::FieldKind::string});
  r.effect = truth(args[8]) ? op::Effect::pure : op::Effect::io;
  // Kept for the length of the process, as the op is.
  PyObject* infer = Py_NewRef(args[5]);
  PyObject* forward = Py_NewRef(args[6]);
  r.infer = [infer](op::InferContext& c, const void* a) { infer_python(infer, c, a); };
  r.run = [forward](op::KernelFrame& f, const void* a) { run_python(forward, f, a); };
  if (back) {
    r.gradient = [back](const op::GradCall& c, const void* a) { return gradient_by(*back, c, a); };
  } else {
    r.gradient = [](const op::GradCall& c, const void*) -> Tensors {
      ARGOSY_THROW(not_implemented)
          << '[' << c.op.name << "] has no gradient. Do this: give register_op a backward=, or cut "
          << "the gradient off with x.detach().";
    };
  }
  op::Registration registration;
  op::register_runtime_op(std::move(r));
  const std::vector<const op::OpDef*> made = registration.commit();
  add_entries(made);
  return names_of(made);
}

PyMethodDef functions[] = {FUNCTION("load_op_library", f_load, 1),
                           FUNCTION("abi_version", f_abi_version, 0),
                           FUNCTION("inplace_of", f_inplace_of, 1),
                           FUNCTION("register_python_op", f_register, 9),
                           {}};

}  // namespace

void add_library(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

#include "argosy/infer/paddle.h"
#include "argosy/op/host_work.h"
#include "argosy/program/builder.h"

#include "functions.h"
#include "paddle.h"
#include "program.h"

namespace argosy::python {
namespace {

std::string_view bytes_of(PyObject* o) {
  if (o == Py_None) return {};
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(o, &bytes, &size)) throw PythonError{};
  return {bytes, static_cast<size_t>(size)};
}

// (path of the Program, path of the weights or "", bytes of both instead or None): (program, scope)
PyObject* f_load(Args a) {
  infer::ImportOptions options;
  options.path = text_of(a[0]);
  options.weights = text_of(a[1]);
  options.program_bytes = bytes_of(a[2]);
  options.weight_bytes = bytes_of(a[3]);
  program::Model m;
  {
    WithoutGil no_gil;
    const op::MakesOnHost on_host;
    m = infer::load_paddle(options);
  }
  Py p(wrap_program(m.program)), s(wrap_scope(m.scope));
  return PyTuple_Pack(2, p.get(), s.get());
}

// (program, scope or None, is it a .pdmodel?): the bytes of .json or .pdmodel, and of .pdiparams
PyObject* f_write(Args a) {
  const auto& program = program_of(a[0]);
  program::Scope* scope = a[1] == Py_None ? nullptr : scope_of(a[1]).get();
  const auto form = truth(a[2]) ? infer::PaddleProgram::pdmodel : infer::PaddleProgram::json;
  infer::PaddleFiles files;
  {
    WithoutGil no_gil;
    program::Recording off(nullptr);
    files = infer::write_paddle(*program, scope, form);
  }
  auto bytes = [](const std::string& s) {
    return PyBytes_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
  };
  Py description(check(bytes(files.program))), parameters(check(bytes(files.parameters)));
  return PyTuple_Pack(2, description.get(), parameters.get());
}

PyMethodDef functions[] = {
    FUNCTION("paddle_load", f_load, 4), FUNCTION("paddle_write", f_write, 3), {}};

}  // namespace

void add_paddle(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

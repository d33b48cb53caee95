#pragma once

#include <memory>

#include "argosy/program/scope.h"
#include "python.h"

namespace argosy::program {
class Program;
}

// Programs and Scopes, which Python holds as capsules (program_bind.cc).
namespace argosy::python {

std::shared_ptr<program::Program>& program_of(PyObject* capsule);
std::shared_ptr<program::Scope>& scope_of(PyObject* capsule);
PyObject* wrap_program(std::shared_ptr<program::Program> p);
PyObject* wrap_scope(std::shared_ptr<program::Scope> s);

}  // namespace argosy::python

#pragma once

#include <memory>

#include "functions.h"

namespace argosy::ps {
class Client;
}

// Bindings of libargosy_ps: the module argosy._ps, imported at the first use of a parameter server.
namespace argosy::python {

// What PyBuffer_* lend, given back at the end. `format` is the struct module's letter.
class Buffer {
 public:
  Buffer(PyObject* object, char format, bool writable);
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len / view_.itemsize); }

 private:
  Py_buffer view_;
};

// Each file of bindings adds its functions to the module.
void add_modes(PyObject* module);
void add_tables(PyObject* module);
void add_snapshots(PyObject* module);
// Options of a class as JSON, from one positional argument or keyword arguments (server_bind.cc).
std::string json_of(PyObject* args, PyObject* keywords);
// Of an argosy._ps.Client; throws TypeError for others.
std::shared_ptr<ps::Client> client_of(PyObject* o);

void add_client(PyObject* module);
void add_server(PyObject* module);

}  // namespace argosy::python

#include <csignal>

#include "argosy/ps/service/server.h"
#include "bindings.h"

// argosy._ps.Server(options as JSON, or as keyword arguments; see server.h)
namespace argosy::python {

// What json.dumps makes of the one positional argument or of the keyword arguments; a string is
// taken as JSON.
std::string json_of(PyObject* args, PyObject* keywords) {
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  ARGOSY_CHECK(count <= 1 && (count == 0 || !keywords || PyDict_GET_SIZE(keywords) == 0), type)
      << "expected options as one JSON text or as keyword arguments, got " << count
      << " positional arguments.";
  PyObject* options = count ? PyTuple_GET_ITEM(args, 0) : keywords;
  if (options && PyUnicode_Check(options)) return text_of(options);
  if (!options) return "{}";
  Py json(check(PyImport_ImportModule("json")));
  Py text(check(PyObject_CallMethod(json.get(), "dumps", "O", options)));
  return text_of(text.get());
}

namespace {

struct ServerObject {
  PyObject_HEAD std::unique_ptr<ps::Server>* server;
};

ps::Server& server_of(PyObject* self) {
  return **reinterpret_cast<ServerObject*>(self)->server;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded_object([&]() -> PyObject* {
    const ps::ServerOptions options = ps::parse_server_options(json_of(args, keywords));
    std::unique_ptr<ps::Server> server;
    {
      WithoutGil without;  // recovery may take long
      server = ps::serve(options);
    }
    auto* self = reinterpret_cast<ServerObject*>(check(type->tp_alloc(type, 0)));
    self->server = new std::unique_ptr<ps::Server>(std::move(server));
    return reinterpret_cast<PyObject*>(self);
  });
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  auto* server = reinterpret_cast<ServerObject*>(self)->server;
  if (server) {
    WithoutGil without;
    delete server;
  }
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* get_port(PyObject* self, void*) {
  return PyLong_FromLong(server_of(self).port());
}

PyObject* wait(PyObject* self, PyObject* args) {
  return guarded_object([&]() -> PyObject* {
    PyObject* limit = Py_None;
    if (!PyArg_ParseTuple(args, "|O:wait", &limit)) return nullptr;
    double left = -1;
    if (limit != Py_None) {
      left = PyFloat_AsDouble(limit);
      if (PyErr_Occurred()) return nullptr;
    }
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    ps::Server& server = server_of(self);
    while (true) {
      bool stopped;
      const std::chrono::duration<double> spent = Clock::now() - start;
      double slice = 0.1;
      if (limit != Py_None) slice = std::max(0.0, std::min(slice, left - spent.count()));
      {
        WithoutGil without;
        stopped = server.wait_for(std::chrono::milliseconds(static_cast<int64_t>(slice * 1000)));
      }
      if (PyErr_CheckSignals()) return nullptr;
      if (stopped) Py_RETURN_TRUE;
      if (limit != Py_None && spent.count() >= left) Py_RETURN_FALSE;
    }
  });
}

PyObject* stop(PyObject* self, PyObject*) {
  return guarded_object([&]() -> PyObject* {
    ps::Server& server = server_of(self);
    {
      WithoutGil without;
      server.stop();
    }
    Py_RETURN_NONE;
  });
}

PyObject* stats(PyObject* self, PyObject*) {
  return guarded_object([&] {
    ps::Server& server = server_of(self);
    std::string text;
    {
      WithoutGil without;
      text = server.stats();
    }
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

PyMethodDef methods[] = {
    {"wait", wait, METH_VARARGS,
     "wait(timeout=None): until a worker or stop() stops the server; False if that took longer "
     "(seconds). Ctrl-C interrupts it."},
    {"stop", stop, METH_NOARGS, "Ends calls in progress and the server."},
    {"stats", stats, METH_NOARGS, "What tables and service count, as JSON."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"port", get_port, nullptr, "The port it listens on.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

void add_server(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(make)},
      {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
      {Py_tp_methods, methods},
      {Py_tp_getset, properties},
      {Py_tp_doc, const_cast<char*>("A server of tables, listening from its creation on.")},
      {0, nullptr}};
  static PyType_Spec spec = {"argosy._ps.Server", sizeof(ServerObject), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  Py type(check(PyType_FromSpec(&spec)));
  if (PyModule_AddObjectRef(module, "Server", type.get())) throw PythonError{};
}

}  // namespace argosy::python

#include <algorithm>

#include "argosy/ps/service/client.h"
#include "bindings.h"

// argosy._ps.Client(options as JSON, or as keyword arguments; see client.h). Keys are arrays of
// uint64 or int64 (the same bits), values of float32; all C-contiguous.
namespace argosy::python {
namespace {

struct ClientObject {
  PyObject_HEAD std::shared_ptr<ps::Client>* client;
};
PyTypeObject* client_type;

// A call of this thread came from Python, and has released the GIL here: calls of trainers' threads
// must not ask for it, since whoever holds it may wait for them.
thread_local bool released = false;

class Released {
 public:
  Released() { released = true; }
  ~Released() { released = false; }

 private:
  WithoutGil without_;
};

void raise_if_interrupted() {
  if (!released) return;
  WithGil with;
  if (PyErr_CheckSignals()) throw PythonError{};
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded_object([&]() -> PyObject* {
    ps::ClientOptions options = ps::parse_client_options(json_of(args, keywords));
    options.between_attempts = raise_if_interrupted;
    std::shared_ptr<ps::Client> client;
    {
      Released without;
      client = ps::connect(options);
    }
    auto* self = reinterpret_cast<ClientObject*>(check(type->tp_alloc(type, 0)));
    self->client = new std::shared_ptr<ps::Client>(std::move(client));
    return reinterpret_cast<PyObject*>(self);
  });
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  auto* client = reinterpret_cast<ClientObject*>(self)->client;
  if (client) {
    WithoutGil without;
    delete client;
  }
  type->tp_free(self);
  Py_DECREF(type);
}

// The object that lent an array keeps its memory for as long as this lives.
class Keys {
 public:
  explicit Keys(PyObject* o) : buffer_(o, is_signed(o) ? 'q' : 'Q', false) {}
  std::span<const ps::Key> span() const {
    return {static_cast<const ps::Key*>(buffer_.data()), buffer_.size()};
  }

 private:
  static bool is_signed(PyObject* o) {
    Py_buffer view;
    if (PyObject_GetBuffer(o, &view, PyBUF_FORMAT | PyBUF_STRIDES)) throw PythonError{};
    const bool is = view.format && (view.format[0] == 'q' || view.format[0] == 'l');
    PyBuffer_Release(&view);
    return is;
  }
  Buffer buffer_;
};

std::span<const float> floats(const Buffer& b) {
  return {static_cast<const float*>(b.data()), b.size()};
}

void expect_rows(const char* what, size_t keys, size_t width, size_t got) {
  ARGOSY_CHECK(keys * width == got, invalid_argument)
      << "[parameter_server] " << what << ": expected " << keys << " rows of " << width
      << " numbers, got " << got << " numbers.";
}

uint32_t to_u32(PyObject* o) {
  const unsigned long v = PyLong_AsUnsignedLong(o);
  if (PyErr_Occurred()) throw PythonError{};
  ARGOSY_CHECK(v <= UINT32_MAX, invalid_argument)
      << "[parameter_server] table: expected an id below 2^32, got " << v << '.';
  return static_cast<uint32_t>(v);
}

uint64_t to_u64(PyObject* o) {
  const unsigned long long v = PyLong_AsUnsignedLongLong(o);
  if (PyErr_Occurred()) throw PythonError{};
  return v;
}

float to_rate(PyObject* o) {
  const double v = PyFloat_AsDouble(o);
  if (PyErr_Occurred()) throw PythonError{};
  return static_cast<float>(v);
}

PyObject* text_to_python(const std::string& text) {
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

// A method of N to M arguments: f(client, arguments, how many).
template <auto F, int N, int M = N>
PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded_object([&]() -> PyObject* {
    ARGOSY_CHECK(count >= N && count <= M, type)
        << "expected " << N << (M > N ? " or more" : "") << " arguments, got " << count;
    const std::shared_ptr<ps::Client> client = *reinterpret_cast<ClientObject*>(self)->client;
    return F(*client, args, count);
  });
}

PyObject* pull_sparse(ps::Client& c, Args a, Py_ssize_t count) {
  const Keys keys(a[1]);
  const Buffer out(a[2], 'f', true);
  const uint32_t table = to_u32(a[0]);
  const bool create = count < 4 || truth(a[3]);
  expect_rows("pull_sparse", keys.span().size(), c.pull_width(table), out.size());
  {
    Released without;
    c.pull_sparse(table, keys.span(), static_cast<float*>(out.data()), create);
  }
  Py_RETURN_NONE;
}

PyObject* push_sparse(ps::Client& c, Args a, Py_ssize_t count) {
  const Keys keys(a[1]);
  const Buffer values(a[2], 'f', false);
  const uint32_t table = to_u32(a[0]);
  const float rate = count < 4 ? -1 : to_rate(a[3]);
  expect_rows("push_sparse", keys.span().size(), c.push_width(table), values.size());
  {
    Released without;
    c.push_sparse(table, keys.span(), floats(values).data(), rate);
  }
  Py_RETURN_NONE;
}

PyObject* assign_sparse(ps::Client& c, Args a, Py_ssize_t) {
  const Keys keys(a[1]);
  const Buffer values(a[2], 'f', false);
  const uint32_t table = to_u32(a[0]);
  expect_rows("assign_sparse", keys.span().size(), c.pull_width(table), values.size());
  {
    Released without;
    c.assign_sparse(table, keys.span(), floats(values).data());
  }
  Py_RETURN_NONE;
}

PyObject* push_sparse_step(ps::Client& c, Args a, Py_ssize_t count) {
  const Keys keys(a[2]);
  const Buffer values(a[3], 'f', false);
  const uint32_t table = to_u32(a[0]);
  const uint64_t step = to_u64(a[1]);
  const float rate = count < 5 ? -1 : to_rate(a[4]);
  expect_rows("push_sparse_step", keys.span().size(), c.push_width(table), values.size());
  {
    Released without;
    c.push_sparse_step(table, step, keys.span(), floats(values).data(), rate);
  }
  Py_RETURN_NONE;
}

PyObject* pull_dense(ps::Client& c, Args a, Py_ssize_t) {
  const Buffer out(a[1], 'f', true);
  const uint32_t table = to_u32(a[0]);
  {
    Released without;
    c.pull_dense(table, {static_cast<float*>(out.data()), out.size()});
  }
  Py_RETURN_NONE;
}

PyObject* push_dense(ps::Client& c, Args a, Py_ssize_t count) {
  const Buffer values(a[1], 'f', false);
  const uint32_t table = to_u32(a[0]);
  const float rate = count < 3 ? -1 : to_rate(a[2]);
  {
    Released without;
    c.push_dense(table, floats(values), rate);
  }
  Py_RETURN_NONE;
}

PyObject* assign_dense(ps::Client& c, Args a, Py_ssize_t) {
  const Buffer values(a[1], 'f', false);
  const uint32_t table = to_u32(a[0]);
  {
    Released without;
    c.assign_dense(table, floats(values));
  }
  Py_RETURN_NONE;
}

PyObject* push_dense_step(ps::Client& c, Args a, Py_ssize_t count) {
  const Buffer values(a[2], 'f', false);
  const uint32_t table = to_u32(a[0]);
  const uint64_t step = to_u64(a[1]);
  const float rate = count < 4 ? -1 : to_rate(a[3]);
  {
    Released without;
    c.push_dense_step(table, step, floats(values), rate);
  }
  Py_RETURN_NONE;
}

PyObject* end_step(ps::Client& c, Args a, Py_ssize_t) {
  const uint64_t step = to_u64(a[0]);
  {
    Released without;
    c.end_step(step);
  }
  Py_RETURN_NONE;
}

PyObject* next_step(ps::Client& c, Args, Py_ssize_t) {
  return PyLong_FromUnsignedLongLong(c.next_step());
}

PyObject* barrier(ps::Client& c, Args a, Py_ssize_t count) {
  const std::string name = count ? text_of(a[0]) : "barrier";
  const bool last = count > 1 && truth(a[1]);
  {
    Released without;
    c.barrier(name, last);
  }
  Py_RETURN_NONE;
}

PyObject* all_reduce(ps::Client& c, Args a, Py_ssize_t count) {
  const Buffer values(a[0], 'd', true);
  const std::string operation = count < 2 ? "sum" : text_of(a[1]);
  {
    Released without;
    c.all_reduce({static_cast<double*>(values.data()), values.size()}, operation);
  }
  Py_RETURN_NONE;
}

PyObject* list_of_bytes(const std::vector<std::string>& parts) {
  Py list(check(PyList_New(static_cast<Py_ssize_t>(parts.size()))));
  for (size_t i = 0; i < parts.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                    check(PyBytes_FromStringAndSize(parts[i].data(),
                                                    static_cast<Py_ssize_t>(parts[i].size()))));
  return list.release();
}

PyObject* all_gather(ps::Client& c, Args a, Py_ssize_t) {
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(a[0], &data, &size)) throw PythonError{};
  std::vector<std::string> parts;
  const std::string mine(data, static_cast<size_t>(size));
  {
    Released without;
    parts = c.all_gather(mine);
  }
  return list_of_bytes(parts);
}

PyObject* exchange(ps::Client& c, Args a, Py_ssize_t) {
  Py sequence(
      check(PySequence_Fast(a[0], "[parameter_server] exchange: expected a list of bytes")));
  std::vector<std::string> parts;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence.get()); ++i) {
    char* data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(PySequence_Fast_GET_ITEM(sequence.get(), i), &data, &size))
      throw PythonError{};
    parts.emplace_back(data, static_cast<size_t>(size));
  }
  sequence = {};
  {
    Released without;
    parts = c.exchange(parts);
  }
  return list_of_bytes(parts);
}

uint64_t save(ps::Client& c, const std::string& directory, int mode, const ps::Extent& extent) {
  return c.save(directory, mode, extent);
}
uint64_t load(ps::Client& c, const std::string& directory, int mode, const ps::Extent& extent) {
  return c.load(directory, mode, extent.table);
}

template <uint64_t (*F)(ps::Client&, const std::string&, int, const ps::Extent&)>
PyObject* with_directory(ps::Client& c, Args a, Py_ssize_t count) {
  const std::string directory = text_of(a[0]);
  const auto mode = count < 2 ? 0 : static_cast<int>(PyLong_AsLong(a[1]));
  if (PyErr_Occurred()) throw PythonError{};
  ps::Extent extent;
  if (count > 2 && a[2] != Py_None) extent.table = to_u32(a[2]);
  if (count > 3) extent.share = to_rate(a[3]);
  uint64_t rows;
  {
    Released without;
    rows = F(c, directory, mode, extent);
  }
  return PyLong_FromUnsignedLongLong(rows);
}

PyObject* shrink(ps::Client& c, Args a, Py_ssize_t) {
  const uint32_t table = to_u32(a[0]);
  uint64_t rows;
  {
    Released without;
    rows = c.shrink(table);
  }
  return PyLong_FromUnsignedLongLong(rows);
}

PyObject* end_day(ps::Client& c, Args, Py_ssize_t) {
  {
    Released without;
    c.end_day();
  }
  Py_RETURN_NONE;
}

PyObject* stats(ps::Client& c, Args, Py_ssize_t) {
  std::string text;
  {
    Released without;
    text = c.stats();
  }
  return text_to_python(text);
}

PyObject* stop_servers(ps::Client& c, Args, Py_ssize_t) {
  {
    Released without;
    c.stop_servers();
  }
  Py_RETURN_NONE;
}

PyObject* tables(ps::Client& c, Args, Py_ssize_t) {
  return text_to_python(ps::to_json(c.tables()));
}

PyObject* pull_width(ps::Client& c, Args a, Py_ssize_t) {
  return PyLong_FromSize_t(c.pull_width(to_u32(a[0])));
}

PyObject* push_width(ps::Client& c, Args a, Py_ssize_t) {
  return PyLong_FromSize_t(c.push_width(to_u32(a[0])));
}

PyObject* traffic(ps::Client& c, Args, Py_ssize_t) {
  return Py_BuildValue("(KKK)", static_cast<unsigned long long>(c.bytes_sent()),
                       static_cast<unsigned long long>(c.bytes_received()),
                       static_cast<unsigned long long>(c.retries()));
}

#define METHOD(name, function)                                                                  \
  {                                                                                             \
    name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, \
        nullptr                                                                                 \
  }
PyMethodDef methods[] = {
    METHOD("pull_sparse", (method<pull_sparse, 3, 4>)),   // table, keys, out, create=True
    METHOD("push_sparse", (method<push_sparse, 3, 4>)),   // table, keys, values, learning_rate=-1
    METHOD("assign_sparse", (method<assign_sparse, 3>)),  // table, keys, values
    METHOD("push_sparse_step", (method<push_sparse_step, 4, 5>)),  // table, step, keys, values, lr
    METHOD("pull_dense", (method<pull_dense, 2>)),                 // table, out
    METHOD("push_dense", (method<push_dense, 2, 3>)),            // table, values, learning_rate=-1
    METHOD("assign_dense", (method<assign_dense, 2>)),           // table, values
    METHOD("push_dense_step", (method<push_dense_step, 3, 4>)),  // table, step, values, lr=-1
    METHOD("end_step", (method<end_step, 1>)),
    METHOD("next_step", (method<next_step, 0>)),
    METHOD("barrier", (method<barrier, 0, 2>)),        // name, whether it is the last
    METHOD("all_reduce", (method<all_reduce, 1, 2>)),  // float64 array, operation="sum"
    METHOD("all_gather", (method<all_gather, 1>)),     // bytes -> list of bytes
    METHOD("exchange", (method<exchange, 1>)),  // bytes for each worker -> bytes of each worker
    // directory, mode=0, table=None (all), share=1
    METHOD("save", (method<with_directory<save>, 1, 4>)),
    METHOD("load", (method<with_directory<load>, 1, 3>)),  // directory, mode=0, table=None
    METHOD("shrink", (method<shrink, 1>)),
    METHOD("end_day", (method<end_day, 0>)),
    METHOD("stats", (method<stats, 0>)),
    METHOD("stop_servers", (method<stop_servers, 0>)),
    METHOD("tables", (method<tables, 0>)),  // JSON
    METHOD("pull_width", (method<pull_width, 1>)),
    METHOD("push_width", (method<push_width, 1>)),
    METHOD("traffic", (method<traffic, 0>)),  // (bytes sent, bytes received, requests sent again)
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

std::shared_ptr<ps::Client> client_of(PyObject* o) {
  ARGOSY_CHECK(Py_TYPE(o) == client_type, type)
      << "expected an argosy._ps.Client, got " << Py_TYPE(o)->tp_name << '.';
  return *reinterpret_cast<ClientObject*>(o)->client;
}

void add_client(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(make)},
      {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>("A worker's connection to all servers.")},
      {0, nullptr}};
  static PyType_Spec spec = {"argosy._ps.Client", sizeof(ClientObject), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  client_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)));
  if (PyModule_AddObjectRef(module, "Client", reinterpret_cast<PyObject*>(client_type)))
    throw PythonError{};
}

}  // namespace argosy::python

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <set>

#include "argosy/base/mutex.h"
#include "argosy/comm/hybrid.h"
#include "argosy/comm/mesh.h"
#include "argosy/comm/net/store_client.h"
#include "argosy/comm/net/store_server.h"
#include "argosy/comm/net/tcp_network.h"
#include "argosy/comm/process_group.h"
#include "argosy/comm/shm_engine.h"
#include "error_types.h"
#include "functions.h"
#include "shared_capsule.h"

// Bindings of libargosy_net: the module argosy._net, imported when ranks of several hosts are
// connected, or a store is asked for.
namespace argosy::python {

namespace {

using comm::Failure;
using comm::ProcessGroup;
using comm::net::StoreClient;
using comm::net::StoreThread;

constexpr const char* kGroup = "argosy.process_group";  // as argosy._core makes and takes them
constexpr const char* kClient = "argosy.store_client";
constexpr const char* kServer = "argosy.store_server";
constexpr const char* kWatch = "argosy.store_watch";

// The exceptions are those of argosy._core: found by name, since this is another library.
PyObject* from_core(const char* name) {
  Py core(PyImport_ImportModule("argosy._core"));
  PyObject* type = core ? PyObject_GetAttrString(core.get(), name) : nullptr;
  PyErr_Clear();
  return type ? type : PyExc_RuntimeError;  // kept for the life of the process
}

PyObject* python_type(Failure failure) {
  switch (failure) {
    case Failure::disagreement:
      return from_core("RanksDisagreeError");
    case Failure::lost:
      return from_core("RankLostError");
    case Failure::timeout:
      return from_core("CommunicationTimeout");
    default:
      return from_core("CommunicationError");
  }
}

int to_whole(PyObject* o) {
  const long v = PyLong_AsLong(o);
  if (PyErr_Occurred()) throw PythonError{};
  return static_cast<int>(v);
}

PyObject* to_bytes(const std::string& s) {
  return check(PyBytes_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
}

std::string bytes_or_text(PyObject* o) {
  if (PyUnicode_Check(o)) return text_of(o);
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(o, &data, &size)) throw PythonError{};
  return {data, static_cast<size_t>(size)};
}

// The memory that ranks of this one's host share; null if it is alone there.
std::shared_ptr<comm::Engine> connect_host(const comm::net::TcpOptions& o,
                                           const std::vector<std::string>& hosts) {
  comm::ShmOptions shm;
  shm.size = 0;
  for (int r = 0; r < o.size; ++r) {
    if (hosts[static_cast<size_t>(r)] != o.host) continue;
    if (r == o.rank) shm.rank = shm.size;
    if (!shm.size) shm.first = r;
    ++shm.size;
  }
  if (shm.size < 2) return nullptr;
  // Names are short; ranks of other hosts may be in this network namespace (ARGOSY_COMM_HOST).
  const size_t job = std::hash<std::string>()(o.master + ' ' + o.job + ' ' + o.host);
  shm.name = "argosy-comm " + o.master.substr(0, 60) + ' ' + std::to_string(job);
  shm.token = o.token;
  shm.host = o.host;
  shm.seconds = o.seconds;
  shm.several_hosts = true;
  return comm::connect_shm(shm);
}

// Ranks of one host share memory, unless TCP is wanted there too.
std::shared_ptr<ProcessGroup> connect(const comm::net::TcpOptions& o, comm::Algorithm algorithm,
                                      bool always_tcp) {
  comm::Mesh::model();  // a wrong one is an error here, before others wait for this rank
  comm::net::Meeting met = comm::net::meet(o);
  auto host = always_tcp ? nullptr : connect_host(o, met.hosts);
  if (host && host->size() == o.size) {
    // Nothing more goes through the store: one that is for this job alone ends when all have said
    // so, and the next job can have its port.
    met.store->watch(o.rank, {});
    met.store->bye();
    return ProcessGroup::world(std::move(host), o.seconds);
  }
  auto network = comm::net::connect_tcp_network(o, std::move(met.store));
  std::shared_ptr<comm::Channel> channel;
  if (always_tcp)
    channel = comm::Mesh::world(std::move(network), algorithm, o.seconds);
  else
    channel = comm::Hybrid::world(std::move(network), algorithm, std::move(host),
                                  std::move(met.hosts), o.seconds);
  return ProcessGroup::world(std::move(channel), o.seconds);
}

// (rank, size, master, served, token, host, interface, job, algorithm, always TCP, seconds)
PyObject* f_connect(Args a) {
  comm::net::TcpOptions o;
  o.rank = to_whole(a[0]);
  o.size = to_whole(a[1]);
  o.master = text_of(a[2]);
  o.served = truth(a[3]);
  o.token = text_of(a[4]);
  o.host = text_of(a[5]);
  o.interface = text_of(a[6]);
  o.job = text_of(a[7]);
  const comm::Algorithm algorithm = comm::algorithm_of(text_of(a[8]));
  const bool always_tcp = truth(a[9]);
  o.seconds = to_double(a[10]);
  std::shared_ptr<ProcessGroup> group;
  {
    WithoutGil no_gil;
    if (o.host.empty()) o.host = comm::this_host();
    group = connect(o, algorithm, always_tcp);
  }
  return wrap_shared(std::move(group), kGroup);
}

// (address, token): a store that is kept by a thread of this process; the address's host may be
// empty, its port 0.
PyObject* f_serve(Args a) {
  const std::string host = text_of(a[0]);
  const int port = to_whole(a[1]);
  const std::string token = text_of(a[2]);
  std::shared_ptr<StoreThread> server;
  {
    WithoutGil no_gil;
    comm::Fd listener = comm::net::listen_tcp({host, port});
    if (listener) server = std::make_shared<StoreThread>(std::move(listener), token);
  }
  ARGOSY_CHECK(server, io) << "[store] cannot listen at port " << port << ": "
                           << std::strerror(errno) << ". Do this: choose a free port.";
  return wrap_shared(std::move(server), kServer);
}

PyObject* f_port(Args a) {
  return PyLong_FromLong(unwrap<StoreThread>(a[0], kServer)->port());
}

// (address, token, seconds)
PyObject* f_client(Args a) {
  const std::string address = text_of(a[0]), token = text_of(a[1]);
  const double seconds = to_double(a[2]);
  std::shared_ptr<StoreClient> client;
  {
    WithoutGil no_gil;
    client = std::make_shared<StoreClient>(comm::net::parse_address(address), token, seconds);
  }
  return wrap_shared(std::move(client), kClient);
}

// (client, key, value)
PyObject* f_set(Args a) {
  auto client = unwrap<StoreClient>(a[0], kClient);
  const std::string key = text_of(a[1]), value = bytes_or_text(a[2]);
  {
    WithoutGil no_gil;
    client->set(key, value);
  }
  Py_RETURN_NONE;
}

// (client, key, value): what is there afterwards.
PyObject* f_set_once(Args a) {
  auto client = unwrap<StoreClient>(a[0], kClient);
  const std::string key = text_of(a[1]), value = bytes_or_text(a[2]);
  std::string out;
  {
    WithoutGil no_gil;
    out = client->set_once(key, value);
  }
  return to_bytes(out);
}

// (client, key, seconds): bytes, None if the key has not come in time.
PyObject* f_get(Args a) {
  auto client = unwrap<StoreClient>(a[0], kClient);
  const std::string key = text_of(a[1]);
  const double seconds = to_double(a[2]);
  std::optional<std::string> out;
  {
    WithoutGil no_gil;
    out = client->get(key, seconds);
  }
  if (!out) Py_RETURN_NONE;
  return to_bytes(*out);
}

PyObject* f_add(Args a) {
  auto client = unwrap<StoreClient>(a[0], kClient);
  const std::string key = text_of(a[1]);
  const long long value = PyLong_AsLongLong(a[2]);
  if (PyErr_Occurred()) throw PythonError{};
  int64_t out;
  {
    WithoutGil no_gil;
    out = client->add(key, value);
  }
  return check(PyLong_FromLongLong(out));
}

PyObject* f_has(Args a) {
  auto client = unwrap<StoreClient>(a[0], kClient);
  const std::string key = text_of(a[1]);
  bool out;
  {
    WithoutGil no_gil;
    out = client->has(key);
  }
  return PyBool_FromLong(out);
}

PyObject* f_remove(Args a) {
  auto client = unwrap<StoreClient>(a[0], kClient);
  const std::string key = text_of(a[1]);
  bool out;
  {
    WithoutGil no_gil;
    out = client->remove(key);
  }
  return PyBool_FromLong(out);
}

PyObject* f_count(Args a) {
  auto client = unwrap<StoreClient>(a[0], kClient);
  int64_t out;
  {
    WithoutGil no_gil;
    out = client->count();
  }
  return check(PyLong_FromLongLong(out));
}

// (client): the address by which the store's host reaches this one.
PyObject* f_own_host(Args a) {
  const std::string host = unwrap<StoreClient>(a[0], kClient)->own_host();
  return check(PyUnicode_FromStringAndSize(host.data(), static_cast<Py_ssize_t>(host.size())));
}

PyObject* f_host_of_interface(Args a) {
  const std::string host = comm::net::host_of_interface(text_of(a[0]));
  return check(PyUnicode_FromStringAndSize(host.data(), static_cast<Py_ssize_t>(host.size())));
}

// What a watching client has heard.
struct Watch {
  Mutex mutex;
  std::string lost ARGOSY_GUARDED_BY(mutex);
  std::set<int> gone ARGOSY_GUARDED_BY(mutex);
};

// (client, rank): from now on this process beats, and hears who does not.
PyObject* f_watch(Args a) {
  auto client = unwrap<StoreClient>(a[0], kClient);
  const int rank = to_whole(a[1]);
  auto watch = std::make_shared<Watch>();
  StoreClient::Listener listener;
  listener.gone = [watch](int gone, bool) {
    MutexLock lock(watch->mutex);
    watch->gone.insert(gone);
  };
  listener.lost = [watch](const std::string& why) {
    MutexLock lock(watch->mutex);
    watch->lost = why;
  };
  {
    WithoutGil no_gil;
    client->watch(rank, std::move(listener));
  }
  return wrap_shared(std::move(watch), kWatch);
}

// (watch): why the store is lost, empty if it is there; who is gone.
PyObject* f_watched(Args a) {
  Watch& watch = *unwrap<Watch>(a[0], kWatch);
  std::string lost;
  std::set<int> gone;
  {
    MutexLock lock(watch.mutex);
    lost = watch.lost;
    gone = watch.gone;
  }
  Py list(check(PyList_New(0)));
  for (const int rank : gone) {
    Py number(check(PyLong_FromLong(rank)));
    if (PyList_Append(list.get(), number.get())) throw PythonError{};
  }
  return check(Py_BuildValue("(sO)", lost.c_str(), list.get()));
}

PyObject* f_bye(Args a) {
  auto client = unwrap<StoreClient>(a[0], kClient);
  {
    WithoutGil no_gil;
    client->bye();
  }
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {FUNCTION("connect", f_connect, 11),
                           FUNCTION("store_serve", f_serve, 3),
                           FUNCTION("store_port", f_port, 1),
                           FUNCTION("store_client", f_client, 3),
                           FUNCTION("store_set", f_set, 3),
                           FUNCTION("store_set_once", f_set_once, 3),
                           FUNCTION("store_get", f_get, 3),
                           FUNCTION("store_add", f_add, 3),
                           FUNCTION("store_has", f_has, 2),
                           FUNCTION("store_remove", f_remove, 2),
                           FUNCTION("store_count", f_count, 1),
                           FUNCTION("store_watch", f_watch, 2),
                           FUNCTION("store_watched", f_watched, 1),
                           FUNCTION("store_bye", f_bye, 1),
                           FUNCTION("store_own_host", f_own_host, 1),
                           FUNCTION("host_of_interface", f_host_of_interface, 1),
                           {}};

}  // namespace

void set_error() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const CarriedError& e) {
    PyErr_Restore(e.type, e.value, e.traceback);
  } catch (const comm::CommError& e) {
    raise_text(python_type(e.failure()), error_type(e.kind()).category, e.what());
  } catch (const Error& e) {
    const ErrorType type = error_type(e.kind());
    raise_text(type.builtin ? type.builtin : from_core(type.core), type.category, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    raise_text(from_core("InternalError"), "Fatal", e.what());
  }
}

}  // namespace argosy::python

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "argosy._net",
                                 "Argosy's connections between hosts. Not public.",
                                 -1,
                                 argosy::python::functions,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

PyMODINIT_FUNC PyInit__net() {
  return PyModule_Create(&definition);
}

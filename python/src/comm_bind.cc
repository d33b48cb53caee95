#include <pthread.h>

#include "argosy/base/profile.h"
#include "argosy/comm/groups.h"
#include "argosy/comm/process_group.h"
#include "argosy/comm/recorder.h"
#include "argosy/comm/shm_engine.h"
#include "argosy/comm/thread_engine.h"
#include "comm.h"
#include "error_types.h"
#include "functions.h"
#include "python.h"
#include "shared_capsule.h"

// Functions of argosy._core over process groups, which Python holds as capsules.
namespace argosy::python {

namespace {

using comm::Failure;
using comm::Mode;
using comm::ProcessGroup;
using comm::Reduce;
using comm::TensorList;
using comm::Work;

constexpr const char* kGroup = "argosy.process_group";
constexpr const char* kWork = "argosy.work";

PyObject* communication_error = nullptr;
PyObject* disagreement_error = nullptr;
PyObject* lost_error = nullptr;
PyObject* timeout_error = nullptr;

PyObject* python_type(Failure failure) {
  switch (failure) {
    case Failure::disagreement:
      return disagreement_error;
    case Failure::lost:
      return lost_error;
    case Failure::timeout:
      return timeout_error;
    default:
      return communication_error;
  }
}

// (rank, size, name, token, host, seconds): the group of all processes. An empty name: of this one.
PyObject* f_connect(Args a) {
  comm::ShmOptions o;
  o.rank = static_cast<int>(to_int(a[0]));
  o.size = static_cast<int>(to_int(a[1]));
  o.name = text_of(a[2]);
  o.token = text_of(a[3]);
  o.host = text_of(a[4]);
  o.seconds = to_double(a[5]);
  std::shared_ptr<ProcessGroup> group;
  {
    WithoutGil no_gil;
    if (o.host.empty()) o.host = comm::this_host();
    auto engine = o.name.empty() ? comm::thread_engines(1)[0] : comm::connect_shm(o);
    group = ProcessGroup::world(std::move(engine), o.seconds);
  }
  return wrap_shared(std::move(group), kGroup);
}

// (group of all, ranks, seconds, algorithm): a group, None where this process is no member. An
// empty algorithm: that of the group of all.
PyObject* f_subgroup(Args a) {
  std::shared_ptr<ProcessGroup> world = unwrap<ProcessGroup>(a[0], kGroup);
  std::vector<int> ranks;
  for (int64_t r : to_shape(a[1])) ranks.push_back(static_cast<int>(r));
  const double seconds = to_double(a[2]);
  std::optional<comm::Algorithm> algorithm;
  if (const std::string name = text_of(a[3]); !name.empty())
    algorithm = comm::algorithm_of(name, "[distributed.new_group] algorithm");
  std::shared_ptr<ProcessGroup> group;
  {
    WithoutGil no_gil;
    group = world->subgroup(ranks, seconds, algorithm);
  }
  return wrap_shared(std::move(group), kGroup);
}

// (number, group): operations of Programs find the group by this number, as long as it is held.
PyObject* f_enter(Args a) {
  comm::Groups::current().enter(to_int(a[0]), unwrap<ProcessGroup>(a[1], kGroup));
  Py_RETURN_NONE;
}

PyObject* f_close(Args a) {
  std::shared_ptr<ProcessGroup> group = unwrap<ProcessGroup>(a[0], kGroup);
  {
    WithoutGil no_gil;
    group->close();
  }
  Py_RETURN_NONE;
}

// (group, kind, outputs, inputs, op, root, async): the work. Which of the lists a kind has, and
// what it has in them, is what ProcessGroup's functions say.
PyObject* f_call(Args a) {
  std::shared_ptr<ProcessGroup> g = unwrap<ProcessGroup>(a[0], kGroup);
  const std::string kind = text_of(a[1]);
  const TensorList out = to_tensor_list(kind.c_str(), a[2]);
  const TensorList in = to_tensor_list(kind.c_str(), a[3]);
  const auto op = static_cast<Reduce>(to_int(a[4]));
  const int root = static_cast<int>(to_int(a[5]));
  const Mode mode = truth(a[6]) ? Mode::async : Mode::sync;
  std::shared_ptr<Work> work;
  {
    WithoutGil no_gil;
    // Of asynchronous calls the group's thread tells the profiler.
    const bool told = mode == Mode::sync && profile::enabled();
    profile::Scope scope(told ? profile::intern(kind) : nullptr, profile::Kind::communication);
    if (kind == "barrier")
      work = g->barrier(mode);
    else if (kind == "all_reduce")
      work = g->all_reduce(in, op, mode);
    else if (kind == "reduce")
      work = g->reduce(in, root, op, mode);
    else if (kind == "broadcast")
      work = g->broadcast(in, root, mode);
    else if (kind == "all_gather")
      work = g->all_gather(out, in.at(0), false, mode);
    else if (kind == "all_gather_unequal")
      work = g->all_gather(out, in.at(0), true, mode);
    else if (kind == "gather")
      work = g->gather(out, in.at(0), root, mode);
    else if (kind == "scatter")
      work = g->scatter(out.at(0), in, root, mode);
    else if (kind == "reduce_scatter")
      work = g->reduce_scatter(out.at(0), in, op, mode);
    else if (kind == "alltoall")
      work = g->alltoall(out, in, mode);
    else if (kind == "send")
      work = g->send(in.at(0), root, mode);
    else if (kind == "recv")
      work = g->recv(out.at(0), root, mode);
  }
  ARGOSY_INVARIANT(work);
  return wrap_shared(std::move(work), kWork);
}

PyObject* f_wait(Args a) {
  std::shared_ptr<Work> work = unwrap<Work>(a[0], kWork);
  {
    WithoutGil no_gil;
    work->wait();
  }
  Py_RETURN_NONE;
}

PyObject* f_done(Args a) {
  return PyBool_FromLong(unwrap<Work>(a[0], kWork)->completed());
}

// (rank in the group, number, ranks, engine)
PyObject* f_info(Args a) {
  const ProcessGroup& g = *unwrap<ProcessGroup>(a[0], kGroup);
  Py ranks(check(PyList_New(0)));
  for (int r : g.ranks()) {
    Py number(check(PyLong_FromLong(r)));
    if (PyList_Append(ranks.get(), number.get())) throw PythonError{};
  }
  return check(Py_BuildValue("(iIOs)", g.rank(), g.number(), ranks.get(), g.engine()));
}

// (group, place or None): what its tensors there go by from now on is between devices; the reason
// if it is not, an empty text if it is. All members call it.
PyObject* f_connect_devices(Args a) {
  std::shared_ptr<ProcessGroup> group = unwrap<ProcessGroup>(a[0], kGroup);
  std::optional<Place> place;
  if (a[1] != Py_None) place = to_place(a[1]);
  std::string why;
  {
    WithoutGil no_gil;
    why = group->connect_devices(place);
  }
  return check(PyUnicode_DecodeUTF8(why.data(), static_cast<Py_ssize_t>(why.size()), "replace"));
}

// (group): "nccl", or an empty text where tensors of devices go through the host.
PyObject* f_devices_of(Args a) {
  const char* name = unwrap<ProcessGroup>(a[0], kGroup)->devices();
  return check(PyUnicode_FromString(name ? name : ""));
}

PyObject* f_records(Args) {
  const std::string text = comm::print_records();
  return check(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

PyMethodDef functions[] = {FUNCTION("comm_connect", f_connect, 6),
                           FUNCTION("comm_subgroup", f_subgroup, 4),
                           FUNCTION("comm_enter", f_enter, 2),
                           FUNCTION("comm_close", f_close, 1),
                           FUNCTION("comm_call", f_call, 7),
                           FUNCTION("comm_wait", f_wait, 1),
                           FUNCTION("comm_done", f_done, 1),
                           FUNCTION("comm_info", f_info, 1),
                           FUNCTION("comm_records", f_records, 0),
                           FUNCTION("comm_connect_devices", f_connect_devices, 2),
                           FUNCTION("comm_devices", f_devices_of, 1),
                           {}};

PyObject* error_class(const char* name, const char* doc, PyObject* first, PyObject* second) {
  Py bases(check(second ? PyTuple_Pack(2, first, second) : PyTuple_Pack(1, first)));
  return check(PyErr_NewExceptionWithDoc(name, doc, bases.get(), nullptr));
}

pthread_t main_thread;

// Python's signal handlers run on its main thread: Ctrl-C ends a wait.
void look_for_signals() {
  if (!pthread_equal(pthread_self(), main_thread) || !Py_IsInitialized()) return;
  WithGil gil;
  if (PyErr_CheckSignals()) throw_python_error();
}

}  // namespace

void set_communication_error(const comm::CommError& e) {
  raise_text(python_type(e.failure()), error_type(e.kind()).category, e.what());
}

void add_comm(PyObject* module) {
  communication_error = error_class(
      "argosy.distributed.CommunicationError",
      "Processes cannot exchange tensors: each of the group has the same error, for good.",
      PyExc_RuntimeError, nullptr);
  disagreement_error = error_class("argosy.distributed.RanksDisagreeError",
                                   "Processes of a group called different collectives.",
                                   communication_error, PyExc_ValueError);
  lost_error = error_class("argosy.distributed.RankLostError", "A process of a group has ended.",
                           communication_error, nullptr);
  timeout_error = error_class("argosy.distributed.CommunicationTimeout",
                              "A process of a group has not come in time.", communication_error,
                              PyExc_TimeoutError);
  PyModule_AddObjectRef(module, "CommunicationError", communication_error);
  PyModule_AddObjectRef(module, "RanksDisagreeError", disagreement_error);
  PyModule_AddObjectRef(module, "RankLostError", lost_error);
  PyModule_AddObjectRef(module, "CommunicationTimeout", timeout_error);
  main_thread = pthread_self();
  comm::set_idle_hook(look_for_signals);
  add_functions(module, functions);
}

}  // namespace argosy::python

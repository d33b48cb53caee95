#include "argosy/trainer/trainer.h"

#include "argosy/op/dispatch.h"
#include "argosy/program/builder.h"
#include "data.h"
#include "functions.h"
#include "python.h"

// Functions of argosy._core over Trainers: threads that run a Program over a data set.
namespace argosy::python {

std::shared_ptr<program::Program>& program_of(PyObject* capsule);
std::shared_ptr<program::Scope>& scope_of(PyObject* capsule);

namespace {

constexpr const char* kName = "argosy.trainer";

// Keeps what the trainer uses. The executor is its own, so that its plans run serially.
struct Kept {
  PyObject* executor = nullptr;
  std::unique_ptr<trainer::Trainer> trainer;
};

Kept& kept(PyObject* o) {
  void* p = PyCapsule_GetPointer(o, kName);
  if (!p) throw PythonError{};
  return *static_cast<Kept*>(p);
}

trainer::Trainer& trainer_of(PyObject* o) {
  return *kept(o).trainer;
}

void destroy(PyObject* o) {
  auto* k = static_cast<Kept*>(PyCapsule_GetPointer(o, kName));
  bool ended;
  {
    WithoutGil no_gil;
    ended = k->trainer->end();
    k->trainer.reset();
  }
  if (ended) Py_XDECREF(k->executor);  // else threads that hang use it when they go on
  delete k;
}

// (executor, program, inputs, fetches, scope, source, threads, report_every, ahead, timeout):
// starts. Each input is None (not fed), a slot's number, ~number for its lengths, or a tensor.
// ahead: a Program, or None.
PyObject* f_start(Args a) {
  auto* executor = static_cast<runtime::Executor*>(PyCapsule_GetPointer(a[0], "argosy.executor"));
  if (!executor) throw PythonError{};
  trainer::Options options;
  options.program = program_of(a[1]);
  Py inputs(check(PySequence_Fast(a[2], "expected a list of inputs")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(inputs.get()); ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(inputs.get(), i);
    trainer::Input in;
    in.slot = runtime::kNone;
    if (is_tensor(o)) {
      in.fixed = tensor_of(o);
    } else if (o != Py_None) {
      const int64_t n = to_int(o);
      in.lengths = n < 0;
      in.slot = static_cast<size_t>(n < 0 ? ~n : n);
    }
    options.inputs.push_back(std::move(in));
  }
  for (const Tensor& t : to_tensor_list("fetch", a[3]))
    options.fetches.push_back(options.program->builder().current(t));
  options.scope = scope_of(a[4]);
  std::shared_ptr<data::Source> source = source_of(a[5]);
  options.threads = static_cast<int>(to_int(a[6]));
  options.report_every = static_cast<uint64_t>(to_int(a[7]));
  if (a[8] != Py_None) options.ahead = program_of(a[8]);
  options.timeout = PyFloat_AsDouble(a[9]);
  if (PyErr_Occurred()) throw PythonError{};
  auto k = std::make_unique<Kept>();
  k->trainer = std::make_unique<trainer::Trainer>(std::move(options), *executor, source);
  PyObject* capsule = check(PyCapsule_New(k.get(), kName, destroy));
  Py_INCREF(a[0]);
  k->executor = a[0];
  k.release();
  return capsule;
}

// (trainer, seconds): (has it ended, [(step, values), ..])
PyObject* f_wait(Args a) {
  trainer::Trainer& t = trainer_of(a[0]);
  const double seconds = PyFloat_AsDouble(a[1]);
  if (PyErr_Occurred()) throw PythonError{};
  bool ended;
  {
    WithoutGil no_gil;
    ended = t.wait(seconds);
  }
  Py list(check(PyList_New(0)));
  for (const trainer::Fetched& r : t.take_reports()) {
    Py values(check(wrap_list(r.values)));
    Py entry(check(Py_BuildValue("(KO)", static_cast<unsigned long long>(r.step), values.get())));
    if (PyList_Append(list.get(), entry.get())) throw PythonError{};
  }
  return check(Py_BuildValue("(OO)", ended ? Py_True : Py_False, list.get()));
}

PyObject* f_latest(Args a) {
  return wrap_list(trainer_of(a[0]).latest());
}

PyObject* f_status(Args a) {
  const trainer::Status s = trainer_of(a[0]).status();
  Py d(check(progress_dict(s.data)));
  put(d.get(), "steps", PyLong_FromUnsignedLongLong(s.steps));
  put(d.get(), "trained", PyLong_FromUnsignedLongLong(s.samples));
  put(d.get(), "seconds", PyFloat_FromDouble(s.seconds));
  return d.release();
}

PyObject* f_stop(Args a) {
  trainer_of(a[0]).stop();
  Py_RETURN_NONE;
}

// Waits for the end and raises what a thread threw.
PyObject* f_finish(Args a) {
  trainer::Trainer& t = trainer_of(a[0]);
  // A Program may be under construction, but none of its ops is what is wrong.
  try {
    WithoutGil no_gil;
    t.finish();
  } catch (const Error& e) {
    throw_plain_error(e);
  }
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {FUNCTION("trainer_start", f_start, 10),
                           FUNCTION("trainer_wait", f_wait, 2),
                           FUNCTION("trainer_latest", f_latest, 1),
                           FUNCTION("trainer_status", f_status, 1),
                           FUNCTION("trainer_stop", f_stop, 1),
                           FUNCTION("trainer_finish", f_finish, 1),
                           {}};

}  // namespace

void add_trainer(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

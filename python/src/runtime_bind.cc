#include "argosy/op/dispatch.h"
#include "argosy/op/launch.h"
#include "argosy/program/builder.h"
#include "argosy/runtime/executor.h"
#include "argosy/runtime/frame.h"
#include "argosy/runtime/graphs.h"
#include "functions.h"
#include "python.h"

// Functions of argosy._core over executors, which Python holds as capsules.
namespace argosy::python {

// program_bind.cc
std::shared_ptr<program::Program>& program_of(PyObject* capsule);
std::shared_ptr<program::Scope>& scope_of(PyObject* capsule);

using program::Program;
using program::Value;
using runtime::Executor;

namespace {

constexpr const char* kName = "argosy.executor";

Executor& executor_of(PyObject* o) {
  void* p = PyCapsule_GetPointer(o, kName);
  if (!p) throw PythonError{};
  return *static_cast<Executor*>(p);
}

std::vector<Tensor> tensors_or_none(PyObject* o) {
  Py fast(check(PySequence_Fast(o, "expected a list of tensors")));
  std::vector<Tensor> list;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
    list.push_back(item == Py_None ? Tensor() : to_tensor(item, nullptr));
    ARGOSY_CHECK(!list.back().defined() || !list.back().symbolic(), type)
        << "[run] feed " << i << " is a value of a Program, " << list.back()
        << ", which has no data. Do this: feed a tensor made outside of the Program.";
  }
  return list;
}

// (capacity)
PyObject* f_new(Args a) {
  auto* executor = new Executor(static_cast<size_t>(to_int(a[0])));
  return check(PyCapsule_New(executor, kName, [](PyObject* o) {
    delete static_cast<Executor*>(PyCapsule_GetPointer(o, kName));
  }));
}

struct Call {
  explicit Call(Args a)
      : executor(executor_of(a[0])),
        program(program_of(a[1])),
        feeds(tensors_or_none(a[2])),
        scope(a[4] == Py_None ? nullptr : scope_of(a[4])) {
    for (const Tensor& t : to_tensor_list("fetch", a[3]))
      fetches.push_back(program->builder().current(t));
  }
  Executor& executor;
  std::shared_ptr<Program> program;
  std::vector<Tensor> feeds;
  std::vector<Ref<Value>> fetches;
  std::shared_ptr<program::Scope> scope;
};

// (executor, program, feeds in order of inputs, fetches, scope or None): as program_run. A feed may
// be None where nothing that is fetched needs it.
PyObject* f_run(Args a) {
  Call call(a);
  Tensors out;
  {
    WithoutGil no_gil;
    out = call.executor.run(call.program, call.feeds, call.fetches, call.scope.get());
  }
  return wrap_list(out);
}

// chain_launches() -> how many kernels of the accelerator did the work of several steps
PyObject* f_chain_launches(Args) {
  return PyLong_FromUnsignedLongLong(op::launcher(kAccelerator).chain_launches());
}

// graph_launches() -> how often a run of kernels was launched as one
PyObject* f_graph_launches(Args) {
  return PyLong_FromUnsignedLongLong(runtime::graph_launches());
}

PyObject* f_stats(Args a) {
  const Executor::Stats s = executor_of(a[0]).stats();
  Py d(check(PyDict_New()));
  put(d.get(), "plans", PyLong_FromSize_t(s.plans));
  put(d.get(), "hits", PyLong_FromUnsignedLongLong(s.hits));
  put(d.get(), "misses", PyLong_FromUnsignedLongLong(s.misses));
  return d.release();
}

// The arguments of executor_run: (report as a dict, steps as text) of the plan that it would use.
PyObject* f_plan(Args a) {
  Call call(a);
  std::shared_ptr<const runtime::Plan> plan;
  {
    WithoutGil no_gil;
    plan = call.executor.plan(call.program, call.feeds, call.fetches, call.scope.get());
  }
  const runtime::PlanReport& r = plan->report();
  Py d(check(PyDict_New()));
  put(d.get(), "steps", PyLong_FromSize_t(r.steps));
  put(d.get(), "kernels", PyLong_FromSize_t(r.kernels));
  put(d.get(), "views", PyLong_FromSize_t(r.views));
  put(d.get(), "dispatched", PyLong_FromSize_t(r.dispatched));
  put(d.get(), "in_place", PyLong_FromSize_t(r.in_place));
  put(d.get(), "copies", PyLong_FromSize_t(r.copies));
  put(d.get(), "lower_bound", PyLong_FromSize_t(r.lower_bound));
  put(d.get(), "arena", PyLong_FromSize_t(r.arena));
  put(d.get(), "fresh", PyLong_FromSize_t(r.fresh));
  put(d.get(), "unplanned", PyLong_FromSize_t(r.unplanned));
  put(d.get(), "parallel", PyLong_FromSize_t(r.parallel));
  put(d.get(), "seconds", PyFloat_FromDouble(r.seconds));
  Py text(check(PyUnicode_FromString(plan->print().c_str())));
  return check(PyTuple_Pack(2, d.get(), text.get()));
}

// (executor, mode): 0 one step after the other, 1 where it pays, 2 always (for tests).
PyObject* f_parallel(Args a) {
  executor_of(a[0]).parallel = static_cast<runtime::Parallel>(to_int(a[1]));
  Py_RETURN_NONE;
}

PyObject* f_clear(Args a) {
  executor_of(a[0]).clear();
  Py_RETURN_NONE;
}

void raise_signals() {
  // Only the main thread handles signals; asking takes the GIL, so not more than every 20 ms.
  static thread_local uint64_t last = 0;
  const uint64_t now = __builtin_ia32_rdtsc();
  if (now - last < 50'000'000) return;
  last = now;
  WithGil gil;
  if (PyErr_CheckSignals()) throw_python_error();
}

PyMethodDef functions[] = {FUNCTION("executor_new", f_new, 1),
                           FUNCTION("executor_run", f_run, 5),
                           FUNCTION("executor_stats", f_stats, 1),
                           FUNCTION("graph_launches", f_graph_launches, 0),
                           FUNCTION("chain_launches", f_chain_launches, 0),
                           FUNCTION("executor_plan", f_plan, 5),
                           FUNCTION("executor_parallel", f_parallel, 2),
                           FUNCTION("executor_clear", f_clear, 1),
                           {}};

}  // namespace

void add_runtime(PyObject* module) {
  add_functions(module, functions);
  runtime::look_for_interrupt = raise_signals;
}

}  // namespace argosy::python

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <utility>

#include "python.h"

// What every binding calls to take and give back the GIL, and to call Python from threads of C++
// (cmake/python.cmake wraps the symbols), so that a program may end while daemon threads compute:
// - A thread that wants the GIL while the interpreter ends is ended by CPython with pthread_exit,
//   whose unwinding ends the whole process at the first C++ frame that lets nothing through. It
//   stays here instead until the process has ended, as in CPython itself from 3.14 on.
// - Those that compute without the GIL are waited for, up to a second, before the destructors of
//   libraries take away what they use.
namespace {

struct Thread;

struct Threads {
  std::mutex mutex;
  std::set<Thread*> all;  // guarded by mutex
};

Threads*& threads() {
  static auto* all = new Threads;  // threads outlive static objects
  return all;
}

struct Thread {
  std::atomic<bool> computes{false};  // without the GIL
  int without = 0;                    // scopes without it that are open
  Thread() {
    std::scoped_lock lock(threads()->mutex);
    threads()->all.insert(this);
  }
  ~Thread() {
    std::scoped_lock lock(threads()->mutex);
    threads()->all.erase(this);
  }
};

thread_local Thread own;

bool any_computes() {
  std::scoped_lock lock(threads()->mutex);
  for (const Thread* t : threads()->all)
    if (t->computes) return true;
  return false;
}

void wait_for_threads() {
  for (int i = 0; i < 1000 && any_computes(); ++i) ::usleep(1000);
}

// A forked child has this thread alone.
void forget_others() {
  threads() = new Threads;
  threads()->all.insert(&own);
}

[[maybe_unused]] const int registered[] = {Py_AtExit(wait_for_threads),
                                           pthread_atfork(nullptr, nullptr, forget_others)};

template <class F>
auto or_stay(F&& f) {
  try {
    return f();
  } catch (const abi::__forced_unwind&) {
    for (;;) ::pause();
  }
}

}  // namespace

extern "C" {

PyThreadState* __real_PyEval_SaveThread();
void __real_PyEval_RestoreThread(PyThreadState* state);
PyGILState_STATE __real_PyGILState_Ensure();
void __real_PyGILState_Release(PyGILState_STATE state);
PyObject* __real_PyObject_CallOneArg(PyObject* callable, PyObject* argument);

PyThreadState* __wrap_PyEval_SaveThread() {
  ++own.without;
  own.computes = true;
  return __real_PyEval_SaveThread();
}

void __wrap_PyEval_RestoreThread(PyThreadState* state) {
  own.computes = false;
  or_stay([=] { __real_PyEval_RestoreThread(state); });
  --own.without;
}

PyGILState_STATE __wrap_PyGILState_Ensure() {
  own.computes = false;
  return or_stay(__real_PyGILState_Ensure);
}

void __wrap_PyGILState_Release(PyGILState_STATE state) {
  own.computes = state == PyGILState_UNLOCKED && own.without;
  __real_PyGILState_Release(state);
}

PyObject* __wrap_PyObject_CallOneArg(PyObject* callable, PyObject* argument) {
  return or_stay([=] { return __real_PyObject_CallOneArg(callable, argument); });
}

}  // extern "C"

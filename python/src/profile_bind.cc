#include "argosy/base/profile.h"

#include <cstring>
#include <iterator>

#include "functions.h"
#include "python.h"

namespace argosy::python {
namespace {

using profile::Kind;

// By Kind.
constexpr const char* kKinds[] = {"op",      "kernel",   "gradient",     "memory", "communication",
                                  "data",    "copy",     "wait",         "python", "user",
                                  "forward", "backward", "optimization", "step"};
static_assert(std::size(kKinds) == static_cast<size_t>(Kind::step) + 1);

const char* text_of(const char* what, PyObject* o) {
  const char* text = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  ARGOSY_CHECK(text, type) << "[profiler] " << what << " must be a str, got " << Py_TYPE(o)->tp_name
                           << '.';
  return text;
}

Kind to_kind(PyObject* o) {
  const char* text = text_of("the kind of an event", o);
  for (size_t i = 0; i < std::size(kKinds); ++i)
    if (!std::strcmp(kKinds[i], text)) return static_cast<Kind>(i);
  ARGOSY_THROW(invalid_argument) << "[profiler] there is no kind of event '" << text << "'.";
}

PyObject* f_start(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    profile::Options options;
    options.capacity = to_int(args[0]);
    options.shapes = truth(args[1]);
    options.memory = truth(args[2]);
    options.cost = truth(args[3]);
    profile::start(options);
    Py_RETURN_NONE;
  });
}

PyObject* to_python(const profile::Event& e, PyObject* const* kinds) {
  return Py_BuildValue("(sOLLIiLdz)", e.name, kinds[static_cast<int>(e.kind)],
                       static_cast<long long>(e.begin), static_cast<long long>(e.end), e.thread,
                       static_cast<int>(e.depth), static_cast<long long>(e.note.amount),
                       e.note.cost, e.note.detail);
}

// (events, threads, dropped). An event is (name, kind, begin, end, thread, depth, amount, cost,
// detail), a thread (id, name).
PyObject* f_stop(PyObject*, PyObject*) {
  return guarded_object([] {
    std::vector<profile::Event> events = profile::stop();
    Py kinds[std::size(kKinds)];
    PyObject* borrowed[std::size(kKinds)];
    for (size_t i = 0; i < std::size(kKinds); ++i) {
      kinds[i] = Py(check(PyUnicode_InternFromString(kKinds[i])));
      borrowed[i] = kinds[i].get();
    }
    Py list(check(PyList_New(static_cast<Py_ssize_t>(events.size()))));
    for (size_t i = 0; i < events.size(); ++i)
      PyList_SET_ITEM(list.get(), i, check(to_python(events[i], borrowed)));
    std::vector<profile::Thread> threads = profile::threads();
    Py names(check(PyList_New(static_cast<Py_ssize_t>(threads.size()))));
    for (size_t i = 0; i < threads.size(); ++i)
      PyList_SET_ITEM(names.get(), i,
                      check(Py_BuildValue("(Ls)", static_cast<long long>(threads[i].id),
                                          threads[i].name.c_str())));
    return Py_BuildValue("(OOL)", list.get(), names.get(),
                         static_cast<long long>(profile::dropped()));
  });
}

PyObject* f_enabled(PyObject*, PyObject*) {
  return PyBool_FromLong(profile::enabled());
}

// The time, to be given to profile_close; 0 while nobody listens.
PyObject* f_open(PyObject*, PyObject*) {
  return PyLong_FromLongLong(profile::enabled() ? profile::detail::open() : 0);
}

// (name, kind, what profile_open gave)
PyObject* f_close(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    if (int64_t begin = to_int(args[2]))
      profile::detail::close(profile::intern(text_of("the name of an event", args[0])),
                             to_kind(args[1]), begin);
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {FAST("profile_start", f_start),
                           {"profile_stop", f_stop, METH_NOARGS, nullptr},
                           {"profile_enabled", f_enabled, METH_NOARGS, nullptr},
                           {"profile_open", f_open, METH_NOARGS, nullptr},
                           FAST("profile_close", f_close),
                           {}};

}  // namespace

void add_profile(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

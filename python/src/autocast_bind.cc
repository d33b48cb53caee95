#include "autocast_bind.h"
#include "argosy/op/autocast.h"
#include "functions.h"
#include "python.h"

// Functions of argosy._core for automatic casting, whose states Python holds as capsules.
namespace argosy::python {
namespace {

constexpr const char* kState = "argosy.autocast";

// A state of a thread, and whether calls go by it: gradients run as they are called.
struct Held {
  std::shared_ptr<const op::Autocast> state;
  bool effective = true;
};

PyObject* wrap_state(Held held) {
  if (!held.state) Py_RETURN_NONE;
  return check(PyCapsule_New(new Held(std::move(held)), kState, [](PyObject* o) {
    delete static_cast<Held*>(PyCapsule_GetPointer(o, kState));
  }));
}

Held held_by(PyObject* o) {
  if (o == Py_None) return {};
  void* p = PyCapsule_GetPointer(o, kState);
  if (!p) throw PythonError{};
  return *static_cast<Held*>(p);
}

void put_on_list(op::Autocast& state, PyObject* names, op::Amp how) {
  Py list(check(PySequence_Fast(names, "expected names of ops")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
    state.custom[&op::get(text_of(PySequence_Fast_GET_ITEM(list.get(), i)))] = how;
}

// autocast_state(level 0 OD, 1, 2; dtype; promote; lower; full) -> state
PyObject* f_autocast_state(Args args) {
  auto state = std::make_shared<op::Autocast>();
  state->level = static_cast<op::Autocast::Level>(to_int(args[0]));
  state->dtype = to_dtype(args[1]);
  state->promote = truth(args[2]);
  put_on_list(*state, args[3], op::Amp::lower);
  put_on_list(*state, args[4], op::Amp::full);
  return wrap_state({std::move(state)});
}

// set_autocast(state or None) -> what it was, of this thread
PyObject* f_set_autocast(Args args) {
  const Held next = held_by(args[0]);
  const bool effective = op::autocast != nullptr;
  Held before{op::set_autocast(next.state), effective};
  if (!next.effective) op::autocast = nullptr;
  return wrap_state(std::move(before));
}

PyObject* f_forget_casts(Args) {
  op::forget_casts();
  Py_RETURN_NONE;
}

// autocast_word(op, level) -> "lower", "full", "follow", "leading" or "never"
PyObject* f_autocast_word(Args args) {
  op::Autocast state;
  state.level = static_cast<op::Autocast::Level>(to_int(args[1]));
  constexpr const char* kWords[] = {"follow", "lower", "full", "leading", "never"};
  const op::Amp how = op::precision_of(state, op::get(text_of(args[0])));
  return check(PyUnicode_FromString(kWords[static_cast<size_t>(how)]));
}

PyMethodDef functions[] = {FUNCTION("autocast_state", f_autocast_state, 5),
                           FUNCTION("set_autocast", f_set_autocast, 1),
                           FUNCTION("forget_casts", f_forget_casts, 0),
                           FUNCTION("autocast_word", f_autocast_word, 2),
                           {}};

}  // namespace

void add_autocast(PyObject* module) {
  if (PyModule_AddFunctions(module, functions)) throw PythonError{};
}

}  // namespace argosy::python

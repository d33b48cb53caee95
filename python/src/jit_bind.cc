#include "argosy/jit/split.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/recorded_write.h"
#include "argosy/program/builder.h"
#include "functions.h"
#include "program.h"

// Functions of argosy._core that argosy/jit is built on.
namespace argosy::python {
namespace {

using program::Program;
using program::Value;

// (program, number of inputs, results, wanted gradients or None) -> (forward, backward, taken
// inputs, number of saved values, [made])
PyObject* f_split(PyObject*, PyObject* const* a, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    Program& g = *program_of(a[0]);
    std::vector<Ref<Value>> results, wanted;
    for (const Tensor& t : to_tensor_list("split", a[2])) results.push_back(g.builder().current(t));
    for (const Tensor& t : to_tensor_list("split", a[3])) wanted.push_back(g.builder().current(t));
    jit::Split s = jit::split(g, static_cast<size_t>(to_int(a[1])), results, wanted);
    Py taken(check(PyList_New(0))), made(check(PyList_New(0)));
    for (uint32_t i : s.taken) {
      Py item(check(PyLong_FromUnsignedLong(i)));
      if (PyList_Append(taken.get(), item.get())) throw PythonError{};
    }
    for (bool m : s.made)
      if (PyList_Append(made.get(), m ? Py_True : Py_False)) throw PythonError{};
    return check(Py_BuildValue("(NNNnN)", wrap_program(s.forward), wrap_program(s.backward),
                               taken.release(), static_cast<Py_ssize_t>(s.saved), made.release()));
  });
}

// Counts all operations as forward ones: what is appended next with the role backward is apart.
PyObject* f_all_forward(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    for (const auto& operation : program_of(o)->main.operations)
      operation->role = program::Role::forward;
    Py_RETURN_NONE;
  });
}

// Whether a run draws random numbers.
PyObject* f_is_random(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    bool random = false;
    program::each_operation(program_of(o)->main, [&](const program::Operation& operation) {
      random |= operation.op->effect == op::Effect::random;
    });
    return PyBool_FromLong(random);
  });
}

// (program, feeds, fetches): each op by eager dispatch, so that the results have gradients.
PyObject* f_run_recorded(PyObject*, PyObject* const* a, Py_ssize_t) {
  return guarded_object([&] {
    Program& p = *program_of(a[0]);
    auto feeds = to_tensor_list("run", a[1]);
    std::vector<Ref<Value>> fetches;
    for (const Tensor& t : to_tensor_list("run", a[2])) fetches.push_back(p.builder().current(t));
    program::Recording off(nullptr);
    return wrap_list(p.run(feeds, fetches, nullptr, true));
  });
}

// (program, other, feeds): appends the operations of `other`; its outputs.
PyObject* f_inline(PyObject*, PyObject* const* a, Py_ssize_t) {
  return guarded_object([&] {
    auto feeds = to_tensor_list("inline", a[2]);
    return wrap_list(program_of(a[0])->builder().inline_program(*program_of(a[1]), feeds));
  });
}

// The values of a Program's outputs, in order.
PyObject* f_outputs(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    std::vector<Tensor> list;
    for (const auto& output : program_of(o)->outputs) list.push_back(program::handle(output.value));
    return wrap_list(list);
  });
}

// The eager tensors that a Program reads as state: [(tensor, trainable, written)].
PyObject* f_bound_states(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    Py list(check(PyList_New(0)));
    for (const auto& s : program_of(o)->states) {
      if (!s.state->tensor.defined()) continue;
      Py item(check(Py_BuildValue("(NOO)", wrap(s.state->tensor),
                                  s.state->trainable ? Py_True : Py_False,
                                  s.last ? Py_True : Py_False)));
      if (PyList_Append(list.get(), item.get())) throw PythonError{};
    }
    return list.release();
  });
}

// The eager tensors of the user that a Program reads, as state or as they are.
PyObject* f_read_tensors(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    const auto program = program_of(o);
    std::vector<Tensor> tensors;
    for (const auto& s : program->states)
      if (s.state->tensor.defined()) tensors.push_back(s.state->tensor);
    for (const auto& c : program->constants)
      if (!c.fixed) tensors.push_back(c.tensor);
    return wrap_list(tensors);
  });
}

// The inputs that a Program has written in place, through views, too: [(number, what it is now)].
PyObject* f_changed_inputs(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    const auto program = program_of(o);
    program::Builder& b = program->builder();
    Py list(check(PyList_New(0)));
    for (size_t i = 0; i < program->main.arguments.size(); ++i) {
      const Tensor first = program::handle(program->main.arguments[i]);
      if (!b.has_written(first)) continue;
      Py item(check(Py_BuildValue("(nN)", static_cast<Py_ssize_t>(i),
                                  wrap(program::handle(b.current(first))))));
      if (PyList_Append(list.get(), item.get())) throw PythonError{};
    }
    return list.release();
  });
}

// (program, number of an input, a value): whether it is that input, in another shape at most.
PyObject* f_is_input_reshaped(PyObject*, PyObject* const* a, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    const auto program = program_of(a[0]);
    const size_t number = static_cast<size_t>(to_int(a[1]));
    const Value* v = program::value_of(checked_tensor("program_is_input_reshaped", a[2]));
    while (v && v->producer && v->producer->op->same_order) v = v->producer->operands[0].get();
    return PyBool_FromLong(v && v == program->main.arguments.at(number).get());
  });
}

// The eager tensors whose numbers were taken while a Program was recorded.
PyObject* f_numbers_read(PyObject*, PyObject* o) {
  return guarded_object([&] { return wrap_list(program_of(o)->builder().numbers_read()); });
}

// stop_gradient of each tensor of a list, as bytes.
PyObject* f_stop_gradients(PyObject*, PyObject* list) {
  return guarded_object([&]() -> PyObject* {
    const Py_ssize_t n = PyList_GET_SIZE(list);
    Py flags(check(PyBytes_FromStringAndSize(nullptr, n)));
    char* to = PyBytes_AS_STRING(flags.get());
    for (Py_ssize_t i = 0; i < n; ++i)
      to[i] = impl_of(PyList_GET_ITEM(list, i))->stop_gradient ? 1 : 0;
    return flags.release();
  });
}

// (program, name, tensor): the state `name` is this tensor from now on.
PyObject* f_bind_state(PyObject*, PyObject* const* a, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    Program& p = *program_of(a[0]);
    const char* name = PyUnicode_AsUTF8(a[1]);
    if (!name) throw PythonError{};
    program::StateUse* use = p.find_state(std::string_view(name));
    ARGOSY_CHECK(use, invalid_argument) << "The Program has no state '" << name << "'.";
    Tensor t = tensor_of(a[2]);
    ARGOSY_CHECK(t.dtype() == use->state->dtype && t.shape() == use->state->shape, invalid_argument)
        << "State '" << name << "' expects " << use->state->dtype << use->state->shape << ", got "
        << t << '.';
    // Other Programs may hold the State: this one gets its own.
    auto own = make_ref<program::State>();
    own->name = use->state->name;
    own->shape = use->state->shape;
    own->dtype = use->state->dtype;
    own->trainable = use->state->trainable;
    own->persistable = use->state->persistable;
    own->tensor = t;
    use->state = own;
    p.changed();
    Py_RETURN_NONE;
  });
}

// Whether eager mode would not let it be written: a leaf that needs a gradient.
PyObject* f_refuses_write(PyObject*, PyObject* o) {
  return guarded_object([&] {
    return PyBool_FromLong(op::refuses_recorded_write(checked_tensor("refuses_write", o)));
  });
}

PyObject* f_set_made_number(PyObject*, PyObject* type) {
  set_made_number(type);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {FAST("program_split", f_split),
                           {"refuses_recorded_write", f_refuses_write, METH_O, nullptr},
                           {"set_made_number", f_set_made_number, METH_O, nullptr},
                           FAST("program_run_recorded", f_run_recorded),
                           {"program_all_forward", f_all_forward, METH_O, nullptr},
                           {"program_is_random", f_is_random, METH_O, nullptr},
                           FAST("program_inline", f_inline),
                           {"program_outputs", f_outputs, METH_O, nullptr},
                           {"program_bound_states", f_bound_states, METH_O, nullptr},
                           {"program_read_tensors", f_read_tensors, METH_O, nullptr},
                           {"program_changed_inputs", f_changed_inputs, METH_O, nullptr},
                           FAST("program_is_input_reshaped", f_is_input_reshaped),
                           {"program_numbers_read", f_numbers_read, METH_O, nullptr},
                           {"stop_gradients", f_stop_gradients, METH_O, nullptr},
                           FAST("program_bind_state", f_bind_state),
                           {}};

}  // namespace

void add_jit(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

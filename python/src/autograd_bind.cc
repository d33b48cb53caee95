#include <memory>

#include "argosy/autograd/engine.h"
#include "argosy/autograd/saved_hooks.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/control/custom_gradient.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "argosy/program/builder.h"
#include "callables.h"
#include "functions.h"
#include "python.h"

namespace argosy::python {
namespace {

// The Program that these are values of, null if all are concrete.
std::shared_ptr<program::Program> program_of_values(std::span<const Tensor> tensors) {
  for (const Tensor& t : tensors)
    if (program::Value* v = program::value_of(t)) return v->program.lock();
  return nullptr;
}

// A Python object that C++ may drop on any thread.
std::shared_ptr<PyObject> hold(PyObject* o) {
  Py_INCREF(o);
  return {o, [](PyObject* p) {
            if (!Py_IsInitialized()) return;
            WithGil gil;
            Py_DECREF(p);
          }};
}

struct PyHook {
  std::shared_ptr<PyObject> callable;

  Tensor operator()(const Tensor& grad) const {
    WithGil gil;
    try {
      Py argument(check(wrap(grad)));
      Py result(check(PyObject_CallOneArg(callable.get(), argument.get())));
      if (result.get() == Py_None) return {};
      ARGOSY_CHECK(is_tensor(result.get()), type)
          << "A gradient hook must return a Tensor or None, got " << Py_TYPE(result.get())->tp_name
          << '.';
      return tensor_of(result.get());
    } catch (const PythonError&) {
      throw_python_error();
    }
  }
};

// pack_hook and unpack_hook of saved_tensors_hooks.
std::shared_ptr<const autograd::SavedHooks> saved_hooks(PyObject* pack, PyObject* unpack) {
  auto hooks = std::make_shared<autograd::SavedHooks>();
  hooks->pack = [call = hold(pack)](const Tensor& t) -> std::shared_ptr<void> {
    WithGil gil;
    try {
      Py argument(check(wrap(t)));
      Py kept(check(PyObject_CallOneArg(call.get(), argument.get())));
      return hold(kept.get());
    } catch (const PythonError&) {
      throw_python_error();
    }
  };
  hooks->unpack = [call = hold(unpack)](void* kept) -> Tensor {
    WithGil gil;
    try {
      Py value(check(PyObject_CallOneArg(call.get(), static_cast<PyObject*>(kept))));
      ARGOSY_CHECK(is_tensor(value.get()), invalid_argument)
          << "[saved_tensors_hooks] unpack_hook must return a Tensor, got "
          << Py_TYPE(value.get())->tp_name << ". Do this: make a Tensor of what pack_hook kept.";
      return tensor_of(value.get());
    } catch (const PythonError&) {
      throw_python_error();
    }
  };
  return hooks;
}

// The tape node of a PyLayer: calls its Python backward.
class PyNode final : public autograd::Node {
 public:
  PyNode(std::string name, PyObject* call) : name_(std::move(name)), call_(hold(call)) {}
  const char* name() const override { return name_.c_str(); }
  bool released() const override { return !call_; }
  void release_saved() override { call_.reset(); }
  PyObject* call() const { return call_.get(); }

  // call_(dys: list of Tensor or None) -> list of Tensor or None, one for each edge.
  Tensors backward(std::span<const Tensor> dys, const bool*) override {
    WithGil gil;
    try {
      Py list(check(wrap_list(dys)));
      Py enabled(PyBool_FromLong(op::thread_state.grad_enabled));
      Py result(check(PyObject_CallOneArg(call_.get(), list.get())));
      std::vector<Tensor> grads = to_tensor_list(name_.c_str(), result.get());
      ARGOSY_CHECK(grads.size() == edges.size(), invalid_argument)
          << '[' << name_ << ".backward] expected " << edges.size()
          << " gradients, one for each Tensor input of forward, got " << grads.size() << '.';
      Tensors out;
      for (Tensor& g : grads) out.push_back(std::move(g));
      return out;
    } catch (const PythonError&) {
      throw_python_error();
    }
  }

 private:
  std::string name_;
  std::shared_ptr<PyObject> call_;
};

// backward() while a Program is recorded: appends the gradients of all trainable state and leaves
// them in .grad, added to what is there.
void record_backward(program::Program& p, std::span<const Tensor> roots,
                     std::span<const Tensor> seeds) {
  std::vector<Tensor> leaves;
  for (const program::StateUse& s : p.states)
    if (s.state->trainable) leaves.push_back(program::handle(s.state));
  Tensors grads = p.builder().gradients(roots, seeds, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!grads[i].defined()) continue;
    Tensor before = autograd::grad_of(leaves[i]);
    autograd::set_grad(leaves[i], before.defined() ? ops::add(before, grads[i]) : grads[i]);
  }
}

PyObject* f_backward(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    auto roots = to_tensor_list("backward", args[0]);
    auto seeds = to_tensor_list("backward", args[1]);
    bool retain = truth(args[2]);
    if (auto p = program_of_values(roots)) {
      record_backward(*p, roots, seeds);
      Py_RETURN_NONE;
    }
    {
      WithoutGil no_gil;
      autograd::backward(roots, seeds, retain);
    }
    Py_RETURN_NONE;
  });
}

PyObject* f_grad(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    auto outputs = to_tensor_list("grad", args[0]);
    auto inputs = to_tensor_list("grad", args[1]);
    auto seeds = to_tensor_list("grad", args[2]);
    bool retain = truth(args[3]);
    bool create = truth(args[4]);
    bool unused = truth(args[5]);
    auto blocked = to_tensor_list("grad", args[6]);
    Tensors result;
    if (auto p = program_of_values(outputs)) {
      result = p->builder().gradients(outputs, seeds, inputs, blocked);
      for (size_t i = 0; i < result.size(); ++i)
        ARGOSY_CHECK(unused || result[i].defined(), invalid_argument)
            << "[grad] the outputs do not depend on inputs[" << i
            << "]. Do this: pass allow_unused=True to get None for it.";
      return wrap_list(result);
    }
    {
      WithoutGil no_gil;
      result = autograd::grad(outputs, inputs, seeds, retain, create, unused, blocked);
    }
    return wrap_list(result);
  });
}

PyObject* f_is_grad_enabled(PyObject*, PyObject*) {
  return PyBool_FromLong(op::thread_state.grad_enabled);
}
PyObject* f_set_grad_enabled(PyObject*, PyObject* on) {
  return guarded_object([&] {
    const bool enabled = truth(on);
    return PyBool_FromLong(std::exchange(op::thread_state.grad_enabled, enabled));
  });
}

PyObject* f_register_hook(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&] {
    Tensor t = checked_tensor("register_hook", args[0]);
    track(args[0]);
    return PyLong_FromUnsignedLongLong(autograd::add_hook(t, PyHook{hold(args[1])}));
  });
}
PyObject* f_remove_hook(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&] {
    return PyBool_FromLong(autograd::remove_hook(checked_tensor("remove_hook", args[0]),
                                                 PyLong_AsUnsignedLongLong(args[1])));
  });
}
PyObject* f_retain_grads(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    autograd::retain_grad(checked_tensor("retain_grads", o));
    Py_RETURN_NONE;
  });
}
// A Python callable without arguments.
std::function<void()> calling(PyObject* callable) {
  return [held = hold(callable)] {
    WithGil gil;
    Py result(PyObject_CallNoArgs(held.get()));
    if (!result) throw_python_error();
  };
}

// Runs callable() each time a gradient was added to leaf tensor.
PyObject* f_after_accumulate(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    autograd::slot(checked_tensor("after_accumulate", args[0])).after.push_back(calling(args[1]));
    Py_RETURN_NONE;
  });
}

// Runs callable() each time the gradient of leaf tensor is complete, in the middle of backward.
// Gives a number for remove_exchange.
PyObject* f_add_exchange(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&] {
    return PyLong_FromUnsignedLongLong(
        autograd::slot(checked_tensor("add_exchange", args[0])).add_exchange(calling(args[1])));
  });
}
PyObject* f_remove_exchange(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&] {
    return PyBool_FromLong(autograd::slot(checked_tensor("remove_exchange", args[0]))
                               .remove_exchange(PyLong_AsUnsignedLongLong(args[1])));
  });
}
PyObject* f_leaves_are_exchanged(PyObject*, PyObject*) {
  return PyBool_FromLong(autograd::leaves_are_exchanged());
}
// exchange_in_parts(leaf, ends, part): part(k) is called when the gradient of the leaf has its rows
// below ends[k], where one node makes all of it; None: no more.
PyObject* f_exchange_in_parts(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    autograd::Accumulate::Parts parts;
    for (Py_ssize_t k = 0; k < PySequence_Size(args[1]); ++k) {
      const Py end(check(PySequence_GetItem(args[1], k)));
      parts.ends.push_back(to_int(end.get()));
    }
    if (args[2] != Py_None)
      parts.part = [held = hold(args[2])](size_t k) {
        WithGil gil;
        Py result(PyObject_CallFunction(held.get(), "n", static_cast<Py_ssize_t>(k)));
        if (!result) throw_python_error();
      };
    autograd::slot(checked_tensor("exchange_in_parts", args[0])).parts = std::move(parts);
    Py_RETURN_NONE;
  });
}
// exchange_under_way(leaves, wait): who reads or replaces one of their gradients calls wait()
// before; None: the exchange has ended.
PyObject* f_exchange_under_way(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    const std::function<void()> wait = args[1] == Py_None ? nullptr : calling(args[1]);
    for (const Tensor& t : to_tensor_list("exchange_under_way", args[0]))
      autograd::slot(t).under_way = wait;
    Py_RETURN_NONE;
  });
}

Tensors call_custom_gradient(int64_t rule, std::span<const Tensor> dys) {
  return call_kept("custom_gradient", rule, dys);
}

// While a Program is recorded: outputs become results of one operation with this gradient.
void record_custom_gradient(PyObject* call, std::span<const Tensor> inputs,
                            std::span<const Tensor> outputs) {
  Tensors made = ops::custom_gradient(inputs, outputs, keep_callable(call));
  for (size_t i = 0; i < outputs.size(); ++i) {
    op::hooks.rebind(outputs[i], made[i]);
    outputs[i].set_stop_gradient(made[i].stop_gradient());
  }
}

// tie_pylayer(name, backward_callable, inputs, outputs): outputs become results of one node.
PyObject* f_tie(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    auto inputs = to_tensor_list("PyLayer", args[2]);
    auto outputs = to_tensor_list("PyLayer", args[3]);
    if (program_of_values(outputs)) {
      record_custom_gradient(args[1], inputs, outputs);
      Py_RETURN_NONE;
    }
    auto node = make_ref<PyNode>(PyUnicode_AsUTF8(args[0]), args[1]);
    for (const Tensor& t : inputs) node->edges.push_back(autograd::edge_to(t));
    node->outputs = static_cast<uint32_t>(outputs.size());
    for (const Tensor& t : outputs)
      if (t.defined() && t.impl()->python) track(static_cast<PyObject*>(t.impl()->python));
    for (uint32_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].defined() && is_differentiable(outputs[i].dtype()))
        autograd::tie(outputs[i], Ref<autograd::Node>::share(node.get()), i);
    Py_RETURN_NONE;
  });
}

// clear_grads(tensors, to_zero)
PyObject* f_clear_grads(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    const bool to_zero = truth(args[1]);
    for (const Tensor& t : to_tensor_list("clear_grads", args[0]))
      if (t.defined()) autograd::clear_grad(t, to_zero);
    Py_RETURN_NONE;
  });
}

// gradients_of(tensors) -> (list of those to train that have a gradient, list of the gradients)
PyObject* f_gradients_of(PyObject*, PyObject* tensors) {
  return guarded_object([&]() -> PyObject* {
    Py fast(check(PySequence_Fast(tensors, "expected a list of Tensors")));
    Py chosen(check(PyList_New(0))), grads(check(PyList_New(0)));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
      ARGOSY_CHECK(is_tensor(item), type)
          << "[gradients_of] expected Tensors, got " << Py_TYPE(item)->tp_name << '.';
      if (impl_of(item)->stop_gradient) continue;
      Tensor grad = autograd::grad_of(tensor_of(item));
      if (!grad.defined()) continue;
      Py value(check(wrap(grad)));
      if (PyList_Append(chosen.get(), item) || PyList_Append(grads.get(), value.get()))
        return nullptr;
    }
    return PyTuple_Pack(2, chosen.get(), grads.get());
  });
}

// set_saved_hooks(pack, unpack), or without arguments for none: of this thread.
PyObject* f_set_saved_hooks(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded_object([&]() -> PyObject* {
    ARGOSY_CHECK(count == 0 || !autograd::has_saved_hooks(), invalid_argument)
        << "[saved_tensors_hooks] hooks are registered already. Do this: leave the `with` block of "
           "the other hooks first.";
    autograd::set_saved_hooks(count ? saved_hooks(args[0], args[1]) : nullptr);
    Py_RETURN_NONE;
  });
}

// Drops the history: the tensor becomes a leaf that needs no gradient.
PyObject* f_detach_(PyObject*, PyObject* o) {
  return guarded_object([&] {
    TensorImpl* impl = checked_tensor("detach_", o).impl();
    impl->grad_fn = nullptr;
    impl->grad_index = 0;
    impl->stop_gradient = true;
    return Py_NewRef(o);
  });
}

PyMethodDef functions[] = {FAST("backward", f_backward),
                           FAST("grad", f_grad),
                           {"is_grad_enabled", f_is_grad_enabled, METH_NOARGS, nullptr},
                           {"set_grad_enabled", f_set_grad_enabled, METH_O, nullptr},
                           FAST("register_hook", f_register_hook),
                           FAST("remove_hook", f_remove_hook),
                           {"retain_grads", f_retain_grads, METH_O, nullptr},
                           FAST("after_accumulate", f_after_accumulate),
                           FAST("add_exchange", f_add_exchange),
                           FAST("remove_exchange", f_remove_exchange),
                           {"leaves_are_exchanged", f_leaves_are_exchanged, METH_NOARGS, nullptr},
                           FAST("exchange_in_parts", f_exchange_in_parts),
                           FAST("exchange_under_way", f_exchange_under_way),
                           FAST("tie_pylayer", f_tie),
                           FAST("set_saved_hooks", f_set_saved_hooks),
                           {"detach_", f_detach_, METH_O, nullptr},
                           FAST("clear_grads", f_clear_grads),
                           {"gradients_of", f_gradients_of, METH_O, nullptr},
                           {}};

}  // namespace

int visit_history(TensorImpl* impl, visitproc visit, void* arg) {
  if (!impl || impl->ref_count() != 1) return 0;
  auto* node = static_cast<autograd::Node*>(impl->grad_fn.get());
  if (!node && impl->record) node = static_cast<autograd::Record*>(impl->record.get())->slot.get();
  if (!node || node->ref_count() != 1) return 0;
  for (const autograd::Hook& hook : node->hooks)
    if (const auto* fn = hook.fn.target<PyHook>()) Py_VISIT(fn->callable.get());
  if (auto* layer = dynamic_cast<PyNode*>(node)) Py_VISIT(layer->call());
  return 0;
}

void add_autograd(PyObject* module) {
  ops::custom_gradient_hook = call_custom_gradient;
  add_functions(module, functions);
}

}  // namespace argosy::python

#include "argosy/op/dispatch.h"
#include "functions.h"
#include "python.h"

// What tools read of the registry: tools/generate_api.py, tests, docs.
namespace argosy::python {
namespace {

PyObject* text(const std::string& s) {
  return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}
PyObject* texts(const std::vector<std::string>& list) {
  Py out(check(PyList_New(0)));
  for (const std::string& s : list) {
    Py item(check(text(s)));
    PyList_Append(out.get(), item.get());
  }
  return out.release();
}

PyObject* dtypes(DTypes set) {
  Py out(check(PyList_New(0)));
  for (int i = 0; i < kDTypeCount; ++i) {
    if (!set.has(static_cast<DType>(i))) continue;
    Py item(check(PyUnicode_FromString(name_of(static_cast<DType>(i)))));
    PyList_Append(out.get(), item.get());
  }
  return out.release();
}

// Which words about an op's meaning its description has.
PyObject* facts(const op::OpDef& op) {
  std::vector<std::string> words;
  auto say = [&](const char* word, bool holds) {
    if (holds) words.emplace_back(word);
  };
  say("fills", static_cast<bool>(op.fills));
  say("uninitialized", op.uninitialized);
  say("same_order", op.same_order);
  bool strided = false, any_order = true;
  for (const op::KernelDef& k : op.kernels[static_cast<int>(DeviceKind::cpu)]) {
    strided |= k.strided;
    any_order &= !k.strided || k.any_order;
  }
  say("any_order", strided && any_order);
  say("sums", op.sums);
  say("per_parameter", op.per_parameter);
  say("again", op.again);
  say("inference", static_cast<bool>(op.inference));
  say("training_only", op.training_only);
  say("cost", static_cast<bool>(op.cost));
  say("on_host", op.on_host);
  say("result_place", static_cast<bool>(op.result_place));
  return texts(words);
}

PyObject* describe(const op::OpDef& op) {
  Py d(check(PyDict_New()));
  put(d.get(), "name", text(op.name));
  Py inputs(check(PyList_New(0)));
  for (const op::InputDef& in : op.inputs) {
    Py item(check(PyDict_New()));
    put(item.get(), "name", text(in.name));
    put(item.get(), "optional", PyBool_FromLong(in.optional));
    put(item.get(), "list", PyBool_FromLong(in.list));
    put(item.get(), "dtypes", dtypes(in.dtypes));
    static const char* saves[] = {"nothing", "shape", "others", "value"};
    put(item.get(), "saves", PyUnicode_FromString(saves[static_cast<int>(in.save)]));
    put(item.get(), "shape_only", PyBool_FromLong(in.reads == op::Reads::shape));
    put(item.get(), "host", PyBool_FromLong(in.host));
    PyList_Append(inputs.get(), item.get());
  }
  put(d.get(), "inputs", inputs.release());
  Py outputs(check(PyList_New(0)));
  for (const op::OutputDef& out : op.outputs) {
    Py item(check(PyDict_New()));
    put(item.get(), "name", text(out.name));
    put(item.get(), "list", PyBool_FromLong(out.list));
    put(item.get(), "hidden", PyBool_FromLong(out.hidden));
    put(item.get(), "differentiable", PyBool_FromLong(out.differentiable));
    PyList_Append(outputs.get(), item.get());
  }
  put(d.get(), "outputs", outputs.release());
  static const char* kinds[] = {
      "bool",           "int",           "float",           "str",
      "dtype",          "optional bool", "optional int",    "optional float",
      "optional dtype", "optional str",  "list[int]",       "list[float]",
      "list[str]",      "scalar",        "optional scalar", "int array",
      "list[dtype]"};
  Py attrs(check(PyList_New(0)));
  for (const op::Field& f : op.attrs->fields) {
    Py item(check(PyDict_New()));
    put(item.get(), "name", PyUnicode_FromString(f.name));
    put(item.get(), "kind", PyUnicode_FromString(kinds[static_cast<int>(f.kind)]));
    put(item.get(), "default", text(op::print_field(f, op.attrs->defaults)));
    PyList_Append(attrs.get(), item.get());
  }
  put(d.get(), "attrs", attrs.release());
  Py kernels(check(PyList_New(0)));
  for (const auto& list : op.kernels)
    for (const op::KernelDef& k : list) {
      Py item(check(text(k.name)));
      PyList_Append(kernels.get(), item.get());
    }
  put(d.get(), "kernels", kernels.release());
  Py aliases(check(PyDict_New()));
  for (auto& [other, own] : op.aliases) put(aliases.get(), other.c_str(), text(own));
  put(d.get(), "aliases", aliases.release());
  put(d.get(), "python", texts(op.python));
  put(d.get(), "methods", texts(op.methods));
  put(d.get(), "inplace", texts(op.inplace));
  put(d.get(), "doc", text(op.doc));
  put(d.get(), "paper", text(op.paper));
  put(d.get(), "shape", text(op.shape));
  put(d.get(), "infers", PyBool_FromLong(static_cast<bool>(op.infer)));
  put(d.get(), "example", text(op.example));
  put(d.get(), "file", PyUnicode_FromString(op.file));
  put(d.get(), "has_gradient", PyBool_FromLong(static_cast<bool>(op.gradient)));
  put(d.get(), "composed", PyBool_FromLong(static_cast<bool>(op.compose)));
  put(d.get(), "promotes", PyBool_FromLong(op.promotes));
  put(d.get(), "elementwise", PyBool_FromLong(op.elementwise));
  const char* casts[] = {"follow", "lower", "full", "leading", "never"};
  put(d.get(), "amp",
      Py_BuildValue("(ss)", casts[static_cast<int>(op.amp_o1)],
                    casts[static_cast<int>(op.amp_o2)]));
  put(d.get(), "facts", facts(op));
  return d.release();
}

PyObject* f_registry(PyObject*, PyObject*) {
  return guarded_object([&] {
    Py list(check(PyList_New(0)));
    for (const op::OpDef* op : op::all()) {
      Py item(describe(*op));
      PyList_Append(list.get(), item.get());
    }
    return list.release();
  });
}

// explain(callable) -> (result, text)
PyObject* f_explain(PyObject*, PyObject* callable) {
  return guarded_object([&] {
    std::string lines;
    auto* before = std::exchange(op::thread_state.explain, &lines);
    Py result(PyObject_CallNoArgs(callable));
    op::thread_state.explain = before;
    check(result.get());
    return check(
        Py_BuildValue("(Os#)", result.get(), lines.data(), static_cast<Py_ssize_t>(lines.size())));
  });
}

PyMethodDef functions[] = {
    {"registry", f_registry, METH_NOARGS, "Descriptions of all ops, as dicts."},
    {"explain", f_explain, METH_O, "explain(callable) -> (result, which kernels ran and why)"},
    {}};

}  // namespace

void add_registry(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

#include "argosy/base/cpu.h"
#include "argosy/base/flags.h"
#include "argosy/base/memory.h"
#include "argosy/base/parallel.h"
#include "argosy/base/random.h"
#include "argosy/kernels/cpu/libraries.h"
#include "argosy/op/accelerator.h"
#include "argosy/op/dispatch.h"
#include "argosy/program/builder.h"
#include "python.h"

namespace argosy::python {
namespace {

PyObject* f_set_default_dtype(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    DType t = to_dtype(o);
    ARGOSY_CHECK(kFloating.has(t), type)
        << "set_default_dtype: expected float16, bfloat16, float32 or float64, got " << t << '.';
    ARGOSY_CHECK(!program::captures(), not_implemented)
        << "set_default_dtype is called in a function that is captured, whose Program takes the "
           "dtype "
           "of the call. Do this: call it outside of the function, or name the dtype of what is "
           "made.";
    op::set_default_dtype(t);
    Py_RETURN_NONE;
  });
}
PyObject* f_get_default_dtype(PyObject*, PyObject*) {
  return PyUnicode_FromString(name_of(op::default_dtype()));
}
PyObject* f_num_threads(PyObject*, PyObject*) {
  return PyLong_FromLong(num_threads());
}
PyObject* f_set_num_threads(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    int64_t n = to_int(o);
    ARGOSY_CHECK(n >= 1 && n <= 4096, invalid_argument)
        << "set_num_threads: expected 1 <= n <= 4096, got " << n << '.';
    set_num_threads(static_cast<int>(n));
    Py_RETURN_NONE;
  });
}
PyObject* f_memory_stats(PyObject*, PyObject* o) {
  return guarded_object([&] {
    memory::Stats s = memory::stats(to_place(o));
    return Py_BuildValue("{sK sK sK sK}", "allocated", static_cast<unsigned long long>(s.allocated),
                         "peak", static_cast<unsigned long long>(s.peak), "reserved",
                         static_cast<unsigned long long>(s.reserved), "peak_reserved",
                         static_cast<unsigned long long>(s.peak_reserved));
  });
}
PyObject* f_reset_peak(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    memory::reset_peak(to_place(o));
    Py_RETURN_NONE;
  });
}
PyObject* f_release_cached(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    memory::release_cached(to_place(o));
    Py_RETURN_NONE;
  });
}
PyObject* f_memory_dump(PyObject*, PyObject* o) {
  return guarded_object([&] { return PyUnicode_FromString(memory::dump(to_place(o)).c_str()); });
}
PyObject* f_set_memory_limit(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    memory::set_limit(to_place(args[0]), static_cast<size_t>(to_int(args[1])));
    Py_RETURN_NONE;
  });
}
PyObject* f_set_place(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    op::thread_state.place = to_place(o);
    Py_RETURN_NONE;
  });
}

PyObject* f_cpu_features(PyObject*, PyObject*) {
  return guarded_object([] { return PyUnicode_FromString(cpu::features_text().c_str()); });
}
PyObject* f_library_versions(PyObject*, PyObject*) {
  return guarded_object([] {
    return Py_BuildValue("{ss ss}", "oneDNN", cpu::onednn_version().c_str(), "OpenBLAS",
                         cpu::openblas_version().c_str());
  });
}

PyObject* f_seed(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    random::seed(static_cast<uint64_t>(to_int(o)));
    Py_RETURN_NONE;
  });
}
PyObject* f_initial_seed(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(random::default_generator({}).initial_seed());
}
PyObject* f_random_state(PyObject*, PyObject*) {
  return guarded_object([&] {
    std::string bytes = random::default_generator({}).state();
    return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
  });
}
PyObject* f_set_random_state(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    ARGOSY_CHECK(PyBytes_Check(o), type)
        << "set_random_state: expected the bytes that get_rng_state gave, got "
        << Py_TYPE(o)->tp_name << '.';
    random::default_generator({}).set_state(
        {PyBytes_AS_STRING(o), static_cast<size_t>(PyBytes_GET_SIZE(o))});
    Py_RETURN_NONE;
  });
}

PyObject* to_python(const flags::Value& value) {
  if (auto* v = std::get_if<bool>(&value)) return PyBool_FromLong(*v);
  if (auto* v = std::get_if<int64_t>(&value)) return PyLong_FromLongLong(*v);
  if (auto* v = std::get_if<double>(&value)) return PyFloat_FromDouble(*v);
  const auto& text = std::get<std::string>(value);
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}
const char* text_of(PyObject* o) {
  const char* text = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  ARGOSY_CHECK(text, type) << "A flag's name must be a str, got " << Py_TYPE(o)->tp_name << '.';
  return text;
}
flags::Flag& flag_named(const char* function, PyObject* name) {
  flags::Flag& flag = flags::find(text_of(name));
  ARGOSY_CHECK(flag.effect() != flags::Effect::gpu || op::has_cuda(), not_found)
      << '[' << function << "] " << flag.name()
      << " is a flag of builds for GPUs, and this build has none. Do this: ask "
         "paddle.is_compiled_with_cuda() before.";
  return flag;
}
PyObject* f_get_flag(PyObject*, PyObject* name) {
  return guarded_object([&] { return to_python(flag_named("get_flags", name).get()); });
}
PyObject* f_set_flag(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    flags::Flag& flag = flag_named("set_flags", args[0]);
    PyObject* o = args[1];
    if (PyBool_Check(o))
      flag.set(o == Py_True);
    else if (PyLong_Check(o))
      flag.set(to_int(o));
    else if (PyFloat_Check(o))
      flag.set(PyFloat_AS_DOUBLE(o));
    else
      flag.set(std::string(text_of(o)));
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {
    {"get_flag", f_get_flag, METH_O, nullptr},
    {"set_flag", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f_set_flag)),
     METH_FASTCALL, nullptr},
    {"seed", f_seed, METH_O, nullptr},
    {"initial_seed", f_initial_seed, METH_NOARGS, nullptr},
    {"random_state", f_random_state, METH_NOARGS, nullptr},
    {"set_random_state", f_set_random_state, METH_O, nullptr},
    {"set_default_dtype", f_set_default_dtype, METH_O, nullptr},
    {"get_default_dtype", f_get_default_dtype, METH_NOARGS, nullptr},
    {"num_threads", f_num_threads, METH_NOARGS, nullptr},
    {"set_num_threads", f_set_num_threads, METH_O, nullptr},
    {"memory_stats", f_memory_stats, METH_O, nullptr},
    {"reset_peak", f_reset_peak, METH_O, nullptr},
    {"release_cached", f_release_cached, METH_O, nullptr},
    {"memory_dump", f_memory_dump, METH_O, nullptr},
    {"set_memory_limit",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f_set_memory_limit)), METH_FASTCALL,
     nullptr},
    {"set_place", f_set_place, METH_O, nullptr},
    {"cpu_features", f_cpu_features, METH_NOARGS, nullptr},
    {"library_versions", f_library_versions, METH_NOARGS, nullptr},
    {}};

}  // namespace

void add_system(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

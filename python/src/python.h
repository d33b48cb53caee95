#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

#include "argosy/op/op.h"
#include "argosy/tensor/tensor.h"

// What the binding files share. All functions need the GIL unless they say otherwise. Functions
// that return PyObject* give a new reference, or null with a Python error set.
namespace argosy::python {

// An owned reference.
class Py {
 public:
  Py() = default;
  explicit Py(PyObject* owned) : p_(owned) {}
  static Py share(PyObject* p) {
    Py_XINCREF(p);
    return Py(p);
  }
  Py(Py&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Py& operator=(Py&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Py() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// Thrown after the Python error indicator was set by a C API call.
struct PythonError {};
inline PyObject* check(PyObject* p) {
  if (!p) throw PythonError{};
  return p;
}

// Sets the Python error for the exception being handled; call inside catch (...).
void set_error();
// Moves a set Python error into a C++ Error (for callbacks called from C++), keeping it to be
// raised again unchanged by set_error.
[[noreturn]] void throw_python_error();
// Throws argosy.ConversionError.
[[noreturn]] void throw_conversion_error(const Message& text);
// The same error where a Program under construction has nothing to do with it.
[[noreturn]] void throw_plain_error(const Error& e);

// Runs f, turning C++ exceptions into Python ones: null for objects, -1 for ints.
template <class F>
int guarded_int(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_error();
    return -1;
  }
}
template <class F>
PyObject* guarded_object(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_error();
    return nullptr;
  }
}

// Releases the GIL for a scope.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};
class WithGil {
 public:
  WithGil() : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// --- tensors (tensor_object.cc) ---
// dict holds what users hang on a tensor.
struct TensorObject {
  PyObject_HEAD TensorImpl* impl;  // counted unless impl->owns_python
  PyObject* dict;
  PyObject* weakrefs;
};
extern PyTypeObject* tensor_type;
inline bool is_tensor(PyObject* o) {
  return Py_TYPE(o) == tensor_type || PyType_IsSubtype(Py_TYPE(o), tensor_type);
}
// Borrowed.
inline TensorImpl* impl_of(PyObject* o) {
  return reinterpret_cast<TensorObject*>(o)->impl;
}
inline Tensor tensor_of(PyObject* o) {
  return Tensor(Ref<TensorImpl>::share(impl_of(o)));
}
Tensor checked_tensor(const char* what, PyObject* o);  // a type error where o is no Tensor
PyObject* wrap(Tensor t);                              // None if undefined
PyObject* wrap_list(std::span<const Tensor> list);
// From now on the collector looks at this tensor: something of Python's hangs on it.
void track(PyObject* tensor);
void add_tensor_type(PyObject* module);

// --- dtypes (dtype_object.cc) ---
PyObject* wrap(DType t);
bool is_dtype(PyObject* o);
DType to_dtype(PyObject* o);  // dtype, name, NumPy dtype or Python type; throws a teaching error
void add_dtype_type(PyObject* module);

// --- parsing (parse.cc) ---
// A tensor from what Python programs pass where one is expected: number, list, array. `like` gives
// the dtype that a weak scalar takes (may be null).
Tensor to_tensor(PyObject* o, const TensorImpl* like);
// New data where this thread's ops put their results. On the null device it stays readable.
Tensor on_current_place(Tensor t);
bool is_number(PyObject* o);
// A value of a Program that stands for a Python number (jit/made_numbers.py): beside the tensor
// `like` it takes that one's dtype as a number does; alone that of a tensor which is made of one.
void set_made_number(PyObject* type);
bool is_made_number(PyObject* o);
Tensor made_number_of(PyObject* o, const TensorImpl* like);
op::Scalar to_scalar(PyObject* o);
int64_t to_int(PyObject* o);
Shape to_shape(PyObject* o);
Place to_place(PyObject* o);
std::vector<Tensor> to_tensor_list(const char* what, PyObject* o);

// Calls an op with positional arguments: inputs, then attributes.
PyObject* call_op(const op::OpDef& op, PyObject* const* args, Py_ssize_t count, bool inplace);

// --- arrays (array.cc) ---
// Of lists, numbers, buffers and NumPy arrays.
enum class Uint16 { integers, bfloat16_bits };
Tensor from_data(PyObject* data, PyObject* dtype, bool copy, Uint16 meaning = Uint16::integers);
// What a user makes a tensor of, where ops of this thread put their results. NumPy has no bfloat16,
// whose bits travel as uint16: so that is what uint16 means, unless another dtype is asked for.
// [= Paddle]
Tensor from_users_data(PyObject* data, PyObject* dtype, bool copy);
PyObject* to_numpy(const Tensor& t, bool copy);
int get_buffer(PyObject* self, Py_buffer* view, int flags);  // slot bf_getbuffer of Tensor
void release_buffer(PyObject* self, Py_buffer* view);
void add_array_functions(PyObject* module);

// slots mp_subscript and mp_ass_subscript of Tensor (indexing.cc)
PyObject* tensor_getitem(PyObject* self, PyObject* key);
int tensor_setitem(PyObject* self, PyObject* key, PyObject* value);

void add_ops(PyObject* module);       // op_entries.cc
void add_autograd(PyObject* module);  // autograd_bind.cc
// For the collector: Python objects that the body alone reaches through its history (hooks, a
// PyLayer's context). What nodes of other tensors reach too is left out, so a cycle through several
// nodes is found once their graph is gone.
int visit_history(TensorImpl* impl, visitproc visit, void* arg);
void add_registry(PyObject* module);   // registry_bind.cc
void add_dlpack(PyObject* module);     // dlpack.cc
void add_errors(PyObject* module);     // errors.cc
void add_system(PyObject* module);     // system.cc
void add_device(PyObject* module);     // device_bind.cc
void add_program(PyObject* module);    // program_bind.cc
void add_runtime(PyObject* module);    // runtime_bind.cc
void add_passes(PyObject* module);     // passes_bind.cc
void add_infer(PyObject* module);      // infer_bind.cc
void add_jit(PyObject* module);        // jit_bind.cc
void add_serialize(PyObject* module);  // serialize_bind.cc
void add_profile(PyObject* module);    // profile_bind.cc
void add_debug(PyObject* module);      // debug_bind.cc
void add_static(PyObject* module);     // static_bind.cc

// Adds C functions to a module.
void add_functions(PyObject* module, PyMethodDef* methods);

}  // namespace argosy::python

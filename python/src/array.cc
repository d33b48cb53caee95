#include "array.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/watched.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "argosy/program/builder.h"
#include "functions.h"
#include "python.h"

// Tensors from and to Python lists, NumPy arrays and whatever speaks the buffer protocol.
namespace argosy::python {
namespace {

const char* buffer_format(DType t) {
  // NumPy's int64 is C's long where that has 64 bits.
  constexpr bool kLong = sizeof(long) == 8;
  static const char* formats[kDTypeCount] = {
      "?", "B", "b", "H", "h", "I",  "i", kLong ? "L" : "Q", kLong ? "l" : "q", "B",
      "B", "e", "H", "f", "d", "Zf", "Zd"};
  return formats[static_cast<int>(t)];
}

std::optional<DType> dtype_of_format(const char* format, Py_ssize_t item) {
  std::string_view f = format ? format : "B";
  while (!f.empty() && (f[0] == '@' || f[0] == '=' || f[0] == '<' || f[0] == '|'))
    f.remove_prefix(1);
  if (f == "?") return DType::bool_;
  if (f == "e") return DType::float16;
  if (f == "f") return DType::float32;
  if (f == "d") return DType::float64;
  if (f == "Zf") return DType::complex64;
  if (f == "Zd") return DType::complex128;
  bool is_signed = f == "b" || f == "h" || f == "i" || f == "l" || f == "q";
  bool is_unsigned = f == "B" || f == "H" || f == "I" || f == "L" || f == "Q";
  if (!is_signed && !is_unsigned) return {};
  switch (item) {
    case 1:
      return is_signed ? DType::int8 : DType::uint8;
    case 2:
      return is_signed ? DType::int16 : DType::uint16;
    case 4:
      return is_signed ? DType::int32 : DType::uint32;
    case 8:
      return is_signed ? DType::int64 : DType::uint64;
  }
  return {};
}

void drop_buffer(void* owner) {
  auto* view = static_cast<Py_buffer*>(owner);
  if (Py_IsInitialized()) {
    WithGil gil;
    PyBuffer_Release(view);
  }
  delete view;
}

// A tensor over the buffer's memory.
Tensor view_buffer(PyObject* o, Uint16 meaning) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(o, view.get(), PyBUF_STRIDES | PyBUF_FORMAT)) {
    PyErr_Clear();
    ARGOSY_THROW(type) << "Cannot make a Tensor of this " << Py_TYPE(o)->tp_name
                       << ": its elements are not numbers of a supported kind. Do this: convert "
                          "the array with .astype('float32') or similar first.";
  }
  auto dtype = dtype_of_format(view->format, view->itemsize);
  if (dtype == DType::uint16 && meaning == Uint16::bfloat16_bits) dtype = DType::bfloat16;
  Shape shape, strides;
  bool fits = dtype.has_value() && view->ndim <= kMaxRank;
  for (int i = 0; fits && i < view->ndim; ++i) {
    shape.push_back(view->shape[i]);
    fits = view->strides[i] % view->itemsize == 0;
    strides.push_back(view->strides[i] / view->itemsize);
  }
  if (!fits) {
    std::string format = view->format ? view->format : "?";
    int rank = view->ndim;
    PyBuffer_Release(view.get());
    ARGOSY_THROW(type) << "Cannot make a Tensor of an array with element format '" << format
                       << "' and " << rank << " dimensions. Do this: convert it with "
                       << ".astype('float32') or similar first.";
  }
  void* data = view->buf;
  return Tensor::wrap(data, shape, strides, *dtype, {}, view.release(), drop_buffer);
}

// Numbers of a nested list, flattened.
struct Flat {
  std::vector<op::Scalar> values;
  Shape shape;
  op::Scalar::Kind kind = op::Scalar::Kind::boolean;
  bool plain = true;  // only numbers inside
};

[[noreturn]] void fail_ragged(const Shape& shape, int depth, Py_ssize_t got) {
  ARGOSY_THROW(invalid_argument) << "Cannot make a Tensor of a ragged list: at depth " << depth
                                 << " expected " << shape[depth]
                                 << " elements as in the first list, got "
                                 << static_cast<long long>(got)
                                 << ". Do this: pad the inner lists to one length.";
}

void flatten(PyObject* o, int depth, Flat& flat, bool first) {
  if (PyList_Check(o) || PyTuple_Check(o)) {
    Py fast(check(PySequence_Fast(o, "")));
    Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
    if (first) {
      if (flat.shape.rank() == depth) flat.shape.push_back(n);
    }
    if (flat.shape.rank() <= depth) {
      flat.plain = false;
      return;
    }
    if (flat.shape[depth] != n) fail_ragged(flat.shape, depth, n);
    for (Py_ssize_t i = 0; i < n && flat.plain; ++i)
      flatten(PySequence_Fast_GET_ITEM(fast.get(), i), depth + 1, flat, first && i == 0);
    return;
  }
  if (is_tensor(o) || !is_number(o) || depth != flat.shape.rank()) {
    flat.plain = false;
    return;
  }
  op::Scalar s = to_scalar(o);
  if (s.kind > flat.kind) flat.kind = s.kind;
  flat.values.push_back(std::move(s));
}

DType dtype_of_kind(op::Scalar::Kind kind) {
  using Kind = op::Scalar::Kind;
  return kind == Kind::boolean   ? DType::bool_
         : kind == Kind::integer ? DType::int64
         : kind == Kind::real    ? op::default_dtype()
                                 : complex_of(op::default_dtype());
}

// As NumPy has them.
DType widest_of_kind(op::Scalar::Kind kind) {
  using Kind = op::Scalar::Kind;
  return kind == Kind::real      ? DType::float64
         : kind == Kind::complex ? DType::complex128
                                 : dtype_of_kind(kind);
}

// In the wanted dtype at once: by way of the default dtype digits would be lost.
Tensor from_number(const op::Scalar& s, std::optional<DType> wanted) {
  if (!wanted) return ops::constant(s, dtype_of_kind(s.kind));
  if (is_floating(*wanted) && s.kind != op::Scalar::Kind::complex) return ops::constant(s, *wanted);
  return ops::cast(ops::constant(s, widest_of_kind(s.kind)), *wanted);
}

// Builds in the widest form, then casts: to `wanted`, else to the dtype that such numbers have.
Tensor from_flat(const Flat& flat, std::optional<DType> wanted) {
  using Kind = op::Scalar::Kind;
  DType dtype = flat.values.empty() ? op::default_dtype() : dtype_of_kind(flat.kind);
  bool whole = flat.kind == Kind::integer || flat.kind == Kind::boolean;
  Tensor wide = Tensor::empty(flat.shape, whole && !flat.values.empty() ? DType::int64
                                          : flat.kind == Kind::complex  ? DType::complex128
                                                                        : DType::float64);
  for (size_t i = 0; i < flat.values.size(); ++i) {
    const op::Scalar& s = flat.values[i];
    if (wide.dtype() == DType::int64)
      wide.data<int64_t>()[i] = s.integer();
    else if (wide.dtype() == DType::float64)
      wide.data<double>()[i] = s.real();
    else
      wide.data<complex128>()[i] = s.c;
  }
  return ops::cast(wide, wanted.value_or(dtype));
}

// What NumPy makes of two dtypes: no integer loses digits.
DType joined(DType a, DType b) {
  if (kIntegral.has(a)) std::swap(a, b);
  const DType common = promote(a, b);
  if (kIntegral.has(a) || !kIntegral.has(b) || a == DType::bool_) return common;
  const int digits = item_size(b);
  if (is_complex(a)) return digits > 2 ? DType::complex128 : common;
  if (digits > 2) return DType::float64;
  return digits > 1 && item_size(a) < 4 ? DType::float32 : common;
}

// Numbers and lists of numbers with NumPy's widths.
Tensor as_numpy(PyObject* item) {
  if (PyFloat_CheckExact(item)) return ops::constant(to_scalar(item), DType::float64);
  if (PyList_Check(item) || PyTuple_Check(item)) {
    Flat flat;
    flatten(item, 0, flat, true);
    if (flat.plain && flat.values.empty()) return from_flat(flat, {});
    if (flat.plain) return from_flat(flat, widest_of_kind(flat.kind));
  }
  return from_data(item, Py_None, false);
}

// A list with tensors or arrays inside: each becomes a tensor, then they are stacked. As numbers in
// a list, arrays in one do not keep their own width; but beside a tensor, or where the dtype is
// given (`wide`), all do. [= Paddle]
Tensor stack_items(PyObject* o, bool wide) {
  Py fast(check(PySequence_Fast(o, "")));
  std::vector<Tensor> items;
  DType common = DType::bool_;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(fast.get());
  PyObject** first = PySequence_Fast_ITEMS(fast.get());
  wide = wide || std::any_of(first, first + count, [](PyObject* p) { return is_tensor(p); });
  program::Recording at_once(nullptr);  // they are numbers, not values of a Program
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = first[i];
    Tensor t = wide ? as_numpy(item) : from_data(item, Py_None, false);
    if (!wide && kFloating.has(t.dtype())) t = ops::cast(t, op::default_dtype());
    if (!wide && kIntegral.has(t.dtype())) t = ops::cast(t, DType::int64);
    common = !i ? t.dtype() : wide ? joined(common, t.dtype()) : promote(common, t.dtype());
    ARGOSY_CHECK(i == 0 || t.shape() == items[0].shape(), invalid_argument)
        << "Cannot make a Tensor of a list of unequal shapes: element 0 has " << items[0].shape()
        << ", element " << static_cast<long long>(i) << " has " << t.shape() << '.';
    items.push_back(std::move(t));
  }
  Shape shape = items[0].shape();
  shape.insert(0, static_cast<int64_t>(items.size()));
  Tensor out = Tensor::empty(shape, common);
  Shape inner = items[0].shape();
  for (size_t i = 0; i < items.size(); ++i)
    op::copy_into(
        out.view(inner, inner.contiguous_strides(), static_cast<int64_t>(i) * items[0].numel()),
        items[i]);
  return out;
}

// Buffers that are asked for in this scope show the tensor's own memory.
struct SharedExport {
  SharedExport() { active = true; }
  ~SharedExport() { active = before; }
  static inline thread_local bool active = false;
  bool before = active;
};

Tensor clone(const Tensor& t) {
  Tensor out = Tensor::empty(t.shape(), t.dtype(), t.place());
  op::copy_into(out, t);
  return out;
}

PyObject* element_to_python(const Tensor& flat, int64_t i) {
  const char* p = static_cast<const char*>(flat.raw()) + i * item_size(flat.dtype());
  switch (flat.dtype()) {
    case DType::bool_:
      return PyBool_FromLong(*p);
    case DType::complex64: {
      auto v = *reinterpret_cast<const complex64*>(p);
      return PyComplex_FromDoubles(v.real(), v.imag());
    }
    case DType::complex128: {
      auto v = *reinterpret_cast<const complex128*>(p);
      return PyComplex_FromDoubles(v.real(), v.imag());
    }
    case DType::float8_e4m3:
      return PyFloat_FromDouble(*reinterpret_cast<const float8_e4m3*>(p));
    case DType::float8_e5m2:
      return PyFloat_FromDouble(*reinterpret_cast<const float8_e5m2*>(p));
    case DType::uint64:
      return PyLong_FromUnsignedLongLong(*reinterpret_cast<const uint64_t*>(p));
    default:
      break;
  }
  PyObject* out = nullptr;
  bool real = is_floating(flat.dtype());
  dispatch_real(flat.dtype(), [&]<class T>(T) {
    T v = *reinterpret_cast<const T*>(p);
    out = real ? PyFloat_FromDouble(static_cast<double>(v))
               : PyLong_FromLongLong(static_cast<long long>(v));
  });
  return out;
}

PyObject* nested_list(const Tensor& flat, int dim, int64_t& at) {
  if (dim == flat.rank()) return check(element_to_python(flat, at++));
  Py list(check(PyList_New(flat.dim(dim))));
  for (int64_t i = 0; i < flat.dim(dim); ++i)
    PyList_SET_ITEM(list.get(), i, nested_list(flat, dim + 1, at));
  return list.release();
}

// The tensor where the host can read it.
Tensor readable(const Tensor& t, const char* what) {
  ARGOSY_CHECK(!t.symbolic(), type) << what << ": this tensor is a value of a Program being built ("
                                    << t << "). Do this: fetch it with Executor.run.";
  ARGOSY_CHECK(t.layout() == Layout::strided, type)
      << what << ": the tensor is sparse. Do this: call .to_dense() first.";
  ARGOSY_CHECK(t.has_data() && t.place().kind != DeviceKind::null, invalid_argument)
      << what << ": the tensor " << t << " on " << t.place()
      << " has no data here. Do this: copy it with .cpu() (a null device holds none).";
  program::note_numbers(t);
  return t.place().kind == DeviceKind::cpu ? t : op::to_host(t);
}

PyObject* attribute_of_numpy(const char* name) {
  Py numpy(check(PyImport_ImportModule("numpy")));
  return check(PyObject_GetAttrString(numpy.get(), name));
}

// Is it copied faster to where NumPy puts it than to memory of the pool, which NumPy then borrows?
bool is_small(const Tensor& t) {
  constexpr size_t kMost = 1 << 15;
  return t.nbytes() <= kMost && t.is_contiguous() && !is_complex(t.dtype()) &&
         buffer_format(t.dtype())[1] == 0;
}

// A copy in an array of NumPy's own. REQUIRES: is_small(t).
PyObject* small_array(const Tensor& t) {
  static PyObject* empty = nullptr;
  static PyObject* dtypes[kDTypeCount] = {};  // guarded, as `empty`, by the GIL
  if (!empty) empty = attribute_of_numpy("empty");
  PyObject*& dtype = dtypes[static_cast<int>(t.dtype())];
  if (!dtype) {
    Py make(attribute_of_numpy("dtype"));
    dtype = check(PyObject_CallFunction(make.get(), "s", buffer_format(t.dtype())));
  }
  Py shape(check(PyTuple_New(t.rank())));
  for (int d = 0; d < t.rank(); ++d)
    PyTuple_SET_ITEM(shape.get(), d, check(PyLong_FromLongLong(t.dim(d))));
  PyObject* arguments[] = {shape.get(), dtype};
  Py array(check(PyObject_Vectorcall(empty, arguments, 2, nullptr)));
  Py_buffer view;
  if (PyObject_GetBuffer(array.get(), &view, PyBUF_WRITABLE)) throw PythonError{};
  if (t.nbytes()) std::memcpy(view.buf, t.raw(), t.nbytes());
  PyBuffer_Release(&view);
  return array.release();
}

// --- functions ---

PyObject* f_to_tensor(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded_object([&] {
    PyObject* dtype = count > 1 ? args[1] : Py_None;
    bool copy = count > 2 ? truth(args[2]) : true;
    if (is_made_number(args[0])) {
      const Tensor t = made_number_of(args[0], nullptr);
      return wrap(dtype == Py_None ? t : ops::cast(t, to_dtype(dtype)));
    }
    Tensor made = from_users_data(args[0], dtype, copy);
    // The fourth argument: in a function that is captured, each run begins with these elements.
    auto* recorded = static_cast<program::Program*>(op::thread_state.recorder);
    if (count > 3 && truth(args[3]) && recorded && !is_tensor(args[0]) && made.has_data())
      recorded->builder().note_data(made);
    return wrap(std::move(made));
  });
}

PyObject* f_numpy(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded_object(
      [&] { return to_numpy(checked_tensor("numpy", args[0]), count < 2 || truth(args[1])); });
}

PyObject* f_tolist(PyObject*, PyObject* o) {
  return guarded_object([&] {
    Tensor t = checked_tensor("tolist", o);
    int64_t at = 0;
    return nested_list(op::contiguous(readable(t, "tolist()")), 0, at);
  });
}

PyObject* f_item(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded_object([&] {
    Tensor t = readable(checked_tensor("item", args[0]), "item()");
    int64_t index = count > 1 ? to_int(args[1]) : 0;
    ARGOSY_CHECK(count > 1 || t.numel() == 1, invalid_argument)
        << "item(): only a tensor of one element can be converted, got " << t
        << ". Do this: give the position of an element, or use .tolist().";
    ARGOSY_CHECK(index >= 0 && index < t.numel(), axis)
        << "item(): position " << index << " is outside a tensor of " << t.numel() << " elements.";
    return check(element_to_python(op::contiguous(t), index));
  });
}

PyMethodDef functions[] = {
    {"to_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f_to_tensor)),
     METH_FASTCALL, "to_tensor(data, dtype, copy)"},
    {"to_numpy", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f_numpy)),
     METH_FASTCALL, "to_numpy(tensor, copy)"},
    {"tolist", f_tolist, METH_O, "Nested Python lists of the elements."},
    {"item", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f_item)), METH_FASTCALL,
     "item(tensor[, position])"},
    {}};

}  // namespace

Tensor on_current_place(Tensor t) {
  const Place place = op::thread_state.place;
  const bool here = place.kind == DeviceKind::cpu || place.kind == DeviceKind::null;
  return here || t.symbolic() ? t : op::to_place(t, place);
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return guarded_int([&] {
    Tensor t = tensor_of(self);
    const bool writable = flags & PyBUF_WRITABLE;
    ARGOSY_CHECK(!writable || t.place().kind == DeviceKind::cpu, invalid_argument)
        << "buffer protocol: " << t << " is on " << t.place()
        << ", whose memory the host cannot write. Do this: copy it with .cpu().";
    t = readable(t, "buffer protocol");
    // What numpy.asarray gives may be written without the tensor's knowledge, so it gets a copy. [=
    // Paddle]
    Py exporter(Py_NewRef(self));
    if (!t.is(tensor_of(self))) {
      exporter = Py(check(wrap(t)));  // a copy already
    } else if (!SharedExport::active && !writable) {
      t = clone(t);
      exporter = Py(check(wrap(t)));
    } else if (t.has_data()) {
      t.prepare_write();
      t.impl()->storage->never_lend();
    }
    ARGOSY_CHECK((flags & PyBUF_STRIDES) == PyBUF_STRIDES || t.is_contiguous(), invalid_argument)
        << "buffer protocol: the tensor is not contiguous and the reader takes no strides.";
    // shape and strides in bytes live until release_buffer.
    auto* dims = new Py_ssize_t[2 * kMaxRank];
    int item = item_size(t.dtype());
    for (int i = 0; i < t.rank(); ++i) {
      dims[i] = t.dim(i);
      // Wraps around where a size of 0 makes strides meaningless, as they do.
      dims[kMaxRank + i] = static_cast<Py_ssize_t>(static_cast<uint64_t>(t.strides()[i]) *
                                                   static_cast<uint64_t>(item));
    }
    view->buf = t.raw();
    view->obj = exporter.release();
    view->len = static_cast<Py_ssize_t>(t.nbytes());
    view->itemsize = item;
    view->readonly = 0;
    view->ndim = t.rank();
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(buffer_format(t.dtype())) : nullptr;
    view->shape = dims;
    view->strides = dims + kMaxRank;
    view->suboffsets = nullptr;
    view->internal = dims;
    return 0;
  });
}

void release_buffer(PyObject*, Py_buffer* view) {
  delete[] static_cast<Py_ssize_t*>(view->internal);
}

Tensor from_data(PyObject* data, PyObject* dtype, bool copy, Uint16 meaning) {
  op::Unchecked incoming;
  op::GradMode off(false);
  std::optional<DType> wanted;
  if (dtype != Py_None) wanted = to_dtype(dtype);
  if (wanted && wanted != DType::bfloat16) meaning = Uint16::integers;
  Tensor t;
  bool fresh = true;
  if (is_tensor(data)) {
    t = tensor_of(data);
    if (!t.symbolic() && t.has_data()) t = t.detach();
    fresh = false;
  } else if (PyFloat_CheckExact(data) || PyLong_CheckExact(data) || PyBool_Check(data) ||
             PyComplex_CheckExact(data)) {
    t = from_number(to_scalar(data), wanted);
  } else if (PyList_Check(data) || PyTuple_Check(data)) {
    Flat flat;
    flatten(data, 0, flat, true);
    t = flat.plain ? from_flat(flat, wanted) : stack_items(data, wanted.has_value());
  } else if (PyRange_Check(data)) {
    Py list(check(PySequence_List(data)));
    t = from_data(list.get(), dtype, false);
  } else if (PyObject_CheckBuffer(data)) {
    t = view_buffer(data, meaning);
    fresh = false;
  } else if (is_number(data)) {
    t = from_number(to_scalar(data), wanted);
  } else {
    Py array(PyObject_CallMethod(data, "__array__", nullptr));
    if (!array) {
      PyErr_Clear();
      ARGOSY_THROW(type) << "Cannot make a Tensor of " << Py_TYPE(data)->tp_name
                         << ": expected a number, a (nested) list, a NumPy array or a Tensor.";
    }
    t = view_buffer(array.get(), meaning);
    fresh = false;
  }
  if (wanted && *wanted != t.dtype()) return ops::cast(t, *wanted);
  return fresh || !copy || t.symbolic() ? t : clone(t);
}

Tensor from_users_data(PyObject* data, PyObject* dtype, bool copy) {
  return on_current_place(from_data(data, dtype, copy, Uint16::bfloat16_bits));
}

bool copy_buffer_of(PyObject* o, DType dtype, FunctionRef<void*(const Shape&)> memory) {
  Py_buffer view;
  if (!PyObject_CheckBuffer(o) || PyObject_GetBuffer(o, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) {
    PyErr_Clear();
    return false;
  }
  const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> release(&view, PyBuffer_Release);
  if (view.ndim > kMaxRank || dtype_of_format(view.format, view.itemsize) != dtype) return false;
  Shape shape;
  for (int i = 0; i < view.ndim; ++i) shape.push_back(view.shape[i]);
  void* to = memory(shape);
  if (view.len) std::memcpy(to, view.buf, static_cast<size_t>(view.len));
  return true;
}

PyObject* to_numpy(const Tensor& t, bool copy) {
  static PyObject* asarray = nullptr;
  if (!asarray) asarray = attribute_of_numpy("asarray");
  SharedExport here;
  const Tensor here_now = readable(t, "numpy()");
  if (copy && here_now.is(t) && is_small(t)) return small_array(t);
  Py holder(check(wrap(copy && here_now.is(t) ? clone(t) : here_now)));
  Py view(check(PyMemoryView_FromObject(holder.get())));
  return check(PyObject_CallOneArg(asarray, view.get()));
}

void add_array_functions(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

#include <cstring>

#include "argosy/base/device.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/program/builder.h"
#include "python.h"

namespace argosy::python {
namespace {

bool is_numpy_scalar(PyObject* o) {
  const char* name = Py_TYPE(o)->tp_name;
  return !std::strncmp(name, "numpy.", 6) && std::strcmp(name, "numpy.ndarray") &&
         std::strcmp(name, "numpy.matrix") && PyNumber_Check(o);
}

// The dtype that a Python number takes beside a tensor of dtype `like`.
DType weak_dtype(const op::Scalar& s, DType like) {
  using Kind = op::Scalar::Kind;
  switch (s.kind) {
    case Kind::boolean:
      return like;
    case Kind::integer:
      return like == DType::bool_ ? DType::int64 : like;
    case Kind::real:
      return is_floating(like) || is_complex(like) ? like : op::default_dtype();
    case Kind::complex:
      return is_complex(like) ? like : complex_of(is_floating(like) ? like : op::default_dtype());
  }
  return like;
}

op::Scalar read_element(const Tensor& t) {
  op::Scalar s;
  const void* p = t.raw();
  if (t.dtype() == DType::bool_) return op::Scalar(*static_cast<const bool*>(p));
  if (is_complex(t.dtype())) {
    if (t.dtype() == DType::complex64)
      return op::Scalar(std::complex<double>(*static_cast<const complex64*>(p)));
    return op::Scalar(*static_cast<const complex128*>(p));
  }
  bool real = is_floating(t.dtype());
  dispatch_real(t.dtype(), [&]<class T>(T) {
    T v = *static_cast<const T*>(p);
    s = real ? op::Scalar(static_cast<double>(v)) : op::Scalar(static_cast<int64_t>(v));
  });
  dispatch_types<float8_e4m3, float8_e5m2>(t.dtype(), [&]<class T>(T) {
    s = op::Scalar(static_cast<double>(static_cast<float>(*static_cast<const T*>(p))));
  });
  return s;
}

}  // namespace

bool is_number(PyObject* o) {
  return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || is_numpy_scalar(o);
}

namespace {

PyTypeObject* made_number = nullptr;

// Of a number that a tensor of this dtype has.
op::Scalar::Kind kind_of(DType t) {
  using Kind = op::Scalar::Kind;
  if (t == DType::bool_) return Kind::boolean;
  if (is_complex(t)) return Kind::complex;
  return is_floating(t) ? Kind::real : Kind::integer;
}

}  // namespace

void set_made_number(PyObject* type) {
  Py_XINCREF(type);
  made_number = reinterpret_cast<PyTypeObject*>(type);
}

bool is_made_number(PyObject* o) {
  return made_number && op::thread_state.recorder && PyObject_TypeCheck(o, made_number);
}

Tensor made_number_of(PyObject* o, const TensorImpl* like) {
  const Tensor t = tensor_of(o);
  op::Scalar kind;
  kind.kind = kind_of(t.dtype());
  if (like) return ops::cast(t, weak_dtype(kind, like->dtype));
  return is_floating(t.dtype()) ? ops::cast(t, op::default_dtype()) : ops::assign(t);
}

op::Scalar to_scalar(PyObject* o) {
  if (PyBool_Check(o)) return op::Scalar(o == Py_True);
  if (PyFloat_Check(o)) return op::Scalar(PyFloat_AS_DOUBLE(o));
  if (PyLong_Check(o)) {
    int overflow = 0;
    int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow ? op::Scalar(PyLong_AsDouble(o)) : op::Scalar(v);
  }
  if (PyComplex_Check(o))
    return op::Scalar(std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  if (is_tensor(o)) {
    Tensor t = program::noted_or_written(tensor_of(o));
    if (t.symbolic()) {
      op::Scalar s;
      s.kind = kind_of(t.dtype());
      s.tensor = t;
      return s;
    }
    ARGOSY_CHECK(t.numel() == 1 && t.has_data(), invalid_argument)
        << "Only a tensor of one element can be used as a number, got " << t << '.';
    return read_element(op::to_host(t));
  }
  // NumPy scalars.
  Py item(check(PyObject_CallMethod(o, "item", nullptr)));
  if (Py_TYPE(item.get()) == Py_TYPE(o))
    ARGOSY_THROW(type) << "Expected a number, got " << Py_TYPE(o)->tp_name << '.';
  return to_scalar(item.get());
}

int64_t to_int(PyObject* o) {
  op::Scalar s = to_scalar(o);
  return s.kind == op::Scalar::Kind::real ? static_cast<int64_t>(s.real()) : s.integer();
}

Shape to_shape(PyObject* o) {
  Shape shape;
  if (PyLong_Check(o)) {
    shape.push_back(to_int(o));
    return shape;
  }
  Py fast(check(PySequence_Fast(o, "a shape must be an int or a list of ints")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i)
    shape.push_back(to_int(PySequence_Fast_GET_ITEM(fast.get(), i)));
  return shape;
}

Place to_place(PyObject* o) {
  if (o == Py_None) return op::thread_state.place;
  Py kind(check(PyObject_GetAttrString(o, "_kind")));
  Py index(check(PyObject_GetAttrString(o, "_index")));
  std::string name = PyUnicode_AsUTF8(kind.get());
  Place p;
  for (int kind = 0; kind < kDeviceKinds; ++kind)
    if (name == device::kind_name(static_cast<DeviceKind>(kind)))
      p.kind = static_cast<DeviceKind>(kind);
  p.index = static_cast<int16_t>(PyLong_AsLong(index.get()));
  return p;
}

Tensor checked_tensor(const char* what, PyObject* o) {
  ARGOSY_CHECK(is_tensor(o), operand)
      << '[' << what << "] expected a Tensor, got " << Py_TYPE(o)->tp_name
      << ". Do this: make it one with argosy.to_tensor(..).";
  return tensor_of(o);
}

std::vector<Tensor> to_tensor_list(const char* what, PyObject* o) {
  std::vector<Tensor> list;
  if (o == Py_None) return list;
  if (is_tensor(o)) {
    list.push_back(tensor_of(o));
    return list;
  }
  Py fast(check(PySequence_Fast(o, "expected a Tensor or a list of Tensors")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
    ARGOSY_CHECK(is_tensor(item) || item == Py_None, operand)
        << '[' << what << "] expected a list of Tensors, got " << Py_TYPE(item)->tp_name
        << " at position " << static_cast<long long>(i) << '.';
    list.push_back(item == Py_None ? Tensor() : tensor_of(item));
  }
  return list;
}

Tensor to_tensor(PyObject* o, const TensorImpl* like) {
  if (is_tensor(o)) return tensor_of(o);
  if (like && is_number(o)) {
    op::Scalar s = to_scalar(o);
    return ops::constant(s, weak_dtype(s, like->dtype), like->place);
  }
  Tensor t = from_data(o, Py_None, false);
  return like && like->place != t.place() && !t.symbolic() ? op::to_place(t, like->place) : t;
}

}  // namespace argosy::python

#include "argosy/ops/indexing/indexing.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/program/builder.h"
#include "python.h"

// __getitem__ and __setitem__. An index is taken apart into one basic slice (a view) and, where
// lists or tensors are in it, integer arrays on some of the dimensions that are left. Ints are
// basic, as in Paddle (NumPy counts them among the arrays where it decides where index dimensions
// go).
namespace argosy::python {
namespace {

struct IndexPlan {
  // Basic part, on the dimensions of x.
  std::vector<int64_t> axes, strides, drop;
  op::IntArray starts, ends;
  // Integers that a Program knows, on the dimensions after the basic part: each takes one away.
  std::vector<Tensor> picks;
  std::vector<int64_t> pick_axes;  // without the picks before it
  // Where picks, arrays and new dimensions are while the picks have not taken theirs away.
  std::vector<int64_t> full_picks, full_arrays, full_inserted;
  // Arrays, on the dimensions after the basic part and after new ones were inserted.
  std::vector<Tensor> arrays;
  std::vector<int64_t> array_axes;
  std::vector<int64_t> inserted;  // positions of new dimensions of size 1, ascending
  int rank_before_arrays = 0;
  bool adjacent = true;  // index dimensions take the arrays' place, else they come first
};

bool is_array_like(PyObject* o) {
  return is_tensor(o) || PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o) ||
         (PyObject_CheckBuffer(o) && !is_number(o));
}

// Whether a Program finds the integer in a tensor when it runs. While a function is captured that
// goes for state, too: its number is another one in another run.
bool is_symbolic_index(const Tensor& t) {
  return t.symbolic() || (is_integral(t.dtype()) && program::varies(t));
}

// Bound of a slice: None, int, tensor.
void push_bound(op::IntArray& to, PyObject* o, int64_t none) {
  if (o == Py_None) {
    to.values.push_back(none);
    return;
  }
  if (is_tensor(o) && is_symbolic_index(tensor_of(o))) {
    to.symbols.push_back(
        {static_cast<uint32_t>(to.values.size()), program::value_in_program(tensor_of(o))});
    to.values.push_back(kUnknown);
    return;
  }
  if (is_tensor(o)) {
    to.values.push_back(to_int(o));
    return;
  }
  Py index(PyIndex_Check(o) ? PyNumber_Index(o) : nullptr);
  if (!index) {
    PyErr_Clear();
    ARGOSY_THROW(type) << "The bounds of a slice must be ints, tensors of one int, or None, got "
                       << Py_TYPE(o)->tp_name << '.';
  }
  to.values.push_back(PyNumber_AsSsize_t(index.get(), nullptr));
}

int dims_taken(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) return 0;
  if (is_tensor(o)) return impl_of(o)->dtype == DType::bool_ ? impl_of(o)->shape.rank() : 1;
  return 1;
}

constexpr int64_t kFar = INT64_MAX;  // beyond any size

// t on the place of x, whose index or value it is.
Tensor beside(const Tensor& x, Tensor t) {
  return t.symbolic() ? t : op::to_place(t, x.place());
}

IndexPlan take_apart(const Tensor& x, PyObject* key) {
  // Lists, tuples inside and arrays become tensors once.
  std::vector<Py> items;
  if (PyTuple_Check(key)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
      items.push_back(Py::share(PyTuple_GET_ITEM(key, i)));
  } else {
    items.push_back(Py::share(key));
  }
  int taken = 0, ellipses = 0;
  for (Py& item : items) {
    PyObject* o = item.get();
    if (is_array_like(o) && !is_tensor(o)) {
      Py numbers(PyRange_Check(o) ? check(PySequence_List(o)) : Py_NewRef(o));
      Tensor t = from_data(numbers.get(), Py_None, false);
      // An empty list has no dtype of its own.
      if (t.numel() == 0 && is_floating(t.dtype())) t = ops::cast(t, DType::int64);
      item = Py(wrap(beside(x, std::move(t))));
    }
    taken += dims_taken(item.get());
    ellipses += item.get() == Py_Ellipsis;
  }
  ARGOSY_CHECK(ellipses <= 1, axis) << "An index can only have one ellipsis ('...').";
  ARGOSY_CHECK(taken <= x.rank(), index)
      << "Too many indices: " << taken << " for a tensor of shape " << x.shape() << '.';

  IndexPlan p;
  int dim = 0;                        // of x
  int out = 0;                        // of the result before arrays
  bool open = false, closed = false;  // a run of arrays has begun, has ended
  auto between = [&] { closed |= open; };
  auto insert = [&] {
    p.inserted.push_back(out);
    p.full_inserted.push_back(out + static_cast<int64_t>(p.picks.size()));
  };
  auto add_array = [&](const Tensor& t, int at) {
    if (closed) p.adjacent = false;
    open = true;
    p.arrays.push_back(t);
    p.array_axes.push_back(at);
    p.full_arrays.push_back(at + static_cast<int64_t>(p.picks.size()));
  };
  for (Py& item : items) {
    PyObject* o = item.get();
    if (o == Py_Ellipsis) {
      int skipped = x.rank() - taken;
      dim += skipped;
      out += skipped;
      between();
    } else if (o == Py_None) {
      insert();
      ++out;
      between();
    } else if (PyBool_Check(o)) {
      insert();
      Tensor flag = Tensor::empty({o == Py_True ? 1 : 0}, DType::int64);
      if (o == Py_True) *flag.data<int64_t>() = 0;
      add_array(beside(x, std::move(flag)), out++);
    } else if (PySlice_Check(o)) {
      auto* s = reinterpret_cast<PySliceObject*>(o);
      int64_t step = s->step == Py_None ? 1 : to_int(s->step);
      ARGOSY_CHECK(step != 0, invalid_argument) << "The step of a slice must not be 0.";
      if (s->start != Py_None || s->stop != Py_None || step != 1) {
        p.axes.push_back(dim);
        p.strides.push_back(step);
        push_bound(p.starts, s->start, step > 0 ? 0 : kFar);
        push_bound(p.ends, s->stop, step > 0 ? kFar : -kFar);
      }
      ++dim;
      ++out;
      between();
    } else if (is_tensor(o) && impl_of(o)->dtype == DType::bool_) {
      Tensor mask = tensor_of(o);
      if (mask.rank() == 0) {
        insert();
        add_array(ops::mask_indices(ops::unsqueeze(mask, {0}))[0], out++);
        continue;
      }
      for (int d = 0; d < mask.rank(); ++d)
        ARGOSY_CHECK(mask.dim(d) == x.dim(dim + d) || mask.dim(d) < 0 || x.dim(dim + d) < 0, index)
            << "A mask must have the sizes of the dimensions it selects from: mask is "
            << mask.shape() << ", the tensor is " << x.shape() << " (dimension " << dim + d << ").";
      for (const Tensor& t : ops::mask_indices(mask)) {
        add_array(t, out++);
        ++dim;
      }
    } else if (is_tensor(o) &&
               !(impl_of(o)->shape.rank() == 0 && !is_symbolic_index(tensor_of(o)))) {
      Tensor t = tensor_of(o);
      ARGOSY_CHECK(is_integral(t.dtype()), type)
          << "A tensor used as an index must be of integers or bool, got " << t
          << ". Do this: cast it with .astype('int64').";
      if (t.rank() == 0) {
        p.full_picks.push_back(out + static_cast<int64_t>(p.picks.size()));
        p.picks.push_back(program::value_in_program(t));
        p.pick_axes.push_back(out - static_cast<int64_t>(p.inserted.size()));
        ++dim;
        continue;
      }
      add_array(t, out++);
      ++dim;
    } else {
      int64_t i = 0;
      if (is_tensor(o)) {
        ARGOSY_CHECK(is_integral(impl_of(o)->dtype), type)
            << "A tensor used as an index must be of integers or bool, got " << tensor_of(o) << '.';
        i = to_int(o);
      } else {
        Py index(PyIndex_Check(o) ? PyNumber_Index(o) : nullptr);
        if (!index) {
          PyErr_Clear();
          ARGOSY_THROW(axis)
              << "An index must be made of ints, slices, None, '...', lists or Tensors of ints or "
                 "bools, got "
              << Py_TYPE(o)->tp_name << '.';
        }
        i = PyNumber_AsSsize_t(index.get(), nullptr);
      }
      int64_t size = x.dim(dim);
      ARGOSY_CHECK(size < 0 || (i >= -size && i < size), index)
          << "Index " << i << " is out of range for dimension " << dim << " of size " << size
          << " of a tensor of shape " << x.shape() << '.';
      p.axes.push_back(dim);
      p.strides.push_back(1);
      p.starts.values.push_back(i);
      p.ends.values.push_back(i == -1 || i == kFar ? kFar : i + 1);
      p.drop.push_back(dim);
      ++dim;
    }
  }
  p.rank_before_arrays = out + x.rank() - dim;
  return p;
}

// The attribute struct of `slice` is private to its file; it is filled by position as any caller
// does.
PyObject* slice_args(PyObject* x, PyObject* value, const IndexPlan& p, const op::OpDef& op) {
  auto list = [](std::span<const int64_t> v) {
    PyObject* l = check(PyList_New(static_cast<Py_ssize_t>(v.size())));
    for (size_t i = 0; i < v.size(); ++i)
      PyList_SET_ITEM(l, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(v[i]));
    return l;
  };
  auto bounds = [&](const op::IntArray& a) {
    PyObject* l = list(a.values);
    for (const auto& s : a.symbols)
      PyList_SetItem(l, static_cast<Py_ssize_t>(s.position), check(wrap(s.value)));
    return l;
  };
  Py axes(list(p.axes)), starts(bounds(p.starts)), ends(bounds(p.ends)), strides(list(p.strides)),
      drop(list(p.drop));
  if (value) {
    PyObject* const args[] = {x,          value,         axes.get(), starts.get(),
                              ends.get(), strides.get(), drop.get()};
    return call_op(op, args, 7, true);
  }
  PyObject* const args[] = {x, axes.get(), starts.get(), ends.get(), strides.get(), drop.get()};
  return call_op(op, args, 6, false);
}

Tensor sliced(PyObject* x, const IndexPlan& p) {
  static const op::OpDef& op = op::get("slice");
  Py out(check(slice_args(x, nullptr, p, op)));
  return tensor_of(out.get());
}

// The slice alone, with new dimensions.
Tensor unpicked(PyObject* x, const IndexPlan& p) {
  Tensor t = p.axes.empty() ? tensor_of(x) : sliced(x, p);
  for (int64_t at : p.full_inserted) t = ops::unsqueeze(t, {at});
  return t;
}

Tensor basic(PyObject* x, const IndexPlan& p) {
  Tensor t = p.axes.empty() ? tensor_of(x) : sliced(x, p);
  for (size_t i = 0; i < p.picks.size(); ++i) t = program::pick(t, p.picks[i], p.pick_axes[i]);
  for (int64_t at : p.inserted) t = ops::unsqueeze(t, {at});
  return t;
}

// Dimensions [index dims, rest] into their place: index dims where the first array was.
std::vector<int64_t> placing(const IndexPlan& p, int index_rank) {
  std::vector<int64_t> perm;
  int rest = p.rank_before_arrays - static_cast<int>(p.arrays.size());
  int lead = p.adjacent && !p.arrays.empty() ? static_cast<int>(p.array_axes[0]) : 0;
  for (int i = 0; i < lead; ++i) perm.push_back(index_rank + i);
  for (int i = 0; i < index_rank; ++i) perm.push_back(i);
  for (int i = lead; i < rest; ++i) perm.push_back(index_rank + i);
  return perm;
}

int index_rank(const IndexPlan& p) {
  int rank = 0;
  for (const Tensor& t : p.arrays) rank = std::max(rank, t.rank());
  return rank;
}

// Picks and arrays in the order of their dimensions, which are those of unpicked().
std::pair<std::vector<Tensor>, std::vector<int64_t>> with_picks(const IndexPlan& p) {
  std::vector<Tensor> indices;
  std::vector<int64_t> axes;
  for (size_t a = 0, b = 0; a < p.picks.size() || b < p.arrays.size();) {
    const bool pick =
        b == p.arrays.size() || (a < p.picks.size() && p.full_picks[a] < p.full_arrays[b]);
    indices.push_back(pick ? p.picks[a] : p.arrays[b]);
    axes.push_back(pick ? p.full_picks[a++] : p.full_arrays[b++]);
  }
  return {indices, axes};
}

// A key that is one mask over leading dimensions of x.
bool is_leading_mask(const Tensor& x, PyObject* key) {
  if (!is_tensor(key) || impl_of(key)->dtype != DType::bool_) return false;
  const Shape& mask = impl_of(key)->shape;
  if (mask.rank() == 0 || mask.rank() > x.rank()) return false;
  for (int d = 0; d < mask.rank(); ++d)
    if (mask[d] != x.dim(d) || mask[d] < 0) return false;
  return true;
}

PyObject* getitem(PyObject* self, PyObject* key) {
  return guarded_object([&] {
    if (is_leading_mask(tensor_of(self), key))
      return wrap(ops::select_true(tensor_of(self), tensor_of(key)));
    IndexPlan p = take_apart(tensor_of(self), key);
    Tensor t = basic(self, p);
    if (p.arrays.size() == 1) {
      t = ops::take_slices(t, p.arrays[0], p.array_axes[0]);
    } else if (!p.arrays.empty()) {
      t = ops::index_get(t, p.arrays, p.array_axes);
      std::vector<int64_t> perm = placing(p, index_rank(p));
      bool moved = false;
      for (size_t i = 0; i < perm.size(); ++i) moved |= perm[i] != static_cast<int64_t>(i);
      if (moved) t = ops::transpose(t, perm);
    } else if (t.impl() == impl_of(self)) {
      // x[...] is a new handle on the same data.
      t = t.shape().known() ? ops::reshape(t, op::IntArray(t.shape())) : sliced(self, p);
    }
    return wrap(std::move(t));
  });
}

// value as a tensor of x's dtype. Of tensors and arrays of complex numbers it has the real parts,
// as a cast; numbers and lists of them are refused where x is real.
Tensor value_for(PyObject* value, const Tensor& x) {
  const auto check_real = [&](bool complex) {
    ARGOSY_CHECK(!complex || is_complex(x.dtype()), type)
        << "A complex number cannot be written into a tensor of " << x.dtype()
        << ". Do this: write its real part, or make the tensor complex.";
  };
  if (is_number(value)) {
    const op::Scalar number = to_scalar(value);
    check_real(number.kind == op::Scalar::Kind::complex);
    return ops::cast(ops::constant(number, x.dtype(), x.place()), x.dtype());
  }
  const Tensor v = to_tensor(value, x.impl());
  check_real(is_complex(v.dtype()) && (PyList_Check(value) || PyTuple_Check(value)));
  return ops::cast(v, x.dtype());
}

// Whether v looks at the very elements that would be written. z[k] **= 2 writes them through a view
// of z, which it assigns to z[k] then.
bool is_there(PyObject* self, const IndexPlan& p, const Tensor& v) {
  const Tensor x = tensor_of(self);
  if (op::thread_state.recorder || !v.has_data() || v.impl()->storage != x.impl()->storage)
    return false;
  op::GradMode off(false);
  const Tensor part = basic(self, p);
  return v.impl()->offset == part.impl()->offset && v.shape() == part.shape() &&
         v.strides() == part.strides();
}

int setitem(PyObject* self, PyObject* key, PyObject* value) {
  return guarded_int([&] {
    ARGOSY_CHECK(value, type) << "Elements of a tensor cannot be deleted.";
    Tensor x = tensor_of(self);
    if (is_leading_mask(x, key)) {
      Tensor v = value_for(value, x);
      if (v.numel() == 1) {
        // One value: chosen by the mask, without looking for its places.
        Tensor mask = tensor_of(key);
        while (mask.rank() < x.rank()) mask = ops::unsqueeze(mask, {mask.rank()});
        while (v.rank() > 0) v = ops::squeeze(v, {0});
        static const op::OpDef& fill = op::get("masked_fill");
        Py args_mask(check(wrap(mask))), args_v(check(wrap(v)));
        PyObject* const args[] = {self, args_mask.get(), args_v.get()};
        Py done(check(call_op(fill, args, 3, true)));
        return 0;
      }
    }
    IndexPlan p = take_apart(x, key);
    Tensor v = value_for(value, x);
    static const op::OpDef& set_slice = op::get("set_slice");
    static const op::OpDef& index_put = op::get("index_put");
    auto put_arrays = [&](const Tensor& target) {
      // The value is broadcast in the form that indexing gives; bring that to [index dims, rest].
      int ranks = index_rank(p);
      std::vector<int64_t> perm = placing(p, ranks);
      int full = static_cast<int>(perm.size());
      bool moved = false;
      for (int i = 0; i < full; ++i) moved |= perm[static_cast<size_t>(i)] != i;
      // Leading 1s that a value may have beyond the region.
      while (v.rank() > full && v.dim(0) == 1) v = ops::squeeze(v, {0});
      if (moved && v.rank() > 0) {
        while (v.rank() < full) v = ops::unsqueeze(v, {0});
        std::vector<int64_t> inverse(perm.size());
        for (size_t i = 0; i < perm.size(); ++i)
          inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
        v = ops::transpose(v, inverse);
      }
      const auto [indices, index_axes] = with_picks(p);
      Py args_x(check(wrap(target))), args_v(check(wrap(v))), args_i(check(wrap_list(indices)));
      Py axes(check(PyList_New(0)));
      for (int64_t a : index_axes) {
        Py item(PyLong_FromLongLong(a));
        PyList_Append(axes.get(), item.get());
      }
      PyObject* const args[] = {args_x.get(), args_v.get(), args_i.get(), axes.get()};
      Py done(check(call_op(index_put, args, 4, true)));
    };
    if (p.arrays.empty() && p.picks.empty()) {
      const bool there = is_there(self, p, v);
      const bool grad = op::thread_state.grad_enabled && (x.requires_grad() || v.requires_grad());
      if (there && !grad) return 0;
      const uint32_t version = x.version();
      int full = x.rank() - static_cast<int>(p.drop.size()) + static_cast<int>(p.inserted.size());
      while (v.rank() > full && v.dim(0) == 1) v = ops::squeeze(v, {0});
      // New dimensions exist only on the value's side.
      for (size_t i = p.inserted.size(); i-- > 0;) {
        int at = static_cast<int>(p.inserted[i]) - (full - v.rank());
        if (at >= 0 && at < v.rank()) v = ops::squeeze(v, {at});
        --full;
      }
      Py args_v(check(wrap(v)));
      Py done(check(slice_args(self, args_v.get(), p, set_slice)));
      if (there) x.impl()->storage->keep_version(version);  // what the write saved is still true
      return 0;
    }
    if (p.axes.empty() && p.inserted.empty()) {
      put_arrays(x);
      return 0;
    }
    // A slice of arrays: compute the slice's new value, then write the slice.
    Tensor fresh = ops::assign(unpicked(self, p));
    put_arrays(fresh);
    for (size_t i = p.full_inserted.size(); i-- > 0;)
      fresh = ops::squeeze(fresh, {p.full_inserted[i]});
    Py args_v(check(wrap(fresh)));
    Py done(check(slice_args(self, args_v.get(), p, set_slice)));
    return 0;
  });
}

}  // namespace

PyObject* tensor_getitem(PyObject* self, PyObject* key) {
  return getitem(self, key);
}
int tensor_setitem(PyObject* self, PyObject* key, PyObject* value) {
  return setitem(self, key, value);
}

}  // namespace argosy::python

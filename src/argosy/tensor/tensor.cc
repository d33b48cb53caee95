#include "argosy/tensor/tensor.h"

#include <algorithm>

#include "argosy/base/device.h"
#include "argosy/kernels/cpu/copy.h"
#include "argosy/tensor/device_copy.h"

namespace argosy {
namespace {

bool strides_contiguous(const Shape& shape, const Shape& strides) {
  for (int64_t size : shape)
    if (size == 0) return true;
  int64_t expected = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

}  // namespace

void (*release_python_object)(void* object) = nullptr;
void (*copy_on_device)(const Tensor& dst, const Tensor& src) = nullptr;

void TensorImpl::take_content(const TensorImpl& from) {
  storage = from.storage;
  offset = from.offset;
  shape = from.shape;
  strides = from.strides;
  numel = from.numel;
  dtype = from.dtype;
  layout = from.layout;
  place = from.place;
  contiguous = from.contiguous;
  parts = from.parts;
}

void TensorImpl::drop() {
  if (owns_python && release_python_object) {
    void* object = python;
    python = nullptr;
    owns_python = false;
    release_python_object(object);
  }
  delete this;
}

Tensor Tensor::describe(const Shape& shape, DType dtype, Place place) {
  auto impl = make_ref<TensorImpl>();
  impl->shape = shape;
  impl->numel = shape.numel();
  impl->dtype = dtype;
  impl->place = place;
  if (impl->numel >= 0) impl->strides = shape.contiguous_strides();
  return Tensor(std::move(impl));
}

Tensor Tensor::empty(const Shape& shape, DType dtype, Place place) {
  Tensor t = describe(shape, dtype, place);
  ARGOSY_CHECK(t.numel() >= 0, invalid_argument)
      << "A tensor of shape " << shape
      << " cannot be made: expected sizes of 0 or more, which a size beyond 2^63 is not either. Do "
         "this: check how the shape was computed.";
  ARGOSY_CHECK(t.numel() <= INT64_MAX / item_size(dtype), memory)
      << "A tensor of shape " << shape
      << " takes more than 2^63 bytes. Do this: check how the shape "
         "was computed.";
  t.impl_->storage = Storage::allocate(place, t.nbytes());
  return t;
}

Tensor Tensor::wrap(void* data, const Shape& shape, const Shape& strides, DType dtype, Place place,
                    void* owner, void (*release)(void*)) {
  Tensor t = describe(shape, dtype, place);
  t.impl_->storage = Storage::wrap(place, data, t.nbytes(), owner, release);
  t.impl_->strides = strides;
  t.impl_->contiguous = strides_contiguous(shape, strides);
  return t;
}

Tensor Tensor::row_sparse(Tensor rows, Tensor values, int64_t height) {
  Shape shape = values.shape();
  shape[0] = height;
  Tensor t = describe(shape, values.dtype(), values.place());
  t.impl_->layout = Layout::row_sparse;
  t.impl_->parts = {std::move(rows), std::move(values)};
  return t;
}

Tensor Tensor::view(const Shape& shape, const Shape& strides, int64_t offset) const {
  Tensor t = describe(shape, dtype(), place());
  t.impl_->strides = strides;
  t.impl_->contiguous = strides_contiguous(shape, strides);
  t.impl_->storage = impl_->storage;
  t.impl_->offset = impl_->offset + offset * item_size(dtype());
  return t;
}

void Tensor::separate() const {
  if (!impl_->storage || place().kind == DeviceKind::null) return;
  int64_t begin = 0, end = numel() ? 1 : 0;  // in elements from the first one
  for (int i = 0; numel() && i < rank(); ++i) {
    const int64_t last = (dim(i) - 1) * strides()[i];
    (last < 0 ? begin : end) += last;
  }
  const int64_t item = item_size(dtype()), from = impl_->offset + begin * item;
  Ref<Storage> own =
      impl_->storage->borrow(static_cast<size_t>(from), static_cast<size_t>((end - begin) * item));
  if (!own) {
    copy_elements();
    return impl_->storage->keep_version(0);
  }
  impl_->storage = std::move(own);
  impl_->offset -= from;
}

void Tensor::own_elements() const {
  bool repeats = false;
  for (int i = 0; i < rank(); ++i) repeats |= strides()[i] == 0 && dim(i) > 1;
  Storage& storage = *impl_->storage;
  if (repeats || (storage.shared() && storage.borrows_only() && storage.ref_count() == 1))
    copy_elements();
  else if (storage.shared())
    storage.own_bytes();
}

void Tensor::copy_elements() const {
  Tensor own = empty(shape(), dtype(), place());
  if (place().kind != DeviceKind::cpu)
    copy_on_device(own, *this);
  else if (numel())
    cpu::copy_strided(own.raw(), own.strides().data(), raw(), strides().data(), shape(),
                      item_size(dtype()));
  Ref<Storage>& storage = impl_->storage;
  if (storage->ref_count() == 1 && storage->borrows_only()) {
    storage->move_to(std::move(own.impl_->storage));
  } else {
    own.impl_->storage->follow(*storage);
    storage = std::move(own.impl_->storage);
  }
  impl_->offset = 0;
  impl_->strides = own.strides();
  impl_->contiguous = true;
}

Tensor Tensor::detach() const {
  if (symbolic() || layout() != Layout::strided) {
    Tensor t = describe(shape(), dtype(), place());
    t.impl_->layout = layout();
    t.impl_->symbol = impl_->symbol;
    t.impl_->parts = impl_->parts;
    return t;
  }
  return view(shape(), strides());
}

Message& operator<<(Message& m, const Tensor& t) {
  if (!t.defined()) return m << "None";
  return m << t.dtype() << t.shape();
}

Message& operator<<(Message& m, Place p) {
  m << device::kind_name(p.kind);
  return p.kind == DeviceKind::cpu ? m : m << ':' << static_cast<int>(p.index);
}

bool reshape_strides(const Tensor& t, const Shape& shape, Shape* strides) {
  if (t.is_contiguous() || t.numel() == 0) {
    *strides = shape.contiguous_strides();
    return true;
  }
  // Match runs of old dimensions (size 1 dropped) with runs of new ones of the same product; a run
  // of old ones must be contiguous among themselves.
  int64_t size[kMaxRank], step[kMaxRank];
  int old_rank = 0;
  for (int i = 0; i < t.rank(); ++i)
    if (t.dim(i) != 1) size[old_rank] = t.dim(i), step[old_rank++] = t.strides()[i];
  Shape out = Shape::filled(shape.rank(), 1);
  int o = 0, n = 0;
  while (o < old_rank) {
    int o_end = o + 1, n_end = n + 1;
    int64_t old_run = size[o], new_run = shape[n];
    while (old_run != new_run) {
      if (new_run < old_run)
        new_run *= shape[n_end++];
      else
        old_run *= size[o_end++];
    }
    for (int k = o; k + 1 < o_end; ++k)
      if (step[k] != step[k + 1] * size[k + 1]) return false;
    int64_t stride = step[o_end - 1];
    for (int k = n_end - 1; k >= n; --k) {
      out[k] = stride;
      stride *= shape[k];
    }
    o = o_end;
    n = n_end;
  }
  *strides = out;
  return true;
}

Shape broadcast_strides(const Tensor& t, const Shape& shape) {
  Shape out = Shape::filled(shape.rank(), 0);
  int skip = shape.rank() - t.rank();
  for (int i = std::max(skip, 0); i < shape.rank(); ++i)
    out[i] = t.dim(i - skip) == 1 && shape[i] != 1 ? 0 : t.strides()[i - skip];
  return out;
}

}  // namespace argosy

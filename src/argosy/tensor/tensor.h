#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/dtype.h"
#include "argosy/base/inline_vector.h"
#include "argosy/base/place.h"
#include "argosy/base/ref.h"
#include "argosy/tensor/shape.h"
#include "argosy/tensor/storage.h"

namespace argosy {

enum class Layout : uint8_t { strided, ragged, row_sparse, coo, csr, tensor_array };

class Tensor;

// What higher rooms hang on a tensor. The tensor room only owns and frees it.
struct GradRecord {
  virtual ~GradRecord() = default;
};

// The body behind a Tensor handle. Concrete (storage or parts set), a bare description of shape
// and dtype (neither), or symbolic (symbol set: a value of a Program being built).
class ARGOSY_API TensorImpl final : public RefCounted {
 public:
  TensorImpl() {}  // not defaulted: `new TensorImpl()` would zero it first

  Ref<Storage> storage;
  int64_t offset = 0;  // of the first element from storage->data(), in bytes
  Shape shape;
  Shape strides;  // in elements
  int64_t numel = 0;
  DType dtype = DType::float32;
  Layout layout = Layout::strided;
  Place place;
  uint16_t forms = 0;  // how often it was given another form in place: reshape_, transpose_
  bool contiguous = true;
  bool stop_gradient = true;
  bool persistable = false;
  bool owns_python = false;  // the Python object lives as long as this body, see python/src

  // Autograd: the node that made this value and which of its outputs it is; null for leaves.
  uint32_t grad_index = 0;
  Ref<RefCounted> grad_fn;
  std::unique_ptr<GradRecord> record;

  // The first element; null without storage. Good until somebody prepares to write the storage.
  char* data() const { return storage ? storage->data() + offset : nullptr; }

  // Becomes a handle on what `from` holds, in its form; history and Python object stay as they are.
  void take_content(const TensorImpl& from);

  Ref<RefCounted> symbol;
  void* python = nullptr;     // the Python object for this body, if one exists
  std::vector<Tensor> parts;  // of layouts that are not strided: row_sparse = {rows, values}
  std::unique_ptr<std::string> name;

 private:
  void drop() override;
};

// Frees a Python object that a body owns; set by the bindings. Runs on whatever thread drops last.
ARGOSY_API extern void (*release_python_object)(void* object);

// The one handle: cheap to copy, shared body.
class ARGOSY_API Tensor {
 public:
  Tensor() = default;
  Tensor(std::nullptr_t) {}
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  // Uninitialized memory.
  static Tensor empty(const Shape& shape, DType dtype, Place place = {});
  // Shape and dtype only; has no data.
  static Tensor describe(const Shape& shape, DType dtype, Place place = {});
  static Tensor wrap(void* data, const Shape& shape, const Shape& strides, DType dtype, Place place,
                     void* owner, void (*release)(void*));
  // {rows: int64[k], values: [k, ...]} of a [height, ...] tensor; rows may repeat (they add up).
  static Tensor row_sparse(Tensor rows, Tensor values, int64_t height);

  bool defined() const { return static_cast<bool>(impl_); }
  explicit operator bool() const { return defined(); }
  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }
  bool is(const Tensor& o) const { return impl_ == o.impl_; }

  DType dtype() const { return impl_->dtype; }
  const Shape& shape() const { return impl_->shape; }
  const Shape& strides() const { return impl_->strides; }
  int rank() const { return impl_->shape.rank(); }
  int64_t dim(int i) const { return impl_->shape[i < 0 ? i + rank() : i]; }
  int64_t numel() const { return impl_->numel; }  // kUnknown if a size is
  size_t nbytes() const { return static_cast<size_t>(numel()) * item_size(dtype()); }
  Place place() const { return impl_->place; }
  Layout layout() const { return impl_->layout; }
  bool is_contiguous() const { return impl_->contiguous; }
  bool symbolic() const { return static_cast<bool>(impl_->symbol); }
  bool has_data() const { return static_cast<bool>(impl_->storage); }
  const std::vector<Tensor>& parts() const { return impl_->parts; }

  // Who writes through it what may be seen elsewhere calls prepare_write() before.
  void* raw() const { return impl_->data(); }
  // REQUIRES: T is the C++ type of dtype().
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(impl_->data());
  }

  uint32_t version() const { return impl_->storage ? impl_->storage->version() : 0; }
  void wrote(const char* op) const {
    if (impl_->storage) impl_->storage->wrote(op);
  }

  // Gives every element a place that no other element and no other storage looks at. Views of this
  // tensor move along, but for those of one that repeats its elements.
  void prepare_write() const {
    if (impl_->storage && (!impl_->contiguous || impl_->storage->shared())) own_elements();
  }
  // Makes a view independent of what it was made from: the elements are copied when either side is
  // written, or now if they cannot be lent. REQUIRES: no other tensor was made from it.
  void separate() const;

  bool stop_gradient() const { return impl_->stop_gradient; }
  bool requires_grad() const { return !impl_->stop_gradient; }
  void set_stop_gradient(bool stop) const { impl_->stop_gradient = stop; }

  // Another view of the same storage, without autograd history. `offset` in elements from here.
  Tensor view(const Shape& shape, const Shape& strides, int64_t offset = 0) const;
  // Same data, own body, no history.
  Tensor detach() const;

 private:
  void own_elements() const;
  void copy_elements() const;

  Ref<TensorImpl> impl_;
};

// "float32[2, 3]", for messages.
ARGOSY_API Message& operator<<(Message& m, const Tensor& t);
ARGOSY_API Message& operator<<(Message& m, Place p);

// Whether their elements lie in one block of memory. Storages tell whose writes show where; this is
// for who writes bytes without asking them.
inline bool in_one_memory(const Tensor& a, const Tensor& b) {
  return a.has_data() && b.has_data() && a.impl()->storage->same_memory(*b.impl()->storage);
}

// Strides that view `t` as `shape` (same numel, known) without a copy; false if there are none.
ARGOSY_API bool reshape_strides(const Tensor& t, const Shape& shape, Shape* strides);
// Strides of `t` seen as the broadcast `shape`: 0 where it repeats.
ARGOSY_API Shape broadcast_strides(const Tensor& t, const Shape& shape);

// Several tensors: outputs of an op, gradients. Implicit from one.
class Tensors : public InlineVector<Tensor, 3> {
 public:
  using InlineVector::InlineVector;
  Tensors() {}
  Tensors(Tensor t) { push_back(std::move(t)); }
};

}  // namespace argosy

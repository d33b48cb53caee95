#include <cstdio>
#include <cstring>

#include "argosy/base/device.h"
#include "argosy/op/accelerator.h"
#include "argosy/op/dispatch.h"
#include "python.h"

// Exchange of tensors with other frameworks without a copy, by the DLPack protocol (version 0.8 of
// its C structures, which every reader understands).
namespace argosy::python {
namespace {

// The protocol's structures; names and layout are its ABI.
struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};

enum : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };
constexpr int32_t kCpu = 1, kCuda = 2;

bool is_gpu(Place place) {
  return place.kind == kAccelerator && std::string_view(device::kind_name(place.kind)) == "gpu";
}

DLDataType code_of(DType t) {
  uint8_t bits = static_cast<uint8_t>(item_size(t) * 8);
  if (t == DType::bool_) return {kBool, 8, 1};
  if (t == DType::bfloat16) return {kBfloat, 16, 1};
  if (is_complex(t)) return {kComplex, bits, 1};
  ARGOSY_CHECK(!kFloat8.has(t), type) << "DLPack has no dtype for " << t << ". Do this: cast it.";
  if (is_floating(t)) return {kFloat, bits, 1};
  return {kUnsigned.has(t) ? kUInt : kInt, bits, 1};
}

DType dtype_of(DLDataType d) {
  if (d.lanes == 1) {
    for (int i = 0; i < kDTypeCount; ++i) {
      DType t = static_cast<DType>(i);
      if (kFloat8.has(t)) continue;
      DLDataType c = code_of(t);
      if (c.code == d.code && c.bits == d.bits) return t;
    }
  }
  ARGOSY_THROW(type) << "from_dlpack: no dtype for code " << static_cast<int>(d.code) << " with "
                     << static_cast<int>(d.bits) << " bits and " << static_cast<int>(d.lanes)
                     << " lanes.";
}

// Keeps the tensor, and its shape, alive for the reader.
struct Exported {
  DLManagedTensor managed;
  Tensor tensor;
};

// Waits where nobody can catch an error: says it instead.
void settle(Place place) noexcept {
  try {
    device::synchronize(place);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "argosy warning: while a tensor was given back: %s\n", e.what());
  }
}

// The reader's streams are none that our memory knows of: it is used again when all of them are
// done.
void delete_exported(DLManagedTensor* m) {
  auto* exported = static_cast<Exported*>(m->manager_ctx);
  if (const Place place = exported->tensor.place(); is_gpu(place)) settle(place);
  delete exported;
}

// A capsule that nobody took still owns its tensor.
void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;
  auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  m->deleter(m);
}

PyObject* f_to_dlpack(PyObject*, PyObject* o) {
  return guarded_object([&] {
    Tensor t = checked_tensor("to_dlpack", o);
    const Place place = t.place();
    ARGOSY_CHECK(t.has_data() && (place.kind == DeviceKind::cpu || is_gpu(place)), invalid_argument)
        << "to_dlpack: only dense tensors in the memory of CPUs and GPUs can be exported, got " << t
        << " on " << place << ". Do this: export what .cpu() and .to_dense() give.";
    t.prepare_write();
    t.impl()->storage->never_lend();
    device::synchronize(device::current(place));  // a reader on any stream finds what was computed
    auto exported = std::make_unique<Exported>();
    exported->tensor = t.detach();
    TensorImpl* impl = exported->tensor.impl();
    exported->managed = {{impl->data(),
                          {is_gpu(place) ? kCuda : kCpu, is_gpu(place) ? place.index : 0},
                          t.rank(),
                          code_of(t.dtype()),
                          impl->shape.data(),
                          impl->strides.data(),
                          0},
                         exported.get(),
                         delete_exported};
    PyObject* capsule = check(PyCapsule_New(&exported->managed, "dltensor", drop_capsule));
    exported.release();
    return capsule;
  });
}

void release_imported(void* owner) {
  auto* m = static_cast<DLManagedTensor*>(owner);
  if (!m->deleter || !Py_IsInitialized()) return;
  // Its owner's streams do not wait for ours.
  if (const DLDevice at = m->dl_tensor.device; at.device_type == kCuda)
    settle(Place{kAccelerator, static_cast<int16_t>(at.device_id)});
  WithGil gil;  // a foreign deleter may touch Python
  m->deleter(m);
}

PyObject* f_from_dlpack(PyObject*, PyObject* capsule) {
  return guarded_object([&] {
    auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    if (!m) {
      PyErr_Clear();
      ARGOSY_THROW(type) << "from_dlpack: expected a fresh DLPack capsule ('dltensor'), got "
                         << Py_TYPE(capsule)->tp_name << ". Do this: take each capsule once.";
    }
    const DLTensor& d = m->dl_tensor;
    const bool gpu = d.device.device_type == kCuda;
    ARGOSY_CHECK(d.device.device_type == kCpu || gpu, invalid_argument)
        << "from_dlpack: the tensor is on device type " << d.device.device_type
        << ", only memory of CPUs and NVIDIA GPUs can be taken. Do this: copy it to the CPU first.";
    Place place;
    if (gpu) {
      op::start_cuda();
      place = {kAccelerator, static_cast<int16_t>(d.device.device_id)};
      device::synchronize(place);  // whatever stream it was made on
    }
    DType dtype = dtype_of(d.dtype);
    Shape shape(std::span<const int64_t>(d.shape, static_cast<size_t>(d.ndim)));
    Shape strides = d.strides
                        ? Shape(std::span<const int64_t>(d.strides, static_cast<size_t>(d.ndim)))
                        : shape.contiguous_strides();
    PyObject* out = wrap(Tensor::wrap(static_cast<char*>(d.data) + d.byte_offset, shape, strides,
                                      dtype, place, m, release_imported));
    PyCapsule_SetName(capsule, "used_dltensor");
    return out;
  });
}

PyMethodDef functions[] = {
    {"to_dlpack", f_to_dlpack, METH_O, "to_dlpack(tensor) -> capsule over the same memory"},
    {"from_dlpack", f_from_dlpack, METH_O, "from_dlpack(capsule) -> Tensor over the same memory"},
    {}};

}  // namespace

void add_dlpack(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python

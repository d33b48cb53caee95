#include "argosy/op/copy.h"

#include <algorithm>
#include <cstring>

#include "argosy/base/device.h"
#include "argosy/kernels/cpu/copy.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/kernels/cpu/loops.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/launch.h"
#include "argosy/tensor/device_copy.h"

namespace argosy::op {
namespace {

// Whoever reads elements comes through here or through copy_into, so a value that a Program does
// not have yet is an error, not a read of no memory.
void need_elements(const Tensor& t) {
  ARGOSY_CHECK(!t.symbolic() && (t.has_data() || t.numel() == 0), type)
      << "The elements of " << t << " are asked for, but it is "
      << (t.symbolic() ? "a value of a Program being built" : "a description without data")
      << ". Do this: use ops that can be recorded, or compute it eagerly.";
}

[[maybe_unused]] const bool known_below = [] {
  copy_on_device = copy_into;
  return true;
}();

bool on_cpu(const Tensor& t) {
  return t.place().kind == DeviceKind::cpu;
}

// The bytes of both are the same elements in the same order.
bool same_form(const Tensor& dst, const Tensor& src) {
  return dst.is_contiguous() && src.is_contiguous() && dst.dtype() == src.dtype() &&
         dst.shape() == src.shape();
}

void copy_from_host(const Tensor& dst, const Tensor& src) {
  if (same_form(dst, src)) {
    device::copy_from_host(dst.place(), dst.raw(), src.raw(), dst.nbytes());
    return;
  }
  // Cast here, broadcast and stride there: so the fewest bytes travel.
  Tensor packed = Tensor::empty(src.shape(), dst.dtype());
  copy_into(packed, src);
  Tensor there =
      same_form(dst, packed) ? dst : Tensor::empty(src.shape(), dst.dtype(), dst.place());
  device::copy_from_host(there.place(), there.raw(), packed.raw(), packed.nbytes());
  if (!there.is(dst)) copy_into(dst, there);
}

void copy_to_host(const Tensor& dst, const Tensor& src) {
  const Tensor packed = contiguous(src);
  Tensor here = same_form(dst, packed) ? dst : Tensor::empty(src.shape(), src.dtype());
  device::copy_to_host(src.place(), here.raw(), packed.raw(), packed.nbytes());
  if (!here.is(dst)) copy_into(dst, here);
}

// On two places of one device. False where that has no copies between them.
bool copy_between_places(const Tensor& dst, const Tensor& src) {
  const Device* device = device::find(src.place().kind);
  if (!device || src.place().kind != dst.place().kind || !device->copies_between()) return false;
  // Cast there, broadcast and stride here.
  Tensor packed = src;
  if (!src.is_contiguous() || src.dtype() != dst.dtype()) {
    packed = Tensor::empty(src.shape(), dst.dtype(), src.place());
    copy_into(packed, src);
  }
  const bool direct = same_form(dst, packed);
  const Tensor there = direct ? dst : Tensor::empty(src.shape(), dst.dtype(), dst.place());
  device::copy_between(there.place(), there.raw(), packed.place(), packed.raw(), packed.nbytes());
  if (!direct) copy_into(dst, there);
  return true;
}

// dst has elements, and src broadcasts to it.
void copy_across(const Tensor& dst, const Tensor& src) {
  if (dst.place() == src.place()) return launcher(dst.place().kind).copy(dst, src, dst.place());
  if (on_cpu(src)) return copy_from_host(dst, src);
  if (on_cpu(dst)) return copy_to_host(dst, src);
  if (!copy_between_places(dst, src)) copy_from_host(dst, to_host(src));
}

[[gnu::always_inline]] inline void check_copy(const Tensor& dst, const Tensor& src) {
  need_elements(src);
  need_elements(dst);
  check_fits(dst.shape(), src.shape());
}

void need_device_with_elements(const Tensor& t) {
  ARGOSY_CHECK(t.place().kind != DeviceKind::null, invalid_argument)
      << "The elements of " << t << " on " << t.place()
      << " are asked for, but a null device has none. Do this: compute it on the CPU "
         "(device.set_device('cpu')).";
}

// One of both is not on the CPU.
[[gnu::noinline]] void copy_between(const Tensor& dst, const Tensor& src) {
  if (dst.place().kind == DeviceKind::null) return;
  need_device_with_elements(src);
  check_copy(dst, src);
  if (dst.numel()) copy_across(dst, src);
}

}  // namespace

void check_fits(const Shape& to, const Shape& value) {
  bool fits = true;
  const int skip = to.rank() - value.rank();  // below 0: the value's first sizes must be 1
  for (int i = 0; i < value.rank(); ++i) {
    const int64_t size = value[i], there = i + skip >= 0 ? to[i + skip] : 1;
    fits &= size == 1 || size == there || size < 0 || there < 0;
  }
  ARGOSY_CHECK(fits, invalid_argument)
      << "[assign] a value of shape " << value << " does not broadcast to shape " << to
      << ". Do this: give a value of that shape.";
}

Tensor contiguous(const Tensor& t) {
  need_elements(t);
  if (t.is_contiguous() || !t.has_data()) return t;
  Tensor out = Tensor::empty(t.shape(), t.dtype(), t.place());
  copy_into(out, t);
  return out;
}

Tensor to_place(const Tensor& t, Place place) {
  if (t.place() == place) return t;
  if (t.layout() == Layout::strided) {
    need_elements(t);
    Tensor out = Tensor::empty(t.shape(), t.dtype(), place);
    if (t.numel()) copy_into(out, t);
    return out;
  }
  Tensor out = Tensor::describe(t.shape(), t.dtype(), place);
  out.impl()->layout = t.layout();
  for (const Tensor& part : t.parts()) out.impl()->parts.push_back(to_place(part, place));
  return out;
}

Tensor to_pinned(const Tensor& t, bool wait) {
  need_elements(t);
  need_device_with_elements(t);
  ARGOSY_CHECK(t.layout() == Layout::strided, type)
      << "[pin_memory] expected a dense tensor, got " << t << ". Do this: pin its parts.";
  if (is_pinned(t)) return t;
  void* block = device::allocate_pinned(std::max<size_t>(t.nbytes(), 1));
  Tensor out = Tensor::wrap(block, t.shape(), t.shape().contiguous_strides(), t.dtype(), Place{},
                            block, device::release_pinned);
  if (t.numel() == 0) return out;
  if (on_cpu(t)) {
    copy_into(out, t);
    return out;
  }
  const Tensor packed = contiguous(t);
  device::copy_to_pinned(t.place(), out.raw(), packed.raw(), packed.nbytes());
  if (wait) device::synchronize(device::current(t.place()));
  return out;
}

bool is_pinned(const Tensor& t) {
  return on_cpu(t) && t.has_data() && device::is_pinned(t.raw());
}

Tensor send(const Tensor& t, Place place) {
  if (place.kind == DeviceKind::cpu || !is_pinned(t) || !t.is_contiguous())
    return to_place(t, place);
  Tensor out = Tensor::empty(t.shape(), t.dtype(), place);
  if (t.numel()) device::copy_from_pinned(place, out.raw(), t.raw(), t.nbytes());
  return out;
}

Tensor to_host(const Tensor& t) {
  if (on_cpu(t)) return contiguous(t);
  need_device_with_elements(t);
  return to_place(contiguous(t), Place{});
}

void put_integer(const Tensor& t, int64_t value) {
  const Tensor here = on_cpu(t) ? t : Tensor::empty({}, DType::int64);
  *here.data<int64_t>() = value;
  if (!here.is(t)) copy_into(t, here);
}

void clear(const Tensor& t) {
  const Tensor here = on_cpu(t) ? t : Tensor::empty({}, t.dtype());
  std::memset(here.raw(), 0, here.nbytes());
  if (!here.is(t)) copy_into(t, here);
}

void copy_into(const Tensor& dst, const Tensor& src) {
  if (!on_cpu(dst) || !on_cpu(src)) [[unlikely]]
    return copy_between(dst, src);
  check_copy(dst, src);
  if (dst.numel() == 0) return;
  Shape from = broadcast_strides(src, dst.shape());
  if (src.dtype() == dst.dtype()) {
    cpu::copy_strided(dst.raw(), dst.strides().data(), src.raw(), from.data(), dst.shape(),
                      item_size(dst.dtype()));
    return;
  }
  const cpu::Operand operands[] = {{src.raw(), from.data(), item_size(src.dtype())},
                                   {dst.raw(), dst.strides().data(), item_size(dst.dtype())}};
  cpu::run_loop(cpu::cast_loop(src.dtype(), dst.dtype()), dst.shape(), operands);
}

}  // namespace argosy::op

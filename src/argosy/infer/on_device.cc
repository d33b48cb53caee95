#include "argosy/infer/on_device.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "argosy/op/accelerator.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"

namespace argosy::infer {
namespace {

// GPUs' kernels are bound to libargosy.so. A library that has only what predictors need would see
// none of them.
void need_whole_core() {
  Dl_info self{};
  if (!dladdr(reinterpret_cast<const void*>(&place_named), &self) || !self.dli_fname) return;
  const std::string file = std::filesystem::path(self.dli_fname).filename().string();
  ARGOSY_CHECK(file.rfind("libargosy_infer", 0) != 0, not_implemented)
      << "[infer] " << file
      << " computes on CPUs. Do this: link libargosy.so instead, which has the same functions and "
         "GPUs, with libargosy_cuda.so beside it.";
}

}  // namespace

Place place_named(const std::string& kind, int index) {
  if (kind == "cpu") return {};
  if (kind == "gpu") {
    need_whole_core();
    op::start_cuda();
  }
  const Device* device = device::find(kAccelerator);
  ARGOSY_CHECK(device && device->name() == kind, device)
      << "[infer] there is no device '" << kind << "'. Do this: use one of cpu, gpu"
      << (device && device->name() != std::string_view("gpu") ? ", " : "")
      << (device && device->name() != std::string_view("gpu") ? device->name() : "") << '.';
  ARGOSY_CHECK(index >= 0 && index < device->count(), device)
      << "[infer] there is no " << kind << ':' << index << ", but " << device->count()
      << " of them. Do this: number them from 0.";
  return {kAccelerator, static_cast<int16_t>(index)};
}

OnStream::OnStream(Stream stream)
    : place_before_(op::thread_state.place), before_(device::current(stream.place)) {
  op::thread_state.place = stream.place;
  device::set_current(stream);
}

OnStream::~OnStream() {
  device::set_current(before_);
  op::thread_state.place = place_before_;
}

Lane::Lane(Place place, size_t inputs)
    : stream_(device::of(place).make_stream(place)), pinned_(inputs), there_(inputs) {}

Lane::~Lane() {
  Device& device = device::of(stream_.place);
  try {
    device.synchronize(stream_);
  } catch (const Error&) {
    // It has failed, which whoever uses it next is told.
  }
  pinned_.clear();
  there_.clear();
  device.drop_stream(stream_);
}

void Lane::synchronize() const {
  device::synchronize(stream_);
}

void Lane::after(Stream first, Stream then) const {
  if (first == then) return;
  Device& device = device::of(then.place);
  device.wait(then, *device.record(first));
}

Tensor Lane::host_memory(size_t input, const Shape& shape, DType dtype) {
  if (sent_) {
    if (!sent_->done()) device::wait(*sent_);
    sent_ = {};
  }
  Tensor& t = pinned_[input];
  if (t.defined() && t.shape() == shape && t.dtype() == dtype) return t;
  const auto bytes = static_cast<size_t>(shape.numel() * item_size(dtype));
  void* block = device::allocate_pinned(std::max<size_t>(bytes, 1));
  t = Tensor::wrap(block, shape, shape.contiguous_strides(), dtype, {}, block,
                   device::release_pinned);
  return t;
}

std::vector<Tensor> Lane::bring(const std::vector<Tensor>& feeds) {
  const auto is_there = [&](const Tensor& t) { return t.place() == stream_.place; };
  if (std::ranges::any_of(feeds, is_there)) after(device::current(stream_.place), stream_);
  const OnStream on(stream_);
  std::vector<Tensor> brought;
  bool sends = false;
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Tensor& t = feeds[i];
    if (is_there(t)) {
      brought.push_back(t);
      continue;
    }
    Tensor& to = there_[i];
    if (!to.defined() || to.shape() != t.shape() || to.dtype() != t.dtype())
      to = Tensor::empty(t.shape(), t.dtype(), stream_.place);
    if (t.numel() && pinned_[i].defined() && t.raw() == pinned_[i].raw()) {
      device::copy_from_pinned(stream_.place, to.raw(), t.raw(), t.nbytes());
      sends = true;
    } else if (t.numel()) {
      op::copy_into(to, t);  // which has read t when it returns
    }
    brought.push_back(to);
  }
  if (sends) sent_ = device::of(stream_.place).record(stream_);
  return brought;
}

void Lane::enqueued(const std::vector<Tensor>& feeds) const {
  const auto is_there = [&](const Tensor& t) { return t.place() == stream_.place; };
  if (std::ranges::any_of(feeds, is_there)) after(stream_, device::current(stream_.place));
}

Tensor Lane::handed_out(const Tensor& t) const {
  const Stream theirs = device::current(stream_.place);
  after(stream_, theirs);
  Tensor out = Tensor::empty(t.shape(), t.dtype(), t.place());
  if (t.numel()) op::copy_into(out, t);
  // The next run may write t's memory.
  after(theirs, stream_);
  return out;
}

Tensor Lane::on_host(const Tensor& t) const {
  const OnStream on(stream_);
  return t.layout() == Layout::strided && t.numel() ? op::to_pinned(t) : op::to_place(t, Place{});
}

}  // namespace argosy::infer

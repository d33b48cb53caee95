#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "argosy/base/device.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/launch.h"

// A device of the host's memory on which everything is done when a call returns: for tests of what
// calls a device. Its events can be held back.
namespace argosy::cuda {

class HostDevice final : public Device, public op::Launcher {
 public:
  static constexpr int kCount = 4;

  class Event final : public DeviceEvent {
   public:
    Event(HostDevice& device, Stream stream) : device_(device), stream_(stream) {}
    Stream stream() const override { return stream_; }
    bool done() override { return !device_.stuck; }
    void wait() override {}
    double milliseconds_to(DeviceEvent&) override { return 0; }

   private:
    HostDevice& device_;
    const Stream stream_;
  };

  const char* name() const override { return "host"; }
  int count() const override { return kCount; }
  void* allocate(Stream, size_t bytes) override { return std::calloc(bytes + 1, 1); }
  void release(Place, void* block, size_t) noexcept override { std::free(block); }
  size_t block_size(size_t bytes) const override { return bytes; }
  void record_use(Stream stream, const void* address) override {
    std::lock_guard lock(mutex_);
    used.insert({stream.id, address});
  }
  void copy_from_host(Stream, void* to, const void* from, size_t n) override {
    std::memcpy(to, from, n);
  }
  void copy_to_host(Stream, void* to, const void* from, size_t n) override {
    std::memcpy(to, from, n);
  }
  void* allocate_pinned(size_t bytes) override { return std::malloc(bytes); }
  void release_pinned(void* block) noexcept override { std::free(block); }
  void copy_from_pinned(Stream, void* to, const void* from, size_t n) override {
    std::memcpy(to, from, n);
  }
  void copy_to_pinned(Stream, void* to, const void* from, size_t n) override {
    std::memcpy(to, from, n);
  }
  Stream make_stream(Place place) override { return {place, ++made_}; }
  void drop_stream(Stream) noexcept override { ++dropped; }
  Ref<DeviceEvent> record(Stream stream) override {
    return Ref<DeviceEvent>::share(make_ref<Event>(*this, stream).get());
  }
  void wait(Stream stream, DeviceEvent& event) override {
    std::lock_guard lock(mutex_);
    waits.insert({stream.id, event.stream().id});
  }
  bool done(Stream) override { return true; }
  void synchronize(Stream) override {}
  void synchronize(Place) override {}

  DeviceKind kernels() const override { return kAccelerator; }
  void launch(const op::KernelDef&, op::KernelFrame&, const void*, Place) override {
    ARGOSY_THROW(internal) << "tests of it call no kernels";
  }
  void copy(const Tensor& dst, const Tensor& src, Place) override {
    const auto here = [](const Tensor& t) {
      return Tensor::wrap(t.raw(), t.shape(), t.strides(), t.dtype(), {}, nullptr, [](void*) {});
    };
    op::copy_into(here(dst), here(src));
  }

  // What a stream is for who is given its address.
  void* native(Stream stream) {
    std::lock_guard lock(mutex_);
    return &marks_.try_emplace({stream.place.index, stream.id}, uint64_t{0x57ea3}).first->second;
  }

  std::atomic<bool> stuck{false};
  std::atomic<int> dropped{0};
  std::set<std::pair<uint32_t, const void*>> used;  // stream, address
  std::set<std::pair<uint32_t, uint32_t>> waits;    // stream, of which

 private:
  std::mutex mutex_;
  std::map<std::pair<int, uint32_t>, uint64_t> marks_;
  std::atomic<uint32_t> made_{0};
};

}  // namespace argosy::cuda

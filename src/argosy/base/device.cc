#include "argosy/base/device.h"

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/base/mutex.h"
#include "argosy/base/profile.h"

namespace argosy::device {
namespace {

std::atomic<Device*> accelerator{nullptr};
std::atomic<uint64_t> waits{0};

// What this thread has made current, at most one stream for each place; null where it never did.
thread_local std::unique_ptr<std::vector<Stream>> current_streams;

// The blocks of pinned memory that are in use.
struct Pinned {
  Mutex mutex;
  std::map<uintptr_t, size_t> blocks ARGOSY_GUARDED_BY(mutex);  // first address, bytes
  std::atomic<size_t> count{0};                                 // of blocks
};
Pinned& pinned() {
  static Pinned& all = *new Pinned;  // tensors may outlive the process's statics
  return all;
}

}  // namespace

void add(Device* device) {
  Device* other = nullptr;
  ARGOSY_CHECK(accelerator.compare_exchange_strong(other, device), already_exists)
      << "[device] '" << device->name() << "' cannot be added: '" << other->name()
      << "' is there. Do this: use one such device in a process.";
}

Device* find(DeviceKind kind) {
  return kind == kAccelerator ? accelerator.load(std::memory_order_acquire) : nullptr;
}

Device& of(Place place) {
  Device* device = find(place.kind);
  ARGOSY_CHECK(device && place.index >= 0 && place.index < device->count(), device)
      << "[device] there is no " << kind_name(place.kind) << ':' << static_cast<int>(place.index)
      << ": expected one of " << (device ? device->count() : 0)
      << " of its kind. Do this: see device.get_available_device() and "
         "device.get_available_custom_device().";
  return *device;
}

const char* kind_name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::null:
      return "null";
    case DeviceKind::cuda:
      break;
  }
  Device* device = find(kind);
  return device ? device->name() : "gpu";
}

Stream current(Place place) {
  if (current_streams)
    for (const Stream& s : *current_streams)
      if (s.place == place) return s;
  return {place, 0};
}

void set_current(Stream stream) {
  of(stream.place);
  if (!current_streams) current_streams = std::make_unique<std::vector<Stream>>();
  for (Stream& s : *current_streams) {
    if (s.place != stream.place) continue;
    s = stream;
    return;
  }
  current_streams->push_back(stream);
}

void copy_from_host(Place place, void* to, const void* from, size_t bytes) {
  profile::Scope scope("copy to device", profile::Kind::copy);
  of(place).copy_from_host(current(place), to, from, bytes);
}

void copy_to_host(Place place, void* to, const void* from, size_t bytes) {
  profile::Scope scope("copy to host", profile::Kind::copy);
  HostWait wait;
  of(place).copy_to_host(current(place), to, from, bytes);
}

void copy_from_pinned(Place place, void* to, const void* from, size_t bytes) {
  profile::Scope scope("copy to device", profile::Kind::copy);
  of(place).copy_from_pinned(current(place), to, from, bytes);
}

void copy_to_pinned(Place place, void* to, const void* from, size_t bytes) {
  profile::Scope scope("copy to host", profile::Kind::copy);
  of(place).copy_to_pinned(current(place), to, from, bytes);
}

void* allocate_pinned(size_t bytes) {
  Device* device = find(kAccelerator);
  ARGOSY_CHECK(device, device) << "[pin_memory] memory is pinned for copies to a device, and this "
                                  "process has none. Do this: leave it out.";
  void* block = device->allocate_pinned(bytes);
  ARGOSY_CHECK(block, memory) << "[pin_memory] out of pinned memory of the host: " << bytes
                              << " bytes requested. Do this: pin fewer tensors at a time.";
  MutexLock lock(pinned().mutex);
  pinned().blocks.emplace(reinterpret_cast<uintptr_t>(block), bytes);
  pinned().count.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void release_pinned(void* block) noexcept {
  {
    MutexLock lock(pinned().mutex);
    pinned().blocks.erase(reinterpret_cast<uintptr_t>(block));
    pinned().count.fetch_sub(1, std::memory_order_relaxed);
  }
  find(kAccelerator)->release_pinned(block);
}

bool is_pinned(const void* address) {
  if (!pinned().count.load(std::memory_order_relaxed)) return false;
  const auto at = reinterpret_cast<uintptr_t>(address);
  MutexLock lock(pinned().mutex);
  auto after = pinned().blocks.upper_bound(at);
  if (after == pinned().blocks.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return at - begin < bytes;
}

void copy_between(Place to_place, void* to, Place from_place, const void* from, size_t bytes) {
  profile::Scope scope("copy between devices", profile::Kind::copy);
  Device& device = of(from_place);
  of(to_place);
  const Stream source = current(from_place), target = current(to_place);
  device.wait(source, *device.record(target));
  device.copy_between(source, to_place, to, from, bytes);
  device.wait(target, *device.record(source));
}

void synchronize(Stream stream) {
  if (!find(stream.place.kind)) return;
  HostWait wait;
  of(stream.place).synchronize(stream);
}

void synchronize(Place place) {
  if (!find(place.kind)) return;
  HostWait wait;
  of(place).synchronize(place);
}

void wait(DeviceEvent& event) {
  HostWait wait;
  event.wait();
}

uint64_t host_waits() {
  return waits.load(std::memory_order_relaxed);
}

HostWait::HostWait() {
  waits.fetch_add(1, std::memory_order_relaxed);
  if (profile::enabled()) begin_ = profile::detail::open();
}

HostWait::~HostWait() {
  if (begin_) profile::detail::close("wait for device", profile::Kind::wait, begin_);
}

}  // namespace argosy::device

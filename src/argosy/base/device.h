#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/export.h"
#include "argosy/base/place.h"
#include "argosy/base/ref.h"

// Devices beside the CPU, as the rooms below op/ see them: memory, copies of bytes, streams,
// events. The CPU is none of them: its one stream is the calling thread, so on it everything is
// done when a call returns. How a device runs kernels is in op/launch.h; docs/devices.md has the
// whole.
namespace argosy {

// The kind of the process's accelerator: GPUs of CUDA, or a device that was added, under its own
// name. There is one such kind in a process, since each op has a list of kernels for each kind.
inline constexpr DeviceKind kAccelerator = DeviceKind::cuda;

// A queue of a place: its work runs in order, beside that of the place's other streams. 0 is the
// one that every place has.
struct Stream {
  Place place;
  uint32_t id = 0;
  bool operator==(const Stream&) const = default;
};

// A point in a stream.
class ARGOSY_API DeviceEvent : public RefCounted {
 public:
  virtual Stream stream() const = 0;
  virtual bool done() = 0;
  // Blocks the calling thread. Throws what the device failed with.
  virtual void wait() = 0;
  // From this point to another, both done.
  virtual double milliseconds_to(DeviceEvent& later) = 0;
};

// Work that a stream was given once, to be enqueued again as a whole.
class ARGOSY_API DeviceGraph : public RefCounted {
 public:
  // On the stream on which it was recorded, with the memory that it was recorded with: whatever
  // that holds by now is read, and written. It must still be there.
  virtual void launch() = 0;
};

// One kind of device. Members are thread safe; they throw Error(ErrorKind::device) for an index or
// a stream that is not there, and for what work enqueued earlier failed with, which stays.
class ARGOSY_API Device {
 public:
  virtual ~Device() = default;
  // What set_device takes before the colon.
  virtual const char* name() const = 0;
  virtual int count() const = 0;
  // What is known of one: names and values. Values are texts or numbers in decimal.
  virtual std::vector<std::pair<std::string, std::string>> properties(Place) { return {}; }

  // Memory whose first use is on `stream`. Null where there is none left.
  virtual void* allocate(Stream stream, size_t bytes) = 0;
  // Work enqueued until now may still use it: on the stream that it was allocated for and on those
  // that record_use named. It is used again after that.
  virtual void release(Place place, void* block, size_t bytes) noexcept = 0;
  virtual size_t block_size(size_t bytes) const = 0;
  // Bytes taken from the system, those that are kept for reuse included; 0: just what is in use.
  virtual size_t reserved(Place) { return 0; }
  // Gives what is kept for reuse back to the system.
  virtual void release_cached(Place) {}
  // For people: how the memory is cut, a line each.
  virtual std::string report(Place) { return {}; }
  // Work on `stream` uses the block that `address` is in.
  virtual void record_use(Stream stream, const void* address) = 0;
  // What holds a place's memory, as far as the device knows: most bytes first.
  struct Holder {
    std::string name;
    size_t bytes = 0, blocks = 0;
  };
  virtual std::vector<Holder> holders(Place) { return {}; }

  // `from` may change as soon as this returns.
  virtual void copy_from_host(Stream stream, void* to, const void* from, size_t bytes) = 0;
  // Returns when the bytes are there.
  virtual void copy_to_host(Stream stream, void* to, const void* from, size_t bytes) = 0;

  // Memory of the host that copies reach while the caller goes on. Null where there is none left.
  virtual void* allocate_pinned(size_t bytes) = 0;
  // Copies enqueued until now may still use it.
  virtual void release_pinned(void* block) noexcept = 0;
  // Copies with pinned memory as the host's end. They do not wait: until the copy is done, `from`
  // must not change, and what is read of `to` is anything.
  virtual void copy_from_pinned(Stream stream, void* to, const void* from, size_t bytes) = 0;
  virtual void copy_to_pinned(Stream stream, void* to, const void* from, size_t bytes) = 0;

  // Copies between two of its places, where it has them; elsewhere they go through the host. As
  // work of `stream`, which is one of the place of `from`.
  virtual bool copies_between() const { return false; }
  virtual void copy_between(Stream, Place /*to_place*/, void* /*to*/, const void* /*from*/,
                            size_t /*bytes*/) {}

  virtual Stream make_stream(Place place) = 0;
  // What is in it is done first. Not of the stream 0.
  virtual void drop_stream(Stream stream) noexcept = 0;
  virtual Ref<DeviceEvent> record(Stream stream) = 0;
  // What is enqueued later on `stream` runs after the event.
  virtual void wait(Stream stream, DeviceEvent& event) = 0;
  virtual bool done(Stream stream) = 0;
  virtual void synchronize(Stream stream) = 0;  // blocks the calling thread
  virtual void synchronize(Place place) = 0;    // all streams

  // Graphs, where it has them. From begin_graph on, what this thread enqueues on the stream is
  // recorded instead of run, until end_graph. Memory that is taken meanwhile for results that do
  // not leave the recording, and given back before its end, is the graphs' own from then on. False:
  // nothing is recorded, since other threads enqueue there, too; there is no end to call then.
  virtual bool has_graphs() const { return false; }
  virtual bool begin_graph(Stream) { return false; }
  // Null where what was enqueued cannot be recorded; nothing of it has run then, either.
  virtual Ref<DeviceGraph> end_graph(Stream) noexcept { return {}; }
};

namespace device {

// Makes it the process's accelerator, before the first use of that kind. It lives as long as the
// process. Throws already_exists where there is one.
ARGOSY_API void add(Device* device);
ARGOSY_API Device* find(DeviceKind kind);  // null where there is none
// Throws Error(ErrorKind::device) if there is no such place.
ARGOSY_API Device& of(Place place);
ARGOSY_API const char* kind_name(DeviceKind kind);  // "cpu", "null", "gpu", or the device's name

// Where the calling thread enqueues its work on a place: stream 0 at first.
ARGOSY_API Stream current(Place place);
ARGOSY_API void set_current(Stream stream);

// Those of Device, seen by the profiler as copies and waits; nothing is done on the CPU and on
// places without a device.
ARGOSY_API void copy_from_host(Place place, void* to, const void* from, size_t bytes);
ARGOSY_API void copy_to_host(Place place, void* to, const void* from, size_t bytes);
ARGOSY_API void copy_from_pinned(Place place, void* to, const void* from, size_t bytes);
ARGOSY_API void copy_to_pinned(Place place, void* to, const void* from, size_t bytes);
// Between two places of a device that copies_between. The host does not wait: the copy is work of
// the one's current stream, and events put it between what was and what will be enqueued on the
// other's.
ARGOSY_API void copy_between(Place to_place, void* to, Place from_place, const void* from,
                             size_t bytes);
ARGOSY_API void synchronize(Stream stream);
ARGOSY_API void synchronize(Place place);
ARGOSY_API void wait(DeviceEvent& event);

// Pinned memory of the accelerator. Throws where there is no accelerator or no memory left.
ARGOSY_API void* allocate_pinned(size_t bytes);
ARGOSY_API void release_pinned(void* block) noexcept;
ARGOSY_API bool is_pinned(const void* address);

// How often the host waited for a device since the process began: reads of values, sizes that
// depend on data, synchronize.
ARGOSY_API uint64_t host_waits();

// Around a wait of the host: counts it, and shows it to the profiler.
class ARGOSY_API HostWait {
 public:
  HostWait();
  ~HostWait();
  HostWait(const HostWait&) = delete;
  HostWait& operator=(const HostWait&) = delete;

 private:
  int64_t begin_ = 0;
};

}  // namespace device
}  // namespace argosy

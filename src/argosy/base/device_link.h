#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "argosy/base/device.h"
#include "argosy/base/dtype.h"

// How ranks exchange memory of devices without the host: the door through which comm/ finds what a
// device's library brings for that (NCCL for GPUs), and which knows neither groups nor tensors.
namespace argosy {

// One rank's end of what joins the devices of some ranks. What it is asked for is enqueued on a
// stream of its own, by all ranks in one order; addresses are of its place. Members throw
// Error(ErrorKind::runtime) where the library refuses a call. Used by one thread at a time, but
// for failure() and abort().
class ARGOSY_API DeviceLink {
 public:
  enum class Op : uint8_t { sum, prod, max, min, avg };

  virtual ~DeviceLink();
  virtual Stream stream() const = 0;

  // What is called between them is one call: its parts have no order, and a rank may send and
  // receive.
  virtual void begin() = 0;
  virtual void end() = 0;

  // count: elements of this rank, at `from`; from may be to.
  virtual void all_reduce(const void* from, void* to, int64_t count, DType dtype, Op op) = 0;
  // to: at the root.
  virtual void reduce(const void* from, void* to, int64_t count, DType dtype, Op op, int root) = 0;
  // to gets count elements: this rank's sum of the others' count times size().
  virtual void reduce_scatter(const void* from, void* to, int64_t count, DType dtype, Op op) = 0;
  virtual void broadcast(const void* from, void* to, size_t bytes, int root) = 0;
  // to gets `bytes` of each rank.
  virtual void all_gather(const void* from, void* to, size_t bytes) = 0;
  virtual void send(const void* from, size_t bytes, int peer) = 0;
  virtual void recv(void* to, size_t bytes, int peer) = 0;

  // What has gone wrong since, empty if nothing has.
  virtual std::string failure() noexcept = 0;
  // Ends what is enqueued, done or not. Nothing works after it.
  virtual void abort() noexcept = 0;
};

// What makes links. Members are thread safe.
class ARGOSY_API DeviceLinker {
 public:
  virtual ~DeviceLinker();
  virtual const char* name() const = 0;  // of what joins devices: "nccl"
  // Of the device that the place is, alike in all processes; links join different ones.
  virtual std::string identity(Place place) = 0;
  // Why it makes no links, as a library that is missing; empty if it does.
  virtual std::string missing() = 0;
  // kId bytes for connect(): of one rank, for all.
  static constexpr size_t kId = 128;
  virtual std::string new_id() = 0;
  // Waits for the other ranks, `seconds` at most.
  virtual std::unique_ptr<DeviceLink> connect(Place place, const std::string& id, int rank,
                                              int size, double seconds) = 0;
  // Whether reductions of it are made.
  virtual bool reduces(DType dtype, DeviceLink::Op op) const = 0;
};

namespace device {

// Of a kind of device, by the library that brings it; lives as long as the process. Null: none.
ARGOSY_API void set_linker(DeviceKind kind, DeviceLinker* linker);
ARGOSY_API DeviceLinker* linker(DeviceKind kind);

}  // namespace device
}  // namespace argosy

#pragma once

#include <vector>

#include "argosy/base/device.h"
#include "argosy/tensor/tensor.h"

// What a predictor whose model runs on a device has there.
namespace argosy::infer {

// The place by the name of its kind ("cpu", "gpu", or that of a device that was added) and its
// number. Starts the GPUs where they are asked for; throws, saying what is missing.
ARGOSY_API Place place_named(const std::string& kind, int index);

// While alive, what this thread makes without operands is on `place`, and what it enqueues there
// goes to `stream`.
class OnStream {
 public:
  explicit OnStream(Stream stream);
  ~OnStream();
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  const Place place_before_;
  const Stream before_;
};

// A stream of its own, memory on the device for what is fed from the host, and the order between
// all of that and the streams of whoever feeds tensors of the device or takes some.
//
// Feeds from the host lie in the same memory in each run, so a run that repeats is a graph.
class Lane {
 public:
  Lane(Place place, size_t inputs);
  ~Lane();  // waits for what its stream has
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  Stream stream() const { return stream_; }
  void synchronize() const;

  // Memory of the host for an input, from which bring() copies while the host goes on. The caller
  // may write it: waits for the copy of the run before.
  Tensor host_memory(size_t input, const Shape& shape, DType dtype);
  // The feeds as a run reads them, on the device. On the caller's streams.
  std::vector<Tensor> bring(const std::vector<Tensor>& feeds);
  // The caller's stream goes on after the run where the run reads tensors of the device: whoever
  // writes them next, or frees them, does so behind it.
  void enqueued(const std::vector<Tensor>& feeds) const;
  // A copy on the caller's stream, or on the host.
  Tensor handed_out(const Tensor& t) const;
  Tensor on_host(const Tensor& t) const;

 private:
  void after(Stream first, Stream then) const;  // what is enqueued on `then` runs after `first`

  const Stream stream_;
  std::vector<Tensor> pinned_;  // by input: what host_memory gave
  std::vector<Tensor> there_;   // by input: on the device, for what is fed from the host
  Ref<DeviceEvent> sent_;       // behind the copies of pinned_, while they may be under way
};

}  // namespace argosy::infer

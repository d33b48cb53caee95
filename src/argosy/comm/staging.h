#pragma once

#include <utility>
#include <vector>

#include "argosy/base/device.h"
#include "argosy/tensor/tensor.h"

namespace argosy::comm {

// How tensors of a device are exchanged: by way of the host's memory, on a stream of their own. It
// waits for what the caller has enqueued, and who waits for the call lets its own stream wait for
// it. Nothing happens for tensors of the CPU.
//
// Threads: one at a time; load() and store() may be on another one than the rest.
class Staging {
 public:
  // What is exchanged in place of t: on the host, t itself if it is there.
  Tensor sent(const Tensor& t);      // has t's values after load()
  Tensor received(const Tensor& t);  // its values are t's after store()
  // On the caller's thread, before load().
  void begin();
  // Waits for the device.
  void load();
  // Gives what has to be waited for before the received tensors are used.
  std::vector<Ref<DeviceEvent>> store();

 private:
  using Pairs = std::vector<std::pair<Tensor, Tensor>>;  // on the device, on the host
  std::vector<Stream> streams() const;                   // those of the tensors' places

  Pairs sent_, received_;
};

// The calling thread's streams go on after these events.
void wait_for(const std::vector<Ref<DeviceEvent>>& events);

}  // namespace argosy::comm

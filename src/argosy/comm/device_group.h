#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "argosy/base/device_link.h"
#include "argosy/base/mutex.h"
#include "argosy/comm/channel.h"
#include "argosy/tensor/tensor.h"

namespace argosy::comm {

using TensorList = std::vector<Tensor>;

// A collective of tensors that all are on the group's devices. As in Job, `send` has an entry for
// each member that gets something else, otherwise one; `receive` one for each whose data comes.
struct DeviceCall {
  Header header;
  std::vector<TensorList> send, receive;
  Ref<DeviceEvent> after;  // what the caller had enqueued
};

// How the ranks of a group exchange what is on their devices without the host: by a link between
// these (NCCL for GPUs). The group's channel stays what ranks agree by: before a call is enqueued
// all have shown that they call the same.
//
// A call has ended for the host when it is enqueued; its event says when the device has. A thread
// of its own watches those under way: what lasts longer than the group's limit, a rank that has
// ended or a failure of the link ends them all, and is the group's failure.
//
// Threads: enqueue() by one at a time, others by any.
class DeviceGroup {
 public:
  DeviceGroup(Place place, std::unique_ptr<DeviceLink> link, std::shared_ptr<Channel> channel,
              double seconds);
  ~DeviceGroup();
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  Place place() const { return place_; }
  Stream stream() const { return link_->stream(); }
  // Whether a call is enqueued: all of its tensors are here, and the link knows how.
  bool takes(Kind kind, DType dtype, Reduce op,
             std::initializer_list<const TensorList*> lists) const;
  // The channel's job by which ranks compare what they call, and sizes where each has its own.
  void agree(const DeviceCall& call, double seconds) const;
  // Done after `call.after`; gives the event behind it.
  Ref<DeviceEvent> enqueue(const DeviceCall& call);
  // Waits for what is under way, and ends the link.
  void close();

 private:
  struct Pending {
    Ref<DeviceEvent> event;
    Header header;
    Clock::time_point since, until;
  };
  void put(const DeviceCall& call);
  void reduce_all(const DeviceCall& call);
  void gather_all(const DeviceCall& call);
  void gather_unequal(const DeviceCall& call);
  void reduce_scatter(const DeviceCall& call);
  void exchange(const DeviceCall& call);
  void watch();
  // What has to end everything, if something has.
  std::optional<std::pair<Failure, std::string>> wrong(const Pending& oldest, bool due) const;
  bool all_done() ARGOSY_REQUIRES(mutex_);

  const Place place_;
  std::unique_ptr<DeviceLink> link_;
  const std::shared_ptr<Channel> channel_;
  const double seconds_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Pending> pending_ ARGOSY_GUARDED_BY(mutex_);
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread watcher_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::comm

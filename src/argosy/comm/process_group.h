#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/comm/channel.h"
#include "argosy/comm/device_group.h"
#include "argosy/comm/engine.h"
#include "argosy/comm/work.h"
#include "argosy/tensor/tensor.h"

namespace argosy::comm {

// How a call is made: sync returns when it is done, async at once.
enum class Mode : uint8_t { sync, async };

// Ranks that exchange tensors, by collectives that all of them call in the same order. Groups are
// independent of each other. A list of tensors counts as one tensor with their elements. Roots and
// peers are numbers in the group.
//
// Tensors: strided ones of one dtype, on the CPU or on a device; those of a device go through the
// host (comm/staging.h), or by connect_devices from device to device. They may be non-contiguous
// and empty. Inputs must not change before the call is done. Results are equal bit
// for bit on all ranks and in all runs.
//
// Errors: a wrong argument is an Error on this rank alone, and the group goes on. All else is a
// CommError, the same on every rank, and final for the group.
//
// A synchronous call on an idle group runs on the caller's thread; a thread of the group takes the
// asynchronous ones, and synchronous ones that come after them. Sends and receives have their own.
// Threads: all calls, but then nobody knows the order.
class ARGOSY_API ProcessGroup : public std::enable_shared_from_this<ProcessGroup> {
 public:
  // The group of all ranks. seconds: most that a rank waits for another.
  static std::shared_ptr<ProcessGroup> world(std::shared_ptr<Engine> engine, double seconds);
  static std::shared_ptr<ProcessGroup> world(std::shared_ptr<Channel> channel, double seconds);
  // A group of some ranks of the world, which has to be `this`; all ranks of the world call it.
  // Null on those that are no members. algorithm: how sums go over links, none: as in the world;
  // ranks that share memory have one way.
  std::shared_ptr<ProcessGroup> subgroup(const std::vector<int>& ranks, double seconds,
                                         std::optional<Algorithm> algorithm = {});
  ~ProcessGroup();
  // Ends what is under way by an error, and later calls of all ranks; who has all it needs goes on.
  void close();

  int rank() const { return channel_->rank(); }
  int size() const { return channel_->size(); }
  uint32_t number() const { return channel_->number(); }
  const std::vector<int>& ranks() const { return channel_->ranks(); }
  const char* engine() const { return channel_->engine(); }

  // All members call it, before other calls of it: from now on collectives whose tensors are on the
  // place that a rank says here go from device to device, where these are different ones and the
  // device's library knows how (base/device_link.h). Those of which it does not know, sends and
  // receives go through the host as before. The reason if there is none, alike on all ranks; empty:
  // they do.
  std::string connect_devices(std::optional<Place> place);
  // What tensors of that place go by: "nccl"; null: through the host.
  const char* devices() const;

  std::shared_ptr<Work> barrier(Mode mode = Mode::sync);
  std::shared_ptr<Work> all_reduce(const TensorList& tensors, Reduce op, Mode mode = Mode::sync);
  // The others' tensors stay as they are.
  std::shared_ptr<Work> reduce(const TensorList& tensors, int root, Reduce op,
                               Mode mode = Mode::sync);
  std::shared_ptr<Work> broadcast(const TensorList& tensors, int root, Mode mode = Mode::sync);
  // outputs[r] gets rank r's input. Sizes may differ if `unequal`, which all ranks say alike.
  std::shared_ptr<Work> all_gather(const TensorList& outputs, const Tensor& input, bool unequal,
                                   Mode mode = Mode::sync);
  // outputs: at the root.
  std::shared_ptr<Work> gather(const TensorList& outputs, const Tensor& input, int root,
                               Mode mode = Mode::sync);
  // inputs: at the root.
  std::shared_ptr<Work> scatter(const Tensor& output, const TensorList& inputs, int root,
                                Mode mode = Mode::sync);
  std::shared_ptr<Work> reduce_scatter(const Tensor& output, const TensorList& inputs, Reduce op,
                                       Mode mode = Mode::sync);
  // inputs[r] becomes outputs[this rank] at rank r; any sizes.
  std::shared_ptr<Work> alltoall(const TensorList& outputs, const TensorList& inputs,
                                 Mode mode = Mode::sync);
  // Messages between two ranks come in order.
  std::shared_ptr<Work> send(const Tensor& tensor, int peer, Mode mode = Mode::sync);
  std::shared_ptr<Work> recv(const Tensor& tensor, int peer, Mode mode = Mode::sync);

 private:
  struct Task;
  struct Transfers;
  ProcessGroup(std::shared_ptr<Channel> channel, std::shared_ptr<ProcessGroup> world,
               double seconds);
  // lists: all tensors of the call.
  std::unique_ptr<Task> task(Kind kind, DType dtype, Reduce op, int root,
                             std::initializer_list<const TensorList*> lists = {}) const;
  void check_usable(Kind kind) const;
  void check_failed() const;  // throws what the group failed by
  void check_root(Kind kind, int root) const;
  std::shared_ptr<Work> submit(std::unique_ptr<Task> task, Mode mode);
  std::shared_ptr<Work> transfer(const Tensor& tensor, int peer, bool sending, Mode mode);
  void execute(Task& task, bool beside);  // beside: on the group's thread
  Ref<DeviceEvent> enqueue(Task& task);
  void post_interrupted(const Header& header);
  void loop();
  void forget() ARGOSY_UNCHECKED;

  const std::shared_ptr<Channel> channel_;
  const std::shared_ptr<ProcessGroup> world_;  // null: this is it
  const double seconds_;
  const int process_;  // a forked child has another number
  uint32_t next_number_ = 1;

  Mutex mutex_;
  CondVar changed_;
  uint64_t sequence_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::deque<std::unique_ptr<Task>> queue_ ARGOSY_GUARDED_BY(mutex_);
  bool busy_ ARGOSY_GUARDED_BY(mutex_) = false;  // somebody executes
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::unique_ptr<std::thread> thread_ ARGOSY_GUARDED_BY(mutex_);
  std::unique_ptr<Transfers> transfers_;
  std::shared_ptr<DeviceGroup> devices_;  // null: they are not connected
  // That nothing is left of what is executed but to tell who waits, who may then close the group.
  std::atomic<bool> ended_{true};
};

}  // namespace argosy::comm

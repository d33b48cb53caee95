#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argosy/base/device.h"
#include "argosy/base/mutex.h"
#include "argosy/base/profile.h"
#include "argosy/op/launch.h"
#include "argosy/streamed/ledger.h"
#include "argosy/streamed/mirror.h"
#include "argosy/streamed/pinned.h"
#include "argosy/streamed/queue.h"

// A device to test with: asynchronous as a GPU is, with the CPU's kernels, and strict. Its memory
// cannot be read by the host (Mirror), each stream is a thread that runs late (Queue), and work
// that no event puts in order is an error (Ledger). docs/devices.md says what it finds.
namespace argosy::streamed {

struct Options {
  int count = 1;                    // places "streamed:0", ..
  int64_t most_delay_us = 0;        // each job waits a random time of up to this
  size_t bytes = size_t{64} << 30;  // of addresses, for all places together
  bool operator==(const Options&) const = default;
};

class StreamedDevice final : public Device, public op::Launcher {
 public:
  explicit StreamedDevice(const Options& options);

  const char* name() const override { return "streamed"; }
  int count() const override { return options_.count; }
  const Options& options() const { return options_; }

  void* allocate(Stream stream, size_t bytes) override;
  void release(Place place, void* block, size_t bytes) noexcept override;
  size_t block_size(size_t bytes) const override { return Mirror::rounded(bytes); }
  void record_use(Stream stream, const void* address) override;
  std::vector<Holder> holders(Place place) override;
  void* allocate_pinned(size_t bytes) override;
  void release_pinned(void* block) noexcept override;
  void copy_from_host(Stream stream, void* to, const void* from, size_t bytes) override;
  void copy_to_host(Stream stream, void* to, const void* from, size_t bytes) override;
  void copy_from_pinned(Stream stream, void* to, const void* from, size_t bytes) override;
  void copy_to_pinned(Stream stream, void* to, const void* from, size_t bytes) override;

  bool copies_between() const override { return true; }
  void copy_between(Stream stream, Place to_place, void* to, const void* from,
                    size_t bytes) override;

  Stream make_stream(Place place) override;
  void drop_stream(Stream stream) noexcept override;
  Ref<DeviceEvent> record(Stream stream) override;
  void wait(Stream stream, DeviceEvent& event) override;
  bool done(Stream stream) override;
  void synchronize(Stream stream) override;
  void synchronize(Place place) override;
  bool has_graphs() const override { return true; }
  bool begin_graph(Stream stream) override;
  Ref<DeviceGraph> end_graph(Stream stream) noexcept override;

  DeviceKind kernels() const override { return DeviceKind::cpu; }
  void launch(const op::KernelDef& kernel, op::KernelFrame& frame, const void* attrs,
              Place place) override;
  void copy(const Tensor& dst, const Tensor& src, Place place) override;
  // Runs the steps one by one, and spoils what is read by them only: a GPU does not write it.
  bool chains() const override { return true; }
  void chain(Place place, FunctionRef<void(bool& unread)> steps) override;
  uint64_t chain_launches() const override { return chains_run_.load(std::memory_order_relaxed); }

  // Waits for everything, and forgets what failed. For tests: others see a device that failed stay
  // failed.
  void forget_failures();
  // For who draws on the host.
  void wait_for_draws();
  // Drops what has not begun, and waits for what has; nothing is taken after that. At the end of
  // the process: kernels need what the process is made of, such as the code that oneDNN makes.
  void stop();

  // What was enqueued, in the order of the calls. Two entries of which neither is before the other
  // may run at once.
  struct Entry {
    std::string name;
    Moment at;
    Clock before;
  };
  // Begins a log, or ends it and gives it.
  void begin_log();
  std::vector<Entry> end_log();

 private:
  class Event;
  class Graph;
  // A stream. Lines are never taken away, so that references stay good.
  struct Line {
    Line(uint32_t number, Place place, std::unique_ptr<Queue> queue)
        : number(number), place(place), queue(std::move(queue)) {}
    const uint32_t number;
    const Place place;
    const std::unique_ptr<Queue> queue;
    Clock clock;  // guarded by mutex_
  };
  // What was enqueued, to be waited for.
  struct Ticket {
    Line* line;
    uint64_t position;
    Clock clock;  // what is done when that is
  };

  // What steps of a chain wrote, in their order.
  struct Written {
    const char* begin;
    size_t bytes;
    bool unread;
    bool meets(const Written& o) const {
      return begin < o.begin + o.bytes && o.begin < begin + bytes;
    }
  };
  struct Chain {
    bool unread = false;  // what is written next
    std::vector<Written> written;
  };
  std::atomic<uint64_t> chains_run_{0};
  // Of this thread, null outside of chains.
  static thread_local Chain* chain_;

  // What this thread records on the stream, or null.
  static Graph* recording_on(Stream stream);

  void check_process() const;
  void check_place(Place place) const;
  Line& line_of(Stream stream) ARGOSY_EXCLUDES(mutex_);
  // What the log, the profiler and errors call a job. The name lives as long as the process.
  struct What {
    const char* name;
    profile::Kind kind;
    bool draws = false;  // from the CPU's generators
  };
  // Runs the job in stream order. Throws what is wrong with the uses, and what failed before.
  Ticket enqueue(Stream stream, What what, const std::vector<Use>& uses, Queue::Job job);
  // The same for a copy whose other end is pinned.
  void enqueue_pinned(Stream stream, What what, const Use& use, const void* pinned, Queue::Job job);
  Ticket push(Line& line, Queue::Job job) ARGOSY_REQUIRES(mutex_);
  // The job, after all that draws and was enqueued before.
  Queue::Job in_turn(Queue::Job job) const ARGOSY_REQUIRES(mutex_);
  void wait(const Ticket& ticket) ARGOSY_EXCLUDES(mutex_);
  void run(Place place, What what, const Queue::Job& job) noexcept;
  void fail(Place place, std::string text) ARGOSY_EXCLUDES(mutex_);
  std::string failure_of(Place place) ARGOSY_EXCLUDES(mutex_);  // empty: none
  void throw_failure(Place place) ARGOSY_REQUIRES(mutex_);

  static thread_local Ref<DeviceGraph> recording_;
  const Options options_;
  const int process_;
  std::atomic<bool> stopped_{false};
  // Not held while anything waits for a queue.
  Mutex mutex_;
  std::deque<Line> lines_ ARGOSY_GUARDED_BY(mutex_);  // first the stream 0 of each place
  std::vector<uint32_t> dropped_ ARGOSY_GUARDED_BY(mutex_);
  Ledger ledger_ ARGOSY_GUARDED_BY(mutex_);
  Clock host_ ARGOSY_GUARDED_BY(mutex_);  // what some thread of the host has waited for
  std::vector<std::string> failures_ ARGOSY_GUARDED_BY(mutex_);  // of each place; empty: none
  PinnedMemory pinned_ ARGOSY_GUARDED_BY(mutex_);
  std::optional<std::vector<Entry>> log_ ARGOSY_GUARDED_BY(mutex_);
  const Queue* draws_on_ ARGOSY_GUARDED_BY(mutex_) = nullptr;  // where the last job that draws is
  uint64_t last_draw_ ARGOSY_GUARDED_BY(mutex_) = 0;           // its position
  Mutex memory_mutex_;  // taken last, for opening and closing blocks; addresses need no lock
  Mirror mirror_;
};

// Makes it the process's accelerator. Once in a process; other options later are refused.
ARGOSY_API void start(const Options& options);
// As ARGOSY_STREAMED_DEVICES asks for.
ARGOSY_API void start_by_flags();
ARGOSY_API void forget_failures();
ARGOSY_API void begin_log();
ARGOSY_API std::vector<StreamedDevice::Entry> end_log();  // empty where there is no device
// Before the process begins to end (bindings); at its end at the latest.
ARGOSY_API void stop();

}  // namespace argosy::streamed

#include "argosy/streamed/device.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <span>

#include "argosy/base/draw_order.h"
#include "argosy/base/error.h"
#include "argosy/base/flags.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/host_work.h"
#include "argosy/streamed/call.h"

namespace argosy::streamed {
namespace {

uintptr_t address(const void* p) {
  return reinterpret_cast<uintptr_t>(p);
}

std::unique_ptr<Queue> make_queue(uint32_t number, const Options& options) {
  return std::make_unique<Queue>("streamed " + std::to_string(number), options.most_delay_us);
}

}  // namespace

class StreamedDevice::Event final : public DeviceEvent {
 public:
  Event(StreamedDevice& device, Stream stream) : device_(device), stream_(stream) {}

  Stream stream() const override { return stream_; }
  bool done() override { return ticket.line->queue->done(ticket.position); }
  void wait() override {
    device_.check_process();
    device_.wait(ticket);
  }
  double milliseconds_to(DeviceEvent& later) override {
    auto& end = static_cast<Event&>(later);
    ARGOSY_CHECK(done() && end.done(), runtime)
        << "[Event.elapsed_time] work before one of the two events is not done. Do this: call "
           "synchronize() on both first.";
    return static_cast<double>(end.nanoseconds - nanoseconds) * 1e-6;
  }

  Ticket ticket;  // set before anybody else sees the event
  // Written by the queue, read when it is done.
  int64_t nanoseconds = 0;
  std::string failure;  // of the place, by then

 private:
  StreamedDevice& device_;
  const Stream stream_;
};

// What was enqueued between begin_graph and end_graph.
class StreamedDevice::Graph final : public DeviceGraph {
 public:
  Graph(StreamedDevice& device, Stream stream) : stream(stream), device_(device) {}
  void add(What what, const std::vector<Use>& uses, Queue::Job job) {
    calls_.push_back({what, uses, std::move(job)});
  }
  void launch() override {
    for (const Recorded& c : calls_) device_.enqueue(stream, c.what, c.uses, c.job);
  }

  const Stream stream;
  bool failed = false;  // something in it cannot be recorded

 private:
  struct Recorded {
    What what;
    std::vector<Use> uses;
    Queue::Job job;
  };
  StreamedDevice& device_;
  std::vector<Recorded> calls_;
};

StreamedDevice::StreamedDevice(const Options& options)
    : options_(options),
      process_(getpid()),
      failures_(static_cast<size_t>(options.count)),
      mirror_(options.bytes) {
  for (int i = 0; i < options.count; ++i) {
    const auto number = static_cast<uint32_t>(i);
    const Place place{kAccelerator, static_cast<int16_t>(i)};
    lines_.emplace_back(number, place, make_queue(number, options));
  }
}

// --- memory ---

void* StreamedDevice::allocate(Stream stream, size_t bytes) {
  check_process();
  Line& line = line_of(stream);
  MutexLock lock(mutex_);
  char* face;
  {
    MutexLock memory_lock(memory_mutex_);
    face = mirror_.open(bytes);
  }
  if (face) ledger_.open(address(face), bytes, {line.number, line.queue->pushed()});
  return face;
}

void StreamedDevice::release(Place place, void* block, size_t bytes) noexcept {
  // The child of a fork has no queues, and the end of the process no memory to save.
  if (stopped_ || getpid() != process_) return;
  std::string wrong;
  {
    MutexLock lock(mutex_);
    Line& line = lines_[ledger_.stream_of(address(block))];
    line.clock.add(host_);
    Ledger::Closing closing = ledger_.close(address(block), line.clock);
    wrong = std::move(closing.wrong);
    std::vector<std::pair<Queue*, uint64_t>> wait_for;
    for (Moment m : closing.wait_for)
      wait_for.emplace_back(lines_[m.stream].queue.get(), m.position);
    push(line, [this, block, bytes, wait_for = std::move(wait_for)] {
      for (auto [queue, position] : wait_for) queue->wait(position);
      MutexLock memory_lock(memory_mutex_);
      mirror_.close(static_cast<char*>(block), bytes);
    });
  }
  if (!wrong.empty()) fail(place, std::move(wrong));
}

void StreamedDevice::record_use(Stream stream, const void* at) {
  check_process();
  Line& line = line_of(stream);
  MutexLock lock(mutex_);
  ledger_.record_use(address(at), line.number);
}

std::vector<Device::Holder> StreamedDevice::holders(Place place) {
  std::map<std::string, Holder> by_name;
  {
    MutexLock lock(mutex_);
    for (const Ledger::Held& block : ledger_.held()) {
      if (lines_[block.stream].place != place) continue;
      Holder& holder = by_name[block.writer];
      holder.name = block.writer;
      holder.bytes += block.bytes;
      ++holder.blocks;
    }
  }
  std::vector<Holder> all;
  for (auto& [name, holder] : by_name) all.push_back(std::move(holder));
  std::ranges::sort(all, std::greater(), &Holder::bytes);
  return all;
}

void* StreamedDevice::allocate_pinned(size_t bytes) {
  check_process();
  MutexLock lock(mutex_);
  return pinned_.allocate(bytes);
}

void StreamedDevice::release_pinned(void* block) noexcept {
  if (stopped_ || getpid() != process_) return;
  MutexLock lock(mutex_);
  std::vector<std::pair<Queue*, uint64_t>> copies;
  uint32_t last = 0;
  for (Moment m : pinned_.close(block)) {
    copies.emplace_back(lines_[m.stream].queue.get(), m.position);
    last = m.stream;
  }
  if (copies.empty()) return PinnedMemory::free_block(block);
  push(lines_[last], [block, copies = std::move(copies)] {
    for (auto [queue, position] : copies) queue->wait(position);
    PinnedMemory::free_block(block);
  });
}

void StreamedDevice::copy_from_host(Stream stream, void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  auto staged = std::make_shared<std::vector<char>>(bytes);
  std::memcpy(staged->data(), from, bytes);
  enqueue(
      stream, {"copy from host", profile::Kind::copy}, {{address(to), address(to) + bytes, true}},
      [staged, alias = mirror_.alias(to)] { std::memcpy(alias, staged->data(), staged->size()); });
}

void StreamedDevice::copy_to_host(Stream stream, void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  wait(enqueue(stream, {"copy to host", profile::Kind::copy},
               {{address(from), address(from) + bytes, false}},
               [to, bytes, alias = mirror_.alias(from)] { std::memcpy(to, alias, bytes); }));
}

void StreamedDevice::enqueue_pinned(Stream stream, What what, const Use& use, const void* pinned,
                                    Queue::Job job) {
  const Ticket ticket = enqueue(stream, what, {use}, std::move(job));
  MutexLock lock(mutex_);
  pinned_.note(pinned, {ticket.line->number, ticket.position});
}

void StreamedDevice::copy_from_pinned(Stream stream, void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  auto copy = [from, bytes, alias = mirror_.alias(to), was = fingerprint(from, bytes)] {
    std::memcpy(alias, from, bytes);
    ARGOSY_CHECK(fingerprint(alias, bytes) == was, device)
        << "the host wrote to pinned memory before its copy to the device was done. Do this: wait "
           "for the copy (stream.synchronize), or copy with blocking=True.";
  };
  enqueue_pinned(stream, {"copy from pinned memory", profile::Kind::copy},
                 {address(to), address(to) + bytes, true}, from, std::move(copy));
}

void StreamedDevice::copy_to_pinned(Stream stream, void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  auto copy = [to, bytes, alias = mirror_.alias(from)] { std::memcpy(to, alias, bytes); };
  enqueue_pinned(stream, {"copy to pinned memory", profile::Kind::copy},
                 {address(from), address(from) + bytes, false}, to, std::move(copy));
}

void StreamedDevice::copy_between(Stream stream, Place to_place, void* to, const void* from,
                                  size_t bytes) {
  check_place(to_place);
  if (!bytes) return;
  enqueue(stream, {"copy between devices", profile::Kind::copy},
          {{address(from), address(from) + bytes, false}, {address(to), address(to) + bytes, true}},
          [bytes, target = mirror_.alias(to), source = mirror_.alias(from)] {
            std::memcpy(target, source, bytes);
          });
}

// --- streams ---

Stream StreamedDevice::make_stream(Place place) {
  check_process();
  check_place(place);
  MutexLock lock(mutex_);
  for (size_t i = 0; i < dropped_.size(); ++i) {
    const uint32_t number = dropped_[i];
    if (lines_[number].place != place) continue;
    dropped_.erase(dropped_.begin() + static_cast<ptrdiff_t>(i));
    return {place, number};
  }
  const auto number = static_cast<uint32_t>(lines_.size());
  lines_.emplace_back(number, place, make_queue(number, options_));
  return {place, number};
}

void StreamedDevice::drop_stream(Stream stream) noexcept {
  if (stopped_ || stream.id < static_cast<uint32_t>(options_.count)) return;
  MutexLock lock(mutex_);
  dropped_.push_back(stream.id);
}

Ref<DeviceEvent> StreamedDevice::record(Stream stream) {
  check_process();
  Line& line = line_of(stream);
  auto event = make_ref<Event>(*this, stream);
  MutexLock lock(mutex_);
  throw_failure(line.place);
  line.clock.add(host_);
  event->ticket = push(line, [this, event, place = line.place] {
    event->nanoseconds = std::chrono::steady_clock::now().time_since_epoch().count();
    event->failure = failure_of(place);
  });
  return Ref<DeviceEvent>::share(event.get());
}

void StreamedDevice::wait(Stream stream, DeviceEvent& event) {
  check_process();
  Line& line = line_of(stream);
  const Ref<Event> awaited = Ref<Event>::share(static_cast<Event*>(&event));
  MutexLock lock(mutex_);
  throw_failure(line.place);
  push(line, [this, awaited, place = line.place] {
    {
      profile::Scope scope("wait for event", profile::Kind::wait);
      awaited->ticket.line->queue->wait(awaited->ticket.position);
    }
    // What another device did not do, this one must not go on with.
    if (!awaited->failure.empty()) fail(place, awaited->failure);
  });
  line.clock.add(awaited->ticket.clock);
}

bool StreamedDevice::done(Stream stream) {
  const Queue& queue = *line_of(stream).queue;
  return queue.done(queue.pushed());
}

void StreamedDevice::synchronize(Stream stream) {
  check_process();
  Line& line = line_of(stream);
  Ticket all{&line, line.queue->pushed(), {}};
  {
    MutexLock lock(mutex_);
    all.position = line.queue->pushed();
    all.clock = line.clock;
  }
  wait(all);
}

void StreamedDevice::synchronize(Place place) {
  check_process();
  check_place(place);
  std::vector<Ticket> all;
  {
    MutexLock lock(mutex_);
    for (Line& line : lines_)
      if (line.place == place) all.push_back({&line, line.queue->pushed(), line.clock});
  }
  for (const Ticket& ticket : all) wait(ticket);
}

// --- kernels ---

namespace {

bool is_array(const Tensor& t) {
  return t.defined() && t.layout() == Layout::tensor_array;
}

}  // namespace

void StreamedDevice::launch(const op::KernelDef& kernel, op::KernelFrame& frame, const void* attrs,
                            Place place) {
  // What exchanges data with other processes is no work for a queue, which others wait for.
  if (frame.op.effect == op::Effect::communicates)
    return op::run_on_host(kernel, frame, attrs, place);
  ARGOSY_CHECK(
      !std::ranges::any_of(frame.in.flat(), is_array) && !std::ranges::any_of(frame.out, is_array),
      not_implemented)
      << '[' << frame.op.name << "] does not run on " << place
      << ": it keeps tensors in an array, which this device cannot. Do this: describe it by "
         ".on_host(), or move its operands to the CPU with .cpu().";
  if (chain_)
    for (const Tensor& t : frame.out)
      if (t.defined() && t.has_data())
        chain_->written.push_back({static_cast<const char*>(t.raw()), t.nbytes(), chain_->unread});
  auto call = std::make_shared<Call>(kernel, frame, attrs, mirror_);
  if (Graph* graph = recording_on(device::current(place));
      graph && (call->waits() || call->draws())) {
    graph->failed = true;
    return;
  }
  const Ticket ticket =
      enqueue(device::current(place), {call->name(), profile::Kind::kernel, call->draws()},
              call->uses(), [call] { call->run(); });
  if (!call->waits()) return;
  {
    device::HostWait counted;
    wait(ticket);
  }
  for (size_t i = 0; i < frame.out.size(); ++i)
    if (const Tensor& result = call->result(i); result.defined())
      frame.out[i] = op::to_place(result, place);
}

thread_local StreamedDevice::Chain* StreamedDevice::chain_ = nullptr;

void StreamedDevice::chain(Place place, FunctionRef<void(bool& unread)> steps) {
  Chain chain;
  struct Set {
    explicit Set(Chain* chain) { chain_ = chain; }
    ~Set() { chain_ = nullptr; }
  } set(&chain);
  steps(chain.unread);
  chains_run_.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < chain.written.size(); ++i) {
    const Written& w = chain.written[i];
    const auto later = std::span(chain.written).subspan(i + 1);
    if (!w.unread || std::ranges::any_of(later, [&](const Written& o) { return o.meets(w); }))
      continue;
    const auto at = reinterpret_cast<uintptr_t>(w.begin);
    enqueue(device::current(place), {"spoil", profile::Kind::kernel}, {{at, at + w.bytes, true}},
            [this, w] { std::memset(mirror_.alias(w.begin), 0xff, w.bytes); });
  }
}

void StreamedDevice::copy(const Tensor& dst, const Tensor& src, Place place) {
  Descriptor to(dst, mirror_), from(src, mirror_);
  std::vector<Use> uses;
  from.add_uses(false, uses);
  to.add_uses(true, uses);
  enqueue(device::current(place), {"copy", profile::Kind::copy}, uses,
          [to, from] { op::copy_into(to.tensor(), from.tensor()); });
}

// --- queues ---

void StreamedDevice::check_process() const {
  ARGOSY_CHECK(getpid() == process_, device)
      << "[streamed] a forked process cannot use its parent's device. Do this: use the CPU there, "
         "or start processes by 'spawn'.";
  ARGOSY_CHECK(!stopped_, device)
      << "[streamed] the process ends, and its devices with it. Do this: finish before.";
}

void StreamedDevice::check_place(Place place) const {
  ARGOSY_CHECK(place.index >= 0 && place.index < options_.count, device)
      << "[streamed] there is no " << place << ": expected an index below " << options_.count
      << ". Do this: name one that device.get_available_custom_device() lists.";
}

StreamedDevice::Line& StreamedDevice::line_of(Stream stream) {
  check_place(stream.place);
  MutexLock lock(mutex_);
  const auto number = stream.id ? stream.id : static_cast<uint32_t>(stream.place.index);
  ARGOSY_CHECK(number < lines_.size() && lines_[number].place == stream.place, device)
      << "[streamed] there is no stream " << stream.id << " on " << stream.place << '.';
  return lines_[number];
}

StreamedDevice::Ticket StreamedDevice::push(Line& line, Queue::Job job) {
  const uint64_t position = line.queue->push(std::move(job));
  line.clock.add(Moment{line.number, position});
  return {&line, position, line.clock};
}

thread_local Ref<DeviceGraph> StreamedDevice::recording_;

StreamedDevice::Graph* StreamedDevice::recording_on(Stream stream) {
  auto* graph = static_cast<Graph*>(recording_.get());
  return graph && graph->stream == stream ? graph : nullptr;
}

bool StreamedDevice::begin_graph(Stream stream) {
  line_of(stream);  // throws if there is none
  recording_ = Ref<DeviceGraph>::adopt(new Graph(*this, stream));
  return true;
}

Ref<DeviceGraph> StreamedDevice::end_graph(Stream) noexcept {
  Ref<DeviceGraph> graph = std::move(recording_);
  recording_ = nullptr;
  return static_cast<Graph*>(graph.get())->failed ? Ref<DeviceGraph>() : graph;
}

StreamedDevice::Ticket StreamedDevice::enqueue(Stream stream, What what,
                                               const std::vector<Use>& uses, Queue::Job job) {
  check_process();
  if (Graph* graph = recording_on(stream)) {
    graph->add(what, uses, std::move(job));
    return {&line_of(stream), 0, {}};
  }
  Line& line = line_of(stream);
  MutexLock lock(mutex_);
  throw_failure(line.place);
  line.clock.add(host_);
  const Moment at{line.number, line.queue->pushed() + 1};
  const std::string wrong = ledger_.use({what.name, at, line.clock}, uses);
  if (!wrong.empty()) throw Error(ErrorKind::device, wrong);
  if (log_) log_->push_back({what.name, at, line.clock});
  if (what.draws) {
    job = in_turn(std::move(job));
    draws_on_ = line.queue.get();
    last_draw_ = at.position;
  }
  return push(line,
              [this, place = line.place, what, job = std::move(job)] { run(place, what, job); });
}

Queue::Job StreamedDevice::in_turn(Queue::Job job) const {
  return [before = draws_on_, position = last_draw_, job = std::move(job)] {
    if (before) before->wait(position);
    job();
  };
}

void StreamedDevice::wait_for_draws() {
  if (stopped_ || getpid() != process_) return;
  const Queue* queue;
  uint64_t position;
  {
    MutexLock lock(mutex_);
    for (const Line& line : lines_)
      if (line.queue->is_here()) return;
    queue = draws_on_;
    position = last_draw_;
  }
  if (!queue || queue->done(position)) return;
  device::HostWait counted;
  queue->wait(position);
}

void StreamedDevice::run(Place place, What what, const Queue::Job& job) noexcept {
  {
    MutexLock lock(mutex_);
    if (stopped_ || !failures_[static_cast<size_t>(place.index)].empty()) return;
  }
  try {
    profile::Scope scope(what.name, what.kind);
    job();
  } catch (const std::exception& e) {
    Message m;
    m << '[' << what.name << "] failed on " << place << ", before this call: " << e.what();
    fail(place, m.str());
  }
}

void StreamedDevice::fail(Place place, std::string text) {
  MutexLock lock(mutex_);
  std::string& failure = failures_[static_cast<size_t>(place.index)];
  if (failure.empty()) failure = std::move(text);
}

std::string StreamedDevice::failure_of(Place place) {
  MutexLock lock(mutex_);
  return failures_[static_cast<size_t>(place.index)];
}

void StreamedDevice::throw_failure(Place place) {
  const std::string& failure = failures_[static_cast<size_t>(place.index)];
  if (!failure.empty()) throw Error(ErrorKind::device, failure);
}

void StreamedDevice::wait(const Ticket& ticket) {
  ticket.line->queue->wait(ticket.position);
  check_process();  // it may have been dropped
  MutexLock lock(mutex_);
  host_.add(ticket.clock);
  throw_failure(ticket.line->place);
}

void StreamedDevice::forget_failures() {
  check_process();
  std::vector<std::pair<const Queue*, uint64_t>> all;
  {
    MutexLock lock(mutex_);
    for (Line& line : lines_) all.emplace_back(line.queue.get(), line.queue->pushed());
  }
  for (auto [queue, position] : all) queue->wait(position);
  MutexLock lock(mutex_);
  for (std::string& failure : failures_) failure.clear();
}

void StreamedDevice::begin_log() {
  MutexLock lock(mutex_);
  log_.emplace();
}

std::vector<StreamedDevice::Entry> StreamedDevice::end_log() {
  MutexLock lock(mutex_);
  return std::exchange(log_, std::nullopt).value_or(std::vector<Entry>());
}

void StreamedDevice::stop() {
  if (stopped_.exchange(true) || getpid() != process_) return;
  std::vector<std::pair<const Queue*, uint64_t>> all;
  {
    MutexLock lock(mutex_);
    for (Line& line : lines_) all.emplace_back(line.queue.get(), line.queue->pushed());
  }
  for (auto [queue, position] : all) queue->wait(position);
}

// --- registration ---

namespace {

Mutex start_mutex;
StreamedDevice* started = nullptr;  // set once, under start_mutex

}  // namespace

void start(const Options& options) {
  MutexLock lock(start_mutex);
  ARGOSY_CHECK(options.count >= 1 && options.count <= 64, invalid_argument)
      << "[streamed] expected 1 to 64 devices, got " << options.count << '.';
  if (!started) {
    auto device = std::make_unique<StreamedDevice>(options);
    device::add(device.get());
    op::set_launcher(device.get());
    started = device.release();
    random::before_draw.store([] { started->wait_for_draws(); });
    std::atexit(stop);
    return;
  }
  ARGOSY_CHECK(options == started->options(), already_exists)
      << "[streamed] the process has " << started->count()
      << " streamed devices with other options already. Do this: ask for them once.";
}

void stop() {
  if (started) started->stop();
}

void start_by_flags() {
  const int64_t count = flags::find("ARGOSY_STREAMED_DEVICES").integer();
  if (count <= 0) return;
  start({.count = static_cast<int>(count),
         .most_delay_us = flags::find("ARGOSY_STREAMED_DELAY_US").integer()});
}

void forget_failures() {
  if (started) started->forget_failures();
}

void begin_log() {
  if (started) started->begin_log();
}

std::vector<StreamedDevice::Entry> end_log() {
  return started ? started->end_log() : std::vector<StreamedDevice::Entry>();
}

}  // namespace argosy::streamed

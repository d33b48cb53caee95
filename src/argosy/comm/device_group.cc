#include "argosy/comm/device_group.h"

#include <algorithm>

#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"

namespace argosy::comm {
namespace {

DeviceLink::Op op_of(Reduce op) {
  switch (op) {
    case Reduce::prod:
      return DeviceLink::Op::prod;
    case Reduce::max:
      return DeviceLink::Op::max;
    case Reduce::min:
      return DeviceLink::Op::min;
    case Reduce::avg:
      return DeviceLink::Op::avg;
    default:
      return DeviceLink::Op::sum;
  }
}

bool is_reduction(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
}

// What the thread enqueues on the place goes to the stream meanwhile.
class On {
 public:
  explicit On(Stream stream) : before_(device::current(stream.place)) {
    device::set_current(stream);
  }
  ~On() { device::set_current(before_); }
  On(const On&) = delete;

 private:
  const Stream before_;
};

// Calls of the link between begin() and end(). What fails in between is ended, too: the thread's
// next calls would else be taken for more of it.
class Together {
 public:
  explicit Together(DeviceLink& link) : link_(link) { link_.begin(); }
  ~Together() {
    if (ended_) return;
    try {
      link_.end();
    } catch (const Error&) {
      // What failed first is being raised.
    }
  }
  Together(const Together&) = delete;
  void end() {
    ended_ = true;
    link_.end();
  }

 private:
  DeviceLink& link_;
  bool ended_ = false;
};

// Written by a call, and given to the tensor when that is enqueued, where it is not contiguous.
class Target {
 public:
  explicit Target(const Tensor& t)
      : t_(t), dense_(t.is_contiguous() ? t : Tensor::empty(t.shape(), t.dtype(), t.place())) {}
  void* raw() const { return dense_.raw(); }
  size_t bytes() const { return dense_.nbytes(); }
  const Tensor& dense() const { return dense_; }
  void finish() const {
    if (!dense_.is(t_) && t_.numel()) op::copy_into(t_, dense_);
  }

 private:
  const Tensor t_, dense_;
};

// Where one lies behind the other in memory: where the first is; else null.
char* in_a_row(const TensorList& list) {
  char* at = nullptr;
  for (const Tensor& t : list) {
    if (!t.is_contiguous() || (at && t.raw() != at)) return nullptr;
    at = static_cast<char*>(t.raw()) + t.nbytes();
  }
  return static_cast<char*>(list[0].raw());
}

TensorList flat(const std::vector<TensorList>& lists) {
  TensorList all;
  for (const TensorList& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// All of them in memory of their own.
Tensor room_for(const TensorList& list) {
  int64_t n = 0;
  for (const Tensor& t : list) n += t.numel();
  return Tensor::empty({n}, list[0].dtype(), list[0].place());
}

// The part of `whole` that is to become t, or is it.
Tensor part_of(const Tensor& whole, int64_t* at, const Tensor& t) {
  Tensor part = whole.view({t.numel()}, {1}, *at);
  *at += t.numel();
  return part.view(t.shape(), t.shape().contiguous_strides());
}

}  // namespace

DeviceGroup::DeviceGroup(Place place, std::unique_ptr<DeviceLink> link,
                         std::shared_ptr<Channel> channel, double seconds)
    : place_(place), link_(std::move(link)), channel_(std::move(channel)), seconds_(seconds) {}

DeviceGroup::~DeviceGroup() {
  close();
}

bool DeviceGroup::takes(Kind kind, DType dtype, Reduce op,
                        std::initializer_list<const TensorList*> lists) const {
  for (const TensorList* list : lists)
    for (const Tensor& t : *list)
      if (!t.defined() || t.symbolic() || t.place() != place_) return false;
  const DeviceLinker* linker = device::linker(place_.kind);
  return !is_reduction(kind) || linker->reduces(dtype, op_of(op));
}

void DeviceGroup::agree(const DeviceCall& call, double seconds) const {
  Job job;
  job.seconds = seconds;
  job.header = call.header;
  job.shown = &call.header;
  job.header.op = Reduce::none;
  job.header.root = -1;
  const Kind kind = call.header.kind;
  if (kind != Kind::alltoall && kind != Kind::all_gather_v) {
    job.header.kind = Kind::barrier;
    return channel_->run(job);
  }
  // Each tells each how much it sends, and compares that with what it has room for.
  const auto n = static_cast<size_t>(channel_->size());
  std::vector<uint64_t> sent(n), coming(n);
  for (size_t r = 0; r < n; ++r)
    for (const Tensor& t : call.send[kind == Kind::alltoall ? r : 0]) sent[r] += t.nbytes();
  job.header.kind = Kind::alltoall;
  job.header.dtype = DType::uint64;
  job.header.count = n;
  for (size_t r = 0; r < n; ++r) {
    job.send.emplace_back().add(&sent[r], sizeof(sent[r]));
    job.receive.emplace_back().add(&coming[r], sizeof(coming[r]));
  }
  channel_->run(job);
  for (size_t r = 0; r < n; ++r) {
    uint64_t room = 0;
    for (const Tensor& t : call.receive[r]) room += t.nbytes();
    if (room != coming[r])
      channel_->fail(Failure::disagreement,
                     text_of_sizes(*channel_, call.header, static_cast<int>(r), coming[r],
                                   channel_->rank(), room));
  }
}

Ref<DeviceEvent> DeviceGroup::enqueue(const DeviceCall& call) {
  const On on(link_->stream());
  Device& device = device::of(place_);
  if (call.after) device.wait(link_->stream(), *call.after);
  put(call);
  Ref<DeviceEvent> event = device.record(link_->stream());
  MutexLock lock(mutex_);
  while (!pending_.empty() && pending_.front().event->done()) pending_.pop_front();
  const auto now = Clock::now();
  pending_.push_back({event, call.header, now, now + limit_of(seconds_)});
  if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
  changed_.notify_all();
  return event;
}

void DeviceGroup::put(const DeviceCall& call) {
  switch (call.header.kind) {
    case Kind::barrier:
    case Kind::new_group:
      return;
    case Kind::all_reduce:
    case Kind::reduce:
    case Kind::broadcast:
      return reduce_all(call);
    case Kind::all_gather:
      return gather_all(call);
    case Kind::all_gather_v:
      return gather_unequal(call);
    case Kind::reduce_scatter:
      return reduce_scatter(call);
    default:
      return exchange(call);
  }
}

// all_reduce, reduce and broadcast: one call for each tensor of the list.
void DeviceGroup::reduce_all(const DeviceCall& call) {
  const Header& h = call.header;
  const TensorList& from = call.send.empty() ? call.receive[0] : call.send[0];
  const TensorList to = call.receive.empty() ? TensorList() : call.receive[0];
  std::vector<Target> targets;
  TensorList sources;
  for (size_t i = 0; i < from.size(); ++i) {
    if (i < to.size()) targets.emplace_back(to[i]);
    sources.push_back(op::contiguous(from[i]));
  }
  Together together(*link_);
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i].numel()) continue;
    // Who gets nothing writes nothing: NCCL asks for an address all the same.
    void* target = i < targets.size() ? targets[i].raw() : sources[i].raw();
    if (h.kind == Kind::all_reduce)
      link_->all_reduce(sources[i].raw(), target, from[i].numel(), h.dtype, op_of(h.op));
    else if (h.kind == Kind::reduce)
      link_->reduce(sources[i].raw(), target, from[i].numel(), h.dtype, op_of(h.op), h.root);
    else
      link_->broadcast(sources[i].raw(), target, from[i].nbytes(), h.root);
  }
  together.end();
  for (const Target& t : targets) t.finish();
}

void DeviceGroup::gather_all(const DeviceCall& call) {
  const Tensor from = op::contiguous(call.send[0][0]);
  if (!from.numel()) return;
  const TensorList to = flat(call.receive);
  char* row = in_a_row(to);
  const Tensor room = row ? Tensor() : room_for(to);
  link_->all_gather(from.raw(), row ? row : room.raw(), from.nbytes());
  int64_t at = 0;
  if (!row)
    for (const Tensor& t : to) op::copy_into(t, part_of(room, &at, t));
}

void DeviceGroup::gather_unequal(const DeviceCall& call) {
  const Tensor from = op::contiguous(call.send[0][0]);
  std::vector<Target> targets;
  for (const TensorList& list : call.receive) targets.emplace_back(list[0]);
  Together together(*link_);
  for (size_t r = 0; r < targets.size(); ++r) {
    const bool own = static_cast<int>(r) == channel_->rank();
    if (targets[r].bytes())
      link_->broadcast(own ? from.raw() : targets[r].raw(), targets[r].raw(), targets[r].bytes(),
                       static_cast<int>(r));
  }
  together.end();
  for (const Target& t : targets) t.finish();
}

void DeviceGroup::reduce_scatter(const DeviceCall& call) {
  const Target to(call.receive[0][0]);
  if (!to.bytes()) return;
  const TensorList from = flat(call.send);
  const char* row = in_a_row(from);
  const Tensor room = row ? Tensor() : room_for(from);
  int64_t at = 0;
  if (!row)
    for (const Tensor& t : from) op::copy_into(part_of(room, &at, t), t);
  link_->reduce_scatter(row ? row : room.raw(), to.raw(), to.dense().numel(), call.header.dtype,
                        op_of(call.header.op));
  to.finish();
}

// gather, scatter and alltoall: each rank sends some of the others something, what it has for
// itself is a copy.
void DeviceGroup::exchange(const DeviceCall& call) {
  const Header& h = call.header;
  const int me = channel_->rank(), n = channel_->size();
  const bool root = h.root == me;
  const auto rank_of = [](int r) { return static_cast<size_t>(r); };
  // What goes to rank r, and what comes of it; null: nothing.
  const auto to = [&](int r) -> const Tensor* {
    if (h.kind == Kind::alltoall) return &call.send[rank_of(r)][0];
    if (h.kind == Kind::gather) return r == h.root ? call.send[0].data() : nullptr;
    return root ? &call.send[rank_of(r)][0] : nullptr;
  };
  const auto of = [&](int r) -> const Tensor* {
    if (h.kind == Kind::alltoall) return &call.receive[rank_of(r)][0];
    if (h.kind == Kind::gather) return root ? &call.receive[rank_of(r)][0] : nullptr;
    return r == h.root ? call.receive[0].data() : nullptr;
  };
  TensorList sources;
  std::vector<std::pair<int, Target>> targets;
  for (int r = 0; r < n; ++r) {
    const Tensor* out = r == me ? nullptr : to(r);
    sources.push_back(out ? op::contiguous(*out) : Tensor());
    if (const Tensor* in = r == me ? nullptr : of(r)) targets.emplace_back(r, Target(*in));
  }
  if (const Tensor* out = to(me), *in = of(me); out && in && in->numel()) op::copy_into(*in, *out);
  Together together(*link_);
  for (int r = 0; r < n; ++r)
    if (const Tensor& t = sources[rank_of(r)]; t.defined() && t.numel())
      link_->send(t.raw(), t.nbytes(), r);
  for (const auto& [r, target] : targets)
    if (target.bytes()) link_->recv(target.raw(), target.bytes(), r);
  together.end();
  for (const auto& [r, target] : targets) target.finish();
}

bool DeviceGroup::all_done() {
  while (!pending_.empty() && pending_.front().event->done()) pending_.pop_front();
  return pending_.empty();
}

std::optional<std::pair<Failure, std::string>> DeviceGroup::wrong(const Pending& oldest,
                                                                  bool due) const {
  const auto text = [&](Failure failure, const std::string& what) {
    Message m;
    m << '[' << name_of(oldest.header.kind) << "] collective " << oldest.header.sequence
      << " of group " << channel_->number() << ", " << describe(oldest.header) << ", " << what
      << remedy(failure);
    return std::pair(failure, m.str());
  };
  if (const std::string why = link_->failure(); !why.empty())
    return text(Failure::lost, "failed between devices: " + why + '.');
  if (Clock::now() > oldest.until) {
    Message m;
    m << "has not ended on " << place_ << " within " << seconds_ << " s.";
    return text(Failure::timeout, m.str());
  }
  // Who has done its part may end before others have done theirs.
  due = due && Clock::now() > oldest.since + std::chrono::seconds(2);
  for (int r = 0; due && r < channel_->size(); ++r)
    if (r != channel_->rank() && channel_->gone(r)) {
      Message m;
      m << "is under way on " << place_ << ", and rank " << channel_->world_rank(r)
        << " has ended.";
      return text(Failure::lost, m.str());
    }
  return std::nullopt;
}

void DeviceGroup::watch() {
  constexpr auto kTurn = std::chrono::milliseconds(20);
  for (uint32_t turn = 1;; ++turn) {
    Pending oldest;
    {
      WaitLock lock(mutex_);
      try {
        while (all_done()) {
          if (closing_) return;
          changed_.wait_for(lock, std::chrono::seconds(1));
        }
      } catch (const Error&) {  // the device has failed: whoever uses it is told
        pending_.clear();
        continue;
      }
      oldest = pending_.front();
    }
    // Which rank ended first is the channel's to say: it has a moment to.
    const auto failed = channel_->failed() ? std::optional(std::pair(Failure::lost, std::string()))
                                           : wrong(oldest, turn % 25 == 0);
    if (failed) {
      link_->abort();
      if (!failed->second.empty()) channel_->post(failed->first, failed->second);
      MutexLock lock(mutex_);
      pending_.clear();
      continue;
    }
    std::this_thread::sleep_for(kTurn);
  }
}

void DeviceGroup::close() {
  std::thread watcher;
  {
    MutexLock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
    watcher.swap(watcher_);
  }
  if (watcher.joinable()) watcher.join();
  link_ = nullptr;
}

}  // namespace argosy::comm

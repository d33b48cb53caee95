#include "argosy/comm/process_group.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "argosy/base/mutex.h"
#include "argosy/base/profile.h"
#include "argosy/comm/board.h"
#include "argosy/comm/combine.h"
#include "argosy/comm/exchange.h"
#include "argosy/comm/recorder.h"
#include "argosy/comm/short_turns.h"
#include "argosy/comm/staging.h"
#include "argosy/op/dispatch.h"

namespace argosy::comm {

namespace {

void check_tensor(Kind kind, const Tensor& t, DType dtype) {
  ARGOSY_CHECK(t.defined() && t.layout() == Layout::strided && t.has_data() && !t.symbolic(), type)
      << '[' << name_of(kind)
      << "] expected dense tensors that hold values, got another one. Do this:"
      << " pass values of eager calls, to_dense() of sparse ones.";
  ARGOSY_CHECK(t.place().kind != DeviceKind::null, invalid_argument)
      << '[' << name_of(kind) << "] exchanges values: got " << t << " on " << t.place()
      << ", which has none. Do this: compute it on another device.";
  ARGOSY_CHECK(t.dtype() == dtype, type)
      << '[' << name_of(kind) << "] tensors of one call have one dtype: expected " << dtype
      << ", got " << t << ". Do this: cast them before.";
}

void check_numel(Kind kind, const Tensor& t, int64_t numel) {
  ARGOSY_CHECK(t.defined(), type) << '[' << name_of(kind) << "] expected a tensor, got none.";
  ARGOSY_CHECK(t.numel() == numel, invalid_argument)
      << '[' << name_of(kind) << "] expected a tensor of " << numel << " elements, got " << t
      << ". Do this: make all tensors of the call equally large.";
}

const Tensor& first_of(Kind kind, const TensorList& list) {
  ARGOSY_CHECK(!list.empty() && list[0].defined(), type)
      << '[' << name_of(kind) << "] expected at least one tensor, got none.";
  return list[0];
}

int64_t numel_of(const TensorList& list) {
  int64_t n = 0;
  for (const Tensor& t : list) n += t.numel();
  return n;
}

}  // namespace

// A call, with contiguous stand-ins on the host for tensors that are not so.
struct ProcessGroup::Task {
  Job job;
  Staging staging;
  TensorList keep;
  std::vector<std::pair<Tensor, Tensor>> late;  // target, the contiguous one that it becomes
  std::shared_ptr<Work> work = std::make_shared<Work>();
  int rank = 0;
  uint64_t number = 0;                   // of its record
  std::shared_ptr<DeviceGroup> devices;  // by which it goes; null: through the host
  DeviceCall there;                      // then: what it is

  Kind kind() const { return job.header.kind; }
  Pieces pieces(const TensorList& list, bool written) {
    Pieces out;
    for (const Tensor& t : list) {
      check_tensor(kind(), t, job.header.dtype);
      if (written) t.prepare_write();
      Tensor c = written ? staging.received(t) : staging.sent(t);
      if (!c.is_contiguous()) {
        c = written ? Tensor::empty(t.shape(), t.dtype()) : op::contiguous(t);
        if (written) late.emplace_back(t, c);
      }
      out.add(c.raw(), c.nbytes());
      keep.push_back(std::move(c));
      if (written) t.wrote(name_of(kind()));
    }
    return out;
  }
  // Of a call between devices.
  TensorList kept(const TensorList& list, bool written) {
    for (const Tensor& t : list) {
      check_tensor(kind(), t, job.header.dtype);
      if (!written) continue;
      t.prepare_write();
      t.wrote(name_of(kind()));
    }
    return list;
  }
  void send(const TensorList& list) {
    if (devices)
      there.send.push_back(kept(list, false));
    else
      job.send.push_back(pieces(list, false));
  }
  void receive(const TensorList& list) {
    if (devices)
      there.receive.push_back(kept(list, true));
    else
      job.receive.push_back(pieces(list, true));
  }
  // On the caller's thread, when all is there.
  void begin() {
    if (!devices) return staging.begin();
    const Place place = devices->place();
    Device& device = device::of(place);
    there.after = device.record(device::current(place));
    for (const std::vector<TensorList>* lists : {&there.send, &there.receive})
      for (const TensorList& list : *lists)
        for (const Tensor& t : list)
          if (t.numel()) device.record_use(devices->stream(), t.raw());
  }
  void count(int64_t n) { job.header.count = static_cast<uint64_t>(n); }
};

struct ProcessGroup::Transfers {
  explicit Transfers(std::shared_ptr<Channel> channel)
      : sent(static_cast<size_t>(channel->size())),
        received(static_cast<size_t>(channel->size())),
        exchange(std::move(channel)) {}
  Mutex mutex;
  std::vector<uint64_t> sent ARGOSY_GUARDED_BY(mutex);  // messages to each rank
  std::vector<uint64_t> received ARGOSY_GUARDED_BY(mutex);
  Exchange exchange;
};

ProcessGroup::ProcessGroup(std::shared_ptr<Channel> channel, std::shared_ptr<ProcessGroup> world,
                           double seconds)
    : channel_(std::move(channel)),
      world_(std::move(world)),
      seconds_(seconds),
      process_(getpid()),
      transfers_(std::make_unique<Transfers>(channel_)) {}

std::shared_ptr<ProcessGroup> ProcessGroup::world(std::shared_ptr<Engine> engine, double seconds) {
  return world(Board::world(std::move(engine)), seconds);
}

std::shared_ptr<ProcessGroup> ProcessGroup::world(std::shared_ptr<Channel> channel,
                                                  double seconds) {
  return std::shared_ptr<ProcessGroup>(new ProcessGroup(std::move(channel), nullptr, seconds));
}

std::shared_ptr<ProcessGroup> ProcessGroup::subgroup(const std::vector<int>& ranks, double seconds,
                                                     std::optional<Algorithm> algorithm) {
  ARGOSY_CHECK(!world_, invalid_argument)
      << "[new_group] expected the group of all ranks, got a part of it.";
  std::vector<bool> seen(static_cast<size_t>(size()));
  uint32_t hash = 2166136261u;
  for (int r : ranks) {
    ARGOSY_CHECK(r >= 0 && r < size() && !seen[static_cast<size_t>(r)], invalid_argument)
        << "[new_group] ranks: expected different ones below " << size() << ", got " << r
        << (r >= 0 && r < size() ? " twice." : ".") << " Do this: leave it out.";
    seen[static_cast<size_t>(r)] = true;
    hash = (hash ^ static_cast<uint32_t>(r)) * 16777619u;
  }
  ARGOSY_CHECK(!ranks.empty(), invalid_argument) << "[new_group] ranks: expected one at least.";
  auto t = task(Kind::new_group, DType::uint8, Reduce::none, -1);
  t->job.header.detail = hash;
  if (algorithm) t->job.header.root = static_cast<int32_t>(*algorithm);
  t->count(static_cast<int64_t>(ranks.size()));
  submit(std::move(t), Mode::sync);
  const uint32_t number = next_number_++;
  const auto me = std::find(ranks.begin(), ranks.end(), rank());
  const int place = me == ranks.end() ? -1 : static_cast<int>(me - ranks.begin());
  auto channel = channel_->subgroup(number, ranks, place, seconds, algorithm);
  if (!channel) return nullptr;
  return std::shared_ptr<ProcessGroup>(
      new ProcessGroup(std::move(channel), shared_from_this(), seconds));
}

ProcessGroup::~ProcessGroup() {
  close();
  if (process_ != getpid()) forget();
}

// In a forked child the threads are not there, and may have left locks behind.
void ProcessGroup::forget() {
  static_cast<void>(thread_.release());
  static_cast<void>(transfers_.release());
  if (devices_) static_cast<void>(new std::shared_ptr(devices_));
}

void ProcessGroup::close() {
  if (process_ != getpid()) return;  // the group is the parent's
  std::unique_ptr<std::thread> thread;
  bool over;
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    closed_ = true;
    over = (!busy_ || ended_) && queue_.empty();
    changed_.notify_all();
    thread.swap(thread_);
  }
  if (over && transfers_->exchange.idle_now()) {
    channel_->leave();
  } else {
    Message m;
    m << "[destroy_process_group] rank " << ranks()[static_cast<size_t>(rank())]
      << " has ended, or destroyed group " << number() << ", while calls of it were under way."
      << remedy(Failure::closed);
    channel_->post(Failure::closed, m.str());
  }
  if (thread) thread->join();
  transfers_->exchange.close();
  if (devices_) devices_->close();
}

void ProcessGroup::check_usable(Kind kind) const {
  if (process_ != getpid()) [[unlikely]]
    throw CommError(
        Failure::closed, Message()
                             << '[' << name_of(kind) << "] group " << number()
                             << " belongs to the process that forked this one. Do this: connect new"
                                " processes by distributed.spawn or `argosy launch`.");
}

void ProcessGroup::check_failed() const {
  try {
    channel_->check();
  } catch (const CommError& e) {  // this rank came late, and has a record too
    if (e.failure() != Failure::closed)
      dump_records(ranks()[static_cast<size_t>(rank())], e.what());
    throw;
  }
}

void ProcessGroup::check_root(Kind kind, int root) const {
  ARGOSY_CHECK(root >= 0 && root < size(), invalid_argument)
      << '[' << name_of(kind) << "] expected a rank of the group's " << size() << ", got " << root
      << ". Do this: pass one of its members.";
}

std::unique_ptr<ProcessGroup::Task> ProcessGroup::task(
    Kind kind, DType dtype, Reduce op, int root,
    std::initializer_list<const TensorList*> lists) const {
  check_usable(kind);
  ARGOSY_CHECK(reduces(op, dtype), type)
      << '[' << name_of(kind) << "] " << name_of(op) << " of " << dtype
      << " means nothing: expected another dtype or op (avg: floating and complex; max, min: real;"
         " sum, prod: all but float8). Do this: cast the tensor.";
  auto t = std::make_unique<Task>();
  t->job.header.group = number();
  t->job.header.kind = kind;
  t->job.header.dtype = dtype;
  t->job.header.op = op;
  t->job.header.root = root;
  t->job.seconds = seconds_;
  t->rank = ranks()[static_cast<size_t>(rank())];
  if (devices_ && lists.size() && devices_->takes(kind, dtype, op, lists)) {
    t->devices = devices_;
    t->job.header.way = kBetweenDevices;
  }
  return t;
}

std::shared_ptr<Work> ProcessGroup::barrier(Mode mode) {
  return submit(task(Kind::barrier, DType::uint8, Reduce::none, -1), mode);
}

std::shared_ptr<Work> ProcessGroup::all_reduce(const TensorList& tensors, Reduce op, Mode mode) {
  auto t = task(Kind::all_reduce, first_of(Kind::all_reduce, tensors).dtype(), op, -1, {&tensors});
  t->send(tensors);
  t->receive(tensors);
  t->count(numel_of(tensors));
  return submit(std::move(t), mode);
}

std::shared_ptr<Work> ProcessGroup::reduce(const TensorList& tensors, int root, Reduce op,
                                           Mode mode) {
  check_root(Kind::reduce, root);
  auto t = task(Kind::reduce, first_of(Kind::reduce, tensors).dtype(), op, root, {&tensors});
  t->send(tensors);
  if (rank() == root) t->receive(tensors);
  t->count(numel_of(tensors));
  return submit(std::move(t), mode);
}

std::shared_ptr<Work> ProcessGroup::broadcast(const TensorList& tensors, int root, Mode mode) {
  check_root(Kind::broadcast, root);
  auto t = task(Kind::broadcast, first_of(Kind::broadcast, tensors).dtype(), Reduce::none, root,
                {&tensors});
  rank() == root ? t->send(tensors) : t->receive(tensors);
  t->count(numel_of(tensors));
  return submit(std::move(t), mode);
}

namespace {

void check_length(Kind kind, const TensorList& list, int size) {
  ARGOSY_CHECK(list.size() == static_cast<size_t>(size), invalid_argument)
      << '[' << name_of(kind) << "] expected a list of " << size
      << " tensors, one for each rank of the group, got " << list.size()
      << ". Do this: pass as many as get_world_size(group) says.";
}

}  // namespace

std::shared_ptr<Work> ProcessGroup::all_gather(const TensorList& outputs, const Tensor& input,
                                               bool unequal, Mode mode) {
  const Kind kind = unequal ? Kind::all_gather_v : Kind::all_gather;
  check_length(kind, outputs, size());
  const TensorList inputs{input};
  auto t = task(kind, first_of(kind, inputs).dtype(), Reduce::none, -1, {&inputs, &outputs});
  t->send({input});
  for (const Tensor& o : outputs) {
    if (!unequal) check_numel(kind, o, input.numel());
    t->receive({o});
  }
  t->count(unequal ? 0 : input.numel());
  return submit(std::move(t), mode);
}

std::shared_ptr<Work> ProcessGroup::gather(const TensorList& outputs, const Tensor& input, int root,
                                           Mode mode) {
  check_root(Kind::gather, root);
  const TensorList inputs{input}, none;
  auto t = task(Kind::gather, first_of(Kind::gather, inputs).dtype(), Reduce::none, root,
                {&inputs, rank() == root ? &outputs : &none});
  t->send({input});
  if (rank() == root) {
    check_length(Kind::gather, outputs, size());
    for (const Tensor& o : outputs) {
      check_numel(Kind::gather, o, input.numel());
      t->receive({o});
    }
  }
  t->count(input.numel());
  return submit(std::move(t), mode);
}

std::shared_ptr<Work> ProcessGroup::scatter(const Tensor& output, const TensorList& inputs,
                                            int root, Mode mode) {
  check_root(Kind::scatter, root);
  const TensorList outputs{output}, none;
  auto t = task(Kind::scatter, first_of(Kind::scatter, outputs).dtype(), Reduce::none, root,
                {&outputs, rank() == root ? &inputs : &none});
  if (rank() == root) {
    check_length(Kind::scatter, inputs, size());
    for (const Tensor& i : inputs) {
      check_numel(Kind::scatter, i, output.numel());
      t->send({i});
    }
  }
  t->receive({output});
  t->count(output.numel());
  return submit(std::move(t), mode);
}

std::shared_ptr<Work> ProcessGroup::reduce_scatter(const Tensor& output, const TensorList& inputs,
                                                   Reduce op, Mode mode) {
  check_length(Kind::reduce_scatter, inputs, size());
  const TensorList outputs{output};
  auto t = task(Kind::reduce_scatter, first_of(Kind::reduce_scatter, outputs).dtype(), op, -1,
                {&outputs, &inputs});
  for (const Tensor& i : inputs) {
    check_numel(Kind::reduce_scatter, i, output.numel());
    t->send({i});
  }
  t->receive({output});
  t->count(output.numel());
  return submit(std::move(t), mode);
}

std::shared_ptr<Work> ProcessGroup::alltoall(const TensorList& outputs, const TensorList& inputs,
                                             Mode mode) {
  check_length(Kind::alltoall, inputs, size());
  check_length(Kind::alltoall, outputs, size());
  auto t = task(Kind::alltoall, first_of(Kind::alltoall, inputs).dtype(), Reduce::none, -1,
                {&inputs, &outputs});
  for (const Tensor& i : inputs) t->send({i});
  for (const Tensor& o : outputs) t->receive({o});
  return submit(std::move(t), mode);
}

std::shared_ptr<Work> ProcessGroup::send(const Tensor& tensor, int peer, Mode mode) {
  return transfer(tensor, peer, true, mode);
}

std::shared_ptr<Work> ProcessGroup::recv(const Tensor& tensor, int peer, Mode mode) {
  return transfer(tensor, peer, false, mode);
}

std::shared_ptr<Work> ProcessGroup::transfer(const Tensor& tensor, int peer, bool sending,
                                             Mode mode) {
  const Kind kind = sending ? Kind::send : Kind::recv;
  check_usable(kind);
  check_root(kind, peer);
  ARGOSY_CHECK(peer != rank(), invalid_argument)
      << '[' << name_of(kind) << "] expected another rank, got this one, " << peer
      << ". Do this: copy the tensor.";
  check_tensor(kind, tensor, first_of(kind, {tensor}).dtype());
  auto t = std::make_shared<Transfer>();
  t->sending = sending;
  t->peer = peer;
  t->seconds = seconds_;
  t->work = std::make_shared<Work>();
  if (!sending) tensor.prepare_write();
  Tensor bytes = sending ? t->devices.sent(tensor) : t->devices.received(tensor);
  t->devices.begin();
  t->devices.load();
  if (!bytes.is_contiguous()) {
    bytes = sending ? op::contiguous(tensor) : Tensor::empty(tensor.shape(), tensor.dtype());
    if (!sending) {
      t->target = tensor;
      t->staging = bytes;
    }
  }
  if (!sending) tensor.wrote("recv");
  t->data.add(bytes.raw(), bytes.nbytes());
  t->keep.push_back(bytes);
  Header& h = t->header;
  h.group = number();
  h.kind = kind;
  h.dtype = tensor.dtype();
  h.root = peer;
  h.count = static_cast<uint64_t>(tensor.numel());
  check_failed();
  {
    MutexLock lock(transfers_->mutex);
    h.sequence = (sending ? transfers_->sent : transfers_->received)[static_cast<size_t>(peer)]++;
  }
  t->record = record(h, ranks()[static_cast<size_t>(rank())]);
  std::shared_ptr<Work> work = t->work;
  if (mode == Mode::async) {
    transfers_->exchange.start(std::move(t));
  } else {
    transfers_->exchange.run(std::move(t));
    work->wait();  // it has ended, but streams have to go on after it
  }
  return work;
}

std::shared_ptr<Work> ProcessGroup::submit(std::unique_ptr<Task> task, Mode mode) {
  std::shared_ptr<Work> work = task->work;
  task->begin();
  Header header;
  bool here = false;
  {
    MutexLock lock(mutex_);
    if (closed_)
      throw CommError(Failure::closed, Message()
                                           << '[' << name_of(task->kind()) << "] group " << number()
                                           << " was destroyed. Do this: new_group().");
    check_failed();
    task->job.header.sequence = sequence_++;
    task->number = record(task->job.header, task->rank);
    header = task->job.header;
    here = mode == Mode::sync && !busy_ && queue_.empty();
    if (here) {
      busy_ = true;
      ended_ = false;
    } else {
      queue_.push_back(std::move(task));
      if (!thread_) thread_ = std::make_unique<std::thread>([this] { loop(); });
      changed_.notify_all();
    }
  }
  if (here) {
    execute(*task, false);
    MutexLock lock(mutex_);
    busy_ = false;
    if (!queue_.empty()) changed_.notify_all();
  }
  if (mode == Mode::sync) {
    try {
      work->wait();
    } catch (...) {
      if (!work->done()) post_interrupted(header);  // Ctrl-C while it waited for its turn
      throw;
    }
  }
  return work;
}

void ProcessGroup::post_interrupted(const Header& header) {
  Message m;
  m << '[' << name_of(header.kind) << "] rank " << ranks()[static_cast<size_t>(rank())]
    << " was interrupted in collective " << header.sequence << " of group " << number() << ", "
    << describe(header) << ". Do this: see what that process wrote last.";
  channel_->post(Failure::lost, m.str());
}

namespace {

// Memory of failed collectives that another rank may write yet: it is never used again.
void keep_for_ever(const TensorList& tensors) {
  static Mutex mutex;
  static TensorList& kept = *new TensorList;  // guarded by mutex
  MutexLock lock(mutex);
  for (const Tensor& t : tensors) kept.push_back(t.detach());  // where the memory is now
}

}  // namespace

void ProcessGroup::execute(Task& task, bool beside) {
  std::exception_ptr error;
  std::vector<Ref<DeviceEvent>> events;
  // Ends before who waits is told: a session may end then.
  std::optional<profile::Scope> scope;
  if (beside) scope.emplace(name_of(task.kind()), profile::Kind::communication);
  std::function<void()> check;
  try {
    if (task.devices) {
      task.there.header = task.job.header;
      task.devices->agree(task.there, task.job.seconds);
      events.push_back(enqueue(task));
      check = [channel = channel_] { channel->check(); };
    } else {
      task.staging.load();
      channel_->run(task.job);
      for (const auto& [target, value] : task.late) op::copy_into(target, value);
      events = task.staging.store();
    }
  } catch (const CommError& e) {
    error = std::current_exception();
    if (e.failure() != Failure::closed) dump_records(task.rank, e.what());
  } catch (...) {  // Ctrl-C, no memory: the others would wait for this rank
    error = std::current_exception();
    post_interrupted(task.job.header);
  }
  finish(task.number, error ? Stage::failed : Stage::done);
  if (error) {
    const auto unseen = [&](const Tensor& t) { return !channel_->others_write(t.raw()); };
    std::erase_if(task.keep, unseen);
    keep_for_ever(task.keep);
  }
  task.keep.clear();
  task.late.clear();
  task.staging = {};
  task.there = {};
  scope.reset();
  ended_ = true;
  task.work->finish(std::move(error), std::move(events), std::move(check));
}

// What the link refuses is no defect of this rank's call alone: the others have enqueued theirs.
Ref<DeviceEvent> ProcessGroup::enqueue(Task& task) {
  try {
    return task.devices->enqueue(task.there);
  } catch (const CommError&) {
    throw;
  } catch (const Error& e) {
    const Failure failure = e.kind() == ErrorKind::timeout ? Failure::timeout : Failure::lost;
    Message m;
    m << '[' << name_of(task.kind()) << "] rank " << task.rank << ": " << e.what();
    channel_->fail(failure, m.str());
  }
}

namespace {

constexpr size_t kIdentity = 64;  // of a device, and a byte that says that there is one

// Bytes for a collective on the host.
Tensor bytes_of(const std::string& text, size_t size) {
  const Tensor t = Tensor::empty({static_cast<int64_t>(size)}, DType::uint8);
  std::memset(t.raw(), 0, size);
  std::memcpy(t.raw(), text.data(), std::min(text.size(), size));
  return t;
}

std::string text_in(const Tensor& t) {
  return {static_cast<const char*>(t.raw()), t.nbytes()};
}

}  // namespace

const char* ProcessGroup::devices() const {
  return devices_ ? device::linker(devices_->place().kind)->name() : nullptr;
}

std::string ProcessGroup::connect_devices(std::optional<Place> place) {
  DeviceLinker* linker = place ? device::linker(place->kind) : nullptr;
  std::string why = !place ? "a process has no device" : !linker ? "its device has no links" : "";
  if (linker) why = linker->missing();
  // Everybody's device, and why some have none.
  constexpr size_t kText = 400;
  std::string identity;
  try {
    if (why.empty()) identity = '\1' + linker->identity(*place);
  } catch (const Error& e) {  // the others wait for what this rank says
    why = e.what();
  }
  const Tensor mine = bytes_of(identity, kIdentity);
  const Tensor reason = bytes_of(why, kText);
  TensorList all, reasons;
  for (int r = 0; r < size(); ++r) {
    all.push_back(bytes_of("", kIdentity));
    reasons.push_back(bytes_of("", kText));
  }
  all_gather(all, mine, false);
  all_gather(reasons, reason, false);
  for (size_t r = 0; r < all.size(); ++r) {
    const auto named = [&](size_t rank) { return "rank " + std::to_string(ranks()[rank]); };
    if (text_in(all[r])[0] == 0) return named(r) + ": " + text_in(reasons[r]).c_str();
    for (size_t q = 0; q < r; ++q)
      if (text_in(all[q]) == text_in(all[r]))
        return named(q) + " and " + named(r) + " have one device";
  }
  // The first one's id is everybody's.
  std::unique_ptr<DeviceLink> link;
  Tensor id = bytes_of("", DeviceLinker::kId);
  try {
    if (rank() == 0) id = bytes_of(linker->new_id(), DeviceLinker::kId);
  } catch (const Error& e) {
    why = e.what();
  }
  broadcast({id}, 0);
  try {
    if (why.empty()) link = linker->connect(*place, text_in(id), rank(), size(), seconds_ / 2);
  } catch (const Error& e) {
    why = e.what();
  }
  const Tensor wrong = bytes_of(why, kText);
  all_gather(reasons, wrong, false);
  for (size_t r = 0; r < reasons.size(); ++r)
    if (text_in(reasons[r])[0])
      return "rank " + std::to_string(ranks()[r]) + ": " + text_in(reasons[r]).c_str();
  devices_ = std::make_shared<DeviceGroup>(*place, std::move(link), channel_, seconds_);
  return {};
}

void ProcessGroup::loop() {
  take_short_turns();
  for (;;) {
    std::unique_ptr<Task> task;
    {
      WaitLock lock(mutex_);
      while (busy_ || queue_.empty()) {
        if (closed_ && queue_.empty()) return;
        changed_.wait_for(lock, std::chrono::seconds(1));
      }
      busy_ = true;
      ended_ = false;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    execute(*task, true);
    MutexLock lock(mutex_);
    busy_ = false;
  }
}

}  // namespace argosy::comm

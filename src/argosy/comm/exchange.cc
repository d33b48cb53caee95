#include "argosy/comm/exchange.h"

#include <algorithm>
#include <cstring>

#include "argosy/comm/recorder.h"
#include "argosy/op/dispatch.h"

namespace argosy::comm {

namespace {

constexpr char kTooSoon[] = " Do this: destroy it when its calls have ended.";

std::string name_of_message(const Channel& channel, const Transfer& t) {
  const int here = channel.world_rank(channel.rank());
  const int there = channel.world_rank(t.peer);
  Message m;
  m << '[' << name_of(t.header.kind) << "] message " << t.header.sequence << " from rank "
    << (t.sending ? here : there) << " to rank " << (t.sending ? there : here) << " of group "
    << channel.number() << ", " << t.header.count << ' ' << t.header.dtype;
  return m.str();
}

std::string interrupted_text(const Channel& channel) {
  Message m;
  m << "[send] rank " << channel.world_rank(channel.rank())
    << " was interrupted while it exchanged tensors in group " << channel.number()
    << ". Do this: see what that process wrote last.";
  return m.str();
}

bool whole(const Transfer& t) {
  return t.moved == sizeof(Header) + t.data.bytes();
}

void dump_failure(const Channel& channel, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const CommError& e) {
    if (e.failure() != Failure::closed) dump_records(channel.world_rank(channel.rank()), e.what());
  } catch (...) {
  }
}

}  // namespace

Exchange::Exchange(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}

Exchange::~Exchange() {
  close();
}

void Exchange::close() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
    thread.swap(thread_);
  }
  channel_->wake();
  if (thread.joinable()) thread.join();
  WaitLock lock(mutex_);
  while (driven_) changed_.wait_for(lock, std::chrono::seconds(1));
  for (auto& t : pending_) {
    Message m;
    m << name_of_message(*channel_, *t) << ": this process has destroyed the group." << kTooSoon;
    end(*t, std::make_exception_ptr(CommError(Failure::closed, m)));
  }
  pending_.clear();
}

void Exchange::add(std::shared_ptr<Transfer> transfer) {
  if (closing_)
    throw CommError(Failure::closed, Message()
                                         << name_of_message(*channel_, *transfer)
                                         << ": this process has destroyed the group." << kTooSoon);
  pending_.push_back(std::move(transfer));
}

bool Exchange::idle_now() {
  MutexLock lock(mutex_);
  return pending_.empty();
}

void Exchange::start(std::shared_ptr<Transfer> transfer) {
  MutexLock lock(mutex_);
  add(std::move(transfer));
  if (driven_)
    channel_->wake();
  else
    wake_thread();
}

void Exchange::run(std::shared_ptr<Transfer> transfer) {
  bool others;
  {
    MutexLock lock(mutex_);
    add(transfer);
    others = driven_;
    driven_ = true;
    if (others) channel_->wake();
  }
  if (!others) drive(transfer.get());
  try {
    transfer->work->wait();
  } catch (...) {
    // Ctrl-C while the thread drives. What is pending ends by what is posted.
    if (!transfer->work->done()) {
      channel_->post(Failure::lost, interrupted_text(*channel_));
      channel_->wake();
    }
    throw;
  }
}

void Exchange::wake_thread() {
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  changed_.notify_all();
}

void Exchange::loop() {
  for (;;) {
    {
      WaitLock lock(mutex_);
      while (!closing_ && (pending_.empty() || driven_))
        changed_.wait_for(lock, std::chrono::seconds(1));
      if (closing_) return;
      driven_ = true;
    }
    drive(nullptr);
  }
}

void Exchange::drive(const Transfer* mine) {
  std::exception_ptr interrupted;
  std::vector<Channel::Wish> wanted;
  auto looked = Clock::now();  // for processes that have ended, and for signals
  for (;;) {
    const uint32_t seen = channel_->bell();
    const auto now = Clock::now();
    const bool due = now - looked > std::chrono::milliseconds(50);
    if (due) looked = now;
    bool moved = false;
    {
      MutexLock lock(mutex_);
      std::exception_ptr error, others;
      try {
        // Asked before what is there is taken: who sent it may have gone on, and failed, since.
        const bool failed = channel_->failed();
        moved = advance();
        if (failed) channel_->check();
        if (!moved || due) check_waiting(due);
        if (interrupted) std::rethrow_exception(interrupted);
      } catch (const CommError&) {
        error = std::current_exception();
      } catch (...) {
        error = std::current_exception();
        const std::string text = interrupted_text(*channel_);
        // What interrupted it is the caller's, who may take it once.
        others = std::make_exception_ptr(CommError(Failure::lost, Message() << text));
        channel_->post(Failure::lost, text);
      }
      if (error) {
        dump_failure(*channel_, error);
        for (auto& t : pending_) end(*t, others && t.get() != mine ? others : error);
        pending_.clear();
      }
      const bool over =
          closing_ || (mine ? std::none_of(pending_.begin(), pending_.end(),
                                           [&](const auto& t) { return t.get() == mine; })
                            : pending_.empty());
      if (over) {
        driven_ = false;
        if (closing_)
          changed_.notify_all();
        else if (!pending_.empty())
          wake_thread();
        return;
      }
      if (!moved) wanted = wishes();
    }
    try {
      if (due) idle();  // without the lock: it may run signal handlers
    } catch (...) {
      interrupted = std::current_exception();
    }
    if (!moved && !interrupted) channel_->listen(seen, wanted);
  }
}

bool Exchange::advance() {
  bool moved = false;
  // Of each direction and peer the first one only.
  std::vector<bool> busy(2 * static_cast<size_t>(channel_->size()));
  for (size_t i = 0; i < pending_.size();) {
    Transfer& t = *pending_[i];
    const size_t lane = 2 * static_cast<size_t>(t.peer) + t.sending;
    if (busy[lane]) {
      ++i;
      continue;
    }
    if (move(t)) {
      moved = true;
      t.begun = false;  // its time begins anew
    }
    if (whole(t)) {
      const auto ended = pending_[i];
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
      end(*ended, nullptr);
      moved = true;
      continue;
    }
    busy[lane] = true;
    ++i;
  }
  return moved;
}

bool Exchange::move(Transfer& t) {
  constexpr size_t kSpans = 16;
  const size_t before = t.moved;
  std::vector<iovec> spans;
  while (!whole(t)) {
    spans.clear();
    if (t.moved < sizeof(Header)) {
      char* header = reinterpret_cast<char*>(t.sending ? &t.header : &t.arrived);
      spans.push_back({header + t.moved, sizeof(Header) - t.moved});
    }
    // What is received has a place once its header has been compared.
    if (t.sending || t.moved >= sizeof(Header)) {
      const size_t at = std::max(t.moved, sizeof(Header)) - sizeof(Header);
      t.data.spans(at, t.data.bytes() - at, &spans, kSpans);
    }
    const size_t n = t.sending ? channel_->put(t.peer, spans) : channel_->get(t.peer, spans);
    if (!n) break;
    const bool came = t.moved < sizeof(Header) && t.moved + n >= sizeof(Header);
    t.moved += n;
    if (came && !t.sending) check_header(t);
  }
  if (t.moved == before) return false;
  channel_->moved(t.peer);
  return true;
}

void Exchange::check_header(const Transfer& t) {
  const Header& h = t.arrived;
  if (h.dtype == t.header.dtype && h.count == t.header.count && h.sequence == t.header.sequence)
    return;
  Message m;
  m << name_of_message(*channel_, t) << ": the ranks disagree; expected what is sent, rank "
    << channel_->world_rank(t.peer) << " sends " << h.count << ' ' << h.dtype << ", rank "
    << channel_->world_rank(channel_->rank()) << " receives " << t.header.count << ' '
    << t.header.dtype << ". Do this: receive into a tensor of the shape and dtype that is sent.";
  channel_->fail(Failure::disagreement, m.str());
}

std::vector<Channel::Wish> Exchange::wishes() {
  std::vector<Channel::Wish> out;
  std::vector<bool> busy(2 * static_cast<size_t>(channel_->size()));
  for (const auto& t : pending_) {
    const size_t lane = 2 * static_cast<size_t>(t->peer) + t->sending;
    if (!busy[lane]) out.push_back({t->peer, t->sending});
    busy[lane] = true;
  }
  return out;
}

void Exchange::end(Transfer& t, std::exception_ptr error) {
  std::vector<Ref<DeviceEvent>> events;
  if (!error) {
    try {
      if (t.target.defined()) op::copy_into(t.target, t.staging);
      events = t.devices.store();
    } catch (...) {
      error = std::current_exception();
    }
  }
  finish(t.record, error ? Stage::failed : Stage::done);
  t.keep.clear();
  t.devices = {};
  t.work->finish(std::move(error), std::move(events));
}

void Exchange::check_waiting(bool due) {
  const auto now = Clock::now();
  // Of each direction and peer the first one only: the others' turn has not come.
  std::vector<bool> busy(2 * static_cast<size_t>(channel_->size()));
  for (auto& t : pending_) {
    const size_t lane = 2 * static_cast<size_t>(t->peer) + t->sending;
    if (busy[lane]) continue;
    busy[lane] = true;
    if (!t->begun) {
      t->begun = true;
      t->until = now + limit_of(t->seconds);
    }
    if (now >= t->until) fail_waiting(*t, Failure::timeout);
    // What was there before it left is still to be had; the next pass ends it.
    if (channel_->left(t->peer) && !move(*t) && !whole(*t)) fail_waiting(*t, Failure::closed);
    if (due && channel_->gone(t->peer) && !move(*t) && !whole(*t)) fail_waiting(*t, Failure::lost);
  }
}

void Exchange::fail_waiting(const Transfer& t, Failure failure) {
  Message m;
  m << name_of_message(*channel_, t) << ": rank " << channel_->world_rank(t.peer);
  const double silent =
      failure == Failure::lost ? channel_->silence(channel_->world_rank(t.peer)) : 0;
  if (silent > 0)
    m << " has been silent for " << silent << " s.";
  else if (failure == Failure::lost)
    m << " has ended.";
  else if (failure == Failure::closed)
    m << " has ended, or destroyed the group.";
  else
    m << (t.sending ? " has not received it within " : " has not sent it within ") << t.seconds
      << " s.";
  m << channel_->cause() << (silent > 0 ? remedy_of_silence() : remedy(failure));
  channel_->fail(failure == Failure::closed ? Failure::lost : failure, m.str());
}

}  // namespace argosy::comm

#include "argosy/comm/exchange.h"

#include <algorithm>
#include <cstring>

#include "argosy/comm/recorder.h"
#include "argosy/op/dispatch.h"

namespace argosy::comm {

namespace {

std::string name_of_message(const Board& board, const Transfer& t) {
  const int here = board.ranks()[static_cast<size_t>(board.rank())];
  const int there = board.ranks()[static_cast<size_t>(t.peer)];
  Message m;
  m << '[' << name_of(t.header.kind) << "] message " << t.header.sequence << " from rank "
    << (t.sending ? here : there) << " to rank " << (t.sending ? there : here) << " of group "
    << board.number() << ", " << t.header.count << ' ' << t.header.dtype;
  return m.str();
}

std::string interrupted_text(const Board& board) {
  Message m;
  m << "[send] rank " << board.ranks()[static_cast<size_t>(board.rank())]
    << " was interrupted while it exchanged tensors in group " << board.number()
    << ". Do this: see what that process wrote last.";
  return m.str();
}

bool whole(const Transfer& t) {
  return t.moved == sizeof(Header) + t.data.bytes();
}

void dump_failure(const Board& board, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const CommError& e) {
    if (e.failure() != Failure::closed)
      dump_records(board.ranks()[static_cast<size_t>(board.rank())], e.what());
  } catch (...) {
  }
}

}  // namespace

Exchange::Exchange(std::shared_ptr<Board> board) : board_(std::move(board)) {}

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
  board_->ring_bell(board_->rank());
  if (thread.joinable()) thread.join();
  WaitLock lock(mutex_);
  while (driven_) changed_.wait_for(lock, std::chrono::seconds(1));
  for (auto& t : pending_) {
    Message m;
    m << name_of_message(*board_, *t) << ": this process has destroyed the group."
      << remedy(Failure::closed);
    end(*t, std::make_exception_ptr(CommError(Failure::closed, m)));
  }
  pending_.clear();
}

void Exchange::add(std::shared_ptr<Transfer> transfer) {
  if (closing_)
    throw CommError(Failure::closed, Message() << name_of_message(*board_, *transfer)
                                               << ": this process has destroyed the group."
                                               << remedy(Failure::closed));
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
    board_->ring_bell(board_->rank());
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
    if (others) board_->ring_bell(board_->rank());
  }
  if (!others) drive(transfer.get());
  try {
    transfer->work->wait();
  } catch (...) {
    // Ctrl-C while the thread drives. What is pending ends by what is posted.
    if (!transfer->work->done()) {
      board_->post(Failure::lost, interrupted_text(*board_));
      board_->ring_bell(board_->rank());
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
  auto looked = Clock::now();  // for processes that have ended, and for signals
  for (;;) {
    const uint32_t seen = board_->bell(board_->rank());
    const auto now = Clock::now();
    const bool due = now - looked > std::chrono::milliseconds(50);
    if (due) looked = now;
    bool moved = false;
    {
      MutexLock lock(mutex_);
      std::exception_ptr error, others;
      try {
        // Asked before what is there is taken: who sent it may have gone on, and failed, since.
        const bool failed = board_->failed();
        moved = advance();
        if (failed) board_->check();
        if (!moved || due) check_waiting(due);
        if (interrupted) std::rethrow_exception(interrupted);
      } catch (const CommError&) {
        error = std::current_exception();
      } catch (...) {
        error = std::current_exception();
        const std::string text = interrupted_text(*board_);
        // What interrupted it is the caller's, who may take it once.
        others = std::make_exception_ptr(CommError(Failure::lost, Message() << text));
        board_->post(Failure::lost, text);
      }
      if (error) {
        dump_failure(*board_, error);
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
    }
    try {
      if (due) idle();  // without the lock: it may run signal handlers
    } catch (...) {
      interrupted = std::current_exception();
    }
    if (!moved && !interrupted) board_->listen(seen);
  }
}

bool Exchange::advance() {
  bool moved = false;
  // Of each direction and peer the first one only.
  std::vector<bool> busy(2 * static_cast<size_t>(board_->size()));
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
  const int me = board_->rank();
  Board::Ring& ring = t.sending ? board_->ring(me, t.peer) : board_->ring(t.peer, me);
  const size_t before = t.moved;
  if (t.moved < sizeof(Header) && !move_header(t)) return false;
  for (;;) {
    const size_t left = sizeof(Header) + t.data.bytes() - t.moved;
    const uint64_t written = ring.written.load(std::memory_order_acquire);
    const uint64_t read = ring.read.load(std::memory_order_acquire);
    const uint64_t here = t.sending ? written : read;
    const size_t room = t.sending ? kRing - (written - read) : written - read;
    const size_t n = std::min({left, room, kRing - static_cast<size_t>(here % kRing)});
    if (!n) break;
    const size_t at = t.moved - sizeof(Header);
    if (t.sending)
      t.data.copy_to(ring.data + here % kRing, at, n);
    else
      t.data.copy_from(ring.data + here % kRing, at, n);
    (t.sending ? ring.written : ring.read).store(here + n, std::memory_order_release);
    t.moved += n;
  }
  if (t.moved == before) return false;
  board_->ring_bell(t.peer);
  return true;
}

// Whole or not at all. The receiver compares before it takes a byte of the message.
bool Exchange::move_header(Transfer& t) {
  const int me = board_->rank();
  Board::Ring& ring = t.sending ? board_->ring(me, t.peer) : board_->ring(t.peer, me);
  const uint64_t written = ring.written.load(std::memory_order_acquire);
  const uint64_t read = ring.read.load(std::memory_order_acquire);
  const size_t room = t.sending ? kRing - (written - read) : written - read;
  if (room < sizeof(Header)) return false;
  char bytes[sizeof(Header)];
  if (t.sending) std::memcpy(bytes, &t.header, sizeof bytes);
  const uint64_t here = t.sending ? written : read;
  for (size_t i = 0; i < sizeof bytes; ++i) {
    char& slot = ring.data[(here + i) % kRing];
    t.sending ? slot = bytes[i] : bytes[i] = slot;
  }
  if (!t.sending) {
    Header h;
    std::memcpy(&h, bytes, sizeof h);
    if (h.dtype != t.header.dtype || h.count != t.header.count || h.sequence != t.header.sequence) {
      Message m;
      m << name_of_message(*board_, t) << ": the ranks disagree; expected what is sent, rank "
        << board_->ranks()[static_cast<size_t>(t.peer)] << " sends " << h.count << ' ' << h.dtype
        << ", rank " << board_->ranks()[static_cast<size_t>(me)] << " receives " << t.header.count
        << ' ' << t.header.dtype
        << ". Do this: receive into a tensor of the shape and dtype that is sent.";
      board_->fail(Failure::disagreement, m.str());
    }
  }
  (t.sending ? ring.written : ring.read).store(here + sizeof bytes, std::memory_order_release);
  t.moved = sizeof bytes;
  return true;
}

void Exchange::end(Transfer& t, std::exception_ptr error) {
  if (!error && t.target.defined()) {
    try {
      op::copy_into(t.target, t.staging);
    } catch (...) {
      error = std::current_exception();
    }
  }
  finish(t.record, error ? Stage::failed : Stage::done);
  t.keep.clear();
  t.work->finish(std::move(error));
}

void Exchange::check_waiting(bool due) {
  const auto now = Clock::now();
  // Of each direction and peer the first one only: the others' turn has not come.
  std::vector<bool> busy(2 * static_cast<size_t>(board_->size()));
  for (auto& t : pending_) {
    const size_t lane = 2 * static_cast<size_t>(t->peer) + t->sending;
    if (busy[lane]) continue;
    busy[lane] = true;
    if (!t->begun) {
      t->begun = true;
      t->until =
          now + std::chrono::nanoseconds(static_cast<int64_t>(std::min(t->seconds, 1e9) * 1e9));
    }
    if (now >= t->until) fail_waiting(*t, Failure::timeout);
    // What was there before it left is still to be had; the next pass ends it.
    if (board_->left(t->peer) && !move(*t) && !whole(*t)) fail_waiting(*t, Failure::closed);
    if (due && board_->engine().gone(board_->ranks()[static_cast<size_t>(t->peer)]) && !move(*t) &&
        !whole(*t))
      fail_waiting(*t, Failure::lost);
  }
}

void Exchange::fail_waiting(const Transfer& t, Failure failure) {
  Message m;
  m << name_of_message(*board_, t) << ": rank " << board_->ranks()[static_cast<size_t>(t.peer)];
  if (failure == Failure::lost)
    m << " has ended.";
  else if (failure == Failure::closed)
    m << " has destroyed it.";
  else
    m << (t.sending ? " has not received it within " : " has not sent it within ") << t.seconds
      << " s.";
  m << board_->cause() << remedy(failure);
  board_->fail(failure, m.str());
}

}  // namespace argosy::comm

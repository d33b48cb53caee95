#include "argosy/comm/board.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "argosy/comm/futex.h"

namespace argosy::comm {

namespace {

constexpr int kSpins = 200;  // of `pause`; 2,000 were five times slower with unpinned ranks
constexpr auto kSlice = std::chrono::milliseconds(50);
constexpr size_t kPage = 4096;
constexpr size_t kTextBytes = 1500;

std::atomic<void (*)()> idle_hook{nullptr};

size_t whole_pages(size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

void set_idle_hook(void (*hook)()) {
  idle_hook = hook;
}

void idle() {
  if (auto* hook = idle_hook.load()) hook();
}

// Everything here lies in memory that processes share, zero at first.
struct Board::Line {
  alignas(128) std::atomic<uint32_t> step;  // how many this rank has shown
  std::atomic<uint32_t> sleepers;           // of those who wait for `step`
  std::atomic<uint32_t> left;               // 1: it shows nothing more
  Header headers[2];
  alignas(128) std::atomic<uint32_t> bell;
  std::atomic<uint32_t> listening;
};

struct Board::Shared {
  std::atomic<uint32_t> state;  // 0: fine, 1: a failure is being written, 2: it is there
  Failure failure;
  char text[kTextBytes];
  alignas(128) Line lines[1];  // as many as ranks
};

namespace {

// Where things lie: Shared with its lines, windows, rings; each from a page on.
struct Layout {
  size_t windows, rings, end;
  Layout(size_t n, size_t head, size_t line) {
    windows = whole_pages(head + n * line);
    rings = windows + n * 2 * kWindow;
    end = rings + whole_pages(n * n * sizeof(Board::Ring));
  }
};

}  // namespace

uint64_t Board::bytes_for(size_t ranks) {
  return Layout(ranks, sizeof(Shared), sizeof(Line)).end;
}

Board::Board(std::shared_ptr<Engine> engine, uint32_t number, std::vector<int> ranks, int rank,
             uint64_t offset, std::shared_ptr<Board> world)
    : engine_(std::move(engine)),
      memory_(engine_->share(offset, bytes_for(ranks.size()))),
      shared_(reinterpret_cast<Shared*>(memory_.get())),
      number_(number),
      ranks_(std::move(ranks)),
      rank_(rank),
      world_(std::move(world)) {}

Board::~Board() = default;

Board::Line& Board::line(int rank) const {
  return shared_->lines[rank];
}

char* Board::window(int rank, uint32_t step) const {
  const Layout at(ranks_.size(), sizeof(Shared), sizeof(Line));
  return memory_.get() + at.windows + (static_cast<size_t>(rank) * 2 + (step & 1)) * kWindow;
}

Header& Board::header(int rank, uint64_t sequence) const {
  return line(rank).headers[sequence & 1];
}

Board::Ring& Board::ring(int from, int to) const {
  const Layout at(ranks_.size(), sizeof(Shared), sizeof(Line));
  auto* rings = reinterpret_cast<Ring*>(memory_.get() + at.rings);
  return rings[static_cast<size_t>(from) * ranks_.size() + static_cast<size_t>(to)];
}

void Board::show() {
  Line& mine = line(rank_);
  // In one order with the count of sleepers: who is about to sleep sees the step, or is seen here.
  mine.step.store(++step_, std::memory_order_seq_cst);
  if (mine.sleepers.load(std::memory_order_seq_cst)) futex_wake_all(mine.step);
}

bool Board::shown(int rank, uint32_t step) const {
  // Step numbers go round.
  return static_cast<int32_t>(line(rank).step.load(std::memory_order_acquire) - step) > 0;
}

void Board::all_shown(uint32_t step, const Header& what, Clock::time_point until, double seconds) {
  for (int r = 0; r < size(); ++r)
    if (r != rank_) wait_for(r, step, what, until, seconds);
}

const char* remedy(Failure failure) {
  switch (failure) {
    case Failure::timeout:
      return " Do this: see where that process is (py-spy dump), or set a longer limit: new_group("
             "timeout=..), ARGOSY_COMM_TIMEOUT in seconds.";
    case Failure::closed:
      return " Do this: destroy a group when all ranks have ended their last call of it.";
    default:
      return " Do this: see what that process wrote last.";
  }
}

void Board::wait_for(int rank, uint32_t step, const Header& what, Clock::time_point until,
                     double seconds) {
  for (int i = 0; i < kSpins; ++i) {
    if (shown(rank, step)) return;
    pause();
  }
  Line& peer = line(rank);
  struct Sleeper {
    explicit Sleeper(std::atomic<uint32_t>& n) : n(n) { n.fetch_add(1); }
    ~Sleeper() { n.fetch_sub(1); }
    std::atomic<uint32_t>& n;
  } sleeper(peer.sleepers);
  auto looked = Clock::now();  // by the clock: signals may end each sleep early
  for (;;) {
    const bool leaving = left(rank);  // before the step: it has shown all by then
    const uint32_t seen = peer.step.load(std::memory_order_seq_cst);
    if (static_cast<int32_t>(seen - step) > 0) return;
    check();
    if (leaving) fail_waiting(Failure::closed, step, what, seconds);
    const auto now = Clock::now();
    if (now >= until) fail_waiting(Failure::timeout, step, what, seconds);
    futex_wait(peer.step, seen, std::min<Clock::duration>(kSlice, until - now));
    if (shown(rank, step)) return;
    if (Clock::now() - looked < kSlice / 2) continue;
    looked = Clock::now();
    idle();
    if (engine_->gone(ranks_[static_cast<size_t>(rank)]) && !shown(rank, step))
      fail_waiting(Failure::lost, step, what, seconds);
  }
}

void Board::fail_waiting(Failure failure, uint32_t step, const Header& what, double seconds) {
  Message late, here, m;
  int count = 0;
  for (int r = 0; r < size(); ++r) {
    const bool missing = r != rank_ && !shown(r, step);
    if (failure == Failure::lost && missing && !engine_->gone(ranks_[static_cast<size_t>(r)]))
      continue;
    if (failure == Failure::closed && missing && !left(r)) continue;
    Message& list = missing ? late : here;
    list << (list.str().empty() ? "" : ", ") << ranks_[static_cast<size_t>(r)];
    count += missing;
  }
  m << '[' << name_of(what.kind) << "] collective " << what.sequence << " of group " << number_
    << ", " << describe(what) << ": expected all of its " << size() << " ranks, but rank"
    << (count > 1 ? "s " : " ") << late.str();
  if (failure == Failure::lost)
    m << (count > 1 ? " have" : " has") << " ended.";
  else if (failure == Failure::closed)
    m << (count > 1 ? " have" : " has") << " destroyed it.";
  else
    m << (count > 1 ? " have" : " has") << " not come within " << seconds << " s; waiting: rank "
      << here.str() << '.';
  m << cause() << remedy(failure);
  fail(failure, m.str());
}

uint32_t Board::bell(int rank) const {
  return line(rank).bell.load(std::memory_order_seq_cst);
}

void Board::ring_bell(int rank) {
  Line& peer = line(rank);
  peer.bell.fetch_add(1, std::memory_order_seq_cst);
  if (peer.listening.load(std::memory_order_seq_cst)) futex_wake_all(peer.bell);
}

void Board::listen(uint32_t seen) {
  Line& mine = line(rank_);
  for (int i = 0; i < kSpins; ++i) {
    if (mine.bell.load(std::memory_order_acquire) != seen) return;
    pause();
  }
  mine.listening.fetch_add(1, std::memory_order_seq_cst);
  if (mine.bell.load(std::memory_order_seq_cst) == seen) futex_wait(mine.bell, seen, kSlice);
  mine.listening.fetch_sub(1);
}

bool Board::failed() const {
  return shared_->state.load(std::memory_order_acquire) == 2;
}

void Board::check() const {
  if (failed()) [[unlikely]]
    throw CommError(shared_->failure, Message() << std::string_view(shared_->text));
}

std::string Board::cause() const {
  if (!world_ || !world_->failed()) return "";
  return std::string(" (Before that, in the group of all: ") + world_->shared_->text + ")";
}

void Board::post(Failure failure, const std::string& text) noexcept {
  uint32_t fine = 0;
  if (shared_->state.compare_exchange_strong(fine, 1)) {
    shared_->failure = failure;
    const size_t n = std::min(text.size(), kTextBytes - 1);
    std::memcpy(shared_->text, text.data(), n);
    shared_->text[n] = 0;
    shared_->state.store(2, std::memory_order_seq_cst);
    wake_all();
  }
  // Another rank is writing. Should it die at that, this one's own text has to do.
  for (int i = 0; i < 1000 && !failed(); ++i)
    futex_wait(shared_->state, 1, std::chrono::milliseconds(1));
}

void Board::leave() noexcept {
  line(rank_).left.store(1, std::memory_order_seq_cst);
  wake_all();
}

bool Board::left(int rank) const {
  return line(rank).left.load(std::memory_order_seq_cst) != 0;
}

void Board::wake_all() noexcept {
  for (int r = 0; r < size(); ++r) {
    futex_wake_all(line(r).step);
    line(r).bell.fetch_add(1);
    futex_wake_all(line(r).bell);
  }
}

void Board::fail(Failure failure, const std::string& text) {
  post(failure, text);
  check();
  throw CommError(failure, Message() << text);
}

}  // namespace argosy::comm

#include "argosy/comm/board.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "argosy/comm/futex.h"

namespace argosy::comm {

namespace {

constexpr int kSpins = 200;  // of `pause`; 2,000 were five times slower with unpinned ranks
constexpr auto kSlice = std::chrono::milliseconds(50);
constexpr auto kGlance = std::chrono::milliseconds(1);  // between what is done while it waits
constexpr size_t kPage = 4096;
constexpr size_t kTextBytes = 1500;

size_t whole_pages(size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

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
    : Channel(number, std::move(ranks), rank),
      engine_(std::move(engine)),
      memory_(engine_->share(offset, bytes_for(this->ranks().size()))),
      shared_(reinterpret_cast<Shared*>(memory_.get())),
      world_(std::move(world)) {
  next_offset_ = offset + bytes_for(this->ranks().size());
}

Board::~Board() = default;

std::shared_ptr<Board> Board::world(std::shared_ptr<Engine> engine) {
  std::vector<int> ranks;
  for (int r = 0; r < engine->size(); ++r) ranks.push_back(r);
  const int rank = engine->rank();
  engine->tensors(rank);  // gradients lie there from now on
  return std::make_shared<Board>(std::move(engine), 0, std::move(ranks), rank, 0, nullptr);
}

// All ranks have agreed to the list before anybody maps the new group's memory, and all members of
// the group before have mapped theirs: what Engine::share() relies on.
std::shared_ptr<Channel> Board::subgroup(uint32_t number, const std::vector<int>& ranks, int rank,
                                         double, std::optional<Algorithm>) {
  const uint64_t offset = next_offset_;
  next_offset_ += bytes_for(ranks.size());
  if (rank < 0) return nullptr;
  return std::make_shared<Board>(engine_, number, ranks, rank, offset, shared_from_this());
}

Board::Line& Board::line(int rank) const {
  return shared_->lines[rank];
}

char* Board::window(int rank, uint32_t step) const {
  const Layout at(ranks().size(), sizeof(Shared), sizeof(Line));
  return memory_.get() + at.windows + (static_cast<size_t>(rank) * 2 + (step & 1)) * kWindow;
}

Header& Board::header(int rank, uint64_t sequence) const {
  return line(rank).headers[sequence & 1];
}

bool Board::others_write(const void* address) const {
  const Engine::Area own = tensors(rank());
  return reinterpret_cast<uintptr_t>(address) - own.begin < own.bytes;  // wraps below
}

Board::Ring& Board::ring(int from, int to) const {
  const Layout at(ranks().size(), sizeof(Shared), sizeof(Line));
  auto* rings = reinterpret_cast<Ring*>(memory_.get() + at.rings);
  return rings[static_cast<size_t>(from) * ranks().size() + static_cast<size_t>(to)];
}

void Board::show() {
  Line& mine = line(rank());
  // In one order with the count of sleepers: who is about to sleep sees the step, or is seen here.
  mine.step.store(++step_, std::memory_order_seq_cst);
  if (mine.sleepers.load(std::memory_order_seq_cst)) futex_wake_all(mine.step);
}

bool Board::shown(int rank, uint32_t step) const {
  // Step numbers go round.
  return static_cast<int32_t>(line(rank).step.load(std::memory_order_acquire) - step) > 0;
}

void Board::all_shown(uint32_t step, const Wait& wait) {
  for (int r = 0; r < size(); ++r)
    if (r != rank()) wait_for(r, step, wait);
}

void Board::wait_for(int rank, uint32_t step, const Wait& wait) {
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
    if (leaving) fail_waiting(Failure::closed, step, wait);
    const auto now = Clock::now();
    if (now >= wait.until) fail_waiting(Failure::timeout, step, wait);
    if (!wait.meanwhile)
      futex_wait(peer.step, seen, std::min<Clock::duration>(kSlice, wait.until - now));
    else if (!wait.meanwhile())
      futex_wait(peer.step, seen, kGlance);
    if (shown(rank, step)) return;
    if (Clock::now() - looked < kSlice / 2) continue;
    looked = Clock::now();
    idle();
    if (gone(rank) && !shown(rank, step)) fail_waiting(Failure::lost, step, wait);
  }
}

void Board::fail_waiting(Failure failure, uint32_t step, const Wait& wait) {
  std::vector<int> late, here;
  for (int r = 0; r < size(); ++r) {
    const bool missing = r != rank() && !shown(r, step);
    if (failure == Failure::lost && missing && !gone(r)) continue;
    if (failure == Failure::closed && missing && !left(r)) continue;
    (missing ? late : here).push_back(world_rank(r));
  }
  // Who waits for one that left has lost it, too.
  fail(failure == Failure::closed ? Failure::lost : failure,
       text_of_waiting(*this, wait.what, failure, late, here, wait.seconds));
}

namespace {

// Moves bytes between spans and the data of a ring: copy(bytes of the ring, of the span, how many).
template <class Copy>
size_t move_bytes(std::span<const iovec> spans, uint64_t begin, size_t room, char* data,
                  Copy&& copy) {
  size_t total = 0;
  for (const iovec& span : spans)
    for (size_t at = 0; at < span.iov_len && total < room;) {
      const size_t place = static_cast<size_t>((begin + total) % kRing);
      const size_t n = std::min({span.iov_len - at, room - total, kRing - place});
      copy(data + place, static_cast<char*>(span.iov_base) + at, n);
      at += n;
      total += n;
    }
  return total;
}

}  // namespace

size_t Board::put(int peer, std::span<const iovec> from) {
  Ring& r = ring(rank(), peer);
  const uint64_t written = r.written.load(std::memory_order_acquire);
  const uint64_t read = r.read.load(std::memory_order_acquire);
  const size_t n = move_bytes(from, written, kRing - static_cast<size_t>(written - read), r.data,
                              [](char* ring, char* span, size_t n) { std::memcpy(ring, span, n); });
  r.written.store(written + n, std::memory_order_release);
  return n;
}

size_t Board::get(int peer, std::span<const iovec> to) {
  Ring& r = ring(peer, rank());
  const uint64_t written = r.written.load(std::memory_order_acquire);
  const uint64_t read = r.read.load(std::memory_order_acquire);
  const size_t n = move_bytes(to, read, static_cast<size_t>(written - read), r.data,
                              [](char* ring, char* span, size_t n) { std::memcpy(span, ring, n); });
  r.read.store(read + n, std::memory_order_release);
  return n;
}

uint32_t Board::bell() const {
  return line(rank()).bell.load(std::memory_order_seq_cst);
}

void Board::ring_bell(int rank) {
  Line& peer = line(rank);
  peer.bell.fetch_add(1, std::memory_order_seq_cst);
  if (peer.listening.load(std::memory_order_seq_cst)) futex_wake_all(peer.bell);
}

void Board::listen(uint32_t seen, std::span<const Wish>) {
  Line& mine = line(rank());
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
  if (judge_) judge_->check();
  if (failed()) [[unlikely]]
    throw CommError(seen(shared_->failure), Message() << std::string_view(shared_->text));
}

std::string Board::cause() const {
  if (!world_ || !world_->failed()) return "";
  return std::string(" (Before that, in the group of all: ") + world_->shared_->text + ")";
}

void Board::post(Failure failure, const std::string& text) noexcept {
  if (failure == Failure::closed) closed_here_ = true;
  if (!judge_) return write_failure(failure, text);
  judge_->post(failure, text);
  try {
    judge_->check();
    write_failure(failure, text);
  } catch (const CommError& first) {
    write_failure(first.failure(), first.what());
  }
}

void Board::write_failure(Failure failure, const std::string& text) noexcept {
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
  line(rank()).left.store(1, std::memory_order_seq_cst);
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

}  // namespace argosy::comm

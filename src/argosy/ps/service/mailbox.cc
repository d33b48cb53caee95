#include "argosy/ps/service/mailbox.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace argosy::ps {
namespace {

// Of a piece besides its bytes.
constexpr uint64_t kOverhead = 64;

Failure bad(std::string text) {
  return {Code::bad_request, std::move(text)};
}

std::string with_head(uint64_t sender, uint64_t number, const Bytes& piece) {
  std::string text(Mailbox::kPieceHead + piece.size(), '\0');
  std::memcpy(text.data(), &sender, sizeof(sender));
  std::memcpy(text.data() + sizeof(sender), &number, sizeof(number));
  if (piece.size()) std::memcpy(text.data() + Mailbox::kPieceHead, piece.data(), piece.size());
  return text;
}

uint64_t boxes_of(uint32_t servers, uint32_t workers) {
  return std::max(1u, (workers + servers - 1) / servers);
}

}  // namespace

Mailbox::Mailbox(uint32_t index, uint32_t servers, uint32_t workers, uint64_t max_bytes)
    : index_(index),
      servers_(std::max(1u, servers)),
      workers_(workers),
      share_(std::max<uint64_t>(max_bytes / boxes_of(servers_, workers), kPiece + kOverhead)) {}

Mailbox::Box* Mailbox::find(uint32_t worker) {
  if (worker >= workers_ || worker % servers_ != index_) return nullptr;
  Box& box = boxes_[worker];
  if (box.streams.empty()) box.streams = std::vector<Stream>(workers_);
  return &box;
}

bool Mailbox::enter(Box* box, uint64_t round) {
  if (round < box->round) return false;
  if (round > box->round) {
    box->round = round;
    box->bytes = 0;
    box->streams = std::vector<Stream>(workers_);
  }
  return true;
}

Failure Mailbox::post(const Header& h, Bytes piece, bool* taken) {
  *taken = false;
  if (piece.size() > kPiece)
    return bad("a piece of " + std::to_string(piece.size()) + " bytes: the limit is " +
               std::to_string(kPiece));
  std::vector<Meeting::Go> ready;
  {
    MutexLock lock(mutex_);
    Box* box = find(h.table);
    if (!box || h.worker >= workers_)
      return bad("no mailbox for worker " + std::to_string(h.table) + " from worker " +
                 std::to_string(h.worker) + " is here");
    if (!enter(box, h.round))
      return bad("round " + std::to_string(h.round) +
                 " of the mailboxes is over, they are in round " + std::to_string(box->round));
    Stream& s = box->streams[h.worker];
    if (h.step < s.next()) {  // again
      *taken = true;
      return {};
    }
    if (s.ended || h.step > s.next())
      return bad("piece " + std::to_string(h.step) + " of worker " + std::to_string(h.worker) +
                 " came, expected " + (s.ended ? "no more" : std::to_string(s.next())) +
                 ": the server was started anew meanwhile");
    const uint64_t size = piece.size() + kOverhead;
    // (The last piece has no bytes, and there is one of each sender.)
    if (piece.size() && box->bytes + size > share_) return {};
    s.ended = piece.size() == 0;
    if (!s.ended) box->bytes += size;
    s.pieces.push_back(std::move(piece));
    ready = box->waiting.all();
  }
  *taken = true;
  for (const auto& go : ready) go(true);
  return {};
}

Failure Mailbox::take(const Header& h, const std::vector<uint64_t>& counts,
                      std::vector<std::string>* pieces) {
  Box* box = find(h.worker);
  if (!box) return bad("the mailbox of worker " + std::to_string(h.worker) + " is not here");
  if (counts.size() != workers_)
    return bad("keys: expected a number for each of " + std::to_string(workers_) +
               " workers, got " + std::to_string(counts.size()));
  if (!enter(box, h.round))
    return bad("round " + std::to_string(h.round) +
               " of the mailboxes is over, they are in round " + std::to_string(box->round));
  for (uint32_t i = 0; i < workers_; ++i) {
    Stream& s = box->streams[i];
    if (counts[i] > s.next())
      return bad("worker " + std::to_string(h.worker) + " has " + std::to_string(counts[i]) +
                 " pieces of worker " + std::to_string(i) + ", of which " +
                 std::to_string(s.next()) + " came: the server was started anew meanwhile");
    for (; s.first < counts[i]; ++s.first) {
      if (s.pieces.front().size()) box->bytes -= s.pieces.front().size() + kOverhead;
      s.pieces.pop_front();
    }
  }
  // Each call begins with another sender, so that none waits for the end of another.
  size_t bytes = 0;
  const auto start = static_cast<uint32_t>(h.step % workers_);
  for (uint32_t n = 0; n < workers_; ++n) {
    const uint32_t i = (start + n) % workers_;
    const Stream& s = box->streams[i];
    // (One that asks late for what is gone gets nothing, and nobody waits for its answer.)
    if (counts[i] < s.first) continue;
    for (size_t k = 0; k < s.pieces.size(); ++k) {
      if (bytes && bytes + s.pieces[k].size() > kAnswer) return {};
      pieces->push_back(with_head(i, s.first + k, s.pieces[k]));
      bytes += pieces->back().size();
    }
  }
  return {};
}

void Mailbox::collect(const Header& h, std::span<const uint64_t> counts, const Patience& patience,
                      Done done) {
  const auto mine = std::make_shared<std::vector<uint64_t>>(counts.begin(), counts.end());
  const auto answer = std::make_shared<Done>(std::move(done));
  // Once for each call: by whoever finds something, or at the end.
  const auto again = [this, h, mine, answer](bool) {
    Collected c;
    {
      MutexLock lock(mutex_);
      c.failure = take(h, *mine, &c.pieces);
    }
    (*answer)(std::move(c));
  };
  Collected c;
  {
    MutexLock lock(mutex_);
    c.failure = take(h, *mine, &c.pieces);
    if (!c.failure && c.pieces.empty()) {
      boxes_[h.worker].waiting.wait(patience, again);
      return;
    }
  }
  (*answer)(std::move(c));
}

void Mailbox::tick(Clock::time_point now, bool leaving) {
  std::vector<Meeting::Go> ready;
  {
    MutexLock lock(mutex_);
    for (auto& [worker, box] : boxes_)
      for (auto& go : leaving ? box.waiting.all() : box.waiting.late(now))
        ready.push_back(std::move(go));
  }
  for (const auto& go : ready) go(false);
}

uint64_t Mailbox::bytes() const {
  MutexLock lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [worker, box] : boxes_) sum += box.bytes;
  return sum;
}

}  // namespace argosy::ps

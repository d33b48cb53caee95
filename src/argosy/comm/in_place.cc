#include "argosy/comm/in_place.h"

#include <algorithm>
#include <cstring>

#include "argosy/base/error.h"
#include "argosy/comm/combine.h"

namespace argosy::comm {

namespace {

// What a rank shows of its tensors: how many entries, then these, as long as all tensors together.
struct Entry {
  uint64_t offset;  // in its Engine::tensors
  uint64_t bytes;
};
constexpr uint64_t kHidden = ~uint64_t{0};  // not all see it
constexpr size_t kMostEntries = (kWindow - sizeof(Entry)) / sizeof(Entry);

// What is reduced at a time: it stays in the nearest cache while it is written to all ranks.
constexpr size_t kPortion = size_t{16} << 10;
constexpr size_t kLine = 64;

bool sees_all(const Board& board) {
  for (int r = 0; r < board.size(); ++r)
    if (!board.tensors(r).bytes) return false;
  return true;
}

// Goes through a rank's entries.
class Cursor {
 public:
  explicit Cursor(const char* window)
      : next_(reinterpret_cast<const Entry*>(window) + 1),
        end_(next_ +
             std::min<uint64_t>(reinterpret_cast<const Entry*>(window)->bytes, kMostEntries)) {}
  // Bytes that the current entry has left; 0: there is none.
  uint64_t left() {
    while (next_ != end_ && next_->bytes == passed_) {
      ++next_;
      passed_ = 0;
    }
    return next_ == end_ ? 0 : next_->bytes - passed_;
  }
  // The address of what comes next; null if it is hidden.
  char* at(Engine::Area area) const {
    const uint64_t offset = next_->offset;
    if (offset == kHidden || offset > area.bytes || next_->bytes > area.bytes - offset)
      return nullptr;
    return reinterpret_cast<char*>(area.begin + offset + passed_);
  }
  void pass(uint64_t bytes) { passed_ += bytes; }

 private:
  const Entry* next_;
  const Entry* end_;
  uint64_t passed_ = 0;
};

}  // namespace

InPlace::InPlace(Board& board, Steps& steps, const Job& job) : board_(board), job_(job) {
  show_own(steps);
  steps.show();
  find_seen(steps);
}

// Tensors are seen where they are written where they are read, which a copy that is not contiguous
// is not.
void InPlace::show_own(Steps& steps) const {
  std::vector<Entry> entries;
  const bool any = sees_all(board_);
  const Engine::Area area = board_.tensors(board_.rank());
  each_of_both(job_.receive[0], 0, job_.send[0], 0, job_.bytes(),
               [&](const char* to, const char* from, size_t, size_t n) {
                 const uint64_t offset = reinterpret_cast<uintptr_t>(to) - area.begin;
                 const bool seen = any && to == from && offset < area.bytes;
                 if (!seen && !entries.empty() && entries.back().offset == kHidden)
                   entries.back().bytes += n;
                 else
                   entries.push_back({seen ? offset : kHidden, n});
               });
  if (entries.size() > kMostEntries) entries = {{kHidden, job_.bytes()}};
  auto* shown = reinterpret_cast<Entry*>(steps.mine());
  shown[0].bytes = entries.size();
  std::ranges::copy(entries, shown + 1);
}

// All ranks read the same, and find the same.
void InPlace::find_seen(const Steps& steps) {
  std::vector<Cursor> cursors;
  for (int r = 0; r < board_.size(); ++r) cursors.emplace_back(steps.of(r));
  for (size_t begin = 0; begin < job_.bytes();) {
    uint64_t bytes = job_.bytes() - begin;
    for (Cursor& c : cursors) bytes = std::min(bytes, c.left());
    ARGOSY_INVARIANT(bytes > 0);
    Stretch stretch{{}, begin, bytes};
    for (int r = 0; r < board_.size(); ++r) {
      Cursor& c = cursors[static_cast<size_t>(r)];
      stretch.at.push_back(c.at(board_.tensors(r)));
      c.pass(bytes);
    }
    if (std::ranges::count(stretch.at, nullptr)) stretch.at.clear();
    stretches_.push_back(std::move(stretch));
    begin += bytes;
  }
}

template <class Use>
void InPlace::each_seen(size_t begin, size_t bytes, Use&& use) const {
  for (const Stretch& s : stretches_) {
    if (s.at.empty()) continue;
    const size_t end = std::min(begin + bytes, s.begin + s.bytes);
    for (size_t at = std::max(begin, s.begin); at < end; at += kPortion)
      use(s, at - s.begin, std::min(kPortion, end - at));
  }
}

template <class Use>
void InPlace::each_hidden(size_t begin, size_t bytes, Use&& use) const {
  for (const Stretch& s : stretches_) {
    const size_t from = std::max(begin, s.begin), to = std::min(begin + bytes, s.begin + s.bytes);
    if (s.at.empty() && from < to) use(from, to - from);
  }
}

void InPlace::reduce() const {
  const auto n = static_cast<size_t>(board_.size()), me = static_cast<size_t>(board_.rank());
  const auto item = static_cast<size_t>(item_size(job_.header.dtype));
  std::vector<char*> at(n);
  std::vector<const char*> sources(n);
  for (const Stretch& s : stretches_) {
    if (s.at.empty()) continue;
    const size_t share = (s.bytes / n + kLine) / kLine * kLine;
    const size_t from = std::min(s.bytes, me * share), to = std::min(s.bytes, (me + 1) * share);
    each_seen(s.begin + from, to - from, [&](const Stretch&, size_t offset, size_t bytes) {
      std::ranges::transform(s.at, at.begin(), [offset](char* p) { return p + offset; });
      std::ranges::copy(at, sources.begin());
      combine(job_.header.op, job_.header.dtype, at, sources, static_cast<int64_t>(bytes / item),
              board_.size());
    });
  }
}

Job InPlace::rest() const {
  Job rest;
  rest.header = job_.header;
  rest.send.push_back(hidden(job_.send[0], 0, job_.bytes()));
  rest.receive.push_back(hidden(job_.receive[0], 0, job_.bytes()));
  rest.header.count = rest.receive[0].bytes() / static_cast<size_t>(item_size(job_.header.dtype));
  return rest;
}

void InPlace::gather(size_t begin, size_t bytes, Reduce op) const {
  const auto me = static_cast<size_t>(board_.rank());
  const auto item = static_cast<size_t>(item_size(job_.header.dtype));
  std::vector<const char*> sources(static_cast<size_t>(board_.size()));
  each_seen(begin, bytes, [&](const Stretch& s, size_t at, size_t n) {
    std::ranges::transform(s.at, sources.begin(), [at](char* p) { return p + at; });
    combine(op, job_.header.dtype, s.at[me] + at, sources, static_cast<int64_t>(n / item),
            board_.size());
  });
}

void InPlace::spread(size_t begin, size_t bytes, int divisor) const {
  const auto me = static_cast<size_t>(board_.rank());
  const auto item = static_cast<size_t>(item_size(job_.header.dtype));
  std::vector<char*> at(static_cast<size_t>(board_.size()));
  each_seen(begin, bytes, [&](const Stretch& s, size_t offset, size_t n) {
    std::ranges::transform(s.at, at.begin(), [offset](char* p) { return p + offset; });
    const char* own = at[me];
    if (divisor) {
      combine(Reduce::avg, job_.header.dtype, at, {&own, 1}, static_cast<int64_t>(n / item),
              divisor);
      return;
    }
    for (char* to : at)
      if (to != own) std::memcpy(to, own, n);
  });
}

size_t InPlace::hidden_bytes(size_t begin, size_t bytes) const {
  size_t all = 0;
  each_hidden(begin, bytes, [&](size_t, size_t n) { all += n; });
  return all;
}

Pieces InPlace::hidden(const Pieces& pieces, size_t begin, size_t bytes) const {
  Pieces out;
  each_hidden(begin, bytes, [&](size_t at, size_t n) {
    pieces.each(at, n, [&](char* p, size_t, size_t k) { out.add(p, k); });
  });
  return out;
}

}  // namespace argosy::comm

#include "argosy/ps/service/durable_copy.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <thread>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

using std::chrono::milliseconds;

// Pushes wait while one piece is copied: a few ms.
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;
// While there are pushes, a copy takes no more of the disk and the cores than this, in bytes a
// second.
constexpr double kPace = 220e6;

struct Copy {
  uint32_t shard;
  Rows rows;
  std::vector<Key> deleted;
};

}  // namespace

void waited_in_vain(const std::string& who, const std::string& holder,
                    std::chrono::steady_clock::time_point since) {
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - since;
  ARGOSY_THROW(timeout)
      << "[parameter_server] " << who << " waited " << std::round(10 * waited.count()) / 10
      << " s for " << holder
      << " to end. Do this: look at the health of the disk, or set turn_limit of the server.";
}

void enter_alone(Gate& gate, milliseconds limit, const char* who) {
  const auto since = std::chrono::steady_clock::now();
  if (!gate.enter_alone(limit, who)) waited_in_vain(who, gate.holder(), since);
}

void take_turn(Turn& turn, milliseconds limit, const std::string& who) {
  const auto since = std::chrono::steady_clock::now();
  if (!turn.take(limit, who)) waited_in_vain(who, turn.holder(), since);
}

Alone::Alone(Gate& gate, milliseconds limit, const char* who) : gate_(gate) {
  enter_alone(gate, limit, who);
}

void Pace::wait() {
  if (const uint64_t now = gate_.entered(); now != entered_) {
    entered_ = now;
    busy_ = Clock::now() + milliseconds(500);
  }
  if (Clock::now() > busy_) free_ = Clock::now();
  std::this_thread::sleep_until(free_);
}

void Pace::pay(uint64_t bytes) {
  free_ = std::max(free_, Clock::now() - milliseconds(100)) +
          std::chrono::duration_cast<Clock::duration>(
              std::chrono::duration<double>(static_cast<double>(bytes) / kPace));
}

namespace {

void add_scores(const Rows& rows, Copier::Scores* to) {
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    const float score = to->table->delta_score(std::span(rows.bytes).subspan(rows.offsets[i]));
    if (score <= 0) continue;
    to->keys.push_back(rows.keys[i]);
    to->scores.push_back(score);
  }
}

}  // namespace

uint64_t Copier::copy(SnapshotWriter* writer, const std::vector<SparseTable*>& tables,
                      const What& what, const Interrupted& interrupted,
                      std::vector<Scores>* scores) {
  uint64_t sum = 0;
  Pace pace(gate_);
  std::vector<Copy> copies;
  for (SparseTable* table : tables) {
    if (scores) scores->push_back({table, {}, {}});
    for (uint32_t shard = 0; shard < kShards;) {
      interrupted();
      pace.wait();
      uint64_t bytes = 0, position = 0;
      size_t n = 0;
      {
        std::optional<Alone> alone;
        if (what.consistent) {
          alone.emplace(gate_, limit_, "a snapshot");
          position = log_ ? log_->last() : 0;
        }
        for (; shard < kShards && bytes < kPieceBytes; ++shard, ++n) {
          if (n == copies.size()) copies.emplace_back();
          Copy& copy = copies[n];
          copy.shard = shard;
          copy.rows.clear();
          copy.deleted.clear();
          table->copy_shard(shard, what.selection, what.mark, &copy.rows, &copy.deleted);
          bytes += copy.rows.bytes.size() + 8 * (copy.rows.keys.size() + copy.deleted.size());
        }
      }
      for (size_t i = 0; i < n; ++i) {
        const Copy& copy = copies[i];
        if (!what.positions && copy.rows.keys.empty() && copy.deleted.empty()) continue;
        writer->write(*table, copy.shard, position, copy.rows, copy.deleted);
        if (scores) add_scores(copy.rows, &scores->back());
      }
      sum += bytes;
      pace.pay(bytes);
    }
  }
  return sum;
}

void Copier::copy_hottest(SnapshotWriter* writer, const std::vector<SparseTable*>& tables,
                          float share, const Interrupted& interrupted) {
  // A count of rows for each range of shows: floats of no sign are ordered as their bits are.
  const auto range = [](float shows) { return std::bit_cast<uint32_t>(shows) >> 15; };
  Rows rows, kept;
  for (SparseTable* table : tables) {
    const auto each = [&](auto&& f) {
      for (uint32_t shard = 0; shard < kShards; ++shard) {
        interrupted();
        rows.clear();
        table->copy_shard(shard, Selection::all, false, &rows, nullptr);
        for (size_t i = 0; i < rows.keys.size(); ++i) {
          const std::span row(rows.bytes.data() + rows.offsets[i],
                              rows.offsets[i + 1] - rows.offsets[i]);
          if (const float shows = table->shows(row); shows >= 0) f(rows.keys[i], row, shows + 0.0f);
        }
        if (kept.keys.empty()) continue;
        writer->write(*table, shard, 0, kept, {});
        kept.clear();
      }
    };
    std::vector<uint64_t> counts(size_t{1} << 16);
    uint64_t all = 0;
    each([&](Key, auto, float shows) { ++counts[range(shows)], ++all; });
    const double part = table->counts_shows() ? static_cast<double>(share) : 1;
    auto room = static_cast<uint64_t>(std::ceil(part * static_cast<double>(all)));
    uint32_t lowest = static_cast<uint32_t>(counts.size());
    while (lowest > 0 && counts[lowest - 1] <= room) room -= counts[--lowest];
    // Of the range below, as many as there is room for.
    each([&](Key key, auto row, float shows) {
      const uint32_t at = range(shows);
      if (at < lowest && (at + 1 < lowest || room == 0)) return;
      if (at < lowest) --room;
      kept.keys.push_back(key);
      kept.bytes.insert(kept.bytes.end(), row.begin(), row.end());
      kept.offsets.push_back(static_cast<uint32_t>(kept.bytes.size()));
    });
  }
}

}  // namespace argosy::ps

#include "argosy/ps/service/durable_snapshots.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

using Clock = std::chrono::steady_clock;

// Snapshots that add to a complete one: at most so many, and half of its bytes in all.
constexpr size_t kMaxAdded = 16;

std::string new_name() {
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  gmtime_r(&now, &utc);
  char when[32], name[64];
  std::strftime(when, sizeof when, "%Y%m%dT%H%M%S", &utc);
  std::snprintf(name, sizeof name, "save-%s-%08x", when, static_cast<unsigned>(random_number()));
  return name;
}

}  // namespace

TableSet Keeping::tables(uint32_t only) const {
  TableSet set{host.options().index, host.options().servers, host.sparse_tables(),
               host.dense_tables(), only};
  if (only == kAllTables) return set;
  const auto other = [&](const auto* table) { return table->config().id != only; };
  std::erase_if(set.sparse, other);
  std::erase_if(set.dense, other);
  ARGOSY_CHECK(!set.sparse.empty() || !set.dense.empty(), invalid_argument)
      << "[parameter_server] there is no table " << only
      << ". Do this: name a table of the program; argosy show prints them.";
  return set;
}

Manifest Keeping::manifest(const std::string& save, const std::string& after, int mode) const {
  Manifest m;
  m.save = save;
  m.after = after;
  m.mode = mode;
  m.server = host.options().index;
  m.servers = host.options().servers;
  m.epoch = host.epoch();
  m.tables = host.options().tables;
  return m;
}

bool Snapshots::can_add() const {
  if (!marks_hold_ || chain_.empty() || chain_.size() > kMaxAdded ||
      2 * added_bytes_ >= complete_bytes_)
    return false;
  const auto tables = k_.host.sparse_tables();
  return std::all_of(tables.begin(), tables.end(),
                     [](const SparseTable* t) { return t->tracks_changes(); });
}

void Snapshots::write(How how, const Copier::Interrupted& interrupted) {
  const bool alone = how == How::alone;
  const auto start = Clock::now();
  const bool add = can_add();
  // Else it might take the last room from the log, only to fail.
  if (how == How::in_background && k_.log && complete_bytes_) check_room(k_.own, complete_bytes_);
  marks_hold_ = false;
  const std::string name = new_name();
  SnapshotWriter writer(k_.own, k_.manifest(name, add ? chain_.back() : "", 0));
  // f(position) while no pass is held.
  const auto still = [&](bool hold, auto&& f) {
    std::optional<Alone> quiet;
    if (hold && !alone) quiet.emplace(k_.gate, k_.limit(), "a snapshot");
    return f(k_.position());
  };
  const auto add_state = [&] {
    std::string state;
    const uint64_t at = still(true, [&](uint64_t position) {
      state = k_.host.save_state();
      return position;
    });
    writer.add_state(state, at);
    return at;
  };
  // With a log, of before the copies: it brings what came later. Without one, of after them: what
  // some shards have already must not be taken for new when it is sent again.
  const uint64_t first = k_.log ? add_state() : 0;
  Copier(k_.gate, k_.log.get(), k_.limit())
      .copy(&writer, k_.host.sparse_tables(),
            {.selection = add ? Selection::changed : Selection::all,
             .mark = true,
             .consistent = k_.log && !alone,
             .positions = true},
            interrupted);
  for (DenseTable* table : k_.host.dense_tables()) {
    std::vector<std::byte> bytes;
    const uint64_t position = still(k_.log != nullptr, [&](uint64_t at) {
      bytes = table->copy();
      return at;
    });
    writer.add_dense(*table, bytes, position);
  }
  if (!k_.log) add_state();
  // What tables have must not be ahead of the log.
  if (k_.log) k_.log->wait(k_.log->last(), std::chrono::seconds(60));
  writer.finish();
  std::vector<std::string> chain = add ? chain_ : std::vector<std::string>();
  chain.push_back(name);
  write_index(k_.own, chain);
  const auto in_place = Clock::now();
  remove_other_saves(k_.own, chain);
  chain_ = std::move(chain);
  (add ? added_bytes_ : complete_bytes_) = writer.bytes() + (add ? added_bytes_ : 0);
  if (!add) added_bytes_ = 0;
  marks_hold_ = true;
  if (k_.log) k_.log->forget(first);
  ++count;
  rows = writer.rows();
  bytes = writer.bytes();
  milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(in_place - start).count();
}

}  // namespace argosy::ps

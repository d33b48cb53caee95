#include "argosy/ps/service/durable_recovery.h"

#include <algorithm>

#include "argosy/base/error.h"
#include "argosy/ps/service/log_segment.h"
#include "argosy/ps/service/log_tables.h"

namespace argosy::ps {

// A directory that servers of another number filled must not look empty to us.
void Recovery::check_directory() const {
  const ServerOptions& o = k_.host.options();
  const std::string end = "-of-" + std::to_string(o.servers);
  for (const std::string& name : list_directory(o.directory)) {
    ARGOSY_CHECK(!name.starts_with("server-") || name.ends_with(end), io)
        << "[parameter_server] '" << o.directory << "' holds '" << name << "', but now there are "
        << o.servers
        << " servers. Do this: start as many as before, save the model, and load it into new "
           "servers with a new directory.";
  }
}

void Recovery::replay(const LoadedCut& cut) {
  const std::string directory = join_path(k_.own, "log");
  check_log_tables(directory, k_.host.options().tables);
  LogOptions options;
  options.directory = directory;
  // Whole segments go when a snapshot covers them: what stays must not bring the next one.
  options.segment_bytes = std::min(options.segment_bytes, k_.host.options().snapshot_log_bytes / 4);
  k_.log = std::make_unique<Log>(options, cut.lowest());
  ARGOSY_CHECK(k_.log->last() >= cut.highest(), io)
      << "[log] '" << directory << "' ends at record " << k_.log->last()
      << ", but the snapshot has effects of record " << cut.highest()
      << ": files are missing. Do this: put them back, or move '" << k_.own
      << "' away and start from the last saved model.";
  LogReader reader(directory, cut.lowest());
  LogRecord record;
  while (reader.next(&record)) {
    k_.host.replay(record.payload, record.number, cut);
    ++records;
  }
  write_log_tables(directory, k_.host.options());
}

void Recovery::run() {
  const auto start = std::chrono::steady_clock::now();
  check_directory();
  k_.lock = std::make_unique<DirectoryLock>(k_.own);
  const TableSet set = k_.tables();
  std::vector<std::string> chain = read_index(k_.own);
  const bool has_log = !list_segments(join_path(k_.own, "log")).empty();
  const bool began = !chain.empty() || has_log;
  if (began) {
    // A tier on disk has rows of later than the snapshot.
    for (SparseTable* table : set.sparse) table->clear();
  }
  const Loaded loaded = load_snapshot(k_.own, set);
  rows = loaded.rows;
  snapshots_.start_from(std::move(chain));
  if (loaded.has_state) k_.host.load_state(std::as_bytes(std::span(loaded.state)));
  if (k_.logs || has_log) replay(loaded.cut);
  remove_other_saves(k_.own, loaded.saves);
  const auto on_disk = [](const SparseTable* t) { return t->config().tier == "ssd"; };
  if (!k_.logs && k_.log) {
    // From now on there is no log, and what it had must be in a snapshot.
    snapshots_.write(Snapshots::How::waiting, [] {});
    k_.log.reset();
    remove_tree(join_path(k_.own, "log"));
  } else if (k_.logs && !began && std::any_of(set.sparse.begin(), set.sparse.end(), on_disk)) {
    // A tier may have rows from before there was a log: recovery clears it, so they must be in a
    // snapshot before anybody relies on them.
    snapshots_.write(Snapshots::How::waiting, [] {});
  }
  milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(
                     std::chrono::steady_clock::now() - start)
                     .count();
}

}  // namespace argosy::ps

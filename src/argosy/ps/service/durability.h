#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/ps/service/server.h"
#include "argosy/ps/table/table.h"

// What a server keeps on disk. The server says what happens as records (bytes that only it reads);
// durability keeps them in order, with copies of the tables, and brings both back.
//
// A change of tables: Pass pass(d); position = d.append(record); apply it; leave the pass; answer
// once `when_durable(position)` calls back. So at any moment that no pass is held, what was
// appended and what is applied are the same.
namespace argosy::ps {

// Up to which record (inclusive) what was loaded has the effects of the log. Filled by recovery.
class Cut {
 public:
  virtual ~Cut() = default;
  // Dense tables are shard 0.
  virtual uint64_t position(uint32_t table, uint32_t shard) const = 0;
  // Of the state of Host::save_state.
  virtual uint64_t state_position() const = 0;
};

// The server, as durability sees it.
class Host {
 public:
  virtual ~Host() = default;
  virtual const ServerOptions& options() const = 0;
  virtual std::vector<SparseTable*> sparse_tables() = 0;
  virtual std::vector<DenseTable*> dense_tables() = 0;
  // Exactly-once windows, open steps, epoch. Called while no other pass is held.
  virtual std::string save_state() = 0;
  // Of a directory that a server with the same index and number of servers wrote. When it was
  // written by others (re-sharding), new_epoch is called instead, with theirs.
  virtual void load_state(std::span<const std::byte> state) = 0;
  virtual uint64_t epoch() const = 0;
  virtual void new_epoch(uint64_t after) = 0;
  // Applies a record to what `cut` says does not have it yet.
  virtual void replay(std::span<const std::byte> record, uint64_t position, const Cut& cut) = 0;
};

class Directory;
using SaveId = uint64_t;
constexpr std::chrono::milliseconds kSaveLease{20'000};

// Waits end after options().turn_limit with ErrorKind::timeout, which names what is waited for.
class Durability {
 public:
  virtual ~Durability() = default;

  // Loads the newest whole snapshot of the directory and replays the log. Before anything else.
  virtual void recover() = 0;
  // The host is complete: from now on there are snapshots, at its end too. Without this what was
  // kept stays as it is.
  virtual void begin() = 0;

  // A shared pass: many at once, for changes of single rows. Waits while one shard is copied.
  virtual void enter() = 0;
  // enter, if that needs no waiting. (The default: it always might.)
  virtual bool try_enter() { return false; }
  virtual void leave() = 0;
  // The only pass, for what must not meet other changes of the same rows (assign).
  virtual void enter_exclusive() = 0;
  virtual void leave_exclusive() = 0;
  // The only one, and no snapshot is being written: for changes of whole tables (shrink, end of
  // day, load). Other passes wait.
  virtual void enter_alone() = 0;
  virtual void leave_alone() = 0;

  // Within a pass. The record is the pieces one after another. Returns its position; positions
  // grow from 1. Throws ErrorKind::io if it cannot be written (nothing is then appended). Modes
  // without a log return 0. Once it returns, recovery applies the record: so whatever may refuse
  // the change comes before, and the change itself must not fail.
  virtual uint64_t append(std::span<const std::span<const std::byte>> pieces) = 0;
  // Calls `done` once all up to `position` is on disk (group commit), from any thread, maybe before
  // this returns; with the reason if that failed, else with an empty text. Outside of passes.
  virtual void when_durable(uint64_t position, std::function<void(const std::string&)> done) = 0;

  // Writes this server's part of all tables into `directory` (modes as Client::save, without the
  // shrink), aside and renamed; then removes what the index of the directory named before, and
  // nothing else. Returns rows.
  // With one server it is enough; with more, their parts would be of different moments.
  virtual uint64_t save(const std::shared_ptr<const Directory>& directory, int mode,
                        const Extent& extent = {}) = 0;
  // The same in steps, each of which all servers end before the next begins, so that all parts are
  // of one moment and nobody finds a save that is not whole. Between pause and finish_save, passes
  // wait; `limit` after the pause at the latest they go on, and the save has failed. So it has when
  // a step throws, or cancel_save is called.
  // reserve_save comes first, of one server, and its number is what all others are told;
  // publish_save there comes last. Saves of several clients then follow each other as a whole: none
  // waits for one that waits for it, and none removes what another writes.
  // Between two steps `lease` passes at most, or the save is given up, as that of a client that
  // died: keep_save, now and then, says that it lives.
  virtual SaveId reserve_save(std::chrono::milliseconds lease = kSaveLease) = 0;
  virtual void prepare_save(SaveId save, const std::shared_ptr<const Directory>& directory,
                            int mode, const Extent& extent = {}) = 0;
  virtual void pause(SaveId save, std::chrono::milliseconds limit) = 0;
  virtual uint64_t finish_save(SaveId save) = 0;
  virtual void publish_save(SaveId save) = 0;
  virtual void cancel_save(SaveId save) = 0;
  virtual void keep_save(SaveId save) = 0;

  // How far a load has come.
  class LoadSteps {
   public:
    virtual ~LoadSteps() = default;
    virtual void placing() = 0;              // from now on tables change: an error leaves them half
    virtual void placed(uint64_t rows) = 0;  // in memory; what is kept on disk follows
  };
  // Puts the rows of `directory`, written by any number of servers, that belong here; holds
  // enter_alone itself, and makes them durable before it returns. Returns rows. Checks all files
  // before it puts the first row. A table alone, if one is named.
  virtual uint64_t load(const std::shared_ptr<const Directory>& directory, int mode,
                        uint32_t table = kAllTables, LoadSteps* steps = nullptr) = 0;
  // A snapshot for recovery, now.
  virtual void snapshot() = 0;

  // A JSON object: log_bytes, log_position, durable_position, snapshots, ...
  virtual std::string stats() = 0;
  // The end is near: the save in progress is cancelled, and who waits for a pass or a turn now gets
  // ErrorKind::timeout.
  virtual void interrupt() = 0;
  // Syncs, and ends its threads; false if something hangs on the disk longer than
  // options().stop_limit: then this must not be destroyed. After it only stats may be called.
  virtual bool stop() = 0;
};

enum class Passing : uint8_t { shared, exclusive, alone };

class Pass {
 public:
  explicit Pass(Durability& d, Passing how = Passing::shared) : d_(d), how_(how) {
    how == Passing::shared      ? d_.enter()
    : how == Passing::exclusive ? d_.enter_exclusive()
                                : d_.enter_alone();
  }
  ~Pass() {
    if (kept_) return;
    how_ == Passing::shared      ? d_.leave()
    : how_ == Passing::exclusive ? d_.leave_exclusive()
                                 : d_.leave_alone();
  }
  Pass(const Pass&) = delete;
  // For good: the server ends, and nobody may pass before it does.
  void keep() { kept_ = true; }

 private:
  Durability& d_;
  Passing how_;
  bool kept_ = false;
};

// Where in options.directory a server keeps what is its own.
std::string own_directory(const ServerOptions& options);

// By options().durability: none, snapshot, log. ValueError for others. `host` outlives it.
ARGOSY_API std::unique_ptr<Durability> make_durability(Host& host);

}  // namespace argosy::ps

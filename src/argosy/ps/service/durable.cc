#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "argosy/base/error.h"
#include "argosy/base/json.h"
#include "argosy/base/log.h"
#include "argosy/base/mutex.h"
#include "argosy/ps/service/durability.h"
#include "argosy/ps/service/durable_recovery.h"
#include "argosy/ps/service/durable_saves.h"
#include "argosy/ps/service/durable_snapshots.h"

namespace argosy::ps {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kRetryAfter{10};

// Puts the parts of durability together, and has the thread that takes snapshots in time.
class Store final : public Durability {
 public:
  explicit Store(Host& host) : k_(host) {
    const ServerOptions& o = host.options();
    ARGOSY_CHECK(o.durability == "none" || o.durability == "snapshot" || o.durability == "log",
                 invalid_argument)
        << "[parameter_server] durability: expected none, snapshot or log, got '" << o.durability
        << "'.";
    keeps_ = o.durability != "none";
    k_.logs = o.durability == "log";
    if (!keeps_) return;
    ARGOSY_CHECK(!o.directory.empty(), invalid_argument)
        << "[parameter_server] durability '" << o.durability
        << "' needs a directory. Do this: name one on a local disk.";
    k_.own = own_directory(o);
  }
  ~Store() override { stop(); }

  void recover() override {
    if (keeps_) recovery_.run();
  }
  void begin() override {
    thread_ = std::thread([this] { run(); });
  }
  void enter() override {
    const auto since = Clock::now();
    if (!k_.gate.enter(k_.limit())) waited_in_vain("a change of rows", k_.gate.holder(), since);
  }
  bool try_enter() override { return k_.gate.try_enter(); }
  void leave() override { k_.gate.leave(); }
  void enter_exclusive() override { ps::enter_alone(k_.gate, k_.limit(), "an assignment of rows"); }
  void leave_exclusive() override { k_.gate.leave_alone(); }
  void enter_alone() override {
    take_turn(k_.turn, k_.limit(), "a change of whole tables");
    try {
      ps::enter_alone(k_.gate, k_.limit(), "a change of whole tables");
    } catch (...) {
      k_.turn.give();
      throw;
    }
  }
  void leave_alone() override {
    k_.gate.leave_alone();
    k_.turn.give();
  }
  uint64_t append(std::span<const std::span<const std::byte>> pieces) override {
    return k_.logs ? k_.log->append(pieces) : 0;
  }
  void when_durable(uint64_t position, std::function<void(const std::string&)> done) override {
    k_.logs ? k_.log->when_durable(position, std::move(done)) : done({});
  }

  uint64_t save(const std::shared_ptr<const Directory>& directory, int mode,
                const Extent& extent) override {
    return saves_.whole(directory, mode, extent);
  }
  SaveId reserve_save(milliseconds lease) override { return saves_.reserve(lease); }
  void prepare_save(SaveId save, const std::shared_ptr<const Directory>& directory, int mode,
                    const Extent& extent) override {
    saves_.prepare(save, directory, mode, extent);
  }
  void pause(SaveId save, milliseconds limit) override { saves_.pause(save, limit); }
  uint64_t finish_save(SaveId save) override { return saves_.finish(save); }
  void publish_save(SaveId save) override { saves_.publish(save); }
  void cancel_save(SaveId save) override { saves_.cancel(save); }
  void keep_save(SaveId save) override { saves_.keep(save); }

  uint64_t load(const std::shared_ptr<const Directory>& directory, int mode, uint32_t table,
                LoadSteps* steps) override;
  void snapshot() override {
    if (keeps_) take_snapshot(Snapshots::How::waiting);
  }
  std::string stats() override;
  void interrupt() override;
  bool stop() override;

 private:
  void take_snapshot(Snapshots::How how);
  bool is_due(Clock::time_point last) const;
  bool wanted_elsewhere();  // the turn or the thread
  void run();

  Keeping k_;
  Snapshots snapshots_{k_};
  Saves saves_{k_, snapshots_};
  Recovery recovery_{k_, snapshots_};
  bool keeps_ = false;
  std::thread thread_;

  Mutex mutex_;
  CondVar wake_;
  bool stopping_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool ended_ ARGOSY_GUARDED_BY(mutex_) = false;  // the thread has
  std::string last_failure_ ARGOSY_GUARDED_BY(mutex_);
};

bool Store::wanted_elsewhere() {
  MutexLock guard(mutex_);
  return stopping_ || k_.turn.wanted();
}

// One in the background gives way to who waits for a turn.
void Store::take_snapshot(Snapshots::How how) {
  const bool background = how == Snapshots::How::in_background;
  if (!background)
    take_turn(k_.turn, k_.limit(), "a snapshot");
  else if (!k_.turn.take(milliseconds(0), "a snapshot"))
    return;
  struct Give {
    Turn& turn;
    ~Give() { turn.give(); }
  } give{k_.turn};
  snapshots_.write(how, [&] {
    ARGOSY_CHECK(!background || !wanted_elsewhere(), runtime)
        << "[snapshot] Gave way to a save, load or shrink, or to the end of the server.";
  });
}

uint64_t Store::load(const std::shared_ptr<const Directory>& directory, int, uint32_t table,
                     LoadSteps* steps) {
  const TableSet set = k_.tables(table);
  Pass pass(*this, Passing::alone);
  bool placing = false;
  try {
    const LoadChecks checks{[&](uint64_t bytes) {
      if (keeps_) check_room(k_.own, bytes);
      placing = true;
      if (steps) steps->placing();
    }};
    const Loaded loaded = load_snapshot(directory->path(), set, &checks);
    ARGOSY_CHECK(!loaded.saves.empty(), io)
        << "[load] '" << directory->path()
        << "' has no snapshot.json, so no save ended there. Do this: name the directory that was "
           "given to save.";
    // What is known of this load is in the snapshot with its rows, or neither is.
    if (steps) steps->placed(loaded.rows);
    snapshots_.lose_marks();
    if (keeps_) snapshots_.write(Snapshots::How::alone, [] {});
    return loaded.rows;
  } catch (const Error& e) {
    // The server ends now. Nobody may copy what is half.
    if (placing && keeps_) pass.keep();
    throw Error(e.kind(), directory->named(e.what()));
  }
}

bool Store::is_due(Clock::time_point last) const {
  const ServerOptions& o = k_.host.options();
  if (o.snapshot_every.count() > 0) return Clock::now() - last >= o.snapshot_every;
  return k_.log && k_.log->bytes() > std::max<uint64_t>(o.snapshot_log_bytes, snapshots_.bytes / 2);
}

void Store::run() {
  auto last = Clock::now();
  auto not_before = last;
  WaitLock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    saves_.tick();
    const bool saving = saves_.any();
    std::string failure;
    if (keeps_ && !saving && Clock::now() >= not_before && is_due(last)) {
      const uint64_t before = snapshots_.count;
      try {
        take_snapshot(Snapshots::How::in_background);
        if (snapshots_.count != before) last = Clock::now();
      } catch (const std::exception& e) {
        failure = e.what();
        not_before = Clock::now() + kRetryAfter;
      }
    }
    lock.lock();
    if (!failure.empty()) {
      if (!stopping_)
        ARGOSY_LOG(warning) << failure << " (a snapshot failed; the one before holds)";
      last_failure_ = failure;
    }
    wake_.wait_for(lock, milliseconds(saving ? 50 : 200),
                   [&]() ARGOSY_REQUIRES(mutex_) { return stopping_; });
  }
  lock.unlock();
  if (keeps_ && !k_.logs) {
    try {
      take_snapshot(Snapshots::How::waiting);
    } catch (const std::exception& e) {
      ARGOSY_LOG(error) << e.what() << " What was pushed since the last snapshot is lost.";
    }
  }
  lock.lock();
  ended_ = true;
  wake_.notify_all();
}

std::string Store::stats() {
  Json all = {{"mode", k_.host.options().durability},
              {"log_bytes", k_.log ? k_.log->bytes() : 0},
              {"log_position", k_.position()},
              {"durable_position", k_.log ? k_.log->durable() : 0},
              {"snapshots", snapshots_.count.load()},
              {"snapshot_rows", snapshots_.rows.load()},
              {"snapshot_bytes", snapshots_.bytes.load()},
              {"snapshot_ms", snapshots_.milliseconds.load()},
              {"save_pause_us", saves_.pause_us()},
              {"recovered_rows", recovery_.rows.load()},
              {"replayed_records", recovery_.records.load()},
              {"recovery_ms", recovery_.milliseconds.load()}};
  MutexLock guard(mutex_);
  all["last_failure"] = last_failure_;
  return json_text(all);
}

void Store::interrupt() {
  saves_.stop();
  k_.gate.cancel_waits();
  k_.turn.cancel_waits();
}

bool Store::stop() {
  saves_.stop();
  if (!thread_.joinable()) return true;
  // The thread's last work may be a whole snapshot.
  const bool snapshot_comes = keeps_ && !k_.logs;
  const milliseconds limit = snapshot_comes ? k_.limit() : k_.host.options().stop_limit;
  {
    WaitLock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
    if (!wake_.wait_for(lock, limit, [&]() ARGOSY_REQUIRES(mutex_) { return ended_; })) {
      ARGOSY_LOG(error) << "[parameter_server] a snapshot still runs " << limit.count() / 1000
                        << " s after the server was told to end: it is left behind. Look at the "
                           "health of the disk.";
      return false;
    }
  }
  thread_.join();
  if (k_.log) {
    try {
      k_.log->wait(k_.log->last(), k_.host.options().stop_limit);
    } catch (const Error& e) {
      ARGOSY_LOG(error) << e.what();
      // Its thread hangs in a call that nobody can end.
      if (e.kind() == ErrorKind::timeout) return false;
    }
  }
  // Another server of this process may have the directory now.
  k_.log.reset();
  k_.lock.reset();
  return true;
}

}  // namespace

std::string own_directory(const ServerOptions& o) {
  return join_path(o.directory,
                   "server-" + std::to_string(o.index) + "-of-" + std::to_string(o.servers));
}

std::unique_ptr<Durability> make_durability(Host& host) {
  return std::make_unique<Store>(host);
}

}  // namespace argosy::ps

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/ps/service/directory.h"
#include "argosy/ps/service/disk_calls.h"
#include "argosy/ps/service/durability.h"
#include "argosy/ps/service/mailbox.h"
#include "argosy/ps/service/message.h"
#include "argosy/ps/service/server_steps.h"
#include "argosy/ps/service/server_tasks.h"
#include "argosy/ps/service/window.h"

namespace argosy::ps {

// A server without its sockets: requests in, answers out.
//
// A change of tables goes: what may refuse it (checks, room on disk, rows that lie there); its
// record into the log; the change, which cannot fail; its number into the client's window. All
// within one pass. Where the change fails after all (memory), the server ends at once, and recovery
// does what the log says.
class ARGOSY_API Core : public Host {
 public:
  using Clock = std::chrono::steady_clock;
  struct Result {
    Failure failure;
    Answer answer;
  };
  using Done = std::function<void(Result)>;

  // Makes tables and recovers them.
  explicit Core(const ServerOptions& options);
  ~Core() override;

  // Never throws; calls `done` once, from any thread, when patience or the request's own wait is
  // over where it waits for other workers. Whatever the request says, nothing grows without bound.
  void handle(Request request, const Patience& patience, Done done);
  std::string stats();  // JSON
  // What the values of its answer will take; 0 where that is not known before.
  uint64_t answer_bytes(const Request& request) const;
  // Whether it comes again: whatever else is wrong with it, it has its answer.
  bool has_applied(const Header& header) const {
    return windows_.has_applied(header.client(), header.sequence);
  }
  // Called often: lets go who waited long enough, forgets silent clients.
  void tick();
  // When a client asks for the end.
  void on_stop(std::function<void()> stop) { on_stop_ = std::move(stop); }
  // When memory and log no longer say the same: ends the process, unless a test wants to see it.
  void on_fatal(std::function<void(const std::string& why)> fatal) { on_fatal_ = std::move(fatal); }
  // Nobody waits for others from now on.
  void leave() { leaving_ = true; }
  // Answers all who wait, ends threads, syncs. False if something hangs longer than
  // options().stop_limit: then this must not be destroyed.
  bool stop();

  const ServerOptions& options() const override { return options_; }
  std::vector<SparseTable*> sparse_tables() override;
  std::vector<DenseTable*> dense_tables() override;
  std::string save_state() override;
  // Recovery is alone: nobody else has this yet.
  void load_state(std::span<const std::byte> state) override ARGOSY_UNCHECKED;
  uint64_t epoch() const override { return epoch_; }
  void new_epoch(uint64_t after) override {
    epoch_ = after + 1;
    recovered_ = true;
  }
  void replay(std::span<const std::byte> record, uint64_t position,
              const Cut& cut) override ARGOSY_UNCHECKED;

 private:
  struct Table {
    TableConfig config;
    std::unique_ptr<SparseTable> sparse;
    std::unique_ptr<DenseTable> dense;
  };
  struct Record;  // what the log has of a request
  // Records of a log do what they did with the settings of then alone. Where those are others now,
  // a server that has them makes a snapshot of what the log holds first.
  static void end_log_of_other_settings(const ServerOptions& options);
  Table* find(uint32_t id) const;
  Table& sparse(uint32_t id) const;  // throw what handle answers
  Table& dense(uint32_t id) const;
  // Whether the call may have to wait for a tier on disk.
  bool waits_for_disk(const Request& request) const;
  // What a call does that waits for nobody else.
  Answer read(const Request& request);

  Answer hello(const Header& header);
  Answer pull_sparse(const Request& request);
  Answer pull_dense(const Request& request);
  void check_push(const Request& request) const;
  void check_client(const Header& header) const;
  // What is applied once: claims it, then has it done by a thread that may wait.
  void claim(Request request, Clock::time_point until, const Done& done);
  // `work` within a pass, which it leaves; `disk`: it may wait for a tier on disk.
  void pass(bool disk, Passing how, Clock::time_point until, Tasks::Work work,
            Tasks::Refuse refuse);
  void leave(Passing how);
  // Within a pass, which it leaves.
  void apply_push(Request& request, Passing how, const Done& done);
  uint64_t write_and_push(Request& request);  // returns the record's position
  uint64_t write_and_gather(Request& request);
  void apply_whole(const Request& request, const Done& done);  // shrink, end of day, load, save
  uint64_t save(const Header& header);
  // The change that the log has cannot be made. The pass is kept, so that nothing comes after it.
  void die(const Failure& why);

  // Meetings of workers, within a pass, which they leave.
  void end_step(const Request& request, const Patience& patience, const Done& done);
  void gather(const Request& request, const Patience& patience, const Done& done);
  // Of the last worker that ends a step; returns those who waited.
  std::vector<Meeting::Go> apply_last(const Request& request,
                                      const std::vector<Steps::Change>& changes);
  std::vector<Steps::Change> step_changes() const ARGOSY_REQUIRES(meet_);
  void apply_step(const std::vector<Steps::Change>& changes,
                  const std::vector<std::unique_ptr<Prepared>>& prepared);
  void replay_step(const Cut& cut, uint64_t position) ARGOSY_UNCHECKED;
  void replay_push(Request& request, const Cut& cut, uint64_t position,
                   bool state) ARGOSY_UNCHECKED;
  void mail(Request request, const Patience& patience, const Done& done);  // post, collect
  bool takes_place(const Header& header) const ARGOSY_REQUIRES(meet_);

  uint64_t append(const Request& request);
  // The pass was applied: tells others with the same number, and answers.
  void finish(const Header& header, std::vector<Windows::Waiter> waiters, Windows::Outcome outcome,
              const Done& done);
  void answer_when_durable(const Windows::Outcome& outcome, Answer answer, Done done);

  const ServerOptions options_;
  std::vector<Table> tables_;
  const Roots roots_;
  uint64_t epoch_ = 1;
  bool recovered_ = false;  // something was
  const uint64_t incarnation_;
  Windows windows_;
  std::unique_ptr<Durability> durability_;
  std::unique_ptr<Tasks> tasks_;
  std::unique_ptr<DiskCalls> disk_calls_;  // where a table has rows on disk
  std::function<void()> on_stop_;
  std::function<void(const std::string&)> on_fatal_;
  std::atomic<bool> leaving_{false}, dying_{false};
  std::atomic<uint64_t> pulls_{0}, pushes_{0}, repeated_{0}, pulled_rows_{0}, pushed_rows_{0};

  Mutex meet_;  // taken after a pass of durability
  Steps steps_ ARGOSY_GUARDED_BY(meet_);
  Rounds rounds_ ARGOSY_GUARDED_BY(meet_);
  Meeting in_step_ ARGOSY_GUARDED_BY(meet_);
  Meeting in_round_ ARGOSY_GUARDED_BY(meet_);
  std::vector<uint32_t> in_round_of_ ARGOSY_GUARDED_BY(meet_);  // calls in in_round_, by worker
  uint64_t met_position_ ARGOSY_GUARDED_BY(meet_) = 0;  // of the last record about steps and rounds
  // Why the open step cannot be applied; empty: nothing known.
  bool step_busy_ ARGOSY_GUARDED_BY(meet_) = false;  // it is being applied
  std::string step_refusal_ ARGOSY_GUARDED_BY(meet_);

  Mailbox mailbox_;
  Clock::time_point last_expiry_ = Clock::now();  // of tick
};

// What differs between the tables of a server and those of a client, for an error; empty if
// nothing. Where rows lie is the server's business alone.
std::string difference(const std::vector<TableConfig>& servers, const std::string& clients);

}  // namespace argosy::ps

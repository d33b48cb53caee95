#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "argosy/ps/service/message.h"
#include "argosy/ps/table/table.h"

// Where workers meet: steps of synchronous training and rounds of collective calls. Both keep what
// came, so that a worker may ask again after a lost answer; neither waits by itself: the server
// keeps the callers (see Meeting) and lets them go in time.
namespace argosy::ps {

// Those who wait for the same event, with the time by which each must be answered.
class Meeting {
 public:
  using Clock = std::chrono::steady_clock;
  using Go = std::function<void(bool came)>;
  void wait(Clock::time_point until, Go go) { waiting_.push_back({until, std::move(go)}); }
  // To be called outside of locks: with true, or with false by those whose time is over.
  std::vector<Go> all();
  std::vector<Go> late(Clock::time_point now);

 private:
  struct One {
    Clock::time_point until;
    Go go;
  };
  std::vector<One> waiting_;
};

// The gradients of the open step. Not locked: the server does.
class ARGOSY_API Steps {
 public:
  Steps(uint32_t workers, uint64_t max_bytes) : max_bytes_(max_bytes), ended_(workers) {}

  // The step that can be pushed to next; what a worker that starts anew continues with.
  uint64_t next() const { return next_; }
  bool done(uint64_t step) const { return step < next_; }
  bool ended(uint32_t worker) const { return worker < ended_.size() && ended_[worker]; }
  // Whether a worker may push to the step or end it now; else why not.
  Failure check(uint32_t worker, uint64_t step, uint64_t bytes) const;
  // After check.
  void gather(const Header& header, Bytes keys, Bytes values);
  // After check. True: this was the last worker; apply is due.
  bool end(uint32_t worker, uint64_t step);
  // Calls push(table, keys, values, learning rate) with the mean over workers, one call for a
  // table (keys are in rising order; no keys for a dense one), and opens the next step. Of a click
  // row show and click are added up and the slot is kept.
  void apply(
      const std::function<const TableConfig*(uint32_t)>& config,
      const std::function<void(uint32_t, std::span<const Key>, std::span<float>, float)>& push);
  std::string missing() const;  // the workers, for an error

  std::string save() const;
  void load(std::span<const std::byte>* state);

 private:
  struct Part {
    uint32_t worker;
    uint64_t sequence;
    float learning_rate;
    Bytes keys, values;
  };
  const uint64_t max_bytes_;
  uint64_t next_ = 0;
  bool open_ = false;  // a worker is in step next_
  uint64_t bytes_ = 0;
  std::vector<bool> ended_;
  std::map<uint32_t, std::vector<Part>> parts_;  // by table
};

// Collective calls: every worker brings a text, and gets those of all. The current round and the
// one before it are kept: whoever is in a round has the answers of those before.
class ARGOSY_API Rounds {
 public:
  explicit Rounds(uint32_t workers) : last_(workers, 0) {}
  // Rounds count from 1.
  uint64_t next(uint32_t worker) const { return last_[worker] + 1; }
  Failure check(uint32_t worker, uint64_t round) const;
  // After check. True: all are there.
  bool join(uint32_t worker, uint64_t round, const std::string& name, std::string text);
  bool complete(uint64_t round) const;
  std::vector<std::string> parts(uint64_t round) const;
  std::string missing(uint64_t round) const;

  std::string save() const;
  void load(std::span<const std::byte>* state);

 private:
  struct Round {
    std::vector<std::string> texts, names;
    std::vector<bool> here;
    uint32_t count = 0;
  };
  std::vector<uint64_t> last_;  // by worker
  std::map<uint64_t, Round> rounds_;
};

// Of saved states: throw ErrorKind::io where there are not as many bytes.
void put_bytes(std::string* out, std::span<const std::byte> bytes);  // with their number
void put_number(std::string* out, uint64_t value);
uint64_t get_number(std::span<const std::byte>* in);
std::span<const std::byte> get_bytes(std::span<const std::byte>* in);

}  // namespace argosy::ps

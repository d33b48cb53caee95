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
#include "argosy/ps/service/patience.h"
#include "argosy/ps/table/table.h"

// Where workers meet: steps of synchronous training and rounds of collective calls. Both keep what
// came, so that a worker may ask again after a lost answer; neither waits by itself: the server
// keeps the callers (see Meeting) and lets them go in time.
namespace argosy::ps {

// Those who wait for the same event, each for as long as it has patience.
class Meeting {
 public:
  using Clock = std::chrono::steady_clock;
  using Go = std::function<void(bool came)>;
  void wait(Patience patience, Go go) { waiting_.push_back({std::move(patience), std::move(go)}); }
  // To be called outside of locks: with true, or with false by those whose patience is over.
  std::vector<Go> all();
  std::vector<Go> late(Clock::time_point now);

 private:
  struct One {
    Patience patience;
    Go go;
  };
  std::vector<One> waiting_;
};

// The gradients of the open step, by worker. Not locked: the server does.
//
// A worker's place belongs to the client that came into it last. What its predecessor brought to
// the open step counts if that had ended the step, and is discarded if not; steps that the
// predecessor ended are passed over when the new one pushes to them again.
class ARGOSY_API Steps {
 public:
  // What a step does to one table: keys are in rising order; none for a dense table.
  struct Change {
    uint32_t table;
    float learning_rate;
    std::vector<Key> keys;
    std::vector<float> values;
  };

  Steps(uint32_t workers, uint64_t max_bytes) : max_bytes_(max_bytes), workers_(workers) {}

  // The step that a process continues with which takes the place of a worker.
  uint64_t next(uint32_t worker) const;
  bool done(uint64_t step) const { return step < next_; }
  bool ended(uint32_t worker) const;
  bool all_ended() const;
  // Whether only this worker has not.
  bool last(uint32_t worker) const;
  ClientId owner(uint32_t worker) const;  // zeros: nobody yet
  // Whether a client may push `bytes` to the step or end it now; else why not. `successor`: it may
  // take the worker's place, where that is another's.
  Failure check(const Header& header, bool successor, uint64_t bytes) const;
  // After check: whether a predecessor has done this step.
  bool passed_over(const Header& header) const;
  // After check, where it is not passed over: the client has the worker's place from now on. The
  // next two do that too.
  void take_place(const Header& header);
  void gather(const Header& header, Bytes keys, Bytes values);
  void end(const Header& header);
  // The mean over workers. Of a click row show and click are added up and the slot is kept.
  std::vector<Change> changes(const std::function<const TableConfig*(uint32_t)>& config) const;
  // They were applied: the next step is open.
  void close();
  std::string missing() const;  // the workers, for an error

  std::string save() const;
  // `owners`: the state tells who has which place.
  void load(std::span<const std::byte>* state, bool owners);

 private:
  struct Worker {
    bool ended = false;
    ClientId owner;
    uint64_t began = 0;  // the owner's first step
  };
  struct Part {
    uint32_t worker;
    uint64_t sequence;
    float learning_rate;
    Bytes keys, values;
  };
  uint64_t began(const Header& header) const;
  std::vector<bool> here() const;

  const uint64_t max_bytes_;
  uint64_t next_ = 0;
  bool open_ = false;  // a worker is in step next_
  uint64_t bytes_ = 0;
  std::vector<Worker> workers_;
  std::map<uint32_t, std::vector<Part>> parts_;  // by table
};

// Collective calls: every worker brings a text, and gets those of all. The current round and the
// one before it are kept: whoever is in a round has the answers of those before. All must come for
// the same: the name says for what. A worker that came for the last time is not waited for again,
// and barriers that it left out pass it over. Once all have, who comes next is of another job.
class ARGOSY_API Rounds {
 public:
  explicit Rounds(uint32_t workers) : last_(workers, 0) {}
  // Rounds count from 1. One that nobody has an answer of is joined again by a process that takes
  // the worker's place.
  uint64_t next(uint32_t worker) const;
  Failure check(uint32_t worker, uint64_t round) const;
  // After check: why the worker cannot come for that, where others are there for something else.
  // `waiting`: how many calls of each worker wait now; others are given up and may be made again,
  // as another one.
  Failure disagreement(const Header& header, std::span<const uint32_t> waiting) const;
  // After check and disagreement. True: all are there.
  bool join(const Header& header, std::string text);
  bool complete(uint64_t round) const;
  // Whether the worker asks again for what ended it, and the others have gone on since.
  bool left(const Header& header) const;
  // Whether this is what the worker has joined the round with.
  bool has(const Header& header, std::string_view text) const;
  std::vector<std::string> parts(uint64_t round) const;
  std::string missing(uint64_t round) const;

  std::string save() const;
  // `kinds`: the state tells what each came for.
  void load(std::span<const std::byte>* state, bool kinds);

 private:
  struct Round {
    std::vector<std::string> texts, names;
    std::vector<bool> here;
    std::vector<Gather> kinds;
    uint32_t count = 0;
    bool last_of_all() const;
  };
  Round& at(uint64_t round);
  static bool fits(const Round& r, size_t i, const Header& header);
  std::vector<uint64_t> last_;  // by worker
  std::map<uint64_t, Round> rounds_;
};

// Of saved states: throw ErrorKind::io where there are not as many bytes.
void put_bytes(std::string* out, std::span<const std::byte> bytes);  // with their number
void put_number(std::string* out, uint64_t value);
uint64_t get_number(std::span<const std::byte>* in);
std::span<const std::byte> get_bytes(std::span<const std::byte>* in);

}  // namespace argosy::ps

#pragma once

#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/comm/choice.h"
#include "argosy/comm/error.h"
#include "argosy/comm/job.h"

namespace argosy::comm {

using Clock = std::chrono::steady_clock;

// What joins the ranks of one group, however they are connected: how a collective runs, a stream of
// bytes from each rank to each other one, and the group's one failure. Ranks here are numbers in
// the group. Board joins ranks that share memory, Mesh those that have links.
//
// The first failure is final and the same for all ranks: each wait of each rank ends with it.
//
// Threads: one at a time runs collectives, one at a time moves messages (put, get, listen);
// everything else may be called by any.
class ARGOSY_API Channel {
 public:
  // ranks: the members' numbers among all ranks.
  Channel(uint32_t number, std::vector<int> ranks, int rank);
  virtual ~Channel();

  uint32_t number() const { return number_; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  const std::vector<int>& ranks() const { return ranks_; }
  // A member's number among all ranks.
  int world_rank(int rank) const { return ranks_[static_cast<size_t>(rank)]; }
  virtual const char* engine() const = 0;
  // A part of the group of all, which `this` has to be. All ranks call it, in one order; members
  // get the channel, the others (rank -1) null. algorithm: of sums over links, none: that of
  // `this`.
  virtual std::shared_ptr<Channel> subgroup(uint32_t number, const std::vector<int>& ranks,
                                            int rank, double seconds,
                                            std::optional<Algorithm> algorithm) = 0;

  // With the same job on every rank, as its header says; throws CommError, and the group has failed
  // then. REQUIRES: sizes agree with header.count where that says them.
  virtual void run(const Job& job) = 0;

  // Whether other ranks write to this address of a tensor in run(), and may do so a little longer
  // when it throws here.
  virtual bool others_write(const void*) const { return false; }

  // As many bytes as can be moved now, 0 if none.
  virtual size_t put(int peer, std::span<const iovec> from) = 0;
  virtual size_t get(int peer, std::span<const iovec> to) = 0;
  // After bytes were moved: the peer may want to know.
  virtual void moved(int peer) = 0;
  // What `listen` compares: rung by `wake`, and by peers whose streams can be moved again.
  virtual uint32_t bell() const = 0;
  virtual void wake() = 0;
  // Who waits for what of a peer's streams: to put something, or for bytes, as many of which are
  // sure to come.
  struct Wish {
    int peer = 0;
    bool put = false;
    size_t bytes = 1;
  };
  // Until the bell is no longer `seen` or a wish may be granted; at most a twentieth of a second.
  virtual void listen(uint32_t seen, std::span<const Wish> wishes) = 0;

  // Throws what the group failed by, if it has.
  virtual void check() const = 0;
  virtual bool failed() const = 0;
  // Posts a failure unless there is one, and wakes everybody.
  virtual void post(Failure failure, const std::string& text) noexcept = 0;
  // The same, and throws the first.
  [[noreturn]] void fail(Failure failure, const std::string& text);
  // This rank takes part in nothing any more; who waits for it fails. What it has shown or sent
  // stays.
  virtual void leave() noexcept = 0;
  virtual bool left(int rank) const = 0;
  // Whether its process has ended. May cost a system call.
  virtual bool gone(int rank) const = 0;
  // Of one that is gone, by its number among all: for how many seconds nothing was heard of it;
  // 0: its process has ended.
  virtual double silence(int) const { return 0; }
  // What failures of other ranks may be explained by: the first one of the group of all.
  virtual std::string cause() const = 0;

 protected:
  // Of a posted failure: who closed the group is lost to the others.
  Failure seen(Failure posted) const {
    return posted == Failure::closed && !closed_here_ ? Failure::lost : posted;
  }
  std::atomic<bool> closed_here_{false};  // this rank posted Failure::closed

 private:
  const uint32_t number_;
  const std::vector<int> ranks_;
  const int rank_;
};

// Called about twenty times a second by who waits; what it throws ends the wait and the group.
// Null: nobody. For the bindings, which look for Ctrl-C.
ARGOSY_API void set_idle_hook(void (*hook)());
// Calls it.
ARGOSY_API void idle();

// The last sentence of a failure's text.
ARGOSY_API const char* remedy(Failure failure);
ARGOSY_API const char* remedy_of_silence();
// For how long nothing was heard of any of these; 0: one of them has ended.
double silence_of(const Channel& channel, const std::vector<int>& world_ranks);

// The texts of failures, alike for all kinds of channels.
// `late` and `here`: numbers among all ranks.
std::string text_of_waiting(const Channel& channel, const Header& what, Failure failure,
                            const std::vector<int>& late, const std::vector<int>& here,
                            double seconds);
std::string text_of_disagreement(const Channel& channel, const Header& a, int rank_a,
                                 const Header& b, int rank_b);
// Rank `to` expected other bytes of rank `from` than it has for it.
std::string text_of_sizes(const Channel& channel, const Header& what, int from, uint64_t sent,
                          int to, uint64_t expected);

}  // namespace argosy::comm

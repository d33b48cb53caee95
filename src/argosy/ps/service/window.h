#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/ps/service/message.h"

namespace argosy::ps {

// Which requests of which client were applied, so that each is applied once however often it
// arrives. For a client the last kWidth sequence numbers are known; older ones are refused,
// whatever became of them. About 1,300 bytes for a client; one that is silent for `expiry` is
// forgotten.
//
//   claim -> fresh: apply it, then either applied (before the pass of durability is left),
//   abandoned or refused. Others with the same number wait meanwhile.
//
// Calls from any thread. Time is the steady clock's: jumps of the wall clock do not matter.
class ARGOSY_API Windows {
 public:
  static constexpr uint64_t kWidth = 4096;
  using Clock = std::chrono::steady_clock;
  // Gets what the first attempt came to.
  struct Outcome {
    Failure failure;
    uint64_t position = 0;  // of the record that has to be durable before an answer
    uint64_t number = 0;    // that the answer brings
  };
  using Waiter = std::function<void(const Outcome&)>;
  enum class Claim : uint8_t { fresh, applied, refused, waiting, too_old, unknown_client };

  explicit Windows(std::chrono::seconds expiry, size_t max_clients = 65536)
      : expiry_(expiry), max_clients_(max_clients) {}

  // Makes a client known, or notes that it lives. False: there are too many.
  // `next` is the number of its next request. Of a client that was known and forgotten since
  // (`met`: it knows this life of the server), nobody can say which of the numbers below were
  // applied: they are refused as too old.
  bool hello(ClientId client, uint64_t next = 1, bool met = false);
  bool known(ClientId client) const;
  // Whether `a` became known later than `b`, as any does that is known when b no longer is.
  bool newer(ClientId a, ClientId b) const;
  // applied, refused: *outcome says how it went. waiting: `waiter` is called (once) when that is
  // known, by whoever calls applied or abandoned, outside of the lock.
  Claim claim(ClientId client, uint64_t sequence, Outcome* outcome, const Waiter& waiter);
  bool has_applied(ClientId client, uint64_t sequence) const;
  // What save writes from now on says that it was applied; attempts wait still for what it comes
  // to.
  void applying(ClientId client, uint64_t sequence, uint64_t number);
  // The waiters are to be called outside of any pass.
  std::vector<Waiter> applied(ClientId client, uint64_t sequence, uint64_t position,
                              uint64_t number = 0);
  // It was not applied, and may be tried again.
  std::vector<Waiter> abandoned(ClientId client, uint64_t sequence);
  // It was not applied, and the client was told so: an attempt that comes late is not applied
  // either.
  std::vector<Waiter> refused(ClientId client, uint64_t sequence, const Failure& why);
  // Counts rows that a client is about to make, while it is known. False: they would be more than
  // `most`, and do not count.
  bool take_rows(ClientId client, uint64_t rows, uint64_t most);
  void give_rows(ClientId client, uint64_t rows);  // that it did not make
  uint64_t rows(ClientId client) const;
  // While the log is replayed.
  void replayed(ClientId client, uint64_t sequence, uint64_t number);
  void expire();
  size_t clients() const;

  std::string save() const;
  // Throws ErrorKind::io on text that save did not write.
  void load(std::span<const std::byte> state);
  void clear();

 private:
  // Of the last kWidth numbers.
  struct Marks {
    std::array<uint64_t, kWidth / 64> words{};
    void set(uint64_t sequence) { word(sequence) |= bit(sequence); }
    void reset(uint64_t sequence) { word(sequence) &= ~bit(sequence); }
    void reset() { words = {}; }
    bool test(uint64_t sequence) const {
      return words[sequence / 64 % words.size()] & bit(sequence);
    }

   private:
    static uint64_t bit(uint64_t sequence) { return uint64_t{1} << sequence % 64; }
    uint64_t& word(uint64_t sequence) { return words[sequence / 64 % words.size()]; }
  };
  struct Running {
    uint64_t sequence;
    std::vector<Waiter> waiters;
  };
  struct Window {
    uint64_t born;          // counts clients in the order in which they became known
    uint64_t floor = 1;     // the lowest number that is not refused
    uint64_t highest = 0;   // claimed or applied
    uint64_t position = 0;  // of the last record
    uint64_t rows = 0;      // that it made or is about to make
    Marks applied, refused;
    std::vector<std::pair<uint64_t, Failure>> reasons;  // of the last few that were refused
    std::vector<Running> running;
    std::vector<std::pair<uint64_t, uint64_t>> numbers;  // the last few that are not 0
    Clock::time_point seen;
  };
  static void advance(Window* w, uint64_t sequence);
  static void set(Window* w, uint64_t sequence, uint64_t number);
  std::vector<Waiter> finish(Window* w, uint64_t sequence);
  Window& of(ClientId client) ARGOSY_REQUIRES(mutex_);  // makes it if need be

  const std::chrono::seconds expiry_;
  const size_t max_clients_;
  mutable Mutex mutex_;
  std::map<ClientId, Window> windows_ ARGOSY_GUARDED_BY(mutex_);
  uint64_t born_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace argosy::ps

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/channel.h"
#include "argosy/comm/engine.h"

namespace argosy::comm {

// Bytes that a rank shows in one step.
inline constexpr size_t kWindow = size_t{256} << 10;
// Bytes under way from one rank to another: a message of 128 KB with its header.
inline constexpr size_t kRing = (size_t{128} << 10) + 64;

// The memory of a group: what its ranks show each other, and how they wait.
//
// A collective is a series of *steps*, numbered through the life of the group. In a step each rank
// writes into its window, says so (`show`), and waits until all have (`all_shown`); then it may
// read the others' windows. There are two windows a rank, used in turn: who has shown step s + 1
// has read what it wanted of s, and nobody writes for s + 2 before all have shown s + 1. The same
// holds for headers, which are shown once a collective.
//
// Beside the steps there is a ring of bytes for each ordered pair of ranks. The first failure is
// written into the board.
class ARGOSY_API Board final : public Channel, public std::enable_shared_from_this<Board> {
 public:
  // The board of all ranks.
  static std::shared_ptr<Board> world(std::shared_ptr<Engine> engine);
  // offset: where in the engine's memory.
  Board(std::shared_ptr<Engine> engine, uint32_t number, std::vector<int> ranks, int rank,
        uint64_t offset, std::shared_ptr<Board> world);
  ~Board() override;

  // From now on the group's failure is that of `judge`, of which this board joins some ranks.
  void judge_by(std::shared_ptr<Channel> judge) { judge_ = std::move(judge); }

  const char* engine() const override { return engine_->name(); }
  std::shared_ptr<Channel> subgroup(uint32_t number, const std::vector<int>& ranks, int rank,
                                    double seconds, std::optional<Algorithm> algorithm) override;
  void run(const Job& job) override;

  // The next step's number, of this rank.
  uint32_t step() const { return step_; }
  char* window(int rank, uint32_t step) const;
  Header& header(int rank, uint64_t sequence) const;
  Engine::Area tensors(int rank) const { return engine_->tensors(world_rank(rank)); }
  bool others_write(const void* address) const override;

  void show();  // the step that step() says; the next one begins
  // How a rank waits for others.
  struct Wait {
    const Header& what;  // it takes part in: for the texts of failures
    Clock::time_point until;
    double seconds;
    const std::function<bool()>& meanwhile;  // see Job
  };
  // Waits for a step that was shown.
  void all_shown(uint32_t step, const Wait& wait);

  // The ring from rank `from` to rank `to`.
  struct Ring {
    alignas(64) std::atomic<uint64_t> written;
    alignas(64) std::atomic<uint64_t> read;
    alignas(64) char data[kRing];
  };
  Ring& ring(int from, int to) const;
  size_t put(int peer, std::span<const iovec> from) override;
  size_t get(int peer, std::span<const iovec> to) override;
  void moved(int peer) override { ring_bell(peer); }
  // A rank's bell rings when something happens to one of its rings.
  uint32_t bell() const override;
  void wake() override { ring_bell(rank()); }
  void listen(uint32_t seen, std::span<const Wish> wishes) override;

  void check() const override;
  bool failed() const override;
  void post(Failure failure, const std::string& text) noexcept override;
  void leave() noexcept override;
  bool left(int rank) const override;
  bool gone(int rank) const override { return engine_->gone(world_rank(rank)); }
  std::string cause() const override;

 private:
  struct Line;
  struct Shared;
  static uint64_t bytes_for(size_t ranks);
  Line& line(int rank) const;
  void ring_bell(int rank);
  void write_failure(Failure failure, const std::string& text) noexcept;
  void wake_all() noexcept;
  bool shown(int rank, uint32_t step) const;
  void wait_for(int rank, uint32_t step, const Wait& wait);
  [[noreturn]] void fail_waiting(Failure failure, uint32_t step, const Wait& wait);

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<char> memory_;
  Shared* shared_;
  uint32_t step_ = 0;
  const std::shared_ptr<Board> world_;  // null: this is it
  std::shared_ptr<Channel> judge_;      // null: this board itself
  uint64_t next_offset_ = 0;            // world: of the next group's memory; all ranks count alike
};

}  // namespace argosy::comm

#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "argosy/comm/choice.h"
#include "argosy/comm/links.h"

namespace argosy::comm {

// A channel over links: ranks of several hosts, or of one for tests. Collectives are conversations
// (Talk) between pairs of ranks, each of which begins with both headers.
class ARGOSY_API Mesh final : public Channel, public std::enable_shared_from_this<Mesh> {
 public:
  // The mesh of all ranks. Throws CommError.
  static std::shared_ptr<Mesh> world(std::shared_ptr<Network> network, Algorithm algorithm,
                                     double seconds);
  Mesh(std::shared_ptr<Network> network, std::unique_ptr<Links> links, Algorithm algorithm,
       uint32_t number, std::vector<int> ranks, int rank, std::shared_ptr<Mesh> world);
  ~Mesh() override;

  const char* engine() const override { return network_->name(); }
  std::shared_ptr<Channel> subgroup(uint32_t number, const std::vector<int>& ranks, int rank,
                                    double seconds, std::optional<Algorithm> algorithm) override;
  // Some of this group's ranks under the same number, and with the same failure; `links` tells
  // their links from those of others.
  std::shared_ptr<Mesh> part(uint32_t links, const std::vector<int>& members, int place,
                             double seconds);
  void run(const Job& job) override;

  size_t put(int peer, std::span<const iovec> from) override;
  size_t get(int peer, std::span<const iovec> to) override;
  void moved(int) override {}
  uint32_t bell() const override { return bell_.load(); }
  void wake() override;
  void listen(uint32_t seen, std::span<const Wish> wishes) override;

  void check() const override;
  bool failed() const override;
  void post(Failure failure, const std::string& text) noexcept override;
  void leave() noexcept override;
  bool left(int rank) const override;
  bool gone(int rank) const override;
  double silence(int world_rank) const override { return control().silence(world_rank); }
  std::string cause() const override;

  // For collectives.
  Algorithm algorithm() const { return algorithm_; }
  // That of ARGOSY_COMM_LINKS.
  static const LinkModel& model();
  // By which rules ways are chosen, as a number: ranks that differ must not begin. Its low byte is
  // the algorithm.
  uint32_t rules() const;
  Links& links() const { return *links_; }
  Control& control() const { return network_->control(); }
  // What has come from a peer and nobody has taken: the head of what it says next, and more.
  struct Ahead {
    static constexpr size_t kBytes = 4096;
    std::array<char, kBytes> bytes;
    size_t begin = 0, end = 0;
    size_t size() const { return end - begin; }
  };
  Ahead& ahead(int peer) { return ahead_[static_cast<size_t>(peer)]; }
  // Room for what one of them works with, kept for the next.
  char* scratch(size_t bytes);

 private:
  bool ended(Lane lane, int rank) const;

  const std::shared_ptr<Network> network_;
  const std::unique_ptr<Links> links_;
  const Algorithm algorithm_;
  const std::shared_ptr<Mesh> world_;  // null: this is it
  // Of who runs collectives:
  std::vector<Ahead> ahead_;
  std::unique_ptr<char[]> scratch_;
  size_t scratch_bytes_ = 0;
  std::atomic<uint32_t> bell_{0};
};

}  // namespace argosy::comm

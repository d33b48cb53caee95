#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/board.h"
#include "argosy/comm/mesh.h"

namespace argosy::comm {

// A channel of ranks on several hosts, some of which share one: a mesh of all, a board for each
// host, and a mesh of the first ranks of each host, one of the second ones, and so on ("across"),
// as far as all hosts have such ranks: their carriers.
//
// A large all_reduce goes over both (HostSum): each carrier reduces its share of what its host has,
// exchanges that across, and gives its host the result, stretch by stretch, so that hosts are busy
// while links are. A link between hosts carries what one rank has, not what all ranks of the host
// have. Collectives of ranks that are all on one host are its board's. Everything else is the
// mesh's, and so is the failure.
class ARGOSY_API Hybrid final : public Channel {
 public:
  // host: the memory that ranks of this one's host share, null if it is alone there. hosts: which
  // host each of all ranks is on.
  static std::shared_ptr<Channel> world(std::shared_ptr<Network> network, Algorithm algorithm,
                                        std::shared_ptr<Engine> host,
                                        std::vector<std::string> hosts, double seconds);
  ~Hybrid() override;

  const char* engine() const override { return mesh_->engine(); }
  std::shared_ptr<Channel> subgroup(uint32_t number, const std::vector<int>& ranks, int rank,
                                    double seconds, std::optional<Algorithm> algorithm) override;
  void run(const Job& job) override;
  bool others_write(const void* address) const override;

  size_t put(int peer, std::span<const iovec> from) override { return mesh_->put(peer, from); }
  size_t get(int peer, std::span<const iovec> to) override { return mesh_->get(peer, to); }
  void moved(int peer) override { mesh_->moved(peer); }
  uint32_t bell() const override { return mesh_->bell(); }
  void wake() override { mesh_->wake(); }
  void listen(uint32_t seen, std::span<const Wish> wishes) override { mesh_->listen(seen, wishes); }

  void check() const override { mesh_->check(); }
  bool failed() const override { return mesh_->failed(); }
  void post(Failure failure, const std::string& text) noexcept override;
  void leave() noexcept override;
  bool left(int rank) const override { return mesh_->left(rank); }
  bool gone(int rank) const override { return mesh_->gone(rank); }
  double silence(int world_rank) const override { return mesh_->silence(world_rank); }
  std::string cause() const override { return mesh_->cause(); }

 private:
  Hybrid(std::shared_ptr<Mesh> mesh, std::shared_ptr<Board> host,
         std::shared_ptr<const std::vector<std::string>> hosts);
  struct Places {
    int hosts = 0;
    size_t carriers = 0;      // of each host
    std::vector<int> across;  // numbers of those with this rank's place on their hosts; empty: it
                              // is no carrier
  };
  Places places(const std::vector<int>& ranks, int rank) const;
  void join_across(double seconds);
  void all_reduce(const Job& job);

  const std::shared_ptr<Mesh> mesh_;
  const std::shared_ptr<Board> host_;  // null: this rank is alone on its host
  const std::shared_ptr<const std::vector<std::string>> hosts_;
  int host_count_ = 0;
  size_t carriers_ = 0;           // 0: all goes over the mesh
  std::shared_ptr<Mesh> across_;  // null: this rank is no carrier, or there are none
  uint64_t turn_ = 0;             // of the board's collectives; one thread's at a time
};

}  // namespace argosy::comm

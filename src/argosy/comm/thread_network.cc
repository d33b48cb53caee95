#include "argosy/comm/thread_network.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "argosy/base/mutex.h"

namespace argosy::comm {

namespace {

// As much as a message that is sent before anybody receives it, with its header.
constexpr size_t kCapacity = (size_t{128} << 10) + 64;

// What one rank hears on one lane of a group.
struct Inbox {
  Mutex mutex;
  CondVar changed;
  // Of each rank.
  std::vector<std::deque<char>> streams ARGOSY_GUARDED_BY(mutex);
  std::vector<bool> closed ARGOSY_GUARDED_BY(mutex);
  // Counts what the owner may wait for: bytes, room in another inbox, a call of wake.
  uint64_t events ARGOSY_GUARDED_BY(mutex) = 0;

  void notify() {
    MutexLock lock(mutex);
    ++events;
    changed.notify_all();
  }
};

struct Room {
  explicit Room(size_t ranks) : inboxes(ranks * kLanes) {
    for (Inbox& box : inboxes) {
      MutexLock lock(box.mutex);
      box.streams.resize(ranks);
      box.closed.resize(ranks);
    }
  }
  Inbox& inbox(int rank, Lane lane) {
    return inboxes[static_cast<size_t>(rank) * kLanes + static_cast<size_t>(lane)];
  }
  std::vector<Inbox> inboxes;
};

struct ThreadWorld {
  explicit ThreadWorld(int size) : ended(static_cast<size_t>(size)) {}

  // Several sets of ranks may use one number, as long as they have no rank in common.
  std::shared_ptr<Room> room(uint32_t group, const std::vector<int>& ranks) {
    MutexLock lock(mutex);
    auto& r = rooms[{group, ranks[0]}];
    if (!r) r = std::make_shared<Room>(ranks.size());
    return r;
  }

  mutable Mutex mutex;
  std::map<std::pair<uint32_t, int>, std::shared_ptr<Room>> rooms ARGOSY_GUARDED_BY(mutex);
  std::map<uint32_t, std::shared_ptr<const Control::Notice>> failures ARGOSY_GUARDED_BY(mutex);
  std::set<std::pair<uint32_t, int>> left ARGOSY_GUARDED_BY(mutex);
  std::map<std::pair<uint32_t, int>, uint64_t> waiting ARGOSY_GUARDED_BY(mutex);
  std::vector<std::atomic<bool>> ended;
};

class ThreadControl final : public Control {
 public:
  ThreadControl(std::shared_ptr<ThreadWorld> world, int rank)
      : world_(std::move(world)), rank_(rank) {}

  void post(uint32_t group, Failure failure, const std::string& text) noexcept override {
    MutexLock lock(world_->mutex);
    auto& notice = world_->failures[group];
    if (!notice) notice = std::make_shared<const Notice>(Notice{failure, text});
  }
  std::shared_ptr<const Notice> failure(uint32_t group) const override {
    MutexLock lock(world_->mutex);
    const auto it = world_->failures.find(group);
    return it == world_->failures.end() ? nullptr : it->second;
  }
  void leave(uint32_t group) noexcept override {
    MutexLock lock(world_->mutex);
    world_->left.emplace(group, rank_);
  }
  bool left(uint32_t group, int rank) const override {
    MutexLock lock(world_->mutex);
    return world_->left.count({group, rank}) > 0;
  }
  bool gone(int rank) const override { return world_->ended[static_cast<size_t>(rank)]; }
  void refresh() noexcept override {}
  void waits(uint32_t group, uint64_t sequence) noexcept override {
    MutexLock lock(world_->mutex);
    world_->waiting[{group, rank_}] = sequence;
  }
  std::vector<Waiting> waiting(uint32_t group) noexcept override {
    MutexLock lock(world_->mutex);
    std::vector<Waiting> out;
    for (const auto& [of, sequence] : world_->waiting)
      if (of.first == group) out.push_back({of.second, sequence});
    return out;
  }

 private:
  const std::shared_ptr<ThreadWorld> world_;
  const int rank_;
};

class ThreadLinks final : public Links {
 public:
  ThreadLinks(std::shared_ptr<Room> room, int rank) : room_(std::move(room)), rank_(rank) {}
  ~ThreadLinks() override {
    for (Inbox& box : room_->inboxes) {
      MutexLock lock(box.mutex);
      box.closed[static_cast<size_t>(rank_)] = true;
      ++box.events;
      box.changed.notify_all();
    }
  }

  size_t put(Lane lane, int peer, std::span<const iovec> from) override {
    Inbox& box = room_->inbox(peer, lane);
    size_t total = 0;
    MutexLock lock(box.mutex);
    auto& stream = box.streams[static_cast<size_t>(rank_)];
    for (const iovec& span : from) {
      const char* p = static_cast<const char*>(span.iov_base);
      const size_t n = std::min(span.iov_len, kCapacity - stream.size());
      stream.insert(stream.end(), p, p + n);
      total += n;
    }
    if (total) {
      ++box.events;
      box.changed.notify_all();
    }
    return total;
  }

  size_t get(Lane lane, int peer, std::span<const iovec> to) override {
    size_t total = 0;
    {
      Inbox& box = room_->inbox(rank_, lane);
      MutexLock lock(box.mutex);
      auto& stream = box.streams[static_cast<size_t>(peer)];
      for (const iovec& span : to) {
        const size_t n = std::min(span.iov_len, stream.size());
        const auto end = stream.begin() + static_cast<std::ptrdiff_t>(n);
        std::copy(stream.begin(), end, static_cast<char*>(span.iov_base));
        stream.erase(stream.begin(), end);
        total += n;
      }
    }
    if (total) room_->inbox(peer, lane).notify();  // there is room again
    return total;
  }

  bool ended(Lane lane, int peer) const override {
    Inbox& box = room_->inbox(rank_, lane);
    MutexLock lock(box.mutex);
    const auto p = static_cast<size_t>(peer);
    return box.closed[p] && box.streams[p].empty();
  }

  // Any event ends it: what was tried since the last one may have been too early.
  void wait(Lane lane, std::span<const Channel::Wish>, std::chrono::milliseconds limit) override {
    Inbox& box = room_->inbox(rank_, lane);
    uint64_t& seen = seen_[static_cast<size_t>(lane)];
    WaitLock lock(box.mutex);
    box.changed.wait_for(lock, limit,
                         [&]() ARGOSY_REQUIRES(box.mutex) { return box.events != seen; });
    seen = box.events;
  }

  void wake(Lane lane) override { room_->inbox(rank_, lane).notify(); }

 private:
  const std::shared_ptr<Room> room_;
  const int rank_;
  uint64_t seen_[kLanes] = {};  // of each lane's thread
};

class ThreadNetwork final : public Network {
 public:
  ThreadNetwork(std::shared_ptr<ThreadWorld> world, int rank)
      : world_(world), rank_(rank), control_(std::move(world), rank) {}
  ~ThreadNetwork() override { world_->ended[static_cast<size_t>(rank_)] = true; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_->ended.size()); }
  const char* name() const override { return "thread"; }
  std::unique_ptr<Links> connect(uint32_t group, const std::vector<int>& ranks, int rank,
                                 double) override {
    return std::make_unique<ThreadLinks>(world_->room(group, ranks), rank);
  }
  Control& control() override { return control_; }

 private:
  const std::shared_ptr<ThreadWorld> world_;
  const int rank_;
  ThreadControl control_;
};

}  // namespace

std::vector<std::shared_ptr<Network>> thread_networks(int size) {
  auto world = std::make_shared<ThreadWorld>(size);
  std::vector<std::shared_ptr<Network>> out;
  for (int r = 0; r < size; ++r) out.push_back(std::make_shared<ThreadNetwork>(world, r));
  return out;
}

}  // namespace argosy::comm

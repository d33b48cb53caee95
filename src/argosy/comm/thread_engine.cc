#include "argosy/comm/thread_engine.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <map>

#include "argosy/base/error.h"
#include "argosy/base/mutex.h"

namespace argosy::comm {

Engine::~Engine() = default;

namespace {

struct World {
  World(int size, bool sees_tensors)
      : sees_tensors(sees_tensors), left(static_cast<size_t>(size)) {}

  std::shared_ptr<char> share(uint64_t offset, size_t bytes) {
    MutexLock lock(mutex);
    std::shared_ptr<char>& area = areas[offset];
    if (area) return area;
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ARGOSY_CHECK(p != MAP_FAILED, memory) << "[thread_engine] cannot map " << bytes << " bytes.";
    area.reset(static_cast<char*>(p), [bytes](char* q) { munmap(q, bytes); });
    return area;
  }

  const bool sees_tensors;
  Mutex mutex;
  std::map<uint64_t, std::shared_ptr<char>> areas ARGOSY_GUARDED_BY(mutex);
  std::vector<std::atomic<bool>> left;
};

class ThreadEngine final : public Engine {
 public:
  ThreadEngine(std::shared_ptr<World> world, int rank) : world_(std::move(world)), rank_(rank) {}
  ~ThreadEngine() override { world_->left[static_cast<size_t>(rank_)] = true; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_->left.size()); }
  const char* name() const override { return "thread"; }
  std::shared_ptr<char> share(uint64_t offset, size_t bytes) override {
    return world_->share(offset, bytes);
  }
  // Ranks of one process see everything.
  Area tensors(int) override { return {0, world_->sees_tensors ? SIZE_MAX : 0}; }
  bool gone(int rank) override { return world_->left[static_cast<size_t>(rank)]; }

 private:
  std::shared_ptr<World> world_;
  int rank_;
};

}  // namespace

std::vector<std::shared_ptr<Engine>> thread_engines(int size, bool see_tensors) {
  auto world = std::make_shared<World>(size, see_tensors);
  std::vector<std::shared_ptr<Engine>> out;
  for (int r = 0; r < size; ++r) out.push_back(std::make_shared<ThreadEngine>(world, r));
  return out;
}

}  // namespace argosy::comm

#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "argosy/base/mutex.h"
#include "argosy/comm/control.h"
#include "argosy/comm/net/store_client.h"

namespace argosy::comm::net {

// Control by a job's store. Failures, and who has left, are keys that every rank hears of; who
// waits is asked for when somebody has waited for too long.
class ARGOSY_API StoreControl final : public Control {
 public:
  // job: keeps the keys of jobs that share a store apart.
  StoreControl(std::shared_ptr<StoreClient> store, const std::string& job, int rank);
  ~StoreControl() override;

  void post(uint32_t group, Failure failure, const std::string& text) noexcept override;
  std::shared_ptr<const Notice> failure(uint32_t group) const override;
  void leave(uint32_t group) noexcept override;
  bool left(uint32_t group, int rank) const override;
  bool gone(int rank) const override;
  double silence(int rank) const override;
  void refresh() noexcept override;
  void waits(uint32_t group, uint64_t sequence) noexcept override;
  std::vector<Waiting> waiting(uint32_t group) noexcept override;

 private:
  // What has been heard. The store's thread may outlive the control for a moment.
  struct Heard {
    mutable Mutex mutex;
    std::map<uint32_t, std::shared_ptr<const Notice>> failures ARGOSY_GUARDED_BY(mutex);
    std::set<std::pair<uint32_t, int>> left ARGOSY_GUARDED_BY(mutex);
    std::map<int, bool> gone ARGOSY_GUARDED_BY(mutex);            // whether it was silent
    std::shared_ptr<const Notice> lost ARGOSY_GUARDED_BY(mutex);  // the store: for all groups
    std::atomic<bool> any{false};  // failure or loss: what `failure` looks at first

    // key: without what comes before those of this job.
    void change(const std::string& key, const std::string& value);
    void keep(uint32_t group, Notice notice);
  };

  const std::shared_ptr<StoreClient> store_;
  const std::string job_;
  const int rank_;
  const int process_;

  std::string key_of(const char* kind, uint32_t group) const;
  const std::shared_ptr<Heard> heard_;
};

}  // namespace argosy::comm::net

#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/ps/config.h"
#include "argosy/ps/distinct.h"
#include "argosy/ps/mode/mode.h"
#include "argosy/ps/service/client.h"

// Parts of several modes.
namespace argosy::ps {

// What a step pushes, or several steps merged.
struct Step {
  struct Sparse {
    uint32_t table;
    float learning_rate;
    std::vector<Key> keys;  // each once
    std::vector<float> values;
  };
  struct Dense {
    uint32_t table;
    float learning_rate;
    std::vector<float> values;
  };
  std::vector<Sparse> sparse;
  std::vector<Dense> dense;
  uint32_t count = 0;  // steps in it

  bool empty() const { return sparse.empty() && dense.empty(); }
  // Keys of a call must differ. Pushes of one table with one learning rate add up.
  void add_sparse(const TableConfig& table, std::span<const Key> keys, const float* values,
                  float learning_rate);
  void add_dense(uint32_t table, std::span<const float> values, float learning_rate);
  void add(Step&& other, const std::vector<TableConfig>& tables);
};

// The steps that threads are at: each pushes into one of its own, whatever others do meanwhile.
class Making {
 public:
  explicit Making(const std::vector<TableConfig>& tables) : tables_(tables) {}
  void add_sparse(uint32_t table, std::span<const Key> keys, const float* values,
                  float learning_rate);
  void add_dense(uint32_t table, std::span<const float> values, float learning_rate);
  // What the calling thread pushed since it last ended a step. Empty if it pushed nothing.
  Step end();
  // What all threads have so far, each a step.
  std::vector<Step> end_all();

 private:
  struct Entry {
    Mutex mutex;  // also taken within mutex_
    Step step ARGOSY_GUARDED_BY(mutex);
  };
  // Calls add(the calling thread's step).
  template <class Add>
  void add_to_mine(Add&& add);

  const std::vector<TableConfig>& tables_;
  Mutex mutex_;
  std::map<std::thread::id, std::shared_ptr<Entry>> entries_ ARGOSY_GUARDED_BY(mutex_);
};

size_t push_width(const TableConfig& table);
size_t pull_width(const TableConfig& table);
const TableConfig& find_table(const std::vector<TableConfig>& tables, uint32_t id);

struct Counters {
  std::atomic<uint64_t> steps{0}, pushes{0}, pulls{0}, keys_pulled{0}, keys_pushed{0}, exchanges{0};
  void pulled(std::span<const SparsePull> requests);
  std::string json(size_t waiting) const;
};

// A mode in which each thread puts together what its step pushes, and rows come from the servers.
class Stepwise : public Mode {
 public:
  Stepwise(std::shared_ptr<Client> client, const ModeOptions& options)
      : client_(std::move(client)), options_(options), making_(options_.tables) {}

  void pull_sparse(uint32_t table, std::span<const Key> keys, float* out, bool training) override;
  void pull_many(std::span<const SparsePull> requests, bool training) override;
  void push_sparse(uint32_t table, std::span<const Key> keys, const float* values,
                   float learning_rate) override;
  void push_dense(uint32_t table, std::span<const float> values, float learning_rate) override;

 protected:
  virtual void check() = 0;  // throws where no call may go on

  const std::shared_ptr<Client> client_;
  const ModeOptions options_;
  Making making_;
  std::atomic<bool> stopped_{false};
  Counters count_;
};

// What a step pushes, as requests that point into it.
void requests_of(const Step& step, std::vector<SparsePush>* sparse, std::vector<DensePush>* dense,
                 Counters& count);
void send(Client& client, const Step& step, Counters& count);

// The first error of a background thread; set once, raised by every call from then on.
class Failure {
 public:
  void set(std::exception_ptr e);
  void raise();  // throws if there is one
  bool failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  Mutex mutex_;
  std::exception_ptr error_ ARGOSY_GUARDED_BY(mutex_);
  std::atomic<bool> failed_{false};
};

// Waits until ready() or the deadline, then throws ErrorKind::timeout with what was waited for.
template <class Ready>
void wait_for(CondVar& condition, WaitLock& lock, std::chrono::milliseconds deadline,
              const char* what, Ready&& ready);

// Flushes, and ends the mode's threads whatever comes of that.
template <class End>
void flush_then(Mode* mode, End&& end_threads) {
  try {
    mode->flush();
  } catch (...) {
    end_threads();
    throw;
  }
  end_threads();
}

[[noreturn]] void throw_timeout(const char* what, std::chrono::milliseconds deadline);
[[noreturn]] void throw_stopped();

template <class Ready>
void wait_for(CondVar& condition, WaitLock& lock, std::chrono::milliseconds deadline,
              const char* what, Ready&& ready) {
  if (!condition.wait_for(lock, deadline, std::forward<Ready>(ready)))
    throw_timeout(what, deadline);
}

std::shared_ptr<Mode> make_direct(std::shared_ptr<Client> client, const ModeOptions& options);
std::shared_ptr<Mode> make_async(std::shared_ptr<Client> client, const ModeOptions& options);
std::shared_ptr<Mode> make_geo(std::shared_ptr<Client> client, const ModeOptions& options);

}  // namespace argosy::ps

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "argosy/base/error.h"
#include "argosy/ps/mode/ahead.h"
#include "argosy/ps/mode/step.h"

namespace argosy::ps {
namespace {

class Async final : public Stepwise {
 public:
  Async(std::shared_ptr<Client> client, const ModeOptions& options)
      : Stepwise(std::move(client), options) {
    for (const TableConfig& t : options_.tables)
      if (t.kind == "dense" || t.kind == "summary") dense_[t.id];
    for (uint32_t i = 0; i < std::max(1u, options_.senders); ++i)
      threads_.emplace_back([this] { run([this] { send_loop(); }); });
    if (!dense_.empty()) threads_.emplace_back([this] { run([this] { fetch_loop(); }); });
  }
  ~Async() override { end_threads(); }

  void pull_many(std::span<const SparsePull> requests, bool training) override {
    check();
    if (!training || !take_fetched(requests)) Stepwise::pull_many(requests, training);
  }
  void prefetch(std::span<const SparsePull> requests) override {
    check();
    ahead_.start(std::make_shared<Fetch>(*client_, requests));
    count_.pulled(requests);
  }

  // The newest block that was fetched. Waits for the first one, and for one that is not more steps
  // behind than may be ahead of the servers.
  void pull_dense(uint32_t table, std::span<float> out) override {
    check();
    auto it = dense_.find(table);
    ARGOSY_CHECK(it != dense_.end(), invalid_argument)
        << "[parameter_server] there is no dense table " << table << '.';
    Block block = newest(it->second);
    if (!block) {
      fetch(it->first, it->second, out.size(), 0);
      block = newest(it->second);
    } else {
      WaitLock lock(mutex_);
      wait_for(fetched_, lock, options_.deadline, "fetching dense parameters from the servers",
               [&]() ARGOSY_REQUIRES(mutex_) {
                 block = newest(it->second);
                 return ended_ <= versions_[table] + bound() + options_.pull_every - 1 ||
                        failure_.failed() || stopped_;
               });
      failure_.raise();
    }
    ARGOSY_CHECK(block->size() == out.size(), invalid_argument)
        << "[parameter_server] dense table " << table << " has " << block->size()
        << " numbers, got place for " << out.size() << '.';
    std::copy(block->begin(), block->end(), out.begin());
  }

  void end_step() override {
    check();
    Step step = making_.end();
    ++count_.steps;
    if (step.empty()) return;
    WaitLock lock(mutex_);
    enqueue(std::move(step));
    // The bound: so many steps may be on their way.
    wait_for(done_, lock, options_.deadline, "sending steps to the servers",
             [&]() ARGOSY_REQUIRES(mutex_) {
               return ahead() <= bound() || failure_.failed() || stopped_;
             });
    failure_.raise();
  }

  void flush() override {
    check();
    std::vector<Step> steps = making_.end_all();
    WaitLock lock(mutex_);
    for (Step& step : steps) enqueue(std::move(step));
    wait_for(done_, lock, options_.deadline, "sending the last steps to the servers",
             [&]() ARGOSY_REQUIRES(mutex_) { return ahead() == 0 || failure_.failed(); });
    failure_.raise();
  }

  void stop() override {
    if (!stopped_) flush_then(this, [this] { end_threads(); });
  }

  std::string stats() override {
    MutexLock lock(mutex_);
    return count_.json(ahead());
  }

 private:
  using Block = std::shared_ptr<const std::vector<float>>;
  // Rows of a step to come.
  struct Fetch final : Ahead::Job {
    Fetch(Client& client, std::span<const SparsePull> wanted) : Job(wanted), client(client) {
      for (const SparsePull& r : wanted)
        rows.emplace_back(r.keys.size() * client.pull_width(r.table));
    }
    void run() override {
      std::vector<SparsePull> requests;
      for (size_t i = 0; i < parts_.size(); ++i)
        requests.push_back({parts_[i].table, parts_[i].keys, rows[i].data()});
      client.pull(requests, true);
    }
    Client& client;
    std::vector<std::vector<float>> rows;
  };

  bool take_fetched(std::span<const SparsePull> requests) {
    const auto job = std::static_pointer_cast<Fetch>(ahead_.take(requests, options_.deadline));
    if (!job) return false;
    for (size_t i = 0; i < requests.size(); ++i)
      std::copy(job->rows[i].begin(), job->rows[i].end(), requests[i].out);
    return true;
  }

  struct Dense {
    Mutex mutex;
    Block block ARGOSY_GUARDED_BY(mutex);
    Mutex fetching;  // one request at a time; taken before `mutex`
  };

  void check() override {
    failure_.raise();
    if (stopped_) throw_stopped();
  }

  void enqueue(Step&& step) ARGOSY_REQUIRES(mutex_) {
    ++ended_;
    queue_.push_back(std::move(step));
    work_.notify_one();
  }

  uint64_t bound() const { return std::max(1u, options_.queue); }
  size_t ahead() const ARGOSY_REQUIRES(mutex_) { return queue_.size() + sending_; }

  template <class F>
  void run(F&& loop) {
    try {
      loop();
    } catch (...) {
      failure_.set(std::current_exception());
      MutexLock lock(mutex_);
      work_.notify_all();
      done_.notify_all();
      fetch_.notify_all();
      fetched_.notify_all();
    }
  }

  void send_loop() {
    WaitLock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&]() ARGOSY_REQUIRES(mutex_) {
        return !queue_.empty() || stopped_ || failure_.failed();
      });
      if (queue_.empty() || failure_.failed()) return;
      std::deque<Step> taken;
      while (!queue_.empty() && taken.size() < std::max(1u, options_.merge)) {
        taken.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
      sending_ += taken.size();
      lock.unlock();
      const size_t count = taken.size();
      Step all = std::move(taken.front());
      for (size_t i = 1; i < count; ++i) all.add(std::move(taken[i]), options_.tables);
      send(*client_, all, count_);
      lock.lock();
      sent_ += count;
      fetch_.notify_one();
      sending_ -= count;
      done_.notify_all();
    }
  }

  static Block newest(Dense& d) {
    MutexLock lock(d.mutex);
    return d.block;
  }

  void fetch(uint32_t table, Dense& d, size_t size, uint64_t version) {
    MutexLock one(d.fetching);
    auto block = std::make_shared<std::vector<float>>(size);
    client_->pull_dense(table, *block);
    ++count_.pulls;
    {
      MutexLock lock(d.mutex);
      d.block = std::move(block);
    }
    MutexLock lock(mutex_);
    versions_[table] = std::max(versions_[table], version);
    fetched_.notify_all();
  }

  void fetch_loop() {
    uint64_t seen = 0;
    WaitLock lock(mutex_);
    for (;;) {
      fetch_.wait(lock, [&]() ARGOSY_REQUIRES(mutex_) {
        return sent_ >= seen + std::max(1u, options_.pull_every) || stopped_ || failure_.failed();
      });
      if (stopped_ || failure_.failed()) return;
      seen = sent_;
      lock.unlock();
      for (auto& [table, d] : dense_)
        if (Block block = newest(d)) fetch(table, d, block->size(), seen);
      lock.lock();
    }
  }

  void end_threads() {
    {
      MutexLock lock(mutex_);
      stopped_ = true;
    }
    work_.notify_all();
    done_.notify_all();
    fetch_.notify_all();
    fetched_.notify_all();
    ahead_.stop();
    for (std::thread& t : threads_)
      if (t.joinable()) t.join();
  }

  std::map<uint32_t, Dense> dense_;  // its keys never change
  Mutex mutex_;
  CondVar work_, done_, fetch_, fetched_;
  std::deque<Step> queue_ ARGOSY_GUARDED_BY(mutex_);
  std::map<uint32_t, uint64_t> versions_ ARGOSY_GUARDED_BY(mutex_);  // steps that a block has
  size_t sending_ ARGOSY_GUARDED_BY(mutex_) = 0;
  uint64_t ended_ ARGOSY_GUARDED_BY(mutex_) = 0, sent_ ARGOSY_GUARDED_BY(mutex_) = 0;  // steps
  Failure failure_;
  Ahead ahead_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::shared_ptr<Mode> make_async(std::shared_ptr<Client> client, const ModeOptions& options) {
  return std::make_shared<Async>(std::move(client), options);
}

}  // namespace argosy::ps

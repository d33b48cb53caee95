#include <utility>

#include "argosy/base/error.h"
#include "argosy/ps/mode/step.h"

// Modes whose steps end when their pushes are applied: sync and half_async.
namespace argosy::ps {
namespace {

// Each thread makes steps of its own. In sync mode all of them are steps of the servers, one after
// another: as many as there are batches, whatever the number of threads.
class Direct final : public Stepwise {
 public:
  Direct(std::shared_ptr<Client> client, const ModeOptions& options)
      : Stepwise(std::move(client), options), sync_(options.mode == "sync") {
    if (sync_) step_ = client_->next_step();
  }

  void pull_dense(uint32_t table, std::span<float> out) override {
    check();
    client_->pull_dense(table, out);
  }
  void end_step() override {
    check();
    ++count_.steps;
    Step step = making_.end();
    if (!sync_ && options_.merge <= 1) return send(*client_, step, count_);
    MutexLock sending(send_mutex_);
    if (sync_) return send_together(step);
    held_.add(std::move(step), options_.tables);
    if (held_.count >= options_.merge) send(*client_, std::exchange(held_, {}), count_);
  }

  void flush() override {
    check();
    if (sync_) return;
    MutexLock sending(send_mutex_);
    for (Step& step : making_.end_all()) held_.add(std::move(step), options_.tables);
    send(*client_, std::exchange(held_, {}), count_);
  }
  // A step adds to the row the part of the workers that are here; all are, once that is 1.
  void join() override {
    if (!sync_ || options_.workers < 2) return flush();
    check();
    ARGOSY_CHECK(options_.state_table >= 0, internal) << "sync mode without a table for join()";
    const uint32_t table = static_cast<uint32_t>(options_.state_table);
    const Key key = 1;
    const float one = 1;
    MutexLock sending(send_mutex_);
    for (float before = 0, after = 0; after - before < 0.999f;) {
      client_->pull_sparse(table, {&key, 1}, &before, true);
      client_->push_sparse_step(table, step_, {&key, 1}, &one, -1);
      send_together({});
      client_->pull_sparse(table, {&key, 1}, &after, true);
    }
  }

  void stop() override {
    if (stopped_) return;
    flush();
    stopped_ = true;
  }
  std::string stats() override { return count_.json(0); }

 private:
  void check() override {
    if (stopped_) throw_stopped();
  }

  // Under the lock, so that steps follow each other.
  void send_together(const Step& step) ARGOSY_REQUIRES(send_mutex_) {
    std::vector<SparsePush> sparse;
    std::vector<DensePush> dense;
    requests_of(step, &sparse, &dense, count_);
    client_->push_step(step_, sparse, dense);
    client_->end_step(step_++);
  }

  const bool sync_;
  Mutex send_mutex_;
  uint64_t step_ ARGOSY_GUARDED_BY(send_mutex_) = 0;
  Step held_ ARGOSY_GUARDED_BY(send_mutex_);  // half_async: steps that wait until they are `merge`
};

}  // namespace

std::shared_ptr<Mode> make_direct(std::shared_ptr<Client> client, const ModeOptions& options) {
  return std::make_shared<Direct>(std::move(client), options);
}

}  // namespace argosy::ps

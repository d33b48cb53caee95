#include <utility>

#include "argosy/base/error.h"
#include "argosy/ps/mode/step.h"

// Modes whose steps end when their pushes are applied: sync and half_async.
namespace argosy::ps {
namespace {

// Each thread makes steps of its own. In sync mode all of them are steps of the servers, one after
// another: as many as there are batches, whatever the number of threads.
class Direct final : public Mode {
 public:
  Direct(std::shared_ptr<Client> client, const ModeOptions& options)
      : client_(std::move(client)),
        options_(options),
        sync_(options.mode == "sync"),
        making_(options_.tables) {
    if (sync_) step_ = client_->next_step();
  }

  void pull_sparse(uint32_t table, std::span<const Key> keys, float* out, bool training) override {
    check();
    client_->pull_sparse(table, keys, out, training);
    ++count_.pulls;
    count_.keys_pulled += keys.size();
  }
  void pull_dense(uint32_t table, std::span<float> out) override {
    check();
    client_->pull_dense(table, out);
  }
  void push_sparse(uint32_t table, std::span<const Key> keys, const float* values,
                   float learning_rate) override {
    check();
    if (at_once()) {
      client_->push_sparse(table, keys, values, learning_rate);
      ++count_.pushes;
      count_.keys_pushed += keys.size();
      return;
    }
    making_.add_sparse(table, keys, values, learning_rate);
  }
  void push_dense(uint32_t table, std::span<const float> values, float learning_rate) override {
    check();
    if (at_once()) {
      client_->push_dense(table, values, learning_rate);
      ++count_.pushes;
      return;
    }
    making_.add_dense(table, values, learning_rate);
  }

  void end_step() override {
    check();
    ++count_.steps;
    if (at_once()) return;
    Step step = making_.end();
    std::lock_guard sending(send_mutex_);
    if (sync_) return send(step);
    held_.add(std::move(step), options_.tables);
    if (held_.count >= options_.merge) send(std::exchange(held_, {}));
  }

  void flush() override {
    check();
    if (sync_) return;
    std::lock_guard sending(send_mutex_);
    for (Step& step : making_.end_all()) held_.add(std::move(step), options_.tables);
    send(std::exchange(held_, {}));
  }
  // A step adds to the row the part of the workers that are here; all are, once that is 1.
  void join() override {
    if (!sync_ || options_.workers < 2) return flush();
    check();
    ARGOSY_CHECK(options_.state_table >= 0, internal) << "sync mode without a table for join()";
    const uint32_t table = static_cast<uint32_t>(options_.state_table);
    const Key key = 1;
    const float one = 1;
    std::lock_guard sending(send_mutex_);
    for (float before = 0, after = 0; after - before < 0.999f;) {
      client_->pull_sparse(table, {&key, 1}, &before, true);
      client_->push_sparse_step(table, step_, {&key, 1}, &one, -1);
      send({});
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
  void check() const {
    if (stopped_) throw_stopped();
  }

  // Nothing to merge: what the end of the step would send is sent without keeping it.
  bool at_once() const { return !sync_ && options_.merge <= 1; }

  // REQUIRES: send_mutex_ held, so that steps follow each other.
  void send(const Step& step) {
    for (const Step::Sparse& s : step.sparse) {
      if (sync_)
        client_->push_sparse_step(s.table, step_, s.rows.keys(), s.rows.values(), s.learning_rate);
      else
        client_->push_sparse(s.table, s.rows.keys(), s.rows.values(), s.learning_rate);
      ++count_.pushes;
      count_.keys_pushed += s.rows.size();
    }
    for (const Step::Dense& d : step.dense) {
      if (sync_)
        client_->push_dense_step(d.table, step_, d.values, d.learning_rate);
      else
        client_->push_dense(d.table, d.values, d.learning_rate);
      ++count_.pushes;
    }
    if (sync_) client_->end_step(step_++);
  }

  std::shared_ptr<Client> client_;
  const ModeOptions options_;
  const bool sync_;
  Making making_;
  std::mutex send_mutex_;  // guards step_, held_
  uint64_t step_ = 0;
  Step held_;  // half_async: steps that wait until they are `merge`
  std::atomic<bool> stopped_{false};
  Counters count_;
};

}  // namespace

std::shared_ptr<Mode> make_direct(std::shared_ptr<Client> client, const ModeOptions& options) {
  return std::make_shared<Direct>(std::move(client), options);
}

}  // namespace argosy::ps

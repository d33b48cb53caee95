#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "argosy/base/error.h"
#include "argosy/ps/mode/ahead.h"
#include "argosy/ps/mode/step.h"
#include "argosy/ps/table/table.h"

// Geo mode. What the worker trains are tables of its own, with the optimizers of the Program. The
// weights that a step sees are
//     own + offset,
// where `own` is what the worker's optimizer made of the first value it got, and `offset` what all
// other workers did so far. An exchange sends own - sent (how far the worker went since the last
// one) to a table that adds, and reads the sum of all back: offset = sum - own at that moment. So
// steps that are made while an exchange is under way are not lost, and optimizer state stays.
namespace argosy::ps {
namespace {

class GeoSparse {
 public:
  GeoSparse(const TableConfig& config, uint32_t workers)
      : id_(config.id), dim_(static_cast<size_t>(config.accessor.dim)) {
    TableConfig own = config;
    own.tier = "memory";
    own.admission = {};  // keys are admitted by servers
    // Of the gradients of a row this worker sees one in `workers`: each stands for so many in
    // Adam's moments, whose correction of the bias counts that way, too (see split.h).
    OptimizerConfig& rule = own.accessor.embedding;
    if (rule.rule == "adam_lazy") {
      rule.beta1 = std::pow(rule.beta1, static_cast<float>(workers));
      rule.beta2 = std::pow(rule.beta2, static_cast<float>(workers));
    }
    own_ = make_sparse_table(own);
  }

  // For training rows are the worker's own; those that it does not have, or has not exchanged in
  // the last period, come from the servers first. Without training all are as servers have them.
  void pull(Client& client, Counters& count, std::span<const Key> keys, float* out, bool training) {
    if (!training) {
      client.pull_sparse(id_, keys, out, false);
      ++count.pulls;
      count.keys_pulled += keys.size();
      return;
    }
    fetch(client, count, keys);
    MutexLock lock(mutex_);
    own_->pull(keys, out, false);
    for (size_t i = 0; i < keys.size(); ++i) {
      const float* offset = offset_.data() + known_.find(keys[i]) * dim_;
      for (size_t k = 0; k < dim_; ++k) out[i * dim_ + k] += offset[k];
    }
  }

  // Lets the worker have these rows, as far as it must ask for them.
  void fetch(Client& client, Counters& count, std::span<const Key> keys) {
    const Wanted wanted = find_wanted(keys);
    if (wanted.keys.empty()) return;
    std::vector<float> values(wanted.keys.size() * dim_);
    client.pull_sparse(id_, wanted.keys, values.data(), true);
    ++count.pulls;
    count.keys_pulled += wanted.keys.size();
    MutexLock lock(mutex_);
    take(wanted, values);
  }

  void push(std::span<const Key> keys, const float* values, float learning_rate) {
    MutexLock lock(mutex_);
    own_->push(keys, values, {learning_rate});
    for (const Key key : keys) {
      const uint32_t at = known_.find(key);
      if (at == Distinct::kNone || touched_[at]) continue;
      touched_[at] = true;
      changed_.push_back(at);
    }
  }

  void exchange(Client& client, Counters& count, float share) {
    std::vector<uint32_t> places;
    std::vector<Key> keys;
    std::vector<float> now, deltas;
    {
      MutexLock lock(mutex_);
      places.swap(changed_);
      for (const uint32_t at : places) {
        touched_[at] = false;
        state_[at].sending = true;
        keys.push_back(known_.keys()[at]);
      }
      now.resize(keys.size() * dim_);
      own_->pull(keys, now.data(), false);
      deltas.resize(now.size());
      for (size_t i = 0; i < places.size(); ++i) {
        float* sent = sent_.data() + places[i] * dim_;
        for (size_t k = 0; k < dim_; ++k) {
          deltas[i * dim_ + k] = (now[i * dim_ + k] - sent[k]) * share;
          sent[k] = now[i * dim_ + k];
        }
      }
    }
    if (keys.empty()) {
      MutexLock lock(mutex_);
      ++exchanges_;
      return;
    }
    client.push_sparse(id_, keys, deltas.data(), -1);
    ++count.pushes;
    count.keys_pushed += keys.size();
    client.pull_sparse(id_, keys, deltas.data(), false);
    ++count.pulls;
    count.keys_pulled += keys.size();
    MutexLock lock(mutex_);
    ++exchanges_;
    for (size_t i = 0; i < places.size(); ++i) {
      state_[places[i]] = {exchanges_, false};
      for (size_t k = 0; k < dim_; ++k)
        offset_[places[i] * dim_ + k] = deltas[i * dim_ + k] - now[i * dim_ + k];
    }
  }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};
  struct State {
    uint64_t fresh = kNever;  // exchange number after which offset was last set
    bool sending = false;     // its way is with an exchange that has not ended
  };
  struct Wanted {
    std::vector<Key> keys;
    std::vector<uint64_t> fresh;  // as they were
  };

  Wanted find_wanted(std::span<const Key> keys) {
    Wanted wanted;
    MutexLock lock(mutex_);
    for (const Key key : keys) {
      const uint32_t at = known_.find(key);
      const State state = at == Distinct::kNone ? State{} : state_[at];
      if (at != Distinct::kNone && (state.sending || state.fresh + 1 >= exchanges_)) continue;
      wanted.keys.push_back(key);
      wanted.fresh.push_back(state.fresh);
    }
    return wanted;
  }

  // Values of the servers. Rows that an exchange sent or set meanwhile stay as they are: what was
  // read may lack what was sent.
  void take(const Wanted& wanted, const std::vector<float>& values) ARGOSY_REQUIRES(mutex_) {
    std::vector<Key> fresh;
    std::vector<float> first;
    for (size_t i = 0; i < wanted.keys.size(); ++i) {
      const float* value = values.data() + i * dim_;
      const size_t before = known_.size();
      const uint32_t at = known_.add(wanted.keys[i]);
      if (at == before) {
        fresh.push_back(wanted.keys[i]);
        first.insert(first.end(), value, value + dim_);
        sent_.insert(sent_.end(), value, value + dim_);
        offset_.resize(sent_.size());
        touched_.push_back(false);
        state_.push_back({exchanges_, false});
      } else if (!state_[at].sending && state_[at].fresh == wanted.fresh[i]) {
        for (size_t k = 0; k < dim_; ++k) offset_[at * dim_ + k] = value[k] - sent_[at * dim_ + k];
        state_[at].fresh = exchanges_;
      }
    }
    own_->assign(fresh, first.data());
  }

  const uint32_t id_;
  const size_t dim_;
  Mutex mutex_;
  std::unique_ptr<SparseTable> own_ ARGOSY_GUARDED_BY(mutex_);
  Distinct known_ ARGOSY_GUARDED_BY(mutex_);  // rows have the places of their keys here
  std::vector<float> sent_ ARGOSY_GUARDED_BY(mutex_), offset_
      ARGOSY_GUARDED_BY(mutex_);  // [known, dim]
  std::vector<bool> touched_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<State> state_ ARGOSY_GUARDED_BY(mutex_);
  uint64_t exchanges_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::vector<uint32_t> changed_ ARGOSY_GUARDED_BY(mutex_);
};

class GeoDense {
 public:
  GeoDense(const TableConfig& config)
      : id_(config.id),
        size_(static_cast<size_t>(config.size)),
        own_(make_dense_table(config, size_)) {}

  void pull(Client& client, std::span<float> out) {
    ARGOSY_CHECK(out.size() == size_, invalid_argument)
        << "[parameter_server] dense table " << id_ << " has " << size_
        << " numbers, got place for " << out.size() << '.';
    MutexLock lock(mutex_);
    begin(client);
    own_->pull(out.data());
    for (size_t i = 0; i < size_; ++i) out[i] += offset_[i];
  }
  void push(std::span<const float> values, float learning_rate) {
    own_->push(values.data(), {learning_rate});
  }
  void exchange(Client& client, Counters& count, float share) {
    std::vector<float> now(size_), deltas(size_);
    {
      MutexLock lock(mutex_);
      if (sent_.empty()) return;
      own_->pull(now.data());
      for (size_t i = 0; i < size_; ++i) deltas[i] = (now[i] - sent_[i]) * share;
      sent_ = now;
    }
    client.push_dense(id_, deltas, -1);
    ++count.pushes;
    client.pull_dense(id_, deltas);
    ++count.pulls;
    MutexLock lock(mutex_);
    for (size_t i = 0; i < size_; ++i) offset_[i] = deltas[i] - now[i];
  }

 private:
  // The first values are those of the servers.
  void begin(Client& client) ARGOSY_REQUIRES(mutex_) {
    if (!sent_.empty() || !size_) return;
    std::vector<float> first(size_);
    client.pull_dense(id_, first);
    own_->assign(first.data());
    offset_.assign(size_, 0);
    sent_ = std::move(first);
  }

  const uint32_t id_;
  const size_t size_;
  const std::unique_ptr<DenseTable> own_;  // has a lock of its own
  Mutex mutex_;
  std::vector<float> sent_ ARGOSY_GUARDED_BY(mutex_), offset_ ARGOSY_GUARDED_BY(mutex_);
};

class Geo final : public Mode {
 public:
  Geo(std::shared_ptr<Client> client, const ModeOptions& options)
      : client_(std::move(client)), options_(options) {
    (void)server_tables(options_.tables, "geo");  // refuses what cannot be exchanged
    for (const TableConfig& t : options_.tables) {
      if (t.kind == "sparse") sparse_.try_emplace(t.id, t, std::max(1u, options_.workers));
      if (t.kind == "dense" || t.kind == "summary") dense_.try_emplace(t.id, t);
    }
    thread_ = std::thread([this] { loop(); });
  }
  ~Geo() override { end_thread(); }

  void pull_sparse(uint32_t table, std::span<const Key> keys, float* out, bool training) override {
    check();
    find(sparse_, table).pull(*client_, count_, keys, out, training);
  }
  void pull_many(std::span<const SparsePull> requests, bool training) override {
    check();
    if (training) ahead_.take(requests, options_.deadline);
    for (const SparsePull& r : requests) pull_sparse(r.table, r.keys, r.out, training);
  }
  void prefetch(std::span<const SparsePull> requests) override {
    check();
    ahead_.start(std::make_shared<Fetch>(*this, requests));
  }
  void push_sparse(uint32_t table, std::span<const Key> keys, const float* values,
                   float learning_rate) override {
    check();
    find(sparse_, table).push(keys, values, learning_rate);
  }
  void pull_dense(uint32_t table, std::span<float> out) override {
    check();
    find(dense_, table).pull(*client_, out);
  }
  void push_dense(uint32_t table, std::span<const float> values, float learning_rate) override {
    check();
    find(dense_, table).push(values, learning_rate);
  }

  void end_step() override {
    check();
    if (++count_.steps % std::max(1u, options_.k_steps)) return;
    WaitLock lock(mutex_);
    ++wanted_;
    work_.notify_one();
    // The next exchange may be under way while training goes on, but not the one after that.
    wait_for(done_, lock, options_.deadline, "an exchange with the servers",
             [&]() ARGOSY_REQUIRES(mutex_) {
               return wanted_ <= made_ + 1 || failure_.failed() || stopped_;
             });
    failure_.raise();
  }

  void flush() override {
    check();
    WaitLock lock(mutex_);
    const uint64_t all = ++wanted_;
    work_.notify_one();
    wait_for(done_, lock, options_.deadline, "the last exchange with the servers",
             [&]() ARGOSY_REQUIRES(mutex_) { return made_ >= all || failure_.failed(); });
    failure_.raise();
  }
  void stop() override {
    if (!stopped_) flush_then(this, [this] { end_thread(); });
  }
  std::string stats() override {
    MutexLock lock(mutex_);
    return count_.json(wanted_ - made_);
  }

 private:
  // Rows that the next step of a thread needs from the servers.
  struct Fetch final : Ahead::Job {
    Fetch(Geo& geo, std::span<const SparsePull> wanted) : Job(wanted), geo(geo) {}
    void run() override {
      for (const Part& p : parts_)
        find(geo.sparse_, p.table).fetch(*geo.client_, geo.count_, p.keys);
    }
    Geo& geo;
  };

  template <class T>
  static T& find(std::map<uint32_t, T>& tables, uint32_t id) {
    auto it = tables.find(id);
    ARGOSY_CHECK(it != tables.end(), invalid_argument)
        << "[parameter_server] there is no table " << id << " of this kind.";
    return it->second;
  }
  void check() {
    failure_.raise();
    if (stopped_) throw_stopped();
  }

  void loop() {
    WaitLock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&]() ARGOSY_REQUIRES(mutex_) { return wanted_ > made_ || stopped_; });
      if (stopped_) return;
      const uint64_t all = wanted_;
      lock.unlock();
      try {
        for (auto& [id, t] : sparse_) t.exchange(*client_, count_, 1);
        for (auto& [id, t] : dense_) t.exchange(*client_, count_, share());
        ++count_.exchanges;
      } catch (...) {
        failure_.set(std::current_exception());
      }
      lock.lock();
      made_ = all;
      done_.notify_all();
      if (failure_.failed()) return;
    }
  }

  // Dense parameters move by the mean of what the workers did: each saw all of them in every step.
  // Rows move by the sum: most were seen by one of them.
  float share() const { return 1.0f / static_cast<float>(std::max(1u, options_.workers)); }

  void end_thread() {
    {
      MutexLock lock(mutex_);
      stopped_ = true;
    }
    work_.notify_all();
    done_.notify_all();
    ahead_.stop();
    if (thread_.joinable()) thread_.join();
  }

  std::shared_ptr<Client> client_;
  const ModeOptions options_;
  std::map<uint32_t, GeoSparse> sparse_;  // their keys never change
  std::map<uint32_t, GeoDense> dense_;
  Mutex mutex_;
  CondVar work_, done_;
  uint64_t wanted_ ARGOSY_GUARDED_BY(mutex_) = 0;  // exchanges
  uint64_t made_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> stopped_{false};
  Failure failure_;
  Counters count_;
  Ahead ahead_;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<Mode> make_geo(std::shared_ptr<Client> client, const ModeOptions& options) {
  return std::make_shared<Geo>(std::move(client), options);
}

}  // namespace argosy::ps

#include "argosy/ps/mode/step.h"

#include <utility>

#include "argosy/base/error.h"
#include "argosy/base/json.h"

namespace argosy::ps {

SparseTable* Mode::sparse_table(uint32_t) {
  return nullptr;
}
DenseTable* Mode::dense_table(uint32_t) {
  return nullptr;
}
uint64_t Mode::save(const std::string&, int, const Extent&) {
  ARGOSY_THROW(internal) << "tables on servers are saved by the client";
}
uint64_t Mode::load(const std::string&, int, uint32_t) {
  ARGOSY_THROW(internal) << "tables on servers are loaded by the client";
}

size_t pull_width(const TableConfig& table) {
  const size_t dim = static_cast<size_t>(table.accessor.dim);
  return table.accessor.kind == "click" ? dim + 3 : dim;
}

size_t push_width(const TableConfig& table) {
  const size_t dim = static_cast<size_t>(table.accessor.dim);
  return table.accessor.kind == "click" ? dim + 4 : dim;
}

const TableConfig& find_table(const std::vector<TableConfig>& tables, uint32_t id) {
  for (const TableConfig& t : tables)
    if (t.id == id) return t;
  ARGOSY_THROW(invalid_argument) << "[parameter_server] there is no table " << id << ": there are "
                                 << tables.size() << " tables.";
}

void Step::add_sparse(const TableConfig& table, std::span<const Key> keys, const float* values,
                      float learning_rate) {
  const size_t width = push_width(table);
  for (Sparse& s : sparse) {
    if (s.table != table.id || s.learning_rate != learning_rate) continue;
    Merged all(width, table.accessor.kind == "click");
    all.begin(s.keys.size() + keys.size());
    for (size_t i = 0; i < s.keys.size(); ++i) all.add(s.keys[i], s.values.data() + i * width);
    for (size_t i = 0; i < keys.size(); ++i) all.add(keys[i], values + i * width);
    s.keys.assign(all.keys().begin(), all.keys().end());
    s.values.assign(all.values(), all.values() + all.size() * width);
    return;
  }
  sparse.push_back({table.id,
                    learning_rate,
                    {keys.begin(), keys.end()},
                    {values, values + keys.size() * width}});
}

void Step::add_dense(uint32_t table, std::span<const float> values, float learning_rate) {
  for (Dense& d : dense)
    if (d.table == table && d.learning_rate == learning_rate) {
      for (size_t i = 0; i < values.size(); ++i) d.values[i] += values[i];
      return;
    }
  dense.push_back({table, learning_rate, {values.begin(), values.end()}});
}

void Step::add(Step&& other, const std::vector<TableConfig>& tables) {
  count += other.count;
  if (empty()) {
    sparse = std::move(other.sparse);
    dense = std::move(other.dense);
    return;
  }
  for (Sparse& s : other.sparse)
    add_sparse(find_table(tables, s.table), s.keys, s.values.data(), s.learning_rate);
  for (Dense& d : other.dense) add_dense(d.table, d.values, d.learning_rate);
}

void Stepwise::pull_sparse(uint32_t table, std::span<const Key> keys, float* out, bool training) {
  const SparsePull request{table, keys, out};
  pull_many({&request, 1}, training);
}
void Stepwise::pull_many(std::span<const SparsePull> requests, bool training) {
  check();
  client_->pull(requests, training);
  count_.pulled(requests);
}
void Stepwise::push_sparse(uint32_t table, std::span<const Key> keys, const float* values,
                           float learning_rate) {
  check();
  making_.add_sparse(table, keys, values, learning_rate);
}
void Stepwise::push_dense(uint32_t table, std::span<const float> values, float learning_rate) {
  check();
  making_.add_dense(table, values, learning_rate);
}

void requests_of(const Step& step, std::vector<SparsePush>* sparse, std::vector<DensePush>* dense,
                 Counters& count) {
  for (const Step::Sparse& s : step.sparse) {
    sparse->push_back({s.table, s.keys, s.values.data(), s.learning_rate});
    count.keys_pushed += s.keys.size();
  }
  for (const Step::Dense& d : step.dense) dense->push_back({d.table, d.values, d.learning_rate});
  count.pushes += sparse->size() + dense->size();
}

void send(Client& client, const Step& step, Counters& count) {
  std::vector<SparsePush> sparse;
  std::vector<DensePush> dense;
  requests_of(step, &sparse, &dense, count);
  client.push(sparse, dense);
}

template <class Add>
void Making::add_to_mine(Add&& add) {
  WaitLock all(mutex_);
  std::shared_ptr<Entry>& place = entries_[std::this_thread::get_id()];
  if (!place) place = std::make_shared<Entry>();
  const std::shared_ptr<Entry> mine = place;
  // Locked before all are let go, so that whoever takes the entry away waits for what is added.
  MutexLock lock(mine->mutex);
  all.unlock();
  mine->step.count = 1;
  add(mine->step);
}

void Making::add_sparse(uint32_t table, std::span<const Key> keys, const float* values,
                        float learning_rate) {
  const TableConfig& config = find_table(tables_, table);
  add_to_mine([&](Step& step) { step.add_sparse(config, keys, values, learning_rate); });
}

void Making::add_dense(uint32_t table, std::span<const float> values, float learning_rate) {
  add_to_mine([&](Step& step) { step.add_dense(table, values, learning_rate); });
}

Step Making::end() {
  std::shared_ptr<Entry> entry;
  {
    MutexLock lock(mutex_);
    auto found = entries_.find(std::this_thread::get_id());
    if (found == entries_.end()) return {};
    entry = std::move(found->second);
    entries_.erase(found);
  }
  MutexLock lock(entry->mutex);
  return std::move(entry->step);
}

std::vector<Step> Making::end_all() {
  std::map<std::thread::id, std::shared_ptr<Entry>> entries;
  {
    MutexLock lock(mutex_);
    entries.swap(entries_);
  }
  std::vector<Step> steps;
  for (auto& [id, entry] : entries) {
    MutexLock lock(entry->mutex);
    if (!entry->step.empty()) steps.push_back(std::move(entry->step));
  }
  return steps;
}

void Counters::pulled(std::span<const SparsePull> requests) {
  pulls += requests.size();
  for (const SparsePull& r : requests) keys_pulled += r.keys.size();
}

std::string Counters::json(size_t waiting) const {
  return json_text(OrderedJson{{"steps", steps.load()},
                               {"waiting", waiting},
                               {"pushes", pushes.load()},
                               {"pulls", pulls.load()},
                               {"keys_pulled", keys_pulled.load()},
                               {"keys_pushed", keys_pushed.load()},
                               {"exchanges", exchanges.load()}});
}

void Failure::set(std::exception_ptr e) {
  MutexLock lock(mutex_);
  if (!error_) error_ = std::move(e);
  failed_.store(true, std::memory_order_release);
}

void Failure::raise() {
  if (!failed()) return;
  MutexLock lock(mutex_);
  std::rethrow_exception(error_);
}

void throw_timeout(const char* what, std::chrono::milliseconds deadline) {
  ARGOSY_THROW(timeout) << "[parameter_server] " << what << " took longer than "
                        << static_cast<double>(deadline.count()) / 1000
                        << " s. Do this: look whether the servers live and keep up; raise the "
                           "deadline (ARGOSY_PS_CALL_SECONDS) if they do.";
}

void throw_stopped() {
  ARGOSY_THROW(runtime) << "[parameter_server] the connection is closed: stop_worker() was called. "
                           "Do this: call fleet.init_worker() again before training.";
}

std::vector<TableConfig> server_tables(std::vector<TableConfig> tables, const std::string& mode) {
  if (mode != "geo") return tables;
  for (TableConfig& t : tables) {
    if (t.kind == "summary") t.kind = "dense";  // trainers forget, servers add up what moved
    if (t.kind != "sparse" && t.kind != "dense") continue;
    ARGOSY_CHECK(t.accessor.kind == "plain", not_implemented)
        << "[parameter_server] table '" << t.name << "' has the accessor '" << t.accessor.kind
        << "', which geo mode cannot exchange: shows and clicks are counted by servers. Do this: "
           "use a_sync without k_steps, or a plain accessor.";
    t.accessor.embedding.rule = "sum";
    t.accessor.weight.rule = "sum";
  }
  return tables;
}

std::shared_ptr<Mode> make_mode(std::shared_ptr<Client> client, const ModeOptions& options) {
  if (options.mode == "sync" || options.mode == "half_async") return make_direct(client, options);
  if (options.mode == "async") return make_async(client, options);
  if (options.mode == "geo") return make_geo(client, options);
  ARGOSY_THROW(invalid_argument) << "[parameter_server] there is no mode '" << options.mode
                                 << "'. Do this: use sync, half_async, async or geo.";
}

}  // namespace argosy::ps

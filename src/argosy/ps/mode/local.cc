#include <map>

#include "argosy/base/error.h"
#include "argosy/base/mutex.h"
#include "argosy/ps/mode/step.h"
#include "argosy/ps/service/directory.h"
#include "argosy/ps/service/durability.h"
#include "argosy/ps/table/table.h"

// Tables of this process, without servers.
namespace argosy::ps {
namespace {

// Tables are saved as the only server of a job would: servers load what was saved here, and the
// other way around.
class Local final : public Mode, private Host {
 public:
  explicit Local(const std::vector<TableConfig>& tables) {
    options_.tables = tables;
    for (const TableConfig& t : tables) {
      if (t.kind == "sparse") sparse_[t.id] = make_sparse_table(t);
      if (t.kind == "dense" || t.kind == "summary")
        dense_[t.id] = make_dense_table(t, static_cast<size_t>(t.size));
    }
  }

  void pull_sparse(uint32_t table, std::span<const Key> keys, float* out, bool training) override {
    find(sparse_, table).pull(keys, out, training);
    ++count_.pulls;
    count_.keys_pulled += keys.size();
  }
  void push_sparse(uint32_t table, std::span<const Key> keys, const float* values,
                   float learning_rate) override {
    find(sparse_, table).push(keys, values, {learning_rate});
    ++count_.pushes;
    count_.keys_pushed += keys.size();
  }
  void pull_dense(uint32_t table, std::span<float> out) override {
    find(dense_, table).pull(out.data());
  }
  void push_dense(uint32_t table, std::span<const float> values, float learning_rate) override {
    find(dense_, table).push(values.data(), {learning_rate});
  }
  void end_step() override { ++count_.steps; }
  void flush() override {}
  void stop() override {}
  std::string stats() override { return count_.json(0); }

  uint64_t save(const std::string& directory, int mode, const Extent& extent) override {
    MutexLock lock(saving_);
    for (auto& [id, table] : sparse_) {
      if (mode == 3 && (extent.table == kAllTables || extent.table == id)) table->shrink();
    }
    return with_store(
        [&](Durability& store) { return store.save(Directory::make(directory), mode, extent); });
  }
  uint64_t load(const std::string& directory, int mode, uint32_t table) override {
    MutexLock lock(saving_);
    return with_store(
        [&](Durability& store) { return store.load(Directory::open(directory), mode, table); });
  }
  SparseTable* sparse_table(uint32_t table) override { return &find(sparse_, table); }
  DenseTable* dense_table(uint32_t table) override { return &find(dense_, table); }

 private:
  template <class F>
  uint64_t with_store(F&& f) {
    const std::unique_ptr<Durability> store = make_durability(*this);
    store->recover();
    const uint64_t rows = f(*store);
    store->stop();
    return rows;
  }

  const ServerOptions& options() const override { return options_; }
  std::vector<SparseTable*> sparse_tables() override {
    std::vector<SparseTable*> found;
    for (auto& [id, table] : sparse_) found.push_back(table.get());
    return found;
  }
  std::vector<DenseTable*> dense_tables() override {
    std::vector<DenseTable*> found;
    for (auto& [id, table] : dense_) found.push_back(table.get());
    return found;
  }
  std::string save_state() override { return {}; }
  void load_state(std::span<const std::byte>) override {}
  uint64_t epoch() const override { return 0; }
  void new_epoch(uint64_t) override {}
  void replay(std::span<const std::byte>, uint64_t, const Cut&) override {}

  template <class T>
  static T& find(std::map<uint32_t, std::unique_ptr<T>>& tables, uint32_t id) {
    auto it = tables.find(id);
    ARGOSY_CHECK(it != tables.end(), invalid_argument)
        << "[parameter_server] there is no table " << id << " of this kind.";
    return *it->second;
  }

  std::map<uint32_t, std::unique_ptr<SparseTable>> sparse_;
  std::map<uint32_t, std::unique_ptr<DenseTable>> dense_;
  Counters count_;
  ServerOptions options_;
  Mutex saving_;  // one save or load at a time
};

}  // namespace

std::shared_ptr<Mode> make_local(const std::vector<TableConfig>& tables) {
  return std::make_shared<Local>(tables);
}

}  // namespace argosy::ps

#include <map>

#include "argosy/base/error.h"
#include "argosy/ps/mode/step.h"
#include "argosy/ps/table/table.h"

// Tables of this process, without servers.
namespace argosy::ps {
namespace {

class Local final : public Mode {
 public:
  explicit Local(const std::vector<TableConfig>& tables) {
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
  SparseTable* sparse_table(uint32_t table) override { return &find(sparse_, table); }
  DenseTable* dense_table(uint32_t table) override { return &find(dense_, table); }

 private:
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
};

}  // namespace

std::shared_ptr<Mode> make_local(const std::vector<TableConfig>& tables) {
  return std::make_shared<Local>(tables);
}

}  // namespace argosy::ps

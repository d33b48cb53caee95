#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "argosy/ps/mode/step.h"
#include "argosy/ps/service/client.h"
#include "argosy/ps/table/table.h"

// Servers of this process, for tests of modes: tables, steps of several workers, delays and errors.
namespace argosy::ps {

struct FakeServers {
  explicit FakeServers(std::vector<TableConfig> configs, uint32_t workers = 1)
      : tables(std::move(configs)), workers(workers) {
    for (const TableConfig& t : tables) {
      if (t.kind == "sparse") sparse[t.id] = make_sparse_table(t);
      if (t.kind == "dense") dense[t.id] = make_dense_table(t, t.size);
    }
  }

  std::vector<TableConfig> tables;
  uint32_t workers;
  std::map<uint32_t, std::unique_ptr<SparseTable>> sparse;
  std::map<uint32_t, std::unique_ptr<DenseTable>> dense;
  std::atomic<int> delay_ms{0};      // of each push
  std::atomic<bool> held{false};     // pushes wait until it is false
  std::atomic<int> pushes_left{-1};  // then pushes throw; below 0: they never do
  std::atomic<int> pushes{0}, pulls{0};
  std::atomic<uint64_t> numbers{0};  // on the wire

  struct Part {
    uint32_t table;
    std::vector<Key> keys;
    std::vector<float> values;
    float learning_rate;
  };
  std::mutex mutex;  // guards the open step
  std::condition_variable ended;
  std::vector<Part> parts;
  uint32_t here = 0;
  uint64_t step = 0;
};

class FakeClient final : public Client {
 public:
  explicit FakeClient(FakeServers& servers) : s_(servers) {}

  void pull_sparse(uint32_t table, std::span<const Key> keys, float* out, bool create) override {
    ++s_.pulls;
    s_.numbers += keys.size() * (2 + pull_width(table));
    s_.sparse.at(table)->pull(keys, out, create);
  }
  void push_sparse(uint32_t table, std::span<const Key> keys, const float* values,
                   float learning_rate) override {
    arrive(keys.size() * (2 + push_width(table)));
    s_.sparse.at(table)->push(keys, values, {learning_rate});
  }
  void assign_sparse(uint32_t table, std::span<const Key> keys, const float* values) override {
    s_.sparse.at(table)->assign(keys, values);
  }
  void pull_dense(uint32_t table, std::span<float> out) override {
    ++s_.pulls;
    s_.numbers += out.size();
    s_.dense.at(table)->pull(out.data());
  }
  void push_dense(uint32_t table, std::span<const float> values, float learning_rate) override {
    arrive(values.size());
    s_.dense.at(table)->push(values.data(), {learning_rate});
  }
  void assign_dense(uint32_t table, std::span<const float> values) override {
    s_.dense.at(table)->assign(values.data());
  }
  void push_sparse_step(uint32_t table, uint64_t step, std::span<const Key> keys,
                        const float* values, float learning_rate) override {
    std::lock_guard lock(s_.mutex);
    ASSERT_EQ(step, s_.step);
    const size_t n = keys.size() * push_width(table);
    s_.parts.push_back({table, {keys.begin(), keys.end()}, {values, values + n}, learning_rate});
  }
  void push_dense_step(uint32_t table, uint64_t step, std::span<const float> values,
                       float learning_rate) override {
    std::lock_guard lock(s_.mutex);
    ASSERT_EQ(step, s_.step);
    s_.parts.push_back({table, {}, {values.begin(), values.end()}, learning_rate});
  }
  void end_step(uint64_t step) override {
    std::unique_lock lock(s_.mutex);
    ASSERT_EQ(step, s_.step);
    if (++s_.here == s_.workers) {
      apply();
      s_.here = 0;
      ++s_.step;
      s_.ended.notify_all();
      return;
    }
    ARGOSY_CHECK(s_.ended.wait_for(lock, std::chrono::seconds(120), [&] { return s_.step > step; }),
                 timeout)
        << "a worker is missing";
  }
  uint64_t next_step() const override { return 0; }
  void barrier(const std::string&, bool) override {}
  void all_reduce(std::span<double>, const std::string&) override {}
  std::vector<std::string> all_gather(const std::string& mine) override { return {mine}; }
  uint64_t save(const std::string&, int, const Extent&) override { return 0; }
  uint64_t load(const std::string&, int, uint32_t) override { return 0; }
  uint64_t shrink(uint32_t table) override { return s_.sparse.at(table)->shrink(); }
  void end_day() override {}
  std::string stats() override { return "[]"; }
  void stop_servers() override {}
  const std::vector<TableConfig>& tables() const override { return s_.tables; }
  size_t pull_width(uint32_t table) const override { return s_.sparse.at(table)->pull_width(); }
  size_t push_width(uint32_t table) const override { return s_.sparse.at(table)->push_width(); }
  uint64_t bytes_sent() const override { return 0; }
  uint64_t bytes_received() const override { return 0; }
  uint64_t retries() const override { return 0; }

 private:
  void arrive(size_t numbers) {
    while (s_.held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (s_.delay_ms) std::this_thread::sleep_for(std::chrono::milliseconds(s_.delay_ms));
    if (s_.pushes_left >= 0) {
      ARGOSY_CHECK(s_.pushes_left-- > 0, timeout) << "[parameter_server] the server is gone";
    }
    ++s_.pushes;
    s_.numbers += numbers;
  }

  // The mean over workers. REQUIRES: the mutex held.
  void apply() {
    std::map<uint32_t, Merged> rows;
    std::map<uint32_t, std::pair<std::vector<float>, float>> blocks;
    std::map<uint32_t, float> rates;
    const float part = 1 / static_cast<float>(s_.workers);
    for (FakeServers::Part& p : s_.parts) {
      for (float& v : p.values) v *= part;
      rates[p.table] = p.learning_rate;
      if (p.keys.empty()) {
        auto& sum = blocks[p.table].first;
        sum.resize(p.values.size());
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += p.values[i];
        continue;
      }
      const size_t width = push_width(p.table);
      auto& merged = rows.try_emplace(p.table, Merged(width)).first->second;
      for (size_t i = 0; i < p.keys.size(); ++i) merged.add(p.keys[i], p.values.data() + i * width);
    }
    for (auto& [table, merged] : rows)
      s_.sparse.at(table)->push(merged.keys(), merged.values(), {rates[table]});
    for (auto& [table, block] : blocks)
      s_.dense.at(table)->push(block.first.data(), {rates[table]});
    s_.parts.clear();
  }

  FakeServers& s_;
};

inline TableConfig rows_table(uint32_t id, int dim, const std::string& rule, float range = 0) {
  TableConfig t;
  t.id = id;
  t.name = "rows" + std::to_string(id);
  t.accessor.dim = dim;
  t.accessor.embedding.rule = rule;
  t.accessor.embedding.initial_range = range;
  t.accessor.embedding.learning_rate = 0.1f;
  return t;
}

inline TableConfig block_table(uint32_t id, uint64_t size, const std::string& rule) {
  TableConfig t;
  t.id = id;
  t.name = "block" + std::to_string(id);
  t.kind = "dense";
  t.size = size;
  t.accessor.embedding.rule = rule;
  t.accessor.embedding.learning_rate = 0.1f;
  return t;
}

}  // namespace argosy::ps

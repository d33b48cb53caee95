#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/ps/service/directory.h"
#include "argosy/ps/service/durability.h"

// A server without a network: enough of one to test what it keeps.
namespace argosy::ps {

inline TableConfig sum_table(uint32_t id, const std::string& kind, uint64_t size = 0) {
  TableConfig config;
  config.id = id;
  config.name = kind + std::to_string(id);
  config.kind = kind;
  config.accessor.dim = 2;
  config.accessor.embedding.rule = "sum";
  config.accessor.embedding.initial_range = 0;
  config.size = size;
  return config;
}

class TestHost : public Host {
 public:
  // Table 0 is sparse, table 1 dense; both add what is pushed.
  TestHost(const std::string& directory, const std::string& durability, uint32_t index = 0,
           uint32_t servers = 1, uint64_t dense_size = 10, int dim = 2) {
    options_.index = index;
    options_.servers = servers;
    options_.durability = durability;
    options_.directory = directory;
    options_.tables = {sum_table(0, "sparse"), sum_table(1, "dense", dense_size)};
    options_.tables[0].accessor.dim = dim;
    sparse_ = make_sparse_table(options_.tables[0]);
    const uint64_t first = dense_size * index / servers;
    dense_ = make_dense_table(options_.tables[1], dense_size * (index + 1) / servers - first);
    durability_ = make_durability(*this);
  }
  void recover() {
    durability_->recover();
    durability_->begin();
  }
  Durability& durability() { return *durability_; }
  SparseTable& sparse() { return *sparse_; }
  DenseTable& dense() { return *dense_; }

  // A push as a server does it, up to the record's position.
  uint64_t push(uint32_t client, uint64_t sequence, const std::vector<Key>& keys,
                const std::vector<float>& values) {
    std::vector<std::byte> record(16 + 8 * keys.size() + 4 * values.size());
    const uint64_t head[2] = {uint64_t{client} << 32 | keys.size(), sequence};
    std::memcpy(record.data(), head, 16);
    if (!keys.empty()) std::memcpy(record.data() + 16, keys.data(), 8 * keys.size());
    std::memcpy(record.data() + 16 + 8 * keys.size(), values.data(), 4 * values.size());
    Pass pass(*durability_);
    const std::span<const std::byte> piece(record);
    const uint64_t position = durability_->append(std::span(&piece, 1));
    if (keys.empty()) {
      dense_->push(values.data(), {});
    } else {
      sparse_->push(keys, values.data(), {});
    }
    mark(client, sequence);
    return position;
  }
  // Waits until it is durable; the reason if it cannot be.
  std::string wait(uint64_t position) {
    std::mutex mutex;
    std::condition_variable cv;
    bool done = false;
    std::string failure;
    durability_->when_durable(position, [&](const std::string& text) {
      std::lock_guard guard(mutex);
      failure = text;
      done = true;
      cv.notify_all();
    });
    std::unique_lock lock(mutex);
    EXPECT_TRUE(cv.wait_for(lock, std::chrono::seconds(60), [&] { return done; }));
    return failure;
  }

  std::map<Key, std::vector<float>> rows() {
    std::map<Key, std::vector<float>> all;
    for (uint32_t shard = 0; shard < kShards; ++shard) {
      Rows rows;
      sparse_->copy_shard(shard, Selection::all, false, &rows, nullptr);
      for (size_t i = 0; i < rows.keys.size(); ++i) {
        std::vector<float> row((rows.offsets[i + 1] - rows.offsets[i]) / 4);
        std::memcpy(row.data(), rows.bytes.data() + rows.offsets[i], 4 * row.size());
        EXPECT_TRUE(all.emplace(rows.keys[i], row).second);
      }
    }
    return all;
  }
  std::vector<float> dense_values() {
    std::vector<float> values(dense_->size());
    dense_->pull(values.data());
    return values;
  }
  std::map<uint32_t, std::vector<uint64_t>> window() {
    std::lock_guard guard(mutex_);
    return window_;
  }

  const ServerOptions& options() const override { return options_; }
  std::vector<SparseTable*> sparse_tables() override { return {sparse_.get()}; }
  std::vector<DenseTable*> dense_tables() override { return {dense_.get()}; }
  // Before the server runs.
  ServerOptions options_;
  std::function<void()> while_saving_;

  std::string save_state() override {
    if (while_saving_) while_saving_();
    std::lock_guard guard(mutex_);
    std::string text;
    for (const auto& [client, sequences] : window_) {
      for (const uint64_t s : sequences) {
        text.append(reinterpret_cast<const char*>(&client), 4);
        text.append(reinterpret_cast<const char*>(&s), 8);
      }
    }
    return text;
  }
  void load_state(std::span<const std::byte> state) override {
    for (; !state.empty(); state = state.subspan(12)) {
      uint32_t client;
      uint64_t sequence;
      std::memcpy(&client, state.data(), 4);
      std::memcpy(&sequence, state.data() + 4, 8);
      mark(client, sequence);
    }
  }
  uint64_t epoch() const override { return 1; }
  void new_epoch(uint64_t) override {}
  void replay(std::span<const std::byte> record, uint64_t position, const Cut& cut) override {
    uint64_t head[2];
    std::memcpy(head, record.data(), 16);
    const size_t n = head[0] & 0xffffffff;
    if (position > cut.state_position()) mark(static_cast<uint32_t>(head[0] >> 32), head[1]);
    const std::byte* at = record.data() + 16;
    std::vector<float> values((record.size() - 16 - 8 * n) / 4);
    std::memcpy(values.data(), at + 8 * n, 4 * values.size());
    if (!n) {
      if (position > cut.position(1, 0)) dense_->push(values.data(), {});
      return;
    }
    const size_t width = values.size() / n;
    for (size_t i = 0; i < n; ++i) {
      Key key;
      std::memcpy(&key, at + 8 * i, 8);
      if (position > cut.position(0, shard_of(key))) {
        sparse_->push(std::span(&key, 1), values.data() + i * width, {});
      }
    }
  }

 private:
  void mark(uint32_t client, uint64_t sequence) {
    std::lock_guard guard(mutex_);
    window_[client].push_back(sequence);
  }

  std::unique_ptr<SparseTable> sparse_;
  std::unique_ptr<DenseTable> dense_;
  std::mutex mutex_;
  std::map<uint32_t, std::vector<uint64_t>> window_;
  std::unique_ptr<Durability> durability_;
};

class WithDirectory : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/argosy_ps_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

// The text of the error that a call throws, empty if it throws none.
inline std::string error_of(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace argosy::ps

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <thread>

#include "argosy/ps/table/table.h"

namespace argosy::ps {
namespace {

struct Folder {
  std::filesystem::path path;
  Folder() {
    auto name = (std::filesystem::temp_directory_path() / "argosy_ssd_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

TableConfig config(const Folder& folder, bool click) {
  TableConfig c;
  c.name = "t";
  c.tier = "ssd";
  c.directory = folder.path / "db";
  c.memory_rows = 2048;
  auto& a = c.accessor;
  a.kind = click ? "click" : "plain";
  a.dim = 5;
  a.weight.rule = a.embedding.rule = "sum";
  a.weight.initial_range = a.embedding.initial_range = 0;
  a.show_scale = false;
  a.embedding_threshold = 0;
  a.delete_threshold = 0;
  return c;
}

// Rows go to disk and come back all the time, days end, copies are taken; every push counts once.
TEST(SsdTable, PushesOfManyThreadsAllCount) {
  for (const bool click : {false, true}) {
    Folder folder;
    const auto table = make_sparse_table(config(folder, click));
    constexpr int kThreads = 3, kRounds = 10, kKeys = 6000;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(static_cast<uint64_t>(t));
        const size_t w = table->pull_width();
        std::vector<Key> keys(kKeys);
        std::vector<float> values(kKeys * table->push_width(), 1), out(kKeys * w);
        for (int i = 0; i < kKeys; ++i) keys[static_cast<size_t>(i)] = static_cast<Key>(i);
        for (int r = 0; r < kRounds; ++r) {
          std::shuffle(keys.begin(), keys.end(), random);
          table->push(keys, values.data(), {});
          table->pull(keys, out.data(), false);
          for (size_t i = 0; i < keys.size(); ++i) {
            ASSERT_GE(out[i * w + w - 1], static_cast<float>(r + !click));
            ASSERT_EQ(out[i * w + w - 1], out[i * w + w - 2]);
          }
          if (t == 0) table->end_day();
          if (t == 1) {
            Rows rows;
            std::vector<Key> deleted;
            for (uint32_t s = 0; s < kShards; ++s) {
              table->copy_shard(s, r % 2 ? Selection::changed : Selection::all, true, &rows,
                                &deleted);
            }
          }
        }
      });
    }
    for (auto& t : threads) t.join();
    Rows rows;
    for (uint32_t s = 0; s < kShards; ++s) {
      table->copy_shard(s, Selection::all, false, &rows, nullptr);
    }
    EXPECT_EQ(rows.keys.size(), static_cast<size_t>(kKeys));
    EXPECT_LT(table->stats().rows, 3000u);
    const std::vector<Key> keys(rows.keys);
    std::vector<float> out(keys.size() * table->pull_width());
    table->pull(keys, out.data(), false);
    const float full = kThreads * kRounds;
    const size_t w = table->pull_width();
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], click && i % w >= 3 ? full - 1 : full) << i % w;
    }
  }
}

}  // namespace
}  // namespace argosy::ps

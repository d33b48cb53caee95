#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "argosy/base/error.h"
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

// Without a limit of rows in memory nothing needs the disk but the end of a day.
TEST(SsdTable, AFullDiskDoesNotStopATableThatFitsInMemory) {
  std::signal(SIGXFSZ, SIG_IGN);
  Folder folder;
  auto c = config(folder, false);
  c.memory_rows = 0;
  const auto table = make_sparse_table(c);
  const std::vector<Key> keys = {1, 2, 3};
  const std::vector<float> ones(keys.size() * table->push_width(), 1);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  EXPECT_THROW(table->end_day(), Error);
  table->push(keys, ones.data(), {});
  setrlimit(RLIMIT_FSIZE, &before);
  std::vector<float> out(keys.size() * table->pull_width());
  table->pull(keys, out.data(), false);
  EXPECT_EQ(out, ones);
}

// The limit of file sizes stands in for a full disk.
TEST(SsdTable, AFullDiskLosesNothingAndIsNamed) {
  std::signal(SIGXFSZ, SIG_IGN);
  Folder folder;
  auto c = config(folder, false);
  auto table = make_sparse_table(c);
  constexpr int kKeys = 20000;
  const size_t w = table->pull_width();
  std::vector<float> expected(kKeys);
  // One more for each of 1000 keys; the error's text, if there is one.
  const auto push = [&](int first) {
    std::vector<Key> keys(1000);
    for (int i = 0; i < 1000; ++i) keys[static_cast<size_t>(i)] = static_cast<Key>(first + i);
    const std::vector<float> ones(keys.size() * table->push_width(), 1);
    try {
      table->push(keys, ones.data(), {});
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::io);
      return std::string(e.what());
    }
    for (const Key key : keys) ++expected[key];
    return std::string();
  };
  const auto check = [&] {
    std::vector<Key> keys(kKeys);
    for (int i = 0; i < kKeys; ++i) keys[static_cast<size_t>(i)] = static_cast<Key>(i);
    std::vector<float> out(keys.size() * w);
    table->pull(keys, out.data(), false);
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], expected[i / w]) << i / w;
  };

  for (int first = 0; first < 8000; first += 1000) ASSERT_EQ(push(first), "");
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{400000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  std::string failure;
  for (int first = 0; failure.empty() && first < 40 * kKeys; first += 1000) {
    failure = push(first % kKeys);
  }
  EXPECT_NE(failure.find(c.directory), std::string::npos) << failure;
  EXPECT_NE(failure.find("Do this: make room"), std::string::npos) << failure;
  check();
  // What is erased stays so; days end as a whole or not at all.
  const std::vector<Key> erased = {1, 2, 7000, 7001};
  table->erase(erased);
  for (const Key key : erased) expected[key] = 0;
  EXPECT_THROW(table->end_day(), Error);
  check();
  EXPECT_NE(push(0), "");

  setrlimit(RLIMIT_FSIZE, &before);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!(failure = push(10000)).empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_EQ(failure, "");
  for (int first = 0; first < kKeys; first += 1000) ASSERT_EQ(push(first), "");
  check();
  EXPECT_LT(table->stats().rows, 3000u);
  table->erase(erased);
  for (const Key key : erased) expected[key] = 0;
  table.reset();
  table = make_sparse_table(c);
  check();
}

}  // namespace
}  // namespace argosy::ps

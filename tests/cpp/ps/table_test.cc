#include "argosy/ps/table/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

TableConfig plain(const char* rule, int dim, const char* dtype = "float32") {
  TableConfig c;
  c.name = "t";
  c.accessor.dim = dim;
  c.accessor.dtype = dtype;
  c.accessor.embedding.rule = rule;
  c.accessor.embedding.initial_range = 0;
  return c;
}

std::vector<float> pulled(SparseTable& table, const std::vector<Key>& keys, bool create = false) {
  std::vector<float> out(keys.size() * table.pull_width(), -7);
  table.pull(keys, out.data(), create);
  return out;
}

TEST(SparseTable, RowsComeToBeWhenPulledForTraining) {
  auto c = plain("sgd", 3);
  c.accessor.embedding.initial_range = 0.5f;
  const auto table = make_sparse_table(c);
  const std::vector<Key> keys = {0, ~Key{0}, Key{1} << 63, 5, 0};
  for (const float x : pulled(*table, keys)) EXPECT_EQ(x, 0);
  EXPECT_EQ(table->stats().rows, 0u);
  const auto first = pulled(*table, keys, true);
  EXPECT_EQ(table->stats().rows, 4u);
  EXPECT_EQ(pulled(*table, keys), first);
  for (int j = 0; j < 3; ++j) EXPECT_EQ(first[j], first[12 + j]);
  for (const float x : first) EXPECT_LE(std::abs(x), 0.5f);
  EXPECT_NE(first[0], first[3]);
  // By key, not by the order of arrival.
  const auto other = make_sparse_table(c);
  pulled(*other, {5}, true);
  EXPECT_EQ(pulled(*other, keys, true), first);
}

TEST(SparseTable, NoKeysAreNoWork) {
  const auto table = make_sparse_table(plain("sum", 2));
  table->pull({}, nullptr, true);
  table->push({}, nullptr, {});
  table->assign({}, nullptr);
  table->erase({});
  table->put_rows({});
  EXPECT_EQ(table->stats().rows, 0u);
}

TEST(SparseTable, EachOfEqualKeysCounts) {
  const auto table = make_sparse_table(plain("sum", 2));
  std::vector<Key> keys;
  std::vector<float> values;
  for (int i = 0; i < 500; ++i) {
    keys.push_back(static_cast<Key>(i % 7));
    values.insert(values.end(), {1, static_cast<float>(i)});
  }
  table->push(keys, values.data(), {});
  std::map<Key, std::pair<float, float>> sums;
  for (int i = 0; i < 500; ++i) sums[i % 7].first += 1, sums[i % 7].second += i;
  for (const auto& [key, sum] : sums) {
    EXPECT_EQ(pulled(*table, {key}), (std::vector<float>{sum.first, sum.second}));
  }
}

TEST(SparseTable, ValuesThatAreNotFiniteAreRefused) {
  const auto table = make_sparse_table(plain("sum", 2));
  const float values[] = {1, NAN, 2, 2, INFINITY, 1};
  table->push(std::vector<Key>{1, 2, 3}, values, {});
  EXPECT_EQ(table->stats().rejected, 2u);
  EXPECT_EQ(table->stats().rows, 1u);
  EXPECT_EQ(pulled(*table, {1, 2, 3}), (std::vector<float>{0, 0, 2, 2, 0, 0}));
  table->assign(std::vector<Key>{1}, values);
  EXPECT_EQ(table->stats().rejected, 3u);
}

// Random operations against a map.
TEST(SparseTable, BehavesAsAMap) {
  for (const int keys_at_all : {50, 200000}) {
    const auto table = make_sparse_table(plain("sum", 3));
    std::map<Key, std::array<float, 3>> model;
    std::mt19937_64 random(keys_at_all);
    const auto key = [&] { return random() % keys_at_all * 0x9e3779b97f4a7c15; };
    for (int round = 0; round < 200; ++round) {
      const size_t n = round % 10 == 0 ? 20000 : random() % 100;
      std::vector<Key> keys(n);
      for (auto& k : keys) k = key();
      std::vector<float> values(3 * n);
      for (auto& v : values) v = static_cast<float>(random() % 100);
      const int operation = static_cast<int>(random() % 5);
      if (operation <= 1) {
        table->push(keys, values.data(), {});
        for (size_t i = 0; i < n; ++i) {
          for (int j = 0; j < 3; ++j) model[keys[i]][j] += values[3 * i + j];
        }
      } else if (operation == 2) {
        table->assign(keys, values.data());
        for (size_t i = 0; i < n; ++i) {
          for (int j = 0; j < 3; ++j) model[keys[i]][j] = values[3 * i + j];
        }
      } else if (operation == 3) {
        table->erase(keys);
        for (const Key k : keys) model.erase(k);
      } else {
        const bool create = random() % 2;
        const auto out = pulled(*table, keys, create);
        for (size_t i = 0; i < n; ++i) {
          const auto found = model.find(keys[i]);
          for (int j = 0; j < 3; ++j) {
            ASSERT_EQ(out[3 * i + j], found == model.end() ? 0 : found->second[j]);
          }
          if (create) model.try_emplace(keys[i]);
        }
      }
      ASSERT_EQ(table->stats().rows, model.size());
    }
    // All shards hold what the model holds, each key in its own.
    Rows rows;
    for (uint32_t s = 0; s < kShards; ++s) {
      const size_t begin = rows.keys.size();
      table->copy_shard(s, Selection::all, false, &rows, nullptr);
      for (size_t i = begin; i < rows.keys.size(); ++i) ASSERT_EQ(shard_of(rows.keys[i]), s);
    }
    ASSERT_EQ(rows.keys.size(), model.size());
    for (size_t i = 0; i < rows.keys.size(); ++i) {
      ASSERT_EQ(rows.offsets[i + 1] - rows.offsets[i], 12u);
      ASSERT_EQ(std::memcmp(rows.bytes.data() + rows.offsets[i], &model.at(rows.keys[i]), 12), 0);
    }
    const auto copy = make_sparse_table(plain("sum", 3));
    copy->put_rows(rows);
    std::vector<Key> keys;
    for (const auto& [k, unused] : model) keys.push_back(k);
    EXPECT_EQ(pulled(*copy, keys), pulled(*table, keys));
    table->clear();
    EXPECT_EQ(table->stats().rows, 0u);
  }
}

TEST(SparseTable, PushesOfManyThreadsAllCount) {
  for (const bool click : {false, true}) {
    auto c = plain("sum", 5);
    if (click) {
      c.accessor.kind = "click";
      c.accessor.weight.rule = "sum";
      c.accessor.weight.initial_range = 0;
      c.accessor.show_scale = false;
      c.accessor.embedding_threshold = 0;
    }
    const auto table = make_sparse_table(c);
    constexpr int kThreads = 4, kRounds = 20, kKeys = 3000;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(t);
        const size_t width = table->push_width();
        std::vector<Key> keys(kKeys);
        std::vector<float> values(kKeys * width, 1), out(kKeys * table->pull_width());
        for (int r = 0; r < kRounds; ++r) {
          for (int i = 0; i < kKeys; ++i) keys[i] = static_cast<Key>(i * 31 % kKeys);
          std::shuffle(keys.begin(), keys.end(), random);
          table->push(keys, values.data(), {});
          table->pull(keys, out.data(), false);
          // A row is never torn: all its weights got the same pushes.
          const size_t first = click ? 3 : 0, w = table->pull_width();
          for (size_t i = 0; i < keys.size(); ++i) {
            for (size_t j = first; j < w; ++j) ASSERT_EQ(out[i * w + j], out[i * w + first]);
          }
          if (t == 0 && r % 5 == 0) {
            Rows rows;
            for (uint32_t s = 0; s < kShards; ++s) {
              table->copy_shard(s, Selection::changed, true, &rows, nullptr);
            }
          }
        }
      });
    }
    for (auto& t : threads) t.join();
    std::vector<Key> keys(kKeys);
    for (int i = 0; i < kKeys; ++i) keys[i] = static_cast<Key>(i);
    const auto out = pulled(*table, keys);
    // The push that makes an embedding does not reach it.
    const float full = kThreads * kRounds;
    const size_t w = table->pull_width();
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], click && i % w >= 3 ? full - 1 : full) << i % w;
    }
    EXPECT_EQ(table->stats().rows, static_cast<uint64_t>(kKeys));
  }
}

TEST(SparseTable, ChangedRowsAreThoseSinceTheMark) {
  const auto table = make_sparse_table(plain("sum", 1));
  std::vector<Key> keys(5000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  std::vector<float> ones(keys.size(), 1);
  table->push(keys, ones.data(), {});
  const auto copied = [&](Selection selection, bool mark, std::vector<Key>* deleted) {
    Rows rows;
    for (uint32_t s = 0; s < kShards; ++s) table->copy_shard(s, selection, mark, &rows, deleted);
    std::sort(rows.keys.begin(), rows.keys.end());
    return rows.keys;
  };
  std::vector<Key> deleted;
  EXPECT_EQ(copied(Selection::changed, true, &deleted), keys);  // before any mark: all
  EXPECT_TRUE(copied(Selection::changed, false, &deleted).empty());
  table->push(std::vector<Key>{3, 4999}, ones.data(), {});
  pulled(*table, {7});
  pulled(*table, {90000}, true);
  table->erase(std::vector<Key>{5, 3, 60000});
  EXPECT_EQ(copied(Selection::changed, false, &deleted), (std::vector<Key>{4999, 90000}));
  std::sort(deleted.begin(), deleted.end());
  EXPECT_EQ(deleted, (std::vector<Key>{3, 5}));
  deleted.clear();
  table->push(std::vector<Key>{5}, ones.data(), {});  // comes back
  EXPECT_EQ(copied(Selection::changed, true, &deleted), (std::vector<Key>{5, 4999, 90000}));
  EXPECT_EQ(deleted.size(), 2u);
  deleted.clear();
  EXPECT_TRUE(copied(Selection::changed, true, &deleted).empty());
  EXPECT_TRUE(deleted.empty());
  EXPECT_EQ(copied(Selection::all, false, nullptr).size(), 5000u);
}

// n keys of one shard.
std::vector<Key> keys_of_shard(uint32_t shard, size_t n) {
  std::vector<Key> keys;
  for (Key key = 0; keys.size() < n; ++key) {
    if (shard_of(key) == shard) keys.push_back(key);
  }
  return keys;
}

// Keys that go are remembered for copies of changed rows, but no more of them than there are rows,
// or some thousand.
TEST(SparseTable, WhatWentIsNotRememberedForEver) {
  auto c = plain("sum", 1);
  c.max_rows = 1000;
  const auto table = make_sparse_table(c);
  const auto keys = keys_of_shard(5, 30'000);
  const std::vector<float> ones(1000, 1);
  const auto push = [&](size_t begin, size_t end) {
    for (; begin < end; begin += 1000) {
      table->push(std::span(keys).subspan(begin, 1000), ones.data(), {});
    }
  };
  const auto mark = [&](Selection selection) {
    Rows rows;
    std::vector<Key> deleted;
    for (uint32_t s = 0; s < kShards; ++s) table->copy_shard(s, selection, true, &rows, &deleted);
    return std::pair(rows.keys.size(), deleted.size());
  };
  EXPECT_FALSE(table->tracks_changes());
  push(0, 2000);
  EXPECT_LE(mark(Selection::all).first, 1000u);
  EXPECT_TRUE(table->tracks_changes());
  push(2000, 5000);
  EXPECT_TRUE(table->tracks_changes());
  const auto [rows, deleted] = mark(Selection::changed);
  EXPECT_LE(rows, 1000u);
  EXPECT_GT(deleted, 2900u);
  const auto before = table->stats().memory_bytes;
  push(5000, 30'000);
  EXPECT_FALSE(table->tracks_changes());
  EXPECT_LT(table->stats().memory_bytes, before + 64 * 1024);
  try {
    mark(Selection::changed);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::runtime);
    EXPECT_NE(std::string(e.what()).find("Do this: copy all rows"), std::string::npos) << e.what();
  }
  mark(Selection::all);
  EXPECT_TRUE(table->tracks_changes());
  EXPECT_EQ(mark(Selection::changed), std::pair(size_t{0}, size_t{0}));
  // Nobody asks for changes any more.
  table->stop_tracking();
  EXPECT_FALSE(table->tracks_changes());
  push(0, 10'000);
  EXPECT_FALSE(table->tracks_changes());
  EXPECT_LE(mark(Selection::changed).first, 1000u);  // as before any mark: all
  EXPECT_TRUE(table->tracks_changes());
}

TEST(SparseTable, CallsTellHowManyRowsTheyMade) {
  const auto table = make_sparse_table(plain("sum", 1));
  const std::vector<Key> keys = {1, 2, 3, 2, 1};
  const std::vector<float> ones(keys.size(), 1);
  std::vector<float> out(keys.size());
  EXPECT_EQ(table->pull(keys, out.data(), false), 0u);
  EXPECT_EQ(table->pull(std::span(keys).first(2), out.data(), true), 2u);
  EXPECT_EQ(table->push(keys, ones.data(), {}), 1u);
  EXPECT_EQ(table->push(keys, ones.data(), {}), 0u);
  EXPECT_EQ(table->assign(std::vector<Key>{3, 4, 5}, ones.data()), 2u);
  auto c = plain("sum", 1);
  c.admission = {"count", 2, 1};
  const auto counted = make_sparse_table(c);
  EXPECT_EQ(counted->push(std::vector<Key>{7, 8}, ones.data(), {}), 2u);  // candidates
  EXPECT_EQ(counted->push(std::vector<Key>{7, 9}, ones.data(), {}), 1u);
  EXPECT_EQ(counted->assign(std::vector<Key>{8, 10}, ones.data()), 1u);
  EXPECT_EQ(counted->stats().rows, 4u);
}

// Big tables forget a shard at a time: not exactly the oldest, but old ones.
TEST(SparseTable, BigTablesKeepTheirCap) {
  auto c = plain("sum", 1);
  c.max_rows = 1'001'000;
  const auto table = make_sparse_table(c);
  std::vector<Key> keys(100'000);
  std::vector<float> ones(keys.size(), 1);
  for (Key first = 0; first < 1'300'000; first += keys.size()) {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = first + i;
    table->push(keys, ones.data(), {});
    EXPECT_LE(table->stats().rows, c.max_rows);
  }
  EXPECT_GT(table->stats().rows, c.max_rows - 5000);
  Rows rows;
  for (uint32_t s = 0; s < kShards; ++s) {
    table->copy_shard(s, Selection::all, false, &rows, nullptr);
  }
  EXPECT_EQ(std::count_if(rows.keys.begin(), rows.keys.end(), [](Key k) { return k < 200'000; }),
            0);
  EXPECT_EQ(std::count_if(rows.keys.begin(), rows.keys.end(), [](Key k) { return k >= 400'000; }),
            900'000);
}

TEST(SparseTable, BadRowsAreRefused) {
  const auto table = make_sparse_table(plain("sgd", 2));
  Rows rows;
  rows.keys = {1};
  EXPECT_THROW(table->put_rows(rows), Error);
  rows.offsets = {0, 7};
  rows.bytes.resize(7);
  try {
    table->put_rows(rows);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("have 8 or 8 bytes, got one of 7"), std::string::npos)
        << e.what();
  }
  EXPECT_EQ(table->stats().rows, 0u);
}

}  // namespace
}  // namespace argosy::ps

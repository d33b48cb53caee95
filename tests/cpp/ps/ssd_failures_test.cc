// Tables whose disk fails: a change is whole or did not happen.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "argosy/base/error.h"
#include "argosy/ps/table/table.h"
#include "tests/cpp/ps/failing_files.h"

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

constexpr size_t kKeys = 9000;

TableConfig config(const std::filesystem::path& directory, bool click) {
  TableConfig c;
  c.name = "t";
  if (!directory.empty()) {
    c.tier = "ssd";
    c.directory = directory;
    c.memory_rows = 3072;
  }
  auto& a = c.accessor;
  a.kind = click ? "click" : "plain";
  a.dim = 3;
  a.weight.rule = a.embedding.rule = "sum";
  a.weight.initial_range = a.embedding.initial_range = 0;
  a.show_scale = false;
  a.embedding_threshold = 0;
  a.delete_threshold = 1;
  a.base_threshold = 0.5;
  a.delete_after_unseen_days = 1;
  return c;
}

std::vector<Key> keys_from(Key first, size_t n) {
  std::vector<Key> keys(n);
  for (size_t i = 0; i < n; ++i) keys[i] = first + i;
  return keys;
}

std::vector<float> values_of(const SparseTable& table, const std::vector<Key>& keys, bool pushed) {
  const size_t width = pushed ? table.push_width() : table.pull_width();
  std::vector<float> values(keys.size() * width);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((pushed ? 1 : 10) + keys[i / width] % 7);
    if (pushed && width > 4 && i % width < 3) values[i] = static_cast<float>(3 - i % width);
  }
  return values;
}

using Content = std::map<Key, std::vector<std::byte>>;
Content content(SparseTable& table) {
  Content all;
  Rows rows;
  for (uint32_t s = 0; s < kShards; ++s) {
    table.copy_shard(s, Selection::all, false, &rows, nullptr);
  }
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    all[rows.keys[i]].assign(rows.bytes.begin() + rows.offsets[i],
                             rows.bytes.begin() + rows.offsets[i + 1]);
  }
  EXPECT_EQ(all.size(), rows.keys.size());
  return all;
}

// Rows of which some expire by the next shrink, most of them on disk.
void fill(SparseTable& table) {
  for (Key first = 0; first < kKeys; first += 1000) {
    const auto keys = keys_from(first, 1000);
    auto values = values_of(table, keys, true);
    for (size_t i = 0; i < keys.size() && table.push_width() > 4; ++i) {
      if (keys[i] % 3 == 0) values[i * table.push_width() + 1] = 0;
      if (keys[i] % 3 == 0) values[i * table.push_width() + 2] = 0;
    }
    table.push(keys, values.data(), {});
  }
}

struct Change {
  const char* name;
  bool click;
  std::function<std::unique_ptr<Prepared>(SparseTable&)> prepare;
  std::function<void(SparseTable&, Prepared*)> make;
};

// Keys that memory has, that lie on disk and that are nowhere.
std::vector<Key> some_keys() {
  auto keys = keys_from(100, 400);
  for (const Key first : {kKeys - 400, kKeys + 50}) {
    const auto more = keys_from(first, 400);
    keys.insert(keys.end(), more.begin(), more.end());
  }
  keys.insert(keys.end(), keys.begin(), keys.begin() + 50);
  return keys;
}

const std::vector<Change>& changes() {
  const auto prepare_keys = [](SparseTable& t) { return t.prepare(some_keys()); };
  const auto push = [](SparseTable& t, Prepared* p) {
    t.push(some_keys(), values_of(t, some_keys(), true).data(), {}, p);
  };
  static const std::vector<Change> list = {
      {"push", false, prepare_keys, push},
      {"push to click rows", true, prepare_keys, push},
      {"assign", false, prepare_keys,
       [](SparseTable& t, Prepared* p) {
         t.assign(some_keys(), values_of(t, some_keys(), false).data(), p);
       }},
      {"end_day", true, [](SparseTable& t) { return t.prepare_end_day(); },
       [](SparseTable& t, Prepared* p) { t.end_day(p); }},
      {"shrink", true, [](SparseTable& t) { return t.prepare_shrink(); },
       [](SparseTable& t, Prepared* p) { t.shrink(p); }},
  };
  return list;
}

// A closed table, copied for each try; what it holds, and what it holds after the change.
struct Scene {
  Folder folder;
  const Change& change;
  Content before, after;

  explicit Scene(const Change& c) : change(c) {
    const auto disk = make_sparse_table(config(folder.path / "db", c.click));
    const auto memory = make_sparse_table(config({}, c.click));
    for (SparseTable* t : {disk.get(), memory.get()}) fill(*t);
    before = content(*memory);
    EXPECT_EQ(before, content(*disk));
    EXPECT_LT(disk->stats().rows, kKeys / 2);
    change.make(*memory, nullptr);
    after = content(*memory);
    EXPECT_NE(before, after);
  }
  std::unique_ptr<SparseTable> open() {
    std::filesystem::remove_all(folder.path / "try");
    std::filesystem::copy(folder.path / "db", folder.path / "try",
                          std::filesystem::copy_options::recursive);
    auto table = make_sparse_table(config(folder.path / "try", change.click));
    // Some of the keys are in memory, where a change would find them first.
    const auto keys = keys_from(100, 8);
    std::vector<float> out(keys.size() * table->pull_width());
    table->pull(keys, out.data(), false);
    EXPECT_EQ(table->stats().rows, keys.size());
    return table;
  }
};

class SsdFailures : public testing::TestWithParam<size_t> {
 protected:
  const Change& change() const { return changes()[GetParam()]; }
};
INSTANTIATE_TEST_SUITE_P(Changes, SsdFailures, testing::Range<size_t>(0, 5));

// One operation of the disk fails, or all from one on.
TEST_P(SsdFailures, AChangeIsWholeOrNothing) {
  FailingFiles files;
  Scene scene(change());
  for (const bool all : {false, true}) {
    int refused = 0, n = 0;
    for (bool failed = true; failed; n += 1 + n / 4) {
      auto table = scene.open();
      files.fail_after(n, all);
      bool threw = false;
      try {
        change().make(*table, nullptr);
      } catch (const Error& e) {
        threw = true;
        EXPECT_EQ(e.kind(), ErrorKind::io) << e.what();
        EXPECT_NE(std::string(e.what()).find(scene.folder.path / "try"), std::string::npos);
      }
      failed = files.work();
      EXPECT_TRUE(failed || !threw);
      refused += threw;
      ASSERT_EQ(content(*table) == scene.before, threw)
          << change().name << ", operation " << n << ", all " << all;
      ASSERT_EQ(content(*table) == scene.after, !threw) << change().name << ", operation " << n;
      // What was refused can be made.
      if (threw && n % 8 == 0) {
        for (int i = 0; threw && i < 1200; ++i) {
          try {
            change().make(*table, nullptr);
            threw = false;
          } catch (const Error&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
          }
        }
        ASSERT_EQ(content(*table), scene.after) << change().name << ", operation " << n;
      }
    }
    EXPECT_GT(refused, 0) << change().name << " read or wrote nothing of " << n << " operations";
  }
}

// After the preparation nothing refuses the change: not a disk that is gone, nor calls that make
// rows leave memory meanwhile.
TEST_P(SsdFailures, WhatIsPreparedCannotBeRefused) {
  FailingFiles files;
  Scene scene(change());
  for (int n = 0;; n += 1 + n / 4) {
    auto table = scene.open();
    files.fail_after(n, true);
    std::unique_ptr<Prepared> prepared;
    try {
      prepared = change().prepare(*table);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::io) << e.what();
    }
    if (!prepared) {
      ASSERT_TRUE(files.work());
      ASSERT_EQ(content(*table), scene.before) << change().name << ", operation " << n;
      continue;
    }
    files.work();
    EXPECT_EQ(content(*table), scene.before);
    std::vector<std::thread> threads;
    for (Key t = 0; t < 2; ++t) {
      threads.emplace_back([&table, t] {
        const auto keys = keys_from(2000 + 2000 * t, 3000);
        std::vector<float> out(keys.size() * table->pull_width());
        for (int i = 0; i < 10; ++i) table->pull(keys, out.data(), false);
      });
    }
    for (auto& t : threads) t.join();
    files.fail_after(0, true);
    change().make(*table, prepared.get());
    files.work();
    prepared.reset();
    ASSERT_EQ(content(*table), scene.after) << change().name;
    break;
  }
}

// What was prepared and not made leaves nothing behind: neither the day of an end_day nor rows that
// cannot leave memory.
TEST_P(SsdFailures, WhatIsPreparedMayBeDropped) {
  Scene scene(change());
  auto table = scene.open();
  {
    const auto first = change().prepare(*table);
    const auto second = change().prepare(*table);
    EXPECT_TRUE(first && second);
  }
  ASSERT_EQ(content(*table), scene.before);
  const auto keys = keys_from(0, kKeys);
  std::vector<float> out(keys.size() * table->pull_width());
  table->pull(keys, out.data(), false);
  EXPECT_LT(table->stats().rows, 3600u);
  // Closed and opened, it is still as it was.
  const auto where = table->config().directory;
  table.reset();
  table = make_sparse_table(config(where, change().click));
  ASSERT_EQ(content(*table), scene.before);
  // Two that wait for one change: the clock turns once.
  {
    const auto first = change().prepare(*table);
    const auto second = change().prepare(*table);
    change().make(*table, second.get());
  }
  ASSERT_EQ(content(*table), scene.after);
  table.reset();
  table = make_sparse_table(config(where, change().click));
  ASSERT_EQ(content(*table), scene.after);
}

TEST(SsdPrepared, ADayAndAShrinkMayWaitTogether) {
  Folder folder;
  const auto memory = make_sparse_table(config({}, true));
  auto disk = make_sparse_table(config(folder.path / "db", true));
  fill(*memory);
  fill(*disk);
  {
    const auto day = disk->prepare_end_day();
    const auto shrink = disk->prepare_shrink();
    const auto stale = disk->prepare_shrink();
    EXPECT_EQ(disk->shrink(shrink.get()), memory->shrink());
    disk->end_day(day.get());
    memory->end_day();
    EXPECT_EQ(disk->shrink(stale.get()), memory->shrink());
  }
  const Content expected = content(*memory);
  EXPECT_EQ(content(*disk), expected);
  disk.reset();
  disk = make_sparse_table(config(folder.path / "db", true));
  EXPECT_EQ(content(*disk), expected);
}

TEST(SsdPrepared, WhatIsErasedMeanwhileStaysSo) {
  Folder folder;
  const auto memory = make_sparse_table(config({}, true));
  const auto disk = make_sparse_table(config(folder.path / "db", true));
  fill(*memory);
  fill(*disk);
  const auto erased = keys_from(0, 600);
  {
    const auto shrink = disk->prepare_shrink();
    disk->erase(erased);
    memory->erase(erased);
    EXPECT_EQ(disk->shrink(shrink.get()), memory->shrink());
  }
  EXPECT_EQ(content(*disk), content(*memory));
  const auto keys = keys_from(300, 600);
  const auto values = values_of(*disk, keys, true);
  const auto push = disk->prepare(keys);
  disk->erase(keys);
  memory->erase(keys);
  EXPECT_EQ(disk->push(keys, values.data(), {}, push.get()), 600u);
  EXPECT_EQ(memory->push(keys, values.data(), {}), 600u);
  EXPECT_EQ(content(*disk), content(*memory));
}

TEST(SsdPrepared, IsForOneChangeOfItsKeys) {
  Folder folder;
  const auto table = make_sparse_table(config(folder.path / "db", false));
  const auto other = make_sparse_table(config({}, false));
  const auto keys = keys_from(0, 10);
  const auto values = values_of(*table, keys, true);
  const auto prepared = table->prepare(keys);
  EXPECT_EQ(other->prepare(keys), nullptr);
  EXPECT_THROW(table->push(keys_from(1, 10), values.data(), {}, prepared.get()), Error);
  EXPECT_THROW(other->push(keys, values.data(), {}, prepared.get()), Error);
  EXPECT_THROW(table->end_day(prepared.get()), Error);
  EXPECT_THROW(table->push(keys, values.data(), {}, table->prepare_end_day().get()), Error);
  EXPECT_EQ(table->stats().rows, 0u);
  EXPECT_EQ(table->push(keys, values.data(), {}, prepared.get()), 10u);
  EXPECT_THROW(table->push(keys, values.data(), {}, prepared.get()), Error);
  EXPECT_EQ(table->push(keys, values.data(), {}), 0u);
}

// A byte of a block changes on the disk: the block is refused, not believed.
TEST(SsdFailure, ADamagedBlockIsAnErrorThatNamesTheDatabase) {
  Folder folder;
  const auto c = config(folder.path / "db", false);
  fill(*make_sparse_table(c));
  Content before = content(*make_sparse_table(c));  // opening writes files of rows
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(c.directory)) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(1000);
    const auto byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(1000);
    file.put(byte);
    ++files;
  }
  ASSERT_GT(files, 0);
  const auto table = make_sparse_table(c);
  const size_t width = table->pull_width();
  std::vector<float> row(width);
  std::vector<Key> good, bad;
  for (const Key key : keys_from(0, kKeys)) {
    try {
      table->pull(std::vector<Key>{key}, row.data(), false);
      good.push_back(key);
      ASSERT_EQ(std::memcmp(row.data(), before[key].data(), 4 * width), 0) << key;
    } catch (const Error& e) {
      bad.push_back(key);
      EXPECT_EQ(e.kind(), ErrorKind::io);
      EXPECT_NE(std::string(e.what()).find(c.directory), std::string::npos) << e.what();
    }
  }
  ASSERT_GT(bad.size(), 0u);
  ASSERT_GT(good.size(), kKeys / 2);
  const auto keys = keys_from(0, kKeys);
  EXPECT_THROW(table->push(keys, values_of(*table, keys, true).data(), {}), Error);
  EXPECT_THROW(table->assign(keys, values_of(*table, keys, false).data()), Error);
  for (const Key key : good) {
    table->pull(std::vector<Key>{key}, row.data(), false);
    ASSERT_EQ(std::memcmp(row.data(), before[key].data(), 4 * width), 0) << key;
  }
}

// A marked copy that fails leaves what it should have had to the next one, or that one says that it
// cannot know.
TEST(SsdFailure, AMarkedCopyThatFailsLosesNothing) {
  FailingFiles files;
  Folder folder;
  const auto c = config(folder.path / "db", true);
  fill(*make_sparse_table(c));
  for (const Selection selection : {Selection::all, Selection::delta}) {
    const auto table = make_sparse_table(c);
    std::set<Key> taken;
    const auto copy = [&](bool mark) {
      for (uint32_t s = 0; s < kShards; ++s) {
        Rows rows;
        table->copy_shard(s, selection, mark, &rows, nullptr);
        taken.insert(rows.keys.begin(), rows.keys.end());
      }
    };
    const std::vector<Key> some = keys_from(0, 20);
    std::vector<float> out(some.size() * table->pull_width());
    table->pull(some, out.data(), false);
    files.fail_after(5, true);
    EXPECT_THROW(copy(true), Error);
    files.work();
    if (selection == Selection::all) {
      EXPECT_FALSE(table->tracks_changes());
      Rows rows;
      EXPECT_THROW(
          {
            for (uint32_t s = 0; s < kShards; ++s) {
              table->copy_shard(s, Selection::changed, false, &rows, nullptr);
            }
          },
          Error);
      continue;
    }
    EXPECT_GT(taken.size(), 0u);
    copy(true);
    EXPECT_EQ(taken.size(), kKeys - kKeys / 3);  // those with shows
  }
}

std::vector<Key> keys_of_shard(uint32_t shard, size_t n) {
  std::vector<Key> keys;
  for (Key key = 0; keys.size() < n; ++key) {
    if (shard_of(key) == shard) keys.push_back(key);
  }
  return keys;
}

template <class F>
std::string timeout_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  std::string text;
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::timeout) << e.what();
    text = e.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  return text;
}

// A disk that hangs while the database is opened anew holds nobody up for longer than the limit.
TEST(SsdFailure, ADatabaseThatHangsWhileItOpensIsATimeout) {
  FailingFiles files(std::chrono::milliseconds(1500));
  Folder folder;
  const auto c = config(folder.path / "db", false);
  fill(*make_sparse_table(c));
  const auto table = make_sparse_table(c);
  const Content before = content(*table);
  files.fail_after(0, true);
  EXPECT_THROW(table->end_day(), Error);
  files.work();
  files.hang(FailingFiles::Operation::open);
  EXPECT_NE(timeout_of([&] { table->end_day(); }).find("is being opened for"), std::string::npos);
  const auto keys = keys_from(0, 100);
  std::vector<float> out(100 * table->pull_width());
  const auto text = timeout_of([&] { table->pull(keys, out.data(), false); });
  EXPECT_NE(text.find(c.directory), std::string::npos) << text;
  EXPECT_NE(text.find("expected at most 1.5 s"), std::string::npos) << text;
  EXPECT_EQ(files.hanging(), 1);
  EXPECT_NE(timeout_of([&] { table->prepare(keys); }), "");
  // A first opening too.
  auto other = c;
  other.directory = folder.path / "other";
  EXPECT_NE(timeout_of([&] { make_sparse_table(other); }).find("other"), std::string::npos);
  files.work();
  for (int i = 0; i < 3000; ++i) {
    try {
      table->end_day();
      break;
    } catch (const Error&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  EXPECT_EQ(content(*table), before);  // plain rows know no days
}

// A call that hangs at the disk with a shard's lock.
TEST(SsdFailure, ALockThatAHungDiskHoldsIsATimeout) {
  FailingFiles files(std::chrono::milliseconds(1500));
  Folder folder;
  const auto c = config(folder.path / "db", true);
  fill(*make_sparse_table(c));
  const auto table = make_sparse_table(c);
  files.hang(FailingFiles::Operation::read);
  std::thread copier([&] {
    Rows rows;
    table->copy_shard(3, Selection::base, true, &rows, nullptr);
  });
  while (!files.hanging()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto keys = keys_of_shard(3, 10);
  std::vector<float> out(keys.size() * table->pull_width());
  const auto text = timeout_of([&] { table->pull(keys, out.data(), true); });
  EXPECT_NE(text.find("shard 3 was in use by another call for 1500 ms"), std::string::npos) << text;
  EXPECT_NE(text.find(c.directory), std::string::npos) << text;
  EXPECT_NE(timeout_of([&] { table->prepare(keys); }), "");
  files.work();
  copier.join();
  table->pull(keys, out.data(), true);
}

// Keys that a full disk cannot erase are remembered, up to a number.
TEST(SsdFailure, WhatCannotBeErasedIsBounded) {
  FailingFiles files;
  set_disk_times({.try_again = std::chrono::milliseconds(200)});
  Folder folder;
  const auto table = make_sparse_table(config(folder.path / "db", false));
  fill(*table);
  files.fail_after(0, true);
  bool refused = false;
  Key first = kKeys;
  for (; !refused && first < 4'000'000; first += 100'000) {
    try {
      table->erase(keys_from(first, 100'000));
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::io) << e.what();
      refused = true;
    }
  }
  EXPECT_TRUE(refused);
  EXPECT_GT(first, 1'000'000u);
  files.work();
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  table->erase(keys_from(first, 100'000));
  EXPECT_EQ(content(*table).size(), kKeys);
}

// Pushes of many threads, prepared ahead, while rows come and go: each counts once.
TEST(SsdPrepared, PushesOfManyThreadsAllCount) {
  Folder folder;
  auto c = config(folder.path / "db", false);
  c.memory_rows = 2048;
  const auto table = make_sparse_table(c);
  constexpr int kThreads = 3, kRounds = 12;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&table, t] {
      for (int r = 0; r < kRounds; ++r) {
        for (Key first = 0; first < 6000; first += 1500) {
          const auto keys = keys_from(first, 1500);
          const std::vector<float> ones(keys.size() * table->push_width(), 1);
          const auto prepared = table->prepare(keys);
          if (r % 3) std::this_thread::yield();
          table->push(keys, ones.data(), {}, prepared.get());
        }
        if (t == 0) table->end_day(r % 2 ? table->prepare_end_day().get() : nullptr);
        if (t == 1) table->shrink();
      }
    });
  }
  for (auto& t : threads) t.join();
  const auto keys = keys_from(0, 6000);
  std::vector<float> out(keys.size() * table->pull_width());
  table->pull(keys, out.data(), false);
  for (const float x : out) ASSERT_EQ(x, kThreads * kRounds);
  EXPECT_LT(table->stats().rows, 3000u);
}

}  // namespace
}  // namespace argosy::ps

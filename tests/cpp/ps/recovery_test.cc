#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include "argosy/base/file.h"
#include "argosy/base/json.h"
#include "tests/cpp/ps/recovery_host.h"

namespace argosy::ps {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Recovery : public WithDirectory {
 protected:
  std::unique_ptr<TestHost> start(const std::string& mode, uint32_t index = 0,
                                  uint32_t servers = 1) {
    auto host = std::make_unique<TestHost>(directory_, mode, index, servers);
    host->recover();
    return host;
  }
  fs::path own() const { return directory_ + "/server-0-of-1"; }
  std::vector<fs::path> saves() const {
    std::vector<fs::path> found;
    for (const auto& e : fs::directory_iterator(own())) {
      if (e.path().filename().string().starts_with("save-")) found.push_back(e.path());
    }
    return found;
  }
};

// Pushes of random keys from several threads, until told.
class Load {
 public:
  Load(TestHost* host, int threads, uint64_t keys) {
    for (int t = 0; t < threads; ++t) {
      threads_.emplace_back([=, this] {
        std::mt19937_64 random(static_cast<uint64_t>(t));
        for (uint64_t sequence = 1; !stop_; ++sequence) {
          uint64_t position;
          if (sequence % 8 == 0) {
            position = host->push(static_cast<uint32_t>(t), sequence, {},
                                  std::vector<float>(host->dense().size(), 1));
          } else {
            std::vector<Key> batch(20);
            for (Key& k : batch) k = random() % keys;
            position = host->push(static_cast<uint32_t>(t), sequence, batch,
                                  std::vector<float>(40, static_cast<float>(t + 1)));
          }
          if (sequence % 16 == 0) {
            EXPECT_EQ(host->wait(position), "");
          }
          ++pushes_;
        }
      });
    }
  }
  ~Load() { stop(); }
  void stop() {
    stop_ = true;
    for (std::thread& t : threads_) {
      if (t.joinable()) t.join();
    }
  }
  void wait_for(uint64_t pushes) const {
    while (pushes_ < pushes) std::this_thread::sleep_for(milliseconds(1));
  }
  uint64_t pushes() const { return pushes_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> pushes_{0};
  std::vector<std::thread> threads_;
};

std::map<uint32_t, std::vector<uint64_t>> sorted(std::map<uint32_t, std::vector<uint64_t>> w) {
  for (auto& [client, sequences] : w) std::sort(sequences.begin(), sequences.end());
  return w;
}

TEST_F(Recovery, ModesAndDirectoriesAreChecked) {
  EXPECT_NE(error_of([&] { TestHost host(directory_, "maybe"); }).find("'maybe'"),
            std::string::npos);
  EXPECT_NE(error_of([&] { TestHost host("", "log"); }).find("needs a directory"),
            std::string::npos);
  const auto host = start("log");
  EXPECT_NE(error_of([&] { start("log"); }).find("in use"), std::string::npos);
  EXPECT_NE(error_of([&] { start("log", 0, 2); }).find("'server-0-of-1', but now there are 2"),
            std::string::npos);
}

TEST_F(Recovery, NoneKeepsNothing) {
  {
    const auto host = start("none");
    EXPECT_EQ(host->push(1, 1, {5}, {1, 2}), 0u);
    EXPECT_EQ(host->wait(0), "");
    host->durability().snapshot();
  }
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(Recovery, FromTheLogAlone) {
  std::map<Key, std::vector<float>> rows;
  {
    const auto host = start("log");
    Load load(host.get(), 3, 1000);
    load.wait_for(300);
    load.stop();
    rows = host->rows();
    EXPECT_FALSE(rows.empty());
  }
  for (int again = 0; again < 2; ++again) {
    const auto host = start("log");
    EXPECT_EQ(host->rows(), rows);
  }
}

// Without snapshot_every it is the log's length that brings one, and it takes the log with it.
TEST_F(Recovery, ALongLogBringsASnapshot) {
  constexpr uint64_t kBytes = 1 << 20;
  const auto host = std::make_unique<TestHost>(directory_, "log");
  host->options_.snapshot_log_bytes = kBytes;
  host->recover();
  const auto of = [&](const char* name) {
    return parse_json(host->durability().stats())[name].get<uint64_t>();
  };
  std::vector<Key> keys(1000);
  std::iota(keys.begin(), keys.end(), 0);
  const std::vector<float> values(2 * keys.size(), 1);
  uint64_t pushes = 0;
  while (of("log_bytes") < kBytes / 2)
    ASSERT_EQ(host->wait(host->push(1, ++pushes, keys, values)), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(of("snapshots"), 0u);
  while (of("log_bytes") <= kBytes)
    ASSERT_EQ(host->wait(host->push(1, ++pushes, keys, values)), "");
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!of("snapshots") && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(of("snapshots"), 1u);
  EXPECT_LE(of("log_bytes"), kBytes / 2);
  EXPECT_EQ(host->rows().at(7), std::vector<float>(2, pushes));
}

// Snapshots while pushes go on: each record is in a row once, from the snapshot or from the log.
TEST_F(Recovery, FromSnapshotsUnderLoadAndTheLog) {
  for (int round = 0; round < 4; ++round) {
    std::map<Key, std::vector<float>> rows;
    std::vector<float> dense;
    std::map<uint32_t, std::vector<uint64_t>> window;
    {
      const auto host = start("log");
      Load load(host.get(), 3, 20000);
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      uint64_t meanwhile = 0;  // pushes that went on
      for (uint64_t i = 1; i <= 3 || (!meanwhile && std::chrono::steady_clock::now() < limit);
           ++i) {
        load.wait_for(load.pushes() + 100);
        const uint64_t before = load.pushes();
        host->durability().snapshot();
        meanwhile += load.pushes() - before;
      }
      EXPECT_GT(meanwhile, 0u);
      load.wait_for(load.pushes() + 50);
      load.stop();
      rows = host->rows();
      dense = host->dense_values();
      window = sorted(host->window());
    }
    const auto host = start("log");
    EXPECT_EQ(host->rows(), rows);
    EXPECT_EQ(host->dense_values(), dense);
    EXPECT_EQ(sorted(host->window()), window);
    host->durability().stop();
    fs::remove_all(own());
  }
}

TEST_F(Recovery, SnapshotModeKeepsWhatTheLastSnapshotHas) {
  std::map<Key, std::vector<float>> rows;
  {
    const auto host = start("snapshot");
    for (Key k = 0; k < 100; ++k) host->push(1, k + 1, {k}, {1, 2});
    host->durability().snapshot();
    rows = host->rows();
    fs::copy(directory_, directory_ + "-copy", fs::copy_options::recursive);
    host->push(1, 200, {7}, {1, 1});
  }
  {
    // As if killed before the end.
    TestHost host(directory_ + "-copy", "snapshot");
    host.recover();
    EXPECT_EQ(host.rows(), rows);
  }
  fs::remove_all(directory_ + "-copy");
  // An orderly end takes a snapshot.
  const auto host = start("snapshot");
  rows[7] = {2, 3};
  EXPECT_EQ(host->rows(), rows);
}

// Otherwise that part would be there twice once the push is sent again.
TEST_F(Recovery, ASnapshotHasNothingOfAPushThatItsWindowsDoNotKnow) {
  std::vector<Key> keys(5000);
  std::iota(keys.begin(), keys.end(), Key{0});
  {
    const auto host = start("snapshot");
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> pushed{0};
    std::thread client([&] {
      while (!stop) {
        host->push(1, pushed + 1, keys, std::vector<float>(2 * keys.size(), 1));
        ++pushed;
      }
    });
    while (pushed < 3) std::this_thread::yield();
    host->durability().snapshot();
    fs::copy(directory_, directory_ + "-copy", fs::copy_options::recursive);
    stop = true;
    client.join();
  }
  TestHost host(directory_ + "-copy", "snapshot");
  host.recover();
  const auto known = static_cast<float>(host.window()[1].size());
  EXPECT_GE(known, 3);
  const auto rows = host.rows();
  EXPECT_EQ(rows.size(), keys.size());
  for (const auto& [key, row] : rows) ASSERT_LE(row[0], known) << "of key " << key;
  fs::remove_all(directory_ + "-copy");
}

TEST_F(Recovery, SnapshotsAddToACompleteOne) {
  std::map<Key, std::vector<float>> rows;
  {
    const auto host = start("snapshot");
    for (Key k = 0; k < 30000; ++k) host->push(1, k + 1, {k}, {1, 2});
    host->durability().snapshot();
    for (int i = 0; i < 5; ++i) {
      const Key key = static_cast<Key>(i);
      host->push(1, static_cast<uint64_t>(60000 + i), {key, 100000 + key}, {5, 5, 1, 1});
      const Key gone[] = {1000 + key, 100000 + key - 1};
      host->sparse().erase(gone);
      host->durability().snapshot();
      EXPECT_EQ(saves().size(), static_cast<size_t>(i + 2));
    }
    rows = host->rows();
    EXPECT_EQ(rows.count(1002), 0u);
    fs::copy(directory_, directory_ + "-copy", fs::copy_options::recursive);
  }
  TestHost host(directory_ + "-copy", "snapshot");
  host.recover();
  EXPECT_EQ(host.rows(), rows);
  fs::remove_all(directory_ + "-copy");
}

TEST_F(Recovery, AKilledSnapshotLeavesThePreviousOne) {
  {
    const auto host = start("log");
    host->push(1, 1, {5}, {1, 2});
    host->durability().snapshot();
  }
  ASSERT_EQ(saves().size(), 1u);
  const fs::path left = own() / "save-20260101T000000-00000000" / ".aside-part-0-of-1";
  fs::create_directories(left);
  std::ofstream(left / "table-0.0.rows") << "half";
  const auto host = start("log");
  EXPECT_EQ(host->rows().size(), 1u);
  EXPECT_EQ(saves().size(), 1u);
}

TEST_F(Recovery, TheModeMayChange) {
  {
    const auto host = start("log");
    EXPECT_EQ(host->wait(host->push(1, 1, {5}, {1, 2})), "");
  }
  {
    const auto host = start("snapshot");
    EXPECT_EQ(host->rows()[5], (std::vector<float>{1, 2}));
    host->push(1, 2, {5}, {1, 2});
  }
  {
    const auto host = start("log");
    EXPECT_EQ(host->rows()[5], (std::vector<float>{2, 4}));
    EXPECT_EQ(host->wait(host->push(1, 3, {5}, {1, 2})), "");
  }
  const auto host = start("log");
  EXPECT_EQ(host->rows()[5], (std::vector<float>{3, 6}));
}

// The log positions that a manifest tells, in its order: of dense tables, then of the state.
std::vector<uint64_t> log_positions(const fs::path& manifest) {
  const std::string text = read_file(manifest.string()), name = "\"log_position\":";
  std::vector<uint64_t> found;
  for (size_t at = 0; (at = text.find(name, at)) != text.npos;)
    found.push_back(std::stoull(text.substr(at += name.size())));
  return found;
}

TEST_F(Recovery, AMissingLogIsAnError) {
  {
    const auto host = start("log");
    Load load(host.get(), 2, 1000);
    // Until one has effects of records later than its state.
    std::vector<uint64_t> positions{0, 0};
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (positions[0] <= positions[1] && std::chrono::steady_clock::now() < limit) {
      load.wait_for(load.pushes() + 50);
      host->durability().snapshot();
      positions = log_positions(saves().back() / "part-0-of-1" / "manifest.json");
      ASSERT_EQ(positions.size(), 2u);
    }
    ASSERT_GT(positions[0], positions[1]);
  }
  fs::remove_all(own() / "log");
  const std::string error = error_of([&] { start("log"); });
  EXPECT_NE(error.find("files are missing"), std::string::npos) << error;
}

TEST_F(Recovery, AFileThatIsAPipeDoesNotHoldAServer) {
  const std::string model = directory_ + "/model";
  fs::create_directories(model);
  ASSERT_EQ(mkfifo((model + "/snapshot.json").c_str(), 0600), 0);
  const auto host = start("log");
  const std::string error = error_of([&] { host->durability().load(Directory::open(model), 0); });
  EXPECT_NE(error.find("snapshot.json"), std::string::npos) << error;
}

TEST_F(Recovery, WhoWaitsForASaveIsToldForWhich) {
  TestHost host(directory_ + "/state", "log");
  host.options_.turn_limit = milliseconds(300);
  host.recover();
  Durability& d = host.durability();
  const auto there = Directory::make(directory_ + "/model");
  d.prepare_save(1, there, 0);  // by a client that dies now
  std::string error = error_of([&] { d.snapshot(); });
  // By its own limit the save was cancelled, or by ours the wait ended.
  if (!error.empty()) {
    EXPECT_NE(error.find(" s for a save"), std::string::npos) << error;
  }
  d.prepare_save(2, there, 0);
  d.pause(2, milliseconds(60000));
  error = error_of([&] { Pass pass(d); });
  EXPECT_NE(error.find("a save that pauses changes"), std::string::npos) << error;
  d.cancel_save(2);
  Pass pass(d);
}

// Two jobs that know nothing of each other save into one folder.
TEST_F(Recovery, ASaveThatAnotherJobRemovedDoesNotCount) {
  TestHost first(directory_ + "/a", "none"), second(directory_ + "/b", "none");
  for (TestHost* host : {&first, &second}) host->recover();
  second.push(1, 1, {7}, {3, 3});
  const auto there = Directory::make(directory_ + "/model");
  const SaveId save = first.durability().reserve_save();
  first.durability().prepare_save(save, there, 0);
  first.durability().pause(save, milliseconds(20'000));
  first.durability().finish_save(save);
  second.durability().save(there, 0);
  const std::string error = error_of([&] { first.durability().publish_save(save); });
  EXPECT_NE(error.find("lacks part-0-of-1"), std::string::npos) << error;
  EXPECT_EQ(first.durability().load(there, 0), 1u);
  EXPECT_EQ(first.rows().at(7), std::vector<float>(2, 3));
}

// A disk that hangs does not keep the process from ending.
TEST_F(Recovery, TheEndDoesNotWaitForWhatHangs) {
  auto host = std::make_unique<TestHost>(directory_, "log");
  host->options_.stop_limit = milliseconds(300);
  host->options_.snapshot_every = std::chrono::seconds(1);
  std::atomic<bool> recovered{false}, hangs{false}, go_on{false};
  host->while_saving_ = [&] {
    if (!recovered) return;
    hangs = true;
    while (!go_on) std::this_thread::sleep_for(milliseconds(1));
  };
  host->recover();
  recovered = true;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!hangs && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(1));
  ASSERT_TRUE(hangs);
  EXPECT_FALSE(host->durability().stop());
  go_on = true;
  while (!host->durability().stop()) {
  }
}

// The limit of file sizes stands in for a full disk.
TEST_F(Recovery, ADiskThatFillsUpKeepsThePreviousSnapshot) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  {
    const auto host = start("log");
    for (Key k = 0; k < 2000; ++k) host->push(1, k + 1, {k}, {1, 2});
    host->durability().snapshot();
    const fs::path first = saves().at(0);
    EXPECT_EQ(host->wait(host->push(1, 3000, {1}, {1, 2})), "");
    const rlimit full{20000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    const std::string error = error_of([&] { host->durability().snapshot(); });
    const std::string saving =
        error_of([&] { host->durability().save(Directory::make(directory_ + "/s"), 0); });
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_NE(error.find("File too large"), std::string::npos) << error;
    EXPECT_NE(saving.find("File too large"), std::string::npos) << saving;
    EXPECT_EQ(saves(), std::vector<fs::path>{first});
    EXPECT_FALSE(fs::exists(directory_ + "/s/snapshot.json"));
    host->durability().snapshot();
    EXPECT_NE(saves().at(0), first);
    host->durability().save(Directory::make(directory_ + "/s"), 0);
  }
  const auto host = start("log");
  EXPECT_EQ(host->rows().size(), 2000u);
  EXPECT_EQ(host->rows()[1], (std::vector<float>{2, 4}));
}

TEST_F(Recovery, AloneMeansThatNoSnapshotIsWritten) {
  const auto host = start("log");
  Load load(host.get(), 2, 1000);
  const auto snapshots = [&] {
    const std::string stats = host->durability().stats();
    return std::stoi(stats.substr(stats.find("\"snapshots\":") + 12));
  };
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    while (!stop) host->durability().snapshot();
  });
  for (int i = 0; i < 20; ++i) {
    Pass pass(host->durability(), Passing::alone);
    const uint64_t pushes = load.pushes();
    const int before = snapshots();
    std::this_thread::sleep_for(milliseconds(2));
    EXPECT_LE(load.pushes(), pushes + 2);  // those that had left the gate
    EXPECT_EQ(snapshots(), before);
  }
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!snapshots() && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(1));
  stop = true;
  thread.join();
  EXPECT_GT(snapshots(), 0);
}

}  // namespace
}  // namespace argosy::ps

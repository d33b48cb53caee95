#include <fstream>
#include <random>
#include <thread>

#include "argosy/base/file.h"
#include "tests/cpp/ps/recovery_host.h"

namespace argosy::ps {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Snapshot : public WithDirectory {
 protected:
  std::string target() const { return directory_ + "/model"; }
  std::shared_ptr<const Directory> opened() const { return Directory::make(target()); }
  // The folder of a save.
  static std::string folder(SaveId id) {
    char text[32];
    std::snprintf(text, sizeof text, "/save-%016llx", static_cast<unsigned long long>(id));
    return text;
  }

  // A model of `servers` servers, saved in steps, as a client does.
  void save(uint32_t servers, SaveId id, float value, Key keys = 3000) {
    std::vector<std::unique_ptr<TestHost>> hosts;
    for (uint32_t s = 0; s < servers; ++s) {
      hosts.push_back(std::make_unique<TestHost>("", "none", s, servers));
      TestHost& host = *hosts.back();
      host.recover();
      for (Key k = 0; k < keys; ++k) {
        if (server_of(k, servers) == s) host.push(1, k + 1, {k}, {value, static_cast<float>(k)});
      }
      const uint64_t first = 10 * s / servers;
      std::vector<float> dense(host.dense().size());
      for (size_t i = 0; i < dense.size(); ++i) dense[i] = value * static_cast<float>(first + i);
      host.dense().assign(dense.data());
    }
    for (auto& h : hosts) h->durability().prepare_save(id, opened(), 0);
    for (auto& h : hosts) h->durability().pause(id, milliseconds(60000));
    uint64_t rows = 0;
    for (auto& h : hosts) rows += h->durability().finish_save(id);
    EXPECT_EQ(rows, keys);
    for (auto& h : hosts) h->durability().publish_save(id);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& e : fs::recursive_directory_iterator(target())) {
      if (e.is_regular_file()) found.push_back(e.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  std::string load_error(uint32_t servers = 1, uint64_t dense = 10, int dim = 2) {
    TestHost host("", "none", 0, servers, dense, dim);
    host.recover();
    return error_of([&] { host.durability().load(opened(), 0); });
  }
};

TEST_F(Snapshot, LoadsIntoAnyNumberOfServers) {
  for (const uint32_t from : {1u, 2u, 3u}) {
    save(from, from, 2);
    for (const uint32_t to : {1u, 2u, 3u, 5u}) {
      std::map<Key, std::vector<float>> all;
      std::vector<float> dense;
      for (uint32_t s = 0; s < to; ++s) {
        TestHost host("", "none", s, to);
        host.recover();
        host.durability().load(opened(), 0);
        for (auto& [key, row] : host.rows()) {
          EXPECT_EQ(server_of(key, to), s);
          EXPECT_TRUE(all.emplace(key, row).second);
        }
        for (const float x : host.dense_values()) dense.push_back(x);
      }
      EXPECT_EQ(all.size(), 3000u);
      for (const auto& [key, row] : all) {
        EXPECT_EQ(row, (std::vector<float>{2, static_cast<float>(key)}));
      }
      EXPECT_EQ(dense, (std::vector<float>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}));
    }
  }
  // Each save took the place of the one before.
  EXPECT_FALSE(fs::exists(target() + folder(1)));
}

TEST_F(Snapshot, ALoadedModelSurvivesARestart) {
  save(2, 7, 3);
  for (const std::string mode : {"log", "snapshot"}) {
    {
      TestHost host(directory_ + "/" + mode, mode);
      host.recover();
      EXPECT_EQ(host.durability().load(opened(), 0), 3000u);
      EXPECT_EQ(host.wait(host.push(1, 1, {5}, {1, 1})), "");
    }
    TestHost host(directory_ + "/" + mode, mode);
    host.recover();
    EXPECT_EQ(host.rows().size(), 3000u);
    EXPECT_EQ(host.rows()[5], (std::vector<float>{4, 6}));
    EXPECT_EQ(host.dense_values()[3], 9);
  }
}

// A client adds 1 on server 0, then on server 1: at any one moment the first is ahead by at most
// one. So it is in a save, whenever that was.
TEST_F(Snapshot, PartsOfAllServersAreOfOneMoment) {
  std::vector<std::unique_ptr<TestHost>> hosts;
  for (uint32_t s = 0; s < 2; ++s) {
    hosts.push_back(std::make_unique<TestHost>("", "none", s, 2));
    hosts.back()->recover();
  }
  std::vector<Key> keys[2];
  for (Key k = 0; k < 2000; ++k) keys[server_of(k, 2)].push_back(k);
  for (int s = 0; s < 2; ++s) keys[s].resize(900);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> pushed{0};
  std::thread client([&] {
    for (uint64_t n = 1; !stop; ++n) {
      for (size_t s = 0; s < 2; ++s) {
        hosts[s]->push(1, n, keys[s], std::vector<float>(1800, 1));
      }
      pushed = n;
    }
  });
  for (int i = 0; i < 8; ++i) {
    for (const uint64_t before = pushed; pushed < before + 2;) std::this_thread::yield();
    const SaveId id = static_cast<SaveId>(i + 1);
    for (auto& h : hosts) h->durability().prepare_save(id, opened(), 0);
    for (auto& h : hosts) h->durability().pause(id, milliseconds(60000));
    for (auto& h : hosts) h->durability().finish_save(id);
    for (auto& h : hosts) h->durability().publish_save(id);
    TestHost both("", "none");
    both.recover();
    both.durability().load(opened(), 0);
    const auto rows = both.rows();
    float count[2];
    for (int s = 0; s < 2; ++s) {
      count[s] = rows.at(keys[s][0])[0];
      // The push of all these keys is whole.
      for (const Key k : keys[s]) ASSERT_EQ(rows.at(k)[1], count[s]);
    }
    EXPECT_GE(count[0], count[1]);
    EXPECT_LE(count[0], count[1] + 1);
    EXPECT_GT(count[1], 0);
  }
  stop = true;
  client.join();
}

TEST_F(Snapshot, StepsHaveAnOrderAndALimit) {
  TestHost host("", "none");
  host.recover();
  Durability& d = host.durability();
  EXPECT_NE(error_of([&] { d.pause(1, milliseconds(1)); }).find("out of order"), std::string::npos);
  EXPECT_NE(error_of([&] { d.save(opened(), 5); }).find("mode"), std::string::npos);
  d.prepare_save(1, opened(), 0);
  EXPECT_NE(error_of([&] { d.finish_save(1); }).find("Do this: save again"), std::string::npos);
  d.pause(1, milliseconds(100));
  // Goes on once the limit is over.
  host.push(1, 1, {1}, {1, 1});
  EXPECT_NE(error_of([&] { d.finish_save(1); }), "");
  d.prepare_save(2, opened(), 0);
  d.pause(2, milliseconds(60000));
  d.cancel_save(2);
  host.push(1, 2, {1}, {1, 1});
  EXPECT_TRUE(fs::is_empty(target()));
  EXPECT_EQ(d.save(opened(), 0), 1u);
}

// Its client was told that the save failed, but not this server, which was stopped meanwhile.
TEST_F(Snapshot, ALaterSaveDoesNotWaitForOneThatWasGivenUp) {
  TestHost host("", "none", 1, 2);
  host.options_.turn_limit = std::chrono::seconds(20);
  host.recover();
  Durability& d = host.durability();
  const auto begin = std::chrono::steady_clock::now();
  d.prepare_save(7, opened(), 0);
  d.prepare_save(8, opened(), 0);
  d.pause(8, std::chrono::seconds(60));
  d.prepare_save(9, opened(), 0);
  EXPECT_NE(error_of([&] { d.pause(8, milliseconds(1)); }).find("out of order"), std::string::npos);
  host.push(1, 1, {1}, {1, 1});  // the pause has ended
  // What was asked for the first one comes late.
  EXPECT_NE(error_of([&] { d.prepare_save(7, opened(), 0); }), "");
  d.pause(9, std::chrono::seconds(60));
  d.finish_save(9);
  d.publish_save(9);
  EXPECT_NE(error_of([&] { d.prepare_save(7, opened(), 0); }).find("A later save has begun"),
            std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_EQ(std::distance(fs::directory_iterator(target()), fs::directory_iterator()), 2);
}

// One whose client died after `reserve`, or any later step, is given up soon; not that of a client
// that says now and then that it lives.
TEST_F(Snapshot, ASaveOfADeadClientDoesNotKeepTheTurn) {
  TestHost host("", "none", 0, 2);
  host.recover();
  Durability& d = host.durability();
  const auto begin = std::chrono::steady_clock::now();
  const SaveId dead = d.reserve_save(milliseconds(100));
  const SaveId later = d.reserve_save(milliseconds(2'000));  // waits for its turn
  d.prepare_save(later, opened(), 0);
  const SaveId living = d.reserve_save(milliseconds(4'000));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_NE(error_of([&] { d.pause(later, milliseconds(1)); }).find("took too long"),
            std::string::npos);
  for (int i = 0; i < 12; ++i) {
    std::this_thread::sleep_for(milliseconds(500));
    d.keep_save(dead);
    d.keep_save(living);
  }
  d.prepare_save(living, opened(), 0);
  d.cancel_save(living);
  EXPECT_TRUE(fs::is_empty(target()));
}

// Whoever waits for its turn on the first server is not taken for one that was given up.
TEST_F(Snapshot, SavesOfSeveralClientsFollowEachOther) {
  TestHost first("", "none", 0, 2), second("", "none", 1, 2);
  first.recover();
  second.recover();
  const auto save = [&] {
    const SaveId id = first.durability().reserve_save();
    for (TestHost* h : {&first, &second}) h->durability().prepare_save(id, opened(), 0);
    for (TestHost* h : {&first, &second}) h->durability().pause(id, std::chrono::seconds(60));
    for (TestHost* h : {&first, &second}) h->durability().finish_save(id);
    for (TestHost* h : {&second, &first}) h->durability().publish_save(id);
  };
  std::vector<std::string> errors(4);
  std::vector<std::thread> clients;
  for (std::string& error : errors)
    clients.emplace_back([&] {
      for (int i = 0; i < 5 && error.empty(); ++i) error = error_of(save);
    });
  for (std::thread& client : clients) client.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST_F(Snapshot, WhatDoesNotFitIsRefused) {
  EXPECT_NE(load_error().find("has no snapshot.json"), std::string::npos);
  save(2, 7, 1, 100);
  const std::string parts = target() + folder(7);
  EXPECT_EQ(load_error(), "");
  EXPECT_NE(load_error(1, 10, 4).find("are laid out as"), std::string::npos);
  EXPECT_NE(load_error(1, 5).find("has numbers"), std::string::npos);
  fs::rename(parts + "/part-1-of-2", parts + "/other");
  EXPECT_NE(load_error().find("copy the parts of all servers"), std::string::npos);
  EXPECT_EQ(load_error(2), "");  // needs part 0 only
  fs::rename(parts + "/other", parts + "/part-0-of-3");
  EXPECT_NE(load_error().find("different numbers of servers"), std::string::npos);
}

// Whoever walked it by recursion would end at the end of his stack.
TEST_F(Snapshot, AnIndexThatIsNestedDeepIsDamaged) {
  save(1, 7, 1, 10);
  const std::string deep(1'000'000, '['), end(1'000'000, ']');
  for (const std::string& path :
       {target() + "/snapshot.json", target() + folder(7) + "/part-0-of-1/manifest.json"}) {
    const std::string whole = read_file(path);
    std::ofstream(path, std::ios::trunc) << R"({"checksum": 1, "content": )" << deep << end << '}';
    const std::string error = load_error();
    EXPECT_NE(error.find(path), std::string::npos) << error.substr(0, 200);
    EXPECT_NE(error.find("nested deeper than 500"), std::string::npos) << error.substr(0, 200);
    std::ofstream(path, std::ios::trunc) << whole;
  }
  EXPECT_EQ(load_error(), "");
}

// The checksum of a JSON file is of its content as it is printed, so blanks may change. But what is
// loaded is what was saved.
TEST_F(Snapshot, DamageIsAnErrorThatNamesTheFile) {
  save(1, 7, 1, 40);
  std::mt19937 random(1);
  const auto loaded = [&] {
    TestHost host("", "none");
    host.recover();
    host.durability().load(opened(), 0);
    return std::pair(host.rows(), host.dense_values());
  };
  const auto saved = loaded();
  int refused = 0, harmless = 0;
  for (const fs::path& path : files()) {
    const std::string whole = read_file(path.string());
    const auto try_with = [&](const std::string& text) {
      std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
      const std::string error = load_error();
      EXPECT_NE(error.find(path.string()), std::string::npos) << path << ": " << error;
      EXPECT_NE(error.find("Do this"), std::string::npos) << error;
    };
    for (size_t i = 0; i < 60; ++i) {
      const size_t at = i < 20 ? i * whole.size() / 20 : random() % whole.size();
      if (at + 2 < whole.size()) try_with(whole.substr(0, at));
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << random() % 8));
      if (path.extension() != ".json") {
        try_with(flipped);
        continue;
      }
      std::ofstream(path, std::ios::binary | std::ios::trunc) << flipped;
      const std::string error = load_error();
      if (error.empty()) {
        ++harmless;
        EXPECT_EQ(loaded(), saved) << path << ": " << flipped;
      } else {
        ++refused;
        EXPECT_NE(error.find("[snapshot]"), std::string::npos) << error;
        EXPECT_NE(error.find("Do this"), std::string::npos) << error;
      }
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole;
    EXPECT_EQ(load_error(), "");
  }
  EXPECT_GT(refused, 2 * harmless);
}

}  // namespace
}  // namespace argosy::ps

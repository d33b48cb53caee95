// What a server promises, whatever is lost, killed or full: an acknowledged change is there once,
// nothing that was refused comes back.
#include "tests/cpp/ps/promises.h"

#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <thread>

#include "argosy/base/file.h"
#include "tests/cpp/ps/failing_files.h"

namespace argosy::ps {
namespace {

// --- saves and what else lies in a folder ---

TEST_F(Promises, ASaveRemovesNothingButThePreviousSave) {
  start();
  const fs::path day = directory_ + "/day1";
  for (const char* name : {"train_data/part-00000", "save-0123456789abcdef/part-0-of-1",
                           "save-x/.aside-part-0-of-1/table-0.0.rows"}) {
    fs::create_directories((day / name).parent_path());
    std::ofstream(day / name) << "mine";
  }
  ASSERT_EQ(code(push(kOne, 1, {5})), Code::ok);
  ASSERT_EQ(code(whole(Method::save, kOne, 2, day)), Code::ok);
  const std::string first = read_file(day / "snapshot.json");
  ASSERT_EQ(code(whole(Method::save, kOne, 3, day)), Code::ok);
  EXPECT_NE(read_file(day / "snapshot.json"), first);
  EXPECT_EQ(read_file(day / "train_data/part-00000"), "mine");
  EXPECT_EQ(read_file(day / "save-0123456789abcdef/part-0-of-1"), "mine");
  EXPECT_EQ(read_file(day / "save-x/.aside-part-0-of-1/table-0.0.rows"), "mine");
  size_t saves = 0;
  for (const auto& e : fs::directory_iterator(day))
    saves += fs::exists(e.path() / "part-0-of-1/manifest.json");
  EXPECT_EQ(saves, 1u);
}

TEST_F(Promises, ASnapshotJsonOfTheUsersIsNotReplaced) {
  start();
  std::ofstream(directory_ + "/snapshot.json") << "{\"mine\": 1}";
  fs::create_directory(directory_ + "/model");
  fs::rename(directory_ + "/snapshot.json", directory_ + "/model/snapshot.json");
  EXPECT_NE(code(whole(Method::save, kOne, 1, directory_ + "/model")), Code::ok);
  EXPECT_EQ(read_file(directory_ + "/model/snapshot.json"), "{\"mine\": 1}");
}

TEST_F(Promises, WhatAKilledSaveLeftGoesWithTheNext) {
  start();
  const fs::path model = directory_ + "/model";
  Request r = whole(Method::save, kOne, 1, model);
  r.header.phase = SavePhase::prepare;
  r.header.save = 77;
  ASSERT_EQ(code(std::move(r)), Code::ok);
  kill_and_start();
  EXPECT_TRUE(fs::is_empty(model)) << "an orderly end removes it";
  // As kill -9 leaves it.
  r = whole(Method::save, kOne, 2, model);
  r.header.phase = SavePhase::prepare;
  r.header.save = 78;
  ASSERT_EQ(code(std::move(r)), Code::ok);
  const fs::path copy = directory_ + "/copy";
  fs::copy(model, copy, fs::copy_options::recursive);
  ASSERT_TRUE(fs::exists(copy / "save-000000000000004e/.aside-part-0-of-1"));
  r = whole(Method::save, kOne, 3);
  r.header.phase = SavePhase::cancel;
  r.header.save = 78;
  ASSERT_EQ(code(std::move(r)), Code::ok);
  ASSERT_EQ(code(whole(Method::save, kOne, 4, copy)), Code::ok);
  EXPECT_FALSE(fs::exists(copy / "save-000000000000004e"));
}

TEST_F(Promises, AStateNamedBeforeItIsThereIsKeptAwayFromToo) {
  const fs::path before = fs::current_path();
  fs::current_path(directory_);
  options_.directory = "state";  // is made by the server, after it took its roots
  start();
  const Core::Result result =
      call(whole(Method::save, kOne, 1, directory_ + "/state/server-0-of-1"));
  fs::current_path(before);
  EXPECT_EQ(result.failure.code, Code::bad_request);
}

TEST_F(Promises, SavesKeepAwayFromTheServersOwnState) {
  start();
  ASSERT_EQ(code(push(kOne, 1, {5})), Code::ok);
  uint64_t sequence = 1;
  fs::create_directory_symlink(directory_ + "/state", directory_ + "/link");
  for (const char* name : {"/state", "/state/server-0-of-1", "/state/server-0-of-1/log", "",
                           "/state/below", "/link", "/link/server-0-of-1"}) {
    const Core::Result result = call(whole(Method::save, kOne, ++sequence, directory_ + name));
    EXPECT_EQ(result.failure.code, Code::bad_request) << name;
    EXPECT_NE(result.failure.text.find("Do this:"), std::string::npos);
  }
  kill_and_start();
  EXPECT_EQ(value(5), 1);
}

TEST_F(Promises, SavesAndLoadsStayBeneathTheRoots) {
  fs::create_directories(directory_ + "/root/inside");
  fs::create_directories(directory_ + "/outside");
  fs::create_directory_symlink(directory_ + "/outside", directory_ + "/root/link");
  options_.save_roots = {directory_ + "/root"};
  start();
  uint64_t sequence = 0;
  for (const Method method : {Method::save, Method::load})
    for (const std::string& name :
         {directory_ + "/outside", directory_ + "/root/../outside", directory_ + "/root/link",
          directory_ + "/root/link/deeper", directory_ + "/rooted", std::string("../outside"),
          std::string("/"), std::string("inside\0x", 8), std::string("hdfs:/day/1"),
          std::string("hdfs:day/1"), std::string("afs:day"), std::string("afs://host:9902/day")}) {
      const Core::Result result = call(whole(method, kOne, ++sequence, name));
      EXPECT_EQ(result.failure.code, Code::bad_request) << name;
      EXPECT_NE(result.failure.text.find("root"), std::string::npos) << result.failure.text;
    }
  EXPECT_TRUE(fs::is_empty(directory_ + "/outside"));
  EXPECT_EQ(code(whole(Method::save, kOne, ++sequence, "inside/deep/er")), Code::ok);
  EXPECT_TRUE(fs::exists(directory_ + "/root/inside/deep/er/snapshot.json"));
  EXPECT_EQ(code(whole(Method::load, kOne, ++sequence, directory_ + "/root/inside/deep/er")),
            Code::ok);
  // Links within a save, too.
  const fs::path save = directory_ + "/root/inside/deep/er";
  fs::rename(save / "snapshot.json", directory_ + "/outside/snapshot.json");
  fs::create_symlink(directory_ + "/outside/snapshot.json", save / "snapshot.json");
  const Core::Result result = call(whole(Method::load, kOne, ++sequence, save));
  EXPECT_NE(result.failure.text.find("is a link"), std::string::npos) << result.failure.text;
}

// What was acknowledged is not passed over because its table is another one now.
// --- load ---

TEST_F(Promises, ALoadWhoseAnswerWasLostDoesNotUndoWhatCameAfter) {
  start({kOne, kTwo});
  ASSERT_EQ(code(push(kOne, 1, {5})), Code::ok);
  ASSERT_EQ(code(whole(Method::save, kOne, 2, directory_ + "/model")), Code::ok);
  ASSERT_EQ(code(whole(Method::load, kOne, 3, directory_ + "/model")), Code::ok);  // answer lost
  ASSERT_EQ(code(push(kTwo, 1, {5})), Code::ok);
  kill_and_start({kOne, kTwo});
  EXPECT_EQ(code(whole(Method::load, kOne, 3, directory_ + "/model")), Code::ok);
  EXPECT_EQ(value(5), 2);
}

struct FileLimit {
  explicit FileLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit full{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
  }
  ~FileLimit() { lift(); }
  void lift() const { setrlimit(RLIMIT_FSIZE, &before); }
  rlimit before;
};

TEST_F(Promises, ALoadThatCannotBeKeptEndsTheServer) {
  start();
  std::vector<Key> keys(3000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  ASSERT_EQ(code(push(kOne, 1, keys)), Code::ok);
  ASSERT_EQ(code(whole(Method::save, kOne, 2, directory_ + "/model")), Code::ok);
  ASSERT_EQ(code(push(kOne, 3, {5})), Code::ok);
  std::atomic<bool> died{false};
  core_->on_fatal([&](const std::string&) { died = true; });
  {
    const FileLimit full(20000);
    EXPECT_EQ(code(whole(Method::load, kOne, 4, directory_ + "/model")), Code::busy);
  }
  EXPECT_TRUE(died);
  EXPECT_EQ(code(push(kOne, 5, {5})), Code::busy);
  kill_and_start();
  EXPECT_EQ(value(5), 2);
  EXPECT_EQ(code(whole(Method::load, kOne, 4, directory_ + "/model")), Code::ok);
  EXPECT_EQ(value(5), 1);
}

// --- clients ---

TEST_F(Promises, AForgottenClientsNumbersAreNotTakenForNew) {
  options_.client_expiry = seconds(1);
  core_ = std::make_unique<Core>(options_);
  const uint64_t life = greet(kOne).answer.incarnation;
  ASSERT_EQ(code(push(kOne, 1, {5})), Code::ok);
  const auto limit = Core::Clock::now() + seconds(60);
  while (core_->stats().find("\"clients\":0") == std::string::npos && Core::Clock::now() < limit) {
    std::this_thread::sleep_for(milliseconds(20));
    core_->tick();
  }
  EXPECT_EQ(code(push(kOne, 1, {5})), Code::unknown_client);
  greet(kOne, 0, 2, life);
  EXPECT_EQ(code(push(kOne, 1, {5})), Code::too_old);
  EXPECT_EQ(code(push(kOne, 2, {5})), Code::ok);
  EXPECT_EQ(value(5), 2);
}

TEST_F(Promises, WhoTriesLongerThanHeIsKnownIsRefused) {
  options_.client_expiry = seconds(10);
  core_ = std::make_unique<Core>(options_);
  Request r = request(Method::hello, kOne);
  r.header.retry_ms = 10'000;
  const Core::Result result = call(std::move(r));
  EXPECT_EQ(result.failure.code, Code::mismatch);
  EXPECT_NE(result.failure.text.find("client_expiry"), std::string::npos);
}

// A worker's token is enough for a hello, so it must not bring the server down.
TEST_F(Promises, TablesInAHelloTakeNoMoreMemoryThanTheServersOwn) {
  core_ = std::make_unique<Core>(options_);
  const auto refused = [&](std::string tables) {
    Request r = request(Method::hello, kOne);
    r.header.text = std::move(tables);
    const Core::Result result = call(std::move(r));
    EXPECT_EQ(result.failure.code, Code::bad_request);
    return result.failure.text;
  };
  std::string many = "[0";
  for (int i = 0; i < 1'000'000; ++i) many += ",0";
  EXPECT_NE(refused(many + ']').find("expected at most"), std::string::npos);
  EXPECT_NE(refused(std::string(30'000, '[') + std::string(30'000, ']')).find("nested"),
            std::string::npos);
  EXPECT_NE(refused("[{\"name\": [[[[[[1]]]]]]}]").find("expected a string"), std::string::npos);
  Request r = request(Method::hello, kOne);
  r.header.text = to_json(options_.tables);
  EXPECT_EQ(code(std::move(r)), Code::ok);
}

TEST_F(Promises, OnlyClientsStopAServer) {
  start();
  std::atomic<int> stops{0};
  core_->on_stop([&] { ++stops; });
  EXPECT_EQ(code(request(Method::stop, kTwo)), Code::unknown_client);
  EXPECT_EQ(stops, 0);
  EXPECT_EQ(code(request(Method::stop, kOne)), Code::ok);
  EXPECT_EQ(stops, 1);
}

// --- one order ---

TEST_F(Promises, AssignmentsAndPushesHaveOneOrder) {
  start({kOne, kTwo});
  for (uint64_t round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (const ClientId client : {kOne, kTwo})
      threads.emplace_back([&, client] {
        for (uint64_t i = 1; i <= 50; ++i) {
          const uint64_t n = 50 * round + i;
          const bool assign = client == kTwo && i % 5 == 0;
          std::promise<void> done;
          core_->handle(push(client, n, {7}, static_cast<float>(assign ? i : 1),
                             assign ? Change::assign : Change::add),
                        Core::Clock::now() + seconds(10), [&](const Core::Result& r) {
                          EXPECT_FALSE(r.failure) << r.failure.text;
                          done.set_value();
                        });
          done.get_future().wait();
        }
      });
    for (std::thread& t : threads) t.join();
    const float before = value(7);
    kill_and_start({kOne, kTwo});
    ASSERT_EQ(value(7), before) << "in round " << round;
  }
}

// --- the disk of the log ---

TEST_F(Promises, WhatIsAppliedButNotOnDiskIsNotCalledRefused) {
  start();
  ASSERT_EQ(code(push(kOne, 1, {5})), Code::ok);
  const FileLimit full(40);
  EXPECT_EQ(code(push(kOne, 2, {5})), Code::unsynced);
  EXPECT_EQ(code(push(kOne, 2, {5})), Code::unsynced);
  EXPECT_EQ(code(push(kOne, 3, {5})), Code::failed);  // refused: before it was written
  full.lift();
  const auto limit = Core::Clock::now() + seconds(60);
  Code now = Code::unsynced;
  while ((now = code(push(kOne, 2, {5}))) == Code::unsynced && Core::Clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(now, Code::ok);
  kill_and_start();
  EXPECT_EQ(value(5), 2);
}

// --- a tier on disk ---

class SsdPromises : public Promises {
 protected:
  void SetUp() override {
    Promises::SetUp();
    fs::create_directory(directory_ + "/state");
    TableConfig& t = options_.tables[0];
    t.tier = "ssd";
    t.directory = directory_ + "/state/db";
    t.memory_rows = 1024;
  }
  std::vector<Key> keys(Key first, Key last) const {
    std::vector<Key> all;
    for (Key k = first; k < last; ++k) all.push_back(k);
    return all;
  }
  // Makes the database's file so long that a limit for it is none for the server's log.
  uint64_t fill(uint64_t sequence) {
    EXPECT_EQ(code(push(kOne, sequence, keys(0, 1000))), Code::ok);
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(code(whole(Method::end_day, kOne, ++sequence)), Code::ok);
    return sequence;
  }
  rlim_t longest() const {
    uintmax_t bytes = 0;
    for (const auto& e : fs::directory_iterator(options_.tables[0].directory))
      if (e.path().extension() == ".log") bytes = std::max(bytes, e.file_size());
    return bytes;
  }
};

TEST_F(SsdPromises, WhatAFullDiskRefusedDoesNotComeBack) {
  start({kOne, kTwo});
  uint64_t sequence = fill(1);
  const FileLimit full(longest());
  EXPECT_EQ(code(whole(Method::end_day, kOne, ++sequence)), Code::failed);
  // More rows than memory may have beyond its limit: pushes that make rows are refused.
  ASSERT_EQ(code(push(kOne, ++sequence, keys(2000, 2700))), Code::ok);
  ASSERT_EQ(code(push(kOne, ++sequence, keys(3000, 3700))), Code::ok);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(code(push(kOne, ++sequence, {9999})), Code::failed);
  full.lift();
  const auto limit = Core::Clock::now() + seconds(60);
  Code now = Code::failed;
  for (uint64_t n = 1; now == Code::failed && Core::Clock::now() < limit; ++n) {
    now = code(push(kTwo, n, {9999}));
    std::this_thread::sleep_for(milliseconds(100));
  }
  ASSERT_EQ(now, Code::ok);
  EXPECT_EQ(value(9999), 1);
  kill_and_start({kOne, kTwo});
  EXPECT_EQ(value(9999), 1);
}

// The client was told that it was refused: an attempt that was on its way meanwhile is late.
TEST_F(Promises, WhatWasRefusedIsNotAppliedByALateAttempt) {
  start();
  {
    const FileLimit full(40);
    EXPECT_EQ(code(push(kOne, 1, {5})), Code::unsynced);
    EXPECT_EQ(code(push(kOne, 2, {5})), Code::failed);
  }
  const auto limit = Core::Clock::now() + seconds(60);
  while (code(push(kOne, 1, {5})) == Code::unsynced && Core::Clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(20));
  const Core::Result late = call(push(kOne, 2, {5}));
  EXPECT_EQ(late.failure.code, Code::failed);
  EXPECT_NE(late.failure.text.find("File too large"), std::string::npos) << late.failure.text;
  EXPECT_EQ(code(push(kOne, 3, {5})), Code::ok);
  EXPECT_EQ(value(5), 2);
}

TEST_F(Promises, AClientMakesSoManyRows) {
  options_.max_client_rows = 10;
  start({kOne, kTwo});
  ASSERT_EQ(code(push(kOne, 1, {1, 2, 3, 4, 5, 6})), Code::ok);
  Request r = request(Method::pull_sparse, kOne);
  r.header.create = true;
  r.keys = Bytes(8 * 4);
  for (size_t i = 0; i < 4; ++i) r.keys.as<Key>()[i] = 10 + i;
  ASSERT_EQ(code(std::move(r)), Code::ok);
  const Core::Result refused = call(push(kOne, 2, {20}));
  EXPECT_EQ(refused.failure.code, Code::bad_request);
  EXPECT_NE(refused.failure.text.find("max_client_rows"), std::string::npos);
  EXPECT_EQ(code(push(kTwo, 1, {20})), Code::ok);
}

// One call is not let past the limit because it is the last one, nor by way of a step.
TEST_F(Promises, NoCallMakesRowsAboveTheLimit) {
  options_.max_client_rows = 10;
  start();
  ASSERT_EQ(code(push(kOne, 1, {1, 2, 3, 4, 5, 6, 7, 8})), Code::ok);
  EXPECT_EQ(code(push(kOne, 2, {11, 12, 13})), Code::bad_request);
  EXPECT_EQ(code(push(kOne, 3, {11, 12, 13}, 1, Change::assign)), Code::bad_request);
  EXPECT_EQ(code(push(kOne, 4, {11, 12, 13}, 1, Change::step)), Code::bad_request);
  // Rows that are there may be changed, and a key that comes twice is one row.
  EXPECT_EQ(code(push(kOne, 5, {1, 2, 3, 4, 5, 6, 7, 8, 9, 9})), Code::ok);
  EXPECT_EQ(code(push(kOne, 6, {11}, 1, Change::step)), Code::ok);
  EXPECT_EQ(code(push(kOne, 7, {12})), Code::bad_request);
  EXPECT_EQ(code(push(kOne, 8, {1, 9})), Code::ok);
  ASSERT_EQ(code(request(Method::end_step, kOne)), Code::ok);
  EXPECT_EQ(core_->sparse_tables()[0]->stats().rows, 10u);
}

TEST_F(SsdPromises, RowsOnDiskAreNotMadeAgain) {
  options_.max_client_rows = 3000;
  start();
  for (uint64_t i = 0; i < 3; ++i)
    ASSERT_EQ(code(push(kOne, 1 + i, keys(1000 * i, 1000 * (i + 1)))), Code::ok);
  ASSERT_GT(core_->sparse_tables()[0]->stats().disk_rows, 1000u);
  EXPECT_EQ(code(push(kOne, 4, keys(0, 3000))), Code::ok);
  EXPECT_EQ(code(push(kOne, 5, {3000})), Code::bad_request);
  EXPECT_EQ(value(0), 2);
}

TEST_F(SsdPromises, AStepThatIsRefusedCanBeEndedAgain) {
  start();
  uint64_t sequence = fill(1);
  Request r = push(kOne, ++sequence, {9999}, 3, Change::step);
  ASSERT_EQ(code(std::move(r)), Code::ok);
  {
    const FileLimit full(longest());
    EXPECT_EQ(code(whole(Method::end_day, kOne, ++sequence)), Code::failed);
    ASSERT_EQ(code(push(kOne, ++sequence, keys(2000, 2700))), Code::ok);
    ASSERT_EQ(code(push(kOne, ++sequence, keys(3000, 3700))), Code::ok);
    const Core::Result refused = call(request(Method::end_step, kOne));
    EXPECT_EQ(refused.failure.code, Code::failed);
    EXPECT_NE(refused.failure.text.find("make room"), std::string::npos) << refused.failure.text;
  }
  const auto limit = Core::Clock::now() + seconds(60);
  Code now = Code::failed;
  while ((now = code(request(Method::end_step, kOne))) == Code::failed &&
         Core::Clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(now, Code::ok);
  EXPECT_EQ(value(9999), 3);
  kill_and_start();
  EXPECT_EQ(value(9999), 3);
  EXPECT_EQ(greet(kTwo).answer.next_step, 1u);
}

TEST_F(SsdPromises, RowsOfBeforeTheLogSurvive) {
  options_.durability = "none";
  start();
  ASSERT_EQ(code(push(kOne, 1, {5})), Code::ok);
  core_.reset();  // an orderly end leaves them on disk
  options_.durability = "log";
  start();
  ASSERT_EQ(value(5), 1);
  ASSERT_EQ(code(push(kOne, 1, {6})), Code::ok);
  kill_and_start();
  EXPECT_EQ(value(5), 1);
  EXPECT_EQ(value(6), 1);
}

// --- what attackers found ---

TEST_F(Promises, AStartThatFailedLeavesNothingToTrust) {
  options_.durability = "none";
  start();
  ASSERT_EQ(code(push(kOne, 1, {5})), Code::ok);
  ASSERT_EQ(code(whole(Method::save, kOne, 2, directory_ + "/model")), Code::ok);
  core_.reset();
  options_.durability = "snapshot";
  options_.load_from = directory_ + "/not_there_yet";
  EXPECT_THROW(Core core(options_), Error);
  options_.load_from = directory_ + "/model";
  start();
  EXPECT_EQ(value(5), 1);
}

TEST_F(Promises, WhoWaitsInARoundIsInTheLogOnce) {
  options_.workers = 2;
  start();
  for (int i = 0; i < 20; ++i) {
    Request r = request(Method::gather, kOne);
    r.header.round = 1;
    r.values = Bytes(1000);
    std::memset(r.values.data(), 1, 1000);
    EXPECT_EQ(code(std::move(r)), Code::timeout);
  }
  EXPECT_NE(core_->stats().find("\"log_position\":1,"), std::string::npos) << core_->stats();
}

// Two servers that save into one folder.
class SharedSaves : public Promises {
 protected:
  template <class F>
  auto on(uint32_t server, F&& f) {
    std::swap(core_, servers_[server]);
    auto result = f();
    std::swap(core_, servers_[server]);
    return result;
  }
  void SetUp() override {
    Promises::SetUp();
    options_.durability = "none";
    options_.servers = 2;
    options_.tables = {sum_table(0, "sparse")};
    for (uint32_t i = 0; i < 2; ++i) {
      options_.index = i;
      servers_[i] = std::make_unique<Core>(options_);
      on(i, [&] {
        Request r = request(Method::hello, kOne);
        r.header.servers = 2;
        r.header.server = i;
        EXPECT_EQ(code(std::move(r)), Code::ok);
        EXPECT_EQ(code(push(kOne, ++sequence_, {1, 2, 3, 4})), Code::ok);
        return 0;
      });
    }
  }
  Core::Result phase(uint32_t server, SavePhase p, uint64_t number) {
    return on(server, [&] {
      Request r = whole(Method::save, kOne, ++sequence_, directory_ + "/model");
      r.header.phase = p;
      r.header.save = number;
      r.header.wait_ms = 20000;
      return call(std::move(r));
    });
  }
  Code phase_on_both(SavePhase p, uint64_t number) {
    const Code first = phase(0, p, number).failure.code;
    return first == Code::ok ? phase(1, p, number).failure.code : first;
  }

  std::unique_ptr<Core> servers_[2];
  uint64_t sequence_ = 0;
};

TEST_F(SharedSaves, AServerDoesNotPublishWhatAnotherGaveUp) {
  using P = SavePhase;
  for (const uint64_t save : {7, 8}) {
    for (const P p : {P::prepare, P::pause, P::finish}) ASSERT_EQ(phase_on_both(p, save), Code::ok);
    if (save == 7) {
      ASSERT_EQ(phase(1, P::publish, save).failure.code, Code::ok);
      ASSERT_EQ(phase(0, P::publish, save).failure.code, Code::ok);
    }
  }
  // Server 0 gives it up; what server 1 was told is still on its way. Both parts are there, so the
  // save is whole.
  ASSERT_EQ(phase(0, P::cancel, 8).failure.code, Code::ok);
  EXPECT_EQ(phase(1, P::publish, 8).failure.code, Code::ok);
  for (const uint32_t i : {0u, 1u})
    EXPECT_EQ(
        on(i, [&] { return code(whole(Method::load, kOne, ++sequence_, directory_ + "/model")); }),
        Code::ok);
  // One whose part is missing is not published, and the one before stays.
  for (const P p : {P::prepare, P::pause, P::finish}) ASSERT_EQ(phase_on_both(p, 9), Code::ok);
  fs::remove_all(directory_ + "/model/save-0000000000000009/part-0-of-2");
  const Core::Result lacks = phase(1, P::publish, 9);
  EXPECT_NE(lacks.failure.text.find("lacks part-0-of-2"), std::string::npos) << lacks.failure.text;
  ASSERT_EQ(phase_on_both(P::cancel, 9), Code::ok);
  for (const uint32_t i : {0u, 1u})
    EXPECT_EQ(
        on(i, [&] { return code(whole(Method::load, kOne, ++sequence_, directory_ + "/model")); }),
        Code::ok);
}

// Its client died between any two phases.
TEST_F(Promises, ASaveThatIsAbandonedGivesUpItsTurn) {
  options_.durability = "none";
  options_.turn_limit = seconds(8);
  using P = SavePhase;
  const std::vector<P> phases{P::reserve, P::prepare, P::pause, P::finish};
  uint64_t sequence = 0;
  core_ = std::make_unique<Core>(options_);
  greet(kOne);
  greet(kTwo);
  ASSERT_EQ(code(push(kOne, ++sequence, {5})), Code::ok);
  for (size_t done = 1; done <= phases.size(); ++done) {
    uint64_t number = 0;
    for (size_t i = 0; i < done; ++i) {
      Request r = whole(Method::save, kOne, ++sequence, directory_ + "/model");
      r.header.phase = phases[i];
      r.header.save = number;
      r.header.wait_ms = 1500;
      const Core::Result result = call(std::move(r));
      ASSERT_FALSE(result.failure) << i << ": " << result.failure.text;
      if (phases[i] == P::reserve) number = result.answer.number;
    }
    EXPECT_EQ(code(whole(Method::save, kTwo, done, directory_ + "/other")), Code::ok)
        << "after phase " << done;
    // Changes go on, and the abandoned save's client is told.
    EXPECT_EQ(code(push(kOne, ++sequence, {5})), Code::ok);
    Request late = whole(Method::save, kOne, ++sequence, directory_ + "/model");
    late.header.phase = P::publish;
    late.header.save = number;
    EXPECT_NE(code(std::move(late)), Code::ok) << "after phase " << done;
  }
  EXPECT_EQ(value(5), 5);
}

// What a save of mode 1 has is not in the next one; what a failed one had is.
TEST_F(Promises, AnIncrementThatFailsLeavesItsRowsToTheNext) {
  TableConfig& clicks = options_.tables[0];
  clicks.accessor.kind = "click";
  clicks.accessor.base_threshold = 0;
  clicks.accessor.delta_threshold = 0.5;
  clicks.accessor.nonclick_coefficient = 1;
  for (const bool ssd : {false, true}) {
    if (ssd) {
      clicks.tier = "ssd";
      clicks.directory = directory_ + "/db";
      clicks.memory_rows = 1024;
    }
    options_.directory = directory_ + (ssd ? "/ssd" : "/memory");
    core_.reset();
    start();
    uint64_t sequence = 0;
    std::vector<Key> keys(ssd ? 4000 : 20);
    std::iota(keys.begin(), keys.end(), 1);
    const auto show = [&](size_t n) {
      Request r = push(kOne, ++sequence, {});
      r.keys = Bytes(8 * n);
      std::copy_n(keys.begin(), n, r.keys.as<Key>().begin());
      r.values = Bytes(4 * 6 * n);  // slot, show, click, three gradients
      for (size_t i = 0; i < 6 * n; ++i) r.values.as<float>()[i] = i % 6 == 1;
      ASSERT_EQ(code(std::move(r)), Code::ok);
    };
    const auto save = [&](SavePhase phase, uint64_t number = 0) {
      Request r = whole(Method::save, kOne, ++sequence, directory_ + "/increment");
      r.header.mode = 1;
      r.header.phase = phase;
      r.header.save = number;
      r.header.wait_ms = 5000;
      const Core::Result result = call(std::move(r));
      EXPECT_FALSE(result.failure) << result.failure.text;
      return result.answer.number;
    };
    show(keys.size());
    for (const bool finished : {false, true}) {
      const uint64_t number = save(SavePhase::reserve);
      save(SavePhase::prepare, number);
      if (finished) {
        save(SavePhase::pause, number);
        save(SavePhase::finish, number);
      }
      save(SavePhase::cancel, number);
    }
    EXPECT_EQ(save(SavePhase::whole), keys.size()) << ssd;
    EXPECT_EQ(save(SavePhase::whole), 0u) << ssd;
    show(7);
    EXPECT_EQ(save(SavePhase::whole), 7u) << ssd;
  }
}

// Whoever has the turn gets on, however many wait for it.
TEST_F(Promises, ManySavesAtOnceDoNotHoldUpTheFirst) {
  options_.durability = "none";
  core_ = std::make_unique<Core>(options_);
  for (uint64_t i = 1; i <= 17; ++i) greet({i, i});
  const auto save = [&](uint64_t i, uint64_t sequence, SavePhase phase, uint64_t number) {
    Request r = whole(Method::save, {i, i}, sequence, directory_ + "/model");
    r.header.phase = phase;
    r.header.save = number;
    return r;
  };
  const Core::Result mine = call(save(1, 1, SavePhase::reserve, 0));
  ASSERT_FALSE(mine.failure);
  std::atomic<int> answered{0};
  for (uint64_t i = 2; i <= 17; ++i)
    core_->handle(save(i, 1, SavePhase::reserve, 0), Core::Clock::now() + seconds(60),
                  [&](const Core::Result&) { ++answered; });
  EXPECT_EQ(code(save(1, 2, SavePhase::prepare, mine.answer.number)), Code::ok);
  EXPECT_EQ(answered, 0);
  // An orderly end tells those who wait to ask the next server.
  std::promise<Code> waits;
  core_->handle(whole(Method::shrink, {2, 2}, 2), Core::Clock::now() + seconds(60),
                [&](const Core::Result& r) { waits.set_value(r.failure.code); });
  core_->stop();
  EXPECT_EQ(waits.get_future().get(), Code::busy);
  EXPECT_EQ(answered, 16);
}

// A disk that hangs while a step is applied holds up who ends it, and nobody else.
TEST_F(Promises, AHungDiskAtTheEndOfAStepHoldsUpNoOthers) {
  FailingFiles files;
  options_.durability = "none";
  options_.stop_limit = milliseconds(500);
  options_.tables[0].tier = "ssd";
  options_.tables[0].directory = directory_ + "/db";
  options_.tables[0].memory_rows = 1024;
  start();
  std::vector<Key> keys(20000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  ASSERT_EQ(code(push(kOne, 1, keys)), Code::ok);
  ASSERT_EQ(code(whole(Method::end_day, kOne, 2)), Code::ok);
  core_.reset();
  start();
  keys.resize(2000);
  ASSERT_EQ(code(push(kOne, 1, keys, 1, Change::step)), Code::ok);
  files.hang(FailingFiles::Operation::read);
  std::thread ends([&] { call(request(Method::end_step, kOne)); });
  const auto limit = Core::Clock::now() + seconds(100);
  while (!files.hanging() && Core::Clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(5));
  ASSERT_GT(files.hanging(), 0);
  std::atomic<int> done{0};
  std::thread others([&] {
    core_->tick();
    greet(kTwo);
    Request r = request(Method::end_step, kTwo);
    EXPECT_EQ(code(std::move(r)), Code::busy);
    ++done;
  });
  while (!done && Core::Clock::now() < limit) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(done, 1);
  files.work();
  ends.join();
  others.join();
  EXPECT_EQ(value(5), 2);
}

// Reads that hang have threads of their own: the others go on, and who finds none free is told why.
TEST_F(Promises, CallsThatHangInTheDatabaseHoldUpNoOthers) {
  FailingFiles files;
  options_.durability = "none";
  options_.threads = 2;
  options_.tables[0].tier = "ssd";
  options_.tables[0].directory = directory_ + "/db";
  options_.tables[0].memory_rows = 1024;
  start();
  std::vector<Key> keys(20000);
  std::iota(keys.begin(), keys.end(), 0);
  ASSERT_EQ(code(push(kOne, 1, keys)), Code::ok);
  ASSERT_EQ(code(whole(Method::end_day, kOne, 2)), Code::ok);
  core_.reset();
  start();
  const auto begin = [&](Request r) {
    auto promise = std::make_shared<std::promise<Core::Result>>();
    core_->handle(std::move(r), Core::Clock::now() + seconds(2),
                  [promise](Core::Result result) { promise->set_value(std::move(result)); });
    return promise->get_future();
  };
  const auto pull = [&] {
    Request r = request(Method::pull_sparse, kOne);
    r.keys = Bytes(8 * 2000);
    std::copy_n(keys.begin(), 2000, r.keys.as<Key>().begin());
    return r;
  };
  files.hang(FailingFiles::Operation::read);
  auto first = begin(pull()), second = begin(push(kOne, 1, keys));
  const auto limit = Core::Clock::now() + seconds(100);
  while (files.hanging() < 2 && Core::Clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(1));
  ASSERT_GE(files.hanging(), 2);
  auto third = begin(pull()), fourth = begin(push(kOne, 2, keys));
  greet(kTwo);
  Request meeting = request(Method::gather, kTwo);
  meeting.header.round = 1;
  EXPECT_EQ(code(std::move(meeting)), Code::ok);
  Request dense = request(Method::pull_dense, kTwo);
  dense.header.table = 1;
  EXPECT_EQ(code(std::move(dense)), Code::ok);
  for (auto* late : {&third, &fourth}) {
    while (late->wait_for(milliseconds(1)) != std::future_status::ready) core_->tick();
    const Failure why = late->get().failure;
    EXPECT_EQ(why.code, Code::busy);
    EXPECT_NE(why.text.find("rows on disk (sparse0)"), std::string::npos) << why.text;
  }
  files.work();
  EXPECT_EQ(first.get().failure.code, Code::ok);
  EXPECT_EQ(second.get().failure.code, Code::ok);
  EXPECT_EQ(code(push(kOne, 2, keys)), Code::ok);
  EXPECT_EQ(value(5), 3);
}

}  // namespace
}  // namespace argosy::ps

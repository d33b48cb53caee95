#include "argosy/ps/mode/mode.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <random>

#include "mode_fake.h"

namespace argosy::ps {
namespace {

using Row = std::vector<float>;

std::shared_ptr<Mode> start(FakeServers& servers, const std::string& name,
                            std::vector<TableConfig> tables, ModeOptions o = {}) {
  o.mode = name;
  o.tables = std::move(tables);
  o.workers = servers.workers;
  o.deadline = std::chrono::seconds(120);
  return make_mode(std::make_shared<FakeClient>(servers), o);
}

Row pull(Remote& m, uint32_t table, std::vector<Key> keys, size_t width) {
  Row out(keys.size() * width);
  m.pull_sparse(table, keys, out.data(), true);
  return out;
}
void push(Remote& m, uint32_t table, std::vector<Key> keys, Row values, float lr = -1) {
  m.push_sparse(table, keys, values.data(), lr);
}

TEST(Distinct, KeepsTheOrderOfFirstOccurrence) {
  Distinct d;
  d.begin(2);
  std::mt19937_64 draw(1);
  std::vector<Key> keys;
  for (int i = 0; i < 5000; ++i) keys.push_back(draw() % 700 * 0x100000001);
  std::map<Key, uint32_t> expected;
  for (const Key k : keys) {
    const uint32_t at =
        expected.try_emplace(k, static_cast<uint32_t>(expected.size())).first->second;
    ASSERT_EQ(d.add(k), at);
  }
  ASSERT_EQ(d.size(), expected.size());
  EXPECT_EQ(d.find(keys[9]), expected[keys[9]]);
  EXPECT_EQ(d.find(3), Distinct::kNone);
  d.begin(10);
  EXPECT_EQ(d.size(), 0u);
  EXPECT_EQ(d.find(keys[9]), Distinct::kNone);
}

TEST(Merged, RowsOfAKeyAddUpButForTheSlot) {
  Merged m(3, 1);
  m.begin(1);
  const float a[] = {7, 1, 2}, b[] = {8, 10, 20}, c[] = {9, 5, 5};
  m.add(4, a);
  m.add(6, c);
  m.add(4, b);
  ASSERT_EQ(m.size(), 2u);
  EXPECT_EQ(Row(m.values(), m.values() + 6), (Row{7, 11, 22, 9, 5, 5}));
}

TEST(Local, TrainsTablesOfThisProcess) {
  auto m = make_local({rows_table(0, 2, "sgd"), block_table(1, 3, "sgd")});
  EXPECT_EQ(pull(*m, 0, {5, 6}, 2), (Row{0, 0, 0, 0}));
  push(*m, 0, {6}, {1, 2}, 0.5f);
  EXPECT_EQ(pull(*m, 0, {5, 6}, 2), (Row{0, 0, -0.5f, -1}));
  m->push_dense(1, Row{1, 2, 3}, 1);
  Row block(3);
  m->pull_dense(1, block);
  EXPECT_EQ(block, (Row{-1, -2, -3}));
  EXPECT_THROW(pull(*m, 1, {5}, 1), Error);
}

TEST(Local, SavesAndLoadsTables) {
  const std::vector<TableConfig> tables{rows_table(0, 2, "adam", 0.5f), block_table(1, 3, "adam")};
  auto m = make_local(tables), other = make_local(tables);
  for (int i = 0; i < 3; ++i) {
    push(*m, 0, {5, 6, ~Key{0}}, {1, 2, 3, 4, 5, 6}, 0.5f);
    m->push_dense(1, Row{1, 2, 3}, 1);
  }
  const std::string directory = testing::TempDir() + "local_" + std::to_string(::getpid());
  EXPECT_EQ(m->save(directory, 0), 3u);
  EXPECT_EQ(other->load(directory, 0), 3u);
  for (auto& t : {m, other}) push(*t, 0, {5}, {1, 1}, 0.5f);  // the optimizer's state came along
  EXPECT_EQ(pull(*other, 0, {5, 6, ~Key{0}}, 2), pull(*m, 0, {5, 6, ~Key{0}}, 2));
  Row a(3), b(3);
  m->pull_dense(1, a);
  other->pull_dense(1, b);
  EXPECT_EQ(a, b);
  std::filesystem::remove_all(directory);
}

TEST(HalfAsync, APushIsAppliedWhenItsStepEnds) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sgd"), block_table(1, 1, "sgd")};
  FakeServers servers(tables);
  auto m = start(servers, "half_async", tables);
  push(*m, 0, {1, 2}, {1, 1}, 1);
  push(*m, 0, {2}, {1}, 1);
  m->end_step();
  EXPECT_EQ(servers.pushes, 1);
  EXPECT_EQ(pull(*m, 0, {1, 2}, 1), (Row{-1, -2}));
}

TEST(HalfAsync, EachThreadMakesStepsOfItsOwn) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sgd"), block_table(1, 1, "sgd")};
  FakeServers servers(tables);
  for (const char* name : {"half_async", "async"}) {
    auto m = start(servers, name, tables);
    servers.pushes = 0;
    push(*m, 0, {1}, {1}, 1);  // this thread is in the middle of a step
    std::thread([&] {
      push(*m, 0, {2}, {1}, 1);
      m->push_dense(1, Row{1}, 1);
      m->end_step();
    }).join();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (servers.pushes < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_EQ(servers.pushes, 2) << name;
    m->stop();
    EXPECT_EQ(servers.pushes, 3) << name;  // the step that never ended is not lost
  }
}

TEST(HalfAsync, AFlushWhileAnotherThreadIsAtItsStepLosesNothing) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sum")};
  FakeServers servers(tables);
  auto m = start(servers, "half_async", tables);
  constexpr int kPushes = 20000;
  std::atomic<bool> ended{false};
  std::thread pusher([&] {
    for (int i = 0; i < kPushes; ++i) push(*m, 0, {3}, {1});
    ended = true;
  });
  for (bool last = false; !last;) {
    last = ended;
    m->flush();
  }
  pusher.join();
  EXPECT_EQ(pull(*m, 0, {3}, 1), Row{kPushes});
}

TEST(HalfAsync, MergesSteps) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sgd")};
  FakeServers servers(tables);
  ModeOptions o;
  o.merge = 3;
  auto m = start(servers, "half_async", tables, o);
  for (int i = 0; i < 7; ++i) {
    push(*m, 0, {1}, {1}, 1);
    m->end_step();
  }
  EXPECT_EQ(servers.pushes, 2);
  m->stop();
  EXPECT_EQ(servers.pushes, 3);
  Row row(1);
  const Key key = 1;
  servers.sparse[0]->pull({&key, 1}, row.data(), false);
  EXPECT_EQ(row, (Row{-7}));
  EXPECT_THROW(m->end_step(), Error);
}

// One process with the mean of the gradients, and workers that push a gradient each.
TEST(Sync, TwoWorkersAreOneWithTheMean) {
  for (const char* rule : {"sgd", "adam", "adagrad"}) {
    const std::vector<TableConfig> tables{rows_table(0, 2, rule, 0.5f), block_table(1, 3, rule)};
    FakeServers servers(tables, 2);
    auto one = make_local(tables);
    std::vector<std::thread> workers;
    auto gradient = [](int worker, int step, int i) {
      return static_cast<float>((worker * 7 + step * 3 + i) % 5) - 2;
    };
    for (int w = 0; w < 2; ++w)
      workers.emplace_back([&, w] {
        auto m = start(servers, "sync", tables);
        for (int s = 0; s < 20; ++s) {
          pull(*m, 0, {1, 2, 3}, 2);
          const Key second = w ? 2 : 3;
          push(*m, 0, {1, second},
               {gradient(w, s, 0), gradient(w, s, 1), gradient(w, s, 2), gradient(w, s, 3)});
          m->push_dense(1, Row{gradient(w, s, 4), gradient(w, s, 5), gradient(w, s, 6)}, -1);
          m->end_step();
        }
        m->stop();
      });
    for (std::thread& t : workers) t.join();
    for (int s = 0; s < 20; ++s) {
      auto mean = [&](int i) { return (gradient(0, s, i) + gradient(1, s, i)) / 2; };
      push(*one, 0, {1, 2, 3},
           {mean(0), mean(1), gradient(1, s, 2) / 2, gradient(1, s, 3) / 2, gradient(0, s, 2) / 2,
            gradient(0, s, 3) / 2});
      one->push_dense(1, Row{mean(4), mean(5), mean(6)}, -1);
    }
    FakeClient look(servers);
    Row got(6), block(3), want_block(3);
    const std::vector<Key> keys{1, 2, 3};
    look.pull_sparse(0, keys, got.data(), false);
    const Row want = pull(*one, 0, keys, 2);
    for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << rule;
    look.pull_dense(1, block);
    one->pull_dense(1, want_block);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(block[i], want_block[i], 1e-5) << rule;
  }
}

TEST(Sync, AWorkerWithLessDataWaitsForTheOthers) {
  std::vector<TableConfig> tables{rows_table(0, 1, "sgd"), rows_table(1, 1, "sum")};
  FakeServers servers(tables, 3);
  std::vector<std::thread> workers;
  std::atomic<int> joined{0};
  for (int w = 0; w < 3; ++w)
    workers.emplace_back([&, w] {
      ModeOptions o;
      o.state_table = 1;
      auto m = start(servers, "sync", tables, o);
      for (int round = 0; round < 2; ++round) {
        for (int s = 0; s < 2 + 3 * w; ++s) {
          push(*m, 0, {9}, {3}, 1);
          m->end_step();
        }
        m->join();
        ++joined;
      }
      m->stop();
    });
  for (std::thread& t : workers) t.join();
  EXPECT_EQ(joined, 6);
  Row row(1);
  const Key key = 9;
  servers.sparse[0]->pull({&key, 1}, row.data(), false);
  EXPECT_EQ(row, (Row{-2.0f * (2 + 5 + 8)}));  // each push counts a third
}

TEST(Async, EverythingArrivesOnce) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sum"), block_table(1, 2, "sum")};
  FakeServers servers(tables);
  ModeOptions o;
  o.merge = 4;
  o.senders = 2;
  o.queue = 5;
  auto m = start(servers, "async", tables, o);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      Row block(2);
      for (int i = 0; i < 200; ++i) {
        m->pull_dense(1, block);
        push(*m, 0, {static_cast<Key>(i % 10), 100u + static_cast<Key>(t)}, {1, 1});
        m->push_dense(1, Row{1, 2}, -1);
        m->end_step();
      }
    });
  for (std::thread& t : threads) t.join();
  m->flush();
  const Row rows = pull(*m, 0, {0, 9, 100, 102}, 1);
  EXPECT_EQ(rows, (Row{60, 60, 200, 200}));
  Row block(2);
  servers.dense[1]->pull(block.data());
  EXPECT_EQ(block, (Row{600, 1200}));
  m->stop();
}

TEST(Async, MergesWhatWaits) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sum")};
  FakeServers servers(tables);
  servers.held = true;
  ModeOptions o;
  o.merge = 8;
  auto m = start(servers, "async", tables, o);
  for (int i = 0; i < 16; ++i) {
    push(*m, 0, {1}, {1});
    m->end_step();
  }
  servers.held = false;
  m->stop();
  // What the sender had taken before it was held, then 8 at most at a time.
  EXPECT_GE(servers.pushes, 2);
  EXPECT_LE(servers.pushes, 3);
  Row row(1);
  const Key key = 1;
  servers.sparse[0]->pull({&key, 1}, row.data(), false);
  EXPECT_EQ(row, (Row{16}));
}

TEST(Async, NoMoreStepsAheadThanTheBound) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sum")};
  FakeServers servers(tables);
  servers.delay_ms = 5;
  ModeOptions o;
  o.queue = 3;
  auto m = start(servers, "async", tables, o);
  for (int i = 1; i <= 20; ++i) {
    push(*m, 0, {1}, {1});
    m->end_step();
    EXPECT_GE(servers.pushes + 3, i);
  }
  m->stop();
}

TEST(Async, DenseParametersComeBack) {
  const std::vector<TableConfig> tables{block_table(0, 1, "sum")};
  FakeServers servers(tables);
  auto m = start(servers, "async", tables);
  Row block(1);
  m->pull_dense(0, block);
  EXPECT_EQ(block, (Row{0}));
  m->push_dense(0, Row{5}, -1);
  m->end_step();
  m->flush();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (block[0] != 5 && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
    m->pull_dense(0, block);
  }
  EXPECT_EQ(block, (Row{5}));
}

TEST(Async, AnErrorOfAThreadIsRaisedByTheNextCall) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sum"), block_table(1, 1, "sum")};
  FakeServers servers(tables);
  servers.pushes_left = 2;
  auto m = start(servers, "async", tables);
  auto train = [&] {
    for (int i = 0; i < 10000; ++i) {
      push(*m, 0, {1}, {1});
      m->end_step();
    }
  };
  try {
    train();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::timeout);
    EXPECT_NE(std::string(e.what()).find("the server is gone"), std::string::npos);
  }
  EXPECT_THROW(m->flush(), Error);
  EXPECT_THROW(m->stop(), Error);
  EXPECT_THROW(pull(*m, 0, {1}, 1), Error);
}

TEST(Async, EndsWithoutAWordWhenDropped) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sum"), block_table(1, 1, "sum")};
  FakeServers servers(tables);
  servers.delay_ms = 2;
  auto m = start(servers, "async", tables);
  for (int i = 0; i < 5; ++i) {
    push(*m, 0, {1}, {1});
    m->end_step();
  }
  m.reset();
}

TEST(Geo, OneWorkerTrainsAsAlone) {
  for (const char* rule : {"sgd", "adam"}) {
    const std::vector<TableConfig> tables{rows_table(0, 2, rule, 0.5f), block_table(1, 2, rule)};
    FakeServers servers(server_tables(tables, "geo"));
    ModeOptions o;
    o.k_steps = 3;
    auto m = start(servers, "geo", tables, o);
    auto one = make_local(tables);
    for (int s = 0; s < 25; ++s)
      for (Remote* r : {static_cast<Remote*>(m.get()), static_cast<Remote*>(one.get())}) {
        const Key other = 2 + static_cast<Key>(s % 4);
        const Row rows = pull(*r, 0, {1, other}, 2);
        Row block(2);
        r->pull_dense(1, block);
        push(*r, 0, {1, other}, {rows[0] + 1, rows[1], rows[2], rows[3] - 2});
        r->push_dense(1, Row{block[0] - 1, block[1] + 1}, -1);
        r->end_step();
      }
    m->flush();
    const std::vector<Key> keys{1, 2, 3, 4, 5};
    const Row want = pull(*one, 0, keys, 2), got = pull(*m, 0, keys, 2);
    Row server(10), block(2), want_block(2);
    servers.sparse[0]->pull(keys, server.data(), false);
    servers.dense[1]->pull(block.data());
    one->pull_dense(1, want_block);
    for (size_t i = 0; i < 10; ++i) {
      EXPECT_NEAR(got[i], want[i], 1e-5) << rule;
      EXPECT_NEAR(server[i], want[i], 1e-5) << rule;
    }
    for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(block[i], want_block[i], 1e-5) << rule;
    m->stop();
  }
}

TEST(Geo, WorkersTakeOverWhatOthersDid) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sgd"), block_table(1, 1, "sgd")};
  FakeServers servers(server_tables(tables, "geo"), 2);
  ModeOptions o;
  o.k_steps = 1000;
  auto a = start(servers, "geo", tables, o), b = start(servers, "geo", tables, o);
  Row block(1);
  for (auto& m : {a, b}) {
    pull(*m, 0, {1, 2}, 1);
    m->pull_dense(1, block);
  }
  push(*a, 0, {1}, {1}, 1);
  a->push_dense(1, Row{2}, 1);
  push(*b, 0, {1, 2}, {10, 20}, 1);
  b->push_dense(1, Row{4}, 1);
  a->flush();  // -1 for row 1; half of the way of dense numbers
  b->flush();
  EXPECT_EQ(pull(*b, 0, {1, 2}, 1), (Row{-11, -20}));
  b->pull_dense(1, block);
  EXPECT_EQ(block, (Row{-3}));
  EXPECT_EQ(pull(*a, 0, {1, 2}, 1), (Row{-1, 0}));  // not told yet
  push(*a, 0, {1, 2}, {0, 0}, 1);
  a->flush();
  EXPECT_EQ(pull(*a, 0, {1, 2}, 1), (Row{-11, -20}));
}

TEST(Async, RowsOfTheNextStepComeMeanwhile) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sgd"), rows_table(1, 2, "sgd")};
  FakeServers servers(tables);
  auto m = start(servers, "async", tables);
  const std::vector<Key> keys{1, 2}, other{7};
  const SparsePull wanted[] = {{0, keys, nullptr}, {1, other, nullptr}};
  auto pull_both = [&](Row* a, Row* b) {
    const SparsePull requests[] = {{0, keys, a->data()}, {1, other, b->data()}};
    m->pull_many(requests, true);
  };
  auto pull_next = [&] {
    Row out(1);
    const Key key = 5;
    const SparsePull request{0, {&key, 1}, out.data()};
    m->pull_many({&request, 1}, true);
    return out;
  };
  Row a(2), b(2);
  push(*m, 0, {1}, {1}, 1);
  m->end_step();
  m->flush();
  m->prefetch(wanted);
  pull_both(&a, &b);
  EXPECT_EQ(a, (Row{-1, 0}));
  EXPECT_EQ(servers.pulls, 2);
  pull_both(&a, &b);  // each is used once
  EXPECT_EQ(servers.pulls, 4);
  const std::vector<Key> next{5};
  const SparsePull one{0, next, nullptr};
  const int before = servers.pulls;
  m->prefetch(wanted);     // this step
  m->prefetch({&one, 1});  // the next
  pull_both(&a, &b);
  EXPECT_EQ(pull_next(), (Row{0}));
  EXPECT_EQ(servers.pulls, before + 3);
  EXPECT_EQ(a, (Row{-1, 0}));
  m->prefetch(wanted);
  EXPECT_EQ(pull(*m, 0, {3}, 1), (Row{0}));  // other rows than it said
  m->stop();
}

TEST(Geo, RowsOfTheNextStepComeMeanwhile) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sgd", 0.5f)};
  FakeServers servers(server_tables(tables, "geo"));
  auto m = start(servers, "geo", tables);
  const std::vector<Key> keys{1, 2};
  const SparsePull wanted{0, keys, nullptr};
  m->prefetch({&wanted, 1});
  Row got(2);
  const SparsePull request{0, keys, got.data()};
  m->pull_many({&request, 1}, true);
  EXPECT_EQ(servers.pulls, 1);
  Row server(2);
  servers.sparse[0]->pull(keys, server.data(), false);
  EXPECT_EQ(got, server);
}

// Rows that were not exchanged for a period come from the servers before they are trained on;
// whoever only looks sees what servers have.
TEST(Geo, RowsDoNotGrowOld) {
  const std::vector<TableConfig> tables{rows_table(0, 1, "sgd")};
  FakeServers servers(server_tables(tables, "geo"), 2);
  ModeOptions o;
  o.k_steps = 1000;
  auto a = start(servers, "geo", tables, o), b = start(servers, "geo", tables, o);
  for (auto& m : {a, b}) pull(*m, 0, {1, 2}, 1);
  push(*a, 0, {1}, {1}, 1);
  push(*b, 0, {1}, {10}, 1);
  a->flush();
  b->flush();
  EXPECT_EQ(pull(*a, 0, {1}, 1), (Row{-1}));  // exchanged in the last period
  Row seen(1);
  const Key key = 1;
  a->pull_sparse(0, {&key, 1}, seen.data(), false);
  EXPECT_EQ(seen, (Row{-11}));
  push(*a, 0, {2}, {1}, 1);
  a->flush();
  a->flush();  // two more periods without row 1
  const int before = servers.pulls;
  EXPECT_EQ(pull(*a, 0, {1, 2}, 1), (Row{-11, -1}));
  EXPECT_EQ(servers.pulls, before + 1);
  push(*a, 0, {1}, {2}, 1);  // its own way counts on
  EXPECT_EQ(pull(*a, 0, {1}, 1), (Row{-13}));
  a->flush();
  servers.sparse[0]->pull({&key, 1}, seen.data(), false);
  EXPECT_EQ(seen, (Row{-13}));
}

TEST(Geo, MovesLessThanAsync) {
  const std::vector<TableConfig> tables{rows_table(0, 8, "sgd"), block_table(1, 1000, "sgd")};
  uint64_t numbers[2];
  for (const bool geo : {false, true}) {
    FakeServers servers(geo ? server_tables(tables, "geo") : tables);
    ModeOptions o;
    o.k_steps = 20;
    auto m = start(servers, geo ? "geo" : "half_async", tables, o);
    std::mt19937_64 draw(3);
    Row block(1000);
    for (int s = 0; s < 100; ++s) {
      std::vector<Key> keys;
      Distinct d;
      d.begin(64);
      for (int i = 0; i < 64; ++i) d.add(draw() % 300);
      keys.assign(d.keys().begin(), d.keys().end());
      pull(*m, 0, keys, 8);
      m->pull_dense(1, block);
      push(*m, 0, keys, Row(keys.size() * 8, 0.1f));
      m->push_dense(1, block, -1);
      m->end_step();
    }
    m->stop();
    numbers[geo] = servers.numbers;
  }
  EXPECT_LT(numbers[1] * 4, numbers[0]);
}

TEST(Geo, ClickRowsStayOnServers) {
  TableConfig t = rows_table(0, 2, "adagrad");
  t.accessor.kind = "click";
  EXPECT_THROW(server_tables({t}, "geo"), Error);
  EXPECT_NO_THROW(server_tables({t}, "async"));
}

TEST(Modes, AnUnknownNameSaysWhichThereAre) {
  FakeServers servers({});
  try {
    start(servers, "asink", {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("sync, half_async, async or geo"), std::string::npos);
  }
}

}  // namespace
}  // namespace argosy::ps

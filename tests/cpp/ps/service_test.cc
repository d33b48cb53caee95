#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <thread>

#include "argosy/ps/service/auth.h"
#include "argosy/ps/service/client.h"
#include "argosy/ps/service/server.h"
#include "argosy/ps/service/server_core.h"
#include "argosy/ps/service/wire.h"

namespace argosy::ps {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<TableConfig> tables() {
  TableConfig sparse;
  sparse.accessor.dim = 2;
  sparse.accessor.embedding.rule = "sum";
  sparse.accessor.embedding.initial_range = 0;
  sparse.accessor.embedding.minimum = -1e9f;
  sparse.accessor.embedding.maximum = 1e9f;
  TableConfig dense = sparse;
  dense.id = 1;
  dense.kind = "dense";
  dense.size = 6;
  return {sparse, dense};
}

ServerOptions options() {
  ServerOptions o;
  o.endpoint = "127.0.0.1:0";
  o.tables = tables();
  return o;
}

// --- a server without sockets ---

class CoreTest : public testing::Test {
 protected:
  explicit CoreTest(uint32_t workers = 1) {
    ServerOptions o = options();
    o.workers = workers;
    o.max_message_bytes = 1 << 20;
    core_ = std::make_unique<Core>(o);
    const Core::Result hello = call(request(Method::hello));
    EXPECT_FALSE(hello.failure) << hello.failure.text;
    epoch_ = hello.answer.epoch;
  }

  Request request(Method method, size_t keys = 0, size_t floats = 0) {
    Request r;
    r.method = method;
    Header& h = r.header;
    h.set_client({1, 1});
    h.epoch = epoch_;
    h.workers = core_->options().workers;
    h.wait_ms = 25;  // a busy server has noted the request by then
    r.keys = Bytes(keys * sizeof(Key));
    for (size_t i = 0; i < keys; ++i) r.keys.as<Key>()[i] = i;
    r.values = Bytes(floats * sizeof(float));
    for (float& v : r.values.as<float>()) v = 1;
    return r;
  }

  Request push(uint64_t sequence, size_t keys = 3) {
    Request r = request(Method::push_sparse, keys, keys * 2);
    r.header.sequence = sequence;
    return r;
  }

  Core::Result call(Request r) {
    std::promise<Core::Result> promise;
    core_->handle(std::move(r), Core::Clock::now() + seconds(10),
                  [&](Core::Result result) { promise.set_value(std::move(result)); });
    auto future = promise.get_future();
    while (future.wait_for(milliseconds(1)) != std::future_status::ready) core_->tick();
    return future.get();
  }

  Code code(Request r) { return call(std::move(r)).failure.code; }

  float value(Key key) {
    Request r = request(Method::pull_sparse, 1);
    r.keys.as<Key>()[0] = key;
    const Core::Result result = call(std::move(r));
    EXPECT_FALSE(result.failure);
    return result.answer.values.as<float>()[0];
  }

  std::unique_ptr<Core> core_;
  uint64_t epoch_ = 1;
};

TEST_F(CoreTest, APushIsAppliedOnce) {
  EXPECT_EQ(code(push(1)), Code::ok);
  EXPECT_EQ(code(push(1)), Code::ok);
  EXPECT_EQ(value(0), 1);
  EXPECT_EQ(code(push(2)), Code::ok);
  EXPECT_EQ(value(0), 2);
}

TEST_F(CoreTest, ConcurrentAttemptsOfOnePush) {
  constexpr int kThreads = 4, kPushes = 300;
  std::atomic<int> answered{0}, failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int s = 1; s <= kPushes; ++s)
        core_->handle(push(s, 50), Core::Clock::now(),
                      [&](const Core::Result& r) { ++(r.failure ? failed : answered); });
    });
  for (auto& t : threads) t.join();
  core_->stop();
  EXPECT_EQ(answered, kThreads * kPushes);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(value(49), kPushes);
}

TEST_F(CoreTest, WrongRequestsAreRefused) {
  const auto refused = [&](Request r) { EXPECT_EQ(code(std::move(r)), Code::bad_request); };
  Request r = push(1);
  r.header.table = 5;
  refused(std::move(r));
  r = push(1);
  r.header.table = 1;  // dense
  refused(std::move(r));
  r = push(1);
  r.keys = Bytes(7);
  refused(std::move(r));
  r = push(1);
  r.values = Bytes(4);
  refused(std::move(r));
  for (const float rate : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    r = push(1);
    r.header.learning_rate = rate;
    refused(std::move(r));
  }
  r = push(1);
  r.header.change = Change::assign;
  r.values.as<float>()[0] = std::nanf("");
  refused(std::move(r));
  r = request(Method::push_dense, 0, 5);
  r.header.table = 1;
  refused(std::move(r));
  r = request(Method::pull_sparse, 3);
  r.keys = Bytes(12);
  refused(std::move(r));
  refused(request(Method::pull_sparse, 200'000));  // the answer would be too large
  r = request(Method::pull_dense);
  r.header.table = 0;
  refused(std::move(r));
  r = request(Method::end_step);
  r.header.worker = 3;
  refused(std::move(r));
  r = request(Method::gather);
  r.header.round = 7;
  r.header.worker = 1;
  refused(std::move(r));
  r = request(Method::shrink);
  r.header.sequence = 1;
  r.header.table = 1;
  refused(std::move(r));
  EXPECT_EQ(value(0), 0);
  EXPECT_EQ(code(push(1)), Code::ok);  // none of them used up the number
  r = request(Method::save);
  r.header.sequence = 2;
  refused(std::move(r));
}

TEST_F(CoreTest, StrangersAndOldEpochs) {
  Request r = push(1);
  r.header.set_client({2, 2});
  EXPECT_EQ(code(std::move(r)), Code::unknown_client);
  r = push(1);
  r.header.epoch = epoch_ + 1;
  EXPECT_EQ(code(std::move(r)), Code::stale_epoch);
  EXPECT_EQ(code(push(2 * Windows::kWidth)), Code::ok);
  EXPECT_EQ(code(push(1)), Code::too_old);
}

TEST_F(CoreTest, StepsTakeBoundedMemory) {
  Code last = Code::ok;
  int pushes = 0;
  while (last == Code::ok && pushes < 100) {
    Request r = push(++pushes, 20'000);
    r.header.change = Change::step;
    last = code(std::move(r));
  }
  EXPECT_EQ(last, Code::bad_request);
  EXPECT_LT(pushes, 20);
  EXPECT_EQ(code(request(Method::end_step)), Code::ok);  // what came is applied
  EXPECT_EQ(value(0), pushes - 1);
}

struct TwoWorkers : CoreTest {
  TwoWorkers() : CoreTest(2) {}
};

TEST_F(TwoWorkers, StateComesBack) {
  // In the middle of a step and of a round.
  Request r = push(1);
  r.header.change = Change::step;
  ASSERT_EQ(code(std::move(r)), Code::ok);
  ASSERT_EQ(code(request(Method::end_step)), Code::timeout);
  r = request(Method::gather);
  r.header.round = 1;
  r.values = Bytes(1);
  *r.values.data() = std::byte{'a'};
  ASSERT_EQ(code(std::move(r)), Code::timeout);
  const std::string state = core_->save_state();

  ServerOptions o = options();
  o.workers = 2;
  core_ = std::make_unique<Core>(o);
  core_->load_state(std::as_bytes(std::span(state)));
  EXPECT_EQ(code(push(1)), Code::ok);  // known, so not applied
  r = push(2);
  r.header.worker = 1;
  r.header.change = Change::step;
  r.values.as<float>()[0] = 3;
  ASSERT_EQ(code(std::move(r)), Code::ok);
  r = request(Method::end_step);
  r.header.worker = 1;
  ASSERT_EQ(code(std::move(r)), Code::ok);
  EXPECT_EQ(value(0), 2);  // mean of 1 and 3
  EXPECT_EQ(value(1), 1);
  r = request(Method::gather);
  r.header.round = 1;
  r.header.worker = 1;
  const Core::Result all = call(std::move(r));
  ASSERT_FALSE(all.failure) << all.failure.text;
  EXPECT_EQ(all.answer.parts, (std::vector<std::string>{"a", ""}));
  for (size_t n = 0; n < state.size(); n += 7)
    EXPECT_THROW(core_->load_state(std::as_bytes(std::span(state).first(n))), Error) << n;
}

TEST_F(TwoWorkers, WhoWaitsIsLetGoWhenTheServerLeaves) {
  for (const Method method : {Method::gather, Method::end_step}) {
    Request r = request(method);
    r.header.round = 1;
    r.header.wait_ms = 600'000;
    std::promise<Code> promise;
    auto future = promise.get_future();
    core_->handle(std::move(r), Core::Clock::now() + seconds(600),
                  [&](Core::Result result) { promise.set_value(result.failure.code); });
    core_->tick();
    if (method == Method::gather) {
      EXPECT_NE(future.wait_for(seconds(0)), std::future_status::ready);
      core_->leave();
    }
    while (future.wait_for(milliseconds(1)) != std::future_status::ready) core_->tick();
    EXPECT_EQ(future.get(), Code::busy);  // ask again, somebody else
  }
}

TEST_F(TwoWorkers, RoundsTakeBoundedMemory) {
  for (uint64_t round = 1; round < 5; ++round) {
    Request r = request(Method::gather, 0, 100);
    r.header.round = round;
    EXPECT_EQ(code(std::move(r)), round == 1 ? Code::timeout : Code::bad_request);
  }
}

// --- messages ---

std::vector<Piece> pieces_of(const std::string& bytes, size_t size) {
  std::vector<Piece> pieces;
  const auto all = std::as_bytes(std::span(bytes));
  for (size_t i = 0; i < all.size(); i += size)
    pieces.push_back(all.subspan(i, std::min(size, all.size() - i)));
  return pieces;
}

TEST(Wire, RequestsComeBackFromAnyPieces) {
  Header h;
  h.set_client({UINT64_MAX, 3});
  h.sequence = 1ull << 40;
  h.learning_rate = 0.5f;
  h.change = Change::step;
  h.name = "name";
  h.phase = SavePhase::publish;
  const std::string keys(80, 'k'), values(40, 'v');
  const Encoded e = encode_request(h, keys.size(), values.size());
  const std::string message = e.head + keys + e.before_last + values;
  for (size_t size : {1, 2, 7, 64, 1000}) {
    Request r;
    ASSERT_TRUE(decode_request(pieces_of(message, size), &r));
    EXPECT_EQ(r.header.client(), h.client());
    EXPECT_EQ(r.header.sequence, h.sequence);
    EXPECT_EQ(r.header.learning_rate, h.learning_rate);
    EXPECT_EQ(r.header.change, h.change);
    EXPECT_EQ(r.header.name, h.name);
    EXPECT_EQ(r.header.phase, h.phase);
    ASSERT_EQ(r.keys.size(), keys.size());
    EXPECT_EQ(std::memcmp(r.keys.data(), keys.data(), keys.size()), 0);
    ASSERT_EQ(r.values.size(), values.size());
    EXPECT_EQ(std::memcmp(r.values.data(), values.data(), values.size()), 0);
  }
  for (size_t n = 1; n < message.size(); ++n) {
    Request r;
    const bool whole = decode_request(pieces_of(message.substr(0, n), 5), &r);
    EXPECT_TRUE(!whole || r.values.size() == 0);  // cut between two fields
  }
}

TEST(Wire, LengthsThatLie) {
  // Field 2 (keys) of 2^40 bytes, in a message of 8.
  const std::string lie("\x12\x80\x80\x80\x80\x80\x20yy", 9);
  Request r;
  EXPECT_FALSE(decode_request(pieces_of(lie, 4), &r));
  EXPECT_EQ(r.keys.size(), 0u);
  EXPECT_FALSE(decode_request(pieces_of(std::string(20, '\xff'), 4), &r));
}

TEST(Wire, AnswersComeBack) {
  Answer a;
  a.number = 7;
  a.parts = {"x", ""};
  a.tables = {{1, true, 0, 0, 9}};
  a.values = Bytes(8);
  std::memset(a.values.data(), 5, 8);
  const std::string message =
      encode_answer(a).head + std::string(reinterpret_cast<const char*>(a.values.data()), 8);
  Answer b;
  std::vector<Piece> values;
  const auto pieces = pieces_of(message, 3);
  ASSERT_TRUE(decode_answer(pieces, &b, &values));
  EXPECT_EQ(b.number, 7u);
  EXPECT_EQ(b.parts, a.parts);
  EXPECT_EQ(b.tables[0].size, 9u);
  EXPECT_EQ(Cursor(values).left(), 8u);
}

TEST(Wire, CodesHaveNames) {
  for (int i = 0; i <= static_cast<int>(Code::silent); ++i)
    EXPECT_EQ(code_of(name_of(static_cast<Code>(i))), static_cast<Code>(i));
  EXPECT_EQ(code_of("what"), Code::failed);
}

// --- who may come ---

TEST(Auth, Loopback) {
  for (const char* here : {"127.0.0.1:80", "127.9.9.9:0", "localhost:1", "[::1]:1"})
    EXPECT_TRUE(is_loopback(here)) << here;
  for (const char* out : {"0.0.0.0:80", "10.0.0.1:0", "[::]:1", "127.evil.com:1", "1270.0.0.1:1",
                          "localhost.evil.com:1"})
    EXPECT_FALSE(is_loopback(out)) << out;
}

TEST(Auth, Secrets) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_TRUE(same_secret("", ""));
  for (const char* other : {"", "a", "abd", "abcabc", "xbc"}) {
    EXPECT_FALSE(same_secret("abc", other));
    EXPECT_FALSE(same_secret(other, "abc"));
  }
  EXPECT_THROW(check_token("a b"), Error);
}

// --- over sockets ---

ClientOptions client_of(const Server& server) {
  ClientOptions o;
  o.endpoints = {"127.0.0.1:" + std::to_string(server.port())};
  o.tables = tables();
  o.call_deadline = seconds(30);
  return o;
}

TEST(Service, ManyThreads) {
  const auto server = serve(options());
  const auto client = connect(client_of(*server));
  constexpr int kThreads = 4, kPushes = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<Key> keys(64);
      std::vector<float> values(128, 1), out(128);
      for (int i = 0; i < kPushes; ++i) {
        for (size_t k = 0; k < keys.size(); ++k) keys[k] = (k * 37 + static_cast<size_t>(t)) % 100;
        client->push_sparse(0, keys, values.data(), -1);
        client->pull_sparse(0, keys, out.data(), true);
        client->push_dense(1, std::vector<float>(6, 1), -1);
      }
    });
  for (auto& t : threads) t.join();
  std::vector<Key> all(100);
  for (size_t k = 0; k < 100; ++k) all[k] = k;
  std::vector<float> out(200);
  client->pull_sparse(0, all, out.data(), false);
  float sum = 0;
  for (const float v : out) sum += v;
  EXPECT_EQ(sum, kThreads * kPushes * 128);
  std::vector<float> dense(6);
  client->pull_dense(1, dense);
  EXPECT_EQ(dense, std::vector<float>(6, kThreads * kPushes));
}

TEST(Service, ErrorsHaveReasons) {
  const auto reason_of = [](auto&& f) {
    try {
      f();
    } catch (const ServiceError& e) {
      return e.reason();
    }
    ADD_FAILURE() << "nothing was thrown";
    return ServiceError::Reason::failed;
  };
  using Reason = ServiceError::Reason;
  ServerOptions o = options();
  o.token = "t";
  auto server = serve(o);
  ClientOptions c = client_of(*server);
  EXPECT_EQ(reason_of([&] { connect(c); }), Reason::unauthenticated);
  c.token = "t";
  c.tables[0].accessor.dim = 3;
  EXPECT_EQ(reason_of([&] { connect(c); }), Reason::mismatch);
  c.tables = tables();
  c.call_deadline = seconds(3);
  const auto client = connect(c);
  EXPECT_EQ(reason_of([&] { client->push_dense(1, std::vector<float>(5), -1); }), Reason::refused);
  server->stop();
  EXPECT_EQ(reason_of([&] { client->push_dense(1, std::vector<float>(6), -1); }), Reason::timeout);
}

// A worker that waits for others does not keep a server from stopping.
TEST(Service, StopsWhileSomebodyWaits) {
  ServerOptions o = options();
  o.workers = 2;
  const auto server = serve(o);
  ClientOptions c = client_of(*server);
  c.workers = 2;
  c.wait_deadline = seconds(2);
  const auto client = connect(c);
  std::thread waits([&] { EXPECT_THROW(client->barrier("b"), ServiceError); });
  server->stop();
  waits.join();
}

// Who waits for others learns soon that the server is gone, however long others may take.
TEST(Service, WaitingEndsWithTheServer) {
  ServerOptions o = options();
  o.workers = 2;
  const auto server = serve(o);
  ClientOptions c = client_of(*server);
  c.workers = 2;
  c.call_deadline = milliseconds(300);
  c.wait_deadline = seconds(3600);
  const auto client = connect(c);
  server->stop();
  try {
    client->end_step(0);
    FAIL();
  } catch (const ServiceError& e) {
    EXPECT_EQ(e.reason(), ServiceError::Reason::timeout);
  }
}

}  // namespace
}  // namespace argosy::ps

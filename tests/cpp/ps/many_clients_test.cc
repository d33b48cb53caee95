// As many clients as a server promises to know.
#include <atomic>

#include "tests/cpp/ps/promises.h"

namespace argosy::ps {
namespace {

class ManyClients : public Promises {
 protected:
  static constexpr uint64_t kMost = 65536;

  ClientId client(uint64_t i) const { return {9, i}; }
  // One push of each, all on their way at once.
  void push_of_each(uint64_t sequence) {
    std::atomic<uint64_t> answered{0}, failed{0};
    for (uint64_t i = 0; i < kMost; ++i)
      core_->handle(push(client(i), sequence, {i % 100}), Core::Clock::now() + seconds(300),
                    [&](const Core::Result& result) {
                      if (result.failure) ++failed;
                      ++answered;
                    });
    const auto limit = Core::Clock::now() + seconds(300);
    while (answered < kMost && Core::Clock::now() < limit)
      std::this_thread::sleep_for(milliseconds(1));
    ASSERT_EQ(answered, kMost);
    EXPECT_EQ(failed, 0u);
  }
  void expect_each_counts(float times) const {
    float sum = 0;
    for (Key key = 0; key < 100; ++key) sum += value(key);
    EXPECT_EQ(sum, times * kMost);
  }
};

TEST_F(ManyClients, PushesOfAllCountOnce) {
  options_.snapshot_log_bytes = 1 << 20;
  start({});
  for (uint64_t i = 0; i < kMost; ++i) greet(client(i));
  Request one_more = request(Method::hello, {10, 0});
  const Core::Result refused = call(std::move(one_more));
  EXPECT_EQ(refused.failure.code, Code::busy);
  EXPECT_NE(refused.failure.text.find("65536 clients (max_clients)"), std::string::npos)
      << refused.failure.text;
  greet(client(7));  // a known one is no more
  push_of_each(1);
  push_of_each(1);  // answers were lost
  expect_each_counts(1);
  // From the log, and from a snapshot.
  for (int i = 0; i < 2; ++i) {
    kill_and_start({});
    push_of_each(1);
    expect_each_counts(1);
  }
  push_of_each(2);
  expect_each_counts(2);
}

}  // namespace
}  // namespace argosy::ps

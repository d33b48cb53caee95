// What servers promise to workers that make steps together and meet.
#include "tests/cpp/ps/promises.h"

namespace argosy::ps {
namespace {

// --- synchronous steps: two workers ---

class StepPromises : public Promises {
 protected:
  void SetUp() override {
    Promises::SetUp();
    options_.workers = 2;
    options_.tables[0].accessor.embedding.rule = "sum";
  }
  Code push_step(ClientId client, uint32_t worker, uint64_t sequence, uint64_t step, float value) {
    Request r = push(client, sequence, {5}, value, Change::step);
    r.header.worker = worker;
    r.header.step = step;
    return code(std::move(r));
  }
  Code end(ClientId client, uint32_t worker, uint64_t step) {
    Request r = request(Method::end_step, client, worker);
    r.header.step = step;
    // On a busy machine a shorter wait may be over before the server has noted that the step ended.
    r.header.wait_ms = 200;
    return code(std::move(r));
  }
};

TEST_F(StepPromises, AWorkerThatWasKilledAfterPushingCountsOnce) {
  start();
  greet(kTwo, 1);
  ASSERT_EQ(push_step(kOne, 0, 1, 0, 2), Code::ok);  // and is killed
  greet(kThree, 0);
  ASSERT_EQ(push_step(kTwo, 1, 1, 0, 2), Code::ok);
  ASSERT_EQ(push_step(kThree, 0, 1, 0, 2), Code::ok);
  // What the dead one had on its way.
  EXPECT_EQ(push_step(kOne, 0, 2, 0, 2), Code::bad_request);
  EXPECT_EQ(end(kOne, 0, 0), Code::bad_request);
  kill_and_start();
  greet(kTwo, 1);
  greet(kThree, 0);
  EXPECT_EQ(push_step(kOne, 0, 3, 0, 2), Code::bad_request) << "an old client is not a successor";
  ASSERT_EQ(end(kTwo, 1, 0), Code::timeout);
  ASSERT_EQ(end(kThree, 0, 0), Code::ok);
  EXPECT_EQ(value(5), 2);
  kill_and_start();
  EXPECT_EQ(value(5), 2);
}

TEST_F(StepPromises, ASuccessorThatOnlyEndsTheStepDiscardsToo) {
  start();
  greet(kTwo, 1);
  ASSERT_EQ(push_step(kOne, 0, 1, 0, 100), Code::ok);  // and is killed
  greet(kThree, 0);
  ASSERT_EQ(push_step(kTwo, 1, 1, 0, 4), Code::ok);
  ASSERT_EQ(end(kTwo, 1, 0), Code::timeout);
  ASSERT_EQ(end(kThree, 0, 0), Code::ok);
  EXPECT_EQ(value(5), 2);
  kill_and_start();
  EXPECT_EQ(value(5), 2);
}

TEST_F(StepPromises, TheSuccessorOfOneThatHadEndedGoesOn) {
  start();
  greet(kTwo, 1);
  ASSERT_EQ(push_step(kOne, 0, 1, 0, 2), Code::ok);
  ASSERT_EQ(end(kOne, 0, 0), Code::timeout);  // and is killed
  for (const bool restarted : {false, true}) {
    if (restarted) {
      kill_and_start();
      greet(kTwo, 1);
    }
    const Answer hello = greet(kThree, 0).answer;
    EXPECT_EQ(hello.next_step, 1u);
    EXPECT_TRUE(hello.step_open);
    // Another server may not know of the end: then the step is done again, and passed over here.
    EXPECT_EQ(push_step(kThree, 0, restarted ? 2 : 1, 0, 100), Code::ok);
    EXPECT_EQ(end(kThree, 0, 0), Code::timeout);
  }
  ASSERT_EQ(push_step(kTwo, 1, 1, 0, 4), Code::ok);
  ASSERT_EQ(end(kTwo, 1, 0), Code::ok);
  EXPECT_EQ(end(kThree, 0, 0), Code::ok);
  EXPECT_EQ(value(5), 3);
  ASSERT_EQ(push_step(kThree, 0, 3, 1, 2), Code::ok);
  ASSERT_EQ(push_step(kTwo, 1, 2, 1, 2), Code::ok);
  ASSERT_EQ(end(kTwo, 1, 1), Code::timeout);
  ASSERT_EQ(end(kThree, 0, 1), Code::ok);
  EXPECT_EQ(value(5), 5);
  EXPECT_EQ(greet(kTwo, 1).answer.next_step, 2u);
  kill_and_start();
  EXPECT_EQ(value(5), 5);
}

// What two workers made is their mean, also where the next job on the directory has one or three.
TEST_F(StepPromises, StepsAreReplayedWithAsManyWorkersAsMadeThem) {
  start();
  greet(kTwo, 1);
  ASSERT_EQ(push_step(kOne, 0, 1, 0, 2), Code::ok);
  ASSERT_EQ(push_step(kTwo, 1, 1, 0, 4), Code::ok);
  ASSERT_EQ(end(kOne, 0, 0), Code::timeout);
  ASSERT_EQ(end(kTwo, 1, 0), Code::ok);
  ASSERT_EQ(push_step(kTwo, 1, 2, 1, 100), Code::ok);  // a step that nobody ends
  ASSERT_EQ(value(5), 3);
  options_.workers = 1;
  kill_and_start({kThree});
  EXPECT_EQ(value(5), 3);
  EXPECT_EQ(greet(kThree).answer.next_step, 0u);
  ASSERT_EQ(push_step(kThree, 0, 1, 0, 2), Code::ok);
  ASSERT_EQ(end(kThree, 0, 0), Code::ok);
  ASSERT_EQ(value(5), 5);
  options_.workers = 3;
  kill_and_start({kThree});
  EXPECT_EQ(value(5), 5);
  kill_and_start({kThree});
  EXPECT_EQ(value(5), 5);
}

TEST_F(StepPromises, ASuccessorJoinsTheRoundThatIsOpen) {
  start();
  greet(kTwo, 1);
  const auto join = [&](ClientId client, uint32_t worker, uint64_t round, char text) {
    Request r = request(Method::gather, client, worker);
    r.header.round = round;
    r.values = Bytes(1);
    *r.values.as<char>().data() = text;
    return call(std::move(r));
  };
  ASSERT_EQ(join(kOne, 0, 1, 'a').failure.code, Code::timeout);  // and is killed
  EXPECT_EQ(greet(kThree, 0).answer.next_round, 1u);
  ASSERT_EQ(join(kThree, 0, 1, 'b').failure.code, Code::timeout);
  const Core::Result all = join(kTwo, 1, 1, 'c');
  ASSERT_FALSE(all.failure) << all.failure.text;
  EXPECT_EQ(all.answer.parts, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(greet(kThree, 0).answer.next_round, 2u);
}

// Calls of workers 0 (kOne) and 1 (kTwo) that meet.
class RoundPromises : public StepPromises {
 protected:
  Request meeting(uint32_t worker, uint64_t round, const std::string& name, Gather kind) const {
    Request r = request(Method::gather, worker ? kTwo : kOne, worker);
    r.header.round = round;
    r.header.name = name;
    r.header.mode = static_cast<int32_t>(kind);
    return r;
  }
  Core::Result meet(uint32_t worker, uint64_t round, const std::string& name, Gather kind) {
    return call(meeting(worker, round, name, kind));
  }
  // Waits on, while others call.
  std::future<Core::Result> waits(uint32_t worker, uint64_t round, const std::string& name,
                                  Gather kind) {
    Request r = meeting(worker, round, name, kind);
    r.header.wait_ms = 20'000;
    auto promise = std::make_shared<std::promise<Core::Result>>();
    core_->handle(std::move(r), Core::Clock::now() + seconds(20),
                  [promise](Core::Result result) { promise->set_value(std::move(result)); });
    return promise->get_future();
  }
};

TEST_F(RoundPromises, WorkersMeetForTheSame) {
  start();
  greet(kTwo, 1);
  std::future<Core::Result> first = waits(0, 1, "a", Gather::barrier);
  const Failure other = meet(1, 1, "b", Gather::barrier).failure;
  EXPECT_EQ(other.code, Code::bad_request);
  EXPECT_NE(other.text.find("worker 1 came to 'b', but worker 0 is in 'a'"), std::string::npos)
      << other.text;
  // It has not joined: it still may come for what the other waits for.
  EXPECT_FALSE(meet(1, 1, "a", Gather::barrier).failure);
  EXPECT_FALSE(first.get().failure);
}

TEST_F(RoundPromises, ACallThatWasGivenUpIsMadeAgainAsAnother) {
  start();
  greet(kTwo, 1);
  ASSERT_EQ(meet(0, 1, "a", Gather::parts).failure.code, Code::timeout);
  ASSERT_EQ(meet(1, 1, "b", Gather::barrier).failure.code, Code::timeout);  // and not together
  kill_and_start();
  greet(kTwo, 1);
  EXPECT_EQ(meet(0, 1, "a", Gather::parts).failure.code, Code::timeout);
  std::future<Core::Result> first = waits(1, 1, "c", Gather::parts);
  EXPECT_FALSE(meet(0, 1, "c", Gather::parts).failure);
  EXPECT_FALSE(first.get().failure);
}

TEST_F(RoundPromises, BarriersPassOverWorkersThatHaveEnded) {
  start();
  greet(kTwo, 1);
  ASSERT_EQ(meet(0, 1, "end", Gather::last).failure.code, Code::timeout);
  // Worker 0 left out two barriers.
  EXPECT_FALSE(meet(1, 1, "barrier", Gather::barrier).failure);
  EXPECT_FALSE(meet(1, 2, "barrier", Gather::barrier).failure);
  const Failure part = meet(1, 3, "all_gather", Gather::parts).failure;
  EXPECT_EQ(part.code, Code::bad_request);
  EXPECT_NE(part.text.find("needs a part of every worker, but worker 0 has ended ('end')"),
            std::string::npos)
      << part.text;
  kill_and_start();
  greet(kTwo, 1);
  const Failure end = meet(1, 3, "end", Gather::last).failure;
  EXPECT_FALSE(end) << end.text;
  // The answer to worker 0 was lost.
  greet(kOne, 0);
  EXPECT_FALSE(meet(0, 1, "end", Gather::last).failure);
}

TEST_F(RoundPromises, NobodyEndsWhileHisPartIsWaitedFor) {
  start();
  greet(kTwo, 1);
  std::future<Core::Result> first = waits(0, 1, "all_gather", Gather::parts);
  const Failure end = meet(1, 1, "end", Gather::last).failure;
  EXPECT_EQ(end.code, Code::bad_request);
  EXPECT_NE(end.text.find("worker 1 came to 'end', but worker 0 is in 'all_gather'"),
            std::string::npos)
      << end.text;
  EXPECT_FALSE(meet(1, 1, "all_gather", Gather::parts).failure);
  EXPECT_FALSE(first.get().failure);
}

TEST_F(RoundPromises, ASuccessorOfOneThatEndedIsWaitedFor) {
  start();
  greet(kTwo, 1);
  ASSERT_EQ(meet(0, 1, "end", Gather::last).failure.code, Code::timeout);
  EXPECT_FALSE(meet(1, 1, "barrier", Gather::barrier).failure);
  const uint64_t next = greet(kOne, 0).answer.next_round;
  EXPECT_EQ(next, 2u);
  ASSERT_EQ(meet(0, next, "all_gather", Gather::parts).failure.code, Code::timeout);
  EXPECT_FALSE(meet(1, 2, "all_gather", Gather::parts).failure);
}

// Servers that keep a log outlive a job. That its workers ended is not what those of the next do.
TEST_F(RoundPromises, WorkersOfTheNextJobMeet) {
  start();
  greet(kTwo, 1);
  ASSERT_EQ(meet(0, 1, "end", Gather::last).failure.code, Code::timeout);
  ASSERT_FALSE(meet(1, 1, "end", Gather::last).failure);
  for (const bool killed : {true, false}) {
    if (killed) kill_and_start();
    const uint64_t next = greet(kOne, 0).answer.next_round;
    EXPECT_EQ(greet(kTwo, 1).answer.next_round, next);
    EXPECT_EQ(meet(0, next, "barrier", Gather::barrier).failure.code, Code::timeout);
    EXPECT_FALSE(meet(1, next, "barrier", Gather::barrier).failure);
    EXPECT_FALSE(meet(0, next, "barrier", Gather::barrier).failure);
    EXPECT_EQ(meet(1, next + 1, "all_gather", Gather::parts).failure.code, Code::timeout);
    EXPECT_FALSE(meet(0, next + 1, "all_gather", Gather::parts).failure);
    ASSERT_EQ(meet(1, next + 2, "end", Gather::last).failure.code, Code::timeout);
    ASSERT_FALSE(meet(0, next + 2, "end", Gather::last).failure);
    kill_and_start();
    greet(kTwo, 1);
    ASSERT_FALSE(meet(1, next + 2, "end", Gather::last).failure);  // its answer was lost
  }
}

}  // namespace
}  // namespace argosy::ps

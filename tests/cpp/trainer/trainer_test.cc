#include "argosy/trainer/trainer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/program/builder.h"

namespace argosy::trainer {
namespace {

using program::Program;
using program::Scope;
using program::Value;

// Batches 0 .. n-1 of one slot, float32 [4], filled with 1.
class Ones : public data::Source {
 public:
  explicit Ones(int batches, int fail_at = -1) : batches_(batches), fail_at_(fail_at) {}
  bool next(int, data::Batch* batch) override {
    const int i = next_.fetch_add(1);
    if (stopped_ || i >= batches_) return false;
    ARGOSY_CHECK(i != fail_at_, io) << "the reader failed";
    const bool last = i == batches_ - 1;
    Tensor t = Tensor::empty({last ? 3 : 4}, DType::float32);
    for (int64_t k = 0; k < t.numel(); ++k) t.data<float>()[k] = 1;
    batch->values = {t};
    batch->lengths = {Tensor()};
    batch->samples = t.numel();
    return true;
  }
  void stop() override { stopped_ = true; }
  data::Progress progress() const override { return {}; }
  int64_t batch_size() const override { return 4; }
  bool stopped() const { return stopped_; }

 private:
  const int batches_, fail_at_;
  std::atomic<int> next_{0};
  std::atomic<bool> stopped_{false};
};

// total += sum(x), where total is state in the scope.
struct Sums {
  Sums() : program(Program::make()), scope(std::make_shared<Scope>()) {
    program::Recording recording(program);
    program::Builder& b = program->builder();
    Tensor x = b.input("x", {kUnknown}, DType::float32);
    auto state = make_ref<program::State>();
    state->name = "total";
    state->shape = {};
    Tensor total = program::handle(state);
    Tensor sum = ops::sum(x);
    fetch = {b.current(sum)};
    b.rebind(total, ops::add(total, sum));
    Tensor zero = Tensor::empty({}, DType::float32);
    *zero.data<float>() = 0;
    scope->var("total").tensor = zero;
  }
  Options options(int threads) {
    Options o;
    o.program = program;
    o.inputs.push_back({0, false, {}});
    o.fetches = fetch;
    o.scope = scope;
    o.threads = threads;
    o.report_every = 10;
    return o;
  }
  float total() const { return *scope->find("total")->tensor.data<float>(); }

  std::shared_ptr<Program> program;
  std::shared_ptr<Scope> scope;
  std::vector<Ref<Value>> fetch;
};

TEST(Trainer, OneThreadIsExact) {
  Sums s;
  runtime::Executor executor;
  executor.parallel = runtime::Parallel::off;
  Trainer t(s.options(1), executor, std::make_shared<Ones>(101));
  while (!t.wait(10)) {
  }
  t.finish();
  EXPECT_EQ(s.total(), 403);
  EXPECT_EQ(t.status().steps, 101u);
  EXPECT_EQ(t.status().samples, 403u);
  const auto reports = t.take_reports();
  ASSERT_EQ(reports.size(), 10u);
  EXPECT_EQ(reports[9].step, 100u);
  EXPECT_EQ(*reports[9].values[0].data<float>(), 4);
  EXPECT_EQ(*t.latest()[0].data<float>(), 3);
  // One for whole batches, one for all others.
  EXPECT_EQ(executor.stats().plans, 2u);
}

TEST(Trainer, ThreadsShareState) {
  Sums s;
  runtime::Executor executor;
  executor.parallel = runtime::Parallel::off;
  const Tensor before = s.scope->find("total")->tensor;
  Trainer t(s.options(4), executor, std::make_shared<Ones>(1001));
  t.finish();
  EXPECT_EQ(t.status().steps, 1001u);
  // Updates may be lost, but each is a whole one, of the one tensor.
  EXPECT_TRUE(s.scope->find("total")->tensor.is(before));
  EXPECT_GT(s.total(), 0);
  EXPECT_LE(s.total(), 4003);
  EXPECT_EQ(s.total(), std::floor(s.total()));
}

// Ones for `threads` threads that take turns: a batch is given out when the step before has ended.
class InTurns : public Ones, public StepHook {
 public:
  InTurns(int batches, int threads) : Ones(batches), steps_(static_cast<size_t>(threads)) {}
  bool next(int thread, data::Batch* batch) override {
    std::unique_lock lock(mutex_);
    const bool came = turned_.wait_for(lock, std::chrono::seconds(60), [&] {
      return stopped() || done_ % static_cast<int>(steps_.size()) == thread;
    });
    ARGOSY_CHECK(came, timeout) << "thread " << thread << " waited 60 s for its turn";
    if (Ones::next(thread, batch)) return true;
    ended();  // the others must see the end, too
    return false;
  }
  void stop() override {
    Ones::stop();
    turned_.notify_all();
  }
  void begin_thread(int) override {}
  void end_step(int thread) override {
    std::lock_guard lock(mutex_);
    ++steps_[static_cast<size_t>(thread)];
    ended();
  }
  void end_thread(int) override {}
  const std::vector<int>& steps() const { return steps_; }

 private:
  void ended() {
    ++done_;
    turned_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable turned_;
  int done_ = 0;
  std::vector<int> steps_;
};

// Without a race no update may be lost, whichever thread makes it.
TEST(Trainer, UpdatesOfAllThreadsArrive) {
  Sums s;
  runtime::Executor executor;
  executor.parallel = runtime::Parallel::off;
  auto source = std::make_shared<InTurns>(1001, 4);
  set_step_hook(source);
  {
    Trainer t(s.options(4), executor, source);
    t.finish();
    EXPECT_EQ(t.status().steps, 1001u);
    EXPECT_EQ(t.status().samples, 4003u);
  }
  set_step_hook(nullptr);
  EXPECT_EQ(s.total(), 4003);
  EXPECT_EQ(source->steps(), (std::vector<int>{251, 250, 250, 250}));
}

// Batches of 0 to 6 numbers, fed to a Program that puts them into state: each run may replace it.
class Lists : public Ones {
 public:
  using Ones::Ones;
  bool next(int thread, data::Batch* batch) override {
    if (!Ones::next(thread, batch)) return false;
    Tensor t = Tensor::empty({count_++ % 7}, DType::float32);
    for (int64_t k = 0; k < t.numel(); ++k) t.data<float>()[k] = static_cast<float>(t.numel());
    batch->values = {t};
    return true;
  }

 private:
  std::atomic<int64_t> count_{0};
};

TEST(Trainer, StateOfAnotherFormInEachStep) {
  auto program = Program::make();
  auto scope = std::make_shared<Scope>();
  std::vector<Ref<Value>> fetch;
  {
    program::Recording recording(program);
    program::Builder& b = program->builder();
    Tensor x = b.input("x", {kUnknown}, DType::float32);
    b.input("x@LENGTHS", {kUnknown}, DType::int64);
    auto state = make_ref<program::State>();
    state->name = "last";
    state->shape = {kUnknown};
    Tensor last = program::handle(state);
    Tensor twice = ops::add(x, x);
    fetch = {b.current(ops::sum(twice))};
    b.rebind(last, twice);
    scope->var("last").tensor = Tensor::empty({0}, DType::float32);
  }
  Options o;
  o.program = program;
  o.inputs.push_back({0, false, {}});
  o.inputs.emplace_back();
  o.inputs.back().slot = runtime::kNone;
  o.fetches = fetch;
  o.scope = scope;
  o.threads = 4;
  runtime::Executor executor;
  Trainer t(std::move(o), executor, std::make_shared<Lists>(2000));
  t.finish();
  EXPECT_EQ(t.status().steps, 2000u);
  const Tensor last = scope->find("last")->tensor;
  for (int64_t i = 0; i < last.numel(); ++i)
    EXPECT_EQ(last.data<float>()[i], 2 * static_cast<float>(last.numel()));
}

TEST(Trainer, ErrorsOfReadersEndAllThreads) {
  Sums s;
  runtime::Executor executor;
  auto source = std::make_shared<Ones>(1 << 30, 500);
  Trainer t(s.options(3), executor, source);
  try {
    t.finish();
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "the reader failed");
  }
  EXPECT_TRUE(source->stopped());
  t.finish();  // told once
}

TEST(Trainer, ErrorsOfTheFirstStepEndAllThreads) {
  Sums s;
  s.scope->erase("total");
  runtime::Executor executor;
  Trainer t(s.options(3), executor, std::make_shared<Ones>(1 << 30));
  try {
    t.finish();
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'total'"), std::string::npos) << e.what();
  }
}

TEST(Trainer, StopsEarly) {
  Sums s;
  runtime::Executor executor;
  {
    Trainer t(s.options(2), executor, std::make_shared<Ones>(1 << 30));
    EXPECT_FALSE(t.wait(0.01));
    t.stop();
    t.finish();
  }
  { Trainer dropped(s.options(2), executor, std::make_shared<Ones>(1 << 30)); }
}

struct CountingHook : StepHook {
  void begin_thread(int) override { ++begun; }
  void end_step(int thread) override {
    ++steps;
    EXPECT_TRUE(in_parallel_region());  // kernels run inline
    ARGOSY_CHECK(fail_at < 0 || steps < fail_at, timeout) << "thread " << thread << " waited";
  }
  void end_thread(int) override { ++ended; }
  std::atomic<int> begun{0}, steps{0}, ended{0};
  int fail_at = -1;
};

TEST(Trainer, HooksAreCalledAroundSteps) {
  Sums s;
  runtime::Executor executor;
  auto hook = std::make_shared<CountingHook>();
  set_step_hook(hook);
  {
    Trainer t(s.options(2), executor, std::make_shared<Ones>(100));
    t.finish();
  }
  EXPECT_EQ(hook->begun, 2);
  EXPECT_EQ(hook->steps, 100);
  EXPECT_EQ(hook->ended, 2);
  hook->fail_at = 150;
  {
    Trainer t(s.options(2), executor, std::make_shared<Ones>(1000));
    EXPECT_THROW(t.finish(), Error);
  }
  set_step_hook(nullptr);
  EXPECT_EQ(hook->ended, 4);
}

// A step that hangs, in thread 0.
struct HangingHook : StepHook {
  void end_step(int thread) override {
    if (thread == 0) {
      hangs = true;
      while (!released) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ARGOSY_CHECK(!fails || !hangs, runtime) << "thread " << thread << " failed";
  }
  void end_thread(int) override { ++ended; }
  bool fails = true;
  std::atomic<bool> hangs{false}, released{false};
  std::atomic<int> ended{0};
};

TEST(Trainer, APassEndsThoughAStepHangs) {
  for (bool fails : {true, false}) {
    Sums s;
    runtime::Executor executor;
    auto hook = std::make_shared<HangingHook>();
    hook->fails = fails;
    set_step_hook(hook);
    Options o = s.options(2);
    o.timeout = 2;
    auto t = std::make_unique<Trainer>(std::move(o), executor, std::make_shared<Ones>(1 << 30));
    set_step_hook(nullptr);
    if (!fails) {
      while (!hook->hangs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      t->stop();
      while (!t->wait(1)) {
      }
    }
    try {
      t->finish();
      ADD_FAILURE();
    } catch (const Error& e) {
      const std::string text = e.what();
      if (fails)
        EXPECT_EQ(text, "thread 1 failed");
      else
        EXPECT_NE(text.find("thread 0 has not ended a step 2 s after the pass was stopped"),
                  std::string::npos)
            << text;
    }
    EXPECT_FALSE(t->end());
    t.reset();
    EXPECT_EQ(hook->ended, 1);
    hook->released = true;  // it goes on, with all it uses
    while (hook->ended != 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    while (hook.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Trainer, RaggedInputsHaveOnePlan) {
  auto program = Program::make();
  std::vector<Ref<Value>> fetch;
  {
    program::Recording recording(program);
    program::Builder& b = program->builder();
    Tensor x = b.input("x", {kUnknown, 2}, DType::float32);
    Tensor n = b.input("x@LENGTHS", {kUnknown}, DType::int64);
    fetch = {b.current(ops::sum(x)), b.current(ops::sum(n))};
  }
  runtime::Executor executor;
  for (int64_t rows = 0; rows < 20; ++rows) {
    Tensor x = Tensor::empty({rows, 2}, DType::float32), n = Tensor::empty({3}, DType::int64);
    for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = 1;
    for (int64_t i = 0; i < 3; ++i) n.data<int64_t>()[i] = i;
    const Tensor feeds[] = {x, n};
    const Tensors out = executor.run(program, feeds, fetch);
    EXPECT_EQ(*out[0].data<float>(), 2 * static_cast<float>(rows));
    EXPECT_EQ(*out[1].data<int64_t>(), 3);
  }
  EXPECT_EQ(executor.stats().plans, 1u);
  EXPECT_EQ(executor.stats().misses, 1u);
}

}  // namespace
}  // namespace argosy::trainer

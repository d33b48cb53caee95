#include "argosy/runtime/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "argosy/base/memory.h"
#include "argosy/base/parallel.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/math/math.h"
#include "argosy/program/builder.h"

namespace argosy::runtime {
namespace {

using program::Program;
using program::Value;

Tensor filled(const Shape& shape, float first) {
  Tensor t = Tensor::empty(shape, DType::float32);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = first + 0.01f * static_cast<float>(i);
  return t;
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && !std::memcmp(a.raw(), b.raw(), a.nbytes());
}

// `branches` chains of `length` ops over one input, and their sum.
struct Branches {
  Branches(int branches, int length, const Shape& shape) : program(Program::make()) {
    program::Recording recording(program);
    Tensor x = program->builder().input("x", shape, DType::float32), total;
    for (int b = 0; b < branches; ++b) {
      Tensor y = ops::add(x, x);
      for (int i = 0; i < length; ++i) y = (i + b) % 3 ? ops::subtract(y, x) : ops::multiply(y, x);
      total = total.defined() ? ops::add(total, y) : y;
    }
    fetch = {program->builder().current(total)};
  }
  std::shared_ptr<Program> program;
  std::vector<Ref<Value>> fetch;
};

TEST(Executor, GivesWhatTheInterpreterGives) {
  Branches b(3, 7, {40});
  Executor executor;
  for (float first : {0.5f, -1.0f}) {
    const Tensor x[] = {filled({40}, first)};
    EXPECT_TRUE(equal(executor.run(b.program, x, b.fetch)[0], b.program->run(x, b.fetch)[0]));
  }
  EXPECT_EQ(executor.stats().plans, 1u);
}

TEST(Executor, ThreadsShareAPlan) {
  Branches b(2, 20, {64});
  Executor executor;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Tensor x[] = {filled({64}, 0.1f * static_cast<float>(t))};
      const Tensor expected = b.program->run(x, b.fetch)[0];
      for (int i = 0; i < 50; ++i)
        wrong += !equal(executor.run(b.program, x, b.fetch)[0], expected);
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Executor, SeveralThreadsRunAPlanInParallel) {
  set_num_threads(4);
  Branches b(4, 15, {512});
  Executor executor;
  executor.parallel = Parallel::always;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      const Tensor x[] = {filled({512}, 0.1f * static_cast<float>(t))};
      const Tensor expected = b.program->run(x, b.fetch)[0];
      for (int i = 0; i < 50; ++i)
        wrong += !equal(executor.run(b.program, x, b.fetch)[0], expected);
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
  const Tensor x[] = {filled({512}, 0)};
  EXPECT_GT(executor.plan(b.program, x, b.fetch)->report().parallel, 0u);
}

TEST(Executor, AChainIsWalkedInOrder) {
  set_num_threads(4);
  Branches b(1, 200, {8192});
  Executor executor;
  const Tensor x[] = {filled({8192}, 0)};
  EXPECT_EQ(executor.plan(b.program, x, b.fetch)->report().parallel, 0u);
}

TEST(Executor, MemoryIsThatOfTheReport) {
  Branches b(1, 30, {1 << 18});
  Executor executor;
  const Tensor x[] = {filled({1 << 18}, 0)};
  executor.run(b.program, x, b.fetch);
  const PlanReport report = executor.plan(b.program, x, b.fetch)->report();
  const size_t before = memory::stats({}).allocated;
  memory::reset_peak({});
  {
    Tensors out = executor.run(b.program, x, b.fetch);
    const size_t peak = memory::stats({}).peak - before;
    EXPECT_GE(peak, report.arena);
    EXPECT_LE(peak, report.arena + report.fresh + (1 << 16));
  }
  EXPECT_LE(memory::stats({}).allocated, before + (1 << 12));  // idle frames hold no arena
}

TEST(Executor, RunsOnThePlaceThatComputesNothing) {
  Branches b(2, 5, {1 << 20});
  Executor executor;
  const Tensor x[] = {Tensor::empty({1 << 20}, DType::float32, {DeviceKind::null, 0})};
  Tensors out = executor.run(b.program, x, b.fetch);
  EXPECT_EQ(out[0].shape(), Shape({1 << 20}));
}

TEST(Executor, ProgramsThatAreGoneAreForgotten) {
  Executor executor;
  {
    Branches b(1, 2, {4});
    const Tensor x[] = {filled({4}, 1)};
    executor.run(b.program, x, b.fetch);
  }
  Branches other(1, 2, {4});
  const Tensor x[] = {filled({4}, 1)};
  executor.run(other.program, x, other.fetch);
  EXPECT_EQ(executor.stats().plans, 1u);
}

}  // namespace
}  // namespace argosy::runtime

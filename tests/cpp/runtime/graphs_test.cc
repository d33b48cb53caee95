#include "argosy/runtime/graphs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "argosy/op/copy.h"
#include "argosy/op/define.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/launch.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/program/attributes.h"
#include "argosy/program/builder.h"
#include "argosy/runtime/executor.h"
#include "tests/cpp/tensors.h"

namespace argosy::runtime {
namespace {

struct TimesAttrs {
  op::Scalar factor = 1.0;
};
ARGOSY_ATTRS(TimesAttrs, factor)

// x * factor, by a kernel that reads the factor where it lies.
void times_infer(op::InferContext& c, const TimesAttrs&) {
  c.out[0].shape = c.in[0].shape();
}
void times_run(op::KernelFrame& f, const TimesAttrs& a) {
  const Tensor& factor = a.factor.tensor;
  const double by = factor.defined() ? *factor.data<double>() : a.factor.real();
  for (int64_t i = 0; i < f.out[0].numel(); ++i)
    f.out[0].data<float>()[i] = f.in[0].data<float>()[i] * static_cast<float>(by);
}
const op::Handle<TimesAttrs> times = [] {
  op::OpBuilder<TimesAttrs> builder("test_times", __FILE__);
  return builder.input("x")
      .output("out")
      .infer(times_infer)
      .kernel("reads", times_run)
      .reads_numbers()
      .done();
}();

using program::Program;
using program::Value;
using test::elements;

constexpr Place kPlace{kAccelerator, 0};

class Done final : public DeviceEvent {
 public:
  explicit Done(Stream stream) : stream_(stream) {}
  Stream stream() const override { return stream_; }
  bool done() override { return true; }
  void wait() override {}
  double milliseconds_to(DeviceEvent&) override { return 0; }

 private:
  const Stream stream_;
};

// A device that does everything at once, in memory of the host, and hands out what was given back,
// lowest address first, as the pool of a stream does. A graph has addresses and holds no memory.
class Repeating final : public Device, public op::Launcher {
 public:
  static Repeating& get() {
    static Repeating* device = [] {
      auto* made = new Repeating;
      device::add(made);
      op::set_launcher(made);
      return made;
    }();
    return *device;
  }
  int calls = 0;         // of kernels and copies, those of graphs left out
  bool refuses = false;  // to record
  std::vector<std::pair<void*, size_t>> taken_while_recording;

  const char* name() const override { return "repeating"; }
  int count() const override { return 1; }
  void* allocate(Stream, size_t bytes) override {
    auto& kept = free_[bytes];
    void* block = nullptr;
    if (kept.empty()) {
      block = std::aligned_alloc(64, (bytes + 64) / 64 * 64);
    } else {
      block = *kept.begin();
      kept.erase(kept.begin());
    }
    if (recording_) taken_while_recording.emplace_back(block, bytes);
    return block;
  }
  void release(Place, void* block, size_t bytes) noexcept override {
    std::memset(block, 0xee, bytes);
    free_[bytes].insert(block);
  }
  size_t block_size(size_t bytes) const override { return bytes; }
  void record_use(Stream, const void*) override {}
  void copy_from_host(Stream, void* to, const void* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void copy_to_host(Stream, void* to, const void* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void* allocate_pinned(size_t) override { return nullptr; }
  void release_pinned(void*) noexcept override {}
  void copy_from_pinned(Stream, void*, const void*, size_t) override {}
  void copy_to_pinned(Stream, void*, const void*, size_t) override {}
  Stream make_stream(Place place) override { return {place, 1}; }
  void drop_stream(Stream) noexcept override {}
  Ref<DeviceEvent> record(Stream stream) override {
    return Ref<DeviceEvent>::adopt(new Done(stream));
  }
  void wait(Stream, DeviceEvent&) override {}
  bool done(Stream) override { return true; }
  void synchronize(Stream) override {}
  void synchronize(Place) override {}

  bool has_graphs() const override { return true; }
  bool begin_graph(Stream) override {
    if (refuses) return false;
    recording_ = Ref<DeviceGraph>::adopt(new Graph);
    return true;
  }
  Ref<DeviceGraph> end_graph(Stream) noexcept override {
    Ref<DeviceGraph> graph = std::move(recording_);
    recording_ = nullptr;
    return graph;
  }

  DeviceKind kernels() const override { return DeviceKind::cpu; }
  void launch(const op::KernelDef& kernel, op::KernelFrame& frame, const void* attrs,
              Place) override {
    std::map<const TensorImpl*, Tensor> bodies;
    Tensors in, out;
    for (const Tensor& t : frame.in.flat()) in.push_back(here(t, bodies));
    for (const Tensor& t : frame.out) out.push_back(here(t, bodies));
    std::vector<uint32_t> ends;
    if (frame.in.ends()) ends.assign(frame.in.ends(), frame.in.ends() + frame.op.inputs.size());
    auto box = std::make_shared<op::AttrBox>(*frame.op.attrs, attrs);
    program::each_element(*frame.op.attrs, box->get(),
                          [&](Tensor& t, int64_t*, op::Scalar*) { t = here(t, bodies); });
    enqueue([&kernel, &op = frame.op, in, out, ends, box] {
      op::GradMode off(false);
      Tensors given = out;
      op::KernelFrame call{op, op::Inputs(in, ends.empty() ? nullptr : ends.data()), given};
      kernel.run(call, box->get());
      for (size_t i = 0; i < out.size(); ++i)
        if (out[i].defined() && !given[i].is(out[i])) op::copy_into(out[i], given[i]);
    });
  }
  void copy(const Tensor& dst, const Tensor& src, Place) override {
    std::map<const TensorImpl*, Tensor> bodies;
    enqueue([to = here(dst, bodies), from = here(src, bodies)] { op::copy_into(to, from); });
  }

 private:
  using Job = std::function<void()>;
  struct Graph final : DeviceGraph {
    void launch() override {
      for (const Job& job : jobs) job();
    }
    std::vector<Job> jobs;
  };

  static Tensor here(const Tensor& t, std::map<const TensorImpl*, Tensor>& bodies) {
    if (!t.defined()) return t;
    Tensor& made = bodies[t.impl()];
    if (!made)
      made = Tensor::wrap(t.raw(), t.shape(), t.strides(), t.dtype(), {}, nullptr, [](void*) {});
    return made;
  }
  void enqueue(Job job) {
    if (recording_) {
      static_cast<Graph*>(recording_.get())->jobs.push_back(std::move(job));
      return;
    }
    ++calls;
    job();
  }

  std::map<size_t, std::set<void*>> free_;
  Ref<DeviceGraph> recording_;
};

struct Graphs : testing::Test {
  // A run of the Program on x, which holds `first`, .. by then; the same on the CPU.
  Tensors run(float first) {
    op::copy_into(x, test::counting({4, 6}, first));
    const Tensor fed[] = {x};
    return executor.run(program, fed, fetch);
  }
  void expect_right(const Tensors& found, float first) {
    const Tensor fed[] = {test::counting({4, 6}, first)};
    const Tensors want = program->run(fed, fetch);
    ASSERT_EQ(found.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(elements(op::to_host(found[i])), elements(want[i])) << i << " of " << first;
  }

  std::shared_ptr<Program> program = Program::make();
  std::vector<Ref<Value>> fetch;
  Executor executor;
  Repeating& device = Repeating::get();  // is there before memory of it
  Tensor x = op::to_place(test::counting({4, 6}), kPlace);
};

// As forward Programs of training, whose values backward Programs need.
TEST_F(Graphs, RunsWhoseResultsLeaveAreLaunched) {
  {
    program::Recording recording(program);
    const Tensor in = program->builder().input("x", {4, 6}, DType::float32);
    const Tensor a = ops::multiply(ops::add(in, in), in);
    const Tensor b = ops::tanh(ops::reshape(a, {6, 4}));
    const Tensor c = ops::add(ops::transpose(b, {1, 0}), in);
    const Tensor d = ops::sum(ops::multiply(c, a));
    for (const Tensor& t : {a, b, c, d}) fetch.push_back(program->builder().current(t));
  }
  const uint64_t before = graph_launches();
  device.taken_while_recording.clear();
  int calls = 0;
  for (int i = 0; i < 12; ++i) {
    const float first = static_cast<float>(i) / 12;
    calls = device.calls;
    expect_right(run(first), first);
    calls = device.calls - calls;
  }
  EXPECT_GE(graph_launches(), before + 6);
  EXPECT_LE(calls, 2);  // results that others are views of are copied when they leave
  EXPECT_TRUE(device.taken_while_recording.empty());
}

// A device may say that nothing can be recorded now: everything runs once, as it is.
TEST_F(Graphs, WhatCannotBeRecordedRunsOnce) {
  {
    program::Recording recording(program);
    Tensor y = program->builder().input("x", {4, 6}, DType::float32);
    for (int i = 0; i < 6; ++i) y = ops::add(ops::tanh(y), y);
    fetch = {program->builder().current(y)};
  }
  device.refuses = true;
  const uint64_t before = graph_launches();
  for (int i = 0; i < 6; ++i) {
    const int calls = device.calls;
    const float first = static_cast<float>(i) / 12;
    expect_right(run(first), first);
    EXPECT_LE(device.calls, calls + 14);
  }
  device.refuses = false;
  EXPECT_EQ(graph_launches(), before);
}

// A number that a kernel reads where it lies is not waited for, and a graph finds it there: the
// next one in the same place, or another graph for one elsewhere.
TEST_F(Graphs, NumbersStayWhereTheyLie) {
  {
    program::Recording recording(program);
    const Tensor in = program->builder().input("x", {4, 6}, DType::float32);
    TimesAttrs attrs;
    attrs.factor.tensor = program->builder().input("factor", {}, DType::float64);
    Tensor y = in;
    for (int i = 0; i < 5; ++i) y = ops::add(times(y, attrs), in);
    fetch = {program->builder().current(ops::sum(y))};
  }
  const auto factor = [](double v) {
    Tensor t = Tensor::empty({}, DType::float64);
    *t.data<double>() = v;
    return t;
  };
  const Tensor rates[] = {op::to_place(factor(0), kPlace), op::to_place(factor(0), kPlace)};
  const uint64_t before = graph_launches();
  for (int i = 0; i < 16; ++i) {
    const double rate = 0.25 * (i + 1);
    const Tensor& there = rates[i % 3 == 2];
    op::copy_into(there, factor(rate));
    op::copy_into(x, test::counting({4, 6}, 1.0f));
    const Tensor fed[] = {x, there};
    const uint64_t waits = device::host_waits();
    const Tensors found = executor.run(program, fed, fetch);
    EXPECT_EQ(device::host_waits(), waits);
    const Tensor plain[] = {test::counting({4, 6}, 1.0f), factor(rate)};
    EXPECT_EQ(elements(op::to_host(found[0])), elements(program->run(plain, fetch)[0])) << i;
  }
  EXPECT_GE(graph_launches(), before + 10);
}

// Results that are kept lie elsewhere each time; what does not is launched in the end.
TEST_F(Graphs, WhereResultsNeverRepeatTheRestDoes) {
  {
    program::Recording recording(program);
    const Tensor in = program->builder().input("x", {4, 6}, DType::float32);
    Tensor y = ops::add(in, in);
    for (int i = 0; i < 5; ++i) y = ops::multiply(ops::tanh(y), in);
    fetch = {program->builder().current(ops::sum(y))};
  }
  std::vector<Tensors> kept;
  const uint64_t before = graph_launches();
  for (int i = 0; i < 80; ++i) kept.push_back(run(static_cast<float>(i) / 80));
  EXPECT_GE(graph_launches(), before + 10);
  EXPECT_LE(graph_launches(), before + 16);
  for (int i = 0; i < 80; ++i)
    expect_right(kept[static_cast<size_t>(i)], static_cast<float>(i) / 80);
}

}  // namespace
}  // namespace argosy::runtime

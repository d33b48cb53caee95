#include "argosy/infer/predictor.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "argosy/base/memory.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/program/builder.h"
#include "argosy/program/model.h"

namespace argosy::infer {
namespace {

using program::Program;

Tensor filled(const Shape& shape, float first) {
  Tensor t = Tensor::empty(shape, DType::float32);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = first + 0.001f * static_cast<float>(i % 97);
  return t;
}

// relu(x w0) w1 in a folder that is removed at the end.
struct Saved {
  Saved() {
    char name[] = "/tmp/argosy_infer_XXXXXX";
    folder = ::mkdtemp(name);
    std::shared_ptr<Program> p = Program::make();
    w0 = filled({70, 100}, -0.05f);
    w1 = filled({100, 90}, -0.03f);
    {
      program::Recording recording(p);
      const Tensor x = p->builder().input("x", {kUnknown, 70}, DType::float32);
      for (Tensor* w : {&w0, &w1}) w->impl()->persistable = true;
      const Tensor y = ops::matmul(ops::relu(ops::matmul(x, w0)), w1);
      p->outputs.push_back({"y", p->builder().current(y)});
    }
    program::save_model(*p, folder + "/model");
  }
  ~Saved() { std::filesystem::remove_all(folder); }
  Tensor expected(const Tensor& x) const { return ops::matmul(ops::relu(ops::matmul(x, w0)), w1); }
  Options options() const {
    Options o;
    o.model.path = folder + "/model";
    return o;
  }
  std::string folder;
  Tensor w0, w1;
};

void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.numel(); ++i)
    ASSERT_NEAR(a.data<float>()[i], b.data<float>()[i], 1e-4f) << "at " << i;
}

TEST(Predictor, GivesWhatOpsGiveForEveryShape) {
  const Saved saved;
  Predictor p(saved.options());
  for (const int64_t rows : {3, 1, 40, 3}) {
    const Tensor x = filled({rows, 70}, 0.1f);
    p.set_input(p.input("x"), x);
    p.run();
    expect_near(p.output_tensor(0), saved.expected(x));
  }
}

TEST(Predictor, ExactResultsWithoutPassesThatRound) {
  const Saved saved;
  Options options = saved.options();
  options.optimize = false;
  Predictor p(options);
  const Tensor x = filled({5, 70}, 0.1f);
  p.set_input(0, x);
  p.run();
  const Tensor y = p.output_tensor(0), wanted = saved.expected(x);
  EXPECT_EQ(std::memcmp(y.raw(), wanted.raw(), y.nbytes()), 0);
}

TEST(Predictor, RunsThatRepeatTakeNoMemory) {
  const Saved saved;
  Predictor p(saved.options());
  p.set_input(0, filled({64, 70}, 0.2f));
  for (int i = 0; i < 3; ++i) p.run();
  const memory::Stats before = memory::stats({});
  memory::reset_peak({});
  for (int i = 0; i < 50; ++i) p.run();
  EXPECT_EQ(memory::stats({}).peak, before.allocated);
}

TEST(Predictor, AnOutputThatIsHeldStaysAsItIs) {
  const Saved saved;
  Predictor p(saved.options());
  const Tensor first = filled({4, 70}, 0.1f), second = filled({4, 70}, -0.9f);
  p.set_input(0, first);
  p.run();
  const Tensor held = p.output_tensor(0);
  p.set_input(0, second);
  p.run();
  expect_near(held, saved.expected(first));
  expect_near(p.output_tensor(0), saved.expected(second));
}

TEST(Predictor, ClonesRunAtTheSameTime) {
  const Saved saved;
  Predictor original(saved.options());
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Predictor>> clones;
  for (int t = 0; t < 4; ++t) clones.push_back(original.clone());
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        const Tensor x = filled({1 + (i + t) % 5, 70}, 0.1f * static_cast<float>(t));
        clones[static_cast<size_t>(t)]->set_input(0, x);
        clones[static_cast<size_t>(t)]->run();
        expect_near(clones[static_cast<size_t>(t)]->output_tensor(0), saved.expected(x));
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST(Predictor, FewKeptShapesStillGiveAnswers) {
  const Saved saved;
  Options options = saved.options();
  options.plans = 1;
  Predictor p(options);
  for (int64_t rows = 1; rows < 6; ++rows) {
    const Tensor x = filled({rows % 2 + 1, 70}, 0.3f);
    p.set_input(0, x);
    p.run();
    expect_near(p.output_tensor(0), saved.expected(x));
  }
}

template <class F>
void expect_error(ErrorKind kind, const char* text, F&& f) {
  try {
    f();
    FAIL() << "no error with " << text;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
  }
}

TEST(Predictor, WrongInputsAreErrorsAndLeaveItUsable) {
  const Saved saved;
  Predictor p(saved.options());
  expect_error(ErrorKind::invalid_argument, "'x' has no value", [&] { p.run(); });
  expect_error(ErrorKind::invalid_argument, "expected float32[?, 70], got float32[2, 71]", [&] {
    p.set_input(0, filled({2, 71}, 0));
  });
  expect_error(ErrorKind::not_found, "no input 'z'. Do this: use one of x",
               [&] { (void)p.input("z"); });
  const Tensor x = filled({2, 70}, 0.1f);
  p.set_input(0, x);
  p.run();
  expect_near(p.output_tensor(0), saved.expected(x));
}

TEST(Predictor, RunsThatNeedTooMuchAreRefused) {
  const Saved saved;
  Options options = saved.options();
  options.memory_limit = 10000;
  Predictor p(options);
  p.set_input(0, filled({1, 70}, 0.1f));
  p.run();
  p.set_input(0, filled({1000, 70}, 0.1f));
  expect_error(ErrorKind::memory, "the limit is 10000", [&] { p.run(); });
}

// --- models whose Program depends on what is fed ---

// y = a large constant plus k times the sum of x, which may have any number of dimensions; k is
// fixed in the Program, so it has to be known, which is asked for once x is.
class OpenSum final : public Source {
 public:
  static inline int built = 0;

  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }
  program::Model build(std::span<const Tensor> fixed, std::vector<Need>* needs) const override {
    if (!fixed[0].defined()) needs->push_back({0, false});
    if (fixed[0].defined() && !fixed[1].defined()) needs->push_back({1, true});
    if (!needs->empty()) return {};
    ++built;
    auto p = Program::make();
    program::Recording recording(p);
    const Tensor x = p->builder().input("x", fixed[0].shape(), DType::float32);
    p->builder().input("k", fixed[1].shape(), DType::int64);
    const double k = static_cast<double>(*fixed[1].data<int64_t>());
    const Tensor y = ops::add(filled({200, 200}, 0.5f), ops::scale(ops::sum(x), k));
    p->outputs.push_back({"y", p->builder().current(y)});
    return {p, std::make_shared<program::Scope>()};
  }

 private:
  std::vector<Port> inputs_{{"x", DType::float32, {}, false}, {"k", DType::int64, {kUnknown}}};
  std::vector<Port> outputs_{{"y", DType::float32, {200, 200}}};
};

const bool registered = register_importer(
    {"open sum", [](const std::string&, std::string_view head) { return head == "open sum"; },
     [](const ImportOptions&) {
       return Import{{}, std::make_shared<OpenSum>(), {{0, false}}};
     }});

Options open_sum() {
  Options options;
  options.model.program_bytes = "open sum";
  return options;
}

void expect_sum(Predictor& p, const Tensor& x, int64_t k) {
  p.set_input(0, x);
  *p.input_buffer(1, {1}).data<int64_t>() = k;
  p.run();
  float sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += x.data<float>()[i];
  EXPECT_NEAR(p.output_tensor(0).data<float>()[0], 0.5f + static_cast<float>(k) * sum, 1e-3f);
}

TEST(OpenModel, HasAProgramForEachFormThatDecidesIt) {
  Predictor p(open_sum());
  EXPECT_EQ(p.program(), nullptr);
  OpenSum::built = 0;
  const Tensor flat = filled({6}, 0.1f), matrix = filled({2, 3}, 0.1f);
  for (int round = 0; round < 3; ++round) {
    expect_sum(p, flat, 1);
    expect_sum(p, matrix, 1);
    expect_sum(p, matrix, 2);
  }
  EXPECT_EQ(OpenSum::built, 3);
}

TEST(OpenModel, ProgramsShareLargeConstants) {
  Predictor p(open_sum());
  const auto large = [&p] {
    for (const program::Constant& c : p.program()->constants)
      if (c.tensor.numel() == 200 * 200) return c.tensor.raw();
    return static_cast<void*>(nullptr);
  };
  expect_sum(p, filled({6}, 0.1f), 1);
  const void* first = large();
  expect_sum(p, filled({2, 3}, 0.1f), 1);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(large(), first);
}

TEST(OpenModel, ClonesRunAtTheSameTime) {
  Predictor original(open_sum());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([clone = original.clone(), t] {
      for (int i = 0; i < 40; ++i)
        expect_sum(*clone, filled(Shape({1 + (i + t) % 3, 2}), 0.1f), 1 + i % 4);
    });
  for (std::thread& t : threads) t.join();
}

TEST(OpenModel, IsNotMadeForLongValues) {
  Predictor p(open_sum());
  const Tensor x = filled({6}, 0.1f);
  p.set_input(0, x);
  p.input_buffer(1, {5000});
  expect_error(ErrorKind::not_implemented, "the value of 'k', which has 5000 elements",
               [&] { p.run(); });
  expect_sum(p, x, 3);
}

TEST(OpenModel, IsNoneForWhoNeedsOneProgram) {
  expect_error(ErrorKind::not_implemented, "depends on the shape of 'x'",
               [] { (void)load(open_sum().model); });
}

TEST(Load, WhatIsNoModelIsAnError) {
  Options options;
  options.model.path = "/nowhere/model";
  expect_error(ErrorKind::not_found, "there is no model at '/nowhere/model'",
               [&] { Predictor p(options); });
  options.model.program_bytes = "neither this nor that";
  expect_error(ErrorKind::invalid_argument, "is in no format that is known here",
               [&] { Predictor p(options); });
}

}  // namespace
}  // namespace argosy::infer

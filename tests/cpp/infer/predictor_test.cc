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

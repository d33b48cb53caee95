#include "argosy/jit/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "argosy/op/dispatch.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/program/builder.h"
#include "tests/cpp/tensors.h"

namespace argosy::jit {
namespace {

using program::Program;
using program::Role;
using program::Value;
using test::counting;
using test::elements;
using test::floats;
using test::number;
using Floats = std::vector<float>;

// A captured function with gradients: inputs, then one gradient for each result.
struct Captured {
  std::shared_ptr<Program> program = Program::make();
  std::vector<Tensor> inputs;
  std::vector<Ref<Value>> results, wanted;

  Tensor input(const Shape& shape) {
    inputs.push_back(
        program->builder().input("x" + std::to_string(inputs.size()), shape, DType::float32));
    program::set_stop_gradient(inputs.back(), false);
    return inputs.back();
  }
  // Gradients of `of`, from those of the outputs, which are fed.
  void differentiate(const std::vector<Tensor>& outputs, const std::vector<Tensor>& of) {
    program::Builder& b = program->builder();
    std::vector<Tensor> dys;
    for (const Tensor& y : outputs) {
      results.push_back(b.current(y));
      dys.push_back(b.input("dy" + std::to_string(dys.size()), y.shape(), y.dtype()));
    }
    b.role = Role::backward;
    for (const Tensor& g : b.gradients(outputs, dys, of)) wanted.push_back(b.current(g));
  }
  Split split() const { return jit::split(*program, inputs.size(), results, wanted); }
};

Tensors run(const Program& p, const std::vector<Tensor>& feeds) {
  std::vector<Ref<Value>> fetches;
  for (const auto& o : p.outputs) fetches.push_back(o.value);
  return p.run(feeds, fetches);
}

// What a call does: forward, then backward from what that saved.
Tensors gradients(const Split& s, const std::vector<Tensor>& feeds,
                  const std::vector<Tensor>& dys) {
  const Tensors out = run(*s.forward, feeds);
  std::vector<Tensor> in;
  for (uint32_t i : s.taken) in.push_back(feeds[i]);
  for (size_t i = out.size() - s.saved; i < out.size(); ++i) in.push_back(out[i]);
  in.insert(in.end(), dys.begin(), dys.end());
  return run(*s.backward, in);
}

TEST(Split, BothPartsDoWhatTheWholeDid) {
  Captured c;
  {
    program::Recording recording(c.program);
    const Tensor x = c.input({2}), y = c.input({2});
    const Tensor e = ops::exp(x);
    c.differentiate({ops::multiply(e, y)}, {x, y});
  }
  const Split s = c.split();
  s.forward->verify();
  s.backward->verify();
  const std::vector<Tensor> feeds{floats({2}, {0.5f, -1}), floats({2}, {3, 4})};
  const Tensors out = run(*s.forward, feeds);
  EXPECT_EQ(out.size(), 1 + s.saved);
  EXPECT_FLOAT_EQ(elements(out[0])[0], std::exp(0.5f) * 3);
  EXPECT_EQ(s.made, (std::vector<bool>{true, true}));
  const Tensors g = gradients(s, feeds, {floats({2}, {10, 100})});
  ASSERT_EQ(g.size(), 2u);
  EXPECT_FLOAT_EQ(elements(g[0])[0], 10 * std::exp(0.5f) * 3);
  EXPECT_FLOAT_EQ(elements(g[0])[1], 100 * std::exp(-1.0f) * 4);
  EXPECT_FLOAT_EQ(elements(g[1])[0], 10 * std::exp(0.5f));
  EXPECT_FLOAT_EQ(elements(g[1])[1], 100 * std::exp(-1.0f));
}

TEST(Split, EachPartHasItsOperationsOnly) {
  Captured c;
  {
    program::Recording recording(c.program);
    const Tensor x = c.input({2, 3}), y = c.input({3, 2});
    c.differentiate({ops::sin(ops::matmul(x, y))}, {x, y});
  }
  const std::string before = c.program->print();
  const Split s = c.split();
  EXPECT_EQ(c.program->print(), before);  // the whole stays as it is
  for (const auto& o : s.forward->main.operations) EXPECT_NE(o->role, Role::backward);
  for (const auto& o : s.backward->main.operations) EXPECT_EQ(o->role, Role::backward);
  EXPECT_EQ(s.forward->main.arguments.size(), 2u);
  EXPECT_EQ(s.backward->main.arguments.size(), s.taken.size() + s.saved + 1);
  EXPECT_FALSE(s.forward->main.operations.empty());
  EXPECT_FALSE(s.backward->main.operations.empty());
}

TEST(Split, WhatBackwardDoesNotReadIsNeitherTakenNorSaved) {
  Captured c;
  {
    program::Recording recording(c.program);
    const Tensor x = c.input({4}), y = c.input({4}), z = c.input({4});
    // The gradient of x reads z alone.
    c.differentiate({ops::add(ops::multiply(x, z), ops::exp(ops::sin(y)))}, {x});
  }
  const Split s = c.split();
  EXPECT_EQ(s.taken, std::vector<uint32_t>{2});
  EXPECT_EQ(s.saved, 0u);
  const std::vector<Tensor> feeds{counting({4}), counting({4}), counting({4}, 5.0f)};
  EXPECT_EQ(elements(gradients(s, feeds, {floats({4}, {1, 1, 2, 2})})[0]), (Floats{5, 6, 14, 16}));
}

TEST(Split, GradientsThatAreNot) {
  Captured c;
  {
    program::Recording recording(c.program);
    const Tensor x = c.input({2}), unused = c.input({2}), y = c.input({2});
    c.differentiate({ops::multiply(x, y)}, {x, unused, y});
  }
  const Split s = c.split();
  EXPECT_EQ(s.made, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(s.backward->outputs.size(), 2u);
  const std::vector<Tensor> feeds{floats({2}, {2, 3}), floats({2}, {0, 0}), floats({2}, {5, 7})};
  const Tensors g = gradients(s, feeds, {floats({2}, {1, 1})});
  EXPECT_EQ(elements(g[0]), (Floats{5, 7}));
  EXPECT_EQ(elements(g[1]), (Floats{2, 3}));
}

TEST(Split, SeveralResults) {
  Captured c;
  {
    program::Recording recording(c.program);
    const Tensor x = c.input({2});
    c.differentiate({ops::multiply(x, x), x, ops::sum(x)}, {x});
  }
  const Split s = c.split();
  const std::vector<Tensor> feeds{floats({2}, {3, 5})};
  const Tensors out = run(*s.forward, feeds);
  EXPECT_EQ(elements(out[0]), (Floats{9, 25}));
  EXPECT_EQ(elements(out[1]), (Floats{3, 5}));
  EXPECT_EQ(elements(out[2]), Floats{8});
  const Tensors g =
      gradients(s, feeds, {floats({2}, {1, 10}), floats({2}, {100, 200}), number(1000)});
  EXPECT_EQ(elements(g[0]), (Floats{6 + 100 + 1000, 100 + 200 + 1000}));
}

// Backward reads state as forward has read it: `factor` before the update that forward made.
TEST(Split, BackwardReadsStateAndWritesNone) {
  Captured c;
  Tensor w = floats({2}, {2, 3}), factor = floats({2}, {4, 5}), calls = number(0);
  w.set_stop_gradient(false);
  factor.impl()->persistable = calls.impl()->persistable = true;
  {
    program::Recording recording(c.program);
    const Tensor x = c.input({2});
    const Tensor y = ops::multiply(ops::multiply(x, w), factor);
    ops::add_(factor, number(1));
    ops::add_(calls, number(1));
    c.differentiate({y}, {x, w});
  }
  const Split s = c.split();
  s.backward->verify();
  EXPECT_EQ(s.backward->states.size(), 1u);  // w; factor is saved
  for (const auto& use : s.backward->states) EXPECT_FALSE(use.last);
  const std::vector<Tensor> feeds{floats({2}, {5, 7})};
  EXPECT_EQ(elements(run(*s.forward, feeds)[0]), (Floats{40, 105}));
  EXPECT_EQ(elements(factor), (Floats{5, 6}));
  const Tensors g = gradients(s, feeds, {floats({2}, {1, 1})});
  EXPECT_EQ(elements(factor), (Floats{6, 7}));  // by forward
  EXPECT_EQ(elements(g[0]), (Floats{2 * 5, 3 * 6}));
  EXPECT_EQ(elements(g[1]), (Floats{5 * 5, 7 * 6}));
  EXPECT_EQ(*calls.data<float>(), 2);
}

TEST(Split, RandomNumbersAreDrawnOnce) {
  Captured c;
  {
    program::Recording recording(c.program);
    const Tensor x = c.input({64});
    const op::OpDef& dropout = op::get("dropout");
    const Tensor in[] = {x};
    c.differentiate({op::dispatch(dropout, op::Inputs(in), dropout.attrs->defaults)[0]}, {x});
  }
  const Split s = c.split();
  const std::vector<Tensor> feeds{floats({64}, Floats(64, 1))};
  const Tensors out = run(*s.forward, feeds);
  std::vector<Tensor> in;
  for (size_t i = out.size() - s.saved; i < out.size(); ++i) in.push_back(out[i]);
  in.push_back(floats({64}, Floats(64, 1)));
  EXPECT_TRUE(s.taken.empty());
  const Tensors g = run(*s.backward, in);
  EXPECT_EQ(elements(g[0]), elements(out[0]));  // the mask of the forward part
  const Floats kept = elements(out[0]);
  EXPECT_GT(std::count(kept.begin(), kept.end(), 0), 5);
  EXPECT_GT(std::count(kept.begin(), kept.end(), 2), 5);
}

}  // namespace
}  // namespace argosy::jit

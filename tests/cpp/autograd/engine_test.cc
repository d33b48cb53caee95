#include "argosy/autograd/engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "argosy/base/memory.h"
#include "argosy/op/define.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "tests/cpp/autograd/leaf.h"
#include "tests/cpp/tensors.h"

namespace argosy::autograd {
namespace {

using test::counting;
using test::elements;
using test::error_of;
using test::floats;
using test::leaf;
using test::number;
using test::run_backward;
using Floats = std::vector<float>;

Floats grad_values(const Tensor& x) {
  const Tensor g = grad_of(x);
  return g.defined() ? elements(g) : Floats();
}
Tensor gradient(const Tensor& y, const Tensor& x, bool create = false) {
  return grad({&y, 1}, {&x, 1}, {}, true, create, false, {})[0];
}
Tensor inplace(const char* name, std::vector<Tensor> in) {
  const op::OpDef& op = op::get(name);
  return op::dispatch_inplace(op, op::Inputs(in), op.attrs->defaults);
}

// --- sums ---

TEST(Backward, ProductsAndSums) {
  const Tensor x = leaf(floats({2}, {2, 3})), y = leaf(floats({2}, {5, 7}));
  run_backward(ops::add(ops::multiply(x, y), x));
  EXPECT_EQ(grad_values(x), (Floats{6, 8}));  // y + 1
  EXPECT_EQ(grad_values(y), (Floats{2, 3}));  // x
}

TEST(Backward, SeedsWeighTheRoots) {
  const Tensor x = leaf(floats({2}, {2, 3}));
  const Tensor roots[] = {ops::multiply(x, x), ops::scale(x, 10)};
  const Tensor seeds[] = {floats({2}, {1, -1}), Tensor()};  // undefined: ones
  backward(roots, seeds, false);
  EXPECT_EQ(grad_values(x), (Floats{4 + 10, -6 + 10}));
}

TEST(Backward, SeedsMustFit) {
  const Tensor x = leaf(counting({2})), y = ops::scale(x, 2);
  const Tensor wrong[] = {counting({2, 1})}, two[] = {counting({2}), counting({2})};
  EXPECT_EQ(error_of(ErrorKind::invalid_argument,
                     [&] {
                       backward({&y, 1}, wrong, false);
                     }),
            "[backward] the gradient given for a root must have its shape: expected [2], got [2, "
            "1].");
  EXPECT_EQ(error_of(ErrorKind::invalid_argument,
                     [&] {
                       backward({&y, 1}, two, false);
                     }),
            "[backward] expected one gradient for each of 1 roots, got 2.");
  EXPECT_FALSE(grad_of(x).defined());
}

TEST(Backward, EveryUseAddsItsGradient) {
  const Tensor x = leaf(3);
  Tensor y = x;
  for (int i = 0; i < 4; ++i) y = ops::add(y, y);  // 16 x
  run_backward(ops::multiply(y, x));               // 16 x^2
  EXPECT_EQ(grad_values(x), Floats{96});
}

TEST(Backward, PassesAddUp) {
  const Tensor x = leaf(3), y = ops::multiply(x, x);
  run_backward(y, true);
  const Tensor first = grad_of(x);
  EXPECT_EQ(elements(first), Floats{6});
  run_backward(y, true);
  EXPECT_EQ(grad_values(x), Floats{12});
  EXPECT_TRUE(grad_of(x).is(first));  // the same tensor, for who keeps a handle
}

TEST(Backward, BroadcastOperandsGetTheSumOverTheirCopies) {
  const Tensor x = leaf(counting({2, 1}, 1.0f)), y = leaf(counting({3}, 10.0f));
  run_backward(ops::multiply(x, y));
  EXPECT_EQ(grad_values(x), (Floats{33, 33}));
  EXPECT_EQ(grad_values(y), (Floats{3, 3, 3}));
  EXPECT_EQ(grad_of(x).shape(), Shape({2, 1}));
}

TEST(Backward, GradientsComeBackInTheDtypeOfTheLeaf) {
  const Tensor x = leaf(test::tensor<double>({1}, {3})), y = leaf(2);
  run_backward(ops::multiply(x, y));  // y is cast to float64
  EXPECT_EQ(grad_of(x).dtype(), DType::float64);
  EXPECT_EQ(grad_of(y).dtype(), DType::float32);
  EXPECT_EQ(grad_values(y), Floats{3});
}

// Both operands of a sum get one gradient; what is done to x.grad must not be seen in y.grad.
TEST(Backward, GradientsOfLeavesDoNotShareMemory) {
  const Tensor x = leaf(counting({2})), y = leaf(counting({2}));
  const Tensor z = ops::add(x, y), seed[] = {floats({2}, {1, 2})};
  backward({&z, 1}, seed, false);
  grad_of(x).data<float>()[0] = 100;
  EXPECT_EQ(grad_values(y), (Floats{1, 2}));
  EXPECT_EQ(elements(seed[0]), (Floats{1, 2}));
}

TEST(Backward, WithoutElements) {
  const Tensor x = leaf(counting({0, 3})), w = leaf(counting({3, 2}));
  run_backward(ops::matmul(x, w));
  EXPECT_EQ(grad_of(x).shape(), Shape({0, 3}));
  EXPECT_EQ(grad_values(w), Floats(6, 0));
}

TEST(Backward, StoppedTensorsReachNothing) {
  const Tensor x = leaf(2), y = ops::multiply(x, x);
  run_backward(number(1));
  run_backward(y.detach());
  EXPECT_FALSE(grad_of(x).defined());
  const Tensor z = ops::multiply(y.detach(), x);  // 4 x
  run_backward(z);
  EXPECT_EQ(grad_values(x), Floats{4});
}

TEST(Backward, ALeafIsARootToo) {
  const Tensor x = leaf(counting({2}));
  run_backward(x);
  EXPECT_EQ(grad_values(x), (Floats{1, 1}));
}

// --- what was saved ---

TEST(Graph, IsFreedByTheFirstPassUnlessItIsRetained) {
  const Tensor x = leaf(3), y = ops::multiply(x, x);
  run_backward(y);
  EXPECT_EQ(
      error_of(ErrorKind::runtime, [&] { run_backward(y); }),
      "[multiply] backward was already run through this graph and its saved values were freed. "
      "Do this: pass retain_graph=True to the first backward.");
  EXPECT_EQ(grad_values(x), Floats{6});
}

TEST(Graph, SavedValuesAreFreedByThePass) {
  const size_t before = memory::stats({}).allocated;
  {
    const Tensor x = leaf(Tensor::empty({1 << 16}, DType::float32));
    std::memset(x.raw(), 0, x.nbytes());
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = ops::exp(y);
    const size_t kept = memory::stats({}).allocated - before;
    EXPECT_GE(kept, 21u << 18);  // x and 20 results
    const Tensor loss = ops::sum(y);
    y = Tensor();
    run_backward(loss);
    EXPECT_LE(memory::stats({}).allocated - before, 5u << 18);  // x and its gradient
  }
  EXPECT_EQ(memory::stats({}).allocated, before);
}

TEST(Graph, IsFreedWithItsResult) {
  const Tensor x = leaf(Tensor::empty({1 << 16}, DType::float32));
  const size_t before = memory::stats({}).allocated;
  {
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = ops::multiply(y, x);
    EXPECT_GE(memory::stats({}).allocated, before + (20u << 18));
  }
  EXPECT_EQ(memory::stats({}).allocated, before);
}

TEST(Graph, LongChainsNeitherRunNorDieByRecursion) {
  std::thread small([] {  // any thread has a stack of a few MiB
    const Tensor x = leaf(1);
    Tensor y = x;
    for (int i = 0; i < 200000; ++i) y = ops::add(y, x);
    run_backward(y);
    EXPECT_EQ(grad_values(x), Floats{200001});
    for (int i = 0; i < 200000; ++i) y = ops::add(y, x);
    y = Tensor();  // dies without having run
  });
  small.join();
}

TEST(Graph, OneThatWasHalfUsedCanBeUsedElsewhere) {
  const Tensor x = leaf(2), shared = ops::exp(x);
  run_backward(ops::scale(shared, 3), true);
  run_backward(ops::scale(shared, 5));
  EXPECT_FLOAT_EQ(grad_values(x)[0], 8 * std::exp(2.0f));
}

// --- values that were overwritten ---

TEST(Versions, AnOverwrittenOperandIsAnError) {
  const Tensor x = leaf(2), y = ops::scale(x, 3), z = ops::multiply(y, y);
  inplace("add", {y, number(1)});
  EXPECT_EQ(
      error_of(ErrorKind::permission, [&] { run_backward(z); }),
      "[multiply] the gradient needs a value (float32[]) that was overwritten in place since, "
      "last by `add` (received tensor_version:1 != wrapper_version_snapshot:0). Do this: use the "
      "form of that op that returns a new tensor.");
}

TEST(Versions, AnOverwrittenResultIsAnError) {
  const Tensor x = leaf(2), y = ops::exp(x), z = ops::scale(y, 1);
  inplace("negative", {y});
  const std::string text = error_of(ErrorKind::permission, [&] { run_backward(z); });
  EXPECT_NE(text.find("[exp] the gradient needs a value (float32[]) that was overwritten"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("last by `negative`"), std::string::npos) << text;
}

TEST(Versions, WritesThroughViewsCount) {
  const Tensor x = leaf(counting({4})), y = ops::scale(x, 1), z = ops::multiply(y, y);
  Tensor part = y.view({2}, {1}, 2);
  inplace("add", {part, number(1)});
  EXPECT_THROW(run_backward(z), Error);
}

TEST(Versions, WhatNoRuleReadsMayBeOverwritten) {
  const Tensor x = leaf(2), y = ops::scale(x, 3), z = ops::add(y, y);  // reads shapes only
  inplace("add", {y, number(1)});
  run_backward(z);
  EXPECT_EQ(grad_values(x), Floats{6});
}

TEST(Versions, WritesBeforeTheUseDoNotMatter) {
  const Tensor x = leaf(2), y = ops::scale(x, 3);
  inplace("add", {y, number(1)});  // 7
  run_backward(ops::multiply(y, y));
  EXPECT_EQ(grad_values(x), Floats{2 * 7 * 3});
}

// --- in place ---

TEST(InplaceGradient, GoesOnFromTheNewValue) {
  const Tensor x = leaf(floats({2}, {2, 3})), w = leaf(floats({2}, {5, 7}));
  Tensor y = ops::scale(x, 10);
  inplace("multiply", {y, w});  // the rule reads the old y
  inplace("add", {y, x});
  run_backward(y);
  EXPECT_EQ(grad_values(x), (Floats{51, 71}));  // 10 w + 1
  EXPECT_EQ(grad_values(w), (Floats{20, 30}));  // 10 x
}

TEST(InplaceGradient, ByAnOpThatReadsItsResult) {
  const Tensor x = leaf(0.5f);
  Tensor y = ops::scale(x, 2);
  inplace("exp", {y});
  run_backward(ops::scale(y, 3));
  EXPECT_FLOAT_EQ(grad_values(x)[0], 6 * std::exp(1.0f));
}

TEST(InplaceGradient, ATensorThatNeedsNoneMayBeginToNeedOne) {
  const Tensor w = leaf(3);
  Tensor y = number(4);
  inplace("multiply", {y, w});
  EXPECT_TRUE(y.requires_grad());
  run_backward(y);
  EXPECT_EQ(grad_values(w), Floats{4});
}

// --- higher derivatives ---

TEST(DoubleBackward, DerivativesOfAPower) {
  const Tensor x = leaf(2);
  const Tensor y = ops::multiply(ops::multiply(x, x), ops::multiply(x, x));  // x^4
  const Tensor first = gradient(y, x, true), second = gradient(first, x, true),
               third = gradient(second, x, true), fourth = gradient(third, x, true);
  EXPECT_EQ(elements(first), Floats{32});
  EXPECT_EQ(elements(second), Floats{48});
  EXPECT_EQ(elements(third), Floats{48});
  EXPECT_EQ(elements(fourth), Floats{24});
}

TEST(DoubleBackward, OfAnOpThatReadsItsResult) {
  const Tensor x = leaf(1.5f), y = ops::exp(x);
  const Tensor first = gradient(y, x, true);
  EXPECT_FLOAT_EQ(elements(gradient(first, x))[0], std::exp(1.5f));
}

TEST(DoubleBackward, MixedDerivatives) {
  const Tensor x = leaf(2), y = leaf(3), z = ops::multiply(ops::multiply(x, x), y);
  EXPECT_EQ(elements(gradient(gradient(z, x, true), y)), Floats{4});  // 2 x
  EXPECT_EQ(elements(gradient(gradient(z, y, true), x)), Floats{4});
}

TEST(DoubleBackward, GradientsHaveAHistoryOnlyIfAsked) {
  const Tensor x = leaf(2), y = ops::multiply(x, x);
  EXPECT_FALSE(gradient(y, x).requires_grad());
  EXPECT_TRUE(gradient(y, x, true).requires_grad());
  run_backward(y, true, true);
  EXPECT_FALSE(is_leaf(grad_of(x)));
  // A penalty on the gradient: d(2x)^2/dx = 8x, onto the 2x that is there.
  run_backward(ops::multiply(grad_of(x), grad_of(x)));
  EXPECT_EQ(grad_values(x), Floats{4 + 16});
}

// --- grad() ---

TEST(Grad, TouchesNoGrad) {
  const Tensor x = leaf(3), y = ops::multiply(x, x);
  EXPECT_EQ(elements(gradient(y, x)), Floats{6});
  EXPECT_FALSE(grad_of(x).defined());
}

TEST(Grad, OfValuesWithin) {
  const Tensor x = leaf(3), y = ops::scale(x, 2), z = ops::multiply(y, y);
  EXPECT_EQ(elements(gradient(z, y)), Floats{12});
  EXPECT_EQ(elements(gradient(z, z)), Floats{1});
}

TEST(Grad, OfSeveralByAnyOutputs) {
  const Tensor x = leaf(2), y = leaf(5);
  const Tensor outputs[] = {ops::multiply(x, y), ops::scale(x, 3)}, inputs[] = {y, x};
  const Tensor seeds[] = {number(10), number(100)};
  const Tensors g = grad(outputs, inputs, seeds, false, false, false, {});
  EXPECT_EQ(elements(g[0]), Floats{20});
  EXPECT_EQ(elements(g[1]), Floats{50 + 300});
}

TEST(Grad, WhatIsNotReached) {
  const Tensor x = leaf(2), other = leaf(3), y = ops::scale(x, 2);
  const Tensor inputs[] = {x, other};
  EXPECT_EQ(error_of(ErrorKind::invalid_argument,
                     [&] {
                       grad({&y, 1}, inputs, {}, true, false, false, {});
                     }),
            "[grad] input 1 float32[] is not reached from the outputs. Do this: pass "
            "allow_unused=True, or check that it has stop_gradient=False and was used.");
  const Tensors g = grad({&y, 1}, inputs, {}, true, false, true, {});
  EXPECT_EQ(elements(g[0]), Floats{2});
  EXPECT_FALSE(g[1].defined());
}

TEST(Grad, NothingFlowsThroughNoGradVars) {
  const Tensor x = leaf(2), y = ops::multiply(x, x), z = ops::add(ops::scale(y, 10), x);
  const Tensor g = grad({&z, 1}, {&x, 1}, {}, true, false, false, {&y, 1})[0];
  EXPECT_EQ(elements(g), Floats{1});
  EXPECT_EQ(elements(gradient(z, x)), Floats{41});
}

ARGOSY_OP(probe_no_gradient, op::NoAttrs)
    .input("x")
    .output("out")
    .kernel("any", [](op::KernelFrame& f, const op::NoAttrs&) { op::copy_into(f.out[0], f.in[0]); })
    .gradient([](const op::GradCall&, const op::NoAttrs&) -> Tensors {
      ARGOSY_THROW(runtime) << "[probe_no_gradient] has none.";
    })
    .done();

TEST(Grad, RunsOnlyWhatLeadsToTheInputs) {
  const Tensor x = leaf(2), other = leaf(3);
  const Tensor y = ops::add(ops::multiply(x, x), probe_no_gradient_op(other));
  EXPECT_EQ(elements(gradient(y, x)), Floats{4});
  EXPECT_EQ(error_of(ErrorKind::runtime, [&] { gradient(y, other); }),
            "[probe_no_gradient] has none.");
  EXPECT_EQ(elements(gradient(y, x)), Floats{4});  // after an error as before
}

// --- threads ---

TEST(Threads, BackwardMayRunOnAnother) {
  const Tensor x = leaf(3), y = ops::multiply(x, x);
  std::thread([&] { run_backward(y); }).join();
  EXPECT_EQ(grad_values(x), Floats{6});
}

TEST(Threads, GraphsOfSeveralAtOnce) {
  const Tensor weight = leaf(counting({8, 8}, 1.0f));  // read by all, by grad() only
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const Tensor x = leaf(floats({1, 8}, Floats(8, static_cast<float>(t + i))));
        const Tensor y = ops::sum(ops::matmul(x, weight));
        const Tensor g = gradient(y, weight);
        EXPECT_EQ(elements(g), Floats(64, static_cast<float>(t + i)));
        run_backward(ops::multiply(x, x));
        EXPECT_EQ(grad_values(x), Floats(8, 2 * static_cast<float>(t + i)));
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_FALSE(grad_of(weight).defined());
}

TEST(Threads, GradModeIsOfOneThread) {
  op::GradMode off(false);
  std::thread([] {
    const Tensor x = leaf(1);
    EXPECT_TRUE(ops::add(x, x).requires_grad());
  }).join();
}

}  // namespace
}  // namespace argosy::autograd

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "argosy/op/dispatch.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/math/math.h"
#include "tests/cpp/autograd/leaf.h"
#include "tests/cpp/tensors.h"

// Leaves whose gradients are exchanged with other processes while backward goes on.
namespace argosy::autograd {
namespace {

using test::counting;
using test::elements;
using test::leaf;
using test::number;
using test::run_backward;
using Words = std::vector<std::string>;
using Floats = std::vector<float>;

// Writes down what happens in a pass.
struct Log {
  Words words;
  void exchange(const Tensor& t, const char* word) {
    slot(t).add_exchange([this, word] { words.push_back(word); });
  }
  void gradient_of(const Tensor& t, const char* word) {
    add_hook(t, [this, word](const Tensor&) {
      words.push_back(word);
      return Tensor();
    });
  }
};

TEST(Exchange, LeavesRunRightAfterTheirLastConsumer) {
  Log log;
  const Tensor x = number(2), a = leaf(3), b = leaf(5), c = leaf(7);
  const Tensor first = ops::multiply(x, a), second = ops::multiply(first, b);
  log.exchange(b, "b");
  log.exchange(c, "c");
  log.gradient_of(second, "second");
  log.gradient_of(first, "first");
  log.gradient_of(a, "a");
  run_backward(ops::multiply(second, c));
  EXPECT_EQ(log.words, (Words{"c", "second", "b", "first", "a"}));
  EXPECT_EQ(elements(grad_of(c)), Floats{30});
  EXPECT_EQ(elements(grad_of(a)), Floats{70});
}

TEST(Exchange, ASharedLeafWaitsForItsFirstMadeConsumer) {
  Log log;
  const Tensor w = leaf(3), v = leaf(2);
  const Tensor first = ops::multiply(number(2), w);
  const Tensor second = ops::multiply(first, v), third = ops::multiply(second, w);
  log.exchange(w, "w");
  log.exchange(v, "v");
  log.gradient_of(first, "first");
  run_backward(third);
  EXPECT_EQ(log.words, (Words{"v", "first", "w"}));
  EXPECT_EQ(elements(grad_of(w)), Floats{2 * 2 * 2 * 3});  // of 2 * w * v * w
}

TEST(Exchange, AConsumerOutsideOfThePassIsNotWaitedFor) {
  Log log;
  const Tensor w = leaf(3);
  const Tensor other = ops::multiply(number(2), w), y = ops::multiply(number(4), w);
  log.exchange(w, "w");
  run_backward(y);
  EXPECT_EQ(log.words, Words{"w"});
  run_backward(other);
  EXPECT_EQ(log.words, (Words{"w", "w"}));
  EXPECT_EQ(elements(grad_of(w)), Floats{6});
}

TEST(Exchange, ALeafCanBeTheRoot) {
  Log log;
  const Tensor w = leaf(3);
  log.exchange(w, "w");
  run_backward(w);
  EXPECT_EQ(log.words, Words{"w"});
}

TEST(Exchange, EndsWhenItIsRemoved) {
  const Tensor w = leaf(3);
  EXPECT_FALSE(leaves_are_exchanged());
  int calls = 0;
  const uint64_t id = slot(w).add_exchange([&] { ++calls; });
  EXPECT_TRUE(leaves_are_exchanged());
  EXPECT_TRUE(slot(w).remove_exchange(id));
  EXPECT_FALSE(slot(w).remove_exchange(id));
  EXPECT_FALSE(leaves_are_exchanged());
  run_backward(ops::scale(w, 2));
  EXPECT_EQ(calls, 0);
  {
    const Tensor dies = leaf(1);
    slot(dies).add_exchange([] {});
    EXPECT_TRUE(leaves_are_exchanged());
  }
  EXPECT_FALSE(leaves_are_exchanged());
}

TEST(Exchange, ComesAfterWhatChangesTheGradient) {
  Log log;
  const Tensor w = leaf(3);
  log.exchange(w, "exchange");
  slot(w).after.push_back([&] { log.words.push_back("after"); });
  run_backward(ops::scale(w, 2));
  EXPECT_EQ(log.words, (Words{"after", "exchange"}));
}

TEST(Exchange, WhoTouchesAGradientWaitsForWhatIsUnderWay) {
  const Tensor w = leaf(3);
  int waits = 0;
  const auto begin = [&] { slot(w).under_way = [&] { ++waits; }; };
  run_backward(ops::scale(w, 2));
  begin();
  EXPECT_EQ(elements(grad_of(w)), Floats{2});
  EXPECT_EQ(waits, 1);
  static_cast<void>(grad_of(w));  // it has ended
  EXPECT_EQ(waits, 1);
  begin();
  run_backward(ops::scale(w, 2));
  EXPECT_EQ(waits, 2);
  begin();
  set_grad(w, number(1));
  EXPECT_EQ(waits, 3);
  begin();
  clear_grad(w, true);
  EXPECT_EQ(waits, 4);
}

// x * w, which writes down of which factors gradients are computed.
class LoggedProduct final : public Node {
 public:
  LoggedProduct(Log& log, const char* word, const Tensor& x, const Tensor& w)
      : log_(log), word_(word), x_(x), w_(w) {
    edges.push_back(edge_to(x));
    edges.push_back(edge_to(w));
  }
  const char* name() const override { return "product"; }
  bool computes_apart() const override { return true; }
  Tensors backward(std::span<const Tensor> dys, const bool* needs) override {
    const std::string factors = std::string(needs[0] ? "x" : "") + (needs[1] ? "w" : "");
    log_.words.push_back(word_ + (" d" + factors));
    op::GradMode off(false);
    return {needs[0] ? ops::multiply(dys[0], w_) : Tensor(),
            needs[1] ? ops::multiply(dys[0], x_) : Tensor()};
  }
  void release_saved() override {
    released_ = true;
    log_.words.push_back(word_ + std::string(" over"));
  }
  bool released() const override { return released_; }

 private:
  Log& log_;
  const std::string word_;
  const Tensor x_, w_;
  bool released_ = false;
};

Tensor product(Log& log, const char* word, const Tensor& x, const Tensor& w) {
  Tensor y = ops::multiply(x.detach(), w.detach());
  tie(y, Ref<Node>::share(make_ref<LoggedProduct>(log, word, x, w).get()), 0);
  return y;
}

TEST(Exchange, AProductGivesTheGradientOfAWeightFirst) {
  Log log;
  const Tensor x = leaf(2), v = leaf(3), w = leaf(5);
  log.exchange(v, "v");
  log.exchange(w, "w");
  run_backward(product(log, "2", product(log, "1", x, v), w));
  EXPECT_EQ(log.words, (Words{"2 dw", "w", "2 dx", "2 over", "1 dw", "v", "1 dx", "1 over"}));
  EXPECT_EQ(elements(grad_of(x)), Floats{15});
  EXPECT_EQ(elements(grad_of(v)), Floats{10});
  EXPECT_EQ(elements(grad_of(w)), Floats{6});
}

TEST(Exchange, AProductIsNotSplitWithoutExchange) {
  Log log;
  const Tensor x = leaf(2), w = leaf(5), other = leaf(1);
  run_backward(product(log, "all", x, w));
  log.exchange(other, "other");
  run_backward(ops::add(product(log, "all", x, w), other));
  EXPECT_EQ(log.words, (Words{"all dxw", "all over", "other", "all dxw", "all over"}));
}

TEST(Exchange, AProductWithTheCastOfAWeightIsSplit) {
  Log log;
  const Tensor x = ops::scale(leaf(2), 1), w = leaf(5);
  log.exchange(w, "w");
  run_backward(product(log, "1", x, ops::scale(w, 1)));
  EXPECT_EQ(log.words, (Words{"1 dw", "w", "1 dx", "1 over"}));
}

TEST(Exchange, AProductWithACastMadeBeforeIsNotSplit) {
  Log log;
  const Tensor w = leaf(5), cast = ops::scale(w, 1);
  const Tensor given = leaf(2), x = ops::scale(given, 1);
  log.exchange(w, "w");
  run_backward(product(log, "1", x, cast));
  EXPECT_EQ(log.words, (Words{"1 dxw", "1 over", "w"}));
  EXPECT_EQ(elements(grad_of(given)), Floats{5});
}

TEST(Exchange, AWeightThatIsAddedToAgainIsNotWaitedFor) {
  Log log;
  const Tensor x = leaf(2), w = leaf(3);
  log.exchange(w, "w");
  run_backward(product(log, "2", product(log, "1", x, w), w));
  EXPECT_EQ(log.words, (Words{"2 dxw", "2 over", "1 dw", "w", "1 dx", "1 over"}));
  EXPECT_EQ(elements(grad_of(w)), Floats{12});
  EXPECT_EQ(elements(grad_of(x)), Floats{9});
}

TEST(Exchange, WhatMayWriteAWeightComesAfterItsProduct) {
  Log log;
  const Tensor x = leaf(2), w = leaf(3);
  log.exchange(w, "w");
  slot(w).after.push_back([&] { *w.detach().data<float>() = 0; });
  run_backward(product(log, "1", x, w));
  EXPECT_EQ(log.words, (Words{"1 dxw", "1 over", "w"}));
  EXPECT_EQ(elements(grad_of(x)), Floats{3});
}

TEST(Exchange, ASplitProductCanRunAgain) {
  Log log;
  const Tensor x = leaf(2), w = leaf(3);
  log.exchange(w, "w");
  const Tensor y = product(log, "1", x, w);
  run_backward(y, true);
  run_backward(y);
  EXPECT_EQ(log.words, (Words{"1 dw", "w", "1 dx", "1 dw", "w", "1 dx", "1 over"}));
  EXPECT_EQ(elements(grad_of(x)), Floats{6});
  EXPECT_EQ(elements(grad_of(w)), Floats{4});
}

// Both factors are exchanged, one of them once more than the other.
TEST(Exchange, EveryLeafOfAProductOfWeightsRunsOnce) {
  Log log;
  const Tensor v = leaf(2), w = leaf(3);
  log.exchange(v, "v");
  log.exchange(w, "w");
  const Tensor first = ops::scale(v, 2);
  run_backward(ops::add(first, product(log, "1", v, w)));
  EXPECT_EQ(log.words, (Words{"1 dw", "w", "1 dx", "1 over", "v"}));
  EXPECT_EQ(elements(grad_of(v)), Floats{5});
  EXPECT_EQ(elements(grad_of(w)), Floats{2});
}

TEST(Exchange, OpsThatAreProductsSayThatTheyComputeApart) {
  const Tensor a = leaf(2), b = leaf(3);
  const auto apart = [](const Tensor& t) { return edge_to(t).node->computes_apart(); };
  EXPECT_TRUE(apart(ops::multiply(a, b)));
  EXPECT_FALSE(apart(ops::add(a, b)));
  EXPECT_FALSE(apart(ops::divide(a, b)));
}

// Takes the gradient of w in parts, and writes down which, and the first element of each.
void take_parts(Log& log, const Tensor& w, std::vector<int64_t> ends) {
  log.exchange(w, "w");
  auto part = [&log, leaf = &slot(w), ends](size_t k) {
    const int64_t begin = k ? ends[k - 1] : 0;
    const float first = elements(leaf->grad)[static_cast<size_t>(begin * leaf->grad.dim(1))];
    log.words.push_back(std::to_string(k) + ": " + std::to_string(static_cast<int>(first)));
  };
  slot(w).parts = {ends, part};
}

TEST(Exchange, TheGradientOfAWeightIsTakenInParts) {
  Log log;
  const Tensor x = leaf(counting({3, 4})), w = leaf(counting({4, 2})), b = leaf(counting({2}));
  take_parts(log, w, {1, 3, 4});
  log.exchange(b, "b");
  log.gradient_of(x, "x");
  const Tensor y = ops::linear(x, w, b);
  run_backward(y, true);
  ASSERT_EQ(log.words.size(), 6u);  // b's place is that of w
  std::erase(log.words, "b");
  EXPECT_EQ(log.words, (Words{"0: 12", "1: 15", "2: 21", "w", "x"}));
  EXPECT_EQ(elements(grad_of(w)), (Floats{12, 12, 15, 15, 18, 18, 21, 21}));
  EXPECT_EQ(elements(grad_of(b)), (Floats{3, 3}));
  // Into what was cleared, and a second time.
  log.words.clear();
  clear_grad(w, true);
  run_backward(y, true);
  EXPECT_EQ(log.words[0], "0: 12");
  EXPECT_EQ(elements(grad_of(w)), (Floats{12, 12, 15, 15, 18, 18, 21, 21}));
  // What is there is added to as a whole.
  log.words.clear();
  run_backward(y);
  EXPECT_EQ(std::ranges::count_if(log.words, [](auto& word) { return word.size() > 1; }), 0);
  EXPECT_EQ(elements(grad_of(w)), (Floats{24, 24, 30, 30, 36, 36, 42, 42}));
}

TEST(Exchange, RowsOfAStackTakeAllOfIt) {
  Log log;
  const Tensor x = counting({2, 3, 4}), w = leaf(counting({4, 2}));
  take_parts(log, w, {2, 4});
  run_backward(ops::linear(x, w, {}));
  EXPECT_EQ(log.words, (Words{"0: 60", "1: 72", "w"}));
  EXPECT_EQ(elements(grad_of(w)), (Floats{60, 60, 66, 66, 72, 72, 78, 78}));
}

// Hooks see whole gradients; what several nodes make, or another op, is a sum or has no rows.
TEST(Exchange, OtherGradientsAreNotTakenInParts) {
  const Tensor x = counting({3, 2});
  const auto words = [&](auto&& value, bool hooked = false) {
    Log log;
    const Tensor w = leaf(counting({2, 2}));
    take_parts(log, w, {1, 2});
    if (hooked) log.gradient_of(w, "hook");
    run_backward(value(w));
    return log.words;
  };
  const auto linear = [&](const Tensor& w) { return ops::linear(x, w, {}); };
  EXPECT_EQ(words(linear, true), (Words{"hook", "w"}));
  EXPECT_EQ(words([&](const Tensor& w) { return ops::linear(linear(w), w, {}); }), Words{"w"});
  EXPECT_EQ(words([&](const Tensor& w) { return ops::linear(w, w, {}); }), Words{"w"});
  EXPECT_EQ(words([&](const Tensor& w) { return ops::matmul(x, w); }), Words{"w"});
  EXPECT_EQ(words(linear), (Words{"0: 6", "1: 9", "w"}));
}

TEST(Exchange, GradDoesNotReachLeaves) {
  Log log;
  const Tensor w = leaf(3);
  log.exchange(w, "w");
  const Tensor y = ops::multiply(w, w);
  const Tensor dy = grad({&y, 1}, {&w, 1}, {}, true, true, false, {})[0];
  EXPECT_TRUE(log.words.empty());
  run_backward(ops::multiply(dy, dy));  // 4 w^2
  EXPECT_EQ(log.words, Words{"w"});
  EXPECT_EQ(elements(grad_of(w)), Floats{24});
}

}  // namespace
}  // namespace argosy::autograd

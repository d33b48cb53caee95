#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "argosy/ops/math/math.h"
#include "tests/cpp/autograd/leaf.h"
#include "tests/cpp/tensors.h"

// Leaves whose gradients are exchanged with other processes while backward goes on.
namespace argosy::autograd {
namespace {

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

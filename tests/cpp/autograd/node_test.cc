#include "argosy/autograd/node.h"

#include <gtest/gtest.h>

#include "argosy/autograd/engine.h"
#include "argosy/autograd/saved_hooks.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/ops/sparse/sparse.h"
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
using test::tensor;
using Floats = std::vector<float>;

Floats grad_values(const Tensor& x) {
  const Tensor g = grad_of(x);
  return g.defined() ? elements(g) : Floats();
}

// --- leaves and edges ---

TEST(Tape, LeavesAndWhatIsMadeOfThem) {
  const Tensor x = leaf(1), y = ops::scale(x, 2);
  EXPECT_TRUE(is_leaf(x));
  EXPECT_FALSE(is_leaf(y));
  EXPECT_TRUE(is_leaf(number(1)));
  EXPECT_FALSE(edge_to(number(1)).node);
  EXPECT_FALSE(edge_to(Tensor()).node);
  EXPECT_EQ(edge_to(x).node.get(), &slot(x));
  EXPECT_STREQ(edge_to(x).node->name(), "accumulate");
  EXPECT_STREQ(edge_to(y).node->name(), "scale");
}

TEST(Tape, ConsumersAreNewer) {
  const Tensor x = leaf(1), y = ops::scale(x, 2), z = ops::add(y, x);
  EXPECT_EQ(edge_to(x).node->order, 0u);
  EXPECT_GT(edge_to(y).node->order, edge_to(x).node->order);
  EXPECT_GT(edge_to(z).node->order, edge_to(y).node->order);
  EXPECT_EQ(edge_to(z).node->edges[0].node.get(), edge_to(y).node.get());
  EXPECT_EQ(edge_to(z).node->edges[1].node.get(), &slot(x));
}

// Takes what comes, counts.
struct Probe final : Node {
  explicit Probe(int* alive) : alive(alive) { ++*alive; }
  ~Probe() override { --*alive; }
  const char* name() const override { return "probe"; }
  Tensors backward(std::span<const Tensor> dys, const bool*) override {
    seen.assign(dys.begin(), dys.end());
    Tensors out;
    for (size_t i = 0; i < edges.size(); ++i) out.push_back(Tensor());
    return out;
  }
  std::vector<Tensor> seen;
  int* alive;
};

TEST(Tape, ANodeSeesUndefinedForOutputsThatWereNotUsed) {
  int alive = 0;
  Ref<Probe> probe = make_ref<Probe>(&alive);
  probe->outputs = 3;
  probe->edges.push_back(edge_to(leaf(1)));
  const Tensor outs[] = {number(1), number(2), number(3)};
  for (uint32_t i = 0; i < 3; ++i) tie(outs[i], Ref<Node>::share(probe.get()), i);
  run_backward(ops::add(ops::scale(outs[1], 5), outs[1]));
  ASSERT_EQ(probe->seen.size(), 3u);
  EXPECT_FALSE(probe->seen[0].defined());
  EXPECT_EQ(elements(probe->seen[1]), Floats{6});
  EXPECT_FALSE(probe->seen[2].defined());
}

TEST(Tape, NodesDieWithTheirLastResult) {
  int alive = 0;
  {
    Tensor last;
    for (int i = 0; i < 100000; ++i) {
      Ref<Probe> probe = make_ref<Probe>(&alive);
      if (last.defined()) probe->edges.push_back(edge_to(last));
      last = number(1);
      tie(last, Ref<Node>::share(probe.get()), 0);
    }
    EXPECT_EQ(alive, 100000);
  }
  EXPECT_EQ(alive, 0);
}

// --- the gradient of a leaf ---

TEST(LeafGradient, IsSetAndDropped) {
  const Tensor x = leaf(2);
  EXPECT_FALSE(grad_of(x).defined());
  set_grad(x, number(5));
  run_backward(ops::scale(x, 3));
  EXPECT_EQ(grad_values(x), Floats{8});
  clear_grad(x, false);
  EXPECT_FALSE(grad_of(x).defined());
  run_backward(ops::scale(x, 3));
  EXPECT_EQ(grad_values(x), Floats{3});
}

TEST(LeafGradient, ClearedToZero) {
  const Tensor x = leaf(counting({2}));
  clear_grad(x, true);  // there is none
  EXPECT_FALSE(grad_of(x).defined());
  run_backward(ops::scale(x, 3));
  clear_grad(x, true);
  EXPECT_EQ(grad_values(x), (Floats{0, 0}));
  run_backward(ops::scale(x, 4));
  EXPECT_EQ(grad_values(x), (Floats{4, 4}));
  clear_grad(x, true);
  run_backward(ops::scale(x, 5));  // takes the place of zeros that nobody read
  EXPECT_EQ(grad_values(x), (Floats{5, 5}));
}

TEST(LeafGradient, IsItsOwnEvenOfAStridedGradient) {
  const Tensor x = leaf(counting({2, 3}));
  const Tensor y = ops::transpose(x, {1, 0}), seed[] = {counting({3, 2})};
  backward({&y, 1}, seed, false);
  EXPECT_TRUE(grad_of(x).is_contiguous());
  EXPECT_EQ(grad_values(x), (Floats{0, 2, 4, 1, 3, 5}));
}

TEST(LeafGradient, TheSlotOutlivesItsLeaf) {
  Tensor x = leaf(2);
  const Tensor y = ops::scale(x, 3);
  Ref<Accumulate> kept = Ref<Accumulate>::share(&slot(x));
  x = Tensor();
  run_backward(y);
  EXPECT_EQ(elements(kept->grad), Floats{3});
}

TEST(LeafGradient, AfterCallbacksRunOnceAPassWithTheSum) {
  const Tensor x = leaf(2);
  std::vector<Floats> seen;
  slot(x).after.push_back([&] { seen.push_back(grad_values(x)); });
  const Tensor y = ops::add(ops::scale(x, 3), ops::scale(x, 4));
  run_backward(y, true);
  run_backward(y);
  EXPECT_EQ(seen, (std::vector<Floats>{{7}, {14}}));
}

// --- hooks ---

TEST(Hooks, SeeTheSumOnceInTheOrderOfTheirRegistration) {
  const Tensor x = leaf(2), y = ops::scale(x, 1);
  std::vector<std::pair<int, float>> calls;
  auto hook = [&](int which, float factor) {
    return [&calls, which, factor](const Tensor& g) {
      calls.emplace_back(which, *g.data<float>());
      return factor ? ops::scale(g, factor) : Tensor();
    };
  };
  add_hook(y, hook(1, 10));
  add_hook(y, hook(2, 0));  // keeps it
  add_hook(y, hook(3, 100));
  run_backward(ops::add(ops::scale(y, 3), ops::scale(y, 4)));
  EXPECT_EQ(calls, (std::vector<std::pair<int, float>>{{1, 7}, {2, 70}, {3, 70}}));
  EXPECT_EQ(grad_values(x), Floats{7000});
}

TEST(Hooks, OfALeafChangeWhatIsAdded) {
  const Tensor x = leaf(2);
  add_hook(x, [](const Tensor& g) { return ops::negative(g); });
  run_backward(ops::scale(x, 3));
  run_backward(ops::scale(x, 4));
  EXPECT_EQ(grad_values(x), Floats{-7});
}

TEST(Hooks, AreOfTheOutputTheyWereMadeFor) {
  const Tensor x = leaf(counting({4}));
  const Tensors parts = ops::split(x, {2, 2}, 0);
  int calls = 0;
  add_hook(parts[1], [&](const Tensor& g) {
    ++calls;
    return ops::scale(g, 10);
  });
  run_backward(ops::add(parts[0], ops::scale(parts[1], 2)));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(grad_values(x), (Floats{1, 1, 20, 20}));
  run_backward(ops::split(x, {2, 2}, 0)[0]);
  EXPECT_EQ(calls, 1);
}

TEST(Hooks, AreRemoved) {
  const Tensor x = leaf(2);
  const uint64_t id = add_hook(x, [](const Tensor& g) { return ops::scale(g, 10); });
  EXPECT_TRUE(remove_hook(x, id));
  EXPECT_FALSE(remove_hook(x, id));
  run_backward(ops::scale(x, 3));
  EXPECT_EQ(grad_values(x), Floats{3});
}

TEST(Hooks, MayRemoveThemselves) {
  const Tensor x = leaf(2);
  int calls = 0;
  uint64_t id = 0;
  id = add_hook(x, [&](const Tensor&) {
    ++calls;
    remove_hook(x, id);
    return Tensor();
  });
  run_backward(ops::scale(x, 3));
  run_backward(ops::scale(x, 3));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(grad_values(x), Floats{6});
}

TEST(Hooks, NeedAGradient) {
  EXPECT_EQ(error_of(ErrorKind::runtime, [] { add_hook(counting({2}), nullptr); }),
            "Cannot register a hook on a tensor without gradient (stop_gradient=True): float32[2]. "
            "Do this: set stop_gradient=False first.");
}

TEST(Hooks, ErrorsEndThePass) {
  const Tensor x = leaf(2), y = ops::scale(x, 1);
  const uint64_t id =
      add_hook(y, [](const Tensor&) -> Tensor { ARGOSY_THROW(timeout) << "the hook failed"; });
  EXPECT_EQ(error_of(ErrorKind::timeout, [&] { run_backward(y, true); }), "the hook failed");
  EXPECT_FALSE(grad_of(x).defined());
  remove_hook(y, id);
  run_backward(y);
  EXPECT_EQ(grad_values(x), Floats{1});
}

TEST(Hooks, GradientsOfValuesWithinAreKeptOnce) {
  const Tensor x = leaf(2), y = ops::scale(x, 3), z = ops::multiply(y, y);
  retain_grad(y);
  retain_grad(y);
  retain_grad(x);  // a leaf has its own
  run_backward(z, true);
  EXPECT_EQ(grad_values(y), Floats{12});
  EXPECT_EQ(grad_values(x), Floats{36});
  EXPECT_FALSE(grad_of(z).defined());
  run_backward(z);
  EXPECT_EQ(grad_values(y), Floats{24});
}

// --- sums of gradients ---

TEST(AddGrads, Dense) {
  const Tensor a = counting({2}), b = floats({2}, {10, 20});
  const Tensor apart = add_grads(a, b, false);
  EXPECT_EQ(elements(apart), (Floats{10, 21}));
  EXPECT_EQ(elements(a), (Floats{0, 1}));
  EXPECT_TRUE(add_grads(a, b, true).is(a));  // its own
  EXPECT_EQ(elements(a), (Floats{10, 21}));
}

TEST(AddGrads, RowSparse) {
  const Tensor a = Tensor::row_sparse(tensor<int64_t>({2}, {2, 0}), counting({2, 2}, 1.0f), 4);
  const Tensor b = Tensor::row_sparse(tensor<int64_t>({1}, {2}), floats({1, 2}, {10, 20}), 4);
  const Tensor both = add_grads(a, b, false);
  EXPECT_EQ(both.layout(), Layout::row_sparse);
  EXPECT_EQ(both.shape(), Shape({4, 2}));
  EXPECT_EQ(elements(ops::to_dense(both)), (Floats{3, 4, 0, 0, 11, 22, 0, 0}));
  const Tensor dense = counting({4, 2}, 100.0f);
  for (const Tensor& sum : {add_grads(a, dense, false), add_grads(dense, a, false)}) {
    EXPECT_EQ(sum.layout(), Layout::strided);
    EXPECT_EQ(elements(sum), (Floats{103, 105, 102, 103, 105, 107, 106, 107}));
  }
}

TEST(AddGrads, OfALookUpThatIsUsedTwice) {
  const Tensor w = leaf(counting({4, 2}));
  const Tensor a = ops::embedding(tensor<int64_t>({2}, {1, 3}), w, -1, true),
               b = ops::embedding(tensor<int64_t>({1}, {3}), w, -1, true);
  run_backward(ops::add(ops::scale(ops::sum(a), 2), ops::sum(b)));
  const Tensor g = grad_of(w);
  EXPECT_EQ(g.layout(), Layout::row_sparse);
  EXPECT_EQ(elements(ops::to_dense(g)), (Floats{0, 0, 2, 2, 0, 0, 3, 3}));
}

// --- hooks of saved values ---

// Values kept elsewhere, as in a file.
struct Shelf {
  std::vector<Floats> packed;
  int unpacked = 0;
  std::shared_ptr<SavedHooks> hooks() {
    auto h = std::make_shared<SavedHooks>();
    h->pack = [this](const Tensor& t) {
      packed.push_back(elements(t));
      return std::make_shared<Tensor>(floats(t.shape(), elements(t)));
    };
    h->unpack = [this](void* kept) {
      ++unpacked;
      return *static_cast<Tensor*>(kept);
    };
    return h;
  }
};
struct WithHooks {
  explicit WithHooks(std::shared_ptr<const SavedHooks> h) { set_saved_hooks(std::move(h)); }
  ~WithHooks() { set_saved_hooks(nullptr); }
};

TEST(SavedValues, GoThroughTheHooks) {
  Shelf shelf;
  const Tensor x = leaf(floats({2}, {2, 3})), w = floats({2}, {5, 7});
  Tensor y;
  {
    WithHooks on(shelf.hooks());
    EXPECT_TRUE(has_saved_hooks());
    y = ops::multiply(x, w);
  }
  EXPECT_FALSE(has_saved_hooks());
  // x itself would be for w's gradient.
  EXPECT_EQ(shelf.packed, (std::vector<Floats>{{5, 7}}));
  w.data<float>()[0] = 50;  // the shelf has a copy
  run_backward(y);
  EXPECT_EQ(shelf.unpacked, 1);
  EXPECT_EQ(grad_values(x), (Floats{5, 7}));
}

TEST(SavedValues, ShapesAreNotHandedOver) {
  Shelf shelf;
  const Tensor x = leaf(1);
  WithHooks on(shelf.hooks());
  run_backward(ops::add(x, x));
  EXPECT_TRUE(shelf.packed.empty());
  EXPECT_EQ(grad_values(x), Floats{2});
}

TEST(SavedValues, HaveTheirHistoryForHigherDerivatives) {
  Shelf shelf;
  const Tensor x = leaf(2);
  Tensor y;
  {
    WithHooks on(shelf.hooks());
    y = ops::multiply(x, x);
  }
  const Tensor first = grad({&y, 1}, {&x, 1}, {}, true, true, false, {})[0];
  EXPECT_EQ(elements(grad({&first, 1}, {&x, 1}, {}, true, false, false, {})[0]), Floats{2});
}

TEST(SavedValues, MustComeBackInTheirForm) {
  auto hooks = std::make_shared<SavedHooks>();
  hooks->pack = [](const Tensor&) { return std::make_shared<int>(0); };
  hooks->unpack = [](void*) { return counting({3}); };
  const Tensor x = leaf(counting({2}));
  Tensor y;
  {
    WithHooks on(hooks);
    y = ops::multiply(x, x);
  }
  EXPECT_EQ(error_of(ErrorKind::invalid_argument, [&] { run_backward(y); }),
            "[saved_tensors_hooks] unpack_hook must give back what pack_hook got for `multiply`: "
            "expected a Tensor like float32[2], got float32[3]. Do this: return a Tensor of that "
            "shape and dtype.");
}

}  // namespace
}  // namespace argosy::autograd

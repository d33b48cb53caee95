#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "argosy/ops/activation/activation.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/passes/liveness.h"
#include "tests/cpp/passes/recorded.h"

// Passes for Programs with gradients: squares, relu_gradients, saved_values, recompute, remat,
// split_updates, fuse_slots.
namespace argosy::passes {
namespace {

using program::Role;
using test::counting;
using test::elements;
using test::floats;
using test::number;
using test::tensor;

size_t count(const Recorded& r, std::string_view name) {
  const Names list = r.ops();
  return static_cast<size_t>(std::count(list.begin(), list.end(), name));
}
const Operation* first_of(const Recorded& r, std::string_view name) {
  const Operation* found = nullptr;
  program::each_operation(r.program->main, [&](Operation& o) {
    if (!found && is(o, name)) found = &o;
  });
  return found;
}

Tensor fractions(const Shape& shape) {
  Tensor t = counting(shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = 0.01f * static_cast<float>(i % 97) - 0.4f;
  return t;
}

// --- squares ---

TEST(Squares, SumsAndMeansOfSquaresAreOneOperation) {
  Recorded r;
  const Tensor x = ops::exp(r.input(fractions({37, 5})));
  r.output(ops::sum(ops::multiply(x, x)));
  r.output(ops::mean(ops::square(x), {0}, true));
  EXPECT_TRUE(r.keeps_bits({"squares", "dead_code"}));
  EXPECT_EQ(r.ops(), (Names{"exp", "sum_squares", "sum_squares"}));
}

TEST(Squares, WhatIsReadOtherwiseStays) {
  Recorded r;
  const Tensor x = ops::exp(r.input(fractions({37, 5}))), squares = ops::square(x);
  r.output(ops::sum(squares));
  r.output(squares);
  r.output(ops::sum(ops::multiply(x, ops::negative(x))));
  EXPECT_FALSE(r.keeps_bits({"squares"}));
}

// --- relu_gradients ---

TEST(ReluGradients, AProductBeforeThemTakesThemIn) {
  Recorded r;
  const Tensor w1 = parameter(fractions({8, 6})), w2 = parameter(fractions({6, 4}));
  const Tensor x = r.input(fractions({5, 8}));
  const Tensor y = ops::matmul(ops::relu(ops::matmul(x, w1)), w2);
  r.output_gradients(ops::multiply(y, y), {w1, w2});
  EXPECT_EQ(count(r, "relu_grad"), 1u);
  EXPECT_TRUE(r.keeps_bits({"relu_gradients", "dead_code"}));
  EXPECT_EQ(count(r, "relu_grad"), 0u);
  EXPECT_EQ(count(r, "gated_matmul"), 1u);
}

// --- saved_values ---

// y = sin(u) * exp(w) in a branch. The gradient of u reads exp(w) alone; that of w sin(u), too.
size_t saved_in_vain(bool both) {
  Recorded r;
  program::Builder& b = r.program->builder();
  const Tensor u = parameter(number(0.5f)), w = parameter(number(0.25f)), x = r.input(number(2));
  const Tensor pred = ops::greater_than(x, number(1));
  b.begin_block();
  const Tensor yes = ops::multiply(ops::sin(u), ops::exp(w));
  program::Draft first = b.end_block({&yes, 1});
  b.begin_block();
  const Tensor no = ops::multiply(u, w);
  program::Draft second = b.end_block({&no, 1});
  const Tensor y = b.append_if(pred, std::move(first), std::move(second))[0], wrt[] = {u, w};
  const Tensors g = b.gradients({&y, 1}, {}, wrt);
  r.output(y);
  r.output(g[0]);
  if (both) r.output(g[1]);
  r.rewrite({"dead_code"});
  const Operation* forward = first_of(r, "if");
  const auto saves = [](const Operation& o) { return is(o, "array_extend"); };
  const auto& operations = forward->blocks[0]->operations;
  const auto extend =
      std::find_if(operations.begin(), operations.end(), [&](const auto& o) { return saves(*o); });
  if (extend == operations.end()) {
    ADD_FAILURE() << "the branch saves nothing";
    return 0;
  }
  EXPECT_EQ((*extend)->operands.size(), 3u);  // the array, sin(u) and exp(w)
  EXPECT_EQ(r.keeps_bits({"saved_values"}), !both);
  const auto out = r.run();
  EXPECT_FLOAT_EQ(elements(out[1])[0], std::cos(0.5f) * std::exp(0.25f));
  size_t empty = 0;
  program::each_operation(*forward->blocks[0], [&](Operation& o) {
    for (size_t i = 1; saves(o) && i < o.operands.size(); ++i)
      empty += made_by(o.operands[i], "array_new") != nullptr;
  });
  return empty;
}

TEST(SavedValues, WhatNoGradientReadsIsNotSaved) {
  EXPECT_EQ(saved_in_vain(true), 0u);
  EXPECT_EQ(saved_in_vain(false), 1u);
}

// --- recompute ---

// exp(sin(x) * w), squared: a segment, and its gradient.
void write_segment(Recorded& r, const Tensor& w) {
  program::Builder& b = r.program->builder();
  const Tensor x = r.input(fractions({64}));
  Tensor h = x;
  for (uint32_t i = 1; i <= 2; ++i) {
    b.segment = i;
    h = ops::exp(ops::multiply(ops::sin(h), w));
    b.segment = 0;
    h = ops::tanh(ops::add(h, h));
  }
  for (int i = 0; i < 4; ++i) h = ops::multiply(h, ops::cos(h));
  const Tensor loss = ops::sum(ops::multiply(h, h));
  r.output(loss);
  r.output_gradients(loss, {w});
}

TEST(Recompute, SegmentsAreComputedAgainForTheGradient) {
  Recorded r;
  write_segment(r, parameter(fractions({64})));
  const size_t before = count(r, "sin");
  EXPECT_TRUE(r.keeps_bits({"recompute", "dead_code"}));
  EXPECT_GT(count(r, "sin"), before);
  // The copies are of the backward pass, and only they are read there.
  size_t again = 0;
  for (const auto& o : r.program->main.operations)
    again += is(*o, "sin") && o->role == Role::backward && o->segment == 0;
  EXPECT_GE(again, 1u);
  for (const auto& o : r.program->main.operations) {
    if (o->role != Role::backward) continue;
    for (const Ref<Value>& v : o->operands)
      EXPECT_FALSE(v && v->producer && is(*v->producer, "sin") &&
                   v->producer->role == Role::forward);
  }
}

TEST(Recompute, RandomNumbersAreNotDrawnTwice) {
  Recorded r;
  program::Builder& b = r.program->builder();
  const Tensor w = parameter(fractions({64})), x = r.input(fractions({64}));
  b.segment = 1;
  const Tensor dropped = call("dropout", {ops::sin(ops::multiply(x, w))})[0];
  const Tensor h = ops::exp(ops::multiply(dropped, w));  // whose gradient reads what was dropped
  b.segment = 0;
  Tensor y = h;
  for (int i = 0; i < 6; ++i) y = ops::multiply(y, ops::tanh(y));
  r.output_gradients(ops::sum(y), {w});
  EXPECT_TRUE(r.keeps_bits({"recompute", "dead_code"}));
  EXPECT_EQ(count(r, "dropout_bits"), 1u);
  EXPECT_EQ(count(r, "sin"), 2u);
}

TEST(Recompute, WithoutSegmentsNothing) {
  Recorded r;
  const Tensor w = parameter(fractions({64})), x = r.input(fractions({64}));
  r.output_gradients(ops::exp(ops::multiply(x, w)), {w});
  EXPECT_FALSE(r.keeps_bits({"recompute"}));
}

// --- liveness and remat ---

TEST(LivenessOfValues, IsCountedByHand) {
  Recorded r;
  const Tensor x = r.input(counting({256}));   // fed: not counted
  const Tensor a = ops::exp(x);                // 1 KiB
  const Tensor b = ops::reshape(a, {16, 16});  // a view
  const Tensor c = ops::transpose(b, {1, 0});  // another
  r.output(ops::sum(ops::matmul(c, b)));       // 1 KiB, then 4 bytes
  r.end();
  const Liveness live(*r.program);
  const auto& operations = r.program->main.operations;
  ASSERT_EQ(operations.size(), 5u);
  const uint32_t exp = operations[0]->results[0]->id, view = operations[2]->results[0]->id,
                 product = operations[3]->results[0]->id, sum = operations[4]->results[0]->id;
  EXPECT_EQ(live.begin[exp], 0);
  EXPECT_EQ(live.end[exp], 3);  // through its views
  EXPECT_EQ(live.root[view], exp);
  EXPECT_EQ(live.size[view], 0);
  EXPECT_EQ(live.size[product], 1024);
  EXPECT_EQ(live.end[sum], 4);  // asked for
  EXPECT_EQ(live.bytes, (std::vector<int64_t>{1024, 1024, 1024, 2048, 1028}));
  EXPECT_EQ(live.peak, 2048u);
  EXPECT_EQ(live.at, 3u);
}

TEST(LivenessOfValues, UnknownSizesCountAsGiven) {
  Recorded r;
  r.output(ops::exp(r.input(counting({8, 3}), Shape{kUnknown, 3})));
  r.end();
  EXPECT_EQ(bytes_of(*r.program->outputs[0].value, 100), 1200);
  EXPECT_EQ(Liveness(*r.program, 100).peak, 1200u);
  EXPECT_EQ(Liveness(*r.program).peak, 16u * 12);
}

TEST(Remat, WhatIsCheapIsMadeAgainWhereThatLowersThePeak) {
  Recorded r;
  const Tensor w = parameter(fractions({32, 32})), x = r.input(fractions({512, 32}));
  Tensor h = x;
  for (int i = 0; i < 4; ++i) {
    h = ops::matmul(h, w);
    h = ops::multiply(ops::sigmoid(h), ops::tanh(h));  // values that are cheap to make again
  }
  r.output_gradients(ops::sum(ops::multiply(h, h)), {w});
  r.end();
  const size_t before = Liveness(*r.program).peak, operations = r.ops().size();
  EXPECT_TRUE(r.keeps_bits({"remat", "dead_code"}));
  EXPECT_LT(Liveness(*r.program).peak, before * 9 / 10);
  EXPECT_GT(r.ops().size(), operations);
}

TEST(Remat, SmallValuesAreNotWorthIt) {
  Recorded r;
  const Tensor w = parameter(fractions({4, 4})), x = r.input(fractions({8, 4}));
  const Tensor h = ops::matmul(ops::tanh(ops::sigmoid(ops::matmul(x, w))), w);
  r.output_gradients(ops::sum(ops::multiply(h, h)), {w});
  EXPECT_FALSE(r.keeps_bits({"remat"}));
}

// --- split_updates ---

TEST(SplitUpdates, LargeParametersAreUpdatedOnTheirOwn) {
  Recorded r;
  program::Builder& b = r.program->builder();
  const Tensor first = parameter(fractions({64, 64})), second = parameter(fractions({64, 64})),
               small = parameter(fractions({64}));
  const Tensor x = r.input(fractions({3, 64}));
  Tensor h = ops::add(ops::matmul(x, first), small);
  h = ops::matmul(ops::tanh(h), second);
  const Tensor loss = ops::sum(ops::multiply(h, h));
  const Tensor wrt[] = {first, second, small};
  const Tensors g = b.gradients({&loss, 1}, {}, wrt);
  b.role = Role::optimize;
  call("sgd_", {first, second, small, g[0], g[1], g[2]},
       [](op::AttrBox& a) {
         set_attr(a, "lr", op::Scalar(0.5));
         set_attr(a, "lr_scales", std::vector<double>{1, 2, 3});
       },
       {3, 6, 6});
  EXPECT_EQ(count(r, "sgd_"), 1u);
  EXPECT_TRUE(r.keeps_bits({"split_updates"}, {{"split_updates.bytes", "16384"}}));
  EXPECT_GE(count(r, "sgd_"), 2u);
  // The one whose gradient is made first is updated before the other's gradient is there.
  std::vector<size_t> places;
  std::vector<double> scales;
  for (const auto& o : r.program->main.operations) {
    if (!is(*o, "sgd_")) continue;
    places.push_back(o->ends[0]);
    for (double s : attr<std::vector<double>>(*o, "lr_scales")) scales.push_back(s);
  }
  std::sort(scales.begin(), scales.end());
  EXPECT_EQ(scales, (std::vector<double>{1, 2, 3}));  // each went along
  size_t sum = 0;
  for (size_t n : places) sum += n;
  EXPECT_EQ(sum, 3u);
}

TEST(SplitUpdates, SmallOnesStayTogether) {
  Recorded r;
  program::Builder& b = r.program->builder();
  const Tensor w = parameter(fractions({8})), v = parameter(fractions({8}));
  const Tensor x = r.input(fractions({8}));
  const Tensor loss = ops::sum(ops::multiply(ops::multiply(x, w), v)), wrt[] = {w, v};
  const Tensors g = b.gradients({&loss, 1}, {}, wrt);
  call("sgd_", {w, v, g[0], g[1]}, [](op::AttrBox& a) { set_attr(a, "lr", op::Scalar(0.5)); },
       {2, 4, 4});
  EXPECT_FALSE(r.keeps_bits({"split_updates"}));
}

// --- fuse_slots ---

TEST(FuseSlots, LookUpsThatAreJoinedAreOne) {
  Recorded r;
  const Tensor w = parameter(fractions({10, 4}));
  const Tensor a = r.input(tensor<int64_t>({3}, {1, 9, 1})),
               b = r.input(tensor<int64_t>({3}, {0, 2, 4}));
  const Tensor rows[] = {ops::embedding(a, w), ops::embedding(b, w)};
  r.output(ops::negative(ops::concat(rows, 1)));
  EXPECT_TRUE(r.keeps_bits({"fuse_slots", "dead_code"}));
  EXPECT_EQ(r.ops(), (Names{"embedding_pool", "negative"}));
}

TEST(FuseSlots, LookUpsThatAreReadOtherwiseStay) {
  Recorded r;
  const Tensor w = parameter(fractions({10, 4}));
  const Tensor a = r.input(tensor<int64_t>({3}, {1, 9, 1})),
               b = r.input(tensor<int64_t>({3}, {0, 2, 4}));
  const Tensor rows[] = {ops::embedding(a, w), ops::embedding(b, w)};
  r.output(ops::negative(ops::concat(rows, 1)));
  r.output(rows[0]);
  EXPECT_FALSE(r.keeps_bits({"fuse_slots"}));
}

// --- whole pipelines ---

TEST(Pipelines, KeepTheBitsOfATrainingStep) {
  for (const char* name : {"default", "train", "inference"}) {
    SCOPED_TRACE(name);
    Recorded r;
    const Tensor w1 = parameter(fractions({8, 6})), w2 = parameter(fractions({6, 4}));
    const Tensor x = r.input(fractions({5, 8}));
    const Tensor h = call("dropout", {ops::relu(ops::matmul(x, w1))})[0];
    const Tensor loss = ops::mean(ops::square(ops::softmax(ops::matmul(h, w2))));
    r.output(loss);
    r.output_gradients(loss, {w1, w2});
    const size_t before = r.ops().size();
    EXPECT_TRUE(r.keeps_bits(pipeline(name)));
    EXPECT_LT(r.ops().size(), before);
  }
}

}  // namespace
}  // namespace argosy::passes

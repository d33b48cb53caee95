#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "argosy/ops/activation/activation.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "tests/cpp/passes/recorded.h"

// algebraic, cse, dead_code, constant_folding.
namespace argosy::passes {
namespace {

using test::counting;
using test::elements;
using test::floats;
using test::number;
using test::tensor;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Values on which identities break that are none.
Tensor awkward() {
  return floats({2, 4}, {0.0f, -0.0f, 1.5f, -2.5f, kNan, kInf, -kInf, 1e-42f});
}

struct Rule {
  const char* name;
  std::function<Tensor(const Tensor&)> write;
  Names left;  // beside exp before and negative after it
};

void check(const Rule& rule, const Tensor& fed) {
  SCOPED_TRACE(rule.name);
  Recorded r;
  // What is fed and what is asked for are not replaced: the rule stands between.
  const Tensor x = ops::abs(r.input(fed));
  r.output(ops::negative(rule.write(x)));
  r.keeps_bits({"algebraic", "dead_code"});
  Names want{"abs"};
  want.insert(want.end(), rule.left.begin(), rule.left.end());
  want.push_back("negative");
  EXPECT_EQ(r.ops(), want);
}

Tensor transposed(const Tensor& x) {
  return ops::transpose(x, {1, 0});
}

TEST(Algebraic, IdentitiesGo) {
  const Rule rules[] = {
      {"x * 1", [](const Tensor& x) { return ops::multiply(x, number(1)); }, {}},
      {"1 * x", [](const Tensor& x) { return ops::multiply(number(1), x); }, {}},
      {"x / 1", [](const Tensor& x) { return ops::divide(x, number(1)); }, {}},
      {"x ** 1", [](const Tensor& x) { return ops::pow(x, number(1)); }, {}},
      {"x - 0.0", [](const Tensor& x) { return ops::subtract(x, number(0)); }, {}},
      {"x + -0.0", [](const Tensor& x) { return ops::add(x, number(-0.0f)); }, {}},
      {"x + zeros of -0.0",
       [](const Tensor& x) { return ops::add(x, floats({4}, std::vector<float>(4, -0.0f))); },
       {}},
      {"-(-x)", [](const Tensor& x) { return ops::negative(ops::negative(x)); }, {}},
      {"x.T.T", [](const Tensor& x) { return transposed(transposed(x)); }, {}},
      {"reshape and back",
       [](const Tensor& x) {
         return ops::reshape(ops::reshape(x, {8}), {2, 4});
       },
       {}},
      {"unsqueeze, squeeze",
       [](const Tensor& x) { return ops::squeeze(ops::unsqueeze(x, {1}), {1}); },
       {}},
      {"reshape twice",
       [](const Tensor& x) {
         return ops::reshape(ops::reshape(x, {8}), {4, 2});
       },
       {"reshape"}},
      {"a cast to a wider dtype and back",
       [](const Tensor& x) { return ops::cast(ops::cast(x, DType::float64), DType::float32); },
       {}},
      {"a cast by way of a wider dtype",
       [](const Tensor& x) { return ops::cast(ops::cast(x, DType::float64), DType::float16); },
       {"cast"}},
      {"a copy", [](const Tensor& x) { return ops::assign(x); }, {}},
      {"a whole slice", [](const Tensor& x) { return ops::slice(x, 1, 0, 4); }, {}},
      {"concat of one",
       [](const Tensor& x) {
         return ops::concat({&x, 1}, 0);
       },
       {}},
      {"expand to its own shape",
       [](const Tensor& x) {
         return ops::expand(x, {2, 4});
       },
       {}},
  };
  for (const Rule& rule : rules) check(rule, awkward());
}

TEST(Algebraic, WhatIsNoIdentityStays) {
  const Rule rules[] = {
      {"x + 0.0, which makes 0.0 of -0.0",
       [](const Tensor& x) { return ops::add(ops::negative(x), number(0)); },
       {"negative", "add"}},
      {"x - -0.0",
       [](const Tensor& x) { return ops::subtract(ops::negative(x), number(-0.0f)); },
       {"negative", "subtract"}},
      {"x * 2", [](const Tensor& x) { return ops::multiply(x, number(2)); }, {"multiply"}},
      {"1 / x", [](const Tensor& x) { return ops::divide(number(1), x); }, {"divide"}},
      {"1 - x", [](const Tensor& x) { return ops::subtract(number(0), x); }, {"subtract"}},
      {"x * 1 of another shape",
       [](const Tensor& x) {
         return ops::multiply(x, floats({3, 1, 1}, {1, 1, 1}));
       },
       {"multiply"}},
      {"x * (1, 2, 1, 1)",
       [](const Tensor& x) {
         return ops::multiply(x, floats({4}, {1, 2, 1, 1}));
       },
       {"multiply"}},
      {"one transpose", transposed, {"transpose"}},
      {"a cast to a narrower dtype and back",
       [](const Tensor& x) { return ops::cast(ops::cast(x, DType::float16), DType::float32); },
       {"cast", "cast"}},
      {"part of a slice", [](const Tensor& x) { return ops::slice(x, 1, 0, 3); }, {"slice"}},
      {"a slice with steps", [](const Tensor& x) { return ops::slice(x, 1, 0, 4, 2); }, {"slice"}},
  };
  for (const Rule& rule : rules) check(rule, awkward());
}

TEST(Algebraic, OfWholeNumbersZeroIsNeutral) {
  check({"x + 0", [](const Tensor& x) { return ops::add(x, tensor<int32_t>({}, {0})); }, {}},
        counting<int32_t>({3}, -1));
  check({"x - 0", [](const Tensor& x) { return ops::subtract(x, tensor<int32_t>({}, {0})); }, {}},
        counting<int32_t>({3}, -1));
}

TEST(Algebraic, TransposesJoin) {
  Recorded r;
  const Tensor x = r.input(counting({2, 3, 4}));
  r.output(ops::negative(ops::transpose(ops::transpose(x, {2, 0, 1}), {-1, 1, 0})));
  EXPECT_TRUE(r.keeps_bits({"algebraic", "dead_code"}));
  EXPECT_EQ(r.ops(), (Names{"transpose", "negative"}));
  EXPECT_EQ(attr<std::vector<int64_t>>(*r.program->main.operations[0], "perm"),
            (std::vector<int64_t>{1, 0, 2}));
}

TEST(Algebraic, WhatIsAskedForIsNotWhatWasFed) {
  Recorded r;
  const Tensor x = r.input(counting({3}));
  r.output(ops::multiply(x, number(1)));
  r.output(ops::assign(ops::exp(x)));
  EXPECT_TRUE(r.keeps_bits({"algebraic", "dead_code"}));
  // The copy of what the run makes is that; the product stays, since x is of whoever feeds it.
  EXPECT_EQ(r.ops(), (Names{"multiply", "exp"}));
}

TEST(Algebraic, FillsOfKnownSizesKeepNoOperand) {
  Recorded r;
  const Tensor x = r.input(counting({3})), y = ops::exp(x);
  r.output(ops::negative(ops::full_like(y, 2.5)));
  EXPECT_TRUE(r.keeps_bits({"algebraic", "dead_code"}));
  EXPECT_EQ(r.ops(), (Names{"full", "negative"}));
  Recorded unknown;
  const Tensor z = unknown.input(counting({3}), Shape{kUnknown});
  unknown.output(ops::negative(ops::full_like(ops::exp(z), 2.5)));
  EXPECT_FALSE(unknown.keeps_bits({"algebraic", "dead_code"}));
}

// --- cse ---

TEST(Cse, EqualOperationsAreOne) {
  Recorded r;
  const Tensor x = r.input(awkward());
  const Tensor a = ops::add(ops::exp(x), number(1)), b = ops::add(ops::exp(x), number(1));
  r.output(ops::multiply(a, b));
  EXPECT_TRUE(r.keeps_bits({"cse"}));
  EXPECT_EQ(r.ops(), (Names{"exp", "add", "add", "multiply"}));  // of two constants
  Recorded same;
  const Tensor y = same.input(awkward()), one = number(1);
  same.output(ops::multiply(ops::add(ops::exp(y), one), ops::add(ops::exp(y), one)));
  EXPECT_TRUE(same.keeps_bits({"cse"}));
  EXPECT_EQ(same.ops(), (Names{"exp", "add", "multiply"}));
}

TEST(Cse, AttributesAndOrderCount) {
  Recorded r;
  const Tensor x = r.input(counting({2, 3})), y = ops::exp(x);
  r.output(ops::add(ops::sum(x, {0}), ops::sum(x, {1}, true)));
  r.output(ops::add(ops::subtract(x, y), ops::subtract(y, x)));
  r.output(ops::add(ops::scale(x, 0.0), ops::scale(x, -0.0)));
  EXPECT_FALSE(r.keeps_bits({"cse"}));
}

TEST(Cse, RandomNumbersAreDrawnEachTime) {
  Recorded r;
  const Tensor x = r.input(counting({64}));
  r.output(ops::subtract(call("dropout", {x})[0], call("dropout", {x})[0]));
  EXPECT_FALSE(r.keeps_bits({"cse"}));
}

TEST(Cse, TwoThatAreAskedForStayTwo) {
  Recorded r;
  const Tensor x = r.input(counting({3}));
  r.output(ops::exp(x));
  r.output(ops::exp(x));
  EXPECT_FALSE(r.keeps_bits({"cse"}));
  EXPECT_EQ(r.ops().size(), 2u);
}

Tensor recorded_if(Recorded& r, const Tensor& pred, const std::function<Tensor()>& yes,
                   const std::function<Tensor()>& no) {
  program::Builder& b = r.program->builder();
  b.begin_block();
  const Tensor y = yes();
  program::Draft first = b.end_block({&y, 1});
  b.begin_block();
  const Tensor n = no();
  program::Draft second = b.end_block({&n, 1});
  return b.append_if(pred, std::move(first), std::move(second))[0];
}

TEST(Cse, BlocksAreWorldsOfTheirOwn) {
  Recorded r;
  const Tensor x = r.input(number(2)), pred = ops::greater_than(x, number(1));
  const Tensor twice = ops::exp(x);
  r.output(ops::add(twice, recorded_if(
                               r, pred, [&] { return ops::add(ops::exp(x), ops::exp(x)); },
                               [&] { return ops::exp(x); })));
  EXPECT_TRUE(r.keeps_bits({"cse"}));
  EXPECT_EQ(r.ops(), (Names{"greater_than", "exp", "if", "exp", "add", "exp", "add"}));
}

// --- dead_code ---

TEST(DeadCode, WhatNobodyReadsGoes) {
  Recorded r;
  const Tensor w = parameter(counting({3})), x = r.input(counting({3})), y = ops::exp(x);
  ops::multiply(ops::add(y, w), floats({3}, {1, 2, 3}));
  r.output(ops::negative(x));
  EXPECT_EQ(r.program->states.size(), 1u);
  EXPECT_EQ(r.program->constants.size(), 1u);
  EXPECT_TRUE(r.keeps_bits({"dead_code"}));
  EXPECT_EQ(r.ops(), Names{"negative"});
  EXPECT_TRUE(r.program->states.empty());
  EXPECT_TRUE(r.program->constants.empty());
  EXPECT_EQ(r.program->main.arguments.size(), 1u);  // whoever feeds keeps its places
  EXPECT_FALSE(r.rewrite({"dead_code"}));
}

TEST(DeadCode, DrawnNumbersStay) {
  Recorded r;
  const Tensor x = r.input(counting({16}));
  call("dropout", {x});
  r.output(call("dropout", {x})[0]);
  EXPECT_TRUE(r.keeps_bits({"dead_code"}));
  EXPECT_EQ(r.ops(), (Names{"dropout_bits", "dropout_bits", "dropout_apply_bits"}));
}

TEST(DeadCode, WrittenStateIsRead) {
  Recorded r;
  Tensor state = counting({3});
  state.impl()->persistable = true;
  const Tensor x = r.input(counting({3}));
  ops::add_(state, x);
  r.output(ops::negative(x));
  r.keeps_bits({"dead_code"});
  EXPECT_EQ(r.ops(), (Names{"add", "negative"}));
  EXPECT_EQ(r.program->states.size(), 1u);
}

TEST(DeadCode, ResultsAndArgumentsOfAnIf) {
  Recorded r;
  program::Builder& b = r.program->builder();
  const Tensor x = r.input(number(2)), y = r.input(number(3));
  const Tensor pred = ops::greater_than(x, number(0));
  b.begin_block();
  const Tensor first[] = {ops::exp(x), ops::add(y, y)};
  program::Draft yes = b.end_block(first);
  b.begin_block();
  const Tensor second[] = {x, ops::negative(y)};
  program::Draft no = b.end_block(second);
  const Tensors out = b.append_if(pred, std::move(yes), std::move(no));
  r.output(ops::negative(out[0]));
  EXPECT_TRUE(r.keeps_bits({"dead_code"}));
  EXPECT_EQ(r.ops(), (Names{"greater_than", "if", "exp", "negative"}));
  const Operation& o = *r.program->main.operations[1];
  EXPECT_EQ(o.results.size(), 1u);
  EXPECT_EQ(o.operands.size(), 2u);  // the predicate and x
  EXPECT_EQ(o.blocks[0]->arguments.size(), 1u);
}

TEST(DeadCode, CarriedValuesOfALoop) {
  Recorded r;
  program::Builder& b = r.program->builder();
  const Tensor x = r.input(number(2));
  const Tensor init[] = {ops::full({}, 0, DType::int64), x, ops::negative(x)};
  const Tensor limit = tensor<int64_t>({}, {3}), one = tensor<int64_t>({}, {1});
  b.begin_block();
  Tensor args[3];
  for (int i = 0; i < 3; ++i) args[i] = b.argument(init[i]);
  const Tensor go = ops::less_than(args[0], limit);
  program::Draft cond = b.end_block({&go, 1});
  b.begin_block();
  for (int i = 0; i < 3; ++i) args[i] = b.argument(init[i]);
  // The last is carried for nobody, though it reads the others.
  const Tensor next[] = {ops::add(args[0], one), ops::multiply(args[1], args[1]),
                         ops::add(args[2], args[1])};
  program::Draft body = b.end_block(next);
  r.output(b.append_while(init, std::move(cond), std::move(body))[1]);
  EXPECT_TRUE(r.keeps_bits({"dead_code"}));
  EXPECT_EQ(elements(r.run()[0]), std::vector<float>{256});
  EXPECT_EQ(r.ops(), (Names{"full", "while", "less_than", "add", "multiply"}));
  EXPECT_EQ(r.program->main.operations[1]->results.size(), 2u);
}

// --- constant_folding ---

TEST(ConstantFolding, WhatDependsOnNothingIsComputed) {
  Recorded r;
  const Tensor x = r.input(counting({2}));
  const Tensor c = ops::exp(ops::add(floats({2}, {0, 1}), ops::full({2}, 1, DType::float32)));
  r.output(ops::multiply(x, c));
  EXPECT_TRUE(r.keeps_bits({"constant_folding", "dead_code"}));
  EXPECT_EQ(r.ops(), Names{"multiply"});
  ASSERT_EQ(r.program->constants.size(), 1u);
  EXPECT_FLOAT_EQ(elements(r.program->constants[0].tensor)[1], std::exp(2.0f));
}

TEST(ConstantFolding, StateIsNotKnown) {
  Recorded r;
  const Tensor w = parameter(counting({2}));
  r.output(ops::exp(ops::add(w, floats({2}, {1, 2}))));
  EXPECT_FALSE(r.keeps_bits({"constant_folding"}));
}

// A tensor of the user counts as it is when the Program runs.
TEST(ConstantFolding, ConstantsThatOthersMayWriteAreNotKnown) {
  Recorded r;
  const Tensor x = r.input(counting({2})), c = floats({2}, {1, 2});
  r.output(ops::add(x, ops::exp(c)));
  r.end();
  r.program->constants[0].fixed = false;
  EXPECT_FALSE(r.keeps_bits({"constant_folding"}));
  r.program->constants[0].fixed = true;
  EXPECT_TRUE(r.keeps_bits({"constant_folding", "dead_code"}));
  EXPECT_EQ(r.ops(), Names{"add"});
}

// What is asked for is made by the run, and never is a constant.
TEST(ConstantFolding, WhatIsAskedForStays) {
  Recorded r;
  r.output(ops::exp(floats({2}, {1, 2})));
  EXPECT_FALSE(r.keeps_bits({"constant_folding"}));
}

TEST(ConstantFolding, LargeResultsAreNotKept) {
  for (const char* limit : {"4095", "4096"}) {
    Recorded r;
    const Tensor x = r.input(counting({1024}));
    r.output(ops::add(x, ops::exp(counting({1024}))));
    const bool folds = std::string(limit) == "4096";
    EXPECT_EQ(r.keeps_bits({"constant_folding"}, {{"constant_folding.limit", limit}}), folds);
  }
  for (const char* limit : {"4095", "4096"}) {
    Recorded r;
    const Tensor x = r.input(counting({1024}));
    r.output(ops::add(x, ops::full({1024}, 3, DType::float32)));
    const bool folds = std::string(limit) == "4096";
    EXPECT_EQ(r.keeps_bits({"constant_folding"}, {{"constant_folding.created", limit}}), folds);
  }
}

TEST(ConstantFolding, RandomNumbersAreNotConstants) {
  Recorded r;
  const Tensor x = r.input(counting({16}));
  r.output(ops::add(x, call("dropout", {counting({16})})[0]));
  r.keeps_bits({"constant_folding"});
  EXPECT_EQ(r.ops()[0], "dropout_bits");
}

TEST(ConstantFolding, SizesThatAreKnownGoIntoAttributes) {
  Recorded r;
  const Tensor x = r.input(counting({2, 3}));
  const Tensor n = ops::size_of(x, 1, DType::int64);
  op::IntArray shape{kUnknown, 2};
  shape.symbols.push_back({0, ops::add(n, tensor<int64_t>({}, {0}))});
  r.output(ops::negative(ops::reshape(ops::exp(x), shape)));
  EXPECT_TRUE(r.keeps_bits({"constant_folding", "dead_code"}));
  EXPECT_EQ(r.ops(), (Names{"exp", "reshape", "negative"}));
  const Operation& o = *r.program->main.operations[1];
  EXPECT_EQ(o.attr_operands, 0u);
  EXPECT_EQ(attr<op::IntArray>(o, "shape"), (op::IntArray{3, 2}));
  EXPECT_EQ(o.results[0]->shape, Shape({3, 2}));
}

TEST(ConstantFolding, TheBranchThatIsKnownIsTaken) {
  for (bool which : {true, false}) {
    Recorded r;
    const Tensor x = r.input(number(2)), pred = tensor<bool>({}, {which});
    r.output(ops::negative(recorded_if(
        r, pred, [&] { return ops::exp(x); }, [&] { return ops::add(x, x); })));
    EXPECT_TRUE(r.keeps_bits({"constant_folding", "dead_code"}));
    EXPECT_EQ(r.ops(), (Names{which ? "exp" : "add", "negative"}));
  }
}

TEST(ConstantFolding, WhatFailsIsLeftToTheRun) {
  Recorded r;
  const Tensor x = r.input(number(2));
  op::AttrBox attrs = default_attrs(op::get("gather"));
  const Tensor in[] = {counting({3}), tensor<int64_t>({1}, {5})};
  r.output(ops::add(x, op::dispatch(op::get("gather"), op::Inputs(in), attrs.get())[0]));
  EXPECT_NO_THROW(r.rewrite({"constant_folding"}));
  EXPECT_THROW(r.run(), Error);
}

}  // namespace
}  // namespace argosy::passes

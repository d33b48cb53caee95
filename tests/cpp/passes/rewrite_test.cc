#include "argosy/passes/rewrite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "tests/cpp/passes/recorded.h"

namespace argosy::passes {
namespace {

using test::counting;
using test::elements;
using test::floats;
using test::number;
using test::tensor;
using Floats = std::vector<float>;

// The operations called so, in order.
std::vector<Operation*> of(const Recorded& r, std::string_view name) {
  std::vector<Operation*> list;
  program::each_operation(r.program->main, [&](Operation& o) {
    if (is(o, name)) list.push_back(&o);
  });
  return list;
}

// Makes each `name` do nothing: its result is its operand. What replace() said.
std::vector<bool> leave_out(Recorded& r, std::string_view name) {
  r.end();
  std::vector<bool> replaced;
  Rewriter rewriter(*r.program);
  rewriter.walk([&](Operation& o) {
    if (!is(o, name)) return;
    replaced.push_back(rewriter.replace(o.results[0], o.operands[0]));
    if (replaced.back()) rewriter.erase();
  });
  r.program->verify();
  return replaced;
}

// --- the walk ---

TEST(Rewriter, VisitsEachOperationOnceOwnersFirst) {
  Recorded r;
  program::Builder& b = r.program->builder();
  const Tensor x = r.input(number(2)), pred = ops::greater_than(x, number(1));
  b.begin_block();
  const Tensor yes = ops::exp(x);
  program::Draft first = b.end_block({&yes, 1});
  b.begin_block();
  const Tensor no = ops::sin(x);
  program::Draft second = b.end_block({&no, 1});
  r.output(ops::negative(b.append_if(pred, std::move(first), std::move(second))[0]));
  r.end();
  Names visited;
  const uint64_t version = r.program->version();
  Rewriter rewriter(*r.program);
  rewriter.walk([&](Operation& o) { visited.push_back(o.op->name); });
  EXPECT_EQ(visited, (Names{"greater_than", "if", "exp", "sin", "negative"}));
  EXPECT_EQ(visited, r.ops());
  EXPECT_FALSE(rewriter.changed());
  EXPECT_EQ(r.program->version(), version);  // plans stay good
}

TEST(Rewriter, LaterOperandsAreWhatReplacementsMadeThem) {
  Recorded r;
  const Tensor x = r.input(counting({3})), y = ops::exp(x);
  Tensor z = y;
  for (int i = 0; i < 5; ++i) z = ops::assign(z);
  r.output(ops::multiply(z, ops::assign(z)));
  r.end();
  const uint64_t version = r.program->version();
  EXPECT_EQ(leave_out(r, "assign"), std::vector<bool>(6, true));
  EXPECT_EQ(r.ops(), (Names{"exp", "multiply"}));
  EXPECT_GT(r.program->version(), version);
  const Operation& product = *of(r, "multiply")[0];
  EXPECT_EQ(product.operands[0], of(r, "exp")[0]->results[0]);
  EXPECT_EQ(product.operands[1], product.operands[0]);
}

TEST(Rewriter, UsesAreCountedOn) {
  Recorded r;
  const Tensor x = r.input(counting({3})), y = ops::exp(x), z = ops::assign(y);
  r.output(ops::multiply(z, z));
  r.end();
  Rewriter rewriter(*r.program);
  rewriter.walk([&](Operation& o) {
    if (!is(o, "assign")) return;
    const Ref<Value> from = o.operands[0], to = o.results[0];
    EXPECT_EQ(rewriter.uses(from), 1u);
    EXPECT_EQ(rewriter.uses(to), 2u);
    ASSERT_TRUE(rewriter.replace(to, from));
    EXPECT_EQ(rewriter.uses(from), 3u);
    EXPECT_EQ(rewriter.uses(to), 0u);
    rewriter.erase();
    EXPECT_EQ(rewriter.uses(from), 2u);
  });
}

TEST(Rewriter, OperandsAreSetAndCounted) {
  Recorded r;
  const Tensor x = r.input(counting({3})), a = ops::exp(x), b = ops::sin(x);
  r.output(ops::subtract(a, b));
  r.end();
  Rewriter rewriter(*r.program);
  rewriter.walk([&](Operation& o) {
    if (!is(o, "subtract")) return;
    const Ref<Value> first = o.operands[0], second = o.operands[1];
    rewriter.set_operands(o, {second, first}, 0);
    rewriter.set_operand(o, 1, second);
    EXPECT_EQ(rewriter.uses(first), 0u);
    EXPECT_EQ(rewriter.uses(second), 2u);
  });
  r.program->verify();
  EXPECT_EQ(elements(r.run()[0]), Floats(3, 0));
}

TEST(Rewriter, AfterAnErrorNothingIsLost) {
  Recorded r;
  const Tensor x = r.input(counting({3}));
  r.output(ops::negative(ops::exp(ops::sin(x))));
  r.end();
  const Names before = r.ops();
  try {
    Rewriter rewriter(*r.program);
    rewriter.walk([&](Operation& o) { ARGOSY_CHECK(!is(o, "exp"), runtime) << "stop"; });
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "stop");
  }
  EXPECT_EQ(r.ops(), before);
  r.program->verify();
}

// --- what may stand in ---

TEST(Replace, OnlyOfTheSameType) {
  Recorded r;
  const Tensor x = r.input(counting({2, 3})), y = ops::exp(x);
  r.output(ops::negative(ops::cast(y, DType::float64)));
  r.output(ops::negative(ops::sum(y, {0})));
  r.output(ops::negative(ops::exp(y)));
  r.end();
  Rewriter rewriter(*r.program);
  std::vector<bool> answers;
  rewriter.walk([&](Operation& o) {
    if (is(o, "cast") || is(o, "sum")) {
      answers.push_back(rewriter.replace(o.results[0], o.operands[0]));
      answers.push_back(rewriter.replace(o.results[0], o.results[0]));  // itself
    }
  });
  EXPECT_EQ(answers, std::vector<bool>(4, false));
  EXPECT_FALSE(rewriter.changed());
}

TEST(Replace, WhatIsFedIsNotHandedOut) {
  Recorded r;
  const Tensor x = r.input(counting({4})), w = parameter(counting({4}));
  r.output(ops::assign(x));
  r.output(ops::assign(ops::reshape(x, {2, 2})));  // nor a view of it
  r.output(ops::assign(w));                        // nor state
  r.output(ops::assign(floats({1}, {3})));         // nor a constant
  r.output(ops::assign(ops::exp(x)));
  EXPECT_EQ(leave_out(r, "assign"), (std::vector<bool>{false, false, false, false, true}));
}

TEST(Replace, TwoThatLeaveShareNoMemory) {
  Recorded r;
  const Tensor x = r.input(counting({4})), y = ops::exp(x);
  r.output(y);
  r.output(ops::assign(y));
  const Tensor z = ops::sin(x);
  r.output(ops::assign(ops::reshape(z, {2, 2})));
  r.output(ops::assign(z));
  // z leaves once by way of its view, and not again.
  EXPECT_EQ(leave_out(r, "assign"), (std::vector<bool>{false, true, false}));
  const auto out = r.run();
  EXPECT_EQ(elements(out[0]), elements(out[1]));
}

TEST(Replace, WhatStateBecomesIsItsOwn) {
  Recorded r;
  Tensor state = counting({3});
  state.impl()->persistable = true;
  const Tensor x = r.input(counting({3})), y = ops::exp(x);
  r.program->builder().rebind(state, ops::assign(x));
  r.output(y);
  EXPECT_EQ(leave_out(r, "assign"), std::vector<bool>{false});
}

// What a branch yields leaves if the results of the `if` do.
TEST(Replace, ResultsOfBlocksLeave) {
  for (bool asked : {true, false}) {
    Recorded r;
    program::Builder& b = r.program->builder();
    const Tensor x = r.input(number(2)), pred = ops::greater_than(x, number(1));
    b.begin_block();
    const Tensor e = ops::exp(x), yes[] = {e, ops::assign(e)};
    program::Draft first = b.end_block(yes);
    b.begin_block();
    const Tensor no[] = {ops::sin(x), ops::cos(x)};
    program::Draft second = b.end_block(no);
    const Tensors out = b.append_if(pred, std::move(first), std::move(second));
    if (asked) {
      r.output(out[0]);
      r.output(out[1]);
    } else {
      r.output(ops::add(out[0], out[1]));
    }
    EXPECT_EQ(leave_out(r, "assign"), std::vector<bool>{!asked});
    EXPECT_FLOAT_EQ(elements(r.run()[0])[0], (asked ? 1 : 2) * std::exp(2.0f));
  }
}

// A kernel that adds up in the order of memory gives other bits for other strides.
TEST(Replace, StridesMayDecideRoundings) {
  for (bool sums : {true, false}) {
    Recorded r;
    const Tensor x = ops::exp(r.input(counting({2, 3})));
    const Tensor y = ops::assign(ops::transpose(x, {1, 0}));
    r.output(sums ? ops::sum(y) : ops::negative(y));
    EXPECT_EQ(leave_out(r, "assign"), std::vector<bool>{!sums});
  }
  // A view without other strides may stand in anywhere.
  Recorded r;
  const Tensor x = ops::exp(r.input(counting({2, 3})));
  r.output(ops::sum(ops::assign(ops::reshape(x, {3, 2}))));
  EXPECT_EQ(leave_out(r, "assign"), std::vector<bool>{true});
}

TEST(Replace, BothKnowTheSizesThatEitherKnew) {
  Recorded r;
  const Tensor x = r.input(counting({2, 3}), Shape{kUnknown, 3});
  const Tensor y = ops::exp(x), z = ops::reshape(y, {2, -1});
  r.output(ops::negative(z));
  r.end();
  Rewriter rewriter(*r.program);
  rewriter.walk([&](Operation& o) {
    if (is(o, "reshape") && rewriter.replace(o.results[0], o.operands[0])) rewriter.erase();
  });
  EXPECT_EQ(of(r, "exp")[0]->results[0]->shape, Shape({2, 3}));
}

// --- what is inserted ---

TEST(Insert, BeforeTheCurrentWithItsRoleAndPlace) {
  Recorded r;
  const Tensor x = r.input(counting({3}));
  r.program->builder().role = program::Role::optimize;
  r.output(ops::square(x));
  r.end();
  of(r, "square")[0]->location = "here.py:3";
  Rewriter rewriter(*r.program);
  rewriter.walk([&](Operation& o) {
    if (!is(o, "square")) return;
    const Ref<Value> operand = o.operands[0];
    EXPECT_TRUE(rewriter.replace_with(o.results[0], "multiply", {operand, operand},
                                      default_attrs(op::get("multiply"))));
    rewriter.erase();
  });
  r.program->verify();
  ASSERT_EQ(r.ops(), Names{"multiply"});
  const Operation& made = *r.program->main.operations[0];
  EXPECT_EQ(made.role, program::Role::optimize);
  EXPECT_EQ(made.location, "here.py:3");
  EXPECT_EQ(made.results[0]->shape, Shape({3}));
  EXPECT_EQ(elements(r.run()[0]), (Floats{0, 1, 4}));
}

TEST(Insert, CopiesHaveResultsOfTheirOwn) {
  Recorded r;
  const Tensor x = r.input(floats({2}, {1, 2})), y = r.input(floats({2}, {10, 20}));
  const Tensor s = ops::scale(x, 3);
  r.output(ops::add(s, y));
  r.end();
  const Operation* first = of(r, "scale")[0];
  Rewriter rewriter(*r.program);
  rewriter.walk([&](Operation& o) {
    if (is(o, "add"))
      rewriter.set_operand(o, 1, rewriter.insert_copy(*first, {o.operands[1]}).results[0]);
  });
  r.program->verify();
  EXPECT_EQ(r.ops(), (Names{"scale", "scale", "add"}));
  EXPECT_EQ(elements(r.run()[0]), (Floats{33, 66}));
}

// A constant within a loop or branch is passed in by its owner.
TEST(Insert, ConstantsOfBlocks) {
  Recorded r;
  program::Builder& b = r.program->builder();
  const Tensor x = r.input(number(2)), pred = ops::greater_than(x, number(1));
  b.begin_block();
  const Tensor yes = ops::exp(x);
  program::Draft first = b.end_block({&yes, 1});
  b.begin_block();
  const Tensor no = ops::sin(x);
  program::Draft second = b.end_block({&no, 1});
  r.output(b.append_if(pred, std::move(first), std::move(second))[0]);
  r.end();
  const Tensor five = number(5);
  Rewriter rewriter(*r.program);
  rewriter.walk([&](Operation& o) {
    if (!is(o, "exp")) return;
    const Ref<Value> c = rewriter.constant(five);
    EXPECT_EQ(c->block, o.parent);
    EXPECT_TRUE(rewriter.constant_of(c).is(five));
    rewriter.set_operand(o, 0, c);
  });
  r.program->verify();
  EXPECT_FLOAT_EQ(elements(r.run()[0])[0], std::exp(5.0f));
  EXPECT_EQ(of(r, "if")[0]->blocks[1]->arguments.size(), of(r, "if")[0]->operands.size() - 1);
}

TEST(InlineBlock, ABlockBecomesPartOfTheOther) {
  Recorded r;
  program::Builder& b = r.program->builder();
  const Tensor x = r.input(number(2)), pred = ops::greater_than(x, number(1));
  b.begin_block();
  // Yields one value twice, and what was fed: what leaves gets memory of its own.
  const Tensor e = ops::exp(x);
  const Tensor yes[] = {e, e, x};
  program::Draft first = b.end_block(yes);
  b.begin_block();
  const Tensor no[] = {x, x, x};
  program::Draft second = b.end_block(no);
  for (const Tensor& t : b.append_if(pred, std::move(first), std::move(second))) r.output(t);
  r.end();
  const auto want = r.run();
  Names visited;
  Rewriter rewriter(*r.program);
  rewriter.walk([&](Operation& o) {
    visited.push_back(o.op->name);
    if (!is(o, "if")) return;
    const std::vector<Ref<Value>> arguments(o.operands.begin() + 1, o.operands.end());
    rewriter.inline_block(*o.blocks[0], arguments);
  });
  r.program->verify();
  EXPECT_EQ(r.ops(), (Names{"greater_than", "exp", "assign", "assign"}));
  EXPECT_EQ(visited, (Names{"greater_than", "if", "exp", "assign", "assign"}));
  const auto got = r.run();
  ASSERT_EQ(got.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(elements(got[i]), elements(want[i]));
}

// --- what is known of values ---

TEST(Uniform, TheOneNumberOfAllElements) {
  Recorded r;
  const Tensor x = r.input(counting({2, 2}));
  const Tensor values[] = {ops::full({2, 2}, 2.5, DType::float32),
                           ops::ones_like(x),
                           ops::reshape(ops::expand(number(4), {4}), {2, 2}),
                           floats({2, 2}, {7, 7, 7, 7}),
                           floats({2, 2}, {7, 7, 7, 8}),
                           x,
                           ops::exp(x)};
  for (const Tensor& v : values) r.output(ops::add(x, v));
  r.end();
  std::vector<double> found;
  Rewriter rewriter(*r.program);
  rewriter.walk([&](Operation& o) {
    if (!is(o, "add")) return;
    const auto number = rewriter.uniform(o.operands[1]);
    found.push_back(number ? number->real() : -1);
  });
  EXPECT_EQ(found, (std::vector<double>{2.5, 1, 4, 7, -1, -1, -1}));
}

TEST(ReadsOnlyShape, IsTrueOfWhatItSays) {
  // Kernels of these ops on descriptions: they would not have anything to read.
  for (const char* name : {"shape", "numel", "full_like", "zeros_like", "ones_like"})
    EXPECT_TRUE((op::get(name).inputs[0].reads == op::Reads::shape)) << name;
  EXPECT_TRUE((op::get("sum_like").inputs[1].reads == op::Reads::shape));
  EXPECT_FALSE((op::get("sum_like").inputs[0].reads == op::Reads::shape));
  EXPECT_FALSE((op::get("add").inputs[0].reads == op::Reads::shape));
}

// --- pipelines ---

TEST(Pipeline, NamesAndErrors) {
  const auto list = all();
  for (size_t i = 1; i < list.size(); ++i) EXPECT_LT(std::string(list[i - 1]->name), list[i]->name);
  for (const Pass* pass : list) EXPECT_EQ(&get(pass->name), pass);
  for (const std::string& name : pipelines())
    for (const std::string& pass : pipeline(name)) EXPECT_NO_THROW(get(pass));
  EXPECT_NE(test::error_of(ErrorKind::invalid_argument, [] { get("csee"); })
                .find("[passes] there is no pass 'csee'. Do this: use one of algebraic, "),
            std::string::npos);
  EXPECT_EQ(
      test::error_of(ErrorKind::invalid_argument, [] { pipeline("fast"); }),
      "[passes] there is no pipeline 'fast'. Do this: use one of default train inference deploy "
      "load_exact load plan load_device plan_device.");
}

TEST(Pipeline, OptionsAreWholeNumbers) {
  PassContext c;
  c.options = {{"a.b", "12"}, {"a.c", "1x"}, {"a.d", ""}};
  EXPECT_EQ(c.number("a.b", 5), 12);
  EXPECT_EQ(c.number("a.none", 5), 5);
  EXPECT_EQ(c.option("a.none", "other"), "other");
  EXPECT_EQ(test::error_of(ErrorKind::invalid_argument, [&] { c.number("a.c", 5); }),
            "Option a.c of a pass must be a whole number, got '1x'.");
}

TEST(Pipeline, ReportsTellWhatEachPassDid) {
  Recorded r;
  const Tensor x = r.input(counting({3}));
  r.output(ops::exp(ops::negative(ops::negative(ops::sin(x)))));
  r.end();
  PassContext c;
  c.texts = true;
  std::vector<PassReport> reports;
  const Names names{"cse", "algebraic", "dead_code"};
  EXPECT_TRUE(run_pipeline(*r.program, names, c, &reports));
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_FALSE(reports[0].changed);
  EXPECT_TRUE(reports[0].before.empty());
  EXPECT_TRUE(reports[1].changed);
  EXPECT_EQ(reports[1].operations_before, 4u);
  EXPECT_EQ(reports[1].operations_after, 3u);
  EXPECT_NE(reports[1].before, reports[1].after);
  EXPECT_EQ(reports[2].operations_after, 2u);
  EXPECT_EQ(count_operations(*r.program), 2u);
}

TEST(Pipeline, ErrorsNameThePass) {
  Recorded r;
  r.output(ops::exp(r.input(counting({3}))));
  EXPECT_EQ(test::error_of(ErrorKind::invalid_argument,
                           [&] {
                             r.rewrite({"recompute"}, {{"recompute.segments", "5"}});
                           })
                .substr(0, 75),
            "In pass recompute: [recompute] recompute.segments must be ranges of operati");
}

}  // namespace
}  // namespace argosy::passes

#include <gtest/gtest.h>

#include <algorithm>

#include "argosy/op/op.h"
#include "argosy/passes/rewrite.h"
#include "argosy/ps/config.h"

// What descriptions of ops tell the split is what servers know.
namespace argosy::ps {
namespace {

// The place of an input, or that after the last.
size_t input_of(const op::OpDef& op, const std::string& name) {
  const auto found = std::find_if(op.inputs.begin(), op.inputs.end(),
                                  [&](const op::InputDef& in) { return in.name == name; });
  return static_cast<size_t>(found - op.inputs.begin());
}

op::UpdateRule rule_of(const op::OpDef& op) {
  op::UpdateRule rule;
  op.update_rule(rule, op.attrs->defaults);
  return rule;
}

TEST(Words, RulesOfOptimizersAreRulesOfTables) {
  int found = 0;
  for (const op::OpDef* op : op::all()) {
    if (!op->update_rule) continue;
    ++found;
    SCOPED_TRACE(op->name);
    const op::UpdateRule said = rule_of(*op);
    EXPECT_EQ(said.refused, "");
    ASSERT_GE(op->inputs.size(), 2u);
    EXPECT_EQ(op->inputs[0].name, "params");
    EXPECT_EQ(op->inputs[1].name, "grads");
    for (const bool rows : {false, true}) {
      TableConfig table;
      table.kind = rows ? "sparse" : "dense";
      table.size = 1;
      OptimizerConfig& rule = table.accessor.embedding;
      rule.rule = rows && !said.rows.empty() ? said.rows : said.name;
      for (const auto& [number, value] : said.numbers)
        EXPECT_TRUE(set_number(rule, number, value)) << number;
      for (const auto& [number, list] : said.switches) {
        EXPECT_TRUE(set_number(rule, number, 1)) << number;
        EXPECT_LT(input_of(*op, list), op->inputs.size()) << list;
      }
      EXPECT_NO_THROW(validate(table));
    }
    EXPECT_TRUE(said.powers.empty() || said.powers.size() == 2);
    for (const auto& [number, list] : said.powers) {
      EXPECT_TRUE(std::any_of(said.numbers.begin(), said.numbers.end(),
                              [&, &number = number](const auto& n) { return n.first == number; }))
          << number;
      const auto input = static_cast<uint32_t>(input_of(*op, list));
      EXPECT_NE(std::find(op->writes.begin(), op->writes.end(), input), op->writes.end()) << list;
    }
  }
  EXPECT_GE(found, 6);
}

TEST(Words, NumbersOfRulesGoByTheirNames) {
  OptimizerConfig rule;
  EXPECT_TRUE(set_number(rule, "beta1", 0.25));
  EXPECT_TRUE(set_number(rule, "nesterov", 1));
  EXPECT_EQ(rule.beta1, 0.25f);
  EXPECT_TRUE(rule.nesterov);
  EXPECT_FALSE(set_number(rule, "beta3", 1));
  EXPECT_FALSE(set_number(rule, "rule", 1));  // a text
}

TEST(Words, LookUpsHaveTheAttributesThatTheSplitReads) {
  int lookups = 0, gradients = 0;
  for (const op::OpDef* op : op::all()) {
    for (const op::Lookup& said : {op->lookup, op->lookup_gradient}) {
      if (!said) continue;
      SCOPED_TRACE(op->name);
      const op::AttrBox attrs = passes::default_attrs(*op);
      EXPECT_TRUE(passes::find_attr<int64_t>(attrs, "padding_idx"));
      EXPECT_TRUE(passes::find_attr<bool>(attrs, "sparse"));
      EXPECT_TRUE(passes::find_attr<bool>(attrs, "scale_grad_by_freq"));
      const auto inputs = static_cast<int32_t>(op->inputs.size());
      EXPECT_TRUE(0 <= said.table && said.table < inputs && said.ids < inputs);
      for (const op::InputDef& in : op->inputs) EXPECT_FALSE(in.list);
    }
    if (op->lookup) ++lookups;
    if (!op->lookup_gradient) continue;
    ++gradients;
    EXPECT_TRUE(0 <= op->lookup_gradient.dy &&
                op->lookup_gradient.dy < static_cast<int32_t>(op->inputs.size()))
        << op->name;
  }
  EXPECT_GE(lookups, 1);
  EXPECT_GE(gradients, 2);
}

TEST(Words, RangesOfInitializers) {
  int found = 0;
  for (const op::OpDef* op : op::all()) {
    if (!op->initial_range) continue;
    ++found;
    const std::optional<double> range = op->initial_range(op->attrs->defaults);
    EXPECT_TRUE(!range || *range >= 0) << op->name;
  }
  EXPECT_GE(found, 4);
}

}  // namespace
}  // namespace argosy::ps

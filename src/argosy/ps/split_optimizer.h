#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "argosy/program/program.h"
#include "argosy/ps/config.h"

// What the split reads of optimizer operations: lists with a place for each parameter.
namespace argosy::ps {

// One parameter's place in the lists of an optimizer operation.
struct UpdateEntry {
  program::Operation* operation;
  size_t place;

  const Ref<program::Value>& parameter() const;
  const Ref<program::Value>& gradient() const;
  std::vector<Ref<program::Value>> states() const;   // moments and the like
  std::vector<Ref<program::Value>> updated() const;  // results: the parameter, then the states
  double rate_scale() const;                         // factor on the learning rate
  double decay() const;                              // of the weight (AdamW)
  double l1() const;
  double l2() const;
};

// Is it a sum over data (data_norm) rather than a weight? Its table is a summary.
bool is_summary(const UpdateEntry& e);

// All entries of the main block, in order.
std::vector<UpdateEntry> read_updates(const program::Program& p);

// The rule of tables that does what the operation does, for `rows` what it does with row-sparse
// gradients. Throws if there is none.
void rule_of(const UpdateEntry& e, const std::string& name, bool rows, OptimizerConfig* rule);

// Where the states have the powers of the two numbers (Adam's betas) by which the rule corrects the
// moments' bias.
struct BiasPowers {
  Ref<program::Value> first, second;
  double beta1, beta2;
};
std::optional<BiasPowers> powers_of(const UpdateEntry& e);

// Leaves these places out of all lists; false if nothing would be left (nothing is done then).
bool drop_places(program::Operation& o, const std::set<size_t>& places);

}  // namespace argosy::ps

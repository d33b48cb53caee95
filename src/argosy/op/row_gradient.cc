#include "argosy/op/row_gradient.h"

#include <map>
#include <utility>

namespace argosy::op {
namespace {

// Written while libraries are loaded, read-only afterwards.
std::map<std::pair<std::string, size_t>, RowGradient>& rules() {
  static std::map<std::pair<std::string, size_t>, RowGradient> table;
  return table;
}
std::map<std::string, RowSourceOf>& sources() {
  static std::map<std::string, RowSourceOf> table;
  return table;
}

}  // namespace

bool gradient_by_rows(const std::string& op, size_t input, RowGradient rule) {
  return rules().emplace(std::pair(op, input), rule).second;
}

const RowGradient* row_gradient(const OpDef& op, size_t input) {
  const auto found = rules().find({op.name, input});
  return found == rules().end() ? nullptr : &found->second;
}

bool result_by_rows(const std::string& op, RowSourceOf fn) {
  return sources().emplace(op, fn).second;
}

std::optional<RowSource> row_source(const OpDef& op, const Inputs& in, const void* attrs) {
  const auto found = sources().find(op.name);
  return found == sources().end() ? std::nullopt : found->second(in, attrs);
}

}  // namespace argosy::op

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

}  // namespace

bool gradient_by_rows(const std::string& op, size_t input, RowGradient rule) {
  return rules().emplace(std::pair(op, input), rule).second;
}

const RowGradient* row_gradient(const OpDef& op, size_t input) {
  const auto found = rules().find({op.name, input});
  return found == rules().end() ? nullptr : &found->second;
}

}  // namespace argosy::op

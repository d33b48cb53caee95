#include "argosy/op/promotion.h"

#include <map>

#include "argosy/op/op.h"

namespace argosy::op {
namespace {

// Written while libraries are loaded, read-only afterwards.
std::map<std::string, Promotion>& table() {
  static std::map<std::string, Promotion> entries;
  return entries;
}

}  // namespace

bool promotes_kinds(const std::string& op) {
  return table()[op].kinds = true;
}
bool promotes_0d(const std::string& op) {
  return table()[op].zero_d = true;
}

Promotion promotion_of(const OpDef& op) {
  const auto found = table().find(op.name);
  return found == table().end() ? Promotion{} : found->second;
}

}  // namespace argosy::op

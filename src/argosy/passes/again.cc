#include "argosy/passes/again.h"

namespace argosy::passes {
namespace {

// From what, where that is not what it was made from; nothing where it is not to be repeated.
std::optional<op::Instead> instead_of(const Operation& o) {
  op::Instead instead;
  if (!o.op->again_from || o.op->again_from(instead, o.attrs.get())) return instead;
  return {};
}

}  // namespace

bool may_repeat(const Operation& o) {
  if (o.op->again_from) return !o.attr_operands && instead_of(o);
  if (!is_pure(*o.op) || !o.op->updates.empty() || !o.op->writes.empty()) return false;
  return o.op->elementwise || is_view(o) || o.op->again;
}

std::vector<Ref<Value>> sources_of(const Operation& o) {
  const auto instead = instead_of(o);
  if (!instead || instead->operands.empty()) return o.operands;
  std::vector<Ref<Value>> sources;
  for (int32_t k : instead->operands) {
    if (k == op::Instead::kNone)
      sources.emplace_back();
    else
      sources.push_back(k >= 0 ? o.operands[static_cast<size_t>(k)]
                               : o.results[static_cast<size_t>(-1 - k)]);
  }
  return sources;
}

Operation& insert_again(Rewriter& r, const Operation& o, std::vector<Ref<Value>> sources) {
  Operation& made = r.insert_copy(o, std::move(sources));
  auto instead = instead_of(o);
  if (!instead) return made;
  ARGOSY_CHECK(!instead->op, internal) << o.op->name << " is to be repeated as another op";
  if (instead->attrs.type()) made.attrs = std::move(instead->attrs);
  if (instead->results) made.results.resize(instead->results);
  return made;
}

}  // namespace argosy::passes

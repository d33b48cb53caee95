#include <unordered_map>

#include "argosy/passes/rewrite.h"

// Common subexpressions: of several operations that compute the same, the first stays.
namespace argosy::passes {
namespace {

size_t hash_of(const Operation& o) {
  size_t h = op::hash(*o.op->attrs, o.attrs.get()) ^ reinterpret_cast<uintptr_t>(o.op);
  for (const Ref<Value>& v : o.operands)
    h = (h ^ (v ? v->id + 1 : 0)) * 0x9e3779b97f4a7c15ull + (h >> 29);
  return h;
}

bool same_operation(const Operation& a, const Operation& b) {
  return a.op == b.op && a.operands == b.operands && a.ends == b.ends &&
         a.attr_operands == b.attr_operands && a.results.size() == b.results.size() &&
         op::equal(*a.op->attrs, a.attrs.get(), b.attrs.get());
}

// An operation of the gradient that repeats one of the forward pass may do so to save memory (see
// recompute): only what is small is kept alive for it.
constexpr int64_t kSmall = 1024;

bool may_merge(const Operation& first, const Operation& again) {
  if (first.role == again.role) return true;
  for (const Ref<Value>& v : first.results) {
    const int64_t n = v->shape.numel();
    if (n < 0 || n > kSmall) return false;
  }
  return true;
}

bool run(Program& p, const PassContext&) {
  Rewriter r(p);
  // Of each block that is open, by hash. Blocks only see their own values, so an operation in
  // another block never has the same operands; those without any are told apart by their block.
  std::unordered_multimap<size_t, Operation*> seen;
  r.walk([&](Operation& o) {
    // Arrays are made to be written.
    if (!is_pure(*o.op) || o.results.empty() || o.op->uninitialized ||
        o.results[0]->layout == Layout::tensor_array)
      return;
    const size_t h = hash_of(o);
    for (auto [it, end] = seen.equal_range(h); it != end; ++it) {
      Operation& first = *it->second;
      if (first.parent != o.parent || !same_operation(first, o) || !may_merge(first, o)) continue;
      bool all = true;
      for (size_t i = 0; i < o.results.size(); ++i)
        all &= r.uses(o.results[i]) == 0 || r.replace(o.results[i], first.results[i]);
      if (all) r.erase();
      return;
    }
    seen.emplace(h, &o);
  });
  return r.changed();
}

ARGOSY_PASS(cse, Rounding::kept,
            "Merges operations of one block that have the same op, operands and attributes (by "
            "bits). Never ops that draw random numbers; in the gradient, never large results of "
            "the forward pass, which may be computed twice on purpose.",
            run)

}  // namespace
}  // namespace argosy::passes

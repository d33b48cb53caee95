#pragma once

#include <vector>

#include "argosy/passes/rewrite.h"

// Computing again what an operation of the forward pass made, instead of keeping it.
namespace argosy::passes {

// Is it worth it, as its op says: elementwise operations, views, and OpDef::again?
ARGOSY_API bool may_repeat(const Operation& o);
// Such a one whose op has a rule for its cost does work that somebody has to allow.
inline bool is_work(const Operation& o) {
  return static_cast<bool>(o.op->cost);
}
// What the repetition reads.
ARGOSY_API std::vector<Ref<Value>> sources_of(const Operation& o);
// The repetition before the current operation; has at least the results that it was said to give.
ARGOSY_API Operation& insert_again(Rewriter& r, const Operation& o,
                                   std::vector<Ref<Value>> sources);

}  // namespace argosy::passes

#include "argosy/passes/rewrite.h"

// State that no run writes as constants.
namespace argosy::passes {
namespace {

bool run(Program& p, const PassContext& context) {
  const size_t before = p.states.size();
  std::erase_if(p.states, [&](const program::StateUse& s) {
    if (s.last || !s.initial) return false;
    Tensor value = s.state->tensor;
    program::Variable* held = nullptr;
    if (!value.defined() && context.scope) held = context.scope->find(s.state->name);
    if (held) value = held->tensor;
    if (!value.defined() || value.layout() != Layout::strided) return false;
    s.initial->shape = value.shape();
    p.constants.push_back({s.initial, value.detach(), true});
    if (held && context.owns_scope) held->tensor = Tensor();
    return true;
  });
  return p.states.size() != before;
}

ARGOSY_PASS(freeze_state, Rounding::meaning,
            "Parameters and buffers that the Program does not write become constants, so that "
            "other passes compute with them: for models whose state does not change any more. "
            "What is written to the state later is not seen.",
            run)

}  // namespace
}  // namespace argosy::passes

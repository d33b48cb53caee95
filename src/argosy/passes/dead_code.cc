#include "argosy/passes/pass.h"
#include "argosy/program/unread.h"

// Removes what nobody reads: operations, block arguments, carried values and results of `if` and
// `while`, and constants and state that are not used any more.
namespace argosy::passes {
namespace {

bool run(Program& p, const PassContext&) {
  std::vector<bool> live;
  const bool dropped = program::drop_unread(p, nullptr, &live);
  const bool constants = std::erase_if(p.constants, [&](const program::Constant& c) {
                           return !live[c.value->id];
                         }) != 0;
  // State that is neither read nor written.
  const bool states = std::erase_if(p.states, [&](const program::StateUse& s) {
                        return !s.last && !live[s.initial->id];
                      }) != 0;
  return dropped || constants || states;
}

ARGOSY_PASS(dead_code, Rounding::kept,
            "Removes operations whose results nobody reads, arguments, results and carried values "
            "of blocks likewise (so also what gradients saved in vain), and constants and state "
            "without use. Keeps what draws random numbers, does I/O or communicates.",
            run)

}  // namespace
}  // namespace argosy::passes

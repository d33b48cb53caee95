#pragma once

#include "argosy/program/program.h"

namespace argosy::program {

// As read_state, but undefined where it throws. Both may be called while other threads run Programs
// over the same Scope, and write_state puts other tensors there.
ARGOSY_API Tensor peek_state(const State& state, Scope* scope);

}  // namespace argosy::program

#pragma once

#include "argosy/program/program.h"

// Changes by hand to a Program that is being built. Each raises and changes nothing where the
// Program would be wrong afterwards; else the types of what follows are inferred again.
namespace argosy::program {

// Everything that used `from` uses `to`.
ARGOSY_API void redirect_uses(Program& p, const Ref<Value>& from, const Ref<Value>& to);
// Operand i of `o` becomes v.
ARGOSY_API void set_operand(Program& p, Operation& o, size_t i, const Ref<Value>& v);
// Takes out an operation whose results nobody uses.
ARGOSY_API void remove_operation(Program& p, Operation& o);
// Puts an operation before number `to` of the others in its block.
ARGOSY_API void move_operation(Program& p, Operation& o, size_t to);

}  // namespace argosy::program

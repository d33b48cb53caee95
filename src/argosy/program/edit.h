#pragma once

#include <functional>

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

// Which ops `decompose` opens.
using OpenWanted = std::function<bool(const op::OpDef&)>;
// Operations [begin, end) of the main block, and those of branches and loops among them, that are
// wanted and composed become what they are composed of, and so do these. Results are the values
// that they were. Operations stay that write, belong to gradients or updates, or were given what
// the composition refuses.
ARGOSY_API void decompose(Program& p, size_t begin, size_t end, const OpenWanted& wanted);

}  // namespace argosy::program

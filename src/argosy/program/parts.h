#pragma once

#include <memory>
#include <vector>

#include "argosy/program/builder.h"

// What an operation is composed of, recorded as a block and put in its place.
namespace argosy::program {

// Ends a block that `builder` is building, whose arguments stand for what an operation of
// `results` results was given, and in which its composition gave `out`. Each result that is there
// is made by an operation of its own; yields are null at the places of others.
Draft end_parts(Builder& builder, OpenBlock& block, Tensors out, size_t results);

// The operations of such a block, as operations of b that make o's results themselves: arguments
// become `given` (those that are there), and what was captured operands of all operations around.
// They are not appended to b.
std::vector<std::unique_ptr<Operation>> take_parts(Program& p, Block& b, const Operation& o,
                                                   std::span<const Ref<Value>> given, Draft& parts);

}  // namespace argosy::program

#pragma once

#include "argosy/runtime/plan.h"

// Program -> Program steps before planning: what becomes possible once sizes are known.
namespace argosy::runtime {

// Removes what neither `keep`, state, outputs of effects nor yields need.
void prune(program::Program& p, std::span<const Ref<program::Value>> keep);

// Infers all types from those of inputs and state, in order; attribute elements that are values
// become numbers where these are known by then; operations without a kernel for their operands are
// opened into their parts.
// Returns operations of blocks whose sizes do not fit; they may never run, and dispatch checks them
// if they do.
std::vector<const program::Operation*> specialize(program::Program& p, Place place);

// Random numbers, I/O or communication, also in nested blocks.
bool has_effect(const program::Operation& o);
// Whether an operation of the block does, or one of a nested block.
bool communicates(const program::Block& b);

// A tensor that has the form of v and no memory, as kernels' match functions read it. Its address
// is not null, so that offsets of views can be told.
Tensor prototype(const program::Value& v, Place place);

// Does dispatch open the op's composition for these operands?
bool is_opened(const op::OpDef& op, const op::Inputs& in, const void* attrs, Place place);

// Inside catch: throws the same error with the operation's source line and operands added.
[[noreturn]] void rethrow_at(const program::Operation& o, std::span<const Tensor> operands);

}  // namespace argosy::runtime

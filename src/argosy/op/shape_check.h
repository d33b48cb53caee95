#pragma once

#include <string>
#include <vector>

#include "argosy/op/op.h"

// Whether inputs that are said to be read for their shape only (Reads::shape) are. A kernel that
// reads more works in most runs, and in a plan reads memory that is another's by then.
namespace argosy::op {

// While it is on, each call of such an op is made twice more, with these inputs as they are and
// without their data, by its kernel and by its composition; results that differ raise, and so does
// an operand without data of another input. Calls of ops that write their inputs are not repeated.
ARGOSY_API void start_shape_check();
ARGOSY_API std::vector<std::string> stop_shape_check();  // what was checked: "sum_like.like"

// For WatchedCall.
void check_shape_only(const OpDef& op, const Inputs& in, const void* attrs);

}  // namespace argosy::op

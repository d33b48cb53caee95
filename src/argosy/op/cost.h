#pragma once

#include "argosy/op/op.h"

namespace argosy::op {

// What shapes say of a call: each input is read and each output written once, with one arithmetic
// operation for each element of the outputs, or as many as given.
ARGOSY_API Cost cost_of_shapes(const InferContext& c);
ARGOSY_API Cost cost_of_shapes(const InferContext& c, double operations);

// What a call takes: by the op's own rule, else by shapes. c.out is set.
ARGOSY_API Cost cost_of(const InferContext& c, const void* attrs);

}  // namespace argosy::op

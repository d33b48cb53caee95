#pragma once

#include "argosy/op/op.h"

// Images [n, c, h, w] whose channels lie last in memory, as convolutions of tensor cores take them.
// It is a matter of strides alone. Eager kernels give such results where they can, and lay them out
// themselves; plans ask before (Launcher::lays_last), and kernels find the strides set.
namespace argosy::cuda {

// Exactly so, and not contiguous.
bool lies_last(const Tensor& t);
// t itself if it lies so, else a copy that does.
Tensor lying_last(const Tensor& t);

// Does this output lie so, or can it still get these strides: memory that nobody else knows of?
bool may_lie_last(const Tensor& out);
// Gives it these strides. REQUIRES: may_lie_last.
void lay_last(Tensor& out);

// Whether a call of an op gives output 0 so, for plans; by name of the op. Elementwise ops follow
// their operands (follows_last).
using LaysLast = bool (*)(const op::Inputs& in, const void* attrs, const Tensor& out);
bool register_lays_last(const char* op, LaysLast lays);
LaysLast find_lays_last(const std::string& op);  // null: never
bool follows_last(const op::Inputs& in, const Tensor& out);

}  // namespace argosy::cuda

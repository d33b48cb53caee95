#pragma once

#include "argosy/op/op.h"

// Images [n, c, h, w] whose channels lie last in memory, as convolutions of tensor cores take them.
// It is a matter of strides alone. Eager kernels give such results where what they read lies so;
// those of a plan, whose memory is laid out before, do not.
namespace argosy::cuda {

// Exactly so, and not contiguous.
bool lies_last(const Tensor& t);
// t itself if it lies so, else a copy that does.
Tensor lying_last(const Tensor& t);

// Can this output still get other strides? Only memory that nobody else knows of.
bool may_lie_last(const Tensor& out);
// Gives it these strides. REQUIRES: may_lie_last.
void lay_last(Tensor& out);

}  // namespace argosy::cuda

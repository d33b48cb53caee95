#pragma once

#include "argosy/tensor/tensor.h"

namespace argosy::ops::optim {

// Sum of the squares of a contiguous floating tensor, accumulated in double in an order that
// depends on the size alone.
double sum_of_squares(const Tensor& x);

}  // namespace argosy::ops::optim

#pragma once

#include "argosy/tensor/tensor.h"

namespace argosy::op {

// Whether writing x in place while a function is captured is refused, as eager mode refuses to
// write a leaf that needs a gradient. Set by the room `program` while the library loads.
extern ARGOSY_API bool (*refuses_recorded_write)(const Tensor& x);

}  // namespace argosy::op

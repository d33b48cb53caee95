#pragma once

#include "argosy/tensor/tensor.h"

namespace argosy {

// Copies elements of src to dst where they are not on the CPU. How is known to op/, which sets it
// while the library loads. Both have one shape and dtype.
extern ARGOSY_API void (*copy_on_device)(const Tensor& dst, const Tensor& src);

}  // namespace argosy

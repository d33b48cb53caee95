#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Resizing of one to three spatial dims of dense tensors. Area interpolation is an adaptive average
// (pool.h).
namespace argosy::cpu {

enum class InterpMode : uint8_t { nearest, linear, cubic };  // linear: bi- and trilinear too

struct InterpShape {
  int dims = 2;                // spatial dims; the arrays below use the first `dims` entries
  bool channels_last = false;  // [N, spatial.., C] instead of [N, C, spatial..]
  int64_t batch = 0, channels = 0;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  // Where output k comes from, with r = in / out, or 1 / scale where scale is not 0:
  //   align_corners: k (in - 1) / (out - 1)     (nearest: rounded half up)
  //   else: r (k + 1/2) - 1/2; nearest, and linear if not half_pixel: r k    (nearest: rounded
  //   down)
  // computed in float32 whatever the dtype. A dim of one output takes it from the first element; if
  // no dim changes its size, y = x.
  bool align_corners = false;
  bool half_pixel = true;
  double scale[3] = {0, 0, 0};
  // linear and cubic: where a dim shrinks, its filter is stretched by r, so that every input
  // counts; centres are at r (k + 1/2), weights sum to 1, cubic with a = -1/2 (Pillow's resize).
  bool antialias = false;
};

// Floating dtypes (16-bit ones compute in float32); nearest forward: any dtype. Outputs are written
// whole.
ARGOSY_API void interp(DType dtype, InterpMode mode, const InterpShape& shape, const void* x,
                       void* y);
ARGOSY_API void interp_backward(DType dtype, InterpMode mode, const InterpShape& shape,
                                const void* dy, void* dx);

}  // namespace argosy::cpu

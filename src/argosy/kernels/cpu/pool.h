#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Pooling over one to three spatial dims of dense tensors, each channel on its own.
namespace argosy::cpu {

struct PoolShape {
  int dims = 2;                // spatial dims; the arrays below use the first `dims` entries
  bool channels_last = false;  // [N, spatial.., C] instead of [N, C, spatial..]
  // Windows cut the input into out[d] parts, overlapping where that does not divide: part o is
  // [floor(o * in / out), ceil((o + 1) * in / out)). kernel, stride and pad are not read.
  bool adaptive = false;
  int64_t batch = 0, channels = 0;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  int64_t pad[3] = {0, 0, 0};  // before the first element; `out` implies what is after the last
};

// Number of windows; ceil_mode counts one that only partly fits.
constexpr int64_t pool_out_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad_before,
                                int64_t pad_after, bool ceil_mode) {
  int64_t room = in + pad_before + pad_after - kernel + (ceil_mode ? stride - 1 : 0);
  return room < 0 ? 0 : room / stride + 1;
}

// What the sum of a window is divided by.
struct AverageDivisor {
  bool exclusive = true;  // the elements that are not padding; else padding counts, up to in + pad
  int64_t fixed = 0;      // if not 0: this
};

// Floating dtypes (16-bit ones compute in float32). Padding never wins; NaN does. indices, like y,
// gets each maximum's place in its channel's plane, flattened, the first of equals; may be null.
ARGOSY_API void max_pool(DType dtype, const PoolShape& shape, const void* x, void* y,
                         int32_t* indices);
// dx, zero but where `indices` point, is written whole.
ARGOSY_API void max_pool_backward(DType dtype, const PoolShape& shape, const void* dy,
                                  const int32_t* indices, void* dx);

ARGOSY_API void avg_pool(DType dtype, const PoolShape& shape, AverageDivisor divisor, const void* x,
                         void* y);
ARGOSY_API void avg_pool_backward(DType dtype, const PoolShape& shape, AverageDivisor divisor,
                                  const void* dy, void* dx);

// (sum x^p)^(1/p), p finite, no absolute value taken: NaN where the sum is negative and p is odd.
ARGOSY_API void lp_pool(DType dtype, const PoolShape& shape, double p, const void* x, void* y);
ARGOSY_API void lp_pool_backward(DType dtype, const PoolShape& shape, double p, const void* x,
                                 const void* y, const void* dy, void* dx);

}  // namespace argosy::cpu

#pragma once

#include "argosy/kernels/cpu/rows.h"
#include "argosy/op/define.h"

// What the normalizations share.
namespace argosy::ops {

inline DType statistics_dtype(DType x) {
  return x == DType::float64 ? x : DType::float32;
}

// Values of t (which may be undefined) in a dtype, contiguous and without history.
ARGOSY_API Tensor as_dtype(const Tensor& t, DType dtype);

// REQUIRES: at least 2 dimensions, [N, C, ..] or [N, .., C].
inline int channel_axis(const Tensor& x, bool channel_last) {
  return channel_last && x.rank() > 2 ? x.rank() - 1 : 1;
}

// How channels lie in memory.
ARGOSY_API cpu::ChannelNorm channel_layout(const Tensor& x, bool channel_last);
// The axes of a channel's statistics, and the shape in which a number for each channel broadcasts
// over x.
struct ChannelAxes {
  ChannelAxes(const Tensor& x, bool channel_last) {
    const int channel = channel_axis(x, channel_last);
    for (int i = 0; i < x.rank(); ++i)
      if (i != channel) axes.values.push_back(i);
    for (int i = channel + 1; i < x.rank(); ++i) spread.values.push_back(1);
  }
  op::IntArray axes, spread{-1};
};
// running = momentum * running + (1 - momentum) * batch, in running's own dtype and memory.
ARGOSY_API void update_running(const char* op, const Tensor& running, const Tensor& batch,
                               double momentum);

inline void* raw_or_null(const Tensor& t) {
  return t.defined() ? t.raw() : nullptr;
}

// Of gradients whose outputs 1 and 2 are those of weight and bias, a number for each channel: sizes
// of these two (0: not wanted), and zeros in them where x has no elements (then true).
ARGOSY_API void infer_parameter_grads(op::InferContext& c, bool channel_last, bool bias);
ARGOSY_API bool zero_parameter_grads(op::KernelFrame& f);

// Checks that a parameter has `size` elements (kUnknown: any).
ARGOSY_API void check_parameter(const char* op, const char* name, const Tensor& t, int64_t size,
                                const Shape& x);

// The gradient of y = (x - mean) / sqrt(variance + epsilon) over `axes` from g, the gradient of y,
// in ops; also what y is.
struct Normalized {
  Tensor y, dx;
};
ARGOSY_API Normalized normalize_parts(const Tensor& x, const Tensor& g, const op::IntArray& axes,
                                      double epsilon, bool centered);

// The gradients of that dx, which is linear in g, and of y: from h, the gradient of dx, and t, the
// gradient of y (either may be undefined), those of x and g.
struct NormalizedGrads {
  Tensor y, dx, dg;
};
ARGOSY_API NormalizedGrads normalize_parts_grad(const Tensor& x, const Tensor& g, const Tensor& h,
                                                const Tensor& t, const op::IntArray& axes,
                                                double epsilon, bool centered);
// The sum of two gradients, either of which may be undefined.
ARGOSY_API Tensor sum_of(const Tensor& a, const Tensor& b);

// Compositions compute 16-bit floats in float32.
ARGOSY_API Tensor widened(const Tensor& t);

}  // namespace argosy::ops

#include "argosy/ops/norm/parts.h"

#include <algorithm>

#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {

Tensor as_dtype(const Tensor& t, DType dtype) {
  if (!t.defined()) return t;
  if (t.dtype() == dtype) return op::contiguous(t);
  Tensor out = Tensor::empty(t.shape(), dtype, t.place());
  op::copy_into(out, t);
  return out;
}

cpu::ChannelNorm channel_layout(const Tensor& x, bool channel_last) {
  const int64_t channels = x.dim(channel_axis(x, channel_last));
  if (channel_last) return {x.dtype(), x.numel() / channels, channels, 1};
  return {x.dtype(), x.dim(0), channels, x.numel() / std::max<int64_t>(1, x.dim(0) * channels)};
}

void update_running(const char* op, const Tensor& running, const Tensor& batch, double momentum) {
  Tensor mixed = as_dtype(running, batch.dtype());
  if (mixed.raw() == running.raw()) {
    mixed = Tensor::empty(batch.shape(), batch.dtype(), batch.place());
    op::copy_into(mixed, running);
  }
  dispatch_types<float, double>(batch.dtype(), [&]<class T>(T) {
    const T keep = static_cast<T>(momentum);
    for (int64_t i = 0; i < batch.numel(); ++i)
      mixed.data<T>()[i] = keep * mixed.data<T>()[i] + (1 - keep) * batch.data<T>()[i];
  });
  op::copy_into(running, mixed);
  running.wrote(op);
}

void infer_parameter_grads(op::InferContext& c, bool channel_last, bool bias) {
  const Tensor &x = c.in[0], &weight = c.in[1];
  const DType wide = statistics_dtype(x.dtype());
  expect_rank(c, 0, 2, kMaxRank);
  for (size_t statistic : {2, 3}) expect_dtype(c, statistic, wide);
  expect_shape(c, 4, x.shape());
  expect_dtype(c, 4, x.dtype());
  const int64_t channels = x.dim(channel_axis(x, channel_last));
  expect_size(c, 1, channels);
  c.out[1] = {{weight.defined() ? channels : 0}, wide};
  c.out[2] = {{bias ? channels : 0}, wide};
}

bool zero_parameter_grads(op::KernelFrame& f) {
  if (f.in[0].numel()) return false;
  for (size_t i = 1; i < 3; ++i)
    std::fill_n(static_cast<char*>(f.out[i].raw()), f.out[i].nbytes(), 0);
  return true;
}

void check_parameter(const char* op, const char* name, const Tensor& t, int64_t size,
                     const Shape& x) {
  if (!t.defined() || t.numel() < 0 || size < 0) return;
  ARGOSY_CHECK(t.numel() == size, invalid_argument)
      << '[' << op << "] " << name << " must have " << size << " elements for x " << x << ", got "
      << t << ". Do this: check num_features or normalized_shape of the layer, and data_format.";
}

Tensor widened(const Tensor& t) {
  return t.defined() && kHalf.has(t.dtype()) ? cast(t, DType::float32) : t;
}

namespace {

struct Standard {
  Standard(const Tensor& x, const op::IntArray& along, double epsilon, bool center)
      : axes(along), centered(center) {
    Tensor shifted = centered ? subtract(x, mean(x, axes, true)) : x;
    rstd = rsqrt(scale(mean(square(shifted), axes, true), 1, epsilon));
    y = multiply(shifted, rstd);
  }
  // The gradient of x from v, that of y; with_y is the mean of v y.
  Tensor back(const Tensor& v, const Tensor& with_y) const {
    Tensor rest = multiply(y, with_y);
    if (centered) rest = add(rest, mean(v, axes, true));
    return multiply(rstd, subtract(v, rest));
  }
  Tensor mean_product(const Tensor& a, const Tensor& b) const {
    return mean(multiply(a, b), axes, true);
  }
  const op::IntArray& axes;
  bool centered;
  Tensor rstd, y;
};

}  // namespace

Normalized normalize_parts(const Tensor& x, const Tensor& g, const op::IntArray& axes,
                           double epsilon, bool centered) {
  Standard s(x, axes, epsilon, centered);
  return {s.y, s.back(g, s.mean_product(g, s.y))};
}

NormalizedGrads normalize_parts_grad(const Tensor& x, const Tensor& g, const Tensor& h,
                                     const Tensor& t, const op::IntArray& axes, double epsilon,
                                     bool centered) {
  Standard s(x, axes, epsilon, centered);
  Tensor dx, dg;
  if (h.defined()) {
    // sum(h dx) = n rstd (mean(h g) - mean(h) mean(g) - mean(g y) mean(h y)), n the numbers of a
    // mean; the gradient of rstd is -rstd^2 y / n.
    Tensor gy = s.mean_product(g, s.y), hy = s.mean_product(h, s.y), hg = s.mean_product(h, g);
    if (centered) hg = subtract(hg, multiply(mean(h, axes, true), mean(g, axes, true)));
    dg = s.back(h, hy);
    Tensor by_y = add(multiply(gy, dg), multiply(hy, s.back(g, gy)));
    Tensor by_rstd = multiply(multiply(s.rstd, subtract(hg, multiply(gy, hy))), s.y);
    dx = negative(multiply(s.rstd, add(by_rstd, by_y)));
  }
  if (t.defined()) dx = sum_of(dx, s.back(t, s.mean_product(t, s.y)));
  return {s.y, dx, dg};
}

Tensor sum_of(const Tensor& a, const Tensor& b) {
  return !a.defined() ? b : b.defined() ? add(a, b) : a;
}

}  // namespace argosy::ops

#include <algorithm>
#include <limits>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/op/define.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/operands.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;

// --- sums over neighbouring channels ---

void window_run(KernelFrame& f, const ChannelWindowAttrs& a) {
  const Tensor& x = f.in[0];
  const Tensor& out = f.out[0];
  if (x.numel() == 0) return;
  const int axis = normalize_axis("channel_window_sum", a.axis, x.rank());
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) (i < axis ? outer : inner) *= x.dim(i);
  const int64_t n = x.dim(axis);
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
    parallel_for(outer * n, std::max<int64_t>(1, 16384 / inner), [&](int64_t begin, int64_t end) {
      std::vector<Sum> sum(static_cast<size_t>(inner));
      for (int64_t row = begin; row < end; ++row) {
        const int64_t c = row % n, first = std::max<int64_t>(0, c - a.before),
                      last = std::min(n - 1, c + a.after);
        std::fill(sum.begin(), sum.end(), Sum(0));
        for (int64_t k = first; k <= last; ++k) {
          const T* from = x.data<T>() + (row - c + k) * inner;
          for (int64_t i = 0; i < inner; ++i) sum[static_cast<size_t>(i)] += Sum(from[i]);
        }
        T* to = out.data<T>() + row * inner;
        for (int64_t i = 0; i < inner; ++i) to[i] = T(sum[static_cast<size_t>(i)]);
      }
    });
  });
}

void window_infer(InferContext& c, const ChannelWindowAttrs& a) {
  expect_rank(c, 0, 1, kMaxRank);
  normalize_axis(c.name(), a.axis, c.in[0].rank());
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  ARGOSY_CHECK(0 <= a.before && a.before <= kMost && 0 <= a.after && a.after <= kMost,
               invalid_argument)
      << '[' << c.name() << "] before and after must be from 0 to " << kMost << ", got " << a.before
      << " and " << a.after << ". Do this: correct them.";
}

// Linear, so the gradient is the window seen from the other side.
Tensors window_grad(const GradCall& c, const ChannelWindowAttrs& a) {
  const ChannelWindowAttrs mirrored{a.axis, a.after, a.before};
  return op::dispatch(c.op, Inputs({&c.dy(), 1}), &mirrored);
}

ARGOSY_OP(channel_window_sum, ChannelWindowAttrs)
    .doc("For each position the sum of x from `before` places before it on axis to `after` behind.")
    .input("x", kFloating)
    .output("out")
    .infer(window_infer)
    .kernel("rows", window_run)
    .gradient(window_grad)
    .done();

// --- local response normalization ---

struct ResponseAttrs {
  int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, k = 1;
  bool channel_last = false;
};
ARGOSY_ATTRS(ResponseAttrs, size, alpha, beta, k, channel_last)

void response_infer(InferContext& c, const ResponseAttrs& a) {
  ARGOSY_CHECK(c.in[0].rank() >= 3, invalid_argument)
      << "[local_response_norm] x must have at least 3 dimensions, got " << c.in[0]
      << ". Do this: unsqueeze x.";
  ARGOSY_CHECK(a.size >= 1, invalid_argument)
      << "[local_response_norm] size must be positive, got " << a.size << '.';
}

Tensors response_parts(const Inputs& in, const ResponseAttrs& a) {
  Tensor x = widened(in[0]);
  const int64_t axis = a.channel_last ? x.rank() - 1 : 1;
  Tensor sums =
      channel_window_sum_op(square(x), ChannelWindowAttrs{axis, a.size / 2, (a.size - 1) / 2});
  Tensor divisor = scale(sums, a.alpha / static_cast<double>(a.size), a.k);
  return cast(multiply(x, pow(divisor, -a.beta)), in[0].dtype());
}

ARGOSY_OP(local_response_norm, ResponseAttrs)
    .doc(
        "x / (k + alpha * m)^beta, m the mean of x^2 over `size` neighbouring channels, zeros "
        "beyond the ends.")
    .shape("x [*s] -> [*s]")
    .input("x", kFloating)
    .output("out")
    .infer(response_infer)
    .compose(response_parts)
    .done();

}  // namespace
}  // namespace argosy::ops

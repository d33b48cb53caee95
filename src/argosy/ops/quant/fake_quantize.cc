#include <algorithm>
#include <cmath>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/op/define.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/quant/quant.h"

// Rounding to the few numbers that integers of a width stand for, in training that is to get used
// to it.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;

constexpr int64_t kMostBits = 16;

void infer(InferContext& c, const FakeQuantizeAttrs& a) {
  ARGOSY_CHECK(1 <= a.bit_length && a.bit_length <= kMostBits, invalid_argument)
      << '[' << c.name() << "] bit_length: expected 1 to " << kMostBits << ", got " << a.bit_length
      << ". Do this: pass the width of the integers, such as 8.";
  ARGOSY_CHECK(a.round_type == 0 || a.round_type == 1, invalid_argument)
      << '[' << c.name()
      << "] round_type: expected 0 (halves to even) or 1 (halves away from zero), "
      << "got " << a.round_type << ". Do this: pass one of them.";
  const int rank = c.in[0].rank();
  ARGOSY_CHECK(-1 <= a.quant_axis && a.quant_axis < rank, invalid_argument)
      << '[' << c.name() << "] quant_axis: expected -1 (one scale) or an axis of x, got "
      << a.quant_axis << " for " << c.in[0] << ". Do this: correct it.";
  expect_size(c, 1, a.quant_axis < 0 ? 1 : c.in[0].dim(static_cast<int>(a.quant_axis)));
}

// x rounded to multiples of scale / steps.
template <class W>
class Rounding {
 public:
  Rounding(W scale, W steps, bool to_even) : scale_(scale), steps_(steps), to_even_(to_even) {
    constexpr W kTiny = W(1e-30), kInstead = W(1e-6);
    const W safe = scale <= kTiny ? scale + kInstead : scale;
    up_ = steps * (W(1) / safe);
  }

  template <class T>
  void run(const T* x, T* y, int64_t n) const {
    if (to_even_) {
      for (int64_t i = 0; i < n; ++i) {
        const W code = std::nearbyint(W(x[i]) * up_);
        y[i] = T(std::min(std::max(code, -steps_ - 1), steps_) * scale_ / steps_);
      }
    } else {
      // The largest number below 1/2: added to it, and to all smaller ones, it stays below 1.
      const W half = std::nextafter(W(0.5), W(0));
      for (int64_t i = 0; i < n; ++i) {
        const W code = up_ * std::min(std::max(W(x[i]), -scale_), scale_);
        y[i] = T(std::trunc(code + std::copysign(half, code)) * scale_ / steps_);
      }
    }
  }

 private:
  W scale_, steps_, up_;
  bool to_even_;
};

template <class W>
std::vector<W> numbers(const Tensor& t) {
  std::vector<W> values(static_cast<size_t>(t.numel()));
  dispatch_floating(t.dtype(), [&]<class T>(T) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = W(t.data<T>()[i]);
  });
  return values;
}

void run(KernelFrame& f, const FakeQuantizeAttrs& a) {
  const Tensor& x = f.in[0];
  const auto axis = static_cast<int>(a.quant_axis);
  int64_t inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const std::vector<W> scales = numbers<W>(f.in[1]);
    const auto channels = static_cast<int64_t>(scales.size());
    const W steps = static_cast<W>((int64_t{1} << (a.bit_length - 1)) - 1);
    constexpr int64_t kGrain = 1 << 14;
    parallel_for(x.numel(), kGrain, [&](int64_t begin, int64_t end) {
      int64_t channel = begin / inner % channels, stop = (begin / inner + 1) * inner;
      for (int64_t i = begin; i < end; i = stop, stop += inner) {
        const Rounding<W> rounding(scales[static_cast<size_t>(channel)], steps, a.round_type == 0);
        rounding.run(x.data<T>() + i, f.out[0].data<T>() + i, std::min(stop, end) - i);
        if (++channel == channels) channel = 0;
      }
    });
  });
}

// As if it did nothing: rounding has no slope to go by.
Tensors straight_through(const GradCall& c, const FakeQuantizeAttrs&) {
  return {c.dy(), Tensor()};
}

ARGOSY_OP(fake_quantize_dequantize, FakeQuantizeAttrs)
    .doc(
        "x rounded to multiples of scale / n with n = 2^(bit_length - 1) - 1, no further from zero "
        "than scale: what is left of x as integers of bit_length bits. One scale for all "
        "(quant_axis "
        "-1), or one for each place of an axis. The gradient of x passes as it is; scale has none.")
    .input("x", kFloating)
    .input("scale", kFloating)
    .output("out")
    .shape("x [*s], scale [*t] -> [*s]")
    .infer(infer)
    .kernel("loops", run)
    .gradient(straight_through)
    .done();

}  // namespace
}  // namespace argosy::ops

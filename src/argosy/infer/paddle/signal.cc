#include <cmath>

#include "argosy/infer/paddle/common.h"

// Fourier transforms and windows of signals.
namespace argosy::infer::paddle {
namespace {

Tensor as_complex(const Tensor& x) {
  return is_complex(x.dtype()) ? x : call("complex", {x, ops::zeros_like(x)});
}

// The transform of complex x, scaled by `normalization` for the points of its axes.
Tensor transform(const Node& n, const Tensor& x, const std::vector<int64_t>& axes, bool forward) {
  const std::string norm = n.text("normalization", "backward");
  const bool none = norm == (forward ? "backward" : "forward");
  n.expect(norm == "backward" || norm == "forward" || norm == "ortho",
           "normalization is not known");
  double scale = 1;
  Tensor factor;
  if (!none) {
    int64_t known = 1;
    for (const int64_t a : axes) {
      const int axis = n.axis(a, x.rank());
      if (x.dim(axis) >= 0) {
        known *= x.dim(axis);
      } else {
        const Tensor size = ops::size_of(x, axis, DType::float64);
        factor = factor.defined() ? ops::multiply(factor, size) : size;
      }
    }
    const double power = norm == "ortho" ? -0.5 : -1;
    scale = std::pow(static_cast<double>(std::max<int64_t>(known, 1)), power);
    if (factor.defined()) factor = ops::pow(factor, power);
  }
  Tensor y = call("fft_c2c", {x}, {{"axes", axes}, {"forward", forward}, {"scale", scale}});
  if (!factor.defined()) return y;
  const DType real = x.dtype() == DType::complex128 ? DType::float64 : DType::float32;
  return ops::multiply(y, as_complex(as(factor, real)));
}

void complex_to_complex(const Node& n) {
  n.out("Out", transform(n, n.in("X"), n.integers("axes"), n.flag("forward", true)));
}

// Of real numbers; `onesided`: the half of the last axis that is not the mirror image.
void real_to_complex(const Node& n) {
  const Tensor x = as_complex(n.in("X"));
  const std::vector<int64_t> axes = n.integers("axes");
  n.expect(!axes.empty(), "axes are missing");
  Tensor y = transform(n, x, axes, n.flag("forward", true));
  if (n.flag("onesided", true)) {
    const int last = n.axis(axes.back(), x.rank());
    if (x.dim(last) >= 0) {
      y = ops::slice(y, last, 0, x.dim(last) / 2 + 1);
    } else {
      const Tensor half = call("floor_divide", {ops::size_of(x, last, DType::int64),
                                                ops::constant(int64_t{2}, DType::int64)});
      const Tensor end = ops::add(half, ops::constant(int64_t{1}, DType::int64));
      op::IntArray to{kUnknown};
      to.symbols.push_back({0, end});
      y = ops::slice(y, last, op::IntArray{0}, to);
    }
  }
  n.out("Out", y);
}

// The half of a spectrum along the last of the axes to real numbers.
void complex_to_real(const Node& n) {
  Tensor x = n.in("X");
  std::vector<int64_t> axes = n.integers("axes");
  n.expect(!axes.empty(), "axes are missing");
  const int last = n.axis(axes.back(), x.rank());
  if (x.dim(last) < 0) n.need_sizes(x, "a spectrum whose length only a run knows");
  int64_t size = n.integer("last_dim_size", 0);
  if (size <= 0) size = 2 * (x.dim(last) - 1);
  n.expect(size > 0 && size / 2 + 1 <= x.dim(last), "last_dim_size does not fit the spectrum");
  const int64_t half = size / 2 + 1;
  x = ops::slice(x, last, 0, half);
  const bool forward = n.flag("forward");
  axes.pop_back();
  if (!axes.empty()) x = transform(n, x, axes, forward);
  const Tensor inner = ops::slice(x, last, 1, size - half + 1);
  const Tensor mirrored = call("flip", {call("conj", {inner})}, {{"axis", op::IntArray{last}}});
  x = ops::concat(std::array{x, mirrored}, last);
  n.out("Out", ops::real(transform(n, x, {last}, forward)));
}

// --- windows ---

Tensor whole(int64_t value) {
  return ops::constant(value, DType::int64);
}

// How many windows of `length`, `hop` apart, an axis of x has.
Tensor windows_along(const Node& n, const Tensor& x, int axis, int64_t length, int64_t hop) {
  n.expect(length > 0 && hop > 0, "the length and the distance of windows are positive");
  if (x.dim(axis) >= 0) {
    n.expect(x.dim(axis) >= length, "the signal is shorter than a window");
    return whole((x.dim(axis) - length) / hop + 1);
  }
  const Tensor room = ops::subtract(ops::size_of(x, axis, DType::int64), whole(length - hop));
  return call("floor_divide", {room, whole(hop)});
}

// Places [length, windows] of the elements of windows.
Tensor places_of(const Tensor& count, int64_t length, int64_t hop) {
  const Tensor starts = ops::multiply(count_up_to(count), whole(hop));
  return ops::add(ops::unsqueeze(count_up_to(whole(length)), {1}), starts);
}

// [.., N] to [.., length, windows], or with axis 0 [N, ..] to [windows, length, ..].
Tensor frames_of(const Node& n, const Tensor& x, int64_t length, int64_t hop, bool first) {
  const int axis = first ? 0 : x.rank() - 1;
  const Tensor places = places_of(windows_along(n, x, axis, length, hop), length, hop);
  return ops::take_slices(x, first ? ops::transpose(places, {1, 0}) : places, axis);
}

void frame(const Node& n) {
  const Tensor x = n.in("X");
  n.expect(x.rank() > 0, "a signal has a dimension");
  const int axis = n.axis(n.integer("axis", -1), x.rank());
  const bool first = axis == 0 && n.integer("axis", -1) >= 0;
  n.out("Out", frames_of(n, x, n.integer("frame_length", 0), n.integer("hop_length", 0), first));
}

// The sum of windows: [.., length, windows] to [.., N], or with axis 0 [windows, length, ..].
void overlap_add(const Node& n) {
  Tensor x = n.in("X");
  const int64_t hop = n.integer("hop_length", 0);
  const bool first = n.integer("axis", -1) == 0;
  n.expect(x.rank() >= 2 && hop > 0, "windows have two dimensions and a positive distance");
  if (first) {
    std::vector<int64_t> order = iota(2, x.rank());
    order.insert(order.end(), {1, 0});
    x = ops::transpose(x, order);
  }
  const int64_t length = x.dim(-2);
  if (length < 0) n.need_sizes(x, "a length of windows that only a run knows");
  const Tensor count = ops::size_of(x, x.rank() - 1, DType::int64);
  const Tensor places = ops::reshape(places_of(count, length, hop), {-1});
  op::IntArray rows, sum;
  for (int d = 0; d < x.rank() - 2; ++d) {
    ops::push_size(rows, x, d);
    ops::push_size(sum, x, d);
  }
  rows.values.push_back(-1);
  const Tensor each = ops::reshape(x, rows);
  if (x.dim(-1) >= 0) {
    sum.values.push_back((x.dim(-1) - 1) * hop + length);
  } else {
    sum.symbols.push_back({static_cast<uint32_t>(sum.size()),
                           ops::add(ops::multiply(count, whole(hop)), whole(length - hop))});
    sum.values.push_back(kUnknown);
  }
  const Tensor zeros = ops::full(sum, op::Scalar(0.0), x.dtype());
  Tensor out = call("add_slices", {zeros, places, each}, {{"axis", x.rank() - 2}});
  if (first) {
    std::vector<int64_t> order{x.rank() - 2};
    for (int d = 0; d < x.rank() - 2; ++d) order.push_back(d);
    out = ops::transpose(out, order);
  }
  n.out("Out", out);
}

// [batch, N] to [batch, bins, windows].
void stft(const Node& n) {
  const Tensor x = n.in("X");
  const int64_t points = n.integer("n_fft", 0);
  const Tensor frames = frames_of(n, x, points, n.integer("hop_length", 0), false);
  const Tensor weighted = ops::multiply(frames, ops::unsqueeze(n.in("Window"), {1}));
  const double scale = n.flag("normalized") ? 1 / std::sqrt(static_cast<double>(points)) : 1.0;
  const std::vector<int64_t> axes{frames.rank() - 2};
  Tensor y = call("fft_c2c", {as_complex(weighted)}, {{"axes", axes}, {"scale", scale}});
  if (n.flag("onesided", true)) y = ops::slice(y, axes[0], 0, points / 2 + 1);
  n.out("Out", y);
}

constexpr Row kRows[] = {
    {"fft_c2c", complex_to_complex}, {"fft_r2c", real_to_complex},
    {"fft_c2r", complex_to_real},    {"frame", frame},
    {"overlap_add", overlap_add},    {"stft", stft},
};

}  // namespace

std::span<const Row> signal_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle

#include "argosy/ops/vision/slopes.h"

#include <algorithm>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/ops/vision/sampler.h"

// What sampling is by its coordinates. Between elements it is linear in each of them alone, so its
// derivatives by sets of coordinates, and the transposes of these, are all that gradients of any
// order are made of.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::IntArray;
using op::KernelFrame;
using op::Save;

uint32_t bits(const SlopeAttrs& a) {
  uint32_t b = 0;
  for (int64_t i : a.coordinates) b |= 1u << i;
  return b;
}

void slope_infer(InferContext& c, const SlopeAttrs& a) {
  const Tensor &x = c.in[0], &grid = c.in[1];
  ARGOSY_CHECK((x.rank() == 4 || x.rank() == 5) && grid.rank() == x.rank(), invalid_argument)
      << '[' << c.name() << "] expected images [N, C, H, W] or [N, C, D, H, W] and a grid of as "
      << "many dimensions, got " << x << " and " << grid << ". Do this: unsqueeze one of them.";
  for (int64_t i : a.coordinates)
    ARGOSY_CHECK(0 <= i && i < x.rank() - 2, invalid_argument)
        << '[' << c.name() << "] coordinates must be 0 to " << x.rank() - 3 << ", got " << i
        << ". Do this: leave it out.";
  Shape points = grid.shape();
  points[0] = x.dim(0);
  points[grid.rank() - 1] = x.rank() - 2;
  expect_shape(c, 1, points);
  expect_dtype(c, 1, x.dtype());
}
Shape sampled_shape(const Tensor& x, const Tensor& grid) {
  Shape shape = x.shape();
  for (int d = 2; d < x.rank(); ++d) shape[d] = grid.dim(d - 1);
  return shape;
}

// Calls point(sampler, its factors, its number in image n) for the points [first, last).
template <class T, class Point>
void each_point(const Tensor& x, const Tensor& grid, const SlopeAttrs& a, int64_t n, int64_t first,
                int64_t last, Point&& point) {
  Sampler<T> sampler(x, {a.mode, a.padding_mode, a.align_corners}, a.pixels);
  const int dims = sampler.dims();
  const T* from = grid.data<T>() + (n * (grid.numel() / (dims * grid.dim(0))) + first) * dims;
  for (int64_t k = first; k < last; ++k, from += dims) {
    T at[3];
    for (int d = 0; d < dims; ++d) at[d] = from[d];
    sampler.at(at);
    T factors[Sampler<T>::kMaxTaps];
    for (int t = 0; t < sampler.count(); ++t) factors[t] = sampler.factor(t, bits(a));
    point(sampler, factors, k);
  }
}

struct Sizes {
  Sizes(const Tensor& x, const Tensor& grid)
      : batch(x.dim(0)), channels(x.dim(1)), plane(1), points(1) {
    for (int d = 2; d < x.rank(); ++d) plane *= x.dim(d);
    for (int d = 1; d + 1 < grid.rank(); ++d) points *= grid.dim(d);
  }
  int64_t batch, channels, plane, points;
};

void sampled_infer(InferContext& c, const SlopeAttrs& a) {
  slope_infer(c, a);
  c.out[0].shape = sampled_shape(c.in[0], c.in[1]);
}

void sampled_run(KernelFrame& f, const SlopeAttrs& a) {
  if (f.out[0].numel() == 0) return;
  const Tensor x = widened(f.in[0], true), grid = widened(f.in[1], true);
  const Tensor y = widened(f.out[0], false);
  const Sizes s(x, grid);
  constexpr int64_t kStretch = 1024;
  const int64_t stretches = (s.points + kStretch - 1) / kStretch;
  dispatch_types<float, double>(y.dtype(), [&]<class T>(T) {
    parallel_for(s.batch * stretches, 1, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const int64_t n = i / stretches, first = i % stretches * kStretch;
        each_point<T>(x, grid, a, n, first, std::min(s.points, first + kStretch),
                      [&](const auto& sampler, const auto* factors, int64_t k) {
                        for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
                          const T* from = x.data<T>() + c * s.plane;
                          T sum = 0;
                          for (int t = 0; t < sampler.count(); ++t)
                            sum += factors[t] * from[sampler.index(t)];
                          y.data<T>()[c * s.points + k] = sum;
                        }
                      });
      }
    });
  });
  if (y.dtype() != f.out[0].dtype()) op::copy_into(f.out[0], y);
}

void spread_infer(InferContext& c, const SlopeAttrs& a) {
  slope_infer(c, a);
  expect_shape(c, 2, sampled_shape(c.in[0], c.in[1]));
  expect_dtype(c, 2, c.in[0].dtype());
}

void spread_run(KernelFrame& f, const SlopeAttrs& a) {
  if (f.out[0].numel() == 0) return;
  const Tensor grid = widened(f.in[1], true), dy = widened(f.in[2], true);
  const Tensor dx = widened(f.out[0], false);
  const Sizes s(dx, grid);
  dispatch_types<float, double>(dx.dtype(), [&]<class T>(T) {
    parallel_for(s.batch, 1, [&](int64_t n, int64_t end) {
      for (; n < end; ++n) {
        std::vector<T> sums(static_cast<size_t>(s.channels * s.plane));
        if (dy.numel())
          each_point<T>(dx, grid, a, n, 0, s.points,
                        [&](const auto& sampler, const auto* factors, int64_t k) {
                          for (int64_t c = 0; c < s.channels; ++c) {
                            const T g = dy.data<T>()[(n * s.channels + c) * s.points + k];
                            T* to = sums.data() + c * s.plane;
                            for (int t = 0; t < sampler.count(); ++t)
                              to[sampler.index(t)] += g * factors[t];
                          }
                        });
        T* to = dx.data<T>() + n * s.channels * s.plane;
        std::copy(sums.begin(), sums.end(), to);
      }
    });
  });
  if (dx.dtype() != f.out[0].dtype()) op::copy_into(f.out[0], dx);
}

Tensors sampled_gradient(const GradCall& c, const SlopeAttrs& a);
Tensors spread_gradient(const GradCall& c, const SlopeAttrs& a);

ARGOSY_OP(grid_slope, SlopeAttrs)
    .doc(
        "The derivative of grid_sample(x, grid) by these coordinates of each point, once each; "
        "without any, grid_sample.")
    .input("x", kFloating, Save::value)
    .input("grid", kFloating, Save::value)
    .output("out")
    .infer(sampled_infer)
    .kernel("points", sampled_run)
    .gradient(sampled_gradient)
    .done();

ARGOSY_OP(grid_slope_spread, SlopeAttrs)
    .doc("The gradient of x in grid_slope(x, grid), of the shape of `like`.")
    .input("like", kFloating, Save::shape)
    .shape_only()
    .input("grid", kFloating, Save::value)
    .input("dy", kFloating, Save::value)
    .output("out")
    .infer(spread_infer)
    .kernel("images", spread_run)
    .gradient(spread_gradient)
    .done();

Tensor slope(const Tensor& x, const Tensor& grid, SlopeAttrs a, std::vector<int64_t> coordinates) {
  a.coordinates = std::move(coordinates);
  return grid_slope_op(x, grid, a);
}

// The gradient of grid in the sum of dy * grid_slope(x, grid).
Tensor of_grid(const Tensor& x, const Tensor& grid, const Tensor& dy, const SlopeAttrs& a) {
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.rank() - 2; ++i) {
    Tensor d = multiply(
        dy, bits(a) >> i & 1 ? zeros_like(dy) : [&] {
          std::vector<int64_t> more = a.coordinates;
          more.push_back(i);
          return slope(x, grid, a, std::move(more));
        }());
    parts.push_back(sum(d, IntArray{1}));
  }
  return stack(parts, -1);
}

Tensors sampled_gradient(const GradCall& c, const SlopeAttrs& a) {
  const Tensor &x = c.in[0], &grid = c.in[1];
  Tensors out;
  out.resize(2);
  if (c.needs(0)) out[0] = grid_slope_spread_op(x, grid, c.dy(), a);
  if (c.needs(1)) out[1] = of_grid(x, grid, c.dy(), a);
  return out;
}

Tensors spread_gradient(const GradCall& c, const SlopeAttrs& a) {
  const Tensor &grid = c.in[1], &dy = c.in[2], &h = c.dy();
  Tensors out;
  out.resize(3);
  if (c.needs(1)) out[1] = of_grid(h, grid, dy, a);
  if (c.needs(2)) out[2] = grid_slope_op(h, grid, a);
  return out;
}

}  // namespace

namespace {
SlopeAttrs at_pixels(std::vector<int64_t> coordinates) {
  return {"bilinear", "zeros", true, true, std::move(coordinates)};
}
}  // namespace

Tensor slope_at_pixels(const Tensor& x, const Tensor& points, std::vector<int64_t> coordinates) {
  return grid_slope_op(x, points, at_pixels(std::move(coordinates)));
}
Tensor spread_at_pixels(const Tensor& like, const Tensor& points, const Tensor& dy) {
  return grid_slope_spread_op(like, points, dy, at_pixels({}));
}

Tensors sample_second_gradient(const GradCall& c, const SampleAttrs& a) {
  const Tensor &x = c.in[0], &grid = c.in[1], &dy = c.in[2], &hx = c.dy(0), &hgrid = c.dy(1);
  const SlopeAttrs s{a.mode, a.padding_mode, a.align_corners, false, {}};
  Tensors out;
  out.resize(3);
  auto gather = [&](size_t i, const Tensor& d) {
    if (c.needs(i)) out[i] = out[i].defined() ? add(out[i], d) : d;
  };
  // dx spreads dy over x.
  if (hx.defined()) {
    if (c.needs(1)) gather(1, of_grid(hx, grid, dy, s));
    if (c.needs(2)) gather(2, grid_slope_op(hx, grid, s));
  }
  // dgrid is the sum over channels of dy * slope, for each coordinate.
  if (!hgrid.defined()) return out;
  for (int64_t i = 0; i < x.rank() - 2; ++i) {
    SlopeAttrs by = s;
    by.coordinates = {i};
    const Tensor h = unsqueeze(pick(hgrid, -1, i), IntArray{1});
    const Tensor hdy = multiply(dy, h);
    if (c.needs(0)) gather(0, grid_slope_spread_op(x, grid, hdy, by));
    if (c.needs(1)) gather(1, of_grid(x, grid, hdy, by));
    if (c.needs(2)) gather(2, multiply(grid_slope_op(x, grid, by), h));
  }
  return out;
}

}  // namespace argosy::ops

#include <algorithm>
#include <cmath>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/sample.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/op/define.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/vision/sampler.h"

// affine_grid and grid_sample: spatial transformers.
namespace argosy::ops {

namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::IntArray;
using op::KernelFrame;
using op::Save;

// --- affine_grid ---

void base_infer(InferContext& c, const AffineBaseAttrs& a) {
  ARGOSY_CHECK(a.out_shape.size() == 4 || a.out_shape.size() == 5, invalid_argument)
      << "[affine_grid] out_shape must be [N, C, H, W] or [N, C, D, H, W], got "
      << a.out_shape.size() << " numbers. Do this: pass the shape of the images to make.";
  Shape out;
  for (size_t i = 2; i < a.out_shape.size(); ++i) {
    bool symbol = false;
    for (const auto& s : a.out_shape.symbols) symbol |= s.position == i;
    ARGOSY_CHECK(symbol || a.out_shape[i] >= 0, invalid_argument)
        << "[affine_grid] sizes in out_shape must not be negative, got " << a.out_shape[i] << '.';
    out.push_back(symbol ? kUnknown : a.out_shape[i]);
  }
  out.push_back(static_cast<int64_t>(a.out_shape.size()) - 1);
  c.out[0] = {out, a.dtype};
}

void base_run(KernelFrame& f, const AffineBaseAttrs& a) {
  const Tensor& out = f.out[0];
  const int dims = out.rank() - 1;
  dispatch_types<float, double>(out.dtype(), [&]<class T>(T) {
    T* to = out.data<T>();
    for (int64_t i = 0, n = out.numel() / (dims + 1); i < n; ++i, to += dims + 1) {
      int64_t rest = i;
      for (int d = dims; d-- > 0; rest /= out.dim(d)) {
        const T k = static_cast<T>(rest % out.dim(d)), size = static_cast<T>(out.dim(d));
        // x, the last axis, comes first.
        to[dims - 1 - d] =
            a.align_corners ? (size > 1 ? 2 * k / (size - 1) - 1 : T(-1)) : (2 * k + 1) / size - 1;
      }
      to[dims] = 1;
    }
  });
}

ARGOSY_OP(affine_base_grid, AffineBaseAttrs)
    .doc(
        "The points of a regular grid over [-1, 1] as (x, y, 1) or (x, y, z, 1): [H, W, 3] or "
        "[D, H, W, 4].")
    .output("out")
    .infer(base_infer)
    .kernel("points", base_run)
    .done();

struct AffineAttrs {
  IntArray out_shape;
  bool align_corners = true;
};
ARGOSY_ATTRS(AffineAttrs, out_shape, align_corners)

Tensors affine_grid(const Inputs& in, const AffineAttrs& a) {
  const Tensor& theta = in[0];
  const auto dims = static_cast<int64_t>(a.out_shape.size()) - 2;
  auto fits = [](int64_t have, int64_t want) { return have == want || have < 0; };
  ARGOSY_CHECK(theta.rank() == 3 && (dims == 2 || dims == 3) && fits(theta.dim(1), dims) &&
                   fits(theta.dim(2), dims + 1),
               invalid_argument)
      << "[affine_grid] theta must be [N, 2, 3] with out_shape [N, C, H, W], or [N, 3, 4] with "
         "[N, C, D, H, W]: got "
      << theta << " and " << a.out_shape.size()
      << " sizes. Do this: check that theta and out_shape are both for images or both for volumes.";
  Tensor base = affine_base_grid_op.one({}, {a.out_shape, a.align_corners, theta.dtype()});
  return matmul(base, unsqueeze(theta, dims == 2 ? IntArray{1} : IntArray{1, 2}), false, true);
}

ARGOSY_OP(affine_grid, AffineAttrs)
    .doc(
        "Where the points of an output of out_shape come from under theta, for grid_sample: "
        "[N, H, W, 2] or [N, D, H, W, 3].")
    .shape("theta [n,2,3] -> [n,h',w',2] | theta [n,3,4] -> [n,d',h',w',3]")
    .paper("1506.02025")
    .input("theta", only(DType::float32) | only(DType::float64))
    .output("out")
    .compose(affine_grid)
    .done();

// --- grid_sample ---

// The shape of the samples of x at the points of grid.
Shape sampled_shape(const Tensor& x, const Tensor& grid, const SampleAttrs& a) {
  const int dims = x.rank() - 2;
  ARGOSY_CHECK(a.mode == "bilinear" || a.mode == "nearest", invalid_argument)
      << "[grid_sample] mode must be 'bilinear' or 'nearest', got '" << a.mode << "'.";
  ARGOSY_CHECK(
      a.padding_mode == "zeros" || a.padding_mode == "border" || a.padding_mode == "reflection",
      invalid_argument)
      << "[grid_sample] padding_mode must be 'zeros', 'border' or 'reflection', got '"
      << a.padding_mode << "'.";
  ARGOSY_CHECK((dims == 2 || dims == 3) && grid.rank() == x.rank() &&
                   (grid.dim(-1) == dims || grid.dim(-1) < 0) &&
                   (grid.dim(0) == x.dim(0) || grid.dim(0) < 0 || x.dim(0) < 0),
               invalid_argument)
      << "[grid_sample] x must be [N, C, H, W] with grid [N, H', W', 2], or [N, C, D, H, W] with "
         "[N, D', H', W', 3]: got "
      << x << " and " << grid << ". Do this: make the grid with affine_grid(theta, out_shape).";
  ARGOSY_CHECK(x.dtype() == grid.dtype(), invalid_argument)
      << "[grid_sample] x and grid must have one dtype, got " << x.dtype() << " and "
      << grid.dtype() << ". Do this: call .astype(..) on one of them.";
  Shape shape = x.shape();
  for (int d = 0; d < dims; ++d) shape[2 + d] = grid.dim(1 + d);
  return shape;
}

void sample_infer(InferContext& c, const SampleAttrs& a) {
  c.out[0].shape = sampled_shape(c.in[0], c.in[1], a);
}

// What a block of points is made of, so that all channels use it.
template <class T>
class Block {
 public:
  static constexpr int64_t kPoints = 256;
  struct Point {
    int64_t index[Sampler<T>::kMaxTaps];
    T weight[Sampler<T>::kMaxTaps];
    T slope[Sampler<T>::kMaxTaps][3];
    int count;
  };

  Block(const Tensor& x, const SampleAttrs& a)
      : sampler_(x, a), memory_(static_cast<size_t>(kPoints) * sizeof(Point)) {}

  template <bool slopes>
  void find(const T* grid, int64_t count) {
    const int dims = sampler_.dims();
    for (int64_t k = 0; k < count; ++k, grid += dims) {
      T at[3];
      for (int d = 0; d < dims; ++d) at[d] = grid[d];
      sampler_.template at<slopes>(at);
      Point& p = memory_.template as<Point>()[k];
      p.count = sampler_.count();
      for (int t = 0; t < p.count; ++t) {
        p.index[t] = sampler_.index(t);
        p.weight[t] = sampler_.weight(t);
        if constexpr (slopes)
          for (int d = 0; d < dims; ++d) p.slope[t][d] = sampler_.slope(t, d);
      }
    }
  }
  const Point& operator[](int64_t k) const { return memory_.template as<Point>()[k]; }

 private:
  Sampler<T> sampler_;
  cpu::Scratch memory_;
};

struct Sizes {
  Sizes(const Tensor& x, const Tensor& grid)
      : dims(x.rank() - 2),
        batch(x.dim(0)),
        channels(x.dim(1)),
        plane(x.numel() / (batch * channels)),
        points(grid.numel() / (batch * dims)) {}
  int dims;
  int64_t batch, channels, plane, points;
};

// Calls part(first, count) for the points [first, last) of image n, block by block.
template <bool slopes, class T, class Part>
void for_blocks(const Sizes& s, const Tensor& grid, Block<T>& block, int64_t n, int64_t first,
                int64_t last, Part&& part) {
  for (; first < last; first += Block<T>::kPoints) {
    const int64_t count = std::min(Block<T>::kPoints, last - first);
    block.template find<slopes>(grid.data<T>() + (n * s.points + first) * s.dims, count);
    part(first, count);
  }
}

// Images cut into stretches of this many points, for one thread each.
constexpr int64_t kStretch = 2048;

template <class Body>
void for_stretches(const Sizes& s, Body&& body) {
  const int64_t stretches = (s.points + kStretch - 1) / kStretch;
  parallel_for(s.batch * stretches, 1, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const int64_t first = i % stretches * kStretch;
      body(i / stretches, first, std::min(s.points, first + kStretch));
    }
  });
}

template <class T>
void sample(const Tensor& x, const Tensor& grid, const Tensor& y, const SampleAttrs& a) {
  const Sizes s(x, grid);
  for_stretches(s, [&](int64_t n, int64_t begin, int64_t end) {
    Block<T> block(x, a);
    for_blocks<false>(s, grid, block, n, begin, end, [&](int64_t first, int64_t count) {
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        const T* from = x.data<T>() + c * s.plane;
        T* to = y.data<T>() + c * s.points + first;
        for (int64_t k = 0; k < count; ++k) {
          const auto& p = block[k];
          T sum = 0;
          for (int t = 0; t < p.count; ++t) sum += p.weight[t] * from[p.index[t]];
          to[k] = static_cast<T>(sum);
        }
      }
    });
  });
}

cpu::SampleMode mode_of(const SampleAttrs& a) {
  return {a.mode == "nearest", a.align_corners, a.padding_mode == "border",
          a.padding_mode == "reflection"};
}

// Images whose elements 32 bits can count, have points in arrays.
bool planar(const Tensor& x) {
  return x.rank() == 4 && x.dim(2) > 0 && x.dim(3) > 0 && x.dim(2) * x.dim(3) < INT32_MAX;
}

// Calls part(first, count) for the points [first, last) of image n, block by block.
template <class T, class Part>
void for_planar_blocks(const Sizes& s, const Tensor& grid, cpu::Planar<T>& block, int64_t n,
                       int64_t first, int64_t last, Part&& part) {
  for (; first < last; first += cpu::kPlanarPoints) {
    const int count = static_cast<int>(std::min<int64_t>(cpu::kPlanarPoints, last - first));
    block.find(grid.data<T>() + (n * s.points + first) * 2, count);
    part(first, count);
  }
}

template <class T>
void sample_planar(const Tensor& x, const Tensor& grid, const Tensor& y, const SampleAttrs& a) {
  const Sizes s(x, grid);
  for_stretches(s, [&](int64_t n, int64_t begin, int64_t end) {
    cpu::Planar<T> block(x.dim(2), x.dim(3), mode_of(a));
    std::vector<char> finite(static_cast<size_t>(s.channels), 0);
    const T* image = x.data<T>() + n * s.channels * s.plane;
    for (int64_t c = 0; c < s.channels && s.plane <= 2 * (end - begin); ++c)  // worth looking
      finite[static_cast<size_t>(c)] = block.finite(image + c * s.plane);
    for_planar_blocks(s, grid, block, n, begin, end, [&](int64_t first, int count) {
      for (int64_t c = 0; c < s.channels; ++c)
        block.sample(image + c * s.plane, y.data<T>() + (n * s.channels + c) * s.points + first,
                     count, finite[static_cast<size_t>(c)]);
    });
  });
}

template <class T>
void planar_gradients(const Tensor& x, const Tensor& grid, const Tensor& dy, const Tensor& dx,
                      const Tensor& dgrid, const SampleAttrs& a) {
  const Sizes s(x, grid);
  // Points do not meet in the gradient of the grid, images not in that of x: an image is a task
  // where there are enough of them, else they are two passes.
  const auto slopes = [&](cpu::Planar<T>& block, int64_t n, int64_t first, int count) {
    T by_x[cpu::kPlanarPoints] = {}, by_y[cpu::kPlanarPoints] = {};
    for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c)
      block.slopes(x.data<T>() + c * s.plane, dy.data<T>() + c * s.points + first, by_x, by_y,
                   count);
    block.rates(by_x, by_y, dgrid.data<T>() + (n * s.points + first) * 2, count);
  };
  const auto scatter = [&](cpu::Planar<T>& block, int64_t plane, int64_t first, int count) {
    block.scatter(dy.data<T>() + plane * s.points + first, dx.data<T>() + plane * s.plane, count);
  };
  std::fill_n(dx.data<T>(), dx.numel(), T(0));
  if (s.batch >= num_threads()) {
    return parallel_for(s.batch, 1, [&](int64_t n, int64_t end) {
      cpu::Planar<T> block(x.dim(2), x.dim(3), mode_of(a));
      for (; n < end; ++n)
        for_planar_blocks(s, grid, block, n, 0, s.points, [&](int64_t first, int count) {
          slopes(block, n, first, count);
          for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c)
            scatter(block, c, first, count);
        });
    });
  }
  for_stretches(s, [&](int64_t n, int64_t begin, int64_t end) {
    cpu::Planar<T> block(x.dim(2), x.dim(3), mode_of(a));
    for_planar_blocks(s, grid, block, n, begin, end,
                      [&](int64_t first, int count) { slopes(block, n, first, count); });
  });
  constexpr int64_t kPlanes = 8;  // share the work of finding the points
  const int64_t groups = (s.channels + kPlanes - 1) / kPlanes;
  parallel_for(s.batch * groups, 1, [&](int64_t i, int64_t end) {
    cpu::Planar<T> block(x.dim(2), x.dim(3), mode_of(a));
    for (; i < end; ++i) {
      const int64_t n = i / groups, plane = n * s.channels + i % groups * kPlanes;
      const int64_t last = std::min((n + 1) * s.channels, plane + kPlanes);
      for_planar_blocks(s, grid, block, n, 0, s.points, [&](int64_t first, int count) {
        for (int64_t c = plane; c < last; ++c) scatter(block, c, first, count);
      });
    }
  });
}

void sample_run(KernelFrame& f, const SampleAttrs& a) {
  if (f.out[0].numel() == 0) return;
  const Tensor x = widened(f.in[0], true), grid = widened(f.in[1], true);
  const Tensor y = widened(f.out[0], false);
  dispatch_types<float, double>(
      y.dtype(), [&]<class T>(T) { (planar(x) ? sample_planar<T> : sample<T>)(x, grid, y, a); });
  if (y.dtype() != f.out[0].dtype()) op::copy_into(f.out[0], y);
}

// Points do not meet in the gradient of the grid, planes not in that of x.
template <class T>
void grid_gradient(const Tensor& x, const Tensor& grid, const Tensor& dy, const Tensor& dgrid,
                   const SampleAttrs& a) {
  const Sizes s(x, grid);
  for_stretches(s, [&](int64_t n, int64_t begin, int64_t end) {
    Block<T> block(x, a);
    for_blocks<true>(s, grid, block, n, begin, end, [&](int64_t first, int64_t count) {
      T sums[Block<T>::kPoints][3] = {};
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
        const T* from = x.data<T>() + c * s.plane;
        const T* g = dy.data<T>() + c * s.points + first;
        for (int64_t k = 0; k < count; ++k) {
          const auto& p = block[k];
          for (int t = 0; t < p.count; ++t) {
            const T v = g[k] * from[p.index[t]];
            for (int d = 0; d < s.dims; ++d) sums[k][d] += v * p.slope[t][d];
          }
        }
      }
      T* to = dgrid.data<T>() + (n * s.points + first) * s.dims;
      for (int64_t k = 0; k < count; ++k)
        for (int d = 0; d < s.dims; ++d) to[k * s.dims + d] = sums[k][d];
    });
  });
}

template <class T>
void input_gradient(const Tensor& x, const Tensor& grid, const Tensor& dy, const Tensor& dx,
                    const SampleAttrs& a) {
  const Sizes s(x, grid);
  constexpr int64_t kPlanes = 8;  // share the work of finding the points
  const int64_t groups = (s.channels + kPlanes - 1) / kPlanes;
  parallel_for(s.batch * groups, 1, [&](int64_t i, int64_t end) {
    Block<T> block(x, a);
    cpu::Scratch scratch(static_cast<size_t>(kPlanes * s.plane) * sizeof(T));
    T* sums = scratch.as<T>();
    for (; i < end; ++i) {
      const int64_t n = i / groups, first_plane = n * s.channels + i % groups * kPlanes;
      const int64_t planes = std::min(kPlanes, (n + 1) * s.channels - first_plane);
      std::fill_n(sums, planes * s.plane, T(0));
      for_blocks<false>(s, grid, block, n, 0, s.points, [&](int64_t first, int64_t count) {
        for (int64_t c = 0; c < planes; ++c) {
          T* to = sums + c * s.plane;
          const T* g = dy.data<T>() + (first_plane + c) * s.points + first;
          for (int64_t k = 0; k < count; ++k) {
            const auto& p = block[k];
            for (int t = 0; t < p.count; ++t) to[p.index[t]] += g[k] * p.weight[t];
          }
        }
      });
      T* to = dx.data<T>() + first_plane * s.plane;
      for (int64_t k = 0; k < planes * s.plane; ++k) to[k] = static_cast<T>(sums[k]);
    }
  });
}

void sample_grad_infer(InferContext& c, const SampleAttrs& a) {
  expect_shape(c, 2, sampled_shape(c.in[0], c.in[1], a));
  for (size_t i : {1, 2}) expect_dtype(c, i, c.in[0].dtype());
  for (size_t i = 0; i < 2; ++i) c.out[i] = {c.in[i].shape(), c.in[i].dtype()};
}
void sample_grad_run(KernelFrame& f, const SampleAttrs& a) {
  const Tensor &dx = f.out[0], &dgrid = f.out[1];
  if (dx.numel() == 0 || dgrid.numel() == 0) {
    for (const Tensor& t : f.out) std::fill_n(static_cast<char*>(t.raw()), t.nbytes(), char(0));
    return;
  }
  const Tensor x = widened(f.in[0], true), grid = widened(f.in[1], true),
               dy = widened(f.in[2], true);
  const Tensor to_x = widened(dx, false), to_grid = widened(dgrid, false);
  dispatch_types<float, double>(x.dtype(), [&]<class T>(T) {
    if (planar(x)) return planar_gradients<T>(x, grid, dy, to_x, to_grid, a);
    input_gradient<T>(x, grid, dy, to_x, a);
    grid_gradient<T>(x, grid, dy, to_grid, a);
  });
  if (to_x.dtype() != dx.dtype()) op::copy_into(dx, to_x);
  if (to_grid.dtype() != dgrid.dtype()) op::copy_into(dgrid, to_grid);
}

ARGOSY_OP(grid_sample_grad, SampleAttrs)
    .doc("Gradients of the two operands of grid_sample.")
    .input("x", kFloating, Save::value)
    .input("grid", kFloating, Save::value)
    .input("dy", kFloating, Save::value)
    .output("dx")
    .output("dgrid")
    .infer(sample_grad_infer)
    .kernel("images", sample_grad_run)
    .gradient(sample_second_gradient)
    .done();

Tensors sample_gradient(const GradCall& c, const SampleAttrs& a) {
  return grid_sample_grad_op.all({c.in[0], c.in[1], c.dy()}, a);
}

ARGOSY_OP(grid_sample, SampleAttrs)
    .doc(
        "x at the points of grid, whose coordinates (x, y) or (x, y, z) run from -1 to 1 over the "
        "spatial axes, interpolated between the neighbours or taken from the nearest.")
    .shape(
        "x [n,c,h,w], grid [n,i,j,2] -> [n,c,i,j] | x [n,c,d,h,w], grid [n,i,j,k,3] -> [n,c,i,j,k]")
    .paper("1506.02025")
    .input("x", kFloating, Save::value)
    .input("grid", kFloating, Save::value)
    .output("out")
    .infer(sample_infer)
    .kernel("points", sample_run)
    .gradient(sample_gradient)
    .done();

}  // namespace

Tensor widened(const Tensor& t, bool values) {
  if (item_size(t.dtype()) != 2) return t;
  Tensor wide = Tensor::empty(t.shape(), DType::float32);
  if (values) op::copy_into(wide, t);
  return wide;
}

}  // namespace argosy::ops

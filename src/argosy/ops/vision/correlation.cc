#include <algorithm>

#include "argosy/base/parallel.h"
#include "argosy/op/cost.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/vision/vision.h"

// Cost volumes of optical flow: products of two images, one shifted against the other.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

constexpr DTypes kWide = only(DType::float32) | only(DType::float64);

// How far shifts go to each side, counted in shifts.
int64_t reach(const CorrelationAttrs& a) {
  return a.max_displacement / a.stride2;
}

void check_correlation(const char* op, const CorrelationAttrs& a) {
  constexpr int64_t kMost = 1 << 15;  // of which products are an int64_t
  const auto expect = [&](bool right, const char* name, const char* expected, int64_t got) {
    ARGOSY_CHECK(right, invalid_argument) << '[' << op << "] " << name << ": expected " << expected
                                          << ", got " << got << ". Do this: change it.";
  };
  const auto within = [](int64_t value, int64_t least) { return least <= value && value <= kMost; };
  expect(within(a.pad_size, 0), "pad_size", "0 to 32768", a.pad_size);
  expect(within(a.kernel_size, 1) && a.kernel_size % 2 == 1, "kernel_size", "an odd number",
         a.kernel_size);
  expect(within(a.max_displacement, 0), "max_displacement", "0 to 32768", a.max_displacement);
  expect(within(a.stride1, 1), "stride1", "1 to 32768", a.stride1);
  expect(within(a.stride2, 1), "stride2", "1 to 32768", a.stride2);
  expect(a.corr_type_multiply == 1, "corr_type_multiply", "1, which multiplies",
         a.corr_type_multiply);
}

Shape volume_shape(const char* op, const Tensor& x, const Tensor& y, const CorrelationAttrs& a) {
  check_correlation(op, a);
  ARGOSY_CHECK(x.rank() == 4 && y.rank() == 4, invalid_argument)
      << '[' << op << "] x and y must be [N, C, H, W], got " << x << " and " << y
      << ". Do this: reshape them.";
  for (int d = 0; d < 4; ++d)
    ARGOSY_CHECK(x.dim(d) == y.dim(d) || x.dim(d) < 0 || y.dim(d) < 0, invalid_argument)
        << '[' << op << "] x and y must have one shape, got " << x << " and " << y
        << ". Do this: resize one of them.";
  const int64_t side = 2 * reach(a) + 1;
  Shape out{std::max(x.dim(0), y.dim(0)), side * side, kUnknown, kUnknown};
  for (int d = 2; d < 4; ++d) {
    const int64_t size = std::max(x.dim(d), y.dim(d));
    if (size < 0) continue;
    const int64_t places = size + 2 * a.pad_size - 2 * a.max_displacement - (a.kernel_size - 1);
    ARGOSY_CHECK(places > 0, invalid_argument)
        << '[' << op << "] no window is left in " << x << " with pad_size " << a.pad_size
        << ", max_displacement " << a.max_displacement << " and kernel_size " << a.kernel_size
        << ". Do this: raise pad_size to max_displacement + kernel_size / 2.";
    out[d] = (places + a.stride1 - 1) / a.stride1;
  }
  return out;
}

struct Range {
  int64_t begin, end;
};

// The windows of one axis: window i begins at i stride1 + start, before the image where that is
// negative.
struct Axis {
  int64_t size, windows, start, stride1;
  // Those i in which element `at` of the window, and the one `shift` further, are in the image.
  Range inside(int64_t at, int64_t shift) const {
    const int64_t low = start + at + std::min<int64_t>(shift, 0);
    const int64_t high = start + at + std::max<int64_t>(shift, 0);
    const int64_t begin = low >= 0 ? 0 : (-low + stride1 - 1) / stride1;
    const int64_t end = size <= high ? 0 : (size - high + stride1 - 1) / stride1;
    return {begin, std::max(begin, std::min(end, windows))};
  }
};

struct Geometry {
  int64_t channels, reach, side, kernel, stride2;
  Axis rows, columns;
  double factor;  // of a sum, which makes it a mean
  int64_t plane() const { return rows.size * columns.size; }
  int64_t windows() const { return rows.windows * columns.windows; }
};

Geometry geometry(const Shape& x, const Shape& volume, const CorrelationAttrs& a) {
  const auto axis = [&](int d) {
    return Axis{x[d], volume[d], a.max_displacement - a.pad_size, a.stride1};
  };
  const auto count = static_cast<double>(x[1] * a.kernel_size * a.kernel_size);
  return {x[1],      reach(a), 2 * reach(a) + 1, a.kernel_size,
          a.stride2, axis(2),  axis(3),          count > 0 ? 1 / count : 0};
}

// Calls f(window, place in x, place in y, count): windows window.. of a shift (across, down) take
// products of places.., stride1 apart, for each element of their kernel.
template <class F>
void for_lines(const Geometry& g, int64_t down, int64_t across, F&& f) {
  down *= g.stride2, across *= g.stride2;
  for (int64_t i = 0; i < g.kernel; ++i) {
    const Range rows = g.rows.inside(i, down);
    for (int64_t j = 0; j < g.kernel; ++j) {
      const Range columns = g.columns.inside(j, across);
      if (columns.begin == columns.end) continue;
      for (int64_t r = rows.begin; r < rows.end; ++r) {
        const int64_t row = r * g.rows.stride1 + g.rows.start + i;
        const int64_t column = columns.begin * g.columns.stride1 + g.columns.start + j;
        f(r * g.columns.windows + columns.begin, row * g.columns.size + column,
          (row + down) * g.columns.size + column + across, columns.end - columns.begin);
      }
    }
  }
}

// --- kernels ---

template <class T>
void correlate(const Geometry& g, const T* x, const T* y, int64_t shift, T* out) {
  std::fill_n(out, g.windows(), T(0));
  const int64_t step = g.columns.stride1;
  for (int64_t c = 0; c < g.channels; ++c, x += g.plane(), y += g.plane()) {
    for_lines(g, shift / g.side - g.reach, shift % g.side - g.reach,
              [&](int64_t window, int64_t in_x, int64_t in_y, int64_t count) {
                T* __restrict to = out + window;
                const T *a = x + in_x, *b = y + in_y;
                if (step == 1)
                  for (int64_t k = 0; k < count; ++k) to[k] += a[k] * b[k];
                else
                  for (int64_t k = 0; k < count; ++k) to[k] += a[k * step] * b[k * step];
              });
  }
  for (int64_t k = 0; k < g.windows(); ++k) out[k] *= static_cast<T>(g.factor);
}

// Of one channel: adds to dx and dy, which are zero.
template <class T>
void correlate_back(const Geometry& g, const T* x, const T* y, const T* dout, T* dx, T* dy) {
  const int64_t step = g.columns.stride1;
  for (int64_t shift = 0; shift < g.side * g.side; ++shift, dout += g.windows()) {
    for_lines(g, shift / g.side - g.reach, shift % g.side - g.reach,
              [&](int64_t window, int64_t in_x, int64_t in_y, int64_t count) {
                const T* from = dout + window;
                for (int64_t k = 0; k < count; ++k) {
                  const T d = from[k] * static_cast<T>(g.factor);
                  dx[in_x + k * step] += d * y[in_y + k * step];
                  dy[in_y + k * step] += d * x[in_x + k * step];
                }
              });
  }
}

void correlation_infer(InferContext& c, const CorrelationAttrs& a) {
  c.out[0].shape = volume_shape("correlation", c.in[0], c.in[1], a);
  ARGOSY_CHECK(c.in[0].dtype() == c.in[1].dtype(), type)
      << "[correlation] x and y must have one dtype, got " << c.in[0] << " and " << c.in[1]
      << ". Do this: cast one of them with .astype(..).";
}

void correlation_run(KernelFrame& f, const CorrelationAttrs& a) {
  const Geometry g = geometry(f.in[0].shape(), f.out[0].shape(), a);
  const int64_t shifts = g.side * g.side, image = g.channels * g.plane();
  dispatch_types<float, double>(f.in[0].dtype(), [&]<class T>(T) {
    const T *x = f.in[0].data<T>(), *y = f.in[1].data<T>();
    T* out = f.out[0].data<T>();
    parallel_for(f.out[0].dim(0) * shifts, 1, [&](int64_t i, int64_t end) {
      for (; i < end; ++i)
        correlate(g, x + i / shifts * image, y + i / shifts * image, i % shifts,
                  out + i * g.windows());
    });
  });
}

void correlation_grad_infer(InferContext& c, const CorrelationAttrs& a) {
  expect_shape(c, 2, volume_shape("correlation_grad", c.in[0], c.in[1], a));
  for (size_t i : {1, 2}) expect_dtype(c, i, c.in[0].dtype());
  c.out[0] = {c.in[0].shape(), c.in[2].dtype()};
  c.out[1] = {c.in[1].shape(), c.in[2].dtype()};
}

void correlation_grad_run(KernelFrame& f, const CorrelationAttrs& a) {
  const Geometry g = geometry(f.in[0].shape(), f.in[2].shape(), a);
  const int64_t volume_size = g.side * g.side * g.windows();
  dispatch_types<float, double>(f.in[0].dtype(), [&]<class T>(T) {
    const T *x = f.in[0].data<T>(), *y = f.in[1].data<T>(), *dout = f.in[2].data<T>();
    T *dx = f.out[0].data<T>(), *dy = f.out[1].data<T>();
    parallel_for(f.in[0].dim(0) * g.channels, 1, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const int64_t at = i * g.plane();
        std::fill_n(dx + at, g.plane(), T(0));
        std::fill_n(dy + at, g.plane(), T(0));
        correlate_back(g, x + at, y + at, dout + i / g.channels * volume_size, dx + at, dy + at);
      }
    });
  });
}

double products(const Shape& x, const Shape& volume, const CorrelationAttrs& a) {
  return static_cast<double>(volume.numel()) * static_cast<double>(x[1]) *
         static_cast<double>(a.kernel_size * a.kernel_size);
}
op::Cost correlation_cost(const InferContext& c, const CorrelationAttrs& a) {
  return op::cost_of_shapes(c, 2 * products(c.in[0].shape(), c.out[0].shape, a));
}
op::Cost correlation_grad_cost(const InferContext& c, const CorrelationAttrs& a) {
  return op::cost_of_shapes(c, 5 * products(c.in[0].shape(), c.in[2].shape(), a));
}

// --- gradients ---

Tensors correlation_grad_grad(const GradCall& c, const CorrelationAttrs& a);

ARGOSY_OP(correlation_grad, CorrelationAttrs)
    .doc("The gradients of correlation by both images.")
    .input("x", kWide, Save::value)
    .input("y", kWide, Save::value)
    .input("dout", kWide, Save::value)
    .output("dx")
    .output("dy")
    .infer(correlation_grad_infer)
    .kernel("channels", correlation_grad_run)
    .cost(correlation_grad_cost)
    .gradient(correlation_grad_grad)
    .done();

Tensors correlation_gradient(const GradCall& c, const CorrelationAttrs& a) {
  const Tensor in[] = {c.in[0], c.in[1], c.dy()};
  return correlation_grad_op.all(Inputs(in), a);
}

ARGOSY_OP(correlation, CorrelationAttrs)
    .python(
        "incubate.layers.correlation(x, y, pad_size, kernel_size, max_displacement, stride1, "
        "stride2, corr_type_multiply=1)")
    .doc(
        "How alike two images are where one is shifted against the other: a cost volume. Both are "
        "padded with pad_size zeros. A result is the mean, over channels and a window of "
        "kernel_size^2, of x times y shifted by (dy, dx) = stride2 (i, j), for |i|, |j| <= "
        "max_displacement / stride2, in the order of i, then j; windows are stride1 apart.")
    .paper("1504.06852")
    .shape("x [n,c,h,w], y [n,c,h,w] -> [n,d',h',w']")
    .example(R"(>>> x = argosy.to_tensor([[[[1.0, 2.0, 3.0]]]])
>>> volume = argosy.incubate.layers.correlation(x, x, 1, 1, 1, 1, 1)
>>> volume.shape
paddle.Size([1, 9, 1, 3])
>>> volume[0, 3:6, 0].tolist()
[[0.0, 2.0, 6.0], [1.0, 4.0, 9.0], [2.0, 6.0, 0.0]])")
    .input("x", kWide, Save::value)
    .input("y", kWide, Save::value)
    .output("out")
    .infer(correlation_infer)
    .kernel("shifts", correlation_run)
    .cost(correlation_cost)
    .gradient(correlation_gradient)
    .done();

// Both gradients are linear in the volume's and in the other image, and so are theirs.
Tensors correlation_grad_grad(const GradCall& c, const CorrelationAttrs& a) {
  const auto or_zeros = [&](size_t i) { return c.dy(i).defined() ? c.dy(i) : zeros_like(c.in[i]); };
  const Tensor ddx = or_zeros(0), ddy = or_zeros(1);
  const Tensor in[] = {ddx, ddy, c.in[2]};
  Tensors back = correlation_grad_op.all(Inputs(in), a);
  back.push_back(add(correlation_op(ddx, c.in[1], a), correlation_op(c.in[0], ddy, a)));
  return back;
}

}  // namespace
}  // namespace argosy::ops

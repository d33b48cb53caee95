#include "argosy/kernels/cpu/pool.h"

#include <algorithm>

#include "argosy/op/define.h"
#include "argosy/ops/conv/conv.h"
#include "argosy/ops/conv/window.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/search/search.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::IntArray;
using op::KernelFrame;
using op::Save;

template <class A>
PoolAttrs windows(const A& a) {
  return {a.kernel, a.stride, a.padding, a.pad_alg, a.ceil_mode, a.cl};
}

Shape pooled(const char* op, const Shape& x, const PoolAttrs& a) {
  int dims = static_cast<int>(a.kernel.size());
  Spatial s = spatial_of(op, x, dims, a.cl);
  Shape out = x;
  for (int d = 0; d < dims; ++d) {
    size_t i = static_cast<size_t>(d);
    int64_t in = x[s.first + d];
    ARGOSY_CHECK(a.stride.size() == a.kernel.size() && a.kernel[i] > 0 && a.stride[i] > 0,
                 invalid_argument)
        << '[' << op << "] kernel_size and stride must be 1 or more, got " << a.kernel[i]
        << ". Do this: pass numbers of 1 or more; stride=None is the window's size.";
    Padding p = padding_of(op, a.padding, a.pad_alg, d, in, a.kernel[i], a.stride[i]);
    if (in < 0) continue;
    int64_t n = cpu::pool_out_size(in, a.kernel[i], a.stride[i], p.before, p.after, a.ceil_mode);
    bool one_fits =
        cpu::pool_out_size(1, a.kernel[i], a.stride[i], p.before, p.after, a.ceil_mode) > 0;
    ARGOSY_CHECK(n > 0 || (in == 0 && one_fits), invalid_argument)
        << '[' << op << "] the window does not fit: spatial dimension " << d << " has size " << in
        << ", kernel_size is " << a.kernel[i] << ". Do this: use a smaller window or padding.";
    out[s.first + d] = n;
  }
  return out;
}

}  // namespace

cpu::PoolShape pool_kernel_shape(const char* op, const Shape& x, const Shape& y,
                                 const PoolAttrs& a) {
  cpu::PoolShape s;
  s.dims = x.rank() - 2;
  Spatial at = spatial_of(op, x, s.dims, a.cl);
  s.channels_last = a.cl;
  s.adaptive = a.kernel.empty();
  s.batch = x[0];
  s.channels = x[at.channel];
  for (int d = 0; d < s.dims; ++d) {
    size_t i = static_cast<size_t>(d);
    s.in[d] = x[at.first + d];
    s.out[d] = y[at.first + d];
    if (s.adaptive) continue;
    s.kernel[d] = a.kernel[i];
    s.stride[d] = a.stride[i];
    s.pad[d] = padding_of(op, a.padding, a.pad_alg, d, s.in[d], s.kernel[d], s.stride[d]).before;
  }
  return s;
}

namespace {

PoolAttrs adaptive(bool channels_last) {
  PoolAttrs a;
  a.cl = channels_last;
  return a;
}

Shape adaptive_shape(const char* op, const Shape& x, const AdaptivePoolAttrs& a) {
  int dims = static_cast<int>(a.output_size.size());
  Spatial s = spatial_of(op, x, dims, a.cl);
  Shape out = x;
  for (int d = 0; d < dims; ++d) {
    int64_t n = a.output_size[static_cast<size_t>(d)];
    bool symbol = false;
    for (const auto& sym : a.output_size.symbols) symbol |= static_cast<int>(sym.position) == d;
    if (symbol) {
      out[s.first + d] = kUnknown;
    } else if (n != -1) {
      ARGOSY_CHECK(n > 0, invalid_argument)
          << '[' << op << "] output_size must be 1 or more, got " << n
          << ". Do this: pass sizes of 1 or more, or None to keep the size of x.";
      out[s.first + d] = n;
    }
  }
  return out;
}

// Raises unless operand i can be the result of pooling x; of adaptive pooling the sizes are free.
void expect_result(const InferContext& c, size_t i, const Shape& x, const PoolAttrs& a) {
  Shape wanted = x;
  const Spatial s = spatial_of(c.name(), x, x.rank() - 2, a.cl);
  if (a.kernel.empty())
    for (int d = 0; d + 2 < x.rank(); ++d) wanted[s.first + d] = kUnknown;
  else
    wanted = pooled(c.name(), x, a);
  expect_shape(c, i, wanted);
}

// --- max ---

void max_grad_infer(InferContext& c, const PoolAttrs& a) {
  expect_rank(c, 2, 3, 5);
  expect_result(c, 0, c.in[2].shape(), a);
  expect_shape(c, 1, c.in[0].shape());
  c.out[0] = {c.in[2].shape(), c.in[0].dtype()};
}
void max_grad_run(KernelFrame& f, const PoolAttrs& a) {
  const Tensor &dy = f.in[0], &x = f.out[0];
  if (x.numel() == 0) return;
  const int32_t* indices = f.in[1].data<int32_t>();
  uint32_t most = 0;  // negative ones are large
  for (int64_t i = 0; i < dy.numel(); ++i) most = std::max(most, static_cast<uint32_t>(indices[i]));
  const Spatial at = spatial_of(f.name(), x.shape(), x.rank() - 2, a.cl);
  int64_t plane = 1;
  for (int d = 0; d + 2 < x.rank(); ++d) plane *= x.dim(at.first + d);
  ARGOSY_CHECK(dy.numel() == 0 || most < plane, invalid_argument)
      << '[' << f.name() << "] indices must be from 0 to " << plane - 1
      << ", got others. Do this: pass those of the forward operation.";
  cpu::max_pool_backward(x.dtype(), pool_kernel_shape(f.name(), x.shape(), dy.shape(), a), dy.raw(),
                         indices, x.raw());
}
// x at the indices of its maxima.
Tensor picked(const Tensor& x, Tensor index, bool channels_last) {
  Tensor ddx = x;
  const int rank = ddx.rank();
  std::vector<int64_t> to_first, back;
  if (channels_last) {
    to_first = {0, rank - 1};
    for (int i = 1; i + 1 < rank; ++i) to_first.push_back(i);
    back.push_back(0);
    for (int i = 2; i < rank; ++i) back.push_back(i);
    back.push_back(1);
    ddx = transpose(ddx, to_first);
    index = transpose(index, to_first);
  }
  Tensor found = take_along(flatten(ddx, 2, -1), flatten(index, 2, -1), -1);
  found = reshape_like(found, index);
  return channels_last ? transpose(found, back) : found;
}

// What the gradient's gradient picks out again: ddx at the indices.
Tensors max_grad_grad(const GradCall& c, const PoolAttrs& a) {
  return {picked(c.dy(), c.in[1], a.cl), Tensor(), Tensor()};
}

ARGOSY_OP(max_pool_grad, PoolAttrs)
    .doc("The gradient of max pooling: dy at the places of the maxima, zeros elsewhere.")
    .input("dy", kFloating)
    .input("indices", only(DType::int32), Save::value)
    .input("x")
    .shape_only()
    .output("out")
    .infer(max_grad_infer)
    .kernel("direct", max_grad_run)
    .gradient(max_grad_grad)
    .done();

void max_infer(InferContext& c, const PoolAttrs& a) {
  c.out[0].shape = pooled(c.name(), c.in[0].shape(), a);
  c.out[1] = {c.out[0].shape, DType::int32};
}
void max_run(KernelFrame& f, const PoolAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  cpu::max_pool(x.dtype(), pool_kernel_shape(f.name(), x.shape(), y.shape(), a), x.raw(), y.raw(),
                f.out[1].data<int32_t>());
}
Tensors max_grad(const GradCall& c, const PoolAttrs& a) {
  return max_pool_grad_op(c.dy(), c.out(1), c.in[0], a);
}

#define ARGOSY_MAX_POOL(name)                                                           \
  ARGOSY_OP(name, PoolAttrs)                                                            \
      .shape("x [n,c,*s] -> [n,c,*s'] | x [n,*s,c] -> [n,*s',c]")                       \
      .doc("The maximum of each window of the spatial dimensions.")                     \
      .input("x", kFloating, Save::shape)                                               \
      .output("out")                                                                    \
      .hidden_output("indices")                                                         \
      .infer(max_infer)                                                                 \
      .kernel("direct", max_run)                                                        \
      .gradient(max_grad)                                                               \
      .done();                                                                          \
  ARGOSY_OP(name##_with_index, PoolAttrs)                                               \
      .shape("x [n,c,*s] -> [n,c,*s'], [n,c,*s'] | x [n,*s,c] -> [n,*s',c], [n,*s',c]") \
      .doc("The maximum of each window, and its place in its channel, flattened.")      \
      .input("x", kFloating, Save::shape)                                               \
      .output("out")                                                                    \
      .index_output("indices", Save::value)                                             \
      .infer(max_infer)                                                                 \
      .kernel("direct", max_run)                                                        \
      .gradient(max_grad)                                                               \
      .done();
ARGOSY_MAX_POOL(max_pool1d)
ARGOSY_MAX_POOL(max_pool2d)
ARGOSY_MAX_POOL(max_pool3d)
#undef ARGOSY_MAX_POOL

// --- fractional max ---

void fractional_infer(InferContext& c, const FractionalAttrs& a) {
  const Tensor& x = c.in[0];
  const size_t dims = a.output_size.size();
  ARGOSY_CHECK(x.rank() == static_cast<int>(dims) + 2 && a.kernel.size() == dims, invalid_argument)
      << '[' << c.name() << "] expected x [N, C, ..] with " << dims << " spatial dimensions, got "
      << x << " and " << a.kernel.size() << " sizes of windows. Do this: reshape x.";
  for (size_t d = 0; d < dims; ++d) {
    const int64_t in = x.dim(static_cast<int>(d) + 2), k = a.kernel[d];
    const int64_t out = a.output_size[d] == -1 ? in : a.output_size[d];
    const int64_t least = out + std::max<int64_t>(k - 1, 0);
    ARGOSY_CHECK((out >= 1 || a.output_size[d] == -1) && k >= 0 && (in < 0 || least <= in),
                 invalid_argument)
        << '[' << c.name()
        << "] output_size must be from 1 to the size of x, with room for the windows: spatial "
        << "dimension " << d << " has size " << in << ", got " << a.output_size[d]
        << " and windows "
        << "of " << k << ". Do this: lower output_size or kernel_size.";
    c.out[0].shape[static_cast<int>(d) + 2] = out;
  }
  c.out[1] = {c.out[0].shape, DType::int32};
}

}  // namespace

std::vector<PoolRange> fractional_ranges(int64_t in, int64_t out, int64_t kernel, float u) {
  std::vector<PoolRange> ranges;
  const bool overlap = kernel > 0;
  const float size = static_cast<float>(in);
  const float step = overlap ? (size - static_cast<float>(kernel)) / static_cast<float>(out - 1)
                             : size / static_cast<float>(out);
  if (!overlap) {
    const float base = static_cast<float>(in / out);
    u *= std::min((base + 2) / step - 1, (size + 1 - base) / step - static_cast<float>(out - 1));
  }
  const auto place = [&](int64_t i) {
    if (overlap && out == 1) return int64_t{0};
    return static_cast<int64_t>((static_cast<float>(i) + u) * step) -
           static_cast<int64_t>(u * step);
  };
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = std::clamp<int64_t>(place(i), 0, in - 1);
    const int64_t end = overlap ? begin + kernel : place(i + 1);
    ranges.push_back({begin, std::clamp<int64_t>(end, begin + 1, in)});
  }
  return ranges;
}

namespace {

void fractional_run(KernelFrame& f, const FractionalAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  const double u = a.u.real();
  ARGOSY_CHECK(u >= 0 && u <= 1, invalid_argument)
      << '[' << f.name() << "] u must be in (0, 1), got " << u << ". Do this: correct it.";
  // Two dimensions are three, the first of which has size 1.
  std::vector<PoolRange> ranges[3] = {{{0, 1}}, {}, {}};
  int64_t in[3] = {1, 1, 1};
  const size_t skip = 3 - a.output_size.size();
  for (size_t d = skip; d < 3; ++d) {
    in[d] = x.dim(static_cast<int>(d - skip) + 2);
    ranges[d] = fractional_ranges(in[d], y.dim(static_cast<int>(d - skip) + 2), a.kernel[d - skip],
                                  static_cast<float>(u));
  }
  const int64_t plane = in[0] * in[1] * in[2], planes = x.dim(0) * x.dim(1);
  const int64_t each = y.numel() / planes;
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    for (int64_t p = 0; p < planes; ++p) {
      const T* from = x.data<T>() + p * plane;
      T* to = y.data<T>() + p * each;
      int32_t* where = f.out[1].data<int32_t>() + p * each;
      for (const PoolRange& depth : ranges[0])
        for (const PoolRange& height : ranges[1])
          for (const PoolRange& width : ranges[2]) {
            int64_t best = -1;
            for (int64_t i = depth.begin; i < depth.end; ++i)
              for (int64_t j = height.begin; j < height.end; ++j)
                for (int64_t k = width.begin; k < width.end; ++k) {
                  const int64_t at = (i * in[1] + j) * in[2] + k;
                  if (best < 0 || from[at] > from[best] || from[at] != from[at]) best = at;
                }
            *to++ = from[best];
            *where++ = static_cast<int32_t>(best);
          }
    }
  });
}
Tensors fractional_grad(const GradCall& c, const FractionalAttrs&) {
  return max_pool_grad_op(c.dy(), c.out(1), c.in[0], adaptive(false));
}

#define ARGOSY_FRACTIONAL_MAX_POOL(name)                                                  \
  ARGOSY_OP(name, FractionalAttrs)                                                        \
      .doc(                                                                               \
          "The maximum of each of output_size windows that lie pseudo-randomly, and its " \
          "place, flattened.")                                                            \
      .paper("1412.6071")                                                                 \
      .input("x", kFloating, Save::shape)                                                 \
      .output("out")                                                                      \
      .index_output("indices", Save::value)                                               \
      .infer(fractional_infer)                                                            \
      .kernel("direct", fractional_run)                                                   \
      .gradient(fractional_grad)                                                          \
      .done();
ARGOSY_FRACTIONAL_MAX_POOL(fractional_max_pool2d)
ARGOSY_FRACTIONAL_MAX_POOL(fractional_max_pool3d)
#undef ARGOSY_FRACTIONAL_MAX_POOL

void adaptive_max_infer(InferContext& c, const AdaptivePoolAttrs& a) {
  c.out[0].shape = adaptive_shape(c.name(), c.in[0].shape(), a);
  c.out[1] = {c.out[0].shape, DType::int32};
}
void adaptive_max_run(KernelFrame& f, const AdaptivePoolAttrs& a) {
  max_run(f, adaptive(a.cl));
}
Tensors adaptive_max_grad(const GradCall& c, const AdaptivePoolAttrs& a) {
  return max_pool_grad_op(c.dy(), c.out(1), c.in[0], adaptive(a.cl));
}

#define ARGOSY_ADAPTIVE_MAX_POOL(name)                                                  \
  ARGOSY_OP(name, AdaptivePoolAttrs)                                                    \
      .shape("x [n,c,*s] -> [n,c,*s'] | x [n,*s,c] -> [n,*s',c]")                       \
      .doc("The maximum of each of output_size equal parts (-1: the input's size).")    \
      .input("x", kFloating, Save::shape)                                               \
      .output("out")                                                                    \
      .hidden_output("indices")                                                         \
      .infer(adaptive_max_infer)                                                        \
      .kernel("direct", adaptive_max_run)                                               \
      .gradient(adaptive_max_grad)                                                      \
      .done();                                                                          \
  ARGOSY_OP(name##_with_index, AdaptivePoolAttrs)                                       \
      .shape("x [n,c,*s] -> [n,c,*s'], [n,c,*s'] | x [n,*s,c] -> [n,*s',c], [n,*s',c]") \
      .doc("The maximum of each of output_size equal parts, and its place, flattened.") \
      .input("x", kFloating, Save::shape)                                               \
      .output("out")                                                                    \
      .index_output("indices", Save::value)                                             \
      .infer(adaptive_max_infer)                                                        \
      .kernel("direct", adaptive_max_run)                                               \
      .gradient(adaptive_max_grad)                                                      \
      .done();
ARGOSY_ADAPTIVE_MAX_POOL(adaptive_max_pool1d)
ARGOSY_ADAPTIVE_MAX_POOL(adaptive_max_pool2d)
ARGOSY_ADAPTIVE_MAX_POOL(adaptive_max_pool3d)
#undef ARGOSY_ADAPTIVE_MAX_POOL

// --- average ---

cpu::AverageDivisor divisor(const AvgPoolAttrs& a) {
  return {a.exclusive, static_cast<int64_t>(a.divisor_override)};
}
PoolAttrs avg_windows(const AvgPoolAttrs& a) {
  return a.kernel.empty() ? adaptive(a.cl) : windows(a);
}

void avg_grad_infer(InferContext& c, const AvgPoolAttrs& a) {
  expect_rank(c, 1, 3, 5);
  expect_result(c, 0, c.in[1].shape(), windows(a));
  c.out[0] = {c.in[1].shape(), c.in[0].dtype()};
}
void avg_grad_run(KernelFrame& f, const AvgPoolAttrs& a) {
  const Tensor &dy = f.in[0], &x = f.out[0];
  if (x.numel() == 0) return;
  cpu::avg_pool_backward(x.dtype(),
                         pool_kernel_shape(f.name(), x.shape(), dy.shape(), avg_windows(a)),
                         divisor(a), dy.raw(), x.raw());
}
Tensors avg_grad_grad(const GradCall& c, const AvgPoolAttrs& a);

ARGOSY_OP(avg_pool_grad, AvgPoolAttrs)
    .doc("The gradient of average pooling; without kernel, of the adaptive form.")
    .input("dy", kFloating, Save::shape)
    .input("x")
    .shape_only()
    .output("out")
    .infer(avg_grad_infer)
    .kernel("direct", avg_grad_run)
    .gradient(avg_grad_grad)
    .done();

// Pools x into the form of `like`, so that no size is computed again.
void avg_like_infer(InferContext& c, const AvgPoolAttrs& a) {
  expect_rank(c, 0, 3, 5);
  expect_result(c, 1, c.in[0].shape(), windows(a));
  c.out[0] = {c.in[1].shape(), c.in[0].dtype()};
}
void avg_like_run(KernelFrame& f, const AvgPoolAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  cpu::avg_pool(x.dtype(), pool_kernel_shape(f.name(), x.shape(), y.shape(), avg_windows(a)),
                divisor(a), x.raw(), y.raw());
}
Tensors avg_like_grad(const GradCall& c, const AvgPoolAttrs& a) {
  return {avg_pool_grad_op(c.dy(), c.in[0], a), Tensor()};
}

ARGOSY_OP(avg_pool_like, AvgPoolAttrs)
    .doc("Average pooling of x into the form of `like`.")
    .input("x", kFloating, Save::shape)
    .input("like")
    .shape_only()
    .output("out")
    .infer(avg_like_infer)
    .kernel("direct", avg_like_run)
    .gradient(avg_like_grad)
    .done();

Tensors avg_grad_grad(const GradCall& c, const AvgPoolAttrs& a) {
  return {avg_pool_like_op(c.dy(), c.in[0], a), Tensor()};
}

void avg_infer(InferContext& c, const AvgPoolAttrs& a) {
  c.out[0].shape = pooled(c.name(), c.in[0].shape(), windows(a));
}
void avg_run(KernelFrame& f, const AvgPoolAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  cpu::avg_pool(x.dtype(), pool_kernel_shape(f.name(), x.shape(), y.shape(), windows(a)),
                divisor(a), x.raw(), y.raw());
}
Tensors avg_grad(const GradCall& c, const AvgPoolAttrs& a) {
  return avg_pool_grad_op(c.dy(), c.in[0], a);
}

void adaptive_avg_infer(InferContext& c, const AdaptivePoolAttrs& a) {
  c.out[0].shape = adaptive_shape(c.name(), c.in[0].shape(), a);
}
AvgPoolAttrs adaptive_avg(const AdaptivePoolAttrs& a) {
  AvgPoolAttrs avg;
  avg.cl = a.cl;
  return avg;
}
void adaptive_avg_run(KernelFrame& f, const AdaptivePoolAttrs& a) {
  avg_like_run(f, adaptive_avg(a));
}
Tensors adaptive_avg_grad(const GradCall& c, const AdaptivePoolAttrs& a) {
  return avg_pool_grad_op(c.dy(), c.in[0], adaptive_avg(a));
}

#define ARGOSY_AVG_POOL(name)                                                        \
  ARGOSY_OP(name, AvgPoolAttrs)                                                      \
      .shape("x [n,c,*s] -> [n,c,*s'] | x [n,*s,c] -> [n,*s',c]")                    \
      .doc("The average of each window of the spatial dimensions.")                  \
      .input("x", kFloating, Save::shape)                                            \
      .output("out")                                                                 \
      .infer(avg_infer)                                                              \
      .kernel("direct", avg_run)                                                     \
      .gradient(avg_grad)                                                            \
      .done();                                                                       \
  ARGOSY_OP(adaptive_##name, AdaptivePoolAttrs)                                      \
      .shape("x [n,c,*s] -> [n,c,*s'] | x [n,*s,c] -> [n,*s',c]")                    \
      .doc("The average of each of output_size equal parts (-1: the input's size).") \
      .input("x", kFloating, Save::shape)                                            \
      .output("out")                                                                 \
      .infer(adaptive_avg_infer)                                                     \
      .kernel("direct", adaptive_avg_run)                                            \
      .gradient(adaptive_avg_grad)                                                   \
      .done();
ARGOSY_AVG_POOL(avg_pool1d)
ARGOSY_AVG_POOL(avg_pool2d)
ARGOSY_AVG_POOL(avg_pool3d)
#undef ARGOSY_AVG_POOL

// --- lp ---

void indices_infer(InferContext& c, const PoolAttrs& a) {
  expect_rank(c, 0, 3, 5);
  expect_result(c, 1, c.in[0].shape(), a);
  c.out[0] = {c.in[1].shape(), DType::int32};
}
void indices_run(KernelFrame& f, const PoolAttrs& a) {
  const Tensor &x = f.in[0], &y = f.in[1];
  if (y.numel() == 0) return;
  Tensor again = Tensor::empty(y.shape(), y.dtype());
  cpu::max_pool(x.dtype(), pool_kernel_shape(f.name(), x.shape(), y.shape(), a), x.raw(),
                again.raw(), f.out[0].data<int32_t>());
}

ARGOSY_OP(max_indices, PoolAttrs)
    .doc("Where the maximum of each window lies in its plane of x; y: of the form of the result.")
    .input("x", kFloating)
    .input("y", kFloating)
    .shape_only()
    .index_output("indices")
    .infer(indices_infer)
    .kernel("direct", indices_run)
    .done();

void lp_infer(InferContext& c, const LpPoolAttrs& a) {
  c.out[0].shape = pooled(c.name(), c.in[0].shape(), windows(a));
}
void lp_run(KernelFrame& f, const LpPoolAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  cpu::PoolShape s = pool_kernel_shape(f.name(), x.shape(), y.shape(), windows(a));
  if (a.norm_type > 1e30)
    cpu::max_pool(x.dtype(), s, x.raw(), y.raw(), nullptr);
  else
    cpu::lp_pool(x.dtype(), s, a.norm_type, x.raw(), y.raw());
}
void lp_grad_infer(InferContext& c, const LpPoolAttrs& a) {
  expect_rank(c, 0, 3, 5);
  expect_result(c, 1, c.in[0].shape(), windows(a));
  expect_shape(c, 2, c.in[1].shape());
  for (size_t i : {1, 2}) expect_dtype(c, i, c.in[0].dtype());
  c.out[0].shape = c.in[0].shape();
}
void lp_grad_run(KernelFrame& f, const LpPoolAttrs& a) {
  const Tensor &x = f.in[0], &y = f.in[1], &dy = f.in[2], &dx = f.out[0];
  if (x.numel() == 0) return;
  cpu::PoolShape s = pool_kernel_shape(f.name(), x.shape(), y.shape(), windows(a));
  if (a.norm_type > 1e30) {
    Tensor indices = Tensor::empty(y.shape(), DType::int32);
    Tensor again = Tensor::empty(y.shape(), y.dtype());
    cpu::max_pool(x.dtype(), s, x.raw(), again.raw(), indices.data<int32_t>());
    cpu::max_pool_backward(x.dtype(), s, dy.raw(), indices.data<int32_t>(), dx.raw());
    return;
  }
  cpu::lp_pool_backward(x.dtype(), s, a.norm_type, x.raw(), y.raw(), dy.raw(), dx.raw());
}

// dx = x^(p-1) spread(dy y^(1-p)): spread gives each element the sum over its windows, and
// gathering the sum over a window is the adjoint of that. h is the gradient of dx.
Tensors lp_grad_second(const GradCall& c, const LpPoolAttrs& a) {
  const Tensor &x = c.in[0], &y = c.in[1], &dy = c.in[2], &h = c.dy();
  const double p = a.norm_type;
  if (p > 1e30) {  // the maximum: dy at its places
    const PoolAttrs max = windows(a);
    const Tensor indices = max_indices_op(x, y, max);
    return {Tensor(), Tensor(), picked(h, indices, max.cl)};
  }
  AvgPoolAttrs window{a.kernel, a.stride, a.padding, a.pad_alg, a.ceil_mode};
  window.divisor_override = 1;
  window.cl = a.cl;
  auto power = [](const Tensor& t, double n) { return n == 0 ? ones_like(t) : pow(t, n); };
  Tensor at_zero = equal(y, zeros_like(y));
  auto power_of_y = [&](double n) { return where(at_zero, zeros_like(y), power(y, n)); };
  Tensor gathered = avg_pool_like_op(multiply(h, power(x, p - 1)), y, window);
  Tensor to_x, to_y;
  if (p != 1) {
    Tensor spread = avg_pool_grad_op(multiply(dy, power_of_y(1 - p)), x, window);
    to_x = scale(multiply(multiply(h, power(x, p - 2)), spread), p - 1);
    to_y = scale(multiply(multiply(gathered, dy), power_of_y(-p)), 1 - p);
  }
  return {to_x, to_y, multiply(gathered, power_of_y(1 - p))};
}

ARGOSY_OP(lp_pool_grad, LpPoolAttrs)
    .doc("The gradient of power-average pooling.")
    .input("x", kFloating, Save::value)
    .input("y", kFloating, Save::value)
    .input("dy", kFloating, Save::value)
    .output("out")
    .infer(lp_grad_infer)
    .kernel("direct", lp_grad_run)
    .gradient(lp_grad_second)
    .done();

Tensors lp_grad(const GradCall& c, const LpPoolAttrs& a) {
  return lp_pool_grad_op(c.in[0], c.out(0), c.dy(), a);
}

#define ARGOSY_LP_POOL(name)                                               \
  ARGOSY_OP(name, LpPoolAttrs)                                             \
      .shape("x [n,c,*s] -> [n,c,*s'] | x [n,*s,c] -> [n,*s',c]")          \
      .doc("(sum of x^p)^(1/p) of each window of the spatial dimensions.") \
      .input("x", kFloating, Save::value)                                  \
      .output("out", Save::value)                                          \
      .infer(lp_infer)                                                     \
      .kernel("direct", lp_run)                                            \
      .gradient(lp_grad)                                                   \
      .done();
ARGOSY_LP_POOL(lp_pool1d)
ARGOSY_LP_POOL(lp_pool2d)
#undef ARGOSY_LP_POOL

// --- unpool: values back to the places of their maxima ---

void unpool_infer(InferContext& c, const UnpoolAttrs& a) {
  const Shape& x = c.in[0].shape();
  spatial_of(c.name(), x, static_cast<int>(a.output_size.size()), false);
  Shape out{x[0], x[1]};
  for (int64_t n : a.output_size.values) out.push_back(n);
  expect_shape(c, 1, x);
  c.out[0].shape = out;
}
void unpool_run(KernelFrame& f, const UnpoolAttrs&) {
  const Tensor &x = f.in[0], &out = f.out[0];
  op::copy_into(out, constant(0, out.dtype()));
  Tensor index = Tensor::empty(f.in[1].shape(), DType::int64);
  op::copy_into(index, f.in[1]);
  if (x.numel() == 0) return;
  const int64_t planes = x.dim(0) * x.dim(1), inside = x.numel() / planes;
  const int64_t room = out.numel() / planes;
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < x.numel(); ++i) {
      int64_t at = index.data<int64_t>()[i];
      ARGOSY_CHECK(at >= 0 && at < room, invalid_argument)
          << '[' << f.name() << "] index " << at << " is outside a plane of " << room
          << " elements. Do this: give the output_size that the pool's input had.";
      out.data<T>()[i / inside * room + at] = x.data<T>()[i];
    }
  });
}
Tensors unpool_grad(const GradCall& c, const UnpoolAttrs&) {
  Tensor picked = take_along(flatten(c.dy(), 2, -1), flatten(c.in[1], 2, -1), -1);
  return {reshape_like(picked, c.in[1]), Tensor()};
}

#define ARGOSY_UNPOOL(name)                                                        \
  ARGOSY_OP(name, UnpoolAttrs)                                                     \
      .shape("x [n,c,*s], indices [n,c,*s] -> [n,c,*s']")                          \
      .doc("Zeros of output_size with x at the flat places that `indices` names.") \
      .input("x", kFloating)                                                       \
      .input("indices", kIndex, Save::value)                                       \
      .output("out")                                                               \
      .infer(unpool_infer)                                                         \
      .kernel("reference", unpool_run)                                             \
      .gradient(unpool_grad)                                                       \
      .done();
ARGOSY_UNPOOL(max_unpool1d)
ARGOSY_UNPOOL(max_unpool2d)
ARGOSY_UNPOOL(max_unpool3d)
#undef ARGOSY_UNPOOL

}  // namespace
}  // namespace argosy::ops

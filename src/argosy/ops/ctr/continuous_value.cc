#include <cmath>
#include <cstring>
#include <limits>

#include "argosy/base/parallel.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/ctr/ctr.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/operands.h"

// continuous_value_model: the two columns that count shows and clicks of a feature.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::Save;

constexpr int64_t kCounts = 2;

void value_model_infer(InferContext& c, const ValueModelAttrs& a) {
  const Tensor &x = c.in[0], &cvm = c.in[1];
  ARGOSY_CHECK(x.rank() == 2 && (x.dim(1) < 0 || x.dim(1) > kCounts), invalid_argument)
      << "[continuous_value_model] input must be [N, D] with D > 2 (show, click, embedding), got "
      << x << '.';
  ARGOSY_CHECK(cvm.rank() == 2 && (cvm.dim(1) < 0 || cvm.dim(1) == kCounts), invalid_argument)
      << "[continuous_value_model] cvm must be [N, 2] (show, click), got " << cvm << '.';
  ARGOSY_CHECK(x.dim(0) < 0 || cvm.dim(0) < 0 || x.dim(0) == cvm.dim(0), invalid_argument)
      << "[continuous_value_model] input and cvm must have as many rows, got " << x << " and "
      << cvm << '.';
  Shape shape = x.shape();
  if (!a.use_cvm && shape[1] >= 0) shape[1] -= kCounts;
  c.out[0] = {shape, x.dtype()};
}

void value_model_run(KernelFrame& f, const ValueModelAttrs& a) {
  const int64_t n = f.in[0].dim(0), from = f.in[0].dim(1), to = f.out[0].dim(1);
  dispatch_types<float, double>(f.in[0].dtype(), [&]<class T>(T) {
    const T* x = f.in[0].data<T>();
    T* y = f.out[0].data<T>();
    for (int64_t i = 0; i < n; ++i, x += from, y += to) {
      std::memcpy(y, x + from - to, static_cast<size_t>(to) * sizeof(T));
      if (!a.use_cvm) continue;
      y[0] = std::log(x[0] + 1);
      y[1] = std::log(x[1] + 1) - y[0];
    }
  });
}

void grad_infer(InferContext& c, const ValueModelAttrs& a) {
  expect_rank(c, 2, 2, 2);
  const int64_t n = c.in[2].dim(0), columns = c.in[2].dim(1), from = a.use_cvm ? 0 : kCounts;
  ARGOSY_CHECK(columns < 0 || columns >= kCounts, invalid_argument)
      << '[' << c.name() << "] like must have " << kCounts << " columns or more, got " << c.in[2]
      << ". Do this: pass the input of continuous_value_model.";
  expect_shape(c, 0, {n, columns < 0 ? kUnknown : columns - from});
  expect_shape(c, 1, {n, kCounts});
  c.out[0] = {c.in[2].shape(), c.in[0].dtype()};
}

void grad_run(KernelFrame& f, const ValueModelAttrs&) {
  const int64_t n = f.out[0].dim(0), from = f.in[0].dim(1), to = f.out[0].dim(1);
  dispatch_types<float, double>(f.in[0].dtype(), [&]<class T>(T) {
    const T* dy = f.in[0].data<T>();
    const T* counts = f.in[1].data<T>();
    T* dx = f.out[0].data<T>();
    for (int64_t i = 0; i < n; ++i, dy += from, dx += to, counts += kCounts) {
      std::memcpy(dx, counts, kCounts * sizeof(T));
      std::memcpy(dx + kCounts, dy + from - (to - kCounts),
                  static_cast<size_t>(to - kCounts) * sizeof(T));
    }
  });
}

Tensors grad_of_grad(const GradCall& c, const ValueModelAttrs& a) {
  const Tensor counts = slice(c.dy(), 1, 0, kCounts);
  const Tensor rest = slice(c.dy(), 1, kCounts, std::numeric_limits<int64_t>::max());
  const Tensor all[] = {zeros_like(counts), rest};
  return {a.use_cvm ? concat(all, 1) : rest, counts, Tensor()};
}

ARGOSY_OP(continuous_value_model_grad, ValueModelAttrs)
    .doc("dy, its first two columns (added, if they were dropped) those of cvm.")
    .input("dy", only(DType::float32) | only(DType::float64))
    .input("cvm", only(DType::float32) | only(DType::float64))
    .input("like")
    .shape_only()
    .output("dx")
    .infer(grad_infer)
    .kernel("rows", grad_run)
    .gradient(grad_of_grad)
    .done();

Tensors value_model_grad(const GradCall& c, const ValueModelAttrs& a) {
  return {continuous_value_model_grad_op(c.dy(), c.in[1], c.in[0], a), Tensor()};
}

ARGOSY_OP(continuous_value_model, ValueModelAttrs)
    .doc(
        "Of x [N, D], whose first two columns are numbers of shows and clicks: log(show + 1) and "
        "log(click + 1) - log(show + 1) in their place, or (not use_cvm) the columns without them. "
        "The gradient of the two is no derivative but cvm, what a table adds to its counts.")
    .input("x", only(DType::float32) | only(DType::float64), Save::shape)
    .input("cvm", only(DType::float32) | only(DType::float64), Save::value)
    .output("out")
    .infer(value_model_infer)
    .kernel("rows", value_model_run)
    .gradient(value_model_grad)
    .done();

}  // namespace
}  // namespace argosy::ops

#include "argosy/kernels/cuda/creation.h"

#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/copy.h"
#include "argosy/ops/creation/creation.h"

// Tensors from nothing or from the form of another, on GPUs.
namespace argosy::cuda {
namespace {

using op::KernelFrame;
using op::Scalar;

void fill_with(KernelFrame& f, const Scalar& value) {
  const Tensor& out = f.out[0];
  const ops::Element element = ops::element_of(value, out.dtype());
  fill(stream_of(f), view_of(out), element.bytes);
}
template <int kValue, class A>
void constant_run(KernelFrame& f, const A&) {
  fill_with(f, Scalar(int64_t{kValue}));
}
template <class A>
void value_run(KernelFrame& f, const A& a) {
  fill_with(f, a.fill_value);
}
template <class A>
void nothing_run(KernelFrame&, const A&) {}

[[maybe_unused]] const bool filled =
    add_kernel<ops::FilledAttrs>("zeros", constant_run<0, ops::FilledAttrs>) &&
    add_kernel<ops::FilledAttrs>("ones", constant_run<1, ops::FilledAttrs>) &&
    add_kernel<ops::FilledAttrs>("empty", nothing_run<ops::FilledAttrs>) &&
    add_kernel<ops::FullAttrs>("full", value_run<ops::FullAttrs>) &&
    add_kernel<ops::FullLikeAttrs>("full_like", value_run<ops::FullLikeAttrs>, true) &&
    add_kernel<ops::LikeAttrs>("zeros_like", constant_run<0, ops::LikeAttrs>, true) &&
    add_kernel<ops::LikeAttrs>("ones_like", constant_run<1, ops::LikeAttrs>, true) &&
    add_kernel<ops::LikeAttrs>("empty_like", nothing_run<ops::LikeAttrs>, true);

void arange_run(KernelFrame& f, const ops::ArangeAttrs& a) {
  const Tensor& out = f.out[0];
  const Scalar start = a.end ? a.start : Scalar(int64_t{0});
  if (is_integral(out.dtype()))
    arange(stream_of(f), out.dtype(), out.raw(), out.numel(), start.integer(), a.step.integer());
  else
    arange(stream_of(f), out.dtype(), out.raw(), out.numel(), start.real(), a.step.real());
}
void linspace_run(KernelFrame& f, const ops::LinspaceAttrs& a) {
  const Tensor& out = f.out[0];
  linspace(stream_of(f), out.dtype(), out.raw(), out.numel(), a.start.real(), a.stop.real());
}
void logspace_run(KernelFrame& f, const ops::LogspaceAttrs& a) {
  const Tensor& out = f.out[0];
  logspace(stream_of(f), out.dtype(), out.raw(), out.numel(), a.start.real(), a.stop.real(),
           a.base.real());
}
void eye_run(KernelFrame& f, const ops::EyeAttrs&) {
  const Tensor& out = f.out[0];
  const ops::Element one = ops::element_of(Scalar(int64_t{1}), out.dtype());
  eye(stream_of(f), item_size(out.dtype()), out.raw(), out.dim(0), out.dim(1), one.bytes);
}
template <bool lower>
void triangle_run(KernelFrame& f, const ops::TriangleAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  ARGOSY_CHECK(x.rank() >= 2, invalid_argument)
      << '[' << f.name() << "] needs a tensor of at least 2 dimensions, got " << x
      << ". Do this: unsqueeze it.";
  if (x.numel() == 0) return;
  const int64_t rows = x.dim(-2), columns = x.dim(-1);
  triangle(stream_of(f), item_size(x.dtype()), x.raw(), out.raw(), x.numel() / (rows * columns),
           rows, columns, a.diagonal, lower);
}

// Those that the CPU's kernels refuse too.
template <class A>
const char* no_range(const op::Inputs&, const A& a) {
  return a.dtype && !kNumeric.has(*a.dtype) ? "a dtype without numbers" : nullptr;
}

[[maybe_unused]] const bool ranges =
    add_kernel<ops::ArangeAttrs>("arange", no_range<ops::ArangeAttrs>, arange_run) &&
    add_kernel<ops::LinspaceAttrs>("linspace", no_range<ops::LinspaceAttrs>, linspace_run) &&
    add_kernel<ops::LogspaceAttrs>("logspace", no_range<ops::LogspaceAttrs>, logspace_run) &&
    add_kernel<ops::EyeAttrs>("eye", eye_run) &&
    add_kernel<ops::TriangleAttrs>("tril", triangle_run<true>) &&
    add_kernel<ops::TriangleAttrs>("triu", triangle_run<false>);

}  // namespace
}  // namespace argosy::cuda

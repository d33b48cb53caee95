#include <cmath>
#include <vector>

#include "argosy/base/random.h"
#include "argosy/kernels/cpu/rows.h"
#include "argosy/op/define.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/math/math.h"

// Activations that draw random numbers. What they drew is kept for the gradient.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::Save;

void rrelu_infer(InferContext&, const RreluAttrs& a) {
  ARGOSY_CHECK(0 <= a.lower && a.lower <= a.upper && a.upper <= 1, invalid_argument)
      << "[rrelu] expected 0 <= lower <= upper <= 1, got lower " << a.lower << ", upper " << a.upper
      << ". Do this: swap them, or keep the defaults 1/8 and 1/3.";
}

// A number is drawn for the negative elements only, in order.
void rrelu_run(KernelFrame& f, const RreluAttrs& a) {
  const Tensor& x = f.in[0];
  const int64_t n = x.numel();
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    T *to = f.out[0].data<T>(), *slope = f.out[1].data<T>();
    std::vector<float> drawn;
    if (a.training) {
      int64_t negatives = 0;
      for (int64_t i = 0; i < n; ++i) negatives += from[i] < T(0);
      drawn.resize(static_cast<size_t>(negatives));
      random::default_generator(x.place()).uniform(
          drawn.data(), negatives, static_cast<float>(a.lower), static_cast<float>(a.upper));
    }
    const T mean = T((a.lower + a.upper) / 2);
    size_t next = 0;
    for (int64_t i = 0; i < n; ++i) {
      slope[i] = T(1);
      if (from[i] < T(0)) slope[i] = a.training ? T(drawn[next++]) : mean;
      to[i] = from[i] * slope[i];
    }
  });
}

Tensors rrelu_grad(const GradCall& c, const RreluAttrs&) {
  return multiply(c.dy(), c.out(1));
}

ARGOSY_OP(rrelu, RreluAttrs)
    .doc(
        "x where it is not negative, x times a slope elsewhere: drawn from [lower, upper) for each "
        "element in training, their mean otherwise.")
    .shape("x [*s] -> [*s]")
    .paper("1505.00853")
    .input("x", kFloating)
    .output("out")
    .hidden_output("slope")
    .effect(op::Effect::random)
    .infer(rrelu_infer)
    .kernel("drawn", rrelu_run)
    .gradient(rrelu_grad)
    .inference([](RreluAttrs& a) { a.training = false; })
    .done();

void gumbel_infer(InferContext& c, const GumbelAttrs& a) {
  ARGOSY_CHECK(a.temperature > 0, invalid_argument)
      << "[gumbel_softmax] temperature must be positive, got " << a.temperature
      << ". Do this: pass 1.0; smaller ones come closer to one-hot.";
  normalize_axis_of_any(c.name(), a.axis, c.in[0].rank());
}

template <class T>
void one_hot_of_largest(const T* from, T* to, int64_t outer, int64_t n, int64_t inner) {
  for (int64_t i = 0; i < outer * inner; ++i) {
    const int64_t start = i / inner * n * inner + i % inner;
    int64_t best = 0;
    for (int64_t k = 1; k < n; ++k)
      if (from[start + k * inner] > from[start + best * inner]) best = k;
    for (int64_t k = 0; k < n; ++k) to[start + k * inner] = T(k == best ? 1 : 0);
  }
}

void gumbel_run(KernelFrame& f, const GumbelAttrs& a) {
  const Tensor& x = f.in[0];
  const Tensor& soft = f.out[1];
  const int64_t size = x.numel();
  if (size == 0) return;
  int axis = normalize_axis_of_any(f.name(), a.axis, x.rank());
  int64_t outer = 1, n = 1, inner = 1;
  for (int i = 0; i < x.rank(); ++i) (i < axis ? outer : i == axis ? n : inner) *= x.dim(i);
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
    std::vector<Real> u(static_cast<size_t>(size));
    random::default_generator(x.place()).uniform(u.data(), size, Real(1e-5), Real(1));
    const T* from = x.data<T>();
    T* to = soft.data<T>();
    for (int64_t i = 0; i < size; ++i) {
      Real noise = -std::log(-std::log(u[static_cast<size_t>(i)]));
      to[i] = T((static_cast<Real>(from[i]) + noise) / static_cast<Real>(a.temperature));
    }
    cpu::softmax(x.dtype(), to, to, outer, n, inner);
    if (a.hard)
      one_hot_of_largest(to, f.out[0].data<T>(), outer, n, inner);
    else
      op::copy_into(f.out[0], soft);
  });
}

// Of the soft sample also where the hard one was returned.
Tensors gumbel_grad(const GradCall& c, const GumbelAttrs& a);

ARGOSY_OP(gumbel_softmax, GumbelAttrs)
    .doc(
        "softmax((x + Gumbel noise) / temperature) along axis: a differentiable sample of a "
        "category. hard: its one-hot form, with the gradient of the soft one.")
    .shape("x [*s] -> [*s]")
    .paper("1611.01144")
    .input("x", kFloating)
    .output("out", Save::value)
    .hidden_output("soft")
    .effect(op::Effect::random)
    .infer(gumbel_infer)
    .kernel("drawn", gumbel_run)
    .gradient(gumbel_grad)
    .done();

Tensors gumbel_grad(const GradCall& c, const GumbelAttrs& a) {
  Tensor dx = softmax_grad(a.hard ? c.out(1) : c.out(0), c.dy(), a.axis);
  return scale(dx, 1 / a.temperature);
}

}  // namespace
}  // namespace argosy::ops

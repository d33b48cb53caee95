#pragma once

#include "argosy/ops/elementwise.h"
#include "argosy/ops/math/math.h"

// What elementwise activations share: one loop table for the function, one for its gradient.
namespace argosy::ops {

inline cpu::LoopParams numbers(const op::NoAttrs&) {
  return {};
}

// Compositions compute 16-bit floats in float32, as the loops do.
inline Tensor as_computed(const Tensor& x) {
  return kHalf.has(x.dtype()) ? cast(x, DType::float32) : x;
}

// numbers(attrs), found beside the attribute struct, says what the loops read. kCost: nanoseconds
// an element by the C library, as double takes it; vectors of float32 take an eighth.
template <class A, const cpu::LoopTable& (*kTable)(), int kCost>
void run_activation(op::KernelFrame& f, const A& a) {
  cpu::LoopParams p = numbers(a);
  constexpr double kVector = kCost > 8 ? kCost / 8.0 : 1.0;
  run_elementwise(f, kTable(), &p, f.in[0].dtype() == DType::float64 ? kCost : kVector);
}

// The rule of a gradient op that is linear in dy and, almost everywhere, constant in what it saved:
// the function is piecewise linear.
template <class A>
Tensors linear_in_dy(const op::GradCall& c, const A& a) {
  if (!c.needs(1)) return {Tensor(), Tensor()};
  const Tensor in[] = {c.in[0], c.dy()};
  return {Tensor(), std::move(op::dispatch(c.op, op::Inputs(in), &a)[0])};
}

// The rule of a gradient op dy * f(saved): kCurve is f's derivative.
template <class A, Tensor (*kCurve)(const Tensor&, const A&)>
Tensors curved(const op::GradCall& c, const A& a) {
  Tensor to_saved, to_dy;
  if (c.needs(0)) to_saved = multiply(multiply(c.dy(), c.in[1]), kCurve(c.in[0], a));
  if (c.needs(1)) {
    const Tensor in[] = {c.in[0], c.dy()};
    to_dy = std::move(op::dispatch(c.op, op::Inputs(in), &a)[0]);
  }
  return {to_saved, to_dy};
}

// The gradient op name_grad(saved, dy), with name_grad_loops(); a chain that ends with
// .gradient(..) and .done().
#define ARGOSY_ACTIVATION_GRAD(name, Attrs, saved, save_dy)                        \
  ARGOSY_OP(name##_grad, Attrs)                                                    \
      .doc("Gradient of " #name " from " saved " and the gradient of its output.") \
      .input(saved, kFloating, op::Save::value)                                    \
      .input("dy", kFloating, save_dy)                                             \
      .output("dx")                                                                \
      .elementwise()                                                               \
      .kernel("loops", run_activation<Attrs, cpu::name##_grad_loops, 2>)           \
      .strided()                                                                   \
      .on_loops()

// The op name(x), with name_loops(); the two forms differ in what the gradient reads. A chain that
// ends with .python(..), .doc(..) and .done().
#define ARGOSY_ACTIVATION(name, Attrs, save_x, save_y, saved, cost)    \
  Tensors name##_grad_rule(const op::GradCall& c, const Attrs& a) {    \
    return name##_grad_op(saved, c.dy(), a);                           \
  }                                                                    \
  ARGOSY_OP(name, Attrs)                                               \
      .alias("input", "x")                                             \
      .input("x", kFloating, save_x)                                   \
      .output("out", save_y)                                           \
      .elementwise()                                                   \
      .kernel("loops", run_activation<Attrs, cpu::name##_loops, cost>) \
      .strided()                                                       \
      .on_loops()                                                      \
      .gradient(name##_grad_rule)

#define ARGOSY_ACTIVATION_OF_X(name, Attrs, cost) \
  ARGOSY_ACTIVATION(name, Attrs, op::Save::value, op::Save::nothing, c.in[0], cost)
#define ARGOSY_ACTIVATION_OF_Y(name, Attrs, cost) \
  ARGOSY_ACTIVATION(name, Attrs, op::Save::nothing, op::Save::value, c.out(0), cost)

}  // namespace argosy::ops

#pragma once

#include "argosy/ops/elementwise.h"

// What the files of functions of one number share.
namespace argosy::ops {

inline constexpr DTypes kFunction = kReal | kComplex;  // integers compute in float32

// Integers give float32.
template <class A>
void infer_floating(op::InferContext& c, const A&) {
  if (!is_differentiable(c.out[0].dtype)) c.out[0].dtype = DType::float32;
}

// Runs a floating table on input 0, integers as float32. cost: nanoseconds an element by the C
// library, as double and complex take it; vectors of float32 take an eighth.
ARGOSY_API void run_floating(op::KernelFrame& f, const cpu::LoopTable& table,
                             const cpu::LoopParams* params, double cost);

template <const cpu::LoopTable& (*kTable)(), int kCost>
void run_function(op::KernelFrame& f, const op::NoAttrs&) {
  run_floating(f, kTable(), nullptr, kCost);
}

// A fused gradient kernel over (x or y, dy) takes real floats; complex opens the composition.
template <class A>
const char* only_real(const op::Inputs& in, const A&) {
  return is_complex(in[0].dtype()) ? "complex" : nullptr;
}

// dy times the derivative, whose conjugate a complex gradient takes.
ARGOSY_API Tensor chain(const Tensor& dy, const Tensor& derivative);

// Describes y = name(x) with loops name_loops() and a gradient rule name_grad.
#define ARGOSY_FUNCTION(name, signature, dtypes, save_x, save_y, cost, text) \
  ARGOSY_OP(name, op::NoAttrs)                                               \
      .python(#name signature)                                               \
      .method(#name)                                                         \
      .inplace(#name "_")                                                    \
      .alias("input", "x")                                                   \
      .doc(text)                                                             \
      .input("x", dtypes, save_x)                                            \
      .output("out", save_y)                                                 \
      .elementwise()                                                         \
      .infer(infer_floating<op::NoAttrs>)                                    \
      .kernel("loops", run_function<cpu::name##_loops, cost>)                \
      .strided()                                                             \
      .on_loops()                                                            \
      .gradient(name##_grad_rule)

// The rule of a gradient op dy * conj(f(saved)); curve is f's derivative, undefined if 0.
ARGOSY_API Tensors curved_rule(const op::GradCall& c, const Tensor& curve);

// Describes the gradient name_grad(saved, dy), fused, over its composition name_grad_parts.
// name_curve(saved) is how the derivative changes with what is saved.
#define ARGOSY_FUSED_GRADIENT(name, saved, text)                                     \
  Tensors name##_grad_second(const op::GradCall& c, const op::NoAttrs&) {            \
    return curved_rule(c, c.needs(0) ? name##_curve(c.in[0]) : Tensor());            \
  }                                                                                  \
  ARGOSY_OP(name##_grad, op::NoAttrs)                                                \
      .doc(text)                                                                     \
      .input(saved, kFloating | kComplex, op::Save::value)                           \
      .input("dy", kFloating | kComplex, op::Save::value)                            \
      .output("dx")                                                                  \
      .elementwise()                                                                 \
      .compose(name##_grad_parts)                                                    \
      .kernel("fused", only_real<op::NoAttrs>, run_loops<cpu::name##_grad_loops, 2>) \
      .strided()                                                                     \
      .on_loops()                                                                    \
      .gradient(name##_grad_second)                                                  \
      .done()

}  // namespace argosy::ops

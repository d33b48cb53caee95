#pragma once

#include "argosy/kernels/cpu/reduce.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// What the reductions share: axes None or [] mean all; results drop the reduced axes or keep them
// with size 1.
namespace argosy::ops {

ARGOSY_API Shape reduced_shape(const Shape& x, uint32_t mask, bool keepdim);

// Of axes that only a run knows, as many as `axis` has: nothing but the rank is known.
ARGOSY_API Shape reduced_shape(const Shape& x, const op::IntArray& axis, bool keepdim);

template <class A>
void infer_reduced(op::InferContext& c, const A& a) {
  if (!a.axis.symbols.empty()) {
    for (op::Meta& m : c.out) m.shape = reduced_shape(c.in[0].shape(), a.axis, a.keepdim);
    return;
  }
  uint32_t mask = op::axes_mask(c.name(), a.axis, c.in[0].rank());
  for (op::Meta& m : c.out) m.shape = reduced_shape(c.in[0].shape(), mask, a.keepdim);
}

// Axes of x that broadcasting a tensor of shape `like` to x's shape repeats. Throws where it does
// not broadcast to that.
ARGOSY_API uint32_t repeated_axes(const char* op, const Shape& x, const Shape& like);

// Reduces x over the axes of mask into out, computing in out's dtype where that is wider.
ARGOSY_API void run_reduce(cpu::Reduce kind, const Tensor& x, const Tensor& out, uint32_t mask);

template <cpu::Reduce kKind, class A>
void run_reduction(op::KernelFrame& f, const A& a) {
  run_reduce(kKind, f.in[0], f.out[0], op::axes_mask(f.name(), a.axis, f.in[0].rank()));
}

// A result of reducing x with the reduced axes put back as size 1.
ARGOSY_API Tensor with_axes(const char* op, const Tensor& y, const Tensor& x,
                            const op::IntArray& axis, bool keepdim);

// How many elements of x each result of reducing over `axis` takes: a 0-d tensor of `dtype`.
ARGOSY_API Tensor count_of(const Tensor& x, const op::IntArray& axis, DType dtype,
                           double minus = 0);

// x with the reduced axes moved to the end and joined into one: [kept.., n].
ARGOSY_API Tensor as_rows(const char* op, const Tensor& x, const op::IntArray& axis);

}  // namespace argosy::ops

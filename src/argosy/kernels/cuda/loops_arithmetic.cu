#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/ops_arithmetic.cuh"

// ARGOSY_ARITHMETIC_LOOPS.
namespace argosy::cuda {
namespace {

// Integers of one width alike.
template <class Op>
bool wrapping2(cudaStream_t s, const LoopCall& c) {
  const LoopCall u = as_unsigned(c);
  return binary<Op>(s, u, Unsigned{}) || binary<Op>(s, u, Floats{}) ||
         binary<Op>(s, u, Complexes{});
}
template <class Op>
bool wrapping1(cudaStream_t s, const LoopCall& c) {
  const LoopCall u = as_unsigned(c);
  return unary<Op>(s, u, Unsigned{}) || unary<Op>(s, u, Floats{}) || unary<Op>(s, u, Complexes{});
}
template <class Op>
bool ordered2(cudaStream_t s, const LoopCall& c) {
  return binary<Op>(s, c, Integers{}) || binary<Op>(s, c, Floats{}) || binary<Op>(s, c, Bools{});
}
template <class Op>
bool numeric1(cudaStream_t s, const LoopCall& c) {
  return unary<Op>(s, c, Integers{}) || unary<Op>(s, c, Floats{}) || unary<Op>(s, c, Complexes{});
}
template <class... T>
bool dropout_of(cudaStream_t s, const LoopCall& c, Types<T...>) {
  return ((c.key == dtype_id<T> &&
           (run_each<DropoutOp, T, T, uint8_t>(s, c.operands, c.params), true)) ||
          ...);
}

}  // namespace

bool add_loop(cudaStream_t s, const LoopCall& c) {
  return wrapping2<AddOp>(s, c) || binary<AddOp>(s, c, Bools{});
}
bool subtract_loop(cudaStream_t s, const LoopCall& c) {
  return wrapping2<SubtractOp>(s, c);
}
bool multiply_loop(cudaStream_t s, const LoopCall& c) {
  return wrapping2<MultiplyOp>(s, c) || binary<MultiplyOp>(s, c, Bools{});
}
bool divide_loop(cudaStream_t s, const LoopCall& c) {
  return binary<DivideOp>(s, c, Floats{}) || binary<DivideOp>(s, c, Complexes{});
}
bool maximum_loop(cudaStream_t s, const LoopCall& c) {
  return ordered2<MaximumOp>(s, c);
}
bool minimum_loop(cudaStream_t s, const LoopCall& c) {
  return ordered2<MinimumOp>(s, c);
}
bool fmax_loop(cudaStream_t s, const LoopCall& c) {
  return binary<FmaxOp>(s, c, Floats{}) || (!is_floating(c.key) && maximum_loop(s, c));
}
bool fmin_loop(cudaStream_t s, const LoopCall& c) {
  return binary<FminOp>(s, c, Floats{}) || (!is_floating(c.key) && minimum_loop(s, c));
}
bool negative_loop(cudaStream_t s, const LoopCall& c) {
  return wrapping1<NegativeOp>(s, c);
}
bool absolute_loop(cudaStream_t s, const LoopCall& c) {
  return unary<AbsoluteOp>(s, c, Integers{}) || unary<AbsoluteOp>(s, c, Floats{}) ||
         unary<AbsoluteOp, Real>(s, c, Complexes{});
}
bool sign_loop(cudaStream_t s, const LoopCall& c) {
  return numeric1<SignOp>(s, c);
}
bool square_loop(cudaStream_t s, const LoopCall& c) {
  return wrapping1<SquareOp>(s, c);
}
bool reciprocal_loop(cudaStream_t s, const LoopCall& c) {
  return unary<ReciprocalOp>(s, c, Floats{}) || unary<ReciprocalOp>(s, c, Complexes{});
}
bool where_loop(cudaStream_t s, const LoopCall& c) {
  with_width(item_size(c.key), [&](auto type) {
    using T = typename decltype(type)::type;
    run_each<WhereOp, T, uint8_t, T, T>(s, c.operands, nullptr);
  });
  return true;
}
bool fma_loop(cudaStream_t s, const LoopCall& c) {
  const LoopCall u = as_unsigned(c);
  return ternary<FmaOp>(s, u, Unsigned{}) || ternary<FmaOp>(s, u, Floats{}) ||
         ternary<FmaOp>(s, u, Complexes{});
}
bool lerp_loop(cudaStream_t s, const LoopCall& c) {
  return ternary<LerpOp>(s, c, Floats{}) || ternary<LerpOp>(s, c, Complexes{});
}
bool scale_loop(cudaStream_t s, const LoopCall& c) {
  return numeric1<ScaleOp>(s, c);
}
bool scale_after_bias_loop(cudaStream_t s, const LoopCall& c) {
  return numeric1<ScaleAfterBiasOp>(s, c);
}
bool axpy_loop(cudaStream_t s, const LoopCall& c) {
  return binary<AxpyOp>(s, c, Integers{}) || binary<AxpyOp>(s, c, Floats{}) ||
         binary<AxpyOp>(s, c, Complexes{});
}
bool dropout_loop(cudaStream_t s, const LoopCall& c) {
  return dropout_of(s, c, Floats{});
}
bool clip_loop(cudaStream_t s, const LoopCall& c) {
  return unary<ClipOp>(s, c, Integers{}) || unary<ClipOp>(s, c, Floats{});
}
bool clip_grad_loop(cudaStream_t s, const LoopCall& c) {
  return binary<ClipGradOp>(s, c, Integers{}) || binary<ClipGradOp>(s, c, Floats{});
}

}  // namespace argosy::cuda

#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/ops_integer.cuh"

// ARGOSY_INTEGER_LOOPS. What divides by the integer 0 gives 0.
namespace argosy::cuda {
namespace {

template <class Op>
bool real2(cudaStream_t s, const LoopCall& c) {
  return binary<Op>(s, c, Integers{}) || binary<Op>(s, c, Floats{});
}
template <class Op>
bool bits2(cudaStream_t s, const LoopCall& c) {
  const LoopCall u = as_unsigned(c);
  return binary<Op>(s, u, Unsigned{}) || binary<Op>(s, u, Bools{});
}

}  // namespace

bool floor_divide_loop(cudaStream_t s, const LoopCall& c) {
  return real2<FloorDivideOp>(s, c);
}
bool remainder_loop(cudaStream_t s, const LoopCall& c) {
  return real2<RemainderOp>(s, c);
}
bool fmod_loop(cudaStream_t s, const LoopCall& c) {
  return real2<FmodOp>(s, c);
}
bool trunc_divide_loop(cudaStream_t s, const LoopCall& c) {
  return real2<TruncDivideOp>(s, c);
}
bool gcd_loop(cudaStream_t s, const LoopCall& c) {
  return binary<GcdOp>(s, c, Integers{});
}
bool lcm_loop(cudaStream_t s, const LoopCall& c) {
  return binary<LcmOp>(s, c, Integers{});
}
bool bitwise_and_loop(cudaStream_t s, const LoopCall& c) {
  return bits2<AndOp>(s, c);
}
bool bitwise_or_loop(cudaStream_t s, const LoopCall& c) {
  return bits2<OrOp>(s, c);
}
bool bitwise_xor_loop(cudaStream_t s, const LoopCall& c) {
  return bits2<XorOp>(s, c);
}
bool bitwise_not_loop(cudaStream_t s, const LoopCall& c) {
  const LoopCall u = as_unsigned(c);
  return unary<NotOp>(s, u, Unsigned{}) || unary<NotOp>(s, u, Bools{});
}
bool left_shift_loop(cudaStream_t s, const LoopCall& c) {
  return binary<LeftShiftOp>(s, c, Integers{});
}
bool right_shift_loop(cudaStream_t s, const LoopCall& c) {
  return binary<RightShiftOp>(s, c, Integers{});
}
bool right_shift_logical_loop(cudaStream_t s, const LoopCall& c) {
  return binary<RightShiftLogicalOp>(s, c, Integers{});
}

}  // namespace argosy::cuda

#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/ops_compare.cuh"

// ARGOSY_COMPARE_LOOPS: the output is bool, a byte of 0 or 1.
namespace argosy::cuda {
namespace {

template <class Op>
bool ordered(cudaStream_t s, const LoopCall& c) {
  return binary<Op, bool>(s, c, Integers{}) || binary<Op, bool>(s, c, Floats{}) ||
         binary<Op, bool>(s, c, Bools{});
}
// a > b by the kernels of b < a.
template <class Op>
bool swapped(cudaStream_t s, const LoopCall& c) {
  const View operands[] = {c.operands[1], c.operands[0], c.operands[2]};
  LoopCall turned = c;
  turned.operands = operands;
  return ordered<Op>(s, turned);
}
template <class Op>
bool unordered(cudaStream_t s, const LoopCall& c) {
  const LoopCall u = as_unsigned(c);
  return binary<Op, bool>(s, u, Unsigned{}) || binary<Op, bool>(s, u, Floats{}) ||
         binary<Op, bool>(s, u, Bools{}) || binary<Op, bool>(s, u, Complexes{});
}
template <class Op>
bool predicate(cudaStream_t s, const LoopCall& c) {
  const LoopCall u = as_unsigned(c);
  return unary<Op, bool>(s, u, Unsigned{}) || unary<Op, bool>(s, u, Floats{}) ||
         unary<Op, bool>(s, u, Bools{}) || unary<Op, bool>(s, u, Complexes{});
}

}  // namespace

bool equal_loop(cudaStream_t s, const LoopCall& c) {
  return unordered<EqualOp>(s, c);
}
bool not_equal_loop(cudaStream_t s, const LoopCall& c) {
  return unordered<NotEqualOp>(s, c);
}
bool less_loop(cudaStream_t s, const LoopCall& c) {
  return ordered<LessOp>(s, c);
}
bool less_equal_loop(cudaStream_t s, const LoopCall& c) {
  return ordered<LessEqualOp>(s, c);
}
bool greater_loop(cudaStream_t s, const LoopCall& c) {
  return swapped<LessOp>(s, c);
}
bool greater_equal_loop(cudaStream_t s, const LoopCall& c) {
  return swapped<LessEqualOp>(s, c);
}
bool logical_and_loop(cudaStream_t s, const LoopCall& c) {
  return unordered<LogicalAndOp>(s, c);
}
bool logical_or_loop(cudaStream_t s, const LoopCall& c) {
  return unordered<LogicalOrOp>(s, c);
}
bool logical_xor_loop(cudaStream_t s, const LoopCall& c) {
  return unordered<LogicalXorOp>(s, c);
}
bool logical_not_loop(cudaStream_t s, const LoopCall& c) {
  return predicate<LogicalNotOp>(s, c);
}
bool isnan_loop(cudaStream_t s, const LoopCall& c) {
  return predicate<IsnanOp>(s, c);
}
bool isinf_loop(cudaStream_t s, const LoopCall& c) {
  return predicate<IsinfOp>(s, c);
}
bool isfinite_loop(cudaStream_t s, const LoopCall& c) {
  return predicate<IsfiniteOp>(s, c);
}

}  // namespace argosy::cuda

#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/math.cuh"

// ARGOSY_ARITHMETIC_LOOPS.
namespace argosy::cuda {
namespace {

// clang-format off
ARGOSY_CUDA_OP(AddOp, light, T a, T b) { return sum_of(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SubtractOp, light, T a, T b) { return difference_of(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(MultiplyOp, light, T a, T b) { return product_of(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(DivideOp, light, T a, T b) { return quotient_of(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(MaximumOp, light, T a, T b) { return a > b || a != a ? a : b; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(MinimumOp, light, T a, T b) { return a < b || a != a ? a : b; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(FmaxOp, light, T a, T b) { return a > b || b != b ? a : b; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(FminOp, light, T a, T b) { return a < b || b != b ? a : b; } ARGOSY_CUDA_END
// clang-format on

ARGOSY_CUDA_OP(NegativeOp, light, T a) {
  if constexpr (is_complex_v<T>)
    return T{-a.re, -a.im};
  else if constexpr (is_float_v<T>)
    return -a;
  else
    return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(AbsoluteOp, light, T a) {
  if constexpr (is_complex_v<T>)
    return modulus(a);
  else if constexpr (is_float_v<T>)
    return fabs(a);
  else
    return static_cast<T>(magnitude(a));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SignOp, light, T a) {
  if constexpr (is_complex_v<T>) {
    const auto m = static_cast<decltype(a.re)>(modulus(a));
    return m == 0 ? T{0, 0} : T{a.re / m, a.im / m};
  } else {
    const T s = static_cast<T>(static_cast<T>(a > T(0)) - static_cast<T>(below_zero(a)));
    return a != a ? a : s;
  }
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SquareOp, light, T a) {
  return product_of(a, a);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(ReciprocalOp, light, T a) {
  if constexpr (is_complex_v<T>)
    return quotient_of(T{1, 0}, a);
  else
    return T(1) / a;
}
ARGOSY_CUDA_END
struct WhereOp {
  static constexpr Weight kWeight = Weight::light;
  static constexpr bool kMoves = true;
  template <class T>
  __device__ __forceinline__ T operator()(uint8_t condition, T a, T b) const {
    return condition ? a : b;
  }
};
ARGOSY_CUDA_OP(FmaOp, light, T a, T b, T c) {
  return sum_of(product_of(a, b), c);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LerpOp, light, T a, T b, T w) {
  return sum_of(a, product_of(w, difference_of(b, a)));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(ScaleOp, light, T a, const N& p) {
  if constexpr (is_complex_v<T>)
    return T{product_of(a.re, p.a) + p.b, a.im * p.a};
  else
    return sum_of(product_of(a, T(p.a)), T(p.b));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(ScaleAfterBiasOp, light, T a, const N& p) {
  if constexpr (is_complex_v<T>)
    return T{(a.re + p.b) * p.a, a.im * p.a};
  else
    return product_of(sum_of(a, T(p.b)), T(p.a));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(AxpyOp, light, T a, T b, const N& p) {
  if constexpr (is_complex_v<T>)
    return T{product_of(a.re, p.a) + product_of(b.re, p.b),
             product_of(a.im, p.a) + product_of(b.im, p.b)};
  else
    return sum_of(product_of(a, T(p.a)), product_of(b, T(p.b)));
}
ARGOSY_CUDA_END
struct DropoutOp {
  static constexpr Weight kWeight = Weight::light;
  template <class T, class N>
  __device__ __forceinline__ T operator()(T x, uint8_t keep, const N& p) const {
    return keep ? x * p.a : T(0);
  }
};
ARGOSY_CUDA_OP_WITH(ClipOp, light, T x, const N& p) {
  const T low = x < T(p.a) ? T(p.a) : x;
  return low > T(p.b) ? T(p.b) : low;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(ClipGradOp, light, T x, T dy, const N& p) {
  return x >= T(p.a) && x <= T(p.b) ? dy : T(0);
}
ARGOSY_CUDA_END

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

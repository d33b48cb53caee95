#pragma once

#include "argosy/kernels/cpu/loops.h"

// The loop tables: `run_loop(add_loops()[dtype], shape, operands)`. Inputs have one dtype, the
// table's key, and so has the output unless a list below says otherwise; a null entry means that
// the op is not defined for the dtype. float16 and bfloat16 compute in float32 and round once.
namespace argosy::cpu {

// What `params` of run_loop points to for ops with numbers; integers saturate.
struct LoopParams {
  double a = 0, b = 0, c = 0;
};

// clang-format off

// Two inputs. Integers wrap; bool: add is or, multiply is and.
#define ARGOSY_ARITHMETIC_LOOPS(X)                                                                 \
  X(add) X(subtract) X(multiply)                                                                   \
  X(divide)                       /* floating and complex; by zero: inf or nan */                  \
  X(maximum) X(minimum)           /* nan if either is */                                           \
  X(fmax) X(fmin)                 /* the other one if one is nan */                                \
  X(negative) X(absolute)         /* one input; absolute of complex: real output */                \
  X(sign)                         /* one; 0 for -0, nan for nan; complex: x / |x| */               \
  X(square) X(reciprocal)         /* one; reciprocal: floating and complex */                      \
  X(where)                        /* bool condition, a, b; keyed by the dtype of a; any dtype */   \
  X(fma)                          /* three: a * b + c, rounded twice */                            \
  X(lerp)                         /* three: a + c * (b - a); floating and complex */               \
  X(scale)                        /* one: x * params.a + params.b */                               \
  X(scale_after_bias)             /* one: (x + params.b) * params.a */                             \
  X(axpy)                         /* x, y: params.a * x + params.b * y */                          \
  X(dropout)                      /* x, uint8 mask: mask ? x * params.a : 0; floating */           \
  X(clip)                         /* one: into [params.a, params.b]; nan stays; real */            \
  X(clip_grad)                    /* x, dy: dy where params.a <= x <= params.b, else 0; real */

// Integers (bool where it makes sense), two inputs unless noted. Division by zero raises
// ErrorKind::invalid_argument; floating forms of the first four are in the same tables.
#define ARGOSY_INTEGER_LOOPS(X)                                                                    \
  X(floor_divide) X(remainder)    /* remainder has the sign of the divisor */                      \
  X(fmod)                         /* has the sign of the dividend */                               \
  X(trunc_divide)                 /* rounds to zero */                                             \
  X(gcd) X(lcm)                                                                                    \
  X(bitwise_and) X(bitwise_or) X(bitwise_xor)                                                      \
  X(bitwise_not)                  /* one input; bool: logical */                                   \
  X(left_shift) X(right_shift)    /* counts outside the width shift everything out */              \
  X(right_shift_logical)          /* zeros come in whatever the sign */

// Output bool.
#define ARGOSY_COMPARE_LOOPS(X)                                                                    \
  X(equal) X(not_equal)           /* any dtype but float8 */                                       \
  X(less) X(less_equal) X(greater) X(greater_equal) /* not complex */                              \
  X(logical_and) X(logical_or) X(logical_xor)                                                      \
  X(logical_not)                  /* one input */                                                  \
  X(isnan) X(isinf) X(isfinite)   /* one input; also defined for integers */

// Floating and complex, one input, unless noted.
#define ARGOSY_MATH_LOOPS(X)                                                                       \
  X(sqrt) X(rsqrt) X(exp) X(expm1) X(log) X(log2) X(log10) X(log1p)                                \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan)                                                     \
  X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sigmoid)                                    \
  X(floor) X(ceil) X(round) X(trunc) /* real; round: half to even */                               \
  X(frac)                            /* real; x - trunc(x) */                                      \
  X(exp2) X(deg2rad) X(rad2deg)      /* floating, like those below */                              \
  X(erf) X(erfc) X(erfinv) X(lgamma) X(digamma)                                                    \
  X(i0) X(i0e) X(i1) X(i1e)          /* modified Bessel functions, e: times exp(-|x|) */           \
  X(conj) X(real) X(imag) X(angle)   /* real, imag and angle of complex: real output */

// Floating, two inputs.
#define ARGOSY_MATH2_LOOPS(X)                                                                      \
  X(pow)                          /* also integers (negative exponents truncate) and complex */    \
  X(atan2) X(hypot) X(copysign)                                                                    \
  X(nextafter)                    /* float32 and float64 */                                        \
  X(heaviside)                    /* also integers; 0 for nan, as in Paddle */                     \
  X(ldexp)                        /* a * 2^b */                                                    \
  X(logaddexp)

// Activations: floating, one input x; numbers in LoopParams.
#define ARGOSY_ACTIVATION_LOOPS(X)                                                                 \
  X(relu)                         /* also signed integers */                                       \
  X(relu6)                                                                                         \
  X(leaky_relu)                   /* a: slope */                                                   \
  X(elu) X(celu)                  /* a: alpha */                                                   \
  X(selu)                         /* a: scale, b: alpha */                                         \
  X(gelu)                         /* a: 1 for the tanh form */                                     \
  X(silu) X(mish) X(softsign) X(tanhshrink) X(log_sigmoid)                                         \
  X(softplus)                     /* a: beta, b: threshold */                                      \
  X(hardtanh)                     /* a: min, b: max */                                             \
  X(hardsigmoid)                  /* a: slope, b: offset */                                        \
  X(hardswish)                                                                                     \
  X(softshrink) X(hardshrink)     /* a: threshold */                                               \
  X(thresholded_relu)             /* a: threshold, b: value up to it */                            \
  X(stanh)                        /* a: slope of x, b: scale */                                    \
  X(prelu)                        /* two inputs: x, weight */

// Gradients, floating: two inputs, x or the forward's output y as noted, then dy; numbers as the
// forward's.
#define ARGOSY_ACTIVATION_GRAD_LOOPS(X)                                                            \
  X(relu_grad) /* y */ X(relu6_grad) /* y */ X(leaky_relu_grad) /* x */                            \
  X(elu_grad) /* x */ X(celu_grad) /* x */ X(selu_grad) /* y */                                    \
  X(gelu_grad) /* x */ X(silu_grad) /* x */ X(mish_grad) /* x */ X(softsign_grad) /* x */          \
  X(tanhshrink_grad) /* x */ X(log_sigmoid_grad) /* x */ X(softplus_grad) /* x */                  \
  X(hardtanh_grad) /* x */ X(hardsigmoid_grad) /* y */ X(hardswish_grad) /* x */                   \
  X(softshrink_grad) /* x */ X(hardshrink_grad) /* x */ X(thresholded_relu_grad) /* x */           \
  X(stanh_grad) /* x */                                                                            \
  X(sigmoid_grad) /* y */ X(tanh_grad) /* y */ X(sqrt_grad) /* y */ X(rsqrt_grad) /* y */          \
  X(reciprocal_grad) /* y */ X(log_grad) /* x */ X(square_grad) /* x */ X(abs_grad) /* x */

#define ARGOSY_ALL_LOOPS(X)                                                                        \
  ARGOSY_ARITHMETIC_LOOPS(X)                                                                       \
  ARGOSY_INTEGER_LOOPS(X)                                                                          \
  ARGOSY_COMPARE_LOOPS(X)                                                                          \
  ARGOSY_MATH_LOOPS(X)                                                                             \
  ARGOSY_MATH2_LOOPS(X)                                                                            \
  ARGOSY_ACTIVATION_LOOPS(X)                                                                       \
  ARGOSY_ACTIVATION_GRAD_LOOPS(X)
// clang-format on

// const LoopTable& add_loops(); and so on. The reference stays valid; its loops are those of isa().
#define ARGOSY_DECLARE_LOOPS(name) ARGOSY_API const LoopTable& name##_loops();
ARGOSY_ALL_LOOPS(ARGOSY_DECLARE_LOOPS)
#undef ARGOSY_DECLARE_LOOPS

// One input of dtype `from`, output of dtype `to`; every pair is defined. Floating to integer
// truncates; what does not fit wraps through int64 (inf and nan: unspecified, as in C); complex to
// real drops the imaginary part; anything to bool is != 0.
ARGOSY_API Loop cast_loop(DType from, DType to);

}  // namespace argosy::cpu

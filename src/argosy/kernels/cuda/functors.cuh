#pragma once

#include "argosy/kernels/cuda/element.cuh"

// Ops of one element, as kernels over elements call them (elementwise.cuh, chain.cuh). Compiled by
// NVRTC, too: what an op calls is here, in math.cuh, near.cuh, or its own header.
namespace argosy::cuda {

// An op is an empty struct that is called with computed elements, and with Numbers last if it takes
// them. How much code it is decides how it is compiled:
//   light    16 bytes of each operand at once, several such packs in flight
//   medium   16 bytes at once; double and complex one element at once
//   heavy    the same, by a call for each element; never a part of a fused chain
// kMoves: it takes integers of a width for whatever has that width. Number: the type of Numbers,
// where it is not the computed type. kName: what the op is called in the text of a fused chain;
// without one it is no part of any. Those with a name are in headers ops_*.cuh.
enum class Weight { light, medium, heavy };

//
//   ARGOSY_CUDA_OP(Square, light, T x) { return x * x; } ARGOSY_CUDA_END
//   ARGOSY_CUDA_OP_WITH(Elu, medium, T x, const N& p) { ... } ARGOSY_CUDA_END
#ifdef __CUDACC_RTC__  // which has no use for what the host asks
#define ARGOSY_CUDA_WORDS(Name, weight)
#else
#define ARGOSY_CUDA_WORDS(Name, weight)             \
  static constexpr Weight kWeight = Weight::weight; \
  static constexpr const char* kName = #Name;
#endif
#define ARGOSY_CUDA_OP(Name, weight, ...) \
  struct Name {                           \
    ARGOSY_CUDA_WORDS(Name, weight)       \
    template <class T>                    \
    __device__ __forceinline__ auto operator()(__VA_ARGS__) const
#define ARGOSY_CUDA_OP_WITH(Name, weight, ...) \
  struct Name {                                \
    ARGOSY_CUDA_WORDS(Name, weight)            \
    template <class T, class N>                \
    __device__ __forceinline__ auto operator()(__VA_ARGS__) const
#define ARGOSY_CUDA_END \
  }                     \
  ;

// What stands for an op where results are of 16 bits: the same in fewer instructions, off by far
// less than those bits show.
template <class Op>
struct NearOf {
  using type = Op;
};
#define ARGOSY_CUDA_NEAR(Op, Near) \
  template <>                      \
  struct NearOf<Op> {              \
    using type = Near;             \
  };
template <class T>
inline constexpr bool is_half_v = std::is_same_v<T, half_t> || std::is_same_v<T, bf16_t>;
template <class Stated, class R>
using OpFor = std::conditional_t<is_half_v<R>, typename NearOf<Stated>::type, Stated>;

// LoopParams in the computed type; integers saturate.
template <class S>
struct Numbers {
  S a, b, c;
};

template <class Op, class R, class N, class... A>
__device__ __forceinline__ R applied(const N& p, A... a) {
  if constexpr (std::is_invocable_v<Op, A..., const N&>)
    return store<R>(static_cast<Computed<R>>(Op{}(a..., p)));
  else
    return store<R>(static_cast<Computed<R>>(Op{}(a...)));
}

}  // namespace argosy::cuda

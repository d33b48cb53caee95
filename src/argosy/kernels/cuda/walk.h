#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "argosy/kernels/cuda/view.h"

// The dimensions that a kernel over strided operands has to go through.
namespace argosy::cuda {

inline constexpr int kMaxOperands = 4;

// A function that is called while its caller waits: no more than two addresses.
template <class... A>
class Called {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Called>) Called(F&& f)
      : f_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* g, A... a) {
          (*static_cast<std::remove_reference_t<F>*>(g))(std::forward<A>(a)...);
        }) {}
  void operator()(A... a) const { call_(f_, std::forward<A>(a)...); }

 private:
  void* f_;
  void (*call_)(void*, A...);
};

// Operands of one shape with as few dimensions as they allow, outermost first: by strides of the
// operand `order` (sizes of 1 are gone, neighbours that lie alike in all are one). At least one.
struct Merged {
  int rank = 0;
  int64_t shape[kMaxRank];
  int64_t strides[kMaxRank][kMaxOperands];  // [dimension][operand]
  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= shape[d];
    return n;
  }
};
Merged merged(const View* operands, int count, int order);

// Calls f with elements to be moved at once: `most` (a power of 2) or 1. If more than 1, there are
// at most kPackedRank dimensions, the innermost strides are 0 or 1 and that of the output, which is
// the last operand, is 1, and the innermost size is a multiple. A few elements at the end may come
// in a call of their own.
inline constexpr int kPackedRank = 4;
void in_packs(const Merged& m, void* const* data, const int* item_sizes, int count, int most,
              Called<const Merged&, void* const*, int> f);

// f for parts of at most 2^30 elements, with the operands' addresses.
void for_parts(const Merged& m, void* const* data, const int* item_sizes, int count,
               Called<const Merged&, void* const*> f);

}  // namespace argosy::cuda

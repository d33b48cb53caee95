#include "argosy/passes/rules/scaled_channels.h"

#include "argosy/base/parallel.h"
#include "argosy/op/dispatch.h"

namespace argosy::passes {

Tensor scaled_channels(const Tensor& weight, const Tensor& factor, bool first_axis) {
  constexpr int64_t kGrain = 1 << 16;  // elements of a thread
  const Tensor w = op::contiguous(weight), f = op::contiguous(factor);
  const int64_t rows = w.rank() ? w.dim(0) : 1;
  const int64_t columns = rows ? w.numel() / rows : 0;
  const bool one = f.numel() == 1;
  Tensor out = Tensor::empty(w.shape(), w.dtype());
  const double* by = f.data<double>();
  dispatch_floating(w.dtype(), [&]<class T>(T) {
    const T* from = w.data<T>();
    T* to = out.data<T>();
    parallel_for(rows, std::max<int64_t>(kGrain / std::max<int64_t>(columns, 1), 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     for (int64_t j = 0; j < columns; ++j) {
                       const int64_t at = i * columns + j, place = first_axis ? i : j;
                       to[at] = static_cast<T>(static_cast<double>(from[at]) * by[one ? 0 : place]);
                     }
                 });
  });
  return out;
}

}  // namespace argosy::passes

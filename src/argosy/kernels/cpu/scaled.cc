#include "argosy/kernels/cpu/scaled.h"

#include <algorithm>

#include "argosy/base/parallel.h"

namespace argosy::cpu {

void scale_in_float64(DType dtype, int64_t rows, int64_t columns, const void* from,
                      const double* by, int64_t row_step, int64_t column_step, void* to) {
  constexpr int64_t kGrain = 1 << 16;  // elements of a thread
  dispatch_floating(dtype, [&]<class T>(T) {
    const auto* x = static_cast<const T*>(from);
    auto* y = static_cast<T*>(to);
    parallel_for(rows, std::max<int64_t>(kGrain / std::max<int64_t>(columns, 1), 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const T* const row = x + i * columns;
                     T* const scaled = y + i * columns;
                     const double* const factors = by + i * row_step;
                     if (column_step == 0) {
                       const double factor = *factors;
                       for (int64_t j = 0; j < columns; ++j)
                         scaled[j] = static_cast<T>(static_cast<double>(row[j]) * factor);
                     } else {
                       for (int64_t j = 0; j < columns; ++j)
                         scaled[j] = static_cast<T>(static_cast<double>(row[j]) * factors[j]);
                     }
                   }
                 });
  });
}

}  // namespace argosy::cpu

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "argosy/base/dtype.h"
#include "argosy/comm/header.h"

namespace argosy::comm {

// Whether the reduction means something for the dtype: bool has no average and its sum is "any",
// its product "all"; integers have no average; complex numbers no order; float8 is for storage.
ARGOSY_API bool reduces(Reduce op, DType dtype);

// target[i] = op over sources in their order, so equal bits come out wherever it is computed; for
// each of the targets. 16-bit floats are computed in float32 and rounded once; max and min give nan
// where a source is nan; integers wrap. A target may be one of the sources. `ranks`: what avg
// divides by. REQUIRES: reduces(op, dtype), at least one source and one target.
ARGOSY_API void combine(Reduce op, DType dtype, std::span<char* const> targets,
                        std::span<const char* const> sources, int64_t count, int ranks);
inline void combine(Reduce op, DType dtype, char* target, std::span<const char* const> sources,
                    int64_t count, int ranks) {
  combine(op, dtype, {&target, 1}, sources, count, ranks);
}

}  // namespace argosy::comm

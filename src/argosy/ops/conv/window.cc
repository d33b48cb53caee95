#include "argosy/ops/conv/window.h"

#include <algorithm>
#include <span>

namespace argosy::ops {

Spatial spatial_of(const char* op, const Shape& x, int dims, bool channels_last) {
  ARGOSY_CHECK(x.rank() == dims + 2, invalid_argument)
      << '[' << op << "] x must have " << dims + 2 << " dimensions (batch, channels and " << dims
      << " spatial ones), got shape " << x << ". Do this: add or merge dimensions.";
  return {dims, channels_last ? 1 : 2, channels_last ? dims + 1 : 1};
}

Padding padding_of(const char* op, const std::vector<int64_t>& padding,
                   const std::string& algorithm, int d, int64_t in, int64_t kernel,
                   int64_t stride) {
  if (algorithm == "VALID") return {0, 0};
  if (algorithm == "SAME") {
    if (in < 0) return {0, 0};
    int64_t out = (in + stride - 1) / stride;
    int64_t sum = std::max<int64_t>(0, (out - 1) * stride + kernel - in);
    return {sum / 2, sum - sum / 2};
  }
  size_t at = 2 * static_cast<size_t>(d);
  ARGOSY_CHECK(algorithm == "EXPLICIT" && at + 1 < padding.size() && padding[at] >= 0 &&
                   padding[at + 1] >= 0,
               invalid_argument)
      << '[' << op << "] padding must be two numbers of 0 or more for each spatial dimension, "
      << "'SAME' or 'VALID': got '" << algorithm << "' and "
      << Shape(std::span(padding).first(std::min<size_t>(padding.size(), 9)))
      << ". Do this: pass one number, one for each dimension, or (before, after) pairs.";
  return {padding[at], padding[at + 1]};
}

}  // namespace argosy::ops

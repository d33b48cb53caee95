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

namespace {

// A few of these add up without overflow.
constexpr int64_t kMostCounted = int64_t{1} << 60;

[[noreturn]] void fail_uncountable(const char* op) {
  ARGOSY_THROW(memory) << '[' << op
                       << "] sizes, kernel, stride, dilation and padding describe more elements "
                          "than can be counted. Do this: pass smaller numbers.";
}

}  // namespace

int64_t counted_product(const char* op, int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kMostCounted) fail_uncountable(op);
  return product;
}

Padding padding_of(const char* op, const std::vector<int64_t>& padding,
                   const std::string& algorithm, int d, int64_t in, int64_t kernel,
                   int64_t stride) {
  if (std::max({in, kernel, stride}) > kMostCounted) fail_uncountable(op);
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
  if (std::max(padding[at], padding[at + 1]) > kMostCounted) fail_uncountable(op);
  return {padding[at], padding[at + 1]};
}

}  // namespace argosy::ops

#pragma once

#include "argosy/op/attrs.h"

// Ops that draw from the seeded generator.
namespace argosy::ops {

struct UniformAttrs {
  op::IntArray shape;
  op::Scalar min = -1.0, max = 1.0;
  int64_t seed = 0;
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(UniformAttrs, shape, min, max, seed, dtype)

struct GaussianAttrs {
  op::IntArray shape;
  double mean = 0, std = 1;
  int64_t seed = 0;
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(GaussianAttrs, shape, mean, std, seed, dtype)

struct TruncatedGaussianAttrs {
  op::IntArray shape;
  double mean = 0, std = 1;
  int64_t seed = 0;
  double a = -2, b = 2;
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(TruncatedGaussianAttrs, shape, mean, std, seed, a, b, dtype)

struct RandintAttrs {
  int64_t low = 0, high = 1;
  op::IntArray shape{1};
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(RandintAttrs, low, high, shape, dtype)

struct RandpermAttrs {
  int64_t n = 0;
  DType dtype = DType::int64;
};
ARGOSY_ATTRS(RandpermAttrs, n, dtype)

struct BernoulliAttrs {
  std::optional<double> p;
};
ARGOSY_ATTRS(BernoulliAttrs, p)

struct MultinomialAttrs {
  op::Scalar num_samples = int64_t{1};
  bool replacement = false;
};
ARGOSY_ATTRS(MultinomialAttrs, num_samples, replacement)

struct UniformInplaceAttrs {
  double min = -1, max = 1;
  int64_t seed = 0;
};
ARGOSY_ATTRS(UniformInplaceAttrs, min, max, seed)

struct NormalInplaceAttrs {
  double mean = 0, std = 1;
};
ARGOSY_ATTRS(NormalInplaceAttrs, mean, std)

struct ExponentialAttrs {
  double lam = 1;
};
ARGOSY_ATTRS(ExponentialAttrs, lam)

}  // namespace argosy::ops

#pragma once

#include <string>

#include "argosy/op/attrs.h"

// Attributes of the ops of this family.
namespace argosy::ops {

struct AucCountAttrs {
  int64_t thresholds = 4095;
};
ARGOSY_ATTRS(AucCountAttrs, thresholds)

struct AucAreaAttrs {
  std::string curve = "ROC";
};
ARGOSY_ATTRS(AucAreaAttrs, curve)

struct ValueModelAttrs {
  bool use_cvm = true;
};
ARGOSY_ATTRS(ValueModelAttrs, use_cvm)

struct DataNormAttrs {
  double epsilon = 1e-5;
  int64_t slot_dim = -1;
};
ARGOSY_ATTRS(DataNormAttrs, epsilon, slot_dim)

struct SummaryAttrs {
  double decay = 0.9999999;
};
ARGOSY_ATTRS(SummaryAttrs, decay)

}  // namespace argosy::ops

#pragma once

#include "argosy/base/export.h"
#include "argosy/base/place.h"

namespace argosy::op {

// For who computes while compiling, and reads the results: meanwhile, what this thread makes
// without operands is on the host where it would be on a device.
class ARGOSY_API MakesOnHost {
 public:
  MakesOnHost();
  ~MakesOnHost();
  MakesOnHost(const MakesOnHost&) = delete;

 private:
  const Place before_;
};

}  // namespace argosy::op

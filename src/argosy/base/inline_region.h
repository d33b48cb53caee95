#pragma once

#include "argosy/base/export.h"

namespace argosy {

// While it lives, parallel_for of this thread runs inline. For threads that are themselves how work
// is spread over the cores. Results do not depend on it, see base/parallel.h.
class ARGOSY_API InlineRegion {
 public:
  InlineRegion();
  ~InlineRegion();
  InlineRegion(const InlineRegion&) = delete;

 private:
  bool before_;
};

}  // namespace argosy

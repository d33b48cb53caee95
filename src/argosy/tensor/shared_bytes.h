#pragma once

#include "argosy/base/export.h"

namespace argosy {

// While one of these lives, tensors that its thread makes on the CPU lie in memory that other
// processes of the host see, as far as there is such memory (memory::share): collectives reduce
// them where they are. It is meant for gradients; wherever it is not, tensors work as well.
class ARGOSY_API SharedBytes {
 public:
  explicit SharedBytes(bool wanted) : before_(wanted_) { wanted_ |= wanted; }
  ~SharedBytes() { wanted_ = before_; }
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;

  static bool wanted() { return wanted_; }

 private:
  static constinit thread_local bool wanted_;
  const bool before_;
};

}  // namespace argosy

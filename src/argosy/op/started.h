#pragma once

#include "argosy/base/export.h"

namespace argosy::op {

// Waits until what kernels of this thread's rank have started, and nobody has waited for, uses no
// memory any more. Who gives memory back after a run that failed calls it before. Null unless
// something is loaded that starts such work.
extern ARGOSY_API void (*settle_started)();

}  // namespace argosy::op

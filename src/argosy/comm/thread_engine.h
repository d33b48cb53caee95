#pragma once

#include <memory>
#include <vector>

#include "argosy/comm/engine.h"

namespace argosy::comm {

// `size` ranks in one process: one Engine for each thread. A rank whose Engine is destroyed is
// gone. see_tensors: whether they see each other's tensors, as processes see gradients.
ARGOSY_API std::vector<std::shared_ptr<Engine>> thread_engines(int size, bool see_tensors = true);

}  // namespace argosy::comm

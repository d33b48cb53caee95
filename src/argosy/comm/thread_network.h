#pragma once

#include <memory>
#include <vector>

#include "argosy/comm/links.h"

namespace argosy::comm {

// `size` ranks in one process that share no memory: one Network for each thread. What goes over
// links between hosts is tested with it. A rank whose Network is destroyed is gone.
ARGOSY_API std::vector<std::shared_ptr<Network>> thread_networks(int size);

}  // namespace argosy::comm

#pragma once

#include "argosy/comm/mesh.h"

namespace argosy::comm {

// Channel::run over links.
void run(Mesh& mesh, const Job& job);

// Headers only, with the ranks before and behind: who differs from all others hears it from them.
void compare(Mesh& mesh, const Job& job);

}  // namespace argosy::comm

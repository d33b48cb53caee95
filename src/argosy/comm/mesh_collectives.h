#pragma once

#include "argosy/comm/mesh.h"

namespace argosy::comm {

// Channel::run over links.
void run(Mesh& mesh, const Job& job);

}  // namespace argosy::comm

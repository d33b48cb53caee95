#pragma once

#include "argosy/comm/board.h"

namespace argosy::comm {

// Channel::run over a board, with the same steps on every rank.
void run(Board& board, const Job& job);

}  // namespace argosy::comm

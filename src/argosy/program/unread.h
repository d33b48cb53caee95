#pragma once

#include <vector>

#include "argosy/program/program.h"

namespace argosy::program {

// Must an op run even where nobody reads its results? (What writes its inputs makes new values in a
// Program.)
inline bool has_effect(const op::OpDef& op) {
  return op.effect == op::Effect::random || op.effect == op::Effect::io ||
         op.effect == op::Effect::communicates;
}

// Drops operations whose results nobody reads, and arguments, carried values and results of `if`
// and `while` likewise: read is what outputs, last values of states and effects need, and what
// `kept` says of values of the main block (null: nothing more). Keeps what draws random numbers,
// does I/O or communicates. `live` gets, by id, what is read. Says whether anything was dropped.
ARGOSY_API bool drop_unread(Program& p, bool (*kept)(const Value&), std::vector<bool>* live);

}  // namespace argosy::program

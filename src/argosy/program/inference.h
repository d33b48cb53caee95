#pragma once

#include "argosy/program/program.h"

namespace argosy::program {

// Operations become what they are when not training, as their ops say (OpDef::inference), where
// `which` says so (null: all) and nobody reads what would not be there any more: what was drawn for
// training and is used otherwise, or results that are not made. State that they would have updated
// stays as it was. Numbers that nobody reads then are not drawn. Says whether anything changed.
ARGOSY_API bool become_inference(Program& p, bool (*which)(const op::OpDef&) = nullptr);

}  // namespace argosy::program

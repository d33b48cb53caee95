#pragma once

#include "argosy/infer/paddle.h"

namespace argosy::infer::paddle {

PaddleFiles write_model(const program::Program& program, program::Scope* scope, PaddleProgram form);

}  // namespace argosy::infer::paddle

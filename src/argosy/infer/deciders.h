#pragma once

#include <vector>

#include "argosy/program/program.h"

// Which inputs of a Program that is being recorded decide what an importer has to know.
namespace argosy::infer {

struct Decider {
  const program::Value* input;  // an argument of the main block
  bool value;                   // it is its value that decides, not its shape alone
};

// The inputs from which t is computed; sizes: of t only its sizes are wanted. Inputs of which the
// shape alone decides and is known are left out.
ARGOSY_API std::vector<Decider> deciders_of(const program::Program& p, const Tensor& t, bool sizes);

}  // namespace argosy::infer

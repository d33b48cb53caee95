#pragma once

#include <memory>
#include <string>

#include "argosy/program/program.h"
#include "argosy/program/scope.h"
#include "argosy/program/weights.h"

// A model in two files: PREFIX.argosy is its Program, PREFIX.safetensors its state and its larger
// constants.
namespace argosy::program {

struct Model {
  std::shared_ptr<Program> program;
  std::shared_ptr<Scope> scope;  // has the state
};

// State of eager tensors is saved from there, other persistable state from the scope.
ARGOSY_API void save_model(const Program& program, const std::string& prefix,
                           const Scope* scope = nullptr);
ARGOSY_API Model load_model(const std::string& prefix);
// The Program with the values of its state, by name; more are ignored. `file`: whose they are, for
// messages.
ARGOSY_API Model with_weights(std::shared_ptr<Program> program, const NamedTensors& weights,
                              const std::string& file);

}  // namespace argosy::program

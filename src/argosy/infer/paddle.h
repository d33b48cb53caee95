#pragma once

#include "argosy/infer/importer.h"

// Models of Paddle: `.pdmodel` or `__model__` (Protobuf) with `.pdiparams`, one file of another
// name, or one file for each parameter; `.json` (PIR) with `.pdiparams`. What reads and writes them
// is in libargosy_paddle.so, with Protobuf, which is loaded at the first call: from beside
// libargosy.so.
namespace argosy::infer {

// As Importer::recognizes and Importer::load. `path` may be a prefix too, and a folder that has
// `__model__`, `inference.json` or the like.
ARGOSY_API bool recognizes_paddle(const std::string& path, std::string_view head);
ARGOSY_API program::Model load_paddle(const ImportOptions& options);

// A model with the inputs and outputs that its file declares; without Program where more has to be
// fixed first.
struct PaddleImport {
  program::Model model;
  std::vector<Port> inputs, outputs;
  std::vector<Source::Need> needs;
};
// `fixed`: as Source::build has it, empty for nothing. Sizes may be others than those declared.
ARGOSY_API PaddleImport import_paddle(const ImportOptions& options, std::span<const Tensor> fixed);

// What `.json` or `.pdmodel`, and `.pdiparams` hold.
enum class PaddleProgram { json, pdmodel };
struct PaddleFiles {
  std::string program, parameters;
};
// A Program as Paddle 3 has it (`json`), or Paddle 2 (`pdmodel`), when not training: its inputs,
// outputs and state are those of the model. Values of state are its own tensors, else those in the
// scope, which may be null. Throws one error that lists all ops that have no counterpart.
ARGOSY_API PaddleFiles write_paddle(const program::Program& program, program::Scope* scope,
                                    PaddleProgram form);

// What libargosy_paddle.so hands over.
struct PaddleLibrary {
  PaddleImport (*import)(const ImportOptions& options, std::span<const Tensor> fixed);
  PaddleFiles (*write)(const program::Program& program, program::Scope* scope, PaddleProgram form);
};

}  // namespace argosy::infer

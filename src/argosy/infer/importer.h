#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/program/model.h"

// Formats of files that hold a model. A format is a folder of this room, which makes a Program with
// program::Builder and registers itself with an object at namespace scope:
//
//   const bool registered = infer::register_importer({"onnx", recognizes, load});
//
// What a loaded Program is:
// * Inputs (`main.arguments`) and `outputs` have the names that the file gives them, kUnknown for
//   sizes that it leaves open.
// * Weights are persistable state without a tensor of its own, whose values are in Model::scope
//   under their names in the file; small numbers (axes, shapes, scalars) are constants, which
//   passes fold (Constant::fixed).
// * It verifies. Operations that the format knows and we do not are one Error
//   (ErrorKind::unimplemented) that lists all of them.
namespace argosy::infer {

struct ImportOptions {
  std::string path;     // the Program, or the folder of a model
  std::string weights;  // beside it, where the format has two files; empty: found beside `path`
  // Instead of files, where not empty: what they hold. Must outlive the call only.
  std::string_view program_bytes, weight_bytes;
  std::vector<std::pair<std::string, std::string>> options;  // of the format, "onnx.strict" = "1"
};

struct Importer {
  const char* name;  // of the format
  // By extension and the file's first bytes (`head`, at most 4096, empty for a folder). Cheap, and
  // throws nothing.
  bool (*recognizes)(const std::string& path, std::string_view head);
  // Files are not trusted: a Program that verifies, or an Error.
  program::Model (*load)(const ImportOptions& options);
};

ARGOSY_API bool register_importer(const Importer& importer);
ARGOSY_API std::span<const Importer> importers();

// The model in options.path, by whichever importer recognizes it. Raises ErrorKind::not_found if
// there is no such file, invalid_argument (naming all formats) if nobody knows it.
ARGOSY_API program::Model load(const ImportOptions& options);

}  // namespace argosy::infer

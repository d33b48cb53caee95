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

// An input or output of a model. Sizes that the model leaves open are kUnknown; not ranked: it
// leaves open how many dimensions there are, and the shape says nothing.
struct Port {
  std::string name;
  DType dtype;
  Shape shape;
  bool ranked = true;

  // Does it declare no other sizes than those of this shape?
  bool fits(const Shape& fed) const {
    bool same = !ranked || fed.rank() == shape.rank();
    for (int d = 0; same && ranked && d < fed.rank(); ++d)
      same = shape[d] == kUnknown || shape[d] == fed[d];
    return same;
  }
};

// A model that was read, of which what is fed decides the Program: a Program fixes ranks, and for
// some operations sizes and values, that a file may leave to a run. Immutable, used by several
// threads.
class ARGOSY_API Source {
 public:
  // What has to be fixed of an input: its shape or, to be a constant of the Program, its value.
  struct Need {
    size_t input;
    bool value;
  };
  virtual ~Source();
  virtual const std::vector<Port>& inputs() const = 0;
  virtual const std::vector<Port>& outputs() const = 0;
  // May `fixed` have other sizes than the inputs declare?
  virtual bool takes_other_sizes() const { return false; }
  // `fixed`: for each input undefined (it is as the model declares it), described
  // (Tensor::describe), or with its value. A model with all inputs and outputs of these names and
  // no state; or one without Program, and what has to be fixed first.
  virtual program::Model build(std::span<const Tensor> fixed, std::vector<Need>* needs) const = 0;
};

// Why there is no Program, and what to do, as the end of an error.
ARGOSY_API std::string describe(std::span<const Source::Need> needs, std::span<const Port> inputs);

// What an importer makes of files: a model; or, where what is fed decides its Program, a model
// without one, who makes it, and what has to be fixed. Beside a model, `source` makes one for other
// sizes of inputs than the file declares.
struct Import {
  program::Model model;
  std::shared_ptr<const Source> source = nullptr;
  std::vector<Source::Need> needs = {};
};

struct Importer {
  const char* name;  // of the format
  // By extension and the file's first bytes (`head`, at most 4096, empty for a folder). Cheap, and
  // throws nothing.
  bool (*recognizes)(const std::string& path, std::string_view head);
  // Files are not trusted: a Program that verifies, or an Error.
  Import (*load)(const ImportOptions& options);
};

ARGOSY_API bool register_importer(const Importer& importer);
ARGOSY_API std::span<const Importer> importers();

// The model in options.path, by whichever importer recognizes it. Raises ErrorKind::not_found if
// there is no such file, invalid_argument (naming all formats) if nobody knows it.
ARGOSY_API Import import_model(const ImportOptions& options);
// The same, of models whose Program does not depend on what is fed; not_implemented for others.
ARGOSY_API program::Model load(const ImportOptions& options);

}  // namespace argosy::infer

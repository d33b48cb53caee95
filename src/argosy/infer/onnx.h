#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/program/program.h"

// ONNX in and out. What does it is in libargosy_onnx.so, with Protobuf, which is loaded at the
// first call: from beside libargosy.so.
namespace argosy::infer {

// An input or output as a model declares it.
struct OnnxPort {
  enum class Kind : uint8_t { tensor, sequence, optional_tensor, optional_sequence };
  std::string name;
  Kind kind = Kind::tensor;
  DType dtype = DType::float32;  // of the tensor, or of the sequence's elements
  int element = 1;      // ONNX's number of the element type: float8 has more than dtypes have
  bool ranked = false;  // does it declare a shape?
  Shape shape;          // kUnknown where a size is a name or missing
  std::vector<std::string> axes;  // names of sizes, empty where there is none
};

// What is known of an input when a Program is made. A Program's ranks, and for some ops values, are
// fixed in it, while an ONNX model may leave them to a run.
struct OnnxGiven {
  std::string name;
  // Described (shape and dtype) or, to be a constant of the Program, with its values. Of a sequence
  // its elements.
  std::vector<Tensor> tensors;
  bool missing = false;  // an optional without value
};

// What else has to be given of an input.
struct OnnxNeed {
  std::string input;
  bool value = false;  // else its shape, or how many elements the sequence has
};

struct OnnxOutput {
  std::string name;
  bool sequence = false, missing = false;
  size_t count = 1;  // how many outputs of the Program it has: elements of a sequence
  int element = 1;   // as OnnxPort::element
};

struct OnnxProgram {
  std::shared_ptr<program::Program> program;  // null: see needs
  std::vector<OnnxOutput> outputs;
  std::vector<OnnxNeed> needs;
};

// A file that was read. May be used by several threads at a time.
class ARGOSY_API OnnxModel {
 public:
  virtual ~OnnxModel();
  virtual const std::vector<OnnxPort>& inputs() const = 0;
  virtual const std::vector<OnnxPort>& outputs() const = 0;
  virtual std::vector<std::pair<std::string, std::string>> metadata() const = 0;
  // Throws one error that lists all operators that are not known.
  virtual OnnxProgram build(std::span<const OnnxGiven> given) const = 0;
};

// The file is not trusted: whatever it holds, this and build() return or throw an Error. Data
// beside the file are read from beneath its folder only.
ARGOSY_API std::shared_ptr<OnnxModel> open_onnx(const std::string& path);
// The same of bytes in memory; `folder`: where data beside it lie, empty if nowhere.
ARGOSY_API std::shared_ptr<OnnxModel> parse_onnx(std::string_view bytes, const std::string& folder);

struct OnnxExport {
  int64_t opset = 17;
  std::string name = "argosy";
  // Names of sizes: [input][axis], empty where a size is a number.
  std::vector<std::vector<std::string>> axes;
};
// An ONNX file of a Program: its inputs, outputs and state are those of the model. Throws one error
// that lists all ops that have no counterpart.
ARGOSY_API std::string write_onnx(const program::Program& program, const OnnxExport& options);

// What libargosy_onnx.so hands over.
struct OnnxLibrary {
  std::shared_ptr<OnnxModel> (*parse)(std::string_view bytes, const std::string& folder);
  std::string (*write)(const program::Program& program, const OnnxExport& options);
};

}  // namespace argosy::infer

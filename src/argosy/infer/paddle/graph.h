#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "argosy/tensor/tensor.h"

// A Program of Paddle as its files have it, the same for both formats: blocks of operations that
// read and write variables by name. A `.json` file is turned into this with the op names, inputs
// and attributes that a `.pdmodel` has (pir_names.h), so that one table of rows serves both.
namespace argosy::infer::paddle {

// Paddle's numbers of dtypes and of other kinds of variables.
enum Kind : int {
  kLodTensor = 7,
  kSelectedRows = 8,
  kFeedMinibatch = 9,
  kFetchList = 10,
  kStepScopes = 11,
  kLodTensorArray = 13,
  kReader = 15,
  kRaw = 17,
};
// Throws for numbers of dtypes that we do not have; `what` is named.
DType dtype_of_number(int64_t number, std::string_view what);
int64_t number_of_dtype(DType dtype);
// What a file may ask for while it is read, beyond what it holds: elements of one tensor, and bytes
// of all that is computed then.
inline constexpr int64_t kMaxElements = int64_t{1} << 26;
inline constexpr int64_t kMaxFoldedBytes = int64_t{1} << 31;

struct Blocks {  // places in Graph::blocks
  std::vector<int64_t> indices;
};
using Attribute =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>,
                 std::vector<double>, std::vector<std::string>, Blocks>;

using Slots = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct Operation {
  std::string type;
  Slots inputs, outputs;
  std::map<std::string, Attribute, std::less<>> attributes;
  std::string foreign;  // the name that the file has, where it is another

  const std::vector<std::string>* input(std::string_view slot) const;
  const std::vector<std::string>* output(std::string_view slot) const;
};

struct Variable {
  std::string name;
  int kind = kLodTensor;
  DType dtype = DType::float32;
  bool typed = false;  // is the dtype one of ours?
  Shape shape;         // kUnknown where a size is open
  int lod_level = 0;
  bool persistable = false, parameter = false;
  bool in_file = true;  // does the file of parameters have it?
};

struct Block {
  int64_t parent = -1;
  std::unordered_map<std::string, Variable> variables;
  std::vector<Operation> operations;
  // Of a region: what it is given, and what it hands back.
  std::vector<std::string> arguments, yields;
};

struct Graph {
  std::vector<Block> blocks;  // the first is the main one
  // 1 006 000 is 1.6.0. Some ops mean another thing in older files.
  int64_t version = 0;
  bool pir = false;  // of a `.json` file
};

// Any bytes: a Graph whose indices, ranks and nesting have been checked, or an Error.
Graph read_program(std::string_view bytes);
Graph read_pir(std::string_view bytes);

}  // namespace argosy::infer::paddle

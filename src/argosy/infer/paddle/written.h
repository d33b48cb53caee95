#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "argosy/tensor/tensor.h"

// A Program as it goes to a file of Paddle: what the Emitter makes of one of ours, in the ops,
// operands and attributes of Paddle 3. write_pir.cc puts it into a `.json` file, write_program.cc
// into a `.pdmodel`.
namespace argosy::infer::paddle {

// A value of the file: its number, and what it is. 0: a missing operand.
struct Written {
  int64_t id = 0;
  DType dtype = DType::float32;
  Shape shape = {};
  bool is_list = false;
  std::vector<Written> parts = {};  // of a list: what its elements are
};

// An attribute of an operation. Paddle wants all that an operation has, each of its own type.
struct Set {
  enum class Type { i32, i64, f32, f64, boolean, text, i32s, i64s, f64s, sizes, dtype, place };
  std::string name;
  Type type;
  // Numbers and truth values, sizes and lists of numbers, a dtype or none, on the CPU or anywhere.
  std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
               std::optional<DType>>
      value;
};
using Sets = std::vector<Set>;

struct Region;
struct Node {
  std::string op;  // of the dialect 1, unless a number and a point before it say another
  std::vector<Written> in;
  Sets sets;
  std::vector<Written> out;
  std::vector<Region> regions = {};
};
struct Region {
  std::vector<Written> arguments;
  std::vector<Node> nodes;
  std::vector<Written> yields;
};

struct Document {
  std::vector<std::pair<std::string, Written>> parameters;
  std::vector<Node> constants;  // `full` and `full_int_array`, which any region may read
  Region main;                  // `data` for the inputs at its head, `fetch` for the outputs last
  std::map<std::string, Tensor> tensors;  // of the parameters, by name
};

// What a `.json` and a `.pdmodel` hold.
std::string pir_of(const Document& document);
std::string program_of(const Document& document);

// Attributes as JSON: what a `.json` has of them, and a key that tells constants apart.
std::string json_of(const Sets& sets);

}  // namespace argosy::infer::paddle

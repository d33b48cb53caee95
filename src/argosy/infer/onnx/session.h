#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "argosy/infer/onnx.h"
#include "argosy/infer/onnx/node.h"
#include "argosy/program/builder.h"

namespace argosy::infer::onnx {

namespace file {
class Function;
class Model;
}  // namespace file

// Thrown where a Program cannot be made before more is known of its inputs.
struct NeedsMore {
  std::vector<OnnxNeed> needs;
};

// The making of one Program from a model. Used by one thread.
class Session {
 public:
  Session(const file::Model& model, const TensorReader& reader);

  program::Builder& builder() { return program_->builder(); }
  const std::shared_ptr<program::Program>& program() const { return program_; }
  const TensorReader& reader() const { return reader_; }

  // A graph's input of the Program, or what is given for it.
  Item input(const OnnxPort& port, const OnnxGiven* given);
  // Results of a graph whose inputs stand for `in` (missing: what the graph itself gives them);
  // names of the graphs around it are seen.
  Items run(const file::Graph& graph, const Items& in);

  // Numbers of an integer tensor: those that are known, the others as symbols. It remembers which
  // ones of a vector are known where others are not, so sizes survive being computed with.
  op::IntArray integers(const Tensor& t) const;
  void remember(const Tensor& t, op::IntArray numbers);
  bool remembers(const Tensor& t) const { return numbers_.contains(t.impl()); }
  // The values of t, if they are known; else throws NeedsMore for the inputs that decide them.
  Tensor need(const Node& n, const Tensor& t);
  // Throws NeedsMore for the inputs that decide the sizes of the node's inputs.
  [[noreturn]] void need_shapes(const Node& n);
  bool is_known(const Tensor& t) const { return !t.symbolic(); }
  // Is it itself an input of the Program?
  bool is_fed(const Tensor& t) const;

  // What calls with no operand do here becomes an operation: random numbers, arrays.
  program::Recording recording() { return program::Recording(program_); }

  // An attribute of the call of the function whose body is being imported; null if it has none.
  const file::Attribute* function_attribute(const std::string& name) const;
  int64_t opset(const std::string& domain) const;
  // Is a value of this name the second operand of a product in the main graph?
  bool is_multiplied(const std::string& name) const { return multiplied_.contains(name); }

 private:
  const Item& look_up(const std::string& name) const;
  // Adds the inputs of the Program from which t is computed; only its sizes are wanted.
  void ask_for(const Tensor& t, bool sizes, NeedsMore* more) const;
  void define(const file::Graph& graph, const Items& in);
  void run_node(const file::Node& proto);
  Items convert(const file::Node& proto, Items in);
  Items call_function(const file::Function& f, const file::Node& proto, const Items& in);

  const file::Model& model_;
  const TensorReader& reader_;
  std::shared_ptr<program::Program> program_;
  std::vector<std::unordered_map<std::string, Item>> scopes_;
  size_t visible_ = 0;  // scopes from here on are seen: a function does not see its caller
  struct Call {
    const file::Node* node;
    const file::Function* function;
    const Call* outer;
  };
  const Call* call_ = nullptr;
  int depth_ = 0;
  int nodes_ = 0;
  std::map<std::string, int64_t> opsets_;
  std::unordered_set<std::string> multiplied_;
  std::unordered_map<const TensorImpl*, std::pair<Tensor, op::IntArray>> numbers_;
  std::vector<OnnxPort> ports_;
};

// Raises one error with all operators of the model that no row has.
void check_operators(const file::Model& model);

}  // namespace argosy::infer::onnx

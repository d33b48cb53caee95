#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "argosy/infer/importer.h"
#include "argosy/infer/paddle/graph.h"
#include "argosy/infer/paddle/node.h"
#include "argosy/program/builder.h"
#include "argosy/program/model.h"

namespace argosy::infer::paddle {

using Weights = std::map<std::string, Tensor>;

// Thrown where a Program cannot be made before more is known of its inputs.
struct NeedsMore {
  std::vector<Source::Need> needs;
};

// What the file declares, in order; lengths of sequences are inputs of their own.
std::vector<Port> inputs_of(const Graph& graph);
std::vector<Port> outputs_of(const Graph& graph);

// The making of one Program. Used by one thread.
//
// Variables of Paddle are written many times and a block writes those of the blocks around it; a
// Value is made once. So each block that is being imported has a table of what its names stand for
// now, and what it wrote of outer blocks is handed out when it ends (`run`).
class Session {
 public:
  // `fixed`: for each of `inputs` undefined, its shape (Tensor::describe) or its value; or none.
  Session(const Graph& graph, Weights weights, std::span<const Port> inputs,
          std::span<const Tensor> fixed);

  program::Model finish();

  const Graph& graph() const { return graph_; }
  program::Builder& builder() { return program_->builder(); }
  // What is called with no operand of the Program meanwhile becomes an operation too: arrays,
  // random numbers.
  program::Recording recording() { return program::Recording(program_); }

  // --- names ---
  const Item* find(const std::string& name);  // null: it stands for nothing yet
  // An array of tensors that nothing has written yet is empty.
  const Item* find_or_empty(const std::string& name);
  const Item& get(const std::string& name);
  void set(const std::string& name, Item item);
  const Variable* variable(const std::string& name) const;

  // --- blocks ---
  struct Ran {
    std::unordered_map<std::string, Item> items;  // what its names stand for in the end
    std::vector<Item> yields;
  };
  // Runs the operations of a block, for which `given` stands for these names.
  Ran run(int64_t block, std::span<const std::pair<std::string, Item>> given);
  // Names of blocks around it that its operations write, in order.
  std::vector<std::string> written_by(int64_t block) const;

  // --- numbers ---
  // Of an integer tensor of known length: those that are known, the others as symbols. It remembers
  // which ones of a vector are known where others are not, so sizes survive being computed with.
  op::IntArray integers(const Tensor& t);
  void remember(const Tensor& t, op::IntArray numbers);
  // Throws NeedsMore for the inputs that decide the values of t, or its sizes only; returns where
  // there are none.
  void ask_for(const Tensor& t, bool sizes) const;
  // Are some of its numbers known or remembered?
  bool remembers(const Tensor& t) const { return !t.symbolic() || numbers_.contains(t.impl()); }

  // --- ends ---
  Item feed(const std::string& name, const Shape& shape, DType dtype, int lod_level);
  void fetch(const Tensor& value, const std::string& name, int64_t column);

 private:
  struct Scope {
    int64_t block;
    std::unordered_map<std::string, Item> items;
  };

  void run_operation(const Operation& o);
  void run_operations(const Block& block);
  void define_weights();
  void check_operations() const;
  void inherit_lengths(const Operation& o);
  void count_folded(const Operation& o);
  void collect_written(int64_t block, std::vector<std::string>* names) const;

  // An input of the Program: as the file has it, of the shape that is fixed, or the fixed value.
  Tensor input(const std::string& name, const Shape& shape, DType dtype);

  const Graph& graph_;
  Weights weights_;
  const std::span<const Port> inputs_;
  const std::span<const Tensor> fixed_;
  std::shared_ptr<program::Program> program_;
  std::shared_ptr<program::Scope> scope_;
  std::vector<Scope> scopes_;
  int64_t folded_bytes_ = 0;  // of what has been computed while reading
  std::vector<std::pair<int64_t, program::Output>> fetched_;
  // The key is the tensor that is kept beside it.
  std::unordered_map<const TensorImpl*, std::pair<Tensor, op::IntArray>> numbers_;
};

}  // namespace argosy::infer::paddle

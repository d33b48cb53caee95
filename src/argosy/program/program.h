#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/op/op.h"
#include "argosy/program/scope.h"

// A Program: operations over values, each made once (SSA), in nested blocks. What outlives a run
// (parameters, optimizer state, buffers) is named state: a run starts from its `initial` values and
// ends by writing the `last` ones, so between these no operation has an effect but randomness and
// I/O. Written by a Builder (program/builder.h), rewritten by passes, run by executors.
namespace argosy::program {

class Program;
class Builder;
struct Block;
struct Operation;

// What a symbolic Tensor stands for (TensorImpl::symbol).
struct ARGOSY_API Symbol : RefCounted {
  enum class Kind : uint8_t { value, state };
  explicit Symbol(Kind kind) : kind(kind) {}
  const Kind kind;
};

struct ARGOSY_API Value final : Symbol {
  Value() : Symbol(Kind::value) {}
  uint32_t id = 0;  // unique in its Program, kept by clone()
  Shape shape;      // kUnknown where a size is not known
  DType dtype = DType::float32;
  Layout layout = Layout::strided;
  bool stop = false;              // no gradient flows through: detached, or made under no_grad
  bool requires_grad = false;     // depends on something trainable
  bool leaf = false;              // made under no_grad: its gradient, if any, goes no further
  std::string name;               // may be empty
  Block* block = nullptr;         // where it lives; null once that block is gone
  Operation* producer = nullptr;  // null: an argument, state or constant
  std::weak_ptr<Program> program;
};

// What outlives runs. A tensor of eager mode that a Program reads is the state `tensor`; else a
// Scope holds the value under the name. Programs may share one.
struct ARGOSY_API State final : Symbol {
  State() : Symbol(Kind::state) {}
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
  bool trainable = false;
  bool persistable = true;  // saved with the model
  Tensor tensor;
};

// What an operation is for: clone(for_test) and introspection go by it.
enum class Role : uint8_t { forward, backward, optimize };

struct ARGOSY_API Operation {
  const op::OpDef* op = nullptr;
  // Flat by the schema (null where an optional input is missing); then one for each element of
  // attrs that is a value, in order.
  std::vector<Ref<Value>> operands;
  uint32_t attr_operands = 0;       // how many of them are such elements
  std::vector<uint32_t> ends;       // of list inputs, see op::Inputs; else empty
  op::AttrBox attrs;                // elements that are values hold a placeholder
  std::vector<Ref<Value>> results;  // outputs, then new values of updated inputs (OpDef::updates)
  std::vector<std::unique_ptr<Block>> blocks;
  Block* parent = nullptr;
  Role role = Role::forward;
  uint32_t segment = 0;  // > 0: computed again for the gradient, with the others of this number
  std::string location;  // "file.py:12" of the user's line, if known

  std::span<const Ref<Value>> inputs() const {
    return {operands.data(), operands.size() - attr_operands};
  }
  std::span<const Ref<Value>> attr_values() const {
    return std::span(operands).subspan(operands.size() - attr_operands);
  }
  // Of those that own blocks.
  bool is_if() const;
  bool is_while() const;
  // How many results are outputs by the schema.
  size_t outputs() const;
  // Flat input of each result past those, see OpDef::updates.
  std::vector<size_t> updated_inputs() const;
  // The same operation without operands, results, blocks and parent.
  std::unique_ptr<Operation> copy_without_values() const;
};

// Everything that a block uses is its own: operations of the block, or its arguments, to which the
// owning operation passes its operands.
struct ARGOSY_API Block {
  std::vector<Ref<Value>> arguments;
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<Ref<Value>> yields;
  Operation* owner = nullptr;  // null: the main block of a Program
  ~Block();
};

struct StateUse {
  Ref<State> state;
  Ref<Value> initial;
  Ref<Value> last;  // null if a run leaves it as it is
};

struct Constant {
  Ref<Value> value;
  Tensor tensor;
  // Nobody can change the tensor, so passes may compute with it. False for tensors of the user that
  // a captured function reads: these count as they are when the Program runs.
  bool fixed = false;
};

struct Output {
  std::string name;
  Ref<Value> value;
};

// Built and rewritten by one thread; not changed meanwhile it may be run by several.
class ARGOSY_API Program : public std::enable_shared_from_this<Program> {
 public:
  static std::shared_ptr<Program> make();
  ~Program();

  Block main;  // its arguments are the inputs, by name
  std::vector<StateUse> states;
  std::vector<Constant> constants;
  std::vector<Output> outputs;  // of a saved or captured Program
  std::string name;
  // Whatever the front end wants to keep with it; saved, otherwise not read here.
  std::vector<std::pair<std::string, std::string>> metadata;

  // The recorder's view, made at first use.
  Builder& builder();

  // Whoever changes the Program calls this, so that plans made before are not used.
  void changed() { ++version_; }
  uint64_t version() const { return version_; }
  uint32_t value_count() const { return next_id_; }  // all ids are below

  Ref<Value> make_value(const Shape& shape, DType dtype, Layout layout = Layout::strided);
  // For who makes values with ids of their own: make_value() gives only ids from `end` on.
  void reserve_ids(uint32_t end) { next_id_ = next_id_ < end ? end : next_id_; }
  // The newest value called so, or null.
  Ref<Value> find(std::string_view name) const;
  StateUse* find_state(const State& state);
  StateUse* find_state(std::string_view name);

  // A deep copy whose values have the same ids. by_id[i]: the copy of value i, or null.
  std::shared_ptr<Program> clone(std::vector<Ref<Value>>* by_id = nullptr) const;

  // The reference interpreter: each operation by eager dispatch, nothing planned or in place.
  // REQUIRES: feeds as many as inputs. State is found by its tensor, else in the scope. With
  // `differentiable` the calls go onto the eager tape, so that results have gradients, and state
  // is not written.
  Tensors run(std::span<const Tensor> feeds, std::span<const Ref<Value>> fetches,
              Scope* scope = nullptr, bool differentiable = false) const;

  // Raises unless every operand is made before it is used in its own block, every result has the
  // type that is inferred, and blocks fit their operations.
  void verify() const;
  std::string print() const;

 private:
  Program();
  std::unique_ptr<Builder> builder_;
  uint64_t version_ = 0;
  uint32_t next_id_ = 0;
};

// The handle that stands for a value or a state; undefined for null.
ARGOSY_API Tensor handle(const Ref<Value>& value);
ARGOSY_API Tensor handle(const Ref<State>& state);
ARGOSY_API Value* value_of(const Tensor& t);  // null unless t stands for a value
ARGOSY_API State* state_of(const Tensor& t);

// attrs of an operation with `elements`, tensors for its attr_values(): numbers are read from
// concrete ones, symbolic ones are put in.
ARGOSY_API op::AttrBox attributes(const Operation& o, std::span<const Tensor> elements);
// The same for a kernel that reads numbers where they lie (KernelDef::reads_numbers): each Scalar
// among the elements keeps its tensor. Null where there are others, or tensors of other dtypes.
ARGOSY_API op::AttrBox unread_attributes(const Operation& o, std::span<const Tensor> elements);

// Infers the types of the results again, in order, blocks and their arguments included.
ARGOSY_API void infer_types(Block& block);
ARGOSY_API void infer_operation(Operation& o);
// The sizes that both have; unknown where they differ. Throws where ranks differ.
ARGOSY_API Shape join_shapes(const Shape& a, const Shape& b);

// May values of one type take the place of the other's, up to sizes? (The dtype of an array says
// what it mostly holds; arrays of saved values hold all sorts.)
inline bool same_form(const Value& a, const Value& b) {
  return a.layout == b.layout && a.shape.rank() == b.shape.rank() &&
         (a.dtype == b.dtype || a.layout == Layout::tensor_array);
}

// Calls fn(Operation&) for each operation, those of nested blocks included, outer first.
template <class F>
void each_operation(const Block& block, F&& fn) {
  for (const auto& o : block.operations) {
    fn(*o);
    for (const auto& b : o->blocks) each_operation(*b, fn);
  }
}

// Uses of each value by id: operands, yields, writes of state and outputs.
ARGOSY_API std::vector<uint32_t> count_uses(const Program& p);
// Everything that used `from` uses `to` (of the same block and type).
ARGOSY_API void replace_uses(Program& p, const Ref<Value>& from, const Ref<Value>& to);

// The value of state before a run: its own tensor, else what the scope has. Throws if neither.
ARGOSY_API Tensor read_state(const State& state, Scope* scope);
// Puts what a run made of it there, into the same memory where that fits.
ARGOSY_API void write_state(const State& state, Scope* scope, const Tensor& value);
// The variable that the scope has for state without a tensor of its own becomes another tensor.
ARGOSY_API void replace_state(const State& state, Scope& scope, Tensor value);

// Set by the bindings: the user's source line, for Operation::location. May be null.
extern ARGOSY_API std::string (*user_location)();

}  // namespace argosy::program

#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "argosy/program/program.h"

// The writer of a Program. Dispatch calls append() for each op whose operands are symbolic or while
// a Recording is active on the thread; the static API and capture call the rest. Used by one thread
// at a time.
//
// Names: a Tensor handle stands for the current value of what the user means by it. Writing in
// place gives a new value and moves the handle to it (rebind). Inside an open block, handles of
// outer values that were moved are moved back at its end, and the owning operation yields what they
// became; so does written state.
namespace argosy::program {

// A block that was recorded and waits for the operation that will own it.
struct ARGOSY_API Draft {
  std::unique_ptr<Block> block;
  std::vector<std::pair<Ref<Value>, Ref<Value>>> captures;  // outer value, argument
  struct Moved {
    Tensor handle;
    Ref<Value> before, after;
  };
  std::vector<Moved> moved;
  std::vector<std::pair<Ref<State>, Ref<Value>>> states;  // what written state became
  // Of a gradient: forward values that it needs, and the values here that stand for them.
  std::vector<std::pair<Ref<Value>, Ref<Value>>> saved;
};

class ARGOSY_API Builder {
 public:
  explicit Builder(Program& program);
  Program& program() { return p_; }

  // Fed to a run, in order of creation.
  Tensor input(const std::string& name, const Shape& shape, DType dtype);
  Tensors append(const op::OpDef& op, const op::Inputs& in, const void* attrs);
  void rebind(const Tensor& x, const Tensor& value);
  // t came in while the Program is recorded, made of numbers or an array: each run begins with it
  // as it is, where other tensors that are written are state.
  void note_data(const Tensor& t) { data_[t.impl()] = t; }
  // The recording has ended: such tensors are as others.
  void forget_data() { data_.clear(); }

  // --- blocks ---
  void begin_block();
  // A loop-carried value of the innermost block, of the type of `like`.
  Tensor argument(const Tensor& like);
  Draft end_block(std::span<const Tensor> yields);
  void abandon_block();  // after an error inside

  // Results of the two blocks' yields; their types must agree up to sizes.
  Tensors append_if(const Tensor& pred, Draft then_block, Draft else_block);
  // cond yields a bool; body yields what its arguments become; both have as many arguments as init.
  Tensors append_while(std::span<const Tensor> init, Draft cond, Draft body);

  // Appends the operations of another Program, run on these feeds; its outputs.
  Tensors inline_program(const Program& other, std::span<const Tensor> feeds);

  // Appends d(sum of targets * target_grads)/d(wrt), undefined where there is none; an undefined
  // target_grad means ones. Values of no_grad count as constants.
  Tensors gradients(std::span<const Tensor> targets, std::span<const Tensor> target_grads,
                    std::span<const Tensor> wrt, std::span<const Tensor> no_grad = {});

  // The value that t stands for now, in the innermost open block.
  Ref<Value> current(const Tensor& t);
  // What t is in every run, if that can be told already: a few elements that depend on constants
  // alone; else undefined. Outside of the block where they are computed they may be overwritten.
  Tensor known(const Tensor& t);

  Role role = Role::forward;  // of what is appended
  uint32_t segment = 0;       // likewise
  uint32_t segments = 0;      // how many there are

 private:
  friend class Differentiator;
  struct Open {
    std::unique_ptr<Block> block;
    std::vector<std::pair<Ref<Value>, Ref<Value>>> captures;
    std::map<const Value*, Ref<Value>> capture_of;
    std::vector<Draft::Moved> moved;
    std::vector<std::pair<Ref<State>, Ref<Value>>> states;  // in order of the first write
    std::pair<Ref<State>, Ref<Value>>* find(const State* state) {
      for (auto& entry : states)
        if (entry.first.get() == state) return &entry;
      return nullptr;
    }
    // While the gradient of a block is built: that block, what of it is used here, and what its
    // arguments stand for if that is outside of it.
    const Block* foreign = nullptr;
    std::vector<std::pair<Ref<Value>, Ref<Value>>> saved;
    std::map<const Value*, Ref<Value>> known;
  };

  Block& top() { return open_.empty() ? p_.main : *open_.back().block; }
  Block& block_at(size_t level) { return level ? *open_[level - 1].block : p_.main; }
  StateUse& state_of(const Tensor& t);
  StateUse& use_of(const Ref<State>& state);
  Ref<Value> constant_of(const Tensor& t);
  bool is_data(const Tensor& t) const;
  void become_value(const Tensor& data);
  Ref<Value> current_state(const Ref<State>& state);
  Ref<Value> localize(const Ref<Value>& v);
  Ref<Value> capture(Draft& draft, const Ref<Value>& outer);
  Ref<Value> make_result(Operation& o, const Shape& shape, DType dtype, Layout layout);
  Operation& add(std::unique_ptr<Operation> o);
  Tensor known_value(const Ref<Value>& v, int depth);
  void move_handle(const Tensor& x, const Ref<Value>& to);
  // Writes reach everything that shares memory in eager mode: other handles of the value, what it
  // is a view of, and other views of that.
  void write_through(const Ref<Value>& before, const Ref<Value>& to);
  Ref<Value> settle(Ref<Value> v);
  Ref<Value> written_base(const Operation& view, const Ref<Value>& before, const Ref<Value>& to);

  Program& p_;
  std::vector<Open> open_;
  std::map<const TensorImpl*, size_t> constants_;  // index in p_.constants
  std::map<const TensorImpl*, Ref<State>> bound_;  // states of eager tensors
  std::map<const TensorImpl*, Tensor> data_;       // see note_data
  // What a value was overwritten with, in its own block. Not followed while gradients are built:
  // these mean the values as they were.
  std::map<const Value*, std::pair<Ref<Value>, Ref<Value>>> overwritten_;  // {itself, by}
  bool follow_ = true;
  // While alive, handles mean values as they were made.
  struct AsTheyWere {
    explicit AsTheyWere(Builder& b) : builder(b), before(b.follow_) { b.follow_ = false; }
    ~AsTheyWere() { builder.follow_ = before; }
    Builder& builder;
    bool before;
  };
};

// While alive, every op of this thread is recorded into `program`; null: ops run at once again.
class ARGOSY_API Recording {
 public:
  explicit Recording(std::shared_ptr<Program> program);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  std::shared_ptr<Program> program_;
  void* before_;
};

// Builder::known for the Program of t.
ARGOSY_API Tensor known(const Tensor& t);
// Result i of an operation on known values, with the strides that it has in a run; undefined if it
// fails: then it does so at the user's line when it runs.
ARGOSY_API Tensor computed(const Operation& o, std::span<const Tensor> in, size_t i);

// A view through which no gradient flows; writes go through it.
ARGOSY_API Tensor detached(const Tensor& t);
// Also tells the value, so that gradients stop there.
ARGOSY_API void set_stop_gradient(const Tensor& t, bool stop);

}  // namespace argosy::program

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
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

// What is in places. A place is the first value of something that may be written, the rest of its
// life is what was written there. The result of a view operation is a place of its own, with the
// elements of another one.
struct Contents {
  struct Entry {
    Ref<Value> place, value;
    Ref<Value> of;  // of a view: what was in the other place when this was in it
  };
  std::map<const Value*, Entry> at;
  std::vector<const Value*> order;  // of the first writes
};

// A block that was recorded and waits for the operation that will own it.
struct ARGOSY_API Draft {
  std::unique_ptr<Block> block;
  std::vector<std::pair<Ref<Value>, Ref<Value>>> captures;  // outer value, argument
  // Handles of outer values that stood for others inside.
  struct Moved {
    Tensor handle;
    Ref<Value> before;
    Ref<Value> after;  // of another form, or no strided tensor; null: what was written in its place
  };
  std::vector<Moved> moved;
  std::vector<std::pair<Ref<Value>, Ref<Value>>> written;  // outer places, what is in them now
  // Likewise views that were written and have a history of their own.
  std::vector<std::pair<Ref<Value>, Ref<Value>>> views;
  Contents contents;  // to go on with the block
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
  // What is recorded holds for the numbers that are in t, a tensor that has some: Python, or an
  // attribute, took them. Refused where the Program has written t before.
  void note_numbers(const Tensor& t);
  bool has_written(const Tensor& t);
  // Whether t, which has numbers, may have others where it is asked for them.
  bool varies(const Tensor& t) const { return !open_.empty() || !data_.count(t.impl()); }
  const std::vector<Tensor>& numbers_read() const { return numbers_read_; }
  // x[.., index, ..] for an integer tensor without dimensions. It lies in x: who writes one of them
  // writes the other, as through the results of view operations.
  Tensor pick(const Tensor& x, const Tensor& index, int64_t axis);

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
  // Whether t needs a gradient of its own and is about to be written, which eager mode refuses.
  // Inputs are none: whoever runs the Program asks written_inputs() and its arguments.
  bool refuses_write(const Tensor& t);
  // Inputs that need a gradient and were written in place, by number.
  const std::vector<size_t>& written_inputs() const { return written_inputs_; }
  // What t is in every run, if that can be told already: a few elements that depend on constants
  // alone; else undefined. Outside of the block where they are computed they may be overwritten.
  Tensor known(const Tensor& t);

  Role role = Role::forward;  // of what is appended
  uint32_t segment = 0;       // likewise
  uint32_t segments = 0;      // how many there are
  // A function is captured, which is to mean what it means as eager calls: writes that autograd
  // does not see leave a tensor its history, and leaves that need a gradient are not written.
  bool as_eager = false;

 private:
  friend class Differentiator;
  struct Open {
    std::unique_ptr<Block> block;
    std::vector<std::pair<Ref<Value>, Ref<Value>>> captures;
    std::map<const Value*, Ref<Value>> capture_of;
    std::vector<Draft::Moved> moved;
    Contents contents;
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
  void check_not_read(const Tensor& t) const;
  void become_value(const Tensor& data);
  Ref<Value> current_state(const Ref<State>& state);
  Ref<Value> localize(const Ref<Value>& v);
  Ref<Value> capture(Draft& draft, const Ref<Value>& outer);
  Ref<Value> make_result(Operation& o, const Shape& shape, DType dtype, Layout layout);
  Operation& add(std::unique_ptr<Operation> o);
  Tensor known_value(const Ref<Value>& v, int depth);
  void move_handle(const Tensor& x, const Ref<Value>& to);
  void move_value(const Tensor& x, const Ref<Value>& before, const Ref<Value>& to);
  Ref<State> written_state(const Tensor& x);

  // Writes reach everything that shares memory in eager mode: other handles of the value, what it
  // is a view of, and other views of that.
  // Whether writes go through the results of the operation to its first operand and back.
  bool is_view(const Operation* o) const;
  bool may_view(const Operation* o) const;  // by what it is, whatever the strides
  Tensor form_of(const Ref<Value>& v) const;
  void note_form(const Operation& o);
  Ref<Value> origin(Ref<Value> v) const;  // what an argument of an open block stands for
  Ref<Value> place_of(const Ref<Value>& v) const;
  Ref<Value> now(const Ref<Value>& place);  // what is in it, wherever that was made
  const Contents::Entry* entry(const Ref<Value>& place, bool with_main) const;
  Ref<Value> settle(const Ref<Value>& v);
  Ref<Value> view_again(const Ref<Value>& place, const Ref<Value>& base);
  Ref<Value> written_base(const Ref<Value>& place, const Ref<Value>& base, const Ref<Value>& to);
  void write(const Ref<Value>& place, const Ref<Value>& to);
  void write_outer(const Ref<Value>& place, const Ref<Value>& to);
  void note(const Ref<Value>& place, const Ref<Value>& value, const Ref<Value>& of = {});
  bool keeps_history() const { return as_eager && role == Role::forward; }
  bool has_history(const Ref<Value>& v) const;
  Ref<Value> with_history_of(const Ref<Value>& x, const Ref<Value>& values);
  Ref<Value> with_history(const Tensor& x, const Ref<Value>& to);
  bool is_leaf(const Ref<Value>& v);
  void reopen(Draft& draft);
  void close(Draft& draft);
  std::vector<Ref<Value>> carry_views(
      Draft& cond, Draft& body,
      const std::function<void(const Ref<Value>&, const Ref<Value>&)>& carry);
  std::vector<Ref<Value>> views_of_branches(Draft& then_block, Draft& else_block);
  void point_moved(const std::vector<Draft::Moved>& moved);

  Program& p_;
  std::vector<Open> open_;
  std::map<const TensorImpl*, size_t> constants_;                     // index in p_.constants
  std::map<const TensorImpl*, Ref<State>> bound_;                     // states of eager tensors
  std::map<const TensorImpl*, Tensor> data_;                          // see note_data
  std::vector<Tensor> numbers_read_;                                  // see note_numbers
  std::set<const TensorImpl*> read_in_blocks_;                        // of them, while one is open
  std::set<const Operation*> sharing_;                                // see pick
  std::set<const Operation*> copying_;                                // see note_form
  std::map<const Value*, std::pair<Ref<Value>, Tensor>> forms_;       // of views, not contiguous
  Contents contents_;                                                 // of the main block
  std::map<const Value*, std::pair<Ref<Value>, Ref<Value>>> places_;  // {a value, where it is}
  bool wrote_ = false;                                                // into any place
  std::vector<size_t> written_inputs_;
  std::map<const Value*, Ref<Value>> begun_as_;  // loop-carried values: what they begin as
  // False while gradients are built: handles mean the values as they were then.
  bool follow_ = true;
  // While alive, handles mean values as they were made.
  struct AsTheyWere {
    explicit AsTheyWere(Builder& b) : builder(b), before(b.follow_) { b.follow_ = false; }
    ~AsTheyWere() { builder.follow_ = before; }
    Builder& builder;
    bool before;
  };
  bool notes_forms_ = true;
  // While alive, no view is looked at for how it lies.
  struct WithoutForms {
    explicit WithoutForms(Builder& b) : builder(b), before(b.notes_forms_) {
      b.notes_forms_ = false;
    }
    ~WithoutForms() { builder.notes_forms_ = before; }
    Builder& builder;
    bool before;
  };
  // While alive, a draft's block is built on.
  struct Reopened {
    Reopened(Builder& b, Draft& d) : builder(b), draft(d) { b.reopen(d); }
    ~Reopened() { builder.close(draft); }
    Reopened(const Reopened&) = delete;
    Builder& builder;
    Draft& draft;
  };
};

// A block that is built while this lives, abandoned unless it is ended: an error on the way leaves
// the Program without it.
class ARGOSY_API OpenBlock {
 public:
  explicit OpenBlock(Builder& builder) : builder_(builder) { builder.begin_block(); }
  ~OpenBlock() {
    if (open_) builder_.abandon_block();
  }
  OpenBlock(const OpenBlock&) = delete;
  OpenBlock& operator=(const OpenBlock&) = delete;
  Draft end(std::span<const Tensor> yields) {
    Draft draft = builder_.end_block(yields);
    open_ = false;
    return draft;
  }

 private:
  Builder& builder_;
  bool open_ = true;
};

// While alive, what is appended has this role and segment.
class RoleScope {
 public:
  RoleScope(Builder& builder, Role role, uint32_t segment)
      : builder_(builder),
        role_(std::exchange(builder.role, role)),
        segment_(std::exchange(builder.segment, segment)) {}
  ~RoleScope() { builder_.role = role_, builder_.segment = segment_; }
  RoleScope(const RoleScope&) = delete;
  RoleScope& operator=(const RoleScope&) = delete;

 private:
  Builder& builder_;
  Role role_;
  uint32_t segment_;
};

// While alive, every op of this thread is recorded into `program`; null: ops run at once again.
// as_eager: see Builder.
class ARGOSY_API Recording {
 public:
  explicit Recording(std::shared_ptr<Program> program, bool as_eager = false);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  std::shared_ptr<Program> program_;
  void* before_;
  bool eager_before_ = false;
};

// Whether this thread records a function that is to mean what it means as eager calls.
ARGOSY_API bool captures();
// While it does, see Builder::note_numbers; else nothing.
ARGOSY_API void note_numbers(const Tensor& t);
// While it does, see Builder::varies; else false.
ARGOSY_API bool varies(const Tensor& t);
// t, or what it stands for in the Program that is recorded.
ARGOSY_API Tensor value_in_program(const Tensor& t);
// Likewise if that Program has written to t; else t, whose numbers are noted.
ARGOSY_API Tensor noted_or_written(const Tensor& t);

// Builder::pick for the Program of x or index, which is recorded.
ARGOSY_API Tensor pick(const Tensor& x, const Tensor& index, int64_t axis);

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

#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/passes/pass.h"
#include "argosy/program/unread.h"

// What makes passes short: a walk with replacements, patterns, attributes by name.
namespace argosy::passes {

using program::Block;

// --- attributes by name ---

// The field, or null if there is none of this name and type.
template <class T>
const T* find_attr(const op::AttrBox& box, std::string_view name) {
  for (const op::Field& f : box.type()->fields)
    if (f.name == name && f.kind == op::field_kind_of<T>)
      return reinterpret_cast<const T*>(static_cast<const char*>(box.get()) + f.offset);
  return nullptr;
}
template <class T>
const T& attr(const Operation& o, std::string_view name) {
  const T* field = find_attr<T>(o.attrs, name);
  ARGOSY_CHECK(field, internal) << o.op->name << " has no attribute " << std::string(name);
  return *field;
}
template <class T>
void set_attr(op::AttrBox& box, std::string_view name, T value) {
  const T* field = find_attr<T>(box, name);
  ARGOSY_CHECK(field, internal) << "no attribute " << std::string(name);
  *const_cast<T*>(field) = std::move(value);
}
inline op::AttrBox default_attrs(const op::OpDef& op) {
  return op::AttrBox(*op.attrs, op.attrs->defaults);
}

// --- patterns ---

inline bool is(const Operation& o, std::string_view name) {
  return o.op->name == name;
}
// The operation that made v if it is of this op, else null.
inline Operation* made_by(const Ref<Value>& v, std::string_view name) {
  return v && v->producer && v->producer->op->name == name ? v->producer : nullptr;
}
// May be left out, merged or moved: neither draws numbers nor does I/O, owns no blocks.
inline bool is_pure(const op::OpDef& op) {
  return op.effect == op::Effect::pure && !op.structural;
}
using program::has_effect;
// Shares memory with its first operand, where strides allow.
inline bool is_view(const Operation& o) {
  return o.op->view || o.op->views;
}
// The input of the op's schema that an operand belongs to; none for elements of attributes.
ARGOSY_API std::optional<size_t> input_of(const Operation& o, size_t operand);
inline bool reads_only_shape(const Operation& o, size_t operand) {
  const auto input = input_of(o, operand);
  return input && o.op->inputs[*input].reads == op::Reads::shape;
}
// The same of an operand of known sizes that the run makes: its memory may be another's by then.
ARGOSY_API bool reads_no_memory(const Operation& o, size_t operand);

ARGOSY_API bool same_type(const Value& a, const Value& b);  // dtype, layout and known, equal sizes

// --- the walk ---

// Walks a Program forward, once. While the current operation is visited it may be replaced or
// erased, and others inserted before it; operands of what comes later are already what
// replacements made them. Costs O(operations), whatever the number of replacements.
//
//   Rewriter r(p);
//   r.walk([&](Operation& o) {
//     if (is(o, "negative"))
//       if (Operation* inner = made_by(o.operands[0], "negative"))
//         r.replace(o.results[0], inner->operands[0]);
//   });
//   return r.changed();
class ARGOSY_API Rewriter {
 public:
  explicit Rewriter(Program& p);
  ~Rewriter();
  Rewriter(const Rewriter&) = delete;

  // visit(Operation&) for each one; the blocks that it owns come right after it.
  template <class F>
  void walk(F&& visit) {
    walk_block(p_.main, visit);
    finish();
  }

  Program& program() { return p_; }
  bool changed() const { return changed_; }
  // An operation was changed in place.
  void note_change() { changed_ = true; }

  // --- of values ---
  uint32_t uses(const Ref<Value>& v) const { return v->id < uses_.size() ? uses_[v->id] : 0; }
  // Is it, or a view of it, an output or what a state becomes? Then it must keep its own memory.
  bool leaves(const Ref<Value>& v) const { return v->id < leaves_.size() && leaves_[v->id]; }
  // The tensor of a constant that nobody can write to, or of a block argument that stands for one;
  // undefined if it is none.
  Tensor constant_of(const Ref<Value>& v) const;
  // The one number that all elements of v are, if that is known.
  std::optional<op::Scalar> uniform(const Ref<Value>& v) const;

  // --- rewriting at the current operation ---
  // What used `from`, a result of this operation, uses `to` instead. False, and nothing done, where
  // `to` may not stand in: another type; an output that would share memory with what is not made in
  // the run; a view with strides where somebody adds up in the order of memory.
  bool replace(const Ref<Value>& from, Ref<Value> to);
  // The same without conditions: for values that are what stands in for them.
  void stand_in(const Ref<Value>& from, const Ref<Value>& to);
  void set_operand(Operation& o, size_t i, const Ref<Value>& v);
  void set_operands(Operation& o, std::vector<Ref<Value>> operands, uint32_t attr_operands);
  // Drops the current operation. REQUIRES: its results are replaced or unused.
  void erase();
  // An operation before the current one, with its role and place in the user's program. A list
  // output is of one tensor.
  Operation& insert(std::string_view op, std::vector<Ref<Value>> operands, op::AttrBox attrs,
                    std::vector<uint32_t> ends = {});
  Operation& insert(std::string_view op, std::vector<Ref<Value>> operands);
  // The same as `of`, on other operands; its results are new.
  Operation& insert_copy(const Operation& of, std::vector<Ref<Value>> operands);
  // The first result of such an operation stands in for `from`.
  bool replace_with(const Ref<Value>& from, std::string_view op, std::vector<Ref<Value>> operands,
                    op::AttrBox attrs);
  // A constant, as a value of the current block.
  Ref<Value> constant(const Tensor& t);
  // Lets go of the memory of the constant v at once, if nobody uses it any more, instead of when
  // dead_code comes: what is made next can have it. REQUIRES: nothing will use v.
  void drop(const Ref<Value>& v);
  // Makes `inner`, a block of the current operation, part of the current block: its operations are
  // visited next, its arguments are the values given, and so the results are its yields. Drops the
  // operation.
  void inline_block(Block& inner, std::span<const Ref<Value>> arguments);

 private:
  struct Place;
  template <class F>
  void walk_block(Block& block, F& visit) {
    enter(block);
    while (Operation* o = next()) {
      visit(*o);
      if (erased()) continue;
      for (size_t i = 0; i < o->blocks.size(); ++i) walk_block(*o->blocks[i], visit);
    }
    leave();
  }
  void enter(Block& block);
  Operation* next();
  bool erased() const;
  void leave();
  void finish();
  Ref<Value> resolve(const Ref<Value>& v) const;
  void use(const Ref<Value>& v, int count);
  void mark_leaving(const Ref<Value>& v);
  void mark_leaving(const Block& block);
  bool borrowed(const Ref<Value>& v) const;
  void mark_ordered(const Block& block);
  bool may_be_strided(const Ref<Value>& v) const;
  Ref<Value> import(Block& block, const Ref<Value>& constant);

  Program& p_;
  std::vector<uint32_t> uses_;
  std::vector<bool> leaves_;
  std::vector<bool> ordered_;         // by id: the strides of its memory may decide roundings
  std::vector<Ref<Value>> replaced_;  // by id: what stands in
  std::vector<int32_t> constant_at_;  // by id: place in p_.constants, -1 for others
  std::vector<std::unique_ptr<Place>> places_;
  bool changed_ = false, dropped_ = false;
};

}  // namespace argosy::passes

#include <algorithm>
#include <map>

#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/host_work.h"
#include "argosy/op/names.h"
#include "argosy/passes/rewrite.h"
#include "argosy/program/attributes.h"
#include "argosy/program/builder.h"

// Computes beforehand what does not depend on inputs or state.
namespace argosy::passes {
namespace {

using program::Constant;

class Folder {
 public:
  Folder(Program& p, const PassContext& c)
      : r_(p),
        created_limit_(static_cast<size_t>(c.number("constant_folding.created", 4096))),
        folded_limit_(static_cast<size_t>(c.number("constant_folding.limit", 65536))) {
    for (const Constant& k : p.constants)
      if (k.fixed && k.value->layout == Layout::strided) know(k.value, readable(k.tensor));
  }

  bool run() {
    const op::MakesOnHost on_host;
    r_.walk([&](Operation& o) { visit(o); });
    return r_.changed();
  }

 private:
  // Reading from a device takes a copy; undefined where that is too large.
  Tensor readable(const Tensor& t) const {
    if (t.place().kind == DeviceKind::cpu || t.place().kind == DeviceKind::null) return t;
    return t.nbytes() <= folded_limit_ ? op::to_host(t) : Tensor();
  }
  void know(const Ref<Value>& v, const Tensor& t) {
    if (known_.size() <= v->id) known_.resize(v->id + 1);
    known_[v->id] = t;
  }
  Tensor known(const Ref<Value>& v) const {
    return v && v->id < known_.size() ? known_[v->id] : Tensor();
  }

  void visit(Operation& o) {
    if (o.op->structural) {
      if (o.is_if() && inline_if(o)) return;
      enter(o);
    } else {
      if (o.attr_operands) fold_attributes(o);
      refine(o);
      if (evaluate(o)) return;
    }
    use_constants(o);
  }

  // --- control flow ---

  bool inline_if(Operation& o) {
    const Tensor pred = known(o.operands[0]);
    if (!pred.defined()) return false;
    Block& taken = *o.blocks[program::number_in(pred).integer() ? 0 : 1];
    for (size_t i = 0; i < taken.arguments.size(); ++i)
      if (!program::same_form(*taken.arguments[i], *o.operands[i + 1])) return false;
    std::vector<Ref<Value>> arguments(o.operands.begin() + 1, o.operands.end());
    r_.inline_block(taken, arguments);
    return true;
  }

  // What is known outside is known inside.
  void enter(Operation& o) {
    const bool is_if = o.is_if();
    for (size_t i = is_if ? 1 : o.results.size(); i < o.operands.size(); ++i) {
      const Tensor t = known(o.operands[i]);
      if (!t.defined()) continue;
      for (const auto& b : o.blocks) know(b->arguments[is_if ? i - 1 : i], t);
    }
  }

  // --- shapes ---

  // Attribute elements that are known values become plain numbers.
  void fold_attributes(Operation& o) {
    std::vector<Ref<Value>> rest(o.operands.begin(), o.operands.end() - o.attr_operands);
    uint32_t kept = 0;
    size_t next = rest.size();
    bool any = false;
    // True if element `next` is known; it is put where it belongs by the caller.
    auto take = [&](op::Scalar* number) {
      const Ref<Value>& v = o.operands[next++];
      const Tensor t = known(v);
      if (t.defined()) {
        *number = program::number_in(t);
        any = true;
        return true;
      }
      rest.push_back(v);
      ++kept;
      return false;
    };
    op::AttrBox box(*o.op->attrs, o.attrs.get());
    for (const op::Field& f : o.op->attrs->fields) {
      void* field = static_cast<char*>(box.get()) + f.offset;
      op::Scalar number;
      if (f.kind == op::FieldKind::int_array) {
        auto& array = *static_cast<op::IntArray*>(field);
        std::erase_if(array.symbols, [&](op::IntArray::Symbol& s) {
          if (!take(&number)) return false;
          array.values[s.position] = number.integer();
          return true;
        });
        continue;
      }
      op::Scalar* scalar = nullptr;
      if (f.kind == op::FieldKind::scalar) scalar = static_cast<op::Scalar*>(field);
      if (f.kind == op::FieldKind::optional_scalar) {
        auto& optional = *static_cast<std::optional<op::Scalar>*>(field);
        if (optional) scalar = &*optional;
      }
      if (scalar && scalar->tensor.defined() && take(&number)) *scalar = number;
    }
    if (!any) return;
    r_.set_operands(o, std::move(rest), kept);
    o.attrs = std::move(box);
    mark_refined(o.results);
  }

  // Sizes that became known are passed on.
  void refine(Operation& o) {
    bool any = false;
    for (const Ref<Value>& v : o.operands) any |= v && refined(v);
    for (const Ref<Value>& v : o.results) any |= refined(v);
    if (!any) return;
    std::vector<Shape> before;
    for (const Ref<Value>& v : o.results) before.push_back(v->shape);
    try {
      program::infer_operation(o);
    } catch (const Error&) {
      return;  // it does not suit these sizes: running it will say so, with its line
    }
    for (size_t i = 0; i < before.size(); ++i) {
      Shape& now = o.results[i]->shape;
      bool grew = false;
      for (int d = 0; d < now.rank(); ++d) {
        if (now[d] == kUnknown) now[d] = before[i][d];
        grew |= now[d] != before[i][d];
      }
      if (grew) mark_refined({o.results[i]});
    }
  }
  bool refined(const Ref<Value>& v) const { return v->id < refined_.size() && refined_[v->id]; }
  void mark_refined(const std::vector<Ref<Value>>& values) {
    for (const Ref<Value>& v : values) {
      if (refined_.size() <= v->id) refined_.resize(v->id + 1);
      refined_[v->id] = true;
    }
  }

  // --- values ---

  // A size of x picked out of its shape where other sizes are unknown.
  Tensor size_of_shape(const Operation& o) const {
    if (!is(o, op::names::kSlice) || o.attr_operands) return {};
    const Operation* shape = made_by(o.operands[0], op::names::kShape);
    if (!shape) return {};
    const Shape& x = shape->operands[0]->shape;
    Tensor sizes = Tensor::empty({x.rank()}, DType::int64);
    std::copy(x.begin(), x.end(), sizes.data<int64_t>());
    Tensor picked = program::computed(o, std::span(&sizes, 1), 0);
    if (!picked.defined()) return {};
    for (int64_t i = 0; i < picked.numel(); ++i)
      if (picked.data<int64_t>()[i] < 0) return {};
    return picked;
  }

  bool evaluate(Operation& o) {
    if (!is_pure(*o.op) || o.op->placed() || o.attr_operands || o.results.size() != 1 ||
        o.op->uninitialized)
      return false;
    const Ref<Value>& v = o.results[0];
    if (v->layout != Layout::strided) return false;
    Tensor t = size_of_shape(o);
    if (!t.defined()) {
      if (!v->shape.known()) return false;
      const auto elements = static_cast<size_t>(v->shape.numel());
      bool reads = false;
      std::vector<Tensor> in;
      for (size_t i = 0; i < o.operands.size(); ++i) {
        const Ref<Value>& x = o.operands[i];
        if (!x) {
          in.emplace_back();
          continue;
        }
        if (x->layout != Layout::strided) return false;
        Tensor k = known(x);
        if (k.defined())
          reads = true;
        else if (x->shape.known() && reads_only_shape(o, i))
          k = Tensor::describe(x->shape, x->dtype);
        else
          return false;
        in.push_back(k);
      }
      if (elements > (reads ? folded_limit_ : created_limit_) / item_size(v->dtype)) return false;
      t = program::computed(o, in, 0);
      if (!t.defined() || t.dtype() != v->dtype || t.shape() != v->shape) return false;
    }
    know(v, t);
    return true;
  }

  // An operation that stays reads constants instead of what it would compute.
  void use_constants(Operation& o) {
    for (size_t i = 0; i < o.operands.size(); ++i) {
      const Ref<Value> v = o.operands[i];
      const Tensor t = known(v);
      if (!t.defined() || !v->producer || r_.leaves(v)) continue;
      r_.set_operand(o, i, constant(*o.parent, t));
      if (o.op->structural) enter(o);
    }
  }

  // Equal small constants are one, in each block.
  Ref<Value> constant(const Block& block, const Tensor& t) {
    Message m;
    m << t.dtype() << t.shape() << ' ' << reinterpret_cast<uintptr_t>(&block) << ' ';
    std::string key = m.str();
    if (t.nbytes() <= 64 && t.is_contiguous())
      key.append(static_cast<const char*>(t.raw()), t.nbytes());
    else
      key += std::to_string(reinterpret_cast<uintptr_t>(t.impl()));
    Ref<Value>& v = constants_[key];
    if (!v) {
      v = r_.constant(t);
      know(v, t);
    }
    return v;
  }

  Rewriter r_;
  const size_t created_limit_, folded_limit_;
  std::vector<Tensor> known_;  // by id
  std::vector<bool> refined_;  // by id: more sizes are known than when it was recorded
  std::map<std::string, Ref<Value>> constants_;
};

bool run(Program& p, const PassContext& c) {
  return Folder(p, c).run();
}

ARGOSY_PASS(constant_folding, Rounding::kept,
            "Computes operations whose operands are known (constants, creation ops, shapes of "
            "known size) and makes constants of what others read of them; puts attribute elements "
            "that are known into the attributes and passes on the sizes that become known; takes "
            "the branch of an `if` whose predicate is known. Options: constant_folding.limit, the "
            "most bytes of a result (65536), constant_folding.created, the same for what is made "
            "from nothing (4096).",
            run)

}  // namespace
}  // namespace argosy::passes

#include <iterator>
#include <utility>

#include "argosy/op/dispatch.h"
#include "argosy/program/attributes.h"
#include "argosy/program/edit.h"
#include "argosy/program/parts.h"

namespace argosy::program {
namespace {

// Of what an operation has for arguments: tensors that stand for them in the innermost block.
class Arguments {
 public:
  Arguments(Builder& b, const Operation& o) : builder_(b) {
    for (const Ref<Value>& v : o.inputs()) tensors.push_back(argument(v));
    std::vector<Tensor> elements;
    for (const Ref<Value>& v : o.attr_values()) elements.push_back(argument(v));
    attrs = attributes(o, elements);
  }
  std::vector<Tensor> tensors;
  op::AttrBox attrs;

 private:
  Tensor argument(const Ref<Value>& v) { return v ? builder_.argument(handle(v)) : Tensor(); }
  Builder& builder_;
};

class Decomposer {
 public:
  Decomposer(Program& p, const OpenWanted& wanted)
      : p_(p), builder_(p.builder()), wanted_(wanted), used_(count_uses(p)) {}

  // Operations [begin, end) of a block, and those of the blocks that they own.
  void block(Block& b, size_t begin, size_t end) {
    auto& all = b.operations;
    const auto from = all.begin() + static_cast<ptrdiff_t>(begin);
    const auto to = all.begin() + static_cast<ptrdiff_t>(end);
    Operations rest(std::make_move_iterator(to), std::make_move_iterator(all.end()));
    Operations now(std::make_move_iterator(from), std::make_move_iterator(to));
    all.resize(begin);
    auto finish = [&] {
      for (auto& o : rest) all.push_back(std::move(o));
    };
    try {
      append(b, now);
    } catch (...) {
      finish();
      throw;
    }
    finish();
  }

 private:
  using Operations = std::vector<std::unique_ptr<Operation>>;

  // Appends operations, or their parts, to a block. Where one raises, it and what follows are
  // appended as they are.
  void append(Block& b, Operations& operations) {
    for (size_t i = 0; i < operations.size(); ++i) {
      try {
        append_one(b, operations[i]);
      } catch (...) {
        for (; i < operations.size(); ++i)
          if (operations[i]) b.operations.push_back(std::move(operations[i]));
        throw;
      }
    }
  }

  void append_one(Block& b, std::unique_ptr<Operation>& o) {
    if (o->role == Role::forward && wanted_(*o->op)) {
      Operations parts = opened(b, *o);
      if (!parts.empty()) {
        o.reset();
        append(b, parts);
        return;
      }
    }
    for (const auto& inner : o->blocks) block(*inner, 0, inner->operations.size());
    b.operations.push_back(std::move(o));
  }

  // What the operation is composed of, which makes the operation's results; none where it stays.
  Operations opened(Block& b, const Operation& o) {
    if (!o.op->compose || !o.op->writes.empty() || !o.updated_inputs().empty()) return {};
    Draft draft = recorded(o);
    if (!draft.block || !fits(draft, o)) return {};
    return take_parts(p_, b, o, o.operands, draft);
  }

  // The composition as a block: arguments are the operands that are there, yields the results (null
  // where it makes none), each made by an operation of its own. No block where what the operation
  // was given cannot be computed by parts.
  Draft recorded(const Operation& o) {
    const RoleScope as_before(builder_, o.role, o.segment);
    try {
      return record_open(o);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::not_implemented) throw;
      return {};
    }
  }

  Draft record_open(const Operation& o) {
    OpenBlock block(builder_);
    Arguments given(builder_, o);
    const Recording recording(p_.shared_from_this());
    const op::GradMode on(true);
    Tensors out = o.op->compose(op::Inputs(given.tensors, o.ends.empty() ? nullptr : o.ends.data()),
                                given.attrs.get());
    return end_parts(builder_, block, std::move(out), o.results.size());
  }

  // May the composition take the place? Not where it writes, reads what only a block that is being
  // built has, lacks a result that is used, or makes one of another type.
  bool fits(const Draft& draft, const Operation& o) const {
    if (!draft.moved.empty() || !draft.written.empty()) return false;
    for (const auto& [outer, argument] : draft.captures)
      if (outer->block && outer->block != &p_.main) return false;
    for (size_t i = 0; i < o.results.size(); ++i) {
      const Ref<Value>& made = draft.block->yields[i];
      const Value& wanted = *o.results[i];
      if (!made && is_used(wanted)) return false;
      if (made && (made->dtype != wanted.dtype || !same_form(*made, wanted))) return false;
    }
    return true;
  }

  // Of parts that are opened in turn nobody counted.
  bool is_used(const Value& v) const { return v.id >= used_.size() || used_[v.id] > 0; }

  Program& p_;
  Builder& builder_;
  const OpenWanted& wanted_;
  const std::vector<uint32_t> used_;  // by id, of the values that there were at first
};

}  // namespace

void decompose(Program& p, size_t begin, size_t end, const OpenWanted& wanted) {
  const size_t count = p.main.operations.size();
  ARGOSY_CHECK(begin <= end && end <= count, index)
      << "[decompose] there are no operations " << begin << " to " << end << " among " << count
      << '.';
  Decomposer(p, wanted).block(p.main, begin, end);
  p.changed();
}

}  // namespace argosy::program

#include <unordered_set>

#include "argosy/op/dispatch.h"
#include "argosy/program/program.h"

namespace argosy::program {
namespace {

using Made = std::unordered_set<const Value*>;

void verify_block(const Program& p, const Block& block, Made made);

void verify_structure(const Operation& o) {
  const bool is_if = o.op->name == "if";
  auto fits = [&](bool ok, const char* what) {
    ARGOSY_CHECK(ok, internal) << '[' << o.op->name << "] is malformed: " << what << '.';
  };
  fits(o.blocks.size() == 2, "expected two blocks");
  const size_t captured = is_if ? o.operands.size() - 1 : o.operands.size();
  for (const auto& b : o.blocks) {
    fits(b->owner == &o, "a block does not know its operation");
    fits(b->arguments.size() == captured, "operands and block arguments differ in number");
    for (size_t i = 0; i < captured; ++i) {
      fits(same_form(*o.operands[is_if ? i + 1 : i], *b->arguments[i]),
           "an operand and its block argument differ in type");
    }
  }
  for (size_t k = is_if ? 0 : 1; k < 2; ++k) {
    const auto& yields = o.blocks[k]->yields;
    fits(yields.size() == o.results.size(), "yields and results differ in number");
    for (size_t i = 0; i < yields.size(); ++i)
      fits(yields[i] && same_form(*yields[i], *o.results[i]),
           "a yield and its result differ in type");
  }
  if (!is_if) {
    fits(o.results.size() <= o.operands.size(), "more results than operands");
    fits(o.blocks[0]->yields.size() == 1 && o.blocks[0]->yields[0]->dtype == DType::bool_,
         "the first block must yield one bool");
  }
}

void verify_types(const Operation& o) {
  struct Type {
    Shape shape;
    DType dtype;
  };
  std::vector<Type> before;
  for (const Ref<Value>& v : o.results) before.push_back({v->shape, v->dtype});
  auto& mutable_o = const_cast<Operation&>(o);
  infer_operation(mutable_o);
  for (size_t i = 0; i < before.size(); ++i) {
    Value& v = *o.results[i];
    Type now{v.shape, v.dtype};
    // Passes may know a size that inference does not see any more, never a different one.
    bool same = now.dtype == before[i].dtype && now.shape.rank() == before[i].shape.rank();
    for (int d = 0; same && d < now.shape.rank(); ++d)
      same = now.shape[d] == before[i].shape[d] || now.shape[d] == kUnknown ||
             before[i].shape[d] == kUnknown;
    v.shape = before[i].shape;
    v.dtype = before[i].dtype;
    ARGOSY_CHECK(same, internal) << '%' << v.id << " of " << o.op->name << " is " << before[i].dtype
                                 << before[i].shape << ", inferred " << now.dtype << now.shape;
  }
}

void verify_block(const Program& p, const Block& block, Made made) {
  for (const Ref<Value>& v : block.arguments) {
    ARGOSY_CHECK(v->block == &block, internal) << "argument %" << v->id << " is of another block";
    made.insert(v.get());
  }
  auto use = [&](const Ref<Value>& v, const std::string& who) {
    ARGOSY_CHECK(!v || made.count(v.get()), internal)
        << '%' << v->id << " is used by " << who << " before it is made in its block.";
  };
  for (const auto& o : block.operations) {
    ARGOSY_CHECK(o->parent == &block, internal) << o->op->name << " does not know its block";
    const size_t flat = o->operands.size() - o->attr_operands;
    if (!o->op->structural)
      ARGOSY_CHECK(o->ends.empty() ? flat == o->op->inputs.size()
                                   : o->ends.size() == o->op->inputs.size() &&
                                         (o->ends.empty() || o->ends.back() == flat),
                   internal)
          << '[' << o->op->name << "] takes " << o->op->inputs.size() << " inputs, has " << flat;
    for (const Ref<Value>& v : o->operands) use(v, o->op->name);
    if (o->op->structural) verify_structure(*o);
    for (const auto& b : o->blocks) verify_block(p, *b, {});
    if (!o->op->structural) verify_types(*o);
    for (const Ref<Value>& v : o->results) {
      ARGOSY_CHECK(v->id < p.value_count() && made.insert(v.get()).second, internal)
          << '%' << v->id << " is made twice";
      ARGOSY_CHECK(v->block == &block && v->producer == o.get(), internal)
          << '%' << v->id << " does not know where it is made";
    }
  }
  for (const Ref<Value>& v : block.yields) use(v, "a yield");
}

}  // namespace

void Program::verify() const {
  Made made;
  for (const StateUse& s : states) made.insert(s.initial.get());
  for (const Constant& c : constants) made.insert(c.value.get());
  verify_block(*this, main, made);
  for (const auto& o : main.operations)
    for (const Ref<Value>& v : o->results) made.insert(v.get());
  for (const Ref<Value>& v : main.arguments) made.insert(v.get());
  for (const StateUse& s : states)
    ARGOSY_CHECK(!s.last || (made.count(s.last.get()) && s.last->dtype == s.state->dtype), internal)
        << "what is written to state '" << s.state->name << "' is not made, or of another dtype";
  for (const Output& o : outputs)
    ARGOSY_CHECK(made.count(o.value.get()), internal)
        << "output '" << o.name << "' is not made in the main block";
}

}  // namespace argosy::program

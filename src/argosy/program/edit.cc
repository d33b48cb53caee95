#include "argosy/program/edit.h"

#include <algorithm>
#include <utility>

namespace argosy::program {
namespace {

using Operations = std::vector<std::unique_ptr<Operation>>;

Operations::iterator place_of(Operation& o) {
  Operations& all = o.parent->operations;
  return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.get() == &o; });
}

void check_stands_in(const char* what, const Value& from, const Value& to) {
  bool fits = same_form(from, to) && from.dtype == to.dtype;
  for (int d = 0; fits && d < from.shape.rank(); ++d)
    fits = from.shape[d] == to.shape[d] || from.shape[d] < 0 || to.shape[d] < 0;
  ARGOSY_CHECK(fits, type) << '[' << what << "] another value of the same type must stand in: '"
                           << from.name << "' is " << name_of(from.dtype) << from.shape << ", '"
                           << to.name << "' is " << name_of(to.dtype) << to.shape
                           << ". Do this: cast or reshape it first.";
  ARGOSY_CHECK(from.block == to.block, invalid_argument)
      << '[' << what << "] '" << to.name << "' lives in another block than '" << from.name
      << "'. Do this: use a value of the same block.";
}

void check_made_before(const char* what, const Value& v, Operation& user) {
  const bool before =
      !v.producer || (v.producer->parent == user.parent && place_of(*v.producer) < place_of(user));
  ARGOSY_CHECK(before, invalid_argument)
      << '[' << what << "] '" << v.name << "' is made after '" << user.op->name
      << "', which would use it. Do this: move the operation that makes it first.";
}

bool uses(const Operation& o, const Value& v) {
  return std::any_of(o.operands.begin(), o.operands.end(),
                     [&](const Ref<Value>& operand) { return operand.get() == &v; });
}

}  // namespace

void redirect_uses(Program& p, const Ref<Value>& from, const Ref<Value>& to) {
  const char* what = "replace_all_uses_with";
  check_stands_in(what, *from, *to);
  const Block& block = from->block ? *from->block : p.main;
  for (const auto& o : block.operations)
    if (uses(*o, *from)) check_made_before(what, *to, *o);
  replace_uses(p, from, to);
  infer_types(p.main);
  p.changed();
}

void set_operand(Program& p, Operation& o, size_t i, const Ref<Value>& v) {
  ARGOSY_CHECK(i < o.operands.size() && o.operands[i], index)
      << "[set_source] '" << o.op->name << "' has no operand " << i << ": it has "
      << o.operands.size() << '.';
  check_stands_in("set_source", *o.operands[i], *v);
  check_made_before("set_source", *v, o);
  o.operands[i] = v;
  infer_types(p.main);
  p.changed();
}

void remove_operation(Program& p, Operation& o) {
  const std::vector<uint32_t> used = count_uses(p);
  for (const Ref<Value>& v : o.results)
    ARGOSY_CHECK(v->id >= used.size() || used[v->id] == 0, invalid_argument)
        << "[remove_op] '" << v->name << "', which '" << o.op->name
        << "' makes, is used. Do this: call replace_all_uses_with first.";
  for (const Ref<Value>& v : o.results) {
    v->producer = nullptr;
    v->block = nullptr;
  }
  o.parent->operations.erase(place_of(o));
  p.changed();
}

void move_operation(Program& p, Operation& o, size_t to) {
  Operations& all = o.parent->operations;
  const auto from = static_cast<size_t>(place_of(o) - all.begin());
  ARGOSY_CHECK(to < all.size(), index)
      << "[move_op] there is no place " << to << " among " << all.size() << " operations.";
  auto passed = [&](size_t k) {  // may o pass the operation at k?
    for (const Ref<Value>& v : k < from ? o.operands : all[k]->operands) {
      const Operation* maker = v ? v->producer : nullptr;
      ARGOSY_CHECK(!maker || maker != (k < from ? all[k].get() : &o), invalid_argument)
          << "[move_op] '" << v->name << "', which '" << maker->op->name
          << "' makes, would be used before it is made. Do this: choose a place between what the "
             "operation reads and who reads it.";
    }
  };
  for (size_t k = to; k < from; ++k) passed(k);
  for (size_t k = from + 1; k <= to; ++k) passed(k);
  const auto begin = all.begin();
  using Step = Operations::difference_type;
  const auto f = static_cast<Step>(from), t = static_cast<Step>(to);
  if (from > to)
    std::rotate(begin + t, begin + f, begin + f + 1);
  else
    std::rotate(begin + f, begin + f + 1, begin + t + 1);
  p.changed();
}

}  // namespace argosy::program

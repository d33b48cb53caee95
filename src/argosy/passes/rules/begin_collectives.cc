#include <map>
#include <set>
#include <unordered_map>

#include "argosy/passes/rewrite.h"

// Collectives that nobody reads at once go on while other operations run.
namespace argosy::passes {
namespace {

// It works in the memory of its operand, by all_reduce_start and all_reduce_wait. Others have a
// result of their own: X_begin and collective_end.
constexpr std::string_view kSum = "all_reduce";

// X_begin; null where X has none.
const op::OpDef* beginning_of(const op::OpDef& op) {
  return op.effect == op::Effect::communicates ? op::find(op.name + "_begin") : nullptr;
}

class Beginner {
 public:
  explicit Beginner(Program& p) : p_(p) {}

  bool run(Block& block) {
    bool changed = false;
    for (const auto& o : block.operations)
      for (const auto& inner : o->blocks) changed |= run(*inner);
    const Readers readers = readers_of_collectives(block);
    if (readers.empty()) return changed;
    // By the operation that they precede, in order.
    std::multimap<size_t, std::unique_ptr<Operation>> put_off;
    std::vector<std::unique_ptr<Operation>> list;
    for (size_t i = 0; i < block.operations.size(); ++i) {
      for (auto [at, end] = put_off.equal_range(i); at != end; ++at)
        list.push_back(std::move(at->second));
      std::unique_ptr<Operation>& o = block.operations[i];
      if (!o) continue;  // a view that was put off
      const Uses uses = goes_on(*o) ? uses_of(block, readers, *o) : Uses{};
      if (uses.first <= i + 1 + uses.views.size()) {
        list.push_back(std::move(o));
        continue;
      }
      auto [start, wait] = is(*o, kSum) ? in_its_memory(block, *o) : beside(block, *o);
      list.push_back(std::move(start));
      put_off.emplace(uses.first, std::move(wait));
      for (const size_t view : uses.views)
        put_off.emplace(uses.first, std::move(block.operations[view]));
      changed = true;
    }
    for (auto [at, end] = put_off.equal_range(block.operations.size()); at != end; ++at)
      list.push_back(std::move(at->second));
    block.operations = std::move(list);
    return changed;
  }

 private:
  using Readers = std::unordered_map<const Value*, std::vector<size_t>>;  // by place

  static bool goes_on(const Operation& o) { return is(o, kSum) || beginning_of(*o.op); }

  // Views only hand on where something is: they can follow the end of what they view.
  static bool is_plain_view(const Operation& o) {
    return is_view(o) && is_pure(*o.op) && o.operands.size() == 1;
  }

  // Who reads what collectives of a block give, or views of it. Blocks within it read operands of
  // their owners.
  static Readers readers_of_collectives(const Block& block) {
    Readers out;
    for (size_t i = 0; i < block.operations.size(); ++i) {
      const Operation& o = *block.operations[i];
      bool reads = false;
      for (const Ref<Value>& v : o.operands)
        if (const auto it = out.find(v.get()); it != out.end()) {
          it->second.push_back(i);
          reads = true;
        }
      if (goes_on(o) || (reads && is_plain_view(o)))
        for (const Ref<Value>& v : o.results) out.try_emplace(v.get());
    }
    return out;
  }

  struct Uses {
    size_t first = 0;        // who needs it, by place
    std::set<size_t> views;  // of it, before `first`
  };
  static Uses uses_of(const Block& block, const Readers& readers, const Operation& o) {
    Uses uses{.first = block.operations.size(), .views = {}};
    std::vector<const Operation*> visited{&o};
    while (!visited.empty()) {
      const Operation* made = visited.back();
      visited.pop_back();
      for (const Ref<Value>& v : made->results)
        for (const size_t reader : readers.at(v.get())) {
          const Operation* by = block.operations[reader].get();
          if (!by || !is_plain_view(*by))
            uses.first = std::min(uses.first, reader);
          else if (uses.views.insert(reader).second)
            visited.push_back(by);
        }
    }
    uses.views.erase(uses.views.lower_bound(uses.first), uses.views.end());
    return uses;
  }

  std::unique_ptr<Operation> make(const op::OpDef& op, std::vector<Ref<Value>> operands,
                                  const Operation& like) const {
    auto o = std::make_unique<Operation>();
    o->op = &op;
    o->attrs = default_attrs(op);
    o->operands = std::move(operands);
    o->parent = like.parent;
    o->role = like.role;
    o->location = like.location;
    return o;
  }

  Ref<Value> result(Block& block, Operation& o, const Shape& shape, DType dtype) {
    Ref<Value> v = p_.make_value(shape, dtype);
    v->block = &block;
    v->producer = &o;
    v->stop = true;
    o.results.push_back(v);
    return v;
  }

  using Pair = std::pair<std::unique_ptr<Operation>, std::unique_ptr<Operation>>;

  // What it gave is what the wait gives.
  static Pair ended_by(Operation& o, std::unique_ptr<Operation> start,
                       std::unique_ptr<Operation> wait) {
    wait->results = std::move(o.results);
    for (const Ref<Value>& v : wait->results) v->producer = wait.get();
    return {std::move(start), std::move(wait)};
  }

  Pair in_its_memory(Block& block, Operation& o) {
    const Ref<Value> x = o.operands[0];
    auto start = make(op::get("all_reduce_start"), {x}, o);
    start->ends = {1};
    set_attr(start->attrs, "group", attr<int64_t>(o, "group"));
    set_attr(start->attrs, "reduce", attr<std::string>(o, "reduce"));
    const Ref<Value> started = result(block, *start, Shape{1}, DType::int64);
    const Ref<Value> under_way = result(block, *start, x->shape, x->dtype);
    auto wait = make(op::get("all_reduce_wait"), {under_way, started}, o);
    wait->ends = {1, 2};
    return ended_by(o, std::move(start), std::move(wait));
  }

  Pair beside(Block& block, Operation& o) {
    auto start = make(*beginning_of(*o.op), o.operands, o);
    start->ends = o.ends;
    start->attrs = op::AttrBox(*o.op->attrs, o.attrs.get());
    start->attr_operands = o.attr_operands;
    std::vector<Ref<Value>> operands;
    for (const Ref<Value>& v : o.results)
      operands.push_back(result(block, *start, v->shape, v->dtype));
    const Ref<Value> begun = result(block, *start, Shape{1}, DType::int64);
    const auto results = static_cast<uint32_t>(operands.size());
    for (size_t i = 0; i < o.operands.size(); ++i)
      if (o.operands[i] && !reads_only_shape(o, i)) operands.push_back(o.operands[i]);
    const auto held = static_cast<uint32_t>(operands.size());
    operands.push_back(begun);
    auto wait = make(op::get("collective_end"), std::move(operands), o);
    wait->ends = {results, held, held + 1};
    return ended_by(o, std::move(start), std::move(wait));
  }

  Program& p_;
};

bool run(Program& p, const PassContext&) {
  if (!Beginner(p).run(p.main)) return false;
  p.changed();
  return true;
}

ARGOSY_PASS(begin_collectives, Rounding::kept,
            "A collective whose result is not read at once begins where it stands and is waited "
            "for before its first reader, so that operations between go on beside it. Views of "
            "the result move with the wait.",
            run)

}  // namespace
}  // namespace argosy::passes

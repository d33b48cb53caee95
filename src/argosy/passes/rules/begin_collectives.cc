#include <map>
#include <unordered_map>

#include "argosy/passes/rewrite.h"

// Sums over ranks that nobody reads at once go on while other operations run.
namespace argosy::passes {
namespace {

constexpr std::string_view kSum = "all_reduce";

class Beginner {
 public:
  explicit Beginner(Program& p) : p_(p) {}

  bool run(Block& block) {
    bool changed = false;
    for (const auto& o : block.operations)
      for (const auto& inner : o->blocks) changed |= run(*inner);
    const auto read = first_readers(block);
    std::vector<std::unique_ptr<Operation>> list;
    std::multimap<size_t, std::unique_ptr<Operation>> waits;  // by the operation that they precede
    for (size_t i = 0; i < block.operations.size(); ++i) {
      for (auto [at, end] = waits.equal_range(i); at != end; ++at)
        list.push_back(std::move(at->second));
      std::unique_ptr<Operation>& o = block.operations[i];
      const auto found = is(*o, kSum) ? read.find(o->results[0].get()) : read.end();
      const size_t reader = found == read.end() ? block.operations.size() : found->second;
      if (!is(*o, kSum) || reader == i + 1) {
        list.push_back(std::move(o));
        continue;
      }
      auto [start, wait] = in_two(block, *o);
      list.push_back(std::move(start));
      waits.emplace(reader, std::move(wait));
      changed = true;
    }
    for (auto [at, end] = waits.equal_range(block.operations.size()); at != end; ++at)
      list.push_back(std::move(at->second));
    block.operations = std::move(list);
    return changed;
  }

 private:
  // Who reads the sums of a block first, by place. Blocks within it read operands of their owners.
  static std::unordered_map<const Value*, size_t> first_readers(const Block& block) {
    std::unordered_map<const Value*, size_t> out;
    for (size_t i = 0; i < block.operations.size(); ++i)
      for (const Ref<Value>& v : block.operations[i]->operands)
        if (made_by(v, kSum)) out.try_emplace(v.get(), i);
    return out;
  }

  std::unique_ptr<Operation> make(std::string_view op, std::vector<Ref<Value>> operands,
                                  const Operation& like) const {
    auto o = std::make_unique<Operation>();
    o->op = &op::get(op);
    o->attrs = default_attrs(*o->op);
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

  // What it gave is what the wait gives.
  std::pair<std::unique_ptr<Operation>, std::unique_ptr<Operation>> in_two(Block& block,
                                                                           Operation& o) {
    const Ref<Value> x = o.operands[0];
    auto start = make("all_reduce_start", {x}, o);
    start->ends = {1};
    set_attr(start->attrs, "group", attr<int64_t>(o, "group"));
    set_attr(start->attrs, "reduce", attr<std::string>(o, "reduce"));
    const Ref<Value> started = result(block, *start, Shape{1}, DType::int64);
    const Ref<Value> under_way = result(block, *start, x->shape, x->dtype);
    auto wait = make("all_reduce_wait", {under_way, started}, o);
    wait->ends = {1, 2};
    wait->results = std::move(o.results);
    wait->results[0]->producer = wait.get();
    return {std::move(start), std::move(wait)};
  }

  Program& p_;
};

bool run(Program& p, const PassContext&) {
  if (!Beginner(p).run(p.main)) return false;
  p.changed();
  return true;
}

ARGOSY_PASS(begin_collectives, Rounding::kept,
            "An all_reduce whose result is not read at once begins where it stands and is waited "
            "for before its first reader, so that operations between go on beside it.",
            run)

}  // namespace
}  // namespace argosy::passes

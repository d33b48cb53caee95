#include <algorithm>
#include <unordered_map>

#include "argosy/passes/rewrite.h"

// An optimizer updates all parameters by one operation at the end of a step, for which every
// gradient is kept until then. Large parameters get an operation of their own here, right where
// their gradient is made and the old value is read for the last time.
namespace argosy::passes {
namespace {

bool is_update(const Operation& o) {
  return o.op->per_parameter;
}

size_t bytes_of(const Value& v) {
  if (!v.shape.known() || v.layout != Layout::strided) return 0;
  return static_cast<size_t>(v.shape.numel()) * item_size(v.dtype);
}

class Splitter {
 public:
  Splitter(Program& p, size_t least) : block_(p.main), least_(least) {}

  bool run() {
    auto& operations = block_.operations;
    for (size_t i = 0; i < operations.size(); ++i) {
      for (const Ref<Value>& v : operations[i]->operands)
        if (v) last_use_[v.get()] = i;
      for (const Ref<Value>& v : operations[i]->results) made_[v.get()] = i;
    }
    for (size_t i = 0; i < operations.size(); ++i)
      if (is_update(*operations[i])) split(*operations[i], i);
    if (moved_.empty()) return false;
    std::stable_sort(moved_.begin(), moved_.end(),
                     [](const Moved& a, const Moved& b) { return a.after < b.after; });
    std::vector<std::unique_ptr<Operation>> list;
    auto next = moved_.begin();
    for (size_t i = 0; i < operations.size(); ++i) {
      if (!operations[i]->results.empty() || !is_update(*operations[i]))
        list.push_back(std::move(operations[i]));
      for (; next != moved_.end() && next->after == i; ++next)
        list.push_back(std::move(next->operation));
    }
    operations = std::move(list);
    return true;
  }

 private:
  struct Moved {
    size_t after;
    std::unique_ptr<Operation> operation;
  };

  // Operands of list k.
  static std::pair<size_t, size_t> range(const Operation& o, size_t k) {
    return {k ? o.ends[k - 1] : 0, o.ends[k]};
  }

  void split(Operation& o, size_t at) {
    const size_t lists = o.ends.size();
    if (lists != o.op->inputs.size() || lists < 3 || o.results.size() != o.outputs()) return;
    const size_t count = o.ends[0];
    for (size_t k = 0; k < lists; ++k) {
      const auto [begin, end] = range(o, k);
      if (end - begin != count && (k < 2 || end != begin)) return;
    }
    // Result of operand k, if that is written.
    std::unordered_map<size_t, size_t> result;
    for (uint32_t list : o.op->writes) {
      const auto [begin, end] = range(o, list);
      for (size_t k = begin; k < end; ++k) result.emplace(k, result.size());
    }
    if (result.size() != o.results.size()) return;

    std::vector<bool> gone(count);
    for (size_t i = 0; i < count; ++i) {
      // A master may be the parameter itself, which is one operand written twice then.
      const auto [master, masters_end] = range(o, lists - 1);
      const bool copied = master != masters_end;
      if (copied && o.operands[master + i] == o.operands[i]) continue;
      const Value& updated = *o.operands[copied ? master + i : i];
      if (bytes_of(updated) < least_) continue;
      size_t after = 0;
      bool can = true;
      auto wait_for = [&](const Ref<Value>& v, bool written) {
        if (auto it = made_.find(v.get()); it != made_.end()) after = std::max(after, it->second);
        if (!written) return;
        // Readers of the old value come first; `at` itself is this operation.
        const size_t last = last_read_before(*v, at);
        after = std::max(after, last);
        can = can && last_use_[v.get()] <= at;
      };
      for (size_t k = 0; k < lists; ++k) {
        const auto [begin, end] = range(o, k);
        if (begin != end) wait_for(o.operands[begin + i], result.count(begin + i) != 0);
      }
      for (const Ref<Value>& v : o.attr_values()) wait_for(v, false);
      if (!can || after + 1 >= at) continue;
      moved_.push_back({after, part(o, result, [&](size_t k) { return k == i; })});
      gone[i] = true;
    }
    if (std::find(gone.begin(), gone.end(), true) == gone.end()) return;
    if (std::find(gone.begin(), gone.end(), false) == gone.end()) {
      o.results.clear();  // dropped by run()
      return;
    }
    moved_.push_back({at, part(o, result, [&](size_t k) { return !gone[k]; })});
    o.results.clear();
  }

  // The last operation before `at` that reads v or, through it, its memory.
  size_t last_read_before(const Value& v, size_t at) {
    if (reads_.empty())
      for (size_t i = 0; i < block_.operations.size(); ++i) {
        const Operation& o = *block_.operations[i];
        if (is_update(o)) continue;
        for (const Ref<Value>& x : o.operands) {
          if (!x) continue;
          const Value* root = root_of(x.get());
          reads_[root] = i;
          if (o.op->view || o.op->views)
            for (const Ref<Value>& r : o.results) roots_[r.get()] = root;
        }
      }
    auto it = reads_.find(&v);
    return it == reads_.end() ? 0 : std::min(it->second, at);
  }
  const Value* root_of(const Value* v) const {
    auto it = roots_.find(v);
    return it == roots_.end() ? v : it->second;
  }

  // The operation for those places of the lists that `keep` says.
  template <class F>
  std::unique_ptr<Operation> part(const Operation& o,
                                  const std::unordered_map<size_t, size_t>& result, F keep) {
    auto made = o.copy_without_values();
    made->parent = o.parent;
    made->ends.clear();
    const size_t count = o.ends[0];
    for (size_t k = 0; k < o.ends.size(); ++k) {
      const auto [begin, end] = range(o, k);
      for (size_t i = 0; begin + i < end; ++i)
        if (keep(i)) made->operands.push_back(o.operands[begin + i]);
      made->ends.push_back(static_cast<uint32_t>(made->operands.size()));
    }
    for (uint32_t list : o.op->writes) {
      const auto [begin, end] = range(o, list);
      for (size_t i = 0; begin + i < end; ++i) {
        if (!keep(i)) continue;
        const Ref<Value>& v = o.results[result.at(begin + i)];
        v->producer = made.get();
        made->results.push_back(v);
      }
    }
    for (const Ref<Value>& v : o.attr_values()) made->operands.push_back(v);
    for (const op::Field& f : o.op->attrs->fields) {
      if (f.kind != op::field_kind_of<std::vector<double>>) continue;
      const auto& all = attr<std::vector<double>>(o, f.name);
      if (all.size() != count) continue;
      std::vector<double> some;
      for (size_t i = 0; i < count; ++i)
        if (keep(i)) some.push_back(all[i]);
      set_attr(made->attrs, f.name, std::move(some));
    }
    return made;
  }

  Block& block_;
  const size_t least_;
  std::unordered_map<const Value*, size_t> made_, last_use_, reads_;
  std::unordered_map<const Value*, const Value*> roots_;
  std::vector<Moved> moved_;
};

// On a device an operation of its own is launched by itself, and ends what is launched as a graph:
// there, few parameters are worth that.
size_t least_bytes(const Program& p, const PassContext& c) {
  auto least = static_cast<size_t>(c.number("split_updates.bytes", 256 << 10));
  if (c.place.kind == DeviceKind::cpu || !c.option("split_updates.bytes").empty()) return least;
  size_t all = 0;
  for (const auto& o : p.main.operations) {
    if (!is_update(*o) || o->ends.empty()) continue;
    for (size_t k = 0; k < o->ends[0]; ++k) all += bytes_of(*o->operands[k]);
  }
  return std::max(least, all / 64);
}

bool run(Program& p, const PassContext& c) {
  return Splitter(p, least_bytes(p, c)).run();
}

ARGOSY_PASS(split_updates, Rounding::kept,
            "Large parameters are updated as soon as their gradient is there, by an operation of "
            "their own, so that gradients are not kept until the end of the step. Gradients that "
            "are clipped together stay together. Option: split_updates.bytes, the least size of "
            "such a parameter (262144; on devices at least a 64th of all), of its float32 copy "
            "where it has one.",
            run)

}  // namespace
}  // namespace argosy::passes

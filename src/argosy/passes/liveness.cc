#include "argosy/passes/liveness.h"

#include <algorithm>

#include "argosy/passes/rewrite.h"

namespace argosy::passes {

int64_t bytes_of(const Value& v, int64_t unknown) {
  if (v.layout != Layout::strided) return 0;
  int64_t n = static_cast<int64_t>(item_size(v.dtype));
  for (int64_t d : v.shape) n *= d == kUnknown ? unknown : d;
  return n;
}

namespace {

// The most that a block inside needs beside what it is given.
int64_t inner_peak(const Block& block, int64_t unknown) {
  std::vector<std::pair<const Value*, size_t>> last;
  int64_t sum = 0, peak = 0;
  for (const auto& o : block.operations) {
    int64_t inside = 0;
    for (const auto& b : o->blocks) inside = std::max(inside, inner_peak(*b, unknown));
    if (!is_view(*o))
      for (const Ref<Value>& v : o->results) sum += bytes_of(*v, unknown);
    peak = std::max(peak, sum + inside);
  }
  return peak;
}

}  // namespace

Liveness::Liveness(const Program& p, int64_t unknown)
    : begin(p.value_count(), -1),
      end(p.value_count(), -1),
      root(p.value_count()),
      size(p.value_count()) {
  const auto& operations = p.main.operations;
  const auto count = static_cast<int32_t>(operations.size());
  for (uint32_t id = 0; id < root.size(); ++id) root[id] = id;
  std::vector<bool> counted(root.size());
  for (int32_t i = 0; i < count; ++i) {
    const Operation& o = *operations[static_cast<size_t>(i)];
    for (size_t k = 0; k < o.operands.size(); ++k)
      if (o.operands[k] && !reads_no_memory(o, k)) end[root[o.operands[k]->id]] = i;
    const size_t outputs = o.op->writes.empty() ? o.outputs() : 0;
    for (size_t k = 0; k < o.results.size(); ++k) {
      const uint32_t id = o.results[k]->id;
      begin[id] = end[id] = i;
      // Results that are written into operands share their memory.
      if (is_view(o) && o.operands[0])
        root[id] = root[o.operands[0]->id];
      else if (k < outputs)
        size[id] = bytes_of(*o.results[k], unknown);
      end[root[id]] = std::max(end[root[id]], i);
    }
  }
  auto keep = [&](const Ref<Value>& v) {
    if (v && count) end[root[v->id]] = count - 1;
  };
  for (const auto& o : p.outputs) keep(o.value);
  for (const auto& s : p.states) keep(s.last);

  bytes.assign(static_cast<size_t>(count), 0);
  std::vector<int64_t> change(static_cast<size_t>(count) + 1);
  for (uint32_t id = 0; id < root.size(); ++id)
    if (size[id] && begin[id] >= 0) {
      change[static_cast<size_t>(begin[id])] += size[id];
      change[static_cast<size_t>(end[id]) + 1] -= size[id];
    }
  int64_t now = 0;
  for (int32_t i = 0; i < count; ++i) {
    const Operation& o = *operations[static_cast<size_t>(i)];
    now += change[static_cast<size_t>(i)];
    int64_t here = now;
    for (const auto& b : o.blocks) here += inner_peak(*b, unknown);
    // An elementwise result may take the place of an operand that dies; others that of their first.
    const bool any = o.op->elementwise && o.results.size() == 1;
    for (size_t k = 0; k < o.operands.size() && (any || (o.op->overwrites && k == 0)); ++k) {
      const Ref<Value>& v = o.operands[k];
      if (!v || begin[root[v->id]] < 0 || end[root[v->id]] != i ||
          size[root[v->id]] != size[o.results[0]->id])
        continue;
      here -= size[o.results[0]->id];
      break;
    }
    bytes[static_cast<size_t>(i)] = here;
    if (static_cast<size_t>(here) > peak) {
      peak = static_cast<size_t>(here);
      at = static_cast<size_t>(i);
    }
  }
}

}  // namespace argosy::passes

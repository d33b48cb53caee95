#include "argosy/runtime/chains.h"

#include <algorithm>

#include "argosy/op/launch.h"

namespace argosy::runtime {

using program::Operation;
using program::Program;
using program::Value;

namespace {

bool has_chains(Place place) {
  return place.kind != DeviceKind::cpu && op::launcher(place.kind).chains();
}

// Reads its operands, makes its results, and does nothing else.
bool is_plain(const Operation& o) {
  return !o.op->structural && o.op->effect == op::Effect::pure && o.op->updates.empty() &&
         o.op->writes.empty() && !o.op->placed();
}

bool reads(const Operation& o, const Operation& maker) {
  return std::ranges::any_of(o.operands,
                             [&](const Ref<Value>& v) { return v && v->producer == &maker; });
}

bool is_elementwise(const Operation& o) {
  return o.op->elementwise && is_plain(o) && o.results.size() == 1 && o.results[0]->shape.known();
}

// Whether b is the one that reads what a makes, and makes the same form.
bool follows(const Operation& b, const Operation& a, std::span<const uint32_t> uses) {
  const Value &from = *a.results[0], &to = *b.results[0];
  return uses[from.id] == 1 && reads(b, a) && from.shape == to.shape && from.dtype == to.dtype;
}

bool plain(const MemorySlot& s) {
  return s.known && s.layout == Layout::strided;
}

bool may_join(const Plan& plan, const Step& s) {
  if (s.kind != Step::Kind::kernel || !s.kernel || !s.kernel->on_loops || s.effect) return false;
  if (s.place != plan.place || !s.copies.empty() || !s.frees.empty() || s.spare_bytes) return false;
  const op::OpDef& op = *s.operation->op;
  if (op.placed()) return false;
  if (op.effect != op::Effect::pure && op.effect != op::Effect::writes_input) return false;
  if (s.out.empty() || s.out[0] == kNone) return false;
  const auto known = [&](uint32_t k) { return k == kNone || plain(plan.slots[k]); };
  return std::ranges::all_of(s.in, known) && std::ranges::all_of(s.out, known);
}

const Shape& shape_of(const Plan& plan, const Step& s) {
  return plan.slots[s.out[0]].shape;
}

// What dies within a chain lives to its end. Whether that is another life for anybody.
bool live_through_chains(const Plan& plan, std::vector<BlockMemory>& blocks) {
  bool changed = false;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const BlockPlan& block = plan.blocks[b];
    for (BlockMemory::Item& item : blocks[b].items) {
      const uint32_t last = block.begin + item.buffer.last;
      const auto after = std::ranges::upper_bound(plan.chains, last, {}, &Chain::begin);
      if (after == plan.chains.begin() || last >= block.end) continue;
      const Chain& chain = *std::prev(after);
      if (last >= chain.end || last + 1 == chain.end) continue;
      item.buffer.last = chain.end - 1 - block.begin;
      changed = true;
    }
  }
  return changed;
}

}  // namespace

void bring_together(Program& p, Place place) {
  constexpr size_t kFarthest = 8;
  if (!has_chains(place)) return;
  const std::vector<uint32_t> uses = program::count_uses(p);
  auto& operations = p.main.operations;
  for (size_t i = 0; i + 1 < operations.size(); ++i) {
    if (!is_elementwise(*operations[i])) continue;
    for (size_t k = i + 1; k < std::min(i + kFarthest, operations.size()); ++k) {
      const Operation& b = *operations[k];
      if (is_elementwise(b) && follows(b, *operations[i], uses)) {
        const auto first = operations.begin() + static_cast<ptrdiff_t>(i) + 1;
        const auto at = operations.begin() + static_cast<ptrdiff_t>(k);
        const bool free = std::all_of(first, at, [&](const auto& o) { return !reads(b, *o); });
        if (free) std::rotate(first, at, at + 1);
        break;
      }
      if (!is_plain(b)) break;
    }
  }
}

PlacedMemory place_with_chains(Plan& plan, std::vector<BlockMemory>& blocks, Parallel mode) {
  if (plan.chains.empty()) return place_memory(plan, blocks, mode);
  std::vector<BlockMemory> longer = blocks;
  const PlacedMemory least = place_memory(plan, blocks, mode);
  if (!live_through_chains(plan, longer)) return least;
  PlacedMemory placed = place_memory(plan, longer, mode);
  if (placed.bytes > least.bytes) return place_memory(plan, blocks, mode);
  placed.lower_bound = least.lower_bound;
  return placed;
}

void find_chains(Plan& plan, std::span<const uint32_t> last) {
  if (!has_chains(plan.place)) return;
  for (const BlockPlan& block : plan.blocks) {
    for (uint32_t i = block.begin; i < block.end;) {
      if (!may_join(plan, plan.steps[i])) {
        ++i;
        continue;
      }
      Chain chain{i, i + 1};
      uint32_t kernels = 1;
      for (uint32_t k = i + 1; k < block.end; ++k) {
        const Step& s = plan.steps[k];
        const bool view = s.kind == Step::Kind::view && s.frees.empty();
        if (view) continue;
        if (!may_join(plan, s) || shape_of(plan, s) != shape_of(plan, plan.steps[i])) break;
        chain.end = k + 1;
        ++kernels;
      }
      i = chain.end;
      if (kernels < 2) continue;
      for (uint32_t k = chain.begin; k < chain.end; ++k)
        plan.steps[k].unread = std::ranges::all_of(plan.steps[k].out, [&](uint32_t slot) {
          return slot == kNone || (last[slot] != kNone && last[slot] < chain.end);
        });
      plan.chains.push_back(chain);
    }
  }
  std::ranges::sort(plan.chains, {}, &Chain::begin);
}

}  // namespace argosy::runtime

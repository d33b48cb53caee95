#include "argosy/runtime/chains.h"

#include <algorithm>

#include "argosy/op/launch.h"

namespace argosy::runtime {
namespace {

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
  if (plan.place.kind == DeviceKind::cpu || !op::launcher(plan.place.kind).chains()) return;
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

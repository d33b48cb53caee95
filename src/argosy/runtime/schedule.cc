#include "argosy/runtime/schedule.h"

#include <algorithm>

#include "argosy/base/parallel.h"
#include "argosy/program/cost.h"

namespace argosy::runtime {
namespace {

// A kernel that takes longer is left to split its own work.
constexpr double kLongStep = 150e3;
// Less work than this is not worth waking a thread for.
constexpr double kLeastWork = 30e3;
// Work over the longest chain, from which on a segment is run by several threads.
constexpr double kLeastWidth = 1.25;

}  // namespace

double estimate_cost(const Plan& plan, const Step& step) {
  if (step.kind == Step::Kind::view) return 10;
  if (step.kind == Step::Kind::branch || step.kind == Step::Kind::loop) return 1e6;
  double in = 0, out = 0, elements = 0;
  for (uint32_t k : step.in)
    if (k != kNone) in += static_cast<double>(plan.slots[k].nbytes);
  for (uint32_t k : step.out) {
    if (k == kNone) continue;
    out += static_cast<double>(plan.slots[k].nbytes);
    elements += static_cast<double>(plan.slots[k].nbytes / item_size(plan.slots[k].dtype));
  }
  double arithmetic = elements;
  const program::Operation& o = *step.operation;
  if (!o.attr_operands) arithmetic = std::max(arithmetic, program::cost_of(o).operations);
  const double base = step.kind == Step::Kind::dispatch ? 1000 : 100;
  return base + (in + out) * 0.1 + arithmetic * 0.1 + elements * 0.3;
}

Schedule::Schedule(const Plan& plan, const BlockPlan& block, Parallel mode)
    : steps_(std::span(plan.steps).subspan(block.begin, block.end - block.begin)) {
  before_.resize(steps_.size());
  segment_of_.resize(steps_.size());
  nodes.resize(steps_.size());
  double work = 0;
  for (const Step& s : steps_) work += s.cost;
  if (mode == Parallel::automatic && (work < kLeastWork || num_threads() < 2)) mode = Parallel::off;
  if (mode != Parallel::off) find_dependencies(plan);
  cut(mode);
}

void Schedule::find_dependencies(const Plan& plan) {
  struct Memory {
    uint32_t writer = kNone;
    std::vector<uint32_t> readers;
  };
  std::vector<Memory> memory(plan.slots.size());
  Memory effects;
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    const Step& s = steps_[i];
    if (s.still) continue;
    auto after = [&](uint32_t other) {
      if (other != kNone && other != i) before_[i].push_back(other);
    };
    auto read = [&](uint32_t slot) {
      for (; slot != kNone; slot = plan.slots[slot].base) {
        after(memory[slot].writer);
        memory[slot].readers.push_back(i);
      }
    };
    auto write = [&](Memory& m) {
      after(m.writer);
      for (uint32_t r : m.readers) after(r);
      m.readers.clear();
      m.writer = i;
    };
    for (uint32_t k : s.in) read(k);
    for (const Copy& c : s.copies) {
      read(c.from);
      write(memory[c.to]);
    }
    for (uint32_t k : s.out) {
      if (k == kNone) continue;
      write(memory[k]);
      read(plan.slots[k].base);
    }
    // Updated operands are neither copies nor outputs.
    if (!s.operation->op->updates.empty())
      for (size_t k : s.operation->updated_inputs())
        if (s.in[k] != kNone) write(memory[s.in[k]]);
    for (uint32_t k : s.allocates) write(memory[k]);
    for (uint32_t k : s.frees) write(memory[k]);
    if (s.effect) write(effects);
    std::sort(before_[i].begin(), before_[i].end());
    before_[i].erase(std::unique(before_[i].begin(), before_[i].end()), before_[i].end());
  }
}

void Schedule::cut(Parallel mode) {
  const auto count = static_cast<uint32_t>(steps_.size());
  if (mode == Parallel::off) return add_segment(0, count, mode);
  if (mode == Parallel::always) return add_segment(0, count, mode);
  uint32_t begin = 0;
  for (uint32_t i = 0; i <= count; ++i) {
    const bool is_long = i < count && steps_[i].cost >= kLongStep;
    if (i < count && !is_long) continue;
    if (begin < i) add_segment(begin, i, mode);
    if (is_long) add_segment(i, i + 1, Parallel::off);
    begin = i + 1;
  }
  // Neighbours that are walked in order are one.
  std::vector<Segment> merged;
  for (const Segment& s : segments) {
    if (!merged.empty() && !s.threads && !merged.back().threads)
      merged.back().end = s.end;
    else
      merged.push_back(s);
  }
  segments = std::move(merged);
  for (uint32_t k = 0; k < segments.size(); ++k)
    for (uint32_t i = segments[k].begin; i < segments[k].end; ++i) segment_of_[i] = k;
}

void Schedule::add_segment(uint32_t begin, uint32_t end, Parallel mode) {
  Segment segment{begin, end, 0};
  const uint32_t n = end - begin;
  std::vector<double> finish(n);
  double work = 0, longest = 0;
  for (uint32_t i = begin; i < end; ++i) {
    double start = 0;
    for (uint32_t p : before_[i])
      if (p >= begin) start = std::max(start, finish[p - begin]);
    finish[i - begin] = start + steps_[i].cost;
    work += steps_[i].cost;
    longest = std::max(longest, finish[i - begin]);
  }
  const bool pays = mode == Parallel::automatic && work >= kLeastWork &&
                    work >= longest * kLeastWidth && n <= 20000;
  if (mode == Parallel::always || pays) {
    parallel_ = true;
    segment.threads = static_cast<uint32_t>(
        std::clamp<int64_t>(static_cast<int64_t>(work / longest + 0.75), 2, num_threads()));
    ancestors_.resize(steps_.size());
    const size_t words = (n + 63) / 64;
    std::vector<std::vector<uint32_t>> next(n);
    for (uint32_t i = begin; i < end; ++i) {
      auto& bits = ancestors_[i];
      bits.assign(words, 0);
      for (uint32_t p : before_[i]) {
        if (p < begin) continue;
        for (size_t w = 0; w < words; ++w) bits[w] |= ancestors_[p][w];
        bits[(p - begin) / 64] |= uint64_t{1} << ((p - begin) % 64);
        next[p - begin].push_back(i);
        ++nodes[i].waits_for;
      }
    }
    // What has the longest chain behind it goes first.
    for (uint32_t i = end; i-- > begin;) {
      double behind = 0;
      for (uint32_t s : next[i - begin]) behind = std::max(behind, nodes[s].priority);
      nodes[i].priority = behind + steps_[i].cost;
      auto& list = next[i - begin];
      std::sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
        return nodes[a].priority != nodes[b].priority ? nodes[a].priority > nodes[b].priority
                                                      : a < b;
      });
      nodes[i].begin = static_cast<uint32_t>(successors.size());
      successors.insert(successors.end(), list.begin(), list.end());
      nodes[i].end = static_cast<uint32_t>(successors.size());
    }
  }
  for (uint32_t i = begin; i < end; ++i) segment_of_[i] = static_cast<uint32_t>(segments.size());
  segments.push_back(segment);
}

bool Schedule::ordered(uint32_t before, uint32_t after) const {
  if (after >= segment_of_.size() || before >= after) return true;
  const Segment& s = segments[segment_of_[after]];
  if (!s.threads || before < s.begin) return true;
  const uint32_t at = before - s.begin;
  return ancestors_[after][at / 64] >> (at % 64) & 1;
}

}  // namespace argosy::runtime

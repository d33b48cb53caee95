#pragma once

#include "argosy/runtime/plan.h"

// Which steps may run at the same time, and where that pays.
//
// A block is cut into segments. One of long steps, or of steps that wait for each other
// anyhow, is walked in order, and its kernels split their work among the threads; one of short
// steps in independent branches is given to several threads, each step running on one of them.
// A value may take the memory of another in such a segment only if what uses the other has ended by
// then for reasons of data, so sharing memory never makes a step wait.
namespace argosy::runtime {

class Schedule {
 public:
  // Reads steps, slots and their bases; memory need not be placed. Steps are counted from the
  // block's first.
  Schedule(const Plan& plan, const BlockPlan& block, Parallel mode);

  // Has step `before` always ended when step `after` starts?
  bool ordered(uint32_t before, uint32_t after) const;
  bool parallel() const { return parallel_; }
  // For BlockPlan.
  std::vector<Segment> segments;
  std::vector<Node> nodes;
  std::vector<uint32_t> successors;

 private:
  void find_dependencies(const Plan& plan);
  void cut(Parallel mode);
  void add_segment(uint32_t begin, uint32_t end, Parallel mode);

  const std::span<const Step> steps_;
  std::vector<std::vector<uint32_t>> before_;  // direct predecessors of each step
  std::vector<uint32_t> segment_of_;
  std::vector<std::vector<uint64_t>> ancestors_;  // in the segment, a bit each; parallel ones only
  bool parallel_ = false;
};

// Nanoseconds on one thread, roughly.
double estimate_cost(const Plan& plan, const Step& step);

}  // namespace argosy::runtime

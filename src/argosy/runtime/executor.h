#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "argosy/runtime/plan.h"

namespace argosy::runtime {

// Runs Programs by plans, which it keeps: one for each version of a Program, forms of inputs,
// fetches and place. Any number of threads may run at the same time.
//
// The first size of a ragged input (one beside which there is an input NAME@LENGTHS) is never part
// of a plan's form: it is another one in each batch.
//
// Threads that share state (Hogwild): each run has a frame of its own; what they share are the
// tensors of the Scope, which they read and write in place, element by element and without order,
// so updates of the same element may be lost. No run replaces a tensor that has the right form;
// so state must have its form (all of it by one run) before others start.
class ARGOSY_API Executor {
 public:
  explicit Executor(size_t capacity = 64);
  ~Executor();

  // Values of `fetches` for `feeds` (one for each input, in order; undefined where nothing that is
  // needed reads it), in memory of their own. Reads and writes state as Program::run does. If a
  // step fails, state has what was last written before it. With `loose`, the plan is one for all
  // sizes that the Program leaves open: slower, but made once.
  Tensors run(const std::shared_ptr<program::Program>& program, std::span<const Tensor> feeds,
              std::span<const Ref<program::Value>> fetches, program::Scope* scope = nullptr,
              bool loose = false);
  // The plan that such a run would use.
  std::shared_ptr<const Plan> plan(const std::shared_ptr<program::Program>& program,
                                   std::span<const Tensor> feeds,
                                   std::span<const Ref<program::Value>> fetches,
                                   program::Scope* scope = nullptr, bool loose = false);

  struct Stats {
    size_t plans = 0;  // kept now
    uint64_t hits = 0, misses = 0;
  };
  Stats stats() const;
  Parallel parallel = Parallel::automatic;  // of plans made from now on
  void clear();

 private:
  struct Entry;
  void forget(const Plan& plan);

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // guarded by mutex_; newest first
  uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace argosy::runtime

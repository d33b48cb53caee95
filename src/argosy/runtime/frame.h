#pragma once

#include <atomic>
#include <deque>
#include <map>

#include "argosy/runtime/graphs.h"
#include "argosy/runtime/plan.h"

// What one run of a Plan changes: tensor bodies of the slots, operand arrays, the arenas. A frame
// is used by one run at a time (by several threads of it, if the executor is parallel).
namespace argosy::runtime {

struct FrameStep {
  const Step* plan = nullptr;
  bool plain = false;
  op::Erased<void, op::KernelFrame&> run;
  const op::OpDef* op = nullptr;
  const void* attrs = nullptr;
  op::Inputs in;
  Tensors out;                        // handles of the slots' bodies
  const TensorImpl* first = nullptr;  // body of the first output
};

// What ends a run before it is over. Looked at between steps: a step that runs is not stopped.
struct Limit {
  std::atomic<bool> interrupted = false;  // set by any thread
  double until = 0;                       // as clock() counts; 0: no end

  static double clock();  // seconds
  void check() const;     // raises if the run is to end
};

class Frame {
 public:
  explicit Frame(const Plan& plan);
  ~Frame();
  Frame(const Frame&) = delete;

  // False if a state's form is not that which the plan was made for.
  bool bind(std::span<const Tensor> feeds, program::Scope* scope);
  void run();
  // Fetched values, in memory that nobody else has.
  Tensors collect();
  // Writes what is not in the state's memory there, and tells all state that it was written.
  void write_state();
  // After an error: state that may have been written in place has a new version.
  void mark_state();
  // Lets go of all memory but small arenas and state.
  void release();

  const Plan& plan;
  std::vector<Tensor> slots;
  const Limit* limit = nullptr;  // of the runs from now on; may be null

 private:
  void run_block(const BlockPlan& block) {
    if (block.segments.empty())
      run_steps(block.begin, block.end);
    else
      run_segments(block);
  }
  void run_segments(const BlockPlan& block);
  // The main block on a device with graphs.
  void run_stretches();
  void run_stretch(const Stretch& stretch, StretchGraphs& graphs);
  // Where memory that steps take is another each time, what lies between them may repeat.
  void narrow_stretches();
  void run_steps(uint32_t begin, uint32_t end);
  // With chains as the device runs them; those of which only a part is asked for step by step.
  void run_chains(uint32_t begin, uint32_t end);
  void run_chain(const Chain& chain);
  void run_in_order(uint32_t begin, uint32_t end);
  void run_parallel(const BlockPlan& block, const Segment& segment);
  void run_one(FrameStep& s);
  void look() const;  // whether the run is to end
  void run_step(FrameStep& s);
  void run_guarded(FrameStep& s);  // errors tell the step
  void run_special(FrameStep& s);
  void call_kernel(FrameStep& s, op::KernelFrame& frame);
  void run_dispatch(FrameStep& s);
  void run_branch(FrameStep& s);
  void run_loop(FrameStep& s);
  void advance(const BlockPlan& body);
  void publish_yields(const Step& s, std::span<const uint32_t> yields);
  void settle_outputs(FrameStep& s);
  void run_view(const Step& s);
  void take_arenas();
  void take_arena(uint32_t home);
  void drop_arena(uint32_t home);
  void place_views(bool arena);
  bool bind_constants();
  void drop_arenas();
  void leave_held_arenas();
  void copy(const Copy& c);
  void allocate(uint32_t slot);
  void publish(uint32_t slot, const Tensor& value);
  void set_argument(uint32_t slot, uint32_t from, bool own);
  bool in_arena(const Tensor& t) const {
    for (const TakenArena& a : arenas_)
      if (a.storage && t.impl()->storage == a.storage) return true;
    return false;
  }
  Place place_of(uint32_t slot) const { return plan.arenas[plan.slots[slot].home].place; }
  void release_block(const BlockPlan& block);

  const void* unread_attributes(const Step& s);
  const Tensor& brought(size_t feed, const Tensor& number);

  std::vector<FrameStep> steps_;
  std::deque<op::AttrBox> unread_;  // attributes of steps that read numbers themselves
  std::vector<Stretch> stretches_;  // of the main block
  std::vector<StretchGraphs> graphs_;
  bool memory_taken_ = false;  // of the steps that run
  std::vector<Tensor> operands_;
  std::vector<Tensor> states_;  // the tensors bound, in order of plan.states
  // Where the tensor of a constant had its elements when it was bound, in order of plan.loose.
  struct BoundConstant {
    Ref<Storage> storage;
    int64_t offset = 0;
    Shape strides;
    uint32_t version = 0;
    Stream stream;  // that copied them, which others do not wait for
  };
  std::vector<BoundConstant> bound_constants_;
  // The memory of an arena, null between runs if it is large: idle frames of many plans share what
  // the allocator keeps. Nothing outside of a run refers to it.
  struct TakenArena {
    char* block = nullptr;
    Ref<Storage> storage;  // over where it is or was last
    Stream stream;         // whose work uses it; of the CPU none
  };
  std::vector<TakenArena> arenas_;  // of each of the plan's
  struct Brought {
    Tensor number;
    Stream stream;  // whose work uses it
  };
  std::map<size_t, Brought> brought_;  // by feed
  bool arenas_stay_ = false;           // small ones of the CPU alone, and taken
  program::Scope* scope_ = nullptr;
  std::unique_ptr<std::atomic<int32_t>[]> waits_;  // of steps in parallel segments
};

// Called from time to time while a Program runs; throws to end the run (Ctrl-C). Set by the
// bindings, may be null.
extern ARGOSY_API void (*look_for_interrupt)();

}  // namespace argosy::runtime

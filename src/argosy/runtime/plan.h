#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "argosy/program/program.h"

// A Plan says how one Program runs for one form of its inputs: a flat list of steps for each block,
// kernels chosen, attributes settled, memory placed. It is immutable and shared by threads; what
// changes in a run is in a Frame (runtime/frame.h).
//
// Why this form:
// * A value lives in a slot. A frame has one tensor body for each slot, and the operand arrays of
//   steps hold handles of these bodies, so that binding a feed, a state or a loop argument changes
//   one body and no operand array. Kernels are chosen when the plan is made: strides are known
//   then, because what is bound to a plan from outside is made contiguous first.
// * Writing in place is two values sharing a slot. Optimizer updates, running statistics,
//   element-wise ops over a value that dies, and state written in its own memory are one mechanism,
//   and the memory planner need not know about any of them.
// * Blocks of `if` and `while` are planned with the rest. Their memory is a part of the same arenas
//   that lives as long as the step that owns them; a round of a loop plans and allocates nothing.
// * Each place has an arena. A step runs where its operands are; what takes a value to another
//   place is a step like any other, whose result lies in that place's arena.
// * What has no known size (data-dependent shapes, arrays, row-sparse gradients) runs by dispatch.
namespace argosy::runtime {

inline constexpr uint32_t kNone = UINT32_MAX;

struct MemorySlot {
  enum class Kind : uint8_t {
    arena,  // at `offset` in the frame's arena of its place
    fresh,  // memory of its own, taken by the step that makes it: fetched, yielded, unknown sizes
    bound,  // input, state, constant or block argument: the memory of someone else
    view,   // of slot `base`, `offset` bytes from its start
  };
  Kind kind = Kind::arena;
  bool laid_last = false;  // of an image [n, c, h, w]: channels lie last in memory
  bool known = false;      // dense and of known sizes: shape, strides and nbytes hold
  DType dtype = DType::float32;
  Layout layout = Layout::strided;
  Shape shape, strides;
  size_t nbytes = 0;
  int64_t offset = 0;
  uint32_t base = kNone;  // also of values that may turn out to be views when they are made
  uint32_t id = 0;        // of the first value in it
  uint32_t home = 0;      // the arena of its place, by number
};

// The memory of a place that a run takes at once.
struct Arena {
  Place place;
  size_t bytes = 0;
  bool exchanged = false;  // collectives work in it: better where other ranks see it
};

struct Copy {
  uint32_t from, to;
};

struct Step {
  enum class Kind : uint8_t { kernel, view, dispatch, branch, loop };
  Kind kind = Kind::kernel;
  // A kernel whose operands need no copies and whose results need no memory: nothing to do but to
  // call it.
  bool plain = false;
  bool heavy = false;  // long enough to look for Ctrl-C after it
  // Of Kind::dispatch: its results may share memory with input 0 (views); its results keep handles
  // of its inputs (arrays).
  bool may_view = false, keeps_inputs = false;
  const program::Operation* operation = nullptr;
  const op::KernelDef* kernel = nullptr;  // null on places that compute nothing
  const void* attrs = nullptr;
  std::vector<uint32_t> in, out;  // slots, kNone where an optional input is missing
  std::vector<Copy> copies;       // before it runs
  std::vector<uint32_t> allocates, frees;
  uint32_t blocks[2] = {kNone, kNone};
  Place place;         // where the kernel runs
  bool still = false;  // a view of what never moves: made with the frame
  // What it writes is read by steps of its chain only.
  bool unread = false;
  bool effect = false;  // random numbers, I/O: in order among each other
  double cost = 0;      // estimated nanoseconds on one thread
  // Bytes of the first arena that nothing lives in during this step: for the kernel's temporary
  // memory.
  size_t spare_offset = 0, spare_bytes = 0;
};

enum class Parallel : uint8_t { off, automatic, always };

// A range of steps of a block, counted from its first, see runtime/schedule.h.
struct Segment {
  uint32_t begin, end;
  uint32_t threads;  // 0: walked in order
};

// A step in a segment that several threads run.
struct Node {
  uint32_t waits_for = 0;       // how many steps of the segment
  uint32_t begin = 0, end = 0;  // in BlockPlan::successors, best first
  double priority = 0;          // nanoseconds to the end of the segment along the longest chain
};

// Steps of a block that its place's device may run as one (runtime/chains.h), views among them.
struct Chain {
  uint32_t begin, end;
};

struct BlockPlan {
  uint32_t begin = 0, end = 0;      // its steps
  std::vector<uint32_t> arguments;  // slots
  std::vector<uint32_t> yields;
  // Of loop bodies, for each carried value: the body overwrites or keeps its argument, so it gets
  // memory of its own before the first round; what is yielded must be copied for the same reason.
  std::vector<bool> owns_argument, copies_yield;
  std::vector<uint32_t> transients;  // slots that hold memory only while a run needs it
  // How several threads run it; all empty if one does. Steps are counted from the block's first.
  std::vector<Segment> segments;
  std::vector<Node> nodes;
  std::vector<uint32_t> successors;
};

struct StatePlan {
  Ref<program::State> state;
  uint32_t initial = kNone;  // slots; kNone if the run does not read it
  uint32_t last = kNone;     // kNone if the run does not write it
  bool writes_back = false;  // last is not in the state's own memory
  Place place;               // where it has to be
};

// A constant whose tensor somebody may give other memory (`t.data = other`) or, where the slot has
// a copy of it, write.
struct LooseConstant {
  uint32_t slot = kNone;
  Tensor tensor;
  Place place;  // where it has to be
};

// A constant as a run on `place` reads it. Null runs read nothing.
Tensor constant_at(const Tensor& t, Place place);

struct PlanReport {
  size_t steps = 0, kernels = 0, views = 0, dispatched = 0;
  size_t in_place = 0;     // results that took the memory of an operand
  size_t copies = 0;       // operands copied because someone still needs the old value
  size_t lower_bound = 0;  // most bytes of planned values that live at once
  size_t arena = 0;        // bytes of the arenas
  size_t fresh = 0;        // bytes of fetched and yielded values of known size
  size_t unplanned = 0;    // values of unknown size
  size_t parallel = 0;     // steps in segments that several threads run
  double seconds = 0;      // that compiling took
};

// What a plan is made for.
struct Request {
  struct Feed {
    Shape shape;
    DType dtype;
  };
  std::vector<Feed> feeds;                   // for each input
  std::vector<bool> fed;                     // false: the Program says what is known of it
  std::vector<Ref<program::Value>> fetches;  // of the Program, or of one it was cloned from
  Place place;
  Parallel parallel = Parallel::automatic;
  std::vector<std::string> passes;  // names; empty: the usual ones
};

class Frame;

class ARGOSY_API Plan {
 public:
  // The Program is copied: it may change afterwards. State is looked at for its sizes only.
  static std::shared_ptr<const Plan> compile(const program::Program& program,
                                             const Request& request, program::Scope* scope);
  ~Plan();

  const PlanReport& report() const { return report_; }
  // A line for each step; of a chain with |, or with = where the result is read in the chain only.
  std::string print() const;

  std::vector<MemorySlot> slots;
  std::vector<Step> steps;
  std::vector<BlockPlan> blocks;  // the first is the main one
  std::vector<Chain> chains;      // by their steps
  std::vector<uint32_t> fetches;
  std::vector<uint32_t> feeds;  // kNone where nothing reads it
  // Of each feed, whether all that reads it is attributes, on the host, as a learning rate's: such
  // a number stays there, where it is read without waiting.
  std::vector<bool> numbers;
  std::vector<StatePlan> states;
  std::vector<std::pair<uint32_t, Tensor>> constants;
  std::vector<LooseConstant> loose;  // of them, those that count as they are at each run
  std::vector<Arena> arenas;  // one for each place that values are on; the first is that of `place`
  Place place;

  // Idle frames are kept for the next run.
  std::unique_ptr<Frame> take_frame() const;
  void give_frame(std::unique_ptr<Frame> frame) const;

 private:
  friend class Planner;
  Plan();
  std::shared_ptr<program::Program> program_;
  PlanReport report_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> idle_;  // guarded by mutex_
};

}  // namespace argosy::runtime

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "argosy/kernels/cuda/chain_args.h"
#include "argosy/kernels/cuda/view.h"

// Fused chains: elementwise steps that would be a kernel each, as one kernel. A thread of the host
// records what its steps would launch (ChainRecorder, chain_recorder.h); the steps are cut into
// groups that may run element by element, each group becomes a text over the functors of ops_*.cuh,
// and NVRTC compiles it once for all groups of that form. Every value is rounded as if it had gone
// through memory, so results are those of the steps one by one, bit for bit.
//
// What is here needs no toolkit.
namespace argosy::cuda {

// One instance of run_each (elementwise.cuh), or a conversion.
struct ChainOp {
  const char* name;      // of its functor, null if it cannot be a part of a chain
  bool names_result;     // it is a template over the result's type
  bool light;            // Weight
  const char* types[4];  // stored types: of the inputs, then of the result
  uint8_t sizes[4];      // of these, in bytes
  int inputs;
  const char* number;    // the type of its Numbers
  uint8_t number_bytes;  // of Numbers
};

struct ChainStep {
  const ChainOp* op = nullptr;
  // Launches it by itself: a kernel of run_each.
  void (*alone)(void* stream, const ChainStep& step) = nullptr;
  View operands[4];                // inputs, broadcast to the result's shape, then the result
  double params[3] = {};           // LoopParams
  bool has_params = false;         //
  unsigned char numbers[24] = {};  // the same, as the functor takes it
  bool unread = false;             // nobody reads the result but steps of the chain

  const View& result() const { return operands[op->inputs]; }
  std::span<const View> inputs() const { return {operands, static_cast<size_t>(op->inputs)}; }
};

// Steps that one kernel may run: all of one shape, and whatever one of them writes others read and
// write in the same places or not at all.
struct ChainGroup {
  // In memory, read before the first step or written behind the last.
  struct Operand {
    const View* view;
    const char* type;
    uint8_t size;
    int form = 0;
    bool read = false;
    int written_by = -1;  // the step, from `begin`
    bool gone = false;    // an unread result whose memory has another's elements by now
  };
  // Where a step's input comes from.
  struct Source {
    int step = -1;  // from `begin`; -1: an operand
    int operand = -1;
  };
  size_t begin = 0, end = 0;  // steps
  std::vector<Operand> operands;
  std::vector<Source> sources;  // of all inputs of all steps, in order
  // Forms: how operands lie, one View each.
  std::vector<const View*> forms;

  size_t size() const { return end - begin; }
};

// The groups of a recording, in order. A group of one step is to be launched alone.
std::vector<ChainGroup> chain_groups(std::span<const ChainStep> steps);

// How a group is walked: what its kernel is made for, and what it is called with.
struct ChainForm {
  int pack = 1, flight = 1, rank = 1;
  bool rest = false;               // elements behind the last pack
  bool repeats[kChainForms] = {};  // one element is a whole pack
  ChainArgs args;
};
// False: too many elements or dimensions.
bool chain_form(std::span<const ChainStep> steps, const ChainGroup& group, ChainForm& form);

// What kernels are known by: equal keys, equal texts.
std::string chain_key(std::span<const ChainStep> steps, const ChainGroup& group,
                      const ChainForm& form);
// The kernel `chain`, for NVRTC.
std::string chain_text(std::span<const ChainStep> steps, const ChainGroup& group,
                       const ChainForm& form);

}  // namespace argosy::cuda

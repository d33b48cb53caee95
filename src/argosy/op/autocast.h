#pragma once

#include <memory>
#include <unordered_map>

#include "argosy/op/dispatch.h"

// Automatic casting: which ops of a thread get their float32 operands in 16 bits, and which in
// float32 what came in 16. Dispatch asks before it does anything else, so eager calls, recorded
// ones and tapes see plain casts. Parts of compositions and gradients run as they are.
namespace argosy::op {

struct Autocast {
  enum class Level : uint8_t { od, o1, o2 };

  Level level = Level::o1;
  DType dtype = DType::bfloat16;
  bool promote = true;  // at O2: ops that follow take the widest dtype; else 16 bits
  std::unordered_map<const OpDef*, Amp> custom;  // ops that the user's lists name
};

// What `state` makes of an op: its own word, unless a list names it.
ARGOSY_API Amp precision_of(const Autocast& state, const OpDef& op);

// What this thread asks for: null where ops run as they are called. Where some thread asks for
// anything, watch::autocast is set.
extern ARGOSY_API constinit thread_local const Autocast* autocast
    __attribute__((tls_model("initial-exec")));

// Ops of this thread run as they are called for a scope: parts of compositions, gradients.
class AutocastOff {
 public:
  AutocastOff() : saved_(autocast) { autocast = nullptr; }
  ~AutocastOff() { autocast = saved_; }
  AutocastOff(const AutocastOff&) = delete;
  AutocastOff& operator=(const AutocastOff&) = delete;

 private:
  const Autocast* saved_;
};

// The state of this thread from now on, null to cast nothing. Returns what it was.
ARGOSY_API std::shared_ptr<const Autocast> set_autocast(std::shared_ptr<const Autocast> state);

// Set by the room of tapes: was the history of t given up by a backward pass?
extern ARGOSY_API bool (*is_released)(const Tensor& t);

// Parameters are cast once, and again when they were written. Forgets what this thread keeps.
ARGOSY_API void forget_casts();

// The dtype that each flat operand of `op` gets under `state`; false where all keep theirs.
ARGOSY_API bool autocast_dtypes(const Autocast& state, const OpDef& op, const Inputs& in,
                                InlineVector<DType, 8>& out);

// Asked by the composition of an op that widens: was its first operand left in 16 bits?
ARGOSY_API bool is_widened();

// A call with operands as they are, if `op` widens and 16 bits would be cast.
class Widened {
 public:
  Widened(const Autocast& state, const OpDef& op, const Inputs& in);
  ~Widened();
  Widened(const Widened&) = delete;
  Widened& operator=(const Widened&) = delete;
  explicit operator bool() const { return is_; }

 private:
  bool is_;
};

// The operands that `op` gets; false, and `out` empty, where they are those given.
bool autocast_operands(const Autocast& state, const OpDef& op, const Inputs& in,
                       InlineVector<Tensor, 4>& out);

}  // namespace argosy::op

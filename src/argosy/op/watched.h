#pragma once

#include <string>
#include <vector>

#include "argosy/base/profile.h"
#include "argosy/base/watch.h"
#include "argosy/op/op.h"

// Op calls as their observers see them: the profiler, the search for NaN, the count of dtypes.
// Whoever runs an op (dispatch, executors) does
//   if (watch::watched()) [[unlikely]] {
//     WatchedCall call(op, in, attrs);
//     ... run ...
//     call.done(out);
//   }
// Calls inside a call (the parts of a composition, the ops of a gradient rule) are profiled, but
// neither checked nor counted: infinities in the middle of a formula are not results.
namespace argosy::op {

class ARGOSY_API WatchedCall {
 public:
  // Keeps references to all of them.
  WatchedCall(const OpDef& op, const Inputs& in, const void* attrs);
  ~WatchedCall();  // ends the range that the profiler sees
  void done(std::span<const Tensor> out);
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

 private:
  const OpDef& op_;
  const Inputs& in_;
  const void* attrs_;
  bool profiled_;
  bool memory_ = false;
  int64_t begin_ = 0;
  profile::Note note_;
};

// Ops of this thread are neither checked nor counted for a scope: data that comes in (to_tensor) is
// nobody's result either.
class ARGOSY_API Unchecked {
 public:
  Unchecked();
  ~Unchecked();
  Unchecked(const Unchecked&) = delete;
  Unchecked& operator=(const Unchecked&) = delete;
};

// Runs the gradient rule of call.op.
ARGOSY_API Tensors watched_gradient(const GradCall& call, const void* attrs);

// How often an op was called, by the dtype that it computed in.
struct DTypeCount {
  std::string op;
  int64_t float16 = 0, bfloat16 = 0, float32 = 0, others = 0;
};
ARGOSY_API void start_dtype_counts();
ARGOSY_API std::vector<DTypeCount> stop_dtype_counts();  // by name

}  // namespace argosy::op

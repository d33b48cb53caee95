#pragma once

#include <cuda_runtime_api.h>

#include <exception>
#include <span>
#include <vector>

#include "argosy/kernels/cuda/chain.h"

namespace argosy::cuda {

// Holds back what the loops of this thread would launch, while it is chain_recorder.
class ChainRecorder {
 public:
  explicit ChainRecorder(cudaStream_t stream) : stream_(stream) { steps_.reserve(8); }

  ChainStep& add(const ChainOp& op) {
    ChainStep& s = steps_.emplace_back();
    s.op = &op;
    s.unread = unread;
    return s;
  }
  std::span<const ChainStep> steps() const { return steps_; }
  // Launches what was recorded, as few kernels as it allows. What else enqueues work on the stream
  // has to call it first. It and what is recorded later may read any result, so all are written.
  void run();
  // The same for who must not throw; the next call raises what fails.
  void try_run() noexcept;
  // The same behind the last step: what is unread is not written.
  void finish();
  // The results of what is recorded next are read by what this recorder records, and by nobody
  // else.
  bool unread = false;

 private:
  const cudaStream_t stream_;
  std::vector<ChainStep> steps_;
  std::exception_ptr failed_;  // of try_run
};

// Of the calling thread; null: loops launch at once.
extern constinit thread_local ChainRecorder* chain_recorder;

// How many fused kernels were launched since the process began; graphs launch theirs uncounted.
uint64_t chain_launches();

}  // namespace argosy::cuda

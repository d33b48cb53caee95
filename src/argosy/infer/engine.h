#pragma once

#include <atomic>
#include <unordered_map>

#include "argosy/base/device.h"
#include "argosy/base/mutex.h"
#include "argosy/infer/predictor.h"
#include "argosy/infer/recent.h"

namespace argosy::infer {

// What runs for one form of inputs.
struct Choice {
  std::shared_ptr<const runtime::Plan> plan;
  std::shared_ptr<program::Program> program;
  std::vector<std::pair<size_t, Tensor>> values;  // that inputs must have: the Program is for these
};

// What the clones of a predictor share: the rewritten Program with its weights, and plans by the
// forms of inputs. Where what is fed decides the Program, there is one for each form that does,
// with the weights of the one before where they are the same. Weights of a device's are in its
// memory alone. Thread safe.
class Engine {
 public:
  explicit Engine(const Options& options);

  // For inputs of these shapes. Compiled outside of the lock; two threads may both do it.
  std::shared_ptr<const Choice> choose(std::span<const Tensor> feeds) ARGOSY_EXCLUDES(mutex_);
  size_t plans() const ARGOSY_EXCLUDES(mutex_);

  // May inputs have other sizes than the model declares?
  bool takes_other_sizes() const { return source_ && source_->takes_other_sizes(); }
  // Null where what is fed decides it.
  const std::shared_ptr<program::Program>& program() const { return program_; }
  program::Scope* scope() const { return scope_.get(); }
  Place place() const { return place_; }
  // Has the device give the stream as many bytes as Options::device_pool says, for later; once.
  void fill_pool(Stream stream);
  bool writes_state() const { return writes_state_; }
  // Held by runs of a Program that writes state, which all clones share.
  Mutex& state_mutex() { return state_mutex_; }

  std::vector<Port> inputs, outputs;
  const double time_limit;  // seconds of a run; 0: no limit

 private:
  using Needs = std::vector<Source::Need>;
  using SharedProgram = std::shared_ptr<program::Program>;

  void rewrite(program::Program& p, program::Scope* scope) const;
  void lower(program::Program& p, program::Scope* scope) const;
  bool on_device() const { return place_.kind != DeviceKind::cpu; }
  void bring(program::Program& p, program::Scope* scope) ARGOSY_EXCLUDES(mutex_);
  Needs needs() const ARGOSY_EXCLUDES(mutex_);
  Needs misfits(std::span<const Tensor> feeds) const;
  SharedProgram program_for(std::span<const Tensor> feeds) ARGOSY_EXCLUDES(mutex_);
  SharedProgram build(const Needs& needs, std::span<const Tensor> feeds, Needs* more)
      ARGOSY_EXCLUDES(mutex_);
  std::shared_ptr<const runtime::Plan> compile(const program::Program& p,
                                               std::span<const Tensor> feeds) const;

  std::shared_ptr<program::Program> program_;
  std::shared_ptr<const Source> source_;  // where there is no program_, or for other sizes
  std::shared_ptr<program::Scope> scope_;
  const Place place_;
  std::atomic<size_t> pool_;  // bytes that fill_pool has yet to take
  const DType precision_;
  const std::vector<std::string> lowered_, kept_float_;
  std::vector<std::string> load_passes_, plan_passes_;
  const size_t memory_limit_;
  bool writes_state_ = false;
  Mutex state_mutex_;
  mutable Mutex mutex_;
  Needs needs_ ARGOSY_GUARDED_BY(mutex_);  // of source_, as far as they are known
  Recent<SharedProgram> programs_ ARGOSY_GUARDED_BY(mutex_);
  // Large weights of the Program that was made last, on the device, by a hash of what they hold.
  std::unordered_multimap<uint64_t, Tensor> brought_ ARGOSY_GUARDED_BY(mutex_);
  Recent<std::shared_ptr<const Choice>> plans_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::infer

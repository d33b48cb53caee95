#pragma once

#include <list>
#include <unordered_map>

#include "argosy/base/mutex.h"
#include "argosy/infer/predictor.h"

namespace argosy::infer {

// What the clones of a predictor share: the rewritten Program with its weights, and plans by the
// forms of inputs. Thread safe.
class Engine {
 public:
  explicit Engine(const Options& options);

  // For inputs of these shapes. Compiled outside of the lock; two threads may both do it.
  std::shared_ptr<const runtime::Plan> plan(std::span<const Tensor> feeds) ARGOSY_EXCLUDES(mutex_);
  size_t plans() const ARGOSY_EXCLUDES(mutex_);

  const std::shared_ptr<program::Program>& program() const { return program_; }
  program::Scope* scope() const { return scope_.get(); }
  bool writes_state() const { return writes_state_; }
  // Held by runs of a Program that writes state, which all clones share.
  Mutex& state_mutex() { return state_mutex_; }

  std::vector<Port> inputs, outputs;

 private:
  using Form = std::vector<int64_t>;
  struct Hash {
    size_t operator()(const Form& form) const;
  };
  struct Entry {
    std::shared_ptr<const runtime::Plan> plan;
    std::list<Form>::iterator place;
  };

  std::shared_ptr<const runtime::Plan> compile(std::span<const Tensor> feeds) const;

  std::shared_ptr<program::Program> program_;
  std::shared_ptr<program::Scope> scope_;
  std::vector<std::string> plan_passes_;
  size_t capacity_, memory_limit_;
  bool writes_state_ = false;
  Mutex state_mutex_;
  mutable Mutex mutex_;
  std::list<Form> recent_ ARGOSY_GUARDED_BY(mutex_);  // newest first
  std::unordered_map<Form, Entry, Hash> plans_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::infer

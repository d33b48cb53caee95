#include "argosy/infer/engine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "argosy/base/memory.h"
#include "argosy/op/dispatch.h"
#include "argosy/passes/pass.h"
#include "argosy/program/builder.h"

namespace argosy::infer {

using program::Program;

namespace {

std::vector<std::string> pipeline_without(const char* name, std::span<const std::string> without) {
  std::vector<std::string> list = passes::pipeline(name);
  for (const std::string& pass : without) std::erase(list, passes::get(pass).name);
  return list;
}

struct Pages {
  void* at;
  size_t bytes;
};

// The tensor in pages of its own, or as it is where the system gives none.
Tensor in_own_pages(const Tensor& t) {
  void* at =
      ::mmap(nullptr, t.nbytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return t;
  std::memcpy(at, t.raw(), t.nbytes());
  return Tensor::wrap(at, t.shape(), t.strides(), t.dtype(), t.place(), new Pages{at, t.nbytes()},
                      [](void* owner) {
                        const std::unique_ptr<Pages> pages(static_cast<Pages*>(owner));
                        ::munmap(pages->at, pages->bytes);
                      });
}

// Large constants leave the allocator's chunks, which loading and the passes have filled with what
// is free by now, so that these go back to the system.
void move_out(Program& p) {
  constexpr size_t kLarge = 1 << 16;
  for (program::Constant& c : p.constants)
    if (c.tensor.layout() == Layout::strided && c.tensor.is_contiguous() &&
        c.tensor.place().kind == DeviceKind::cpu && c.tensor.nbytes() >= kLarge)
      c.tensor = in_own_pages(c.tensor);
  memory::release_cached({});
}

}  // namespace

Engine::Engine(const Options& options)
    : capacity_(std::max<size_t>(options.plans, 1)), memory_limit_(options.memory_limit) {
  program::Recording none(nullptr);
  op::GradMode off(false);
  program::Model model = load(options.model);
  program_ = std::move(model.program);
  scope_ = std::move(model.scope);
  for (const Ref<program::Value>& v : program_->main.arguments)
    inputs.push_back({v->name, v->dtype, v->shape});
  for (const program::Output& o : program_->outputs)
    outputs.push_back({o.name, o.value->dtype, o.value->shape});
  const char* first = options.optimize ? "load" : "load_exact";
  passes::optimize_with(*program_, pipeline_without(first, options.without), scope_.get(), {});
  plan_passes_ = pipeline_without(options.optimize ? "plan" : "inference", options.without);
  for (const program::StateUse& s : program_->states) writes_state_ = writes_state_ || s.last;
  // Weights as they were loaded, where all that is needed of them is packed by now.
  if (program_->states.empty()) scope_ = std::make_shared<program::Scope>();
  model = {};
  move_out(*program_);
}

size_t Engine::Hash::operator()(const Form& form) const {
  uint64_t h = form.size();
  for (int64_t v : form) h = (h ^ static_cast<uint64_t>(v)) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
  return h;
}

std::shared_ptr<const runtime::Plan> Engine::plan(std::span<const Tensor> feeds) {
  Form form;
  for (const Tensor& t : feeds)
    for (int d = 0; d < t.rank(); ++d) form.push_back(t.dim(d));
  {
    MutexLock lock(mutex_);
    const auto it = plans_.find(form);
    if (it != plans_.end()) {
      recent_.splice(recent_.begin(), recent_, it->second.place);
      return it->second.plan;
    }
  }
  std::shared_ptr<const runtime::Plan> made = compile(feeds), dropped;
  MutexLock lock(mutex_);
  const auto [it, fresh] = plans_.try_emplace(form);
  if (!fresh) return it->second.plan;
  recent_.push_front(form);
  it->second = {made, recent_.begin()};
  if (plans_.size() > capacity_) {
    const auto oldest = plans_.find(recent_.back());
    dropped = std::move(oldest->second.plan);  // destroyed outside of the lock
    plans_.erase(oldest);
    recent_.pop_back();
  }
  return made;
}

size_t Engine::plans() const {
  MutexLock lock(mutex_);
  return plans_.size();
}

std::shared_ptr<const runtime::Plan> Engine::compile(std::span<const Tensor> feeds) const {
  runtime::Request request;
  request.passes = plan_passes_;
  for (const Tensor& t : feeds) {
    request.feeds.push_back({t.shape(), t.dtype()});
    request.fed.push_back(true);
  }
  for (const program::Output& o : program_->outputs) request.fetches.push_back(o.value);
  auto plan = runtime::Plan::compile(*program_, request, scope_.get());
  const size_t bytes = plan->report().arena + plan->report().fresh;
  ARGOSY_CHECK(!memory_limit_ || bytes <= memory_limit_, memory)
      << "[infer] a run for these inputs takes " << bytes << " bytes, the limit is "
      << memory_limit_ << ". Do this: run smaller batches, or raise memory_limit.";
  return plan;
}

}  // namespace argosy::infer

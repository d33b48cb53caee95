#include "argosy/infer/engine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>

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

// Memory of a model's large constants. Huge pages where the system has them: a run reads every one
// of them, and finding pages of 4 KB would cost as much as some of the arithmetic.
class Region {
 public:
  explicit Region(size_t bytes) : bytes_(bytes + kHugePage) {
    map_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED) return;
    auto* begin = static_cast<char*>(map_);
    begin_ = begin + (-reinterpret_cast<uintptr_t>(begin) & (kHugePage - 1));
    ::madvise(begin_, bytes, MADV_HUGEPAGE);
  }
  ~Region() {
    if (map_ != MAP_FAILED) ::munmap(map_, bytes_);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // Null where the system gave none.
  char* begin() const { return begin_; }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;
  size_t bytes_;
  void* map_;
  char* begin_ = nullptr;
};

// Bytes that a constant takes in the region of its model; 0 for those that stay where they are.
size_t bytes_outside(const Tensor& t) {
  constexpr size_t kLarge = 1 << 16, kLine = 64;
  const bool moves = t.layout() == Layout::strided && t.is_contiguous() &&
                     t.place().kind == DeviceKind::cpu && t.nbytes() >= kLarge;
  return moves ? (t.nbytes() + kLine - 1) / kLine * kLine : 0;
}

// All large constants, to a region of their own.
void move_out(Program& p) {
  using Owner = std::shared_ptr<Region>;
  size_t bytes = 0;
  for (const program::Constant& c : p.constants) bytes += bytes_outside(c.tensor);
  if (!bytes) return;
  const auto region = std::make_shared<Region>(bytes);
  char* at = region->begin();
  if (!at) return;
  for (program::Constant& c : p.constants) {
    const Tensor& t = c.tensor;
    const size_t taken = bytes_outside(t);
    if (!taken) continue;
    std::memcpy(at, t.raw(), t.nbytes());
    c.tensor = Tensor::wrap(at, t.shape(), t.strides(), t.dtype(), t.place(), new Owner(region),
                            [](void* owner) { delete static_cast<Owner*>(owner); });
    at += taken;
  }
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
  // Loading and the passes have filled the allocator's chunks with what is free by now. What stays
  // leaves them, so that they go back to the system.
  move_out(*program_);
  memory::release_cached({});
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

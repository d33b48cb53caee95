#include "argosy/infer/engine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "argosy/base/memory.h"
#include "argosy/infer/on_device.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/host_work.h"
#include "argosy/ops/math/math.h"
#include "argosy/passes/pass.h"
#include "argosy/program/builder.h"

namespace argosy::infer {

using program::Program;

namespace {

// Memory of a model's constants, given out one after the other. Huge pages where the system has
// them: a run reads every one of them, and finding pages of 4 KB would cost as much as some of the
// arithmetic.
class Region : public std::enable_shared_from_this<Region> {
 public:
  // Room for `bytes`, or none where the system gives none.
  explicit Region(size_t bytes) : mapped_(bytes + kHugePage) {
    map_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED) return;
    auto* begin = static_cast<char*>(map_);
    at_ = begin + (-reinterpret_cast<uintptr_t>(begin) & (kHugePage - 1));
    end_ = at_ + bytes;
    if (bytes >= kHugePage) ::madvise(at_, bytes, MADV_HUGEPAGE);
  }
  ~Region() {
    if (map_ != MAP_FAILED) ::munmap(map_, mapped_);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // Uninitialized; undefined where there is not so much room left.
  Tensor take(const Shape& shape, DType dtype) {
    const auto bytes = whole_lines(static_cast<size_t>(shape.numel() * item_size(dtype)));
    if (bytes > static_cast<size_t>(end_ - at_)) return {};
    using Owner = std::shared_ptr<Region>;
    Tensor t = Tensor::wrap(at_, shape, shape.contiguous_strides(), dtype, {},
                            new Owner(shared_from_this()),
                            [](void* owner) { delete static_cast<Owner*>(owner); });
    at_ += bytes;
    return t;
  }

  static size_t whole_lines(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20, kLine = 64;

  size_t mapped_;
  void* map_;
  char *end_ = nullptr, *at_ = nullptr;
};

std::vector<std::string> pipeline_without(const char* name, std::span<const std::string> without) {
  std::vector<std::string> list = passes::pipeline(name);
  for (const std::string& pass : without) std::erase(list, passes::get(pass).name);
  return list;
}

bool is_dense(const Tensor& t) {
  return t.layout() == Layout::strided && t.is_contiguous() && t.place().kind == DeviceKind::cpu &&
         t.nbytes() > 0;
}

// Of the weights of a model, before passes make others of them.
size_t weight_bytes(const Program& p, program::Scope* scope) {
  size_t bytes = 0;
  for (const program::Constant& c : p.constants) bytes += c.tensor.nbytes();
  for (const program::StateUse& s : p.states)
    if (const program::Variable* v = scope ? scope->find(s.state->name) : nullptr)
      if (v->tensor.defined()) bytes += v->tensor.nbytes();
  return bytes;
}

using Addresses = std::unordered_set<const void*>;

// Constants but those at `shared`, where passes leave about as much as was read (`read` bytes),
// stay where they are: what is packed took the place of weights that are gone, so the allocator's
// chunks are nearly full, and memory that is touched for the first time is the dearest part of a
// load. Others leave the chunks, all of them, since a small bias would hold one of many megabytes.
void settle(Program& p, size_t read, const Addresses& shared = {}) {
  constexpr size_t kLarge = size_t{32} << 20;  // four chunks of the smallest size
  const auto moves = [&](const Tensor& t) { return is_dense(t) && !shared.contains(t.raw()); };
  size_t bytes = 0;
  for (const program::Constant& c : p.constants)
    if (moves(c.tensor)) bytes += Region::whole_lines(c.tensor.nbytes());
  if (bytes < kLarge || bytes < read - read / 8) {
    const auto region = std::make_shared<Region>(bytes);
    for (program::Constant& c : p.constants) {
      if (!moves(c.tensor)) continue;
      const Tensor to = region->take(c.tensor.shape(), c.tensor.dtype());
      if (!to.defined()) continue;
      std::memcpy(to.raw(), c.tensor.raw(), to.nbytes());
      c.tensor = to;
    }
  }
  memory::release_cached({});
}

std::string_view bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.raw()), t.nbytes()};
}

bool is_large(const Tensor& t) {
  constexpr size_t kLarge = 1 << 16;
  return is_dense(t) && t.nbytes() >= kLarge;
}

// Large constants that `other` has too are its tensors from now on: where they are.
Addresses share_constants(Program& p, const Program& other) {
  Addresses shared;
  std::unordered_map<std::string_view, const Tensor*> known;
  for (const program::Constant& c : other.constants)
    if (is_large(c.tensor)) known.emplace(bytes_of(c.tensor), &c.tensor);
  for (program::Constant& c : p.constants) {
    if (!is_large(c.tensor)) continue;
    const auto it = known.find(bytes_of(c.tensor));
    if (it == known.end() || it->second->dtype() != c.tensor.dtype() ||
        it->second->shape() != c.tensor.shape())
      continue;
    c.tensor = *it->second;
    shared.insert(c.tensor.raw());
  }
  return shared;
}

// A value that a Program is made for is compared in each run.
constexpr int64_t kMaxValue = 4096;

Tensor copy_of(const Port& port, const Tensor& t) {
  ARGOSY_CHECK(t.numel() <= kMaxValue, not_implemented)
      << "[infer] the Program of the model depends on the value of '" << port.name
      << "', which has " << t.numel() << " elements; " << kMaxValue << " are the most.";
  Tensor copy = Tensor::empty(t.shape(), t.dtype());
  if (t.numel()) op::copy_into(copy, t);
  return copy;
}

void add_shape(Form* form, const Tensor& t) {
  form->push_back(t.rank());
  for (int d = 0; d < t.rank(); ++d) form->push_back(t.dim(d));
}

void add_value(Form* form, const Port& port, const Tensor& t) {
  const Tensor copy = copy_of(port, t);
  const std::string_view bytes = bytes_of(copy);
  form->push_back(static_cast<int64_t>(bytes.size()));
  for (size_t at = 0; at < bytes.size(); at += sizeof(int64_t)) {
    int64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
    form->push_back(word);
  }
}

// Adds what is new among `more`; false if nothing is.
bool merge(std::vector<Source::Need>* needs, std::span<const Source::Need> more) {
  bool news = false;
  for (const Source::Need& need : more) {
    const auto known = std::ranges::find(*needs, need.input, &Source::Need::input);
    if (known == needs->end())
      needs->push_back(need);
    else if (need.value && !known->value)
      known->value = true;
    else
      continue;
    news = true;
  }
  return news;
}

}  // namespace

Engine::Engine(const Options& options)
    : time_limit(options.time_limit),
      place_(place_named(options.device, options.device_index)),
      pool_(options.device_pool),
      precision_(options.precision),
      lowered_(options.lowered),
      kept_float_(options.kept_float),
      memory_limit_(options.memory_limit),
      programs_(std::max<size_t>(options.plans, 1)),
      plans_(std::max<size_t>(options.plans, 1)) {
  program::Recording none(nullptr);
  op::GradMode off(false);
  const op::MakesOnHost on_host;
  ARGOSY_CHECK(
      precision_ == DType::float32 || precision_ == DType::float16 || precision_ == DType::bfloat16,
      invalid_argument)
      << "[infer] precision: expected float32, float16 or bfloat16, got " << precision_
      << ". Do this: use one of them.";
  const bool there = on_device();
  const char* load = there ? "load_device" : "load";
  const char* plan = there ? "plan_device" : "plan";
  load_passes_ = pipeline_without(options.optimize ? load : "load_exact", options.without);
  plan_passes_ = pipeline_without(options.optimize ? plan : "inference", options.without);
  scope_ = std::make_shared<program::Scope>();
  Import import = import_model(options.model);
  source_ = std::move(import.source);
  if (!import.model.program) {
    merge(&needs_, import.needs);
    inputs = source_->inputs();
    outputs = source_->outputs();
    return;
  }
  program_ = std::move(import.model.program);
  std::shared_ptr<program::Scope> loaded = std::move(import.model.scope);
  for (const Ref<program::Value>& v : program_->main.arguments)
    inputs.push_back({v->name, v->dtype, v->shape});
  for (const program::Output& o : program_->outputs)
    outputs.push_back({o.name, o.value->dtype, o.value->shape});
  const size_t read = weight_bytes(*program_, loaded.get());
  rewrite(*program_, loaded.get());
  for (const program::StateUse& s : program_->states) writes_state_ = writes_state_ || s.last;
  // Not kept: weights as they were loaded, where all that is needed of them is packed by now.
  if (!program_->states.empty()) scope_ = std::move(loaded);
  loaded = nullptr;
  if (on_device())
    bring(*program_, scope_.get());
  else
    settle(*program_, read);
}

// What a plan of a few elements reads stays on the host, where passes look at it; plans bring it.
constexpr size_t kLargeThere = 4096;

// Weights go to the device, and the host's are dropped. Those that the Program made before has,
// too, are its tensors. On stream 0, which lives as long as the process; streams of predictors find
// all of it done.
void Engine::bring(Program& p, program::Scope* scope) {
  const OnStream on({place_, 0});
  std::unordered_multimap<uint64_t, Tensor> before, now;
  {
    MutexLock lock(mutex_);
    before = brought_;
  }
  for (program::Constant& c : p.constants) {
    if (!is_dense(c.tensor) || c.tensor.nbytes() < kLargeThere) continue;
    const uint64_t hash = std::hash<std::string_view>()(bytes_of(c.tensor));
    Tensor there;
    for (auto [at, end] = before.equal_range(hash); at != end && !there.defined(); ++at)
      if (at->second.dtype() == c.tensor.dtype() && at->second.shape() == c.tensor.shape() &&
          bytes_of(op::to_host(at->second)) == bytes_of(c.tensor))
        there = at->second;
    if (!there.defined()) there = op::to_place(c.tensor, place_);
    now.emplace(hash, there);
    c.tensor = there;
  }
  for (const program::StateUse& s : p.states) {
    const program::Variable* v = scope->find(s.state->name);
    if (v && v->tensor.defined() && v->tensor.has_data())
      program::replace_state(*s.state, *scope, op::to_place(v->tensor, place_));
  }
  device::synchronize(device::current(place_));
  memory::release_cached({});
  MutexLock lock(mutex_);
  brought_ = std::move(now);
}

void Engine::fill_pool(Stream stream) {
  const size_t bytes = pool_.exchange(0);
  if (!bytes) return;
  const OnStream on(stream);
  memory::deallocate(place_, memory::allocate(place_, bytes), bytes);
}

// Products and the like in 16 bits, with weights of 16 bits; inputs and outputs stay as they are.
void Engine::lower(Program& p, program::Scope* scope) const {
  const auto joined = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
    return text;
  };
  passes::PassContext context;
  context.inference = true;
  context.scope = scope;
  context.owns_scope = true;
  context.options = {{"autocast.dtype", precision_ == DType::float16 ? "float16" : "bfloat16"},
                     {"autocast.full", joined(kept_float_)},
                     {"autocast.lower", joined(lowered_)},
                     {"constant_folding.limit", std::to_string(uint64_t{1} << 40)}};
  std::vector<DType> before;
  for (const program::Output& o : p.outputs) before.push_back(o.value->dtype);
  // Statistics go into weights of float32, which are rounded once.
  std::vector<std::string> names;
  for (const char* name :
       {"freeze_state", "dropout_removal", "batch_norm_inference", "conv_batch_norm"})
    if (std::ranges::count(load_passes_, name)) names.emplace_back(name);
  names.emplace_back("autocast");
  passes::run_pipeline(p, names, context);
  {
    const program::Recording recording(p.shared_from_this());
    program::Builder builder(p);
    for (size_t i = 0; i < p.outputs.size(); ++i)
      if (Ref<program::Value>& v = p.outputs[i].value; v->dtype != before[i])
        v = builder.current(ops::cast(program::handle(v), before[i]));
  }
  passes::run_pipeline(p, std::vector<std::string>{"constant_folding", "dead_code"}, context);
}

// The scope is the Program's own.
void Engine::rewrite(Program& p, program::Scope* scope) const {
  if (precision_ != DType::float32) lower(p, scope);
  passes::PassContext context;
  context.inference = true;
  context.scope = scope;
  context.owns_scope = true;
  passes::run_pipeline(p, load_passes_, context);
}

std::shared_ptr<const Choice> Engine::choose(std::span<const Tensor> feeds) {
  const Needs fixed = needs();
  Form form;
  for (const Tensor& t : feeds) add_shape(&form, t);
  for (const Source::Need& need : fixed)
    if (need.value) {
      form.push_back(static_cast<int64_t>(need.input));
      add_value(&form, inputs[need.input], feeds[need.input]);
    }
  {
    MutexLock lock(mutex_);
    if (auto found = plans_.find(form)) return found;
  }
  const op::MakesOnHost on_host;
  auto made = std::make_shared<Choice>();
  made->program = program_for(feeds);
  made->plan = compile(*made->program, feeds);
  for (const Source::Need& need : needs())
    if (need.value)
      made->values.emplace_back(need.input, copy_of(inputs[need.input], feeds[need.input]));
  std::shared_ptr<const Choice> dropped;
  MutexLock lock(mutex_);
  return plans_.insert(form, std::move(made), &dropped);
}

size_t Engine::plans() const {
  MutexLock lock(mutex_);
  return plans_.size();
}

Engine::Needs Engine::needs() const {
  if (!source_) return {};
  MutexLock lock(mutex_);
  return needs_;
}

// Inputs that have other sizes than the model declares.
Engine::Needs Engine::misfits(std::span<const Tensor> feeds) const {
  Needs found;
  for (size_t i = 0; i < feeds.size(); ++i)
    if (inputs[i].ranked && !inputs[i].fits(feeds[i].shape())) found.push_back({i, false});
  return found;
}

Engine::SharedProgram Engine::program_for(std::span<const Tensor> feeds) {
  const Needs others = misfits(feeds);
  if (program_ && others.empty()) return program_;
  for (;;) {
    Needs fixed = needs();
    merge(&fixed, others);
    Form form;
    for (const Source::Need& need : fixed) {
      const auto input = static_cast<int64_t>(need.input);
      form.push_back(need.value ? -1 - input : input);
      add_shape(&form, feeds[need.input]);
      if (need.value) add_value(&form, inputs[need.input], feeds[need.input]);
    }
    {
      MutexLock lock(mutex_);
      if (SharedProgram found = programs_.find(form)) return found;
    }
    Needs more;
    SharedProgram made = build(fixed, feeds, &more), dropped;
    MutexLock lock(mutex_);
    if (made) return programs_.insert(form, std::move(made), &dropped);
    Needs known = fixed;
    ARGOSY_CHECK(merge(&known, more), not_implemented)
        << "[infer] an operation of the model needs a size or a value that only a run knows. Do "
           "this: use argosy.onnx.load to see which one.";
    merge(&needs_, more);
  }
}

Engine::SharedProgram Engine::build(const Needs& needs, std::span<const Tensor> feeds,
                                    Needs* more) {
  std::vector<Tensor> fixed(feeds.size());
  for (const Source::Need& need : needs) {
    const Tensor& t = feeds[need.input];
    fixed[need.input] =
        need.value ? copy_of(inputs[need.input], t) : Tensor::describe(t.shape(), t.dtype());
  }
  program::Model model = source_->build(fixed, more);
  if (!model.program) return nullptr;
  Program& p = *model.program;
  ARGOSY_INVARIANT(p.main.arguments.size() == inputs.size() && p.outputs.size() == outputs.size());
  SharedProgram before;
  {
    MutexLock lock(mutex_);
    before = programs_.newest();
  }
  if (!before) before = program_;
  const size_t read = weight_bytes(p, model.scope.get());
  rewrite(p, model.scope.get());
  ARGOSY_CHECK(p.states.empty(), not_implemented)
      << "[infer] the model keeps state, which a Program for other sizes of its inputs would not "
         "share. Do this: feed the sizes that it was saved for.";
  if (on_device()) {
    bring(p, model.scope.get());
    return std::move(model.program);
  }
  // Most of what is packed is a copy of what the Program before has, and does not stay.
  settle(p, read, before ? share_constants(p, *before) : Addresses());
  return std::move(model.program);
}

std::shared_ptr<const runtime::Plan> Engine::compile(const Program& p,
                                                     std::span<const Tensor> feeds) const {
  runtime::Request request;
  request.passes = plan_passes_;
  request.place = place_;
  for (const Tensor& t : feeds) {
    request.feeds.push_back({t.shape(), t.dtype()});
    request.fed.push_back(true);
  }
  for (const program::Output& o : p.outputs) request.fetches.push_back(o.value);
  // What a plan keeps on a device lives as long as it, and longer than a predictor's stream.
  std::optional<OnStream> on;
  if (on_device()) on.emplace(Stream{place_, 0});
  const op::MakesOnHost on_host;
  auto plan = runtime::Plan::compile(p, request, scope_.get());
  const size_t bytes = plan->report().arena + plan->report().fresh;
  ARGOSY_CHECK(!memory_limit_ || bytes <= memory_limit_, memory)
      << "[infer] a run for these inputs takes " << bytes << " bytes, the limit is "
      << memory_limit_ << ". Do this: run smaller batches, or raise memory_limit.";
  return plan;
}

}  // namespace argosy::infer

#include "argosy/runtime/executor.h"

#include <set>
#include <string_view>

#include "argosy/base/flags.h"
#include "argosy/op/dispatch.h"
#include "argosy/program/builder.h"
#include "argosy/runtime/frame.h"

namespace argosy::runtime {

using program::Program;
using program::Value;

struct Executor::Entry {
  std::weak_ptr<Program> program;
  const Program* identity = nullptr;
  uint64_t version = 0;
  Place place;
  Parallel parallel = Parallel::off;
  bool loose = false;
  std::vector<Request::Feed> feeds;  // a size of kUnknown: any
  std::vector<bool> fed;
  std::vector<uint32_t> fetches;  // ids
  std::shared_ptr<const Plan> plan;
};

Executor::Executor(size_t capacity) : capacity_(capacity) {}
Executor::~Executor() = default;

namespace {

Place place_of(std::span<const Tensor> feeds) {
  for (const Tensor& t : feeds)
    if (t.defined()) return t.place();
  return op::thread_state.place;
}

void check_feeds(const Program& p, std::span<const Tensor> feeds) {
  ARGOSY_CHECK(feeds.size() == p.main.arguments.size(), invalid_argument)
      << "The Program has " << p.main.arguments.size() << " inputs, " << feeds.size()
      << " were fed.";
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (!feeds[i].defined()) continue;
    const Value& v = *p.main.arguments[i];
    bool fits = v.shape.rank() == feeds[i].rank() && v.dtype == feeds[i].dtype();
    for (int d = 0; fits && d < v.shape.rank(); ++d)
      fits = v.shape[d] == kUnknown || v.shape[d] == feeds[i].dim(d);
    ARGOSY_CHECK(fits, invalid_argument)
        << "Input " << i << " '" << v.name << "' of the Program: expected " << v.dtype << v.shape
        << ", got " << feeds[i] << '.';
  }
}

void check_fed(const Program& p, const Plan& plan, std::span<const Tensor> feeds) {
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Value& v = *p.main.arguments[i];
    ARGOSY_CHECK(feeds[i].defined() || plan.feeds[i] == kNone, invalid_argument)
        << "Input " << i << " '" << v.name << "' of the Program (" << v.dtype << v.shape
        << ") is needed for what is fetched, but it is not fed. Do this: feed it.";
  }
}

bool fits(const Shape& form, const Shape& shape) {
  if (form.rank() != shape.rank()) return false;
  for (int d = 0; d < form.rank(); ++d)
    if (form[d] != shape[d] && form[d] != kUnknown) return false;
  return true;
}

bool same_feeds(const std::vector<Request::Feed>& form, const std::vector<bool>& fed,
                std::span<const Tensor> feeds) {
  if (form.size() != feeds.size()) return false;
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (fed[i] != feeds[i].defined()) return false;
    if (fed[i] && (form[i].dtype != feeds[i].dtype() || !fits(form[i].shape, feeds[i].shape())))
      return false;
  }
  return true;
}

// Which inputs are lists of rows of all samples, whose lengths another input has.
std::vector<bool> ragged_inputs(const Program& p) {
  static constexpr std::string_view kLengths = "@LENGTHS";
  std::set<std::string_view> bases;
  for (const Ref<Value>& v : p.main.arguments) {
    std::string_view name = v->name;
    if (name.size() > kLengths.size() && name.substr(name.size() - kLengths.size()) == kLengths)
      bases.insert(name.substr(0, name.size() - kLengths.size()));
  }
  std::vector<bool> ragged;
  for (const Ref<Value>& v : p.main.arguments) ragged.push_back(bases.count(v->name) > 0);
  return ragged;
}

}  // namespace

std::shared_ptr<const Plan> Executor::plan(const std::shared_ptr<Program>& program,
                                           std::span<const Tensor> feeds,
                                           std::span<const Ref<Value>> fetches,
                                           program::Scope* scope, bool loose) {
  const Place place = place_of(feeds);
  static const flags::Flag& serial = flags::find("FLAGS_new_executor_serial_run");
  const Parallel mode = serial.boolean() ? Parallel::off : parallel;
  {
    std::lock_guard lock(mutex_);
    for (auto e = entries_.begin(); e != entries_.end(); ++e) {
      if (e->identity != program.get() || e->version != program->version() || e->place != place ||
          e->parallel != mode || e->loose != loose || e->program.expired() ||
          e->fetches.size() != fetches.size() || !same_feeds(e->feeds, e->fed, feeds))
        continue;
      bool same = true;
      for (size_t i = 0; i < fetches.size(); ++i)
        same &= fetches[i] && fetches[i]->id == e->fetches[i];
      if (!same) continue;
      ++hits_;
      entries_.splice(entries_.begin(), entries_, e);
      return e->plan;
    }
    ++misses_;
  }
  check_feeds(*program, feeds);
  Entry entry;
  entry.program = program;
  entry.identity = program.get();
  entry.version = program->version();
  entry.place = place;
  entry.parallel = mode;
  Request request;
  request.place = place;
  request.parallel = mode;
  entry.loose = loose;
  const std::vector<bool> ragged = ragged_inputs(*program);
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Tensor& t = feeds[i];
    entry.fed.push_back(t.defined());
    entry.feeds.push_back(t.defined() ? Request::Feed{t.shape(), t.dtype()} : Request::Feed{});
    if (!t.defined()) continue;
    const Shape& declared = program->main.arguments[i]->shape;
    Shape& form = entry.feeds.back().shape;
    for (int d = 0; d < form.rank(); ++d)
      if (declared[d] == kUnknown && (loose || (ragged[i] && d == 0))) form[d] = kUnknown;
  }
  request.feeds = entry.feeds;
  request.fed = entry.fed;
  request.fetches.assign(fetches.begin(), fetches.end());
  for (const Ref<Value>& v : fetches) entry.fetches.push_back(v ? v->id : kNone);
  entry.plan = Plan::compile(*program, request, scope);
  std::shared_ptr<const Plan> made = entry.plan;
  std::list<Entry> dropped;  // destroyed outside of the lock
  std::lock_guard lock(mutex_);
  for (auto e = entries_.begin(); e != entries_.end();) {
    auto next = std::next(e);
    const bool old =
        e->program.expired() || (e->identity == program.get() && e->version != program->version());
    if (old) dropped.splice(dropped.end(), entries_, e);
    e = next;
  }
  entries_.push_front(std::move(entry));
  while (entries_.size() > capacity_)
    dropped.splice(dropped.end(), entries_, std::prev(entries_.end()));
  return made;
}

void Executor::forget(const Plan& plan) {
  std::list<Entry> dropped;
  std::lock_guard lock(mutex_);
  for (auto e = entries_.begin(); e != entries_.end(); ++e) {
    if (e->plan.get() != &plan) continue;
    dropped.splice(dropped.end(), entries_, e);
    return;
  }
}

Tensors Executor::run(const std::shared_ptr<Program>& program, std::span<const Tensor> feeds,
                      std::span<const Ref<Value>> fetches, program::Scope* scope, bool loose) {
  program::Recording none(nullptr);
  op::GradMode off(false);
  for (int attempt = 0;; ++attempt) {
    std::shared_ptr<const Plan> p = plan(program, feeds, fetches, scope, loose);
    check_fed(*program, *p, feeds);
    auto frame = p->take_frame();
    if (!frame->bind(feeds, scope)) {
      // State has another form than when the plan was made.
      ARGOSY_CHECK(attempt < 100, runtime)
          << "[Executor.run] state of the Program has another form each time it is looked at: "
             "other "
             "threads change it meanwhile. Do this: keep the shapes of shared state.";
      forget(*p);
      continue;
    }
    try {
      frame->run();
      Tensors result = frame->collect();
      frame->write_state();
      frame->release();
      p->give_frame(std::move(frame));
      return result;
    } catch (...) {
      frame->mark_state();
      throw;
    }
  }
}

Executor::Stats Executor::stats() const {
  std::lock_guard lock(mutex_);
  return {entries_.size(), hits_, misses_};
}

void Executor::clear() {
  std::list<Entry> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(entries_);
}

}  // namespace argosy::runtime

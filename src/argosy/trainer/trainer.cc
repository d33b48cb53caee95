#include "argosy/trainer/trainer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "argosy/base/inline_region.h"
#include "argosy/base/log.h"
#include "argosy/data/patience.h"
#include "argosy/op/dispatch.h"
#include "argosy/runtime/plan.h"

#if defined(__SANITIZE_THREAD__)
extern "C" void AnnotateBenignRaceSized(const char* file, int line, const volatile void* memory,
                                        size_t size, const char* why);
#endif

namespace argosy::trainer {

StepHook::~StepHook() = default;
void StepHook::begin_thread(int) {}
void StepHook::end_thread(int) {}

namespace {

std::mutex hook_mutex;
std::shared_ptr<StepHook>& hook_slot() {
  static auto* hook = new std::shared_ptr<StepHook>;  // guarded by hook_mutex
  return *hook;
}

constexpr size_t kReports = 1024;  // that wait to be taken; later ones are dropped
constexpr const char* kLimit =
    "timeout=SECONDS in the data set's init, or ARGOSY_DATA_TIMEOUT in the environment, sets this "
    "limit; inf is none.";

}  // namespace

void set_step_hook(std::shared_ptr<StepHook> hook) {
  std::lock_guard lock(hook_mutex);
  hook_slot().swap(hook);
}

std::shared_ptr<StepHook> step_hook() {
  std::lock_guard lock(hook_mutex);
  return hook_slot();
}

struct Trainer::Impl {
  Impl(Options o, runtime::Executor& e, std::shared_ptr<data::Source> s)
      : options(std::move(o)),
        executor(e),
        source(std::move(s)),
        hook(step_hook()),
        at_work(static_cast<size_t>(std::max(options.threads, 0)), true),
        running(options.threads) {}

  void run(int thread);
  void work(int thread);
  Tensors step(int thread, std::span<const Tensor> feeds, bool loose);
  std::string who_runs() const;
  std::vector<Tensor> feeds_of(const data::Batch& batch) const;
  bool loose(const data::Batch& batch) const { return batch.samples != source->batch_size(); }
  void say_races_are_meant() const;
  void fail();
  void stop();  // the mutex is held

  const Options options;
  runtime::Executor& executor;
  const std::shared_ptr<data::Source> source;
  const std::shared_ptr<StepHook> hook;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  std::atomic<uint64_t> steps{0}, samples{0};
  std::atomic<bool> stopping{false};

  mutable std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex:
  enum class First { free, taken, done } first = First::free;
  int first_thread = -1;      // that took it
  std::vector<bool> at_work;  // by thread
  int running;                // of them
  std::exception_ptr error;
  std::vector<Fetched> reports;
  Tensors latest;
  double seconds = -1;                   // that it took, once it has ended
  std::optional<data::Patience> ending;  // since it was stopped
};

Trainer::Trainer(Options options, runtime::Executor& executor, std::shared_ptr<data::Source> source)
    : impl_(new Impl(std::move(options), executor, std::move(source))) {
  ARGOSY_CHECK(impl_->options.threads > 0, invalid_argument)
      << "[train_from_dataset] thread: expected 1 or more, got " << impl_->options.threads << '.';
  threads_.start(impl_->options.threads, [impl = impl_](int thread) { impl->run(thread); });
}

Trainer::~Trainer() {
  end();
}

bool Trainer::end() {
  stop();
  double left;
  {
    std::lock_guard lock(impl_->mutex);
    left = impl_->ending->left();
  }
  if (threads_.end(left)) return true;
  std::lock_guard lock(impl_->mutex);
  ARGOSY_LOG(warning) << "[train_from_dataset] " << impl_->who_runs() << " not ended a step "
                      << impl_->options.timeout
                      << " s after the pass was stopped, and is left behind.";
  return false;
}

// "thread 0, 2 has"; the mutex is held.
std::string Trainer::Impl::who_runs() const {
  Message m;
  m << (running > 1 ? "threads" : "thread");
  const char* comma = " ";
  for (size_t i = 0; i < at_work.size(); ++i) {
    if (!at_work[i]) continue;
    m << comma << i;
    comma = ", ";
  }
  m << (running > 1 ? " have" : " has");
  return m.str();
}

void Trainer::Impl::fail() {
  std::lock_guard lock(mutex);
  if (!error) error = std::current_exception();
  stop();
  source->stop();
}

void Trainer::Impl::stop() {
  stopping = true;
  if (!ending) ending.emplace(options.timeout);
  changed.notify_all();
}

void Trainer::Impl::run(int thread) {
  InlineRegion alone;
  try {
    if (hook) hook->begin_thread(thread);
    work(thread);
  } catch (...) {
    fail();
  }
  try {
    if (hook) hook->end_thread(thread);
  } catch (...) {
    fail();
  }
  std::lock_guard lock(mutex);
  at_work[static_cast<size_t>(thread)] = false;
  if (--running == 0) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    seconds = took.count();
  }
  changed.notify_all();
}

// The first step of all runs alone: it makes the plan, and gives all state its form. After that
// nothing but the contents of tensors changes.
Tensors Trainer::Impl::step(int thread, std::span<const Tensor> feeds, bool loose) {
  auto run = [&] {
    return executor.run(options.program, feeds, options.fetches, options.scope.get(), loose);
  };
  bool mine = false;
  {
    std::unique_lock lock(mutex);
    if (first != First::done) {
      const bool in_time = changed.wait_until(lock, data::Patience(options.timeout).end(),
                                              [&] { return first != First::taken || stopping; });
      ARGOSY_CHECK(in_time, timeout)
          << "[train_from_dataset] thread " << thread << " waited " << options.timeout
          << " s for the first step, which thread " << first_thread
          << " runs alone. Do this: look at what that step waits for. " << kLimit;
      mine = first == First::free && !stopping;
      if (mine) {
        first = First::taken;
        first_thread = thread;
      }
    }
  }
  if (!mine) return stopping ? Tensors() : run();
  Tensors values;
  try {
    values = run();
    say_races_are_meant();
  } catch (...) {
    fail();  // before the others go on
    std::lock_guard lock(mutex);
    first = First::done;
    changed.notify_all();
    return {};
  }
  std::lock_guard lock(mutex);
  first = First::done;
  changed.notify_all();
  return values;
}

void Trainer::Impl::say_races_are_meant() const {
#if defined(__SANITIZE_THREAD__)
  for (const program::StateUse& s : options.program->states) {
    if (!s.last) continue;
    const Tensor t = program::read_state(*s.state, options.scope.get());
    AnnotateBenignRaceSized(__FILE__, __LINE__, t.raw(), t.nbytes(), "Hogwild");
    AnnotateBenignRaceSized(__FILE__, __LINE__, t.impl()->storage.get(), sizeof(Storage),
                            "Hogwild: who wrote last");
  }
#endif
}

std::vector<Tensor> Trainer::Impl::feeds_of(const data::Batch& batch) const {
  std::vector<Tensor> feeds(options.inputs.size());
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Input& in = options.inputs[i];
    if (in.fixed.defined())
      feeds[i] = in.fixed;
    else if (in.slot != runtime::kNone)
      feeds[i] = in.lengths ? batch.lengths[in.slot] : batch.values[in.slot];
  }
  return feeds;
}

void Trainer::Impl::work(int thread) {
  op::GradMode no_tape(false);
  data::Batch batch, next;
  auto take = [&](data::Batch* to) { return !stopping && source->next(thread, to); };
  auto tell = [&] { executor.run(options.ahead, feeds_of(next), {}, nullptr, loose(next)); };
  bool more = options.ahead && take(&next);
  if (more) tell();
  while (options.ahead ? more : take(&batch)) {
    if (options.ahead) {
      batch = std::exchange(next, {});
      more = take(&next);
      if (more) tell();
    }
    Tensors values = step(thread, feeds_of(batch), loose(batch));
    if (stopping) return;
    const uint64_t number = steps.fetch_add(1, std::memory_order_relaxed) + 1;
    samples.fetch_add(static_cast<uint64_t>(batch.samples), std::memory_order_relaxed);
    if (hook) hook->end_step(thread);
    const bool report = options.report_every && number % options.report_every == 0;
    std::lock_guard lock(mutex);
    latest = values;
    if (!report || reports.size() >= kReports) continue;
    reports.push_back({number, std::move(values)});
    changed.notify_all();
  }
}

bool Trainer::wait(double seconds) {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                          [&] { return impl_->running == 0 || !impl_->reports.empty(); });
  return impl_->running == 0 || (impl_->ending && impl_->ending->over());
}

std::vector<Fetched> Trainer::take_reports() {
  std::lock_guard lock(impl_->mutex);
  return std::exchange(impl_->reports, {});
}

Tensors Trainer::latest() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->latest;
}

Status Trainer::status() const {
  Status s;
  s.steps = impl_->steps.load(std::memory_order_relaxed);
  s.samples = impl_->samples.load(std::memory_order_relaxed);
  s.data = impl_->source->progress();
  std::lock_guard lock(impl_->mutex);
  const std::chrono::duration<double> now = std::chrono::steady_clock::now() - impl_->begin;
  s.seconds = impl_->seconds >= 0 ? impl_->seconds : now.count();
  return s;
}

void Trainer::stop() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stop();
  }
  impl_->source->stop();
}

void Trainer::finish() {
  Impl& impl = *impl_;
  {
    std::unique_lock lock(impl.mutex);
    // While the pass goes on, sources and steps have limits of their own.
    impl.changed.wait(lock, [&] { return impl.running == 0 || impl.stopping; });
    const bool ended = impl.running == 0 || impl.changed.wait_until(lock, impl.ending->end(), [&] {
      return impl.running == 0;
    });
    if (std::exception_ptr error = std::exchange(impl.error, nullptr)) {
      lock.unlock();
      if (ended) threads_.join();
      std::rethrow_exception(error);
    }
    ARGOSY_CHECK(ended, timeout)
        << "[train_from_dataset] " << impl.who_runs() << " not ended a step "
        << impl.options.timeout
        << " s after the pass was stopped. Do this: look at what the step waits for. " << kLimit;
  }
  threads_.join();
}

}  // namespace argosy::trainer

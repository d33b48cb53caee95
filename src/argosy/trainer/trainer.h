#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/data/source.h"
#include "argosy/program/program.h"
#include "argosy/runtime/executor.h"

// Threads that run one Program over a data set, with shared state (Hogwild; Recht et al. 2011).
//
// Shared, in the Scope, read and written by all without order: parameters, optimizer state (also
// powers of beta and step counters of optimizers), running statistics, sums of metrics. An update
// of one number may overwrite another's; no number is ever torn. Of each thread: feeds,
// activations, gradients, what is fetched. The learning rate stays what it was when the pass began.
//
// Shared numbers are read and written by the same kernels as everywhere, not as std::atomic, which
// would cost an eighth of a step (docs/parameter_server.md). What that relies on: numbers are
// aligned to their size, and the processor moves aligned words of up to 8 bytes whole, by vector
// instructions too. Nothing else may be shared in this way, no size or count that code follows,
// and no pointer but Storage::writer(), which names texts that stay. The thread sanitizer is told
// of exactly these tensors, so it finds every other race.
//
// Each thread runs its kernels alone: as many threads as cores use all of them.
namespace argosy::trainer {

// What happens around the steps of each thread; calls come from that thread. An error ends the
// pass.
class ARGOSY_API StepHook {
 public:
  virtual ~StepHook();
  virtual void begin_thread(int thread);
  virtual void end_step(int thread) = 0;
  virtual void end_thread(int thread);  // also after an error
};

// Called by all passes that start from now on; null: none. The hook of a pass lives as long as it.
ARGOSY_API void set_step_hook(std::shared_ptr<StepHook> hook);
ARGOSY_API std::shared_ptr<StepHook> step_hook();

// Where an input of the Program comes from.
struct Input {
  size_t slot = 0;
  bool lengths = false;  // of the slot's lists, rather than their values
  Tensor fixed;          // the same in every step, if defined; then slot does not count
};

struct Options {
  std::shared_ptr<program::Program> program;
  // Run by a thread on each batch, and on the next one before it runs `program` on this one; of the
  // same inputs, or null.
  std::shared_ptr<program::Program> ahead;
  std::vector<Input> inputs;  // in order of the Program's; those whose slot is kNone are not fed
  std::vector<Ref<program::Value>> fetches;
  std::shared_ptr<program::Scope> scope;
  int threads = 1;
  uint64_t report_every = 100;  // steps of all threads; 0: never
  // Seconds that threads wait for the first step, which runs alone, and that threads have to end
  // their step once the pass is stopped; infinity: for ever.
  double timeout = 600;
};

// What was fetched in step number `step` (from 1) of all threads.
struct Fetched {
  uint64_t step = 0;
  Tensors values;
};

struct Status {
  uint64_t steps = 0, samples = 0;
  double seconds = 0;
  data::Progress data;
};

class ARGOSY_API Trainer {
 public:
  // Starts. The executor must outlive it and the threads that it leaves behind.
  Trainer(Options options, runtime::Executor& executor, std::shared_ptr<data::Source> source);
  // As end().
  ~Trainer();
  Trainer(const Trainer&) = delete;

  // Until there are reports, the pass ended, or some time went by. True if finish() has nothing to
  // wait for.
  bool wait(double seconds);
  std::vector<Fetched> take_reports();
  Tensors latest() const;  // what was fetched last; empty before the first step
  Status status() const;
  void stop();
  // Waits for the end, and throws the first error of any thread. Once the pass is stopped, by
  // stop() or an error, threads have the timeout to end; then it throws that error, or
  // ErrorKind::timeout naming those that have not ended.
  void finish();
  // Stops and waits, for the timeout. False: threads hang in their steps; they are left behind,
  // with a warning, and use the executor if they ever go on.
  bool end();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
  data::Threads threads_;
};

}  // namespace argosy::trainer

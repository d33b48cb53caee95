#include "argosy/base/parallel.h"

#include <dlfcn.h>
#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "argosy/base/cpu.h"
#include "argosy/base/error.h"
#include "argosy/base/flags.h"
#include "argosy/base/inline_region.h"
#include "argosy/base/parallel_context.h"
#include "argosy/base/profile.h"

namespace argosy {
namespace {

using Body = FunctionRef<void(int64_t, int64_t)>;

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(void* word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// Set while this thread runs a chunk of a job that others may share.
thread_local bool inside_region = false;

class RegionGuard {
 public:
  RegionGuard() { inside_region = true; }
  ~RegionGuard() { inside_region = false; }
};

thread_local void* context = nullptr;
thread_local bool of_pool = false;

// Polls for about 100 us. Waking a sleeper costs some 40 us on a virtual machine, more than many a
// kernel runs, and a training step asks for the pool every few tens: a thread that stays awake that
// long between kernels is there when the next one starts.
template <class Done>
bool spin_until(Done done) {
  constexpr uint64_t kCycles = 250000;
  for (uint64_t start = __rdtsc(); __rdtsc() - start < kCycles; _mm_pause()) {
    if (done()) return true;
  }
  return done();
}

// Held for some tens of nanoseconds, by threads that often come at the same moment, as they end
// equal parts of a loop: who waits looks again for about a microsecond before it sleeps.
class BriefMutex {
 public:
  void lock() {
    constexpr int kLooks = 20;
    for (int i = 0; i < kLooks; ++i, _mm_pause())
      if (mutex_.try_lock()) return;
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// One parallel_for. Lives on its caller's stack: a helper may touch it only between being counted
// in `state` (under Pool::mutex_, while the job is listed) and taking itself off again.
struct Job {
  Job(Body b, int64_t size, int64_t step, int64_t pieces, int most, uint32_t fork_count)
      : body(b), n(size), grain(step), chunks(pieces), max_helpers(most), forks(fork_count) {}

  const Body body;
  void* const shared = context;  // of the caller
  const int64_t n, grain, chunks;
  const int max_helpers;
  const uint32_t forks;  // Pool::forks_ at the start

  std::atomic<int64_t> next{0};  // the first chunk that nobody has claimed
  // 2 * running helpers + 1 if the caller sleeps on this word.
  std::atomic<uint32_t> state{0};

  // Guarded by Pool::mutex_:
  Job* later = nullptr;
  int helpers = 0;  // running now
  std::exception_ptr error;
  int64_t error_chunk = 0;
};

// Leaked on purpose: threads sleep in it until the process ends.
class Pool {
 public:
  static Pool& instance() {
    static Pool* pool = new Pool;
    return *pool;
  }

  int size() const { return size_.load(std::memory_order_relaxed); }

  void resize(int n) {
    size_.store(n, std::memory_order_relaxed);
    // Surplus threads notice and end.
    signal_.fetch_add(1);
    futex_wake(&signal_, INT32_MAX);
  }

  void run(int64_t n, int64_t grain, int64_t chunks, Body body) {
    int most = static_cast<int>(std::min<int64_t>(chunks, size())) - 1;
    Job job(body, n, grain, chunks, most, forks_.load(std::memory_order_relaxed));
    {
      std::lock_guard lock(mutex_);
      while (workers_ < most && start_worker()) {
      }
      job.later = jobs_;
      jobs_ = &job;
    }
    // Pairs with the worker that counts itself as sleeping and then looks at signal_: one of the
    // two sees the other.
    signal_.fetch_add(1);
    if (int asleep = sleepers_.load(); asleep > 0) futex_wake(&signal_, std::min(asleep, most));
    work_on(job);
    if (forks_.load(std::memory_order_relaxed) != job.forks) return after_fork(job);
    {
      std::lock_guard lock(mutex_);
      Job** link = &jobs_;
      while (*link != &job) link = &(*link)->later;
      *link = job.later;
    }
    wait_for_helpers(job);
    if (job.error) std::rethrow_exception(job.error);
  }

 private:
  Pool() {
    size_ = default_num_threads();
    // A fork must find mutex_ free, and in the child no other thread exists.
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] {
                     Pool& pool = instance();
                     pool.jobs_ = nullptr;
                     pool.workers_ = 0;
                     pool.sleepers_ = 0;
                     pool.forks_.fetch_add(1);
                     pool.mutex_.unlock();
                   });
  }

  static int default_num_threads() {
    int64_t n = flags::find("ARGOSY_NUM_THREADS").integer();
    if (const char* text = std::getenv("OMP_NUM_THREADS"); n <= 0 && text) n = std::atoi(text);
    if (n > 0) return static_cast<int>(std::min<int64_t>(n, kMaxThreads));
    return std::min(cpu::available_cores(), kMaxThreads);
  }

  // Requires mutex_.
  bool start_worker() {
    // Signals (Ctrl-C) belong to the threads that the pool did not start.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_t thread;
    bool started = pthread_create(&thread, nullptr, worker_main, nullptr) == 0;
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    if (!started) return false;  // fewer threads do the same work
    char name[16];
    std::snprintf(name, sizeof(name), "argosy-%d", ++serial_ % 10000);
    pthread_setname_np(thread, name);
    pthread_detach(thread);
    ++workers_;
    return true;
  }

  static void* worker_main(void*) {
    limit_openmp_to_this_thread();
    of_pool = true;
    instance().serve();
    return nullptr;
  }

  void serve() {
    for (;;) {
      uint32_t seen = signal_.load();
      bool surplus = false;
      if (Job* job = take(&surplus)) {
        {
          profile::Scope scope("parallel_for", profile::Kind::kernel);
          context = job->shared;
          work_on(*job);
          context = nullptr;
        }
        leave(*job);
        continue;
      }
      if (surplus) return;
      auto changed = [&] { return signal_.load(std::memory_order_relaxed) != seen; };
      if (may_spin() && spin_until(changed)) continue;
      sleepers_.fetch_add(1);
      futex_wait(signal_, seen);
      sleepers_.fetch_sub(1);
    }
  }

  // The job with the fewest helpers that can use another, now counted as its helper.
  Job* take(bool* surplus) {
    std::lock_guard lock(mutex_);
    if (workers_ >= std::max(size(), 1)) {
      --workers_;
      *surplus = true;
      return nullptr;
    }
    Job* best = nullptr;
    for (Job* job = jobs_; job; job = job->later) {
      if (job->helpers < job->max_helpers &&
          job->next.load(std::memory_order_relaxed) < job->chunks &&
          (!best || job->helpers < best->helpers)) {
        best = job;
      }
    }
    if (best) {
      ++best->helpers;
      best->state.fetch_add(2, std::memory_order_relaxed);
    }
    return best;
  }

  void leave(Job& job) {
    {
      std::lock_guard lock(mutex_);
      --job.helpers;
    }
    void* word = &job.state;
    // The caller may return as soon as it sees 0, so this is the last access. A wake-up sent to the
    // address after that is at worst a spurious one.
    if (job.state.fetch_sub(2, std::memory_order_acq_rel) == 3) futex_wake(word, 1);
  }

  void work_on(Job& job) {
    RegionGuard guard;
    for (;;) {
      int64_t chunk = job.next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= job.chunks) return;
      int64_t begin = chunk * job.grain;
      try {
        job.body(begin, std::min(job.n, begin + job.grain));
      } catch (...) {
        job.next.store(job.chunks, std::memory_order_relaxed);
        std::lock_guard lock(mutex_);
        // Chunks are claimed in order, so the first failing one has always run: which error is
        // reported does not depend on timing.
        if (!job.error || chunk < job.error_chunk) {
          job.error = std::current_exception();
          job.error_chunk = chunk;
        }
      }
    }
  }

  void wait_for_helpers(Job& job) {
    auto alone = [&] { return job.state.load(std::memory_order_acquire) == 0; };
    if (alone() || (may_spin() && spin_until(alone))) return;
    uint32_t state = job.state.fetch_or(1, std::memory_order_acq_rel) | 1;
    while (state != 1) {
      futex_wait(job.state, state);
      state = job.state.load(std::memory_order_acquire);
    }
  }

  // A body forked and this is the child: the helpers of the job, and what they had claimed, are
  // gone.
  static void after_fork(const Job& job) {
    if (job.error) std::rethrow_exception(job.error);
    ARGOSY_CHECK(job.helpers == 0, runtime)
        << "[parallel_for] the process was forked while other threads worked on this loop, so the "
           "child cannot finish it. Do this: call exec in the child, or fork outside of the loop.";
  }

  bool may_spin() const { return size() <= cores_; }

  static constexpr int kMaxThreads = 1024;

  // Never held while a body runs, nor while another lock is taken.
  BriefMutex mutex_;
  Job* jobs_ = nullptr;  // guarded by mutex_: the running parallel_fors
  int workers_ = 0;      // guarded by mutex_: threads started and not ended
  int serial_ = 0;       // guarded by mutex_

  // Changes whenever a worker may have something to do. Idle workers read it again and again, so
  // nothing else that is written often lies beside it.
  alignas(64) std::atomic<uint32_t> signal_{0};
  alignas(64) std::atomic<int> sleepers_{0};  // workers that sleep on signal_, or are about to
  std::atomic<int> size_{1};                  // threads that may work, the caller included
  std::atomic<uint32_t> forks_{0};  // how many forks lie between this process and the pool's first
  const int cores_ = cpu::available_cores();
};

}  // namespace

void*& parallel_context() {
  return context;
}

bool on_pool_thread() {
  return of_pool;
}

void parallel_for(int64_t n, int64_t grain, Body body) {
  if (n <= 0) return;
  grain = std::clamp<int64_t>(grain, 1, n);
  int64_t chunks = (n - 1) / grain + 1;
  if (chunks == 1) return body(0, n);
  if (!inside_region && Pool::instance().size() > 1) {
    return Pool::instance().run(n, grain, chunks, body);
  }
  for (int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain));
}

int num_threads() {
  return Pool::instance().size();
}

void set_num_threads(int n) {
  ARGOSY_CHECK(n >= 1, invalid_argument)
      << "[set_num_threads] expected at least 1 thread, got " << n << '.';
  Pool::instance().resize(std::min(n, 1024));
}

InlineRegion::InlineRegion() : before_(inside_region) {
  inside_region = true;
  limit_openmp_to_this_thread();
}

InlineRegion::~InlineRegion() {
  inside_region = before_;
}

bool in_parallel_region() {
  return inside_region;
}

void limit_openmp_to_this_thread() {
  static thread_local bool done = false;
  if (done) return;
  // Looked up, not linked: whichever OpenMP runtime a library brought along, or none.
  using SetNumThreads = void (*)(int);
  if (auto set = reinterpret_cast<SetNumThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) {
    set(1);
    done = true;
  }
}

}  // namespace argosy

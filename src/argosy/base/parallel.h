#pragma once

#include <cstdint>
#include <type_traits>

#include "argosy/base/export.h"

// The one thread pool of the process.
//
// How [0, n) is cut depends on n and grain only, never on the number of threads, so results do not
// depend on it either: chunk i is [i*grain, min(n, (i+1)*grain)), also where calls run inline.
// Chunks are claimed one by one, so a thread that is held up delays its own chunk only. The caller
// works too; waits poll for some 100 us and then sleep. Nested calls run inline on the calling
// thread. Any number of threads may call parallel_for at the same time: each drives its own loop,
// the pool's threads help where they can. Pool threads start at the first use and again in a forked
// child.
namespace argosy {

// A non-owning reference to a callable, as cheap as a function pointer.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* o, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(o))(args...);
        }) {}
  R operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Runs body(begin, end) over all chunks. An exception of any chunk is rethrown on the caller once
// all running chunks have ended; chunks not yet begun are dropped.
ARGOSY_API void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

ARGOSY_API int num_threads();            // ARGOSY_NUM_THREADS, else OMP_NUM_THREADS, else the cores
ARGOSY_API void set_num_threads(int n);  // >= 1; takes effect at the next parallel_for
ARGOSY_API bool in_parallel_region();

// Keeps a library's OpenMP runtime from starting threads of its own (they spin, and hang in a
// forked child) when the calling thread enters it. Done already on pool threads; any other thread
// calls this before it calls such a library. Costs a load after the first time.
ARGOSY_API void limit_openmp_to_this_thread();

}  // namespace argosy

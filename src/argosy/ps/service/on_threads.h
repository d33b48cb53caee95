#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace argosy::ps {

// Calls work(i) for i in [0, n) from several threads, as many as there are cores, 8 at most; fewer
// do where the system has no more. The first error is thrown.
template <class F>
void on_threads(size_t n, F&& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto run = [&] {
    try {
      for (size_t i; (i = next++) < n;) work(i);
    } catch (...) {
      next = n;
      std::lock_guard guard(mutex);
      if (!error) error = std::current_exception();
    }
  };
  const size_t count = std::min<size_t>({n, std::max(1u, std::thread::hardware_concurrency()), 8});
  std::vector<std::thread> threads;
  threads.reserve(count);
  try {
    for (size_t t = 1; t < count; ++t) threads.emplace_back(run);
  } catch (const std::system_error&) {
  }
  run();
  for (std::thread& t : threads) t.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace argosy::ps

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "argosy/comm/process_group.h"
#include "argosy/comm/thread_engine.h"

namespace argosy::comm {

// Runs body(group) on `size` threads, one a rank. Returns what each rank threw, empty if nothing.
inline std::vector<std::string> run_ranks(int size, double seconds,
                                          const std::function<void(ProcessGroup&)>& body) {
  std::vector<std::shared_ptr<Engine>> engines = thread_engines(size);
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (size_t r = 0; r < errors.size(); ++r)
    threads.emplace_back([&, r, engine = std::move(engines[r])]() mutable {
      try {
        auto group = ProcessGroup::world(std::move(engine), seconds);
        body(*group);
      } catch (const std::exception& e) {
        errors[r] = e.what();
      }
    });
  for (auto& t : threads) t.join();
  return errors;
}

// Fails the test where a rank threw.
inline void with_ranks(int size, const std::function<void(ProcessGroup&)>& body) {
  for (const std::string& error : run_ranks(size, 20, body)) EXPECT_EQ(error, "");
}

template <class T>
Tensor tensor(const std::vector<T>& values, Shape shape) {
  Tensor t = Tensor::empty(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}
template <class T>
Tensor tensor(const std::vector<T>& values) {
  return tensor(values, Shape{static_cast<int64_t>(values.size())});
}
template <class T>
std::vector<T> values(const Tensor& t) {
  return {t.data<T>(), t.data<T>() + t.numel()};
}
// n elements that differ over ranks and places.
inline Tensor numbers(int rank, int64_t n) {
  Tensor t = Tensor::empty(Shape{n}, DType::float32);
  for (int64_t i = 0; i < n; ++i)
    t.data<float>()[i] = static_cast<float>((i * 7 + rank * 13) % 101) / 8;
  return t;
}

}  // namespace argosy::comm

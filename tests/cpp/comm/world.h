#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "argosy/comm/hybrid.h"
#include "argosy/comm/process_group.h"
#include "argosy/comm/thread_engine.h"
#include "argosy/comm/thread_network.h"

namespace argosy::comm {

// What connects the ranks of a test. windows: a board whose ranks do not see each other's tensors.
// hybrid: two ranks a host, the last one perhaps alone; hybrid_windows: the same, where they do not
// see each other's tensors; uneven: hosts of two, one and three ranks; one_host: all on one.
enum class Over {
  board,
  windows,
  mesh,
  ring,
  hybrid,
  hybrid_windows,
  uneven,
  one_host,
  doubling,
  halving,
  tree,
  automatic
};

inline const char* name_of(Over over) {
  constexpr const char* kNames[] = {"board",    "windows",        "mesh",   "ring",
                                    "hybrid",   "hybrid_windows", "uneven", "one_host",
                                    "doubling", "halving",        "tree",   "automatic"};
  return kNames[static_cast<int>(over)];
}

// How many ranks each host has; empty: hosts do not matter.
inline std::vector<int> ranks_of_hosts(Over over, int size) {
  const auto repeated = [size](std::vector<int> pattern) {
    std::vector<int> out;
    for (int left = size; left > 0; left -= out.back())
      out.push_back(std::min(left, pattern[out.size() % pattern.size()]));
    return out;
  };
  switch (over) {
    case Over::hybrid:
    case Over::hybrid_windows:
      return repeated({2});
    case Over::uneven:
      return repeated({2, 1, 3});
    case Over::one_host:
      return {size};
    default:
      return {};
  }
}

// How each rank gets its group; called on the rank's thread.
using Connect = std::function<std::shared_ptr<ProcessGroup>(double seconds)>;

// wrap: what networks of hosts are given to the ranks as, none: as they are.
using Wrap = std::function<std::shared_ptr<Network>(std::shared_ptr<Network>)>;
inline std::vector<Connect> connections(Over over, int size, const Wrap& wrap = nullptr) {
  std::vector<Connect> out;
  if (over == Over::board || over == Over::windows) {
    for (auto& engine : thread_engines(size, over == Over::board))
      out.push_back([engine](double seconds) mutable {
        return ProcessGroup::world(std::move(engine), seconds);
      });
  } else if (const std::vector<int> each = ranks_of_hosts(over, size); !each.empty()) {
    std::vector<std::string> hosts;
    std::vector<std::shared_ptr<Engine>> engines;
    for (size_t h = 0; h < each.size(); ++h) {
      auto here = thread_engines(each[h], over != Over::hybrid_windows);
      if (each[h] == 1) here = {nullptr};
      engines.insert(engines.end(), here.begin(), here.end());
      hosts.insert(hosts.end(), static_cast<size_t>(each[h]), std::to_string(h));
    }
    size_t rank = 0;
    for (auto& network : thread_networks(size)) {
      if (wrap) network = wrap(network);
      out.push_back([network, hosts, engine = engines[rank++]](double seconds) mutable {
        return ProcessGroup::world(
            Hybrid::world(std::move(network), Algorithm::shares, std::move(engine), hosts, seconds),
            seconds);
      });
    }
  } else {
    const Algorithm algorithm = algorithm_of(over == Over::mesh ? "shares" : name_of(over));
    for (auto& network : thread_networks(size))
      out.push_back([network, algorithm](double seconds) mutable {
        return ProcessGroup::world(Mesh::world(std::move(network), algorithm, seconds), seconds);
      });
  }
  return out;
}

// Runs body(group) on `size` threads, one a rank. Returns what each rank threw, empty if nothing.
inline std::vector<std::string> run_ranks(Over over, int size, double seconds,
                                          const std::function<void(ProcessGroup&)>& body,
                                          const Wrap& wrap = nullptr) {
  std::vector<Connect> connect = connections(over, size, wrap);
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (size_t r = 0; r < errors.size(); ++r)
    threads.emplace_back([&, r, mine = std::exchange(connect[r], nullptr)]() mutable {
      try {
        auto group = mine(seconds);
        mine = nullptr;
        body(*group);
      } catch (const std::exception& e) {
        errors[r] = e.what();
      }
    });
  for (auto& t : threads) t.join();
  return errors;
}

// How long ranks wait for each other where they all come: against hangs alone. Of 64 threads under
// the thread sanitizer, on a busy machine, some begin after many seconds.
#ifdef __SANITIZE_THREAD__
inline constexpr double kPatience = 200;
#else
inline constexpr double kPatience = 20;
#endif

// A test for each way to connect ranks.
class Ranks : public testing::TestWithParam<Over> {
 public:
  std::vector<std::string> run_ranks(int size, double seconds,
                                     const std::function<void(ProcessGroup&)>& body) {
    return comm::run_ranks(GetParam(), size, seconds, body);
  }
  // Fails the test where a rank threw.
  void with_ranks(int size, const std::function<void(ProcessGroup&)>& body) {
    for (const std::string& error : run_ranks(size, kPatience, body)) EXPECT_EQ(error, "");
  }
};

inline std::string name_of_way(const testing::TestParamInfo<Over>& info) {
  return name_of(info.param);
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

#pragma once

#include <cstdint>
#include <random>
#include <vector>

// What kernels that go along one axis are tested with.
namespace argosy::cpu {

template <class T>
std::vector<T> random_values(int64_t n, double low, double high) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform(static_cast<float>(low), static_cast<float>(high));
  std::vector<T> x(n);
  for (T& v : x) v = T(uniform(random));
  return x;
}

// The axis has n elements, `inner` apart.
struct Shape {
  int64_t outer, n, inner;
};
inline constexpr Shape kShapes[] = {{1, 1, 1},   {3, 7, 1},   {2, 50, 3}, {1, 2000, 1},
                                    {2, 9, 130}, {4, 600, 5}, {2, 0, 3}};

}  // namespace argosy::cpu

#pragma once

#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

// Numbers that kernels are tested with.
namespace argosy::cpu {

template <class T>
std::vector<T> random_values(int64_t n, double low = -1, double high = 1, unsigned seed = 11) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(static_cast<float>(low), static_cast<float>(high));
  std::vector<T> values(static_cast<size_t>(n));
  for (T& v : values) v = T(uniform(engine));
  return values;
}

template <class T>
double wide(T v) {
  if constexpr (std::is_same_v<T, double>)
    return v;
  else
    return static_cast<float>(v);
}

// Of kernels that go along one axis: of n elements, `inner` apart.
struct Shape {
  int64_t outer, n, inner;
};
inline constexpr Shape kShapes[] = {{1, 1, 1},   {3, 7, 1},   {2, 50, 3}, {1, 2000, 1},
                                    {2, 9, 130}, {4, 600, 5}, {2, 0, 3}};

}  // namespace argosy::cpu

#pragma once

#include <bit>
#include <vector>

namespace argosy::comm {

// A binomial tree whose root is the rank `root`: whom a rank hears, and to whom it passes on.
struct Tree {
  int parent = -1;
  std::vector<int> children;  // those with most below them first
  Tree(int rank, int size, int root) {
    const int place = (rank + size - root) % size;
    const auto rank_at = [&](int p) { return (p + root) % size; };
    int reach =
        place ? place & -place : static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
    if (place) parent = rank_at(place & (place - 1));
    for (reach /= 2; reach; reach /= 2)
      if (place + reach < size) children.push_back(rank_at(place + reach));
  }
};

}  // namespace argosy::comm

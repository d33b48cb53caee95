#include "argosy/base/parallel.h"

#include <algorithm>

namespace argosy {

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  grain = std::max<int64_t>(grain, 1);
  for (int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain));
}

int num_threads() {
  return 1;
}
void set_num_threads(int) {}
bool in_parallel_region() {
  return false;
}

}  // namespace argosy

#include "argosy/kernels/cuda/loops.h"

#include <unordered_map>

namespace argosy::cuda {
namespace {

using Map = std::unordered_map<const cpu::LoopTable*, DeviceLoop>;

Map loops_of_now() {
  Map map;
#define ARGOSY_ENTER(name) map[&cpu::name##_loops()] = name##_loop;
  ARGOSY_ALL_LOOPS(ARGOSY_ENTER)
#undef ARGOSY_ENTER
  return map;
}

}  // namespace

DeviceLoop find_loop(const cpu::LoopTable* table) {
  static const Map map = loops_of_now();
  const auto found = map.find(table);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace argosy::cuda

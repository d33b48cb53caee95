#pragma once

#include <cstdint>
#include <string>

#include "argosy/base/dtype.h"

namespace argosy::comm {

enum class Kind : uint8_t {
  barrier,
  all_reduce,
  reduce,
  broadcast,
  all_gather,    // equal counts
  all_gather_v,  // each rank's own
  gather,
  scatter,
  reduce_scatter,
  alltoall,  // segments of any sizes
  send,
  recv,
  new_group,
};
ARGOSY_API const char* name_of(Kind kind);

enum class Reduce : uint8_t { none, sum, prod, max, min, avg };
ARGOSY_API const char* name_of(Reduce op);

// What a rank is about to do. Ranks show it to each other before any data moves: 32 bytes, compared
// as they are. Unequal sizes (all_gather_v, alltoall) are no part of it: they are compared next.
struct Header {
  uint32_t group = 0;
  Kind kind = Kind::barrier;
  DType dtype = DType::uint8;
  Reduce op = Reduce::none;
  uint8_t way = 0;      // kBetweenDevices, kChecked
  int32_t root = -1;    // number in the group, -1: none; new_group: its Algorithm, -1: the world's
  uint32_t detail = 0;  // new_group: of which ranks, a hash; all_reduce over links: Mesh::rules
  uint64_t sequence = 0;  // of the group's collectives
  uint64_t count = 0;     // elements of this rank's tensor
};
static_assert(sizeof(Header) == 32);
// Bits of Header::way.
inline constexpr uint8_t kChecked = 1;         // over links with checksums
inline constexpr uint8_t kBetweenDevices = 2;  // not through the host (comm/device_group.h)

bool operator==(const Header& a, const Header& b);
// "all_reduce(sum) of 4 float32", "broadcast from rank 2 of 4 float32".
ARGOSY_API std::string describe(const Header& h);

}  // namespace argosy::comm

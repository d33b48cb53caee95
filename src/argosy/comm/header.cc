#include "argosy/comm/header.h"

#include <cstring>

#include "argosy/base/error.h"
#include "argosy/comm/choice.h"

namespace argosy::comm {

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {
      "barrier", "all_reduce",     "reduce",   "broadcast", "all_gather", "all_gather", "gather",
      "scatter", "reduce_scatter", "alltoall", "send",      "recv",       "new_group"};
  return kNames[static_cast<int>(kind)];
}

const char* name_of(Reduce op) {
  constexpr const char* kNames[] = {"none", "sum", "prod", "max", "min", "avg"};
  return kNames[static_cast<int>(op)];
}

bool operator==(const Header& a, const Header& b) {
  return std::memcmp(&a, &b, sizeof(Header)) == 0;
}

std::string describe(const Header& h) {
  Message m;
  m << name_of(h.kind);
  if (h.op != Reduce::none) m << '(' << name_of(h.op) << ')';
  if (h.kind == Kind::barrier) return m.str();
  if (h.kind == Kind::new_group) {
    m << " of " << h.count << " ranks (list " << h.detail << ')';
    if (h.root >= 0) m << " by " << name_of(static_cast<Algorithm>(h.root));
    return m.str();
  }
  if (h.kind == Kind::send) {
    m << " to member " << static_cast<int>(h.root);
  } else if (h.kind == Kind::recv || h.kind == Kind::broadcast || h.kind == Kind::scatter) {
    m << " from member " << static_cast<int>(h.root);
  } else if (h.root >= 0) {
    m << " to member " << static_cast<int>(h.root);
  }
  if (h.kind == Kind::all_gather_v || h.kind == Kind::alltoall)
    m << " of unequal sizes, " << h.dtype;
  else
    m << " of " << h.count << ' ' << h.dtype;
  if (h.way & kBetweenDevices) m << " between devices";
  return m.str();
}

}  // namespace argosy::comm

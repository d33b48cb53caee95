#pragma once

#include "argosy/base/error.h"
#include "argosy/program/serialize.h"
#include "argosy/program/text.h"
#include "fuzz.h"

namespace argosy::fuzz {

// What every Program that verifies must stand: copies, bytes and text that say the same.
inline void check_round_trips(const program::Program& p) {
  const std::string printed = p.print();
  if (p.clone()->print() != printed) die("a clone differs");
  const std::string bytes = program::serialize(p);
  if (program::serialize(*program::deserialize(bytes)) != bytes) die("bytes do not come back");
  std::vector<Tensor> constants;
  for (const program::Constant& c : p.constants) constants.push_back(c.tensor);
  if (program::parse(printed, constants)->print() != printed) die("text does not come back");
}

}  // namespace argosy::fuzz

#pragma once

#include <string>
#include <vector>

#include "argosy/program/program.h"

// What running a Program takes, op by op, from shapes alone.
namespace argosy::program {

// One run of an operation that owns no blocks, by its op's rule or by shapes. Sizes that are not
// known count as `unknown`, and so do numbers in its attributes that the run makes.
ARGOSY_API op::Cost cost_of(const Operation& o, int64_t unknown = 1);

struct OpCost {
  std::string op;
  int64_t count = 0;       // operations in the text
  double arithmetic = 0;   // arithmetic operations of one run
  double bytes = 0;        // read and written
  int64_t parameters = 0;  // elements of trainable state that they read, each state once
  bool estimated = false;  // no rule: one operation for each element of the results
};

// By op, the most arithmetic first. Sizes that are not known count as `unknown`; blocks count once,
// whichever branch is taken and however often a loop goes round.
ARGOSY_API std::vector<OpCost> cost(const Program& p, int64_t unknown = 1);

}  // namespace argosy::program

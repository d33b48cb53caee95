#pragma once

#include <functional>

#include "argosy/infer/onnx/node.h"

namespace argosy::infer::onnx {

// One round of a loop.
struct Round {
  Tensor proceed;               // undefined: as long as there are rounds
  Items carried;                // what the next round starts from
  std::vector<Tensor> scanned;  // one element of each result that collects all rounds
};

struct Loop {
  Tensor count;    // int64 of one element; undefined: as long as `proceed` holds
  Tensor proceed;  // before the first round; undefined: true
  Items carried;
  bool checks =
      false;  // the body gives `proceed`, so how many rounds there are is not known before
  // round: 0-d int64. What it makes is recorded, so it may be called more than once.
  std::function<Round(const Tensor& round, const Tensor& proceed, const Items& carried)> body;
};

// The last carried values, then all elements of what was scanned, stacked along a first axis.
// Unrolled where sequences are carried or rounds are few and known, else a `while` of the Program.
Items run_loop(const Node& n, const Loop& loop);

}  // namespace argosy::infer::onnx

#pragma once

#include <functional>

#include "argosy/infer/paddle/common.h"

// Batches of sequences, whose rows stand one after the other, and loops over their steps.
namespace argosy::infer::paddle {

// The rows [T, ..] of S sequences as [S, longest, ..] and back.
class Padded {
 public:
  // backwards: from each sequence's last row to its first.
  Padded(const Tensor& lengths, bool backwards = false);

  const Tensor& longest() const { return longest_; }  // 0-d int64
  const Tensor& lengths() const { return lengths_; }
  // Behind a sequence's end some row of the batch stands.
  Tensor pad(const Tensor& rows) const;
  Tensor unpad(const Tensor& padded) const;
  Tensor owner() const { return owner_; }        // int64 [T]: the sequence of each row
  Tensor position() const { return position_; }  // int64 [T]: the row's place in it, from its start
  Tensor inside() const;                         // bool [S, longest]

 private:
  Tensor lengths_, longest_, owner_, position_, starts_;
  bool backwards_;
};

// while (i < count) { i, states = i + 1, step(i, states) }; what `step` gives first, stacked along
// a new first axis, then the last states. i: 0-d int64. The forms of states must not change.
struct Step {
  Tensor out;  // may be undefined: nothing is collected
  std::vector<Tensor> states;
};
struct Stepped {
  Tensor outs;
  std::vector<Tensor> states;
};
Stepped run_steps(
    const Node& n, const Tensor& count, std::vector<Tensor> states,
    const std::function<Step(const Tensor& i, const std::vector<Tensor>& states)>& step);

}  // namespace argosy::infer::paddle

#pragma once

#include <string_view>
#include <utility>

// Ops that nobody calls by their own names: what errors about their operands call them.
namespace argosy::ops {

// What the caller of the op wrote; lives as long as `op` does.
inline const char* called_name(const char* op) {
  constexpr std::pair<std::string_view, const char*> kCalled[] = {
      {"take_slices", "gather, index_select"},
      {"add_slices", "index_add"},
      {"take_along", "take_along_axis, index_sample"},
      {"put_along", "put_along_axis"},
      {"combine_along", "put_along_axis"},
      {"index_get", "gather_nd, x[..]"},
      {"index_put", "scatter, index_put, x[..]"},
      {"select_class", "cross_entropy, nll_loss"},
      {"spread_class", "cross_entropy, nll_loss"},
      {"class_weights", "cross_entropy, nll_loss"},
      {"hard_cross_entropy", "cross_entropy"},
  };
  for (const auto& [own, called] : kCalled)
    if (own == op) return called;
  return op;
}

}  // namespace argosy::ops

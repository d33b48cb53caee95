#include "argosy/infer/deciders.h"

#include <set>

#include "argosy/program/builder.h"

namespace argosy::infer {

std::vector<Decider> deciders_of(const program::Program& p, const Tensor& t, bool sizes) {
  std::vector<Decider> found;
  std::set<std::pair<const program::Value*, bool>> seen;
  std::vector<std::pair<const program::Value*, bool>> open{{program::value_of(t), sizes}};
  const auto add = [&](const program::Value& v, bool value) {
    if (value || !v.shape.known()) found.push_back({&v, value});
  };
  while (!open.empty()) {
    const auto [v, sizes_only] = open.back();
    open.pop_back();
    if (!v || !seen.insert({v, sizes_only}).second) continue;
    if (!v->producer && v->block == &p.main) {
      add(*v, !sizes_only);
    } else if (!v->producer) {
      // An argument of a block: from which values outside is not told before it is closed.
      for (const auto& input : p.main.arguments)
        add(*input, is_integral(input->dtype) || input->dtype == DType::bool_);
    } else {
      const program::Operation& o = *v->producer;
      for (size_t i = 0; i < o.operands.size(); ++i) {
        const bool is_attr = i >= o.inputs().size();
        const size_t input = o.ends.empty() ? i : 0;
        const bool reads_sizes = !is_attr && input < o.op->inputs.size() &&
                                 o.op->inputs[input].reads == op::Reads::shape;
        open.emplace_back(o.operands[i].get(), !is_attr && (sizes_only || reads_sizes));
      }
    }
  }
  return found;
}

}  // namespace argosy::infer

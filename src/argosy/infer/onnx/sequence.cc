#include "argosy/infer/onnx/common.h"
#include "onnx.pb.h"

// Sequences, which are lists of tensors while a model is imported: how many elements one has is
// part of the Program. Optionals.
namespace argosy::infer::onnx {
namespace {

// The place that input i names among `size` ones, counted from the end where it is negative.
size_t place_of(const Node& n, size_t i, size_t size) {
  int64_t place = n.known_integer(i);
  if (place < 0) place += static_cast<int64_t>(size);
  n.expect(place >= 0 && place < static_cast<int64_t>(size), "there is no such element");
  return static_cast<size_t>(place);
}

Items construct(const Node& n) {
  return {Item::sequence(n.tensors())};
}

Items empty(const Node& n) {
  n.element_attribute("dtype", kFloat);
  return {Item::sequence({})};
}

Items element_at(const Node& n) {
  const std::vector<Tensor>& s = n.sequence(0);
  return {s[place_of(n, 1, s.size())]};
}

Items insert(const Node& n) {
  std::vector<Tensor> s = n.sequence(0);
  const size_t place = n.has(2) ? place_of(n, 2, s.size() + 1) : s.size();
  s.insert(s.begin() + static_cast<std::ptrdiff_t>(place), n.in(1));
  return {Item::sequence(std::move(s))};
}

Items erase(const Node& n) {
  std::vector<Tensor> s = n.sequence(0);
  n.expect(!s.empty(), "there is no element to take out");
  const size_t place = n.has(1) ? place_of(n, 1, s.size()) : s.size() - 1;
  s.erase(s.begin() + static_cast<std::ptrdiff_t>(place));
  return {Item::sequence(std::move(s))};
}

Items length(const Node& n) {
  return {ops::constant(op::Scalar(static_cast<int64_t>(n.sequence(0).size())), DType::int64)};
}

Items split(const Node& n) {
  const Tensor& x = n.in(0);
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  const bool keep = n.flag("keepdims", true);
  int64_t size = x.dim(axis);
  if (size < 0) n.session.need_shapes(n);
  std::vector<int64_t> sizes(static_cast<size_t>(size), 1);
  if (n.has(1)) {
    const std::vector<int64_t> given = n.known(1);
    sizes = given;
    if (n.rank(1) == 0) {
      n.expect(given[0] > 0, "the size of a part has to be positive");
      sizes.clear();
      for (int64_t left = size; left > 0; left -= given[0])
        sizes.push_back(std::min(left, given[0]));
    }
  }
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (int64_t part : sizes) {
    const Tensor t = ops::slice(x, axis, begin, begin + part);
    parts.push_back(keep || n.has(1) ? t : ops::squeeze(t, op::IntArray{axis}));
    begin += part;
  }
  n.expect(begin == size, "the sizes do not add up to the dimension");
  return {Item::sequence(std::move(parts))};
}

Items concat(const Node& n) {
  const std::vector<Tensor>& s = n.sequence(0);
  n.expect(!s.empty(), "an empty sequence has nothing to concatenate");
  const bool fresh = n.flag("new_axis");
  const int axis = n.axis(n.integer("axis"), s[0].rank() + (fresh ? 1 : 0));
  return {fresh ? ops::stack(s, axis) : ops::concat(s, axis)};
}

// The body for each element, with those of the other sequences at its place.
Items map(const Node& n) {
  const file::Graph& body = n.graph("body");
  std::vector<std::vector<Tensor>> out(n.outputs());
  for (size_t i = 0; i < n.sequence(0).size(); ++i) {
    Items in;
    for (size_t k = 0; k < n.inputs(); ++k) {
      if (n.item(k).kind != Item::Kind::sequence) {
        in.push_back(n.item(k));
        continue;
      }
      n.expect(i < n.sequence(k).size(), "the sequences have to be of one length");
      in.emplace_back(n.sequence(k)[i]);
    }
    const Items made = n.session.run(body, in);
    n.expect(made.size() >= out.size(), "the body gives too few values");
    for (size_t k = 0; k < out.size(); ++k) out[k].push_back(made[k].tensor);
  }
  Items items;
  for (auto& list : out) items.push_back(Item::sequence(std::move(list)));
  return items;
}

Items optional(const Node& n) {
  n.has_attribute("type");
  return {n.has(0) ? n.item(0) : Item()};
}

Items get_element(const Node& n) {
  return {n.item(0)};
}

Items has_element(const Node& n) {
  return {ops::constant(op::Scalar(n.has(0)), DType::bool_)};
}

constexpr Row kRows[] = {
    {"ConcatFromSequence", concat},
    {"Optional", optional},
    {"OptionalGetElement", get_element},
    {"OptionalHasElement", has_element},
    {"SequenceAt", element_at},
    {"SequenceConstruct", construct},
    {"SequenceEmpty", empty},
    {"SequenceErase", erase},
    {"SequenceInsert", insert},
    {"SequenceLength", length},
    {"SequenceMap", map},
    {"SplitToSequence", split},
};

}  // namespace

std::span<const Row> sequence_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx

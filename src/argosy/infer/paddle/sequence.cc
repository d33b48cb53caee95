#include "argosy/ops/sequence/sequence.h"
#include "argosy/infer/paddle/steps.h"

// Operations on batches of sequences.
namespace argosy::infer::paddle {
namespace {

void sequence_pool(const Node& n) {
  std::string pool = n.text("pooltype", "AVERAGE");
  for (char& c : pool) c = static_cast<char>(std::tolower(c));
  n.out("Out", Item::without_lengths(
                   ops::sequence_pool(n.in("X"), n.lengths("X"), pool, n.real("pad_value", 0))));
}

void sequence_softmax(const Node& n) {
  const Tensor x = n.in("X"), lengths = n.lengths("X");
  const Padded p(lengths);
  const Tensor largest = ops::take_slices(ops::sequence_pool(x, lengths, "max"), p.owner(), 0);
  const Tensor e = ops::exp(ops::subtract(x, largest));
  n.out("Out",
        ops::divide(e, ops::take_slices(ops::sequence_pool(e, lengths, "sum"), p.owner(), 0)));
}

// Row i of x, or sequence i, as often as sequence i of y has rows.
void sequence_expand(const Node& n) {
  const Tensor x = n.in("X"), lengths = n.lengths("Y");
  if (n.has_lengths("X")) n.unsupported("sequence_expand of sequences");
  n.out("Out", Item(ops::take_slices(x, Padded(lengths).owner(), 0), lengths));
}

void sequence_conv(const Node& n) {
  const Tensor x = n.in("X"), lengths = n.lengths("X");
  const int64_t size = n.integer("contextLength", 3), start = n.integer("contextStart", -1);
  n.expect(size >= 1 && size <= 1024, "contextLength is impossible");
  if (n.integer("contextStride", 1) != 1) n.unsupported("contextStride");
  const Padded p(lengths);
  const Tensor own = ops::take_slices(lengths, p.owner(), 0);
  const Tensor rows = count_up_to(ops::size_of(x, 0, DType::int64));
  const Tensor zero = ops::constant(op::Scalar(int64_t{0}), DType::int64);
  std::vector<Tensor> parts;
  for (int64_t k = 0; k < size; ++k) {
    const Tensor shift = ops::constant(op::Scalar(start + k), DType::int64);
    const Tensor place = ops::add(p.position(), shift);
    const Tensor inside =
        ops::logical_and(ops::greater_equal(place, zero), ops::less_than(place, own));
    const Tensor row = ops::where(inside, ops::add(rows, shift), zero);
    parts.push_back(
        ops::multiply(ops::take_slices(x, row, 0), as(ops::unsqueeze(inside, {1}), x.dtype())));
  }
  n.out("Out", Item(ops::matmul(ops::concat(parts, 1), n.in("Filter")), lengths));
}

void sequence_pad(const Node& n) {
  const Tensor x = n.in("X"), lengths = n.lengths("X");
  if (n.integer("padded_length", -1) > 0) n.unsupported("padded_length");
  const Padded p(lengths);
  Tensor inside = p.inside();
  const Tensor padded = p.pad(x);
  while (inside.rank() < padded.rank()) inside = ops::unsqueeze(inside, {inside.rank()});
  n.out("Out", Item::without_lengths(ops::where(inside, padded, n.in("PadValue"))));
  n.out("Length", Item::without_lengths(lengths));
}

void sequence_unpad(const Node& n) {
  const Tensor x = n.in("X");
  const Tensor lengths = as(ops::reshape(n.in("Length"), {-1}), DType::int64);
  const Padded p(lengths);
  // The size of x's second dimension may be larger than the longest sequence.
  const Tensor place =
      ops::add(ops::multiply(p.owner(), ops::size_of(x, 1, DType::int64)), p.position());
  n.out("Out", Item(ops::take_slices(ops::flatten(x, 0, 1), place, 0), lengths));
}

void sequence_reverse(const Node& n) {
  const Tensor lengths = n.lengths("X");
  n.out("Y", Item(Padded(lengths, false).unpad(Padded(lengths, true).pad(n.in("X"))), lengths));
}

void sequence_mask(const Node& n) {
  const Tensor x = n.in("X");
  n.out("Y", call("sequence_mask", {x},
                  {{"maxlen", n.has("MaxLenTensor") ? n.numbers("", "MaxLenTensor")
                                                    : op::IntArray{n.integer("maxlen", -1)}},
                   {"dtype", n.dtype("out_dtype", DType::int64)}}));
}

// The same rows, cut into sequences as y is.
void lod_reset(const Node& n) {
  const Tensor x = n.in("X");
  if (n.has_lengths("Y")) return n.out("Out", Item(x, n.lengths("Y")));
  Tensor offsets;
  if (n.has("Y")) {
    offsets = as(n.in("Y"), DType::int64);
  } else {
    const std::vector<int64_t> given = n.integers("target_lod");
    offsets = Tensor::empty({static_cast<int64_t>(given.size())}, DType::int64);
    std::ranges::copy(given, offsets.data<int64_t>());
  }
  n.out("Out", Item(x, call("diff", {offsets}, {{"n", 1}, {"axis", 0}})));
}

// --- the most probable labels ---

Tensor whole_number(int64_t v) {
  return ops::constant(op::Scalar(v), DType::int64);
}

// The labels [S, longest] on the way to `best_end` [S]; `before`: for each step and label the best
// one before it, [longest, S, labels]. Behind a sequence's last step, where the way back begins, it
// is that of the end.
Tensor way_back(const Node& n, const Tensor& longest, const Tensor& lengths, const Tensor& before,
                const Tensor& best_end) {
  const Tensor one = whole_number(1), last = ops::subtract(longest, one);
  const Stepped back =
      run_steps(n, longest, {best_end}, [&](const Tensor& k, const std::vector<Tensor>& states) {
        const Tensor i = ops::subtract(last, k);
        const Tensor after = ops::take_slices(before, ops::minimum(ops::add(i, one), last), 0);
        const Tensor label = ops::squeeze(
            call("take_along", {after, ops::unsqueeze(states[0], {1})}, {{"axis", 1}}), {1});
        const Tensor is_end = ops::greater_equal(i, ops::subtract(lengths, one));
        const Tensor now = ops::where(is_end, best_end, label);
        return Step{now, {now}};
      });
  return ops::transpose(call("flip", {back.outs}, {{"axis", op::IntArray{0}}}), {1, 0});
}

// transitions: [2 + labels, labels]: of the first label, of the last one, from label to label.
void crf_decoding(const Node& n) {
  const Tensor scores = n.in("Emission"), transitions = n.in("Transition");
  if (n.has("Length")) n.unsupported("a padded batch");
  n.expect(transitions.rank() == 2, "transitions [2 + labels, labels] are expected");
  const Tensor lengths = n.lengths("Emission");
  const int64_t labels = transitions.dim(1);
  const Padded p(lengths);
  const Tensor padded = p.pad(scores);
  const Tensor first = ops::slice(transitions, 0, 0, 1), last = ops::slice(transitions, 0, 1, 2);
  const Tensor between = ops::unsqueeze(ops::slice(transitions, 0, 2, 2 + labels), {0});
  const Tensor zero = whole_number(0);
  const Tensor start = ops::add(ops::take_slices(padded, zero, 1), first);
  const Stepped forward =
      run_steps(n, p.longest(), {start}, [&](const Tensor& i, const std::vector<Tensor>& states) {
        const Tensor paths = ops::add(ops::unsqueeze(states[0], {2}), between);
        const Tensor next = ops::add(ops::max(paths, {1}), ops::take_slices(padded, i, 1));
        const Tensor stays =
            ops::logical_or(ops::unsqueeze(ops::less_equal(lengths, i), {1}), ops::equal(i, zero));
        return Step{ops::argmax(paths, 1), {ops::where(stays, states[0], next)}};
      });
  const Tensor best_end = ops::argmax(ops::add(forward.states[0], last), 1);
  Tensor path = way_back(n, p.longest(), lengths, forward.outs, best_end);
  path = ops::unsqueeze(p.unpad(path), {1});
  if (n.has("Label")) path = as(ops::equal(path, as(n.in("Label"), DType::int64)), DType::int64);
  n.out("ViterbiPath", Item(path, lengths));
}

// scores: [S, steps, labels], transitions: [labels, labels]. With tags the last label begins a
// sequence and the last but one ends it.
void viterbi_decode(const Node& n) {
  const Tensor scores = n.in("Input"), transitions = n.in("Transition");
  const Tensor lengths = as(n.in("Length"), DType::int64);
  const int64_t labels = std::max(transitions.dim(0), transitions.dim(1));
  const bool tagged = n.flag("include_bos_eos_tag", true);
  n.expect(scores.rank() == 3 && transitions.rank() == 2 && labels >= (tagged ? 2 : 1),
           "scores [batch, steps, labels] and transitions [labels, labels] are expected");
  const Tensor between = ops::unsqueeze(transitions, {0}), zero = whole_number(0);
  const Tensor last_step = ops::unsqueeze(ops::subtract(lengths, whole_number(1)), {1});
  const auto row = [&](int64_t i) { return ops::slice(transitions, 0, i, i + 1); };
  // What sequences that end with step i get for that.
  const auto with_end = [&](const Tensor& sum, const Tensor& i) {
    if (!tagged) return sum;
    const Tensor ends = as(ops::equal(last_step, i), sum.dtype());
    return ops::add(sum, ops::multiply(ends, row(labels - 2)));
  };
  Tensor start = ops::take_slices(scores, zero, 1);
  if (tagged) start = ops::add(start, row(labels - 1));
  const Tensor longest = ops::max(lengths, {0});
  const Stepped forward = run_steps(
      n, longest, {with_end(start, zero)}, [&](const Tensor& i, const std::vector<Tensor>& states) {
        const Tensor paths = ops::add(ops::unsqueeze(states[0], {2}), between);
        const Tensor next = ops::add(ops::max(paths, {1}), ops::take_slices(scores, i, 1));
        const Tensor stays = ops::logical_or(ops::less_than(last_step, i), ops::equal(i, zero));
        return Step{ops::argmax(paths, 1), {ops::where(stays, states[0], with_end(next, i))}};
      });
  const Tensor path =
      way_back(n, longest, lengths, forward.outs, ops::argmax(forward.states[0], 1));
  const Tensor inside = ops::less_equal(ops::unsqueeze(count_up_to(longest), {0}), last_step);
  n.out("Scores", ops::max(forward.states[0], {1}));
  n.out("Path", ops::multiply(path, as(inside, DType::int64)));
}

constexpr Row kRows[] = {
    {"sequence_pool", sequence_pool},     {"sequence_softmax", sequence_softmax},
    {"sequence_expand", sequence_expand}, {"sequence_expand_as", sequence_expand},
    {"sequence_conv", sequence_conv},     {"sequence_pad", sequence_pad},
    {"sequence_unpad", sequence_unpad},   {"sequence_reverse", sequence_reverse},
    {"sequence_mask", sequence_mask},     {"lod_reset", lod_reset},
    {"crf_decoding", crf_decoding},       {"viterbi_decode", viterbi_decode},
};

}  // namespace

std::span<const Row> sequence_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle

#include "argosy/infer/paddle/steps.h"

// Recurrent layers: those over tensors, and the older ones over batches of sequences, whose inputs
// have been multiplied by their weights already.
namespace argosy::infer::paddle {
namespace {

// --- rnn: [steps, batch, size], all layers and directions at once ---

struct Direction {
  Tensor w_ih, w_hh, b_ih, b_hh;
};

std::vector<Direction> directions_of(const Node& n, size_t count) {
  const std::vector<Tensor> all = n.tensors("WeightList");
  n.expect(all.size() == 4 * count || all.size() == 2 * count, "a wrong number of weights");
  std::vector<Direction> list;
  for (size_t i = 0; i < count; ++i) {
    Direction d{all[2 * i], all[2 * i + 1], {}, {}};
    if (all.size() == 4 * count) {
      d.b_ih = all[2 * count + 2 * i];
      d.b_hh = all[2 * count + 2 * i + 1];
    }
    list.push_back(d);
  }
  return list;
}

void rnn(const Node& n) {
  const std::string mode = n.text("mode", "LSTM");
  const auto layers = static_cast<size_t>(std::clamp<int64_t>(n.integer("num_layers", 1), 1, 1024));
  const size_t ways = n.flag("is_bidirec") ? 2 : 1;
  const std::vector<Direction> directions = directions_of(n, layers * ways);
  const std::vector<Tensor> before = n.tensors("PreState");
  const bool lstm = mode == "LSTM";
  n.expect(before.size() == (lstm ? 2 : 1), "a wrong number of states");
  Tensor lengths = n.optional("SequenceLength");
  if (lengths.defined()) lengths = as(lengths, DType::int32);
  Tensor x = n.in("Input");
  std::vector<Tensor> last_h, last_c;
  for (size_t layer = 0; layer < layers; ++layer) {
    std::vector<Tensor> outs;
    for (size_t way = 0; way < ways; ++way) {
      const size_t at = layer * ways + way;
      const Direction& d = directions[at];
      const auto place = static_cast<int64_t>(at);
      const Tensors all = call_all(
          "rnn_direction",
          {x, ops::pick(before[0], 0, place), lstm ? ops::pick(before[1], 0, place) : Tensor(),
           d.w_ih, d.w_hh, d.b_ih, d.b_hh, lengths},
          {{"mode", mode}, {"time_major", true}, {"reverse", way == 1}});
      outs.push_back(all[0]);
      last_h.push_back(all[1]);
      if (lstm) last_c.push_back(all[2]);
    }
    x = outs.size() == 1 ? outs[0] : ops::concat(outs, -1);
  }
  n.out("Out", x);
  std::vector<Tensor> states{ops::stack(last_h, 0)};
  if (lstm) states.push_back(ops::stack(last_c, 0));
  n.out_list("State", states);
}

// --- gru, lstm: batches of sequences ---

Tensor columns(const Tensor& x, int64_t begin, int64_t size) {
  return ops::slice(x, 1, begin, begin + size);
}

// A state of zeros for each sequence, or what is given.
Tensor first_state(const Node& n, const char* slot, const Tensor& lengths, int64_t size,
                   DType dtype) {
  if (n.has(slot)) return n.in(slot);
  op::IntArray shape;
  ops::push_size(shape, lengths, 0);
  shape.values.push_back(size);
  return ops::full(shape, op::Scalar(0.0), dtype);
}

Tensor row_of_step(const Tensor& padded, const Tensor& i) {
  return ops::take_slices(padded, i, 1);
}

Tensor ended(const Padded& p, const Tensor& i) {
  return ops::unsqueeze(ops::less_equal(p.lengths(), i), {1});
}

// [steps, S, size] as [S, steps, size].
Tensor batch_first(const Tensor& x) {
  return ops::transpose(x, {1, 0, 2});
}

struct Gru {
  int64_t size;
  Tensor gates, candidate;  // weights of the state
  std::string gate_activation, activation;
  bool origin;  // does the update gate keep the state, rather than take the new one?

  Tensor step(const Node& n, const Tensor& x, const Tensor& h) const {
    const Tensor ur =
        activate(n, ops::add(columns(x, 0, 2 * size), ops::matmul(h, gates)), gate_activation);
    const Tensor u = columns(ur, 0, size), r = columns(ur, size, size);
    const Tensor c = activate(
        n, ops::add(columns(x, 2 * size, size), ops::matmul(ops::multiply(r, h), candidate)),
        activation);
    const Tensor change = ops::multiply(u, ops::subtract(c, h));
    return origin ? ops::subtract(c, change) : ops::add(h, change);
  }
};

// The weight is that of the two gates, [size, 2 * size], then that of the candidate, [size, size].
Gru gru_of(const Node& n) {
  const Tensor weight = n.in("Weight");
  Gru g{weight.dim(0),
        {},
        {},
        n.text("gate_activation", "sigmoid"),
        n.text("activation", "tanh"),
        n.flag("origin_mode")};
  n.expect(weight.rank() == 2 && weight.dim(1) == 3 * g.size, "the weight is not [size, 3 * size]");
  const int64_t gates = 2 * g.size * g.size;
  const Tensor flat = ops::reshape(weight, {-1});
  g.gates = ops::reshape(ops::slice(flat, 0, 0, gates), {g.size, 2 * g.size});
  g.candidate = ops::reshape(ops::slice(flat, 0, gates, gates + g.size * g.size), {g.size, g.size});
  return g;
}

void gru(const Node& n) {
  const Gru g = gru_of(n);
  const Tensor lengths = n.lengths("Input");
  Tensor x = n.in("Input");
  if (n.has("Bias")) x = ops::add(x, n.in("Bias"));
  const Padded p(lengths, n.flag("is_reverse"));
  const Tensor padded = p.pad(x);
  const Stepped all = run_steps(n, p.longest(), {first_state(n, "H0", lengths, g.size, x.dtype())},
                                [&](const Tensor& i, const std::vector<Tensor>& states) {
                                  const Tensor h =
                                      ops::where(ended(p, i), states[0],
                                                 g.step(n, row_of_step(padded, i), states[0]));
                                  return Step{h, {h}};
                                });
  n.out("Hidden", Item(p.unpad(batch_first(all.outs)), lengths));
}

void gru_unit(const Node& n) {
  const auto name = [&](const char* attribute, int64_t otherwise) -> std::string {
    static constexpr const char* kNames[] = {"identity", "sigmoid", "tanh", "relu"};
    const int64_t i = n.integer(attribute, otherwise);
    return i >= 0 && i < 4 ? kNames[i] : "unknown";
  };
  Gru g = gru_of(n);
  g.gate_activation = name("gate_activation", 1);
  g.activation = name("activation", 2);
  Tensor x = n.in("Input");
  if (n.has("Bias")) x = ops::add(x, n.in("Bias"));
  n.out("Hidden", g.step(n, x, n.in("HiddenPrev")));
}

struct Lstm {
  int64_t size;
  Tensor weight;            // of the state: candidate, input, forget, output
  Tensor to_i, to_f, to_o;  // of the cell, undefined without peepholes
  std::string gate, cell, candidate;

  Step step(const Node& n, const Tensor& x, const Tensor& h, const Tensor& c) const {
    const Tensor all = ops::add(x, ops::matmul(h, weight));
    const auto gated = [&](int64_t k, const Tensor& peephole, const Tensor& cell_state) {
      const Tensor part = columns(all, k * size, size);
      return activate(
          n, peephole.defined() ? ops::add(part, ops::multiply(peephole, cell_state)) : part, gate);
    };
    const Tensor made = activate(n, columns(all, 0, size), candidate);
    const Tensor next =
        ops::add(ops::multiply(gated(2, to_f, c), c), ops::multiply(gated(1, to_i, c), made));
    const Tensor out = ops::multiply(gated(3, to_o, next), activate(n, next, cell));
    return {out, {out, next}};
  }
};

void lstm(const Node& n) {
  const Tensor weight = n.in("Weight"), lengths = n.lengths("Input");
  Lstm l{weight.dim(0),
         weight,
         {},
         {},
         {},
         n.text("gate_activation", "sigmoid"),
         n.text("cell_activation", "tanh"),
         n.text("candidate_activation", "tanh")};
  n.expect(weight.rank() == 2 && weight.dim(1) == 4 * l.size, "the weight is not [size, 4 * size]");
  Tensor x = n.in("Input");
  if (n.has("Bias")) {
    const Tensor bias = n.in("Bias");
    x = ops::add(x, columns(bias, 0, 4 * l.size));
    if (n.flag("use_peepholes", true)) {
      l.to_i = columns(bias, 4 * l.size, l.size);
      l.to_f = columns(bias, 5 * l.size, l.size);
      l.to_o = columns(bias, 6 * l.size, l.size);
    }
  }
  const Padded p(lengths, n.flag("is_reverse"));
  const Tensor padded = p.pad(x);
  const Stepped all = run_steps(n, p.longest(),
                                {first_state(n, "H0", lengths, l.size, x.dtype()),
                                 first_state(n, "C0", lengths, l.size, x.dtype())},
                                [&](const Tensor& i, const std::vector<Tensor>& states) {
                                  const Step made =
                                      l.step(n, row_of_step(padded, i), states[0], states[1]);
                                  const Tensor end = ended(p, i);
                                  const Tensor h = ops::where(end, states[0], made.states[0]);
                                  const Tensor c = ops::where(end, states[1], made.states[1]);
                                  const std::vector<Tensor> both{h, c};
                                  return Step{ops::concat(both, 1), {h, c}};
                                });
  const Tensor rows = p.unpad(batch_first(all.outs));
  n.out("Hidden", Item(columns(rows, 0, l.size), lengths));
  n.out("Cell", Item(columns(rows, l.size, l.size), lengths));
}

// One step, its gates in the order input, forget, output, candidate.
void lstm_unit(const Node& n) {
  const Tensor x = n.in("X"), before = n.in("C_prev");
  const int64_t size = before.dim(-1);
  n.expect(size > 0, "the size of the state is not known");
  const Tensor i = ops::sigmoid(columns(x, 0, size));
  const Tensor f = ops::sigmoid(ops::scale(columns(x, size, size), 1, n.real("forget_bias", 0)));
  const Tensor o = ops::sigmoid(columns(x, 2 * size, size));
  const Tensor c =
      ops::add(ops::multiply(f, before), ops::multiply(i, ops::tanh(columns(x, 3 * size, size))));
  n.out("C", c);
  n.out("H", ops::multiply(o, ops::tanh(c)));
}

constexpr Row kRows[] = {
    {"rnn", rnn}, {"gru", gru}, {"gru_unit", gru_unit}, {"lstm", lstm}, {"lstm_unit", lstm_unit},
};

}  // namespace

std::span<const Row> rnn_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle

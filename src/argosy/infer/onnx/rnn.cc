#include "argosy/infer/onnx/rnn.h"

#include "argosy/infer/onnx/common.h"
#include "argosy/infer/onnx/loop.h"

// LSTM, GRU and RNN: by our kernel over whole sequences where it does what is asked for, else by
// their steps in a loop.
namespace argosy::infer::onnx {
namespace {

using Activation = std::function<Tensor(const Tensor&)>;

struct Layer {
  std::string kind;  // LSTM, GRU, RNN
  int64_t hidden = 0;
  int64_t gates = 0;
  bool plain = true;  // activations are the usual ones, and nothing special is asked for
  bool linear_before_reset = false, input_forget = false;
  double clip = 0;
  std::vector<std::string> names;  // of activations, for all directions
  std::vector<double> alpha, beta;
};

// Operands of one direction.
struct Direction {
  Tensor w, r, wb, rb, h, c, p;  // w and r are undefined where products are the caller's
  std::function<Tensor(const Tensor&)> times_w, times_r;
  bool reverse = false;
  std::vector<Activation> act;
};

Activation activation(const Node& n, const std::string& name, double alpha, double beta) {
  if (name == "Sigmoid") return [](const Tensor& x) { return ops::sigmoid(x); };
  if (name == "Tanh") return [](const Tensor& x) { return ops::tanh(x); };
  if (name == "Relu") return [](const Tensor& x) { return call("relu", {x}); };
  if (name == "Affine") return [=](const Tensor& x) { return ops::scale(x, alpha, beta); };
  if (name == "LeakyRelu")
    return [=](const Tensor& x) { return call("leaky_relu", {x}, {{"negative_slope", alpha}}); };
  if (name == "ThresholdedRelu")
    return [=](const Tensor& x) { return call("thresholded_relu", {x}, {{"threshold", alpha}}); };
  if (name == "ScaledTanh")
    return [=](const Tensor& x) { return ops::scale(ops::tanh(ops::scale(x, beta)), alpha); };
  if (name == "HardSigmoid")
    return [=](const Tensor& x) {
      return call("hardsigmoid", {x}, {{"slope", alpha}, {"offset", beta}});
    };
  if (name == "Elu") return [=](const Tensor& x) { return call("elu", {x}, {{"alpha", alpha}}); };
  if (name == "Softsign") return [](const Tensor& x) { return call("softsign", {x}); };
  if (name == "Softplus") return [](const Tensor& x) { return call("softplus", {x}); };
  n.unsupported("activation " + name);
}

// ONNX's defaults of alpha and beta.
std::pair<double, double> usual_numbers(const std::string& name) {
  if (name == "LeakyRelu") return {0.01, 0};
  if (name == "HardSigmoid") return {0.2, 0.5};
  return {1, name == "ScaledTanh" ? 1 : 0};
}

Layer layer_of(const Node& n, const std::string& kind, int64_t hidden) {
  Layer l;
  l.kind = kind;
  l.gates = kind == "LSTM" ? 4 : kind == "GRU" ? 3 : 1;
  l.hidden = n.integer("hidden_size", hidden);
  l.clip = n.real("clip", 0);
  l.linear_before_reset = kind == "GRU" && n.flag("linear_before_reset");
  l.input_forget = kind == "LSTM" && n.flag("input_forget");
  const std::vector<std::string> usual =
      kind == "LSTM"  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
      : kind == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                      : std::vector<std::string>{"Tanh"};
  l.names = n.texts("activations");
  l.alpha = n.reals("activation_alpha");
  l.beta = n.reals("activation_beta");
  const auto directions = static_cast<size_t>(n.in(1).dim(0));
  if (l.names.empty())
    for (size_t d = 0; d < directions; ++d)
      l.names.insert(l.names.end(), usual.begin(), usual.end());
  n.expect(l.names.size() == usual.size() * directions, "activations: another number is expected");
  for (size_t i = 0; i < l.names.size(); ++i) {
    const bool relu = kind == "RNN" && l.names[i] == "Relu";
    l.plain = l.plain && (l.names[i] == usual[i % usual.size()] || relu);
  }
  l.plain = l.plain && l.clip == 0 && !l.input_forget && (kind != "GRU" || l.linear_before_reset);
  return l;
}

// Rows of a weight or a bias by gates, in another order.
Tensor reordered(const Tensor& x, const std::vector<int>& order, int64_t hidden) {
  std::vector<Tensor> parts;
  for (int gate : order) parts.push_back(ops::slice(x, 0, gate * hidden, (gate + 1) * hidden));
  return parts.size() == 1 ? x : ops::concat(parts, 0);
}

Items by_kernel(const Layer& l, const Direction& d, const Tensor& x, const Tensor& lengths) {
  const std::vector<int> order = l.kind == "LSTM"  ? std::vector<int>{0, 2, 3, 1}
                                 : l.kind == "GRU" ? std::vector<int>{1, 0, 2}
                                                   : std::vector<int>{0};
  auto ours = [&](const Tensor& t) { return t.defined() ? reordered(t, order, l.hidden) : t; };
  const std::string mode = l.kind != "RNN"        ? l.kind
                           : l.names[0] == "Relu" ? "RNN_RELU"
                                                  : "RNN_TANH";
  const Tensors out = call_all("rnn_direction",
                               {x, d.h, d.c, ours(d.w), ours(d.r), ours(d.wb), ours(d.rb),
                                lengths.defined() ? as(lengths, DType::int32) : lengths},
                               {{"mode", mode}, {"time_major", true}, {"reverse", d.reverse}});
  return {out[0], out[1], l.kind == "LSTM" ? out[2] : Tensor()};
}

class Steps {
 public:
  Steps(const Layer& l, const Direction& d) : l_(l), d_(d) {}

  // What all steps need of x [steps, batch, inputs].
  Tensor products(const Tensor& x) const { return biased(d_.times_w(x), d_.wb); }

  // The states after one step; fx is what `products` has for it.
  std::pair<Tensor, Tensor> step(const Tensor& fx, const Tensor& h, const Tensor& c) const {
    if (l_.kind == "LSTM") return lstm(fx, h, c);
    return {l_.kind == "GRU" ? gru(fx, h) : rnn(fx, h), c};
  }

 private:
  Tensor gate(const Tensor& all, int i) const {
    return ops::slice(all, 1, i * l_.hidden, (i + 1) * l_.hidden);
  }
  Tensor clipped(const Tensor& x) const {
    return l_.clip > 0 ? ops::clip(x, -l_.clip, l_.clip) : x;
  }
  Tensor biased(const Tensor& x, const Tensor& bias) const {
    return bias.defined() ? ops::add(x, bias) : x;
  }

  Tensor rnn(const Tensor& fx, const Tensor& h) const {
    return d_.act[0](clipped(ops::add(fx, biased(d_.times_r(h), d_.rb))));
  }

  Tensor gru(const Tensor& fx, const Tensor& h) const {
    const Tensor fh = biased(d_.times_r(h), d_.rb);
    const Tensor z = d_.act[0](clipped(ops::add(gate(fx, 0), gate(fh, 0))));
    const Tensor r = d_.act[0](clipped(ops::add(gate(fx, 1), gate(fh, 1))));
    Tensor part;
    if (l_.linear_before_reset) {
      part = ops::multiply(r, gate(fh, 2));
    } else {
      part = ops::matmul(ops::multiply(r, h), gate(ops::transpose(d_.r, {1, 0}), 2));
      if (d_.rb.defined())
        part = ops::add(part, ops::slice(d_.rb, 0, 2 * l_.hidden, 3 * l_.hidden));
    }
    const Tensor g = d_.act[1](clipped(ops::add(gate(fx, 2), part)));
    return ops::add(ops::multiply(ops::scale(z, -1, 1), g), ops::multiply(z, h));
  }

  std::pair<Tensor, Tensor> lstm(const Tensor& fx, const Tensor& h, const Tensor& c) const {
    const Tensor all = ops::add(fx, biased(d_.times_r(h), d_.rb));
    auto peep = [&](const Tensor& t, int i, const Tensor& cell) {
      if (!d_.p.defined()) return t;
      return ops::add(t,
                      ops::multiply(ops::slice(d_.p, 0, i * l_.hidden, (i + 1) * l_.hidden), cell));
    };
    const Tensor i = d_.act[0](clipped(peep(gate(all, 0), 0, c)));
    const Tensor f =
        l_.input_forget ? ops::scale(i, -1, 1) : d_.act[0](clipped(peep(gate(all, 2), 2, c)));
    const Tensor g = d_.act[1](clipped(gate(all, 3)));
    const Tensor cell = ops::add(ops::multiply(f, c), ops::multiply(i, g));
    const Tensor o = d_.act[0](clipped(peep(gate(all, 1), 1, cell)));
    return {ops::multiply(o, d_.act[2](cell)), cell};
  }

  const Layer& l_;
  const Direction& d_;
};

Items by_steps(const Node& n, const Layer& l, const Direction& d, const Tensor& x,
               const Tensor& lengths) {
  const Steps steps(l, d);
  const Tensor all = steps.products(x);
  Loop loop;
  const Tensor one = ops::constant(op::Scalar(int64_t{1}), DType::int64);
  loop.count = x.dim(0) >= 0 ? ops::constant(op::Scalar(x.dim(0)), DType::int64)
                             : ops::size_of(x, 0, DType::int64);
  loop.carried = {d.h};
  if (l.kind == "LSTM") loop.carried.emplace_back(d.c);
  loop.body = [&](const Tensor& round, const Tensor&, const Items& carried) {
    const Tensor t = d.reverse ? ops::subtract(ops::subtract(loop.count, one), round) : round;
    const Tensor h = carried[0].tensor, c = carried.size() > 1 ? carried[1].tensor : Tensor();
    auto [next_h, next_c] = steps.step(ops::take_slices(all, t, 0), h, c);
    Tensor y = next_h;
    if (lengths.defined()) {
      const Tensor within = ops::unsqueeze(ops::less_than(t, lengths), op::IntArray{1});
      y = ops::where(within, next_h, number(0, next_h));
      next_h = ops::where(within, next_h, h);
      if (c.defined()) next_c = ops::where(within, next_c, c);
    }
    Round r;
    r.carried = {next_h};
    if (c.defined()) r.carried.emplace_back(next_c);
    r.scanned = {y};
    return r;
  };
  Items out = run_loop(n, loop);
  Tensor y = out.back().tensor;
  if (d.reverse) y = call("flip", {y}, {{"axis", op::IntArray{0}}});
  return {y, out[0], l.kind == "LSTM" ? out[1] : Item()};
}

// Of a layer whose products are by `product`, if there is one.
void set_products(Direction& d, const Node& n, const WeightProduct* product, int64_t i) {
  if (product) {
    d.times_w = [product, i](const Tensor& x) { return (*product)(x, 1, i); };
    d.times_r = [product, i](const Tensor& h) { return (*product)(h, 2, i); };
    return;
  }
  d.w = ops::pick(n.in(1), 0, i);
  d.r = ops::pick(n.in(2), 0, i);
  const auto times = [](const Tensor& weight) {
    return [weight](const Tensor& x) { return ops::matmul(x, ops::transpose(weight, {1, 0})); };
  };
  d.times_w = times(d.w);
  d.times_r = times(d.r);
}

Items recurrent(const Node& n, const std::string& kind, const WeightProduct* product = nullptr) {
  const Layer l = layer_of(n, kind, n.in(2).dim(product ? 1 : 2));
  const bool batch_first = n.integer("layout", 0) == 1;
  Tensor x = n.in(0);
  n.expect(x.rank() == 3 && n.rank(1) == 3 && n.rank(2) == 3, "x, W and R have three dimensions");
  if (batch_first) x = ops::transpose(x, {1, 0, 2});
  const std::string way = n.text("direction", "forward");
  const int64_t directions = n.in(1).dim(0);
  n.expect(directions == (way == "bidirectional" ? 2 : 1), "W does not fit the direction");
  Tensor lengths = n.optional(4);
  if (lengths.defined()) lengths = as(lengths, DType::int64);
  const Tensor bias = n.optional(3), p = n.optional(7);
  const int64_t rows = l.gates * l.hidden;
  auto state = [&](size_t i, int64_t d) -> Tensor {
    if (n.has(i)) return ops::pick(n.in(i), batch_first ? 1 : 0, d);
    op::IntArray shape = ops::size_along(x, 1);
    shape.single = false;
    push(shape, l.hidden);
    return ops::full(shape, op::Scalar(0.0), x.dtype());
  };
  std::vector<Tensor> ys, hs, cs;
  const size_t each = l.names.size() / static_cast<size_t>(directions);
  size_t at_alpha = 0, at_beta = 0;
  for (int64_t i = 0; i < directions; ++i) {
    Direction d;
    set_products(d, n, product, i);
    if (bias.defined()) {
      d.wb = ops::slice(ops::pick(bias, 0, i), 0, 0, rows);
      d.rb = ops::slice(ops::pick(bias, 0, i), 0, rows, 2 * rows);
    }
    d.h = state(5, i);
    if (kind == "LSTM") d.c = state(6, i);
    if (kind == "LSTM" && p.defined()) d.p = ops::pick(p, 0, i);
    d.reverse = way == "reverse" || i == 1;
    for (size_t k = 0; k < each; ++k) {
      const std::string& name = l.names[static_cast<size_t>(i) * each + k];
      auto [alpha, beta] = usual_numbers(name);
      if (at_alpha < l.alpha.size()) alpha = l.alpha[at_alpha++];
      if (at_beta < l.beta.size()) beta = l.beta[at_beta++];
      d.act.push_back(activation(n, name, alpha, beta));
    }
    const bool wide = x.dtype() == DType::float32 || x.dtype() == DType::float64;
    const bool whole = l.plain && wide && !d.p.defined() && !product;
    const Items out = whole ? by_kernel(l, d, x, lengths) : by_steps(n, l, d, x, lengths);
    ys.push_back(out[0].tensor);
    hs.push_back(out[1].tensor);
    cs.push_back(out[2].tensor);
  }
  const int64_t place = batch_first ? 1 : 0;
  Tensor y = ops::stack(ys, 1);
  if (batch_first) y = ops::transpose(y, {2, 0, 1, 3});
  Items out{y, ops::stack(hs, place)};
  if (kind == "LSTM") out.emplace_back(ops::stack(cs, place));
  return out;
}

Items lstm(const Node& n) {
  return recurrent(n, "LSTM");
}
Items gru(const Node& n) {
  return recurrent(n, "GRU");
}
Items rnn(const Node& n) {
  return recurrent(n, "RNN");
}

constexpr Row kRows[] = {{"GRU", gru}, {"LSTM", lstm}, {"RNN", rnn}};

}  // namespace

Items lstm_by_products(const Node& n, const WeightProduct& product) {
  return recurrent(n, "LSTM", &product);
}

std::span<const Row> rnn_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx

#include "argosy/kernels/cpu/rnn.h"

#include "argosy/op/define.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/rnn/rnn.h"
#include "argosy/ops/rnn/unrolled.h"

// Recurrent layers: rnn_direction runs one direction of one layer over whole sequences in one
// kernel; rnn stacks them.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

constexpr DTypes kWide = only(DType::float32) | only(DType::float64);

cpu::RnnMode mode_of(const std::string& mode) {
  if (mode == "LSTM") return cpu::RnnMode::lstm;
  if (mode == "GRU") return cpu::RnnMode::gru;
  if (mode == "RNN_TANH") return cpu::RnnMode::tanh;
  ARGOSY_CHECK(mode == "RNN_RELU", invalid_argument)
      << "[rnn] mode must be 'LSTM', 'GRU', 'RNN_TANH' or 'RNN_RELU', got '" << mode << "'.";
  return cpu::RnnMode::relu;
}

// --- one direction ---

}  // namespace

cpu::RnnShape rnn_kernel_shape(const Shape& x, const Shape& w_hh, const DirectionAttrs& a) {
  cpu::RnnShape s;
  s.mode = mode_of(a.mode);
  s.batch = x[a.time_major ? 1 : 0];
  s.steps = x[a.time_major ? 0 : 1];
  s.input = x[2];
  s.hidden = s.y_row = w_hh[1];
  s.time_major = a.time_major;
  s.reverse = a.reverse;
  return s;
}

namespace {

void check_size(const char* what, const Tensor& t, const Shape& expected) {
  bool fits = t.rank() == expected.rank();
  for (int i = 0; fits && i < t.rank(); ++i)
    fits = t.dim(i) < 0 || expected[i] < 0 || t.dim(i) == expected[i];
  ARGOSY_CHECK(fits, invalid_argument)
      << "[rnn] " << what << ": expected shape " << expected << ", got " << t
      << ". Do this: check input_size, hidden_size and the batch of inputs, states and lengths.";
}

// Checks the operands of rnn_direction, the first ones of its gradient too.
cpu::RnnShape checked_shape(const InferContext& c, const DirectionAttrs& a) {
  const Tensor &x = c.in[kX], &w = c.in[kWHh];
  ARGOSY_CHECK(x.rank() == 3, invalid_argument)
      << "[rnn] inputs must be [batch, time, features] (or time major), got " << x
      << ". Do this: unsqueeze a single sequence, and check time_major.";
  ARGOSY_CHECK(w.rank() == 2, invalid_argument) << "[rnn] weight_hh must be a matrix, got " << w;
  const cpu::RnnShape s = rnn_kernel_shape(x.shape(), w.shape(), a);
  const int64_t gates = s.hidden < 0 ? kUnknown : s.gates();
  check_size("initial state", c.in[kH0], {s.batch, s.hidden});
  check_size("weight_ih", c.in[kWIh], {gates, s.input});
  check_size("weight_hh", w, {gates, s.hidden});
  for (size_t b : {kBIh, kBHh})
    if (c.in[b].defined()) check_size("bias", c.in[b], {gates});
  if (c.in[kLengths].defined()) check_size("sequence_length", c.in[kLengths], {s.batch});
  const bool lstm = s.mode == cpu::RnnMode::lstm;
  if (lstm) check_size("initial cell state", c.in[kC0], {s.batch, s.hidden});
  for (size_t i = 0; i < kLengths; ++i)
    ARGOSY_CHECK(!c.in[i].defined() || c.in[i].dtype() == x.dtype(), type)
        << "[rnn] inputs, states and weights must have one dtype, got " << x.dtype() << " and "
        << c.in[i].dtype() << ". Do this: cast them with .astype(..).";
  return s;
}
int64_t reserve_size(const cpu::RnnShape& s) {
  const bool known = s.batch >= 0 && s.steps >= 0 && s.hidden >= 0;
  return known ? cpu::rnn_reserve_size(s) : kUnknown;
}

void direction_infer(InferContext& c, const DirectionAttrs& a) {
  const cpu::RnnShape s = checked_shape(c, a);
  const Tensor& x = c.in[kX];
  const bool lstm = s.mode == cpu::RnnMode::lstm;
  Shape y = x.shape();
  y[2] = s.hidden;
  c.out[0].shape = y;
  c.out[1].shape = Shape{s.batch, s.hidden};
  c.out[2].shape = lstm ? c.out[1].shape : Shape{0};
  c.out[3].shape = Shape{reserve_size(s)};
}

const void* data_of(const Tensor& t) {
  return t.defined() ? t.raw() : nullptr;
}

void direction_run(KernelFrame& f, const DirectionAttrs& a) {
  const auto& in = f.in;
  const cpu::RnnShape s = rnn_kernel_shape(in[kX].shape(), in[kWHh].shape(), a);
  cpu::RnnForward args{};
  args.x = in[kX].raw();
  args.w_ih = in[kWIh].raw();
  args.w_hh = in[kWHh].raw();
  args.b_ih = data_of(in[kBIh]);
  args.b_hh = data_of(in[kBHh]);
  args.h0 = in[kH0].raw();
  args.c0 = data_of(in[kC0]);
  args.lengths = static_cast<const int32_t*>(data_of(in[kLengths]));
  args.y = f.out[0].raw();
  args.h_last = f.out[1].raw();
  args.c_last = s.mode == cpu::RnnMode::lstm ? f.out[2].raw() : nullptr;
  args.reserve = f.out[3].raw();
  cpu::rnn_forward(in[kX].dtype(), s, args);
}

// The operands of rnn_direction, then the reserve and the gradients of y, h and c.
void direction_grad_infer(InferContext& c, const DirectionAttrs& a) {
  const cpu::RnnShape s = checked_shape(c, a);
  expect_size(c, kDirectionInputs, reserve_size(s));
  for (size_t i = 0; i < 4; ++i) expect_dtype(c, kDirectionInputs + i, c.in[kX].dtype());
  Shape y = c.in[kX].shape();
  y[2] = s.hidden;
  const Shape shapes[] = {y, Shape{s.batch, s.hidden}, Shape{s.batch, s.hidden}};
  for (size_t i = 0; i < 3; ++i)
    if (c.in[kDirectionInputs + 1 + i].defined())
      expect_shape(c, kDirectionInputs + 1 + i, shapes[i]);
  for (size_t i = 0; i < kLengths; ++i)
    c.out[i] = {c.in[i].defined() ? c.in[i].shape() : Shape{0}, c.in[kX].dtype()};
}

void direction_grad_run(KernelFrame& f, const DirectionAttrs& a) {
  const auto& in = f.in;
  const cpu::RnnShape s = rnn_kernel_shape(in[kX].shape(), in[kWHh].shape(), a);
  cpu::RnnBackward args{};
  args.x = in[kX].raw();
  args.w_ih = in[kWIh].raw();
  args.w_hh = in[kWHh].raw();
  args.b_ih = data_of(in[kBIh]);
  args.b_hh = data_of(in[kBHh]);
  args.lengths = static_cast<const int32_t*>(data_of(in[kLengths]));
  args.reserve = in[kDirectionInputs].raw();
  args.dy = data_of(in[kDirectionInputs + 1]);
  args.dh_last = data_of(in[kDirectionInputs + 2]);
  args.dc_last = s.mode == cpu::RnnMode::lstm ? data_of(in[kDirectionInputs + 3]) : nullptr;
  auto out = [&](size_t i) { return in[i].defined() ? f.out[i].raw() : nullptr; };
  args.dx = out(kX);
  args.dh0 = out(kH0);
  args.dc0 = s.mode == cpu::RnnMode::lstm ? out(kC0) : nullptr;
  args.dw_ih = out(kWIh);
  args.dw_hh = out(kWHh);
  args.db_ih = out(kBIh);
  args.db_hh = out(kBHh);
  cpu::rnn_backward(in[kX].dtype(), s, args);
}

Tensors direction_grad_parts(const Inputs& in, const DirectionAttrs& a) {
  return unrolled_gradients(in, mode_of(a.mode), a.time_major, a.reverse);
}

ARGOSY_OP(rnn_direction_grad, DirectionAttrs)
    .doc("Gradients of the operands of rnn_direction.")
    .input("x", kWide)
    .input("h0", kWide)
    .optional_input("c0", kWide)
    .input("w_ih", kWide)
    .input("w_hh", kWide)
    .optional_input("b_ih", kWide)
    .optional_input("b_hh", kWide)
    .optional_input("lengths", only(DType::int32))
    .input("reserve", kWide)
    .optional_input("dy", kWide)
    .optional_input("dh", kWide)
    .optional_input("dc", kWide)
    .output("dx")
    .output("dh0")
    .output("dc0")
    .output("dw_ih")
    .output("dw_hh")
    .output("db_ih")
    .output("db_hh")
    .infer(direction_grad_infer)
    .kernel("whole_sequence", direction_grad_run)
    .compose(direction_grad_parts)
    .done();

Tensors direction_grad(const GradCall& c, const DirectionAttrs& a) {
  Tensor in[kDirectionInputs + 4];
  for (size_t i = 0; i < kDirectionInputs; ++i) in[i] = c.in[i];
  in[kDirectionInputs] = c.out(3);
  for (size_t i = 0; i < 3; ++i) in[kDirectionInputs + 1 + i] = c.dy(i);
  if (a.mode != "LSTM") in[kDirectionInputs + 3] = Tensor();
  Tensors out = rnn_direction_grad_op.all(Inputs(in), a);
  for (size_t i = 0; i < kLengths; ++i)
    if (!c.in[i].defined()) out[i] = Tensor();
  out.resize(kDirectionInputs);
  return out;
}

ARGOSY_OP(rnn_direction, DirectionAttrs)
    .doc(
        "One direction of one recurrent layer: y, the last state and (LSTM) the last cell state. "
        "lengths: steps from its length on leave a sequence's state as it is, and its y 0.")
    .input("x", kWide, Save::value)
    .input("h0", kWide, Save::value)
    .optional_input("c0", kWide, Save::value)
    .input("w_ih", kWide, Save::value)
    .input("w_hh", kWide, Save::value)
    .optional_input("b_ih", kWide, Save::value)
    .optional_input("b_hh", kWide, Save::value)
    .optional_input("lengths", only(DType::int32), Save::value)
    .output("y")
    .output("h")
    .output("c")
    .hidden_output("reserve")
    .infer(direction_infer)
    .kernel("whole_sequence", direction_run)
    .gradient(direction_grad)
    .done();

// --- layers ---

struct RnnAttrs {
  std::string mode = "LSTM";
  int64_t hidden_size = 0;
  int64_t num_layers = 1;
  bool bidirectional = false;
  double dropout = 0;
  bool time_major = false;
  bool training = true;
};
ARGOSY_ATTRS(RnnAttrs, mode, hidden_size, num_layers, bidirectional, dropout, time_major, training)

// Matrix k of a [layers * directions, batch, hidden] state.
Tensor layer_state(const Tensor& state, int64_t k, int64_t count, DType dtype) {
  ARGOSY_CHECK(state.rank() == 3 && (state.dim(0) < 0 || state.dim(0) == count), invalid_argument)
      << "[rnn] an initial state must be [layers * directions = " << count
      << ", batch, hidden_size], got " << state
      << ". Do this: make it with zeros of that shape, or leave it out.";
  return cast(pick(state, 0, k), dtype);
}

Tensors rnn_compose(const Inputs& in, const RnnAttrs& a) {
  const auto states = in.list(1), weights = in.list(2);
  const bool lstm = mode_of(a.mode) == cpu::RnnMode::lstm;
  const int64_t directions = a.bidirectional ? 2 : 1, count = a.num_layers * directions;
  ARGOSY_CHECK(states.size() == (lstm ? 2u : 1u), invalid_argument)
      << "[rnn] mode " << a.mode << " has " << (lstm ? 2 : 1) << " states, got " << states.size()
      << ". Do this: pass (h, c) for an LSTM, h alone else.";
  ARGOSY_CHECK(static_cast<int64_t>(weights.size()) == 4 * count, invalid_argument)
      << "[rnn] expected 4 weights for each of " << count << " layers and directions, got "
      << weights.size() << ". Do this: pass w_ih, w_hh, b_ih and b_hh of each.";
  const DType own = in[0].dtype(), dtype = own == DType::float64 ? own : DType::float32;
  Tensor x = cast(in[0], dtype);
  Tensor lengths = in[3].defined() ? cast(in[3], DType::int32) : Tensor();
  InlineVector<Tensor, 4> h_last, c_last;
  for (int64_t layer = 0; layer < a.num_layers; ++layer) {
    if (layer > 0 && a.dropout > 0 && a.training) x = dropout(x, a.dropout, true);
    InlineVector<Tensor, 2> y;
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t k = layer * directions + d;
      Tensor operands[kDirectionInputs];
      operands[kX] = x;
      operands[kH0] = layer_state(states[0], k, count, dtype);
      if (lstm) operands[kC0] = layer_state(states[1], k, count, dtype);
      for (size_t w = 0; w < 4; ++w) {
        const Tensor& weight = weights[static_cast<size_t>(4 * k) + w];
        if (weight.defined()) operands[kWIh + w] = cast(weight, dtype);
      }
      operands[kLengths] = lengths;
      Tensors out = rnn_direction_op.all(Inputs(operands), {a.mode, a.time_major, d == 1});
      y.push_back(out[0]);
      h_last.push_back(out[1]);
      c_last.push_back(out[2]);
    }
    x = directions == 1 ? y[0] : concat(y, 2);
  }
  Tensors out{cast(x, own), cast(stack(h_last, 0), own)};
  if (lstm) out.push_back(cast(stack(c_last, 0), own));
  return out;
}

ARGOSY_OP(rnn, RnnAttrs)
    .doc(
        "Recurrent layers over whole sequences: the outputs of the last layer and the final "
        "states, [layers * directions, batch, hidden_size]. Weights: w_ih, w_hh, b_ih, b_hh of "
        "each layer and direction.")
    .input("x", kFloating)
    .list_input("states", kFloating)
    .list_input("weights", kFloating)
    .optional_input("sequence_length", kIndex)
    .output("out")
    .list_output("final_states")
    .compose(rnn_compose)
    .inference([](RnnAttrs& a) { a.training = false; })
    .done();

}  // namespace
}  // namespace argosy::ops

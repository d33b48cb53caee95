#include "argosy/op/define.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"

// One step of a recurrent layer, from other ops.
namespace argosy::ops {
namespace {

using op::Inputs;
using op::NoAttrs;

// x w^T + b
Tensor project(const Tensor& x, const Tensor& w, const Tensor& b) {
  Tensor y = matmul(x, w, false, true);
  return b.defined() ? add(y, b) : y;
}

// The `count` equal parts of gates [batch, count * hidden]; w_hh is [count * hidden, ..].
Tensors gates_of(const char* name, const Tensor& gates, const Tensor& w_hh, int64_t count) {
  const int64_t rows = w_hh.dim(0);
  ARGOSY_CHECK(w_hh.rank() == 2 && (rows < 0 || rows % count == 0), invalid_argument)
      << '[' << name << "] weight_hh must be [" << count << " * hidden_size, hidden_size], got "
      << w_hh
      << ". Do this: check hidden_size, and that the weight belongs to a cell of this kind.";
  return split(gates, op::IntArray::one(count), -1);
}

struct SimpleCellAttrs {
  std::string activation = "tanh";
};
ARGOSY_ATTRS(SimpleCellAttrs, activation)

Tensors simple_cell(const Inputs& in, const SimpleCellAttrs& a) {
  ARGOSY_CHECK(a.activation == "tanh" || a.activation == "relu", invalid_argument)
      << "[simple_rnn_cell] activation must be 'tanh' or 'relu', got '" << a.activation << "'.";
  Tensor sum = add(project(in[0], in[2], in[4]), project(in[1], in[3], in[5]));
  return a.activation == "tanh" ? tanh(sum) : relu(sum);
}

ARGOSY_OP(simple_rnn_cell, SimpleCellAttrs)
    .doc("activation(x weight_ih^T + bias_ih + h weight_hh^T + bias_hh).")
    .shape("x [b,i], h [b,k], weight_ih [k,i], weight_hh [k,k], bias_ih [k], bias_hh [k] -> [b,k]")
    .input("x", kFloating)
    .input("h", kFloating)
    .input("weight_ih", kFloating)
    .input("weight_hh", kFloating)
    .optional_input("bias_ih", kFloating)
    .optional_input("bias_hh", kFloating)
    .output("out")
    .compose(simple_cell)
    .done();

Tensors lstm_step(const Inputs& in, const NoAttrs&) {
  Tensor sum = add(project(in[0], in[3], in[5]), project(in[1], in[4], in[6]));
  Tensors gate = gates_of("lstm_cell", sum, in[4], 4);
  Tensor c = add(multiply(sigmoid(gate[1]), in[2]), multiply(sigmoid(gate[0]), tanh(gate[2])));
  Tensor h = multiply(sigmoid(gate[3]), tanh(c));
  if (in[7].defined()) h = matmul(h, in[7]);
  return {h, c};
}

ARGOSY_OP(lstm_cell, NoAttrs)
    .doc(
        "One step of a long short-term memory: the new h and c. Gates in the order i, f, g, o: "
        "c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'), times weight_ho "
        "[hidden, projection] if given.")
    .shape(
        "x [b,i], h [b,p], c [b,k], weight_ih [4*k,i], weight_hh [4*k,p], bias_ih [4*k], bias_hh "
        "[4*k], weight_ho [k,p] -> [b,p], [b,k]")
    .input("x", kFloating)
    .input("h", kFloating)
    .input("c", kFloating)
    .input("weight_ih", kFloating)
    .input("weight_hh", kFloating)
    .optional_input("bias_ih", kFloating)
    .optional_input("bias_hh", kFloating)
    .optional_input("weight_ho", kFloating)
    .output("h_next")
    .output("c_next")
    .compose(lstm_step)
    .done();

Tensors gru_step(const Inputs& in, const NoAttrs&) {
  Tensors a = gates_of("gru_cell", project(in[0], in[2], in[4]), in[3], 3);
  Tensors u = gates_of("gru_cell", project(in[1], in[3], in[5]), in[3], 3);
  Tensor r = sigmoid(add(a[0], u[0])), z = sigmoid(add(a[1], u[1]));
  Tensor n = tanh(add(a[2], multiply(r, u[2])));
  return add(multiply(subtract(in[1], n), z), n);
}

ARGOSY_OP(gru_cell, NoAttrs)
    .doc(
        "One step of a gated recurrent unit, gates in the order r, z, n: with a and u the "
        "products of x and h, n = tanh(a_n + r u_n), h' = (h - n) z + n.")
    .shape(
        "x [b,i], h [b,k], weight_ih [3*k,i], weight_hh [3*k,k], bias_ih [3*k], bias_hh [3*k] -> "
        "[b,k]")
    .input("x", kFloating)
    .input("h", kFloating)
    .input("weight_ih", kFloating)
    .input("weight_hh", kFloating)
    .optional_input("bias_ih", kFloating)
    .optional_input("bias_hh", kFloating)
    .output("out")
    .compose(gru_step)
    .done();

}  // namespace
}  // namespace argosy::ops

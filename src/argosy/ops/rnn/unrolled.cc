#include "argosy/ops/rnn/unrolled.h"

#include <tuple>
#include <vector>

#include "argosy/ops/activation/activation.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// Tensors of one step keep the time axis: [1, batch, ..].
namespace argosy::ops {
namespace {

using cpu::RnnMode;
using op::IntArray;

// Places of the operands of rnn_direction_grad.
enum : size_t { kX, kH0, kC0, kWIh, kWHh, kBIh, kBHh, kLengths, kReserve, kDy, kDh, kDc };

Tensor one_minus(const Tensor& x) {
  return scale(x, -1, 1);
}

struct Step {
  Tensor running;  // [1, batch, 1]: is the step inside its sequence? Undefined: always
  Tensor h, c;     // before it
  Tensors gates;   // after their functions; of gru also u_n
  Tensor out;      // lstm: tanh(c'); tanh, relu: h', the sum

  Tensor inside(const Tensor& x) const {
    return running.defined() ? where(running, x, constant(op::Scalar(0.0), x.dtype(), x.place()))
                             : x;
  }
  Tensor outside(const Tensor& x) const {
    return running.defined() ? where(running, constant(op::Scalar(0.0), x.dtype(), x.place()), x)
                             : Tensor();
  }
  // What the state becomes: `next` inside.
  Tensor moved(const Tensor& next, const Tensor& before) const {
    return running.defined() ? where(running, next, before) : next;
  }
};

Tensor sum_of(const Tensor& x, const Tensor& y) {
  return !x.defined() ? y : !y.defined() ? x : add(x, y);
}

class Unrolled {
 public:
  Unrolled(const op::Inputs& in, RnnMode mode, bool time_major, bool reverse)
      : in_(in),
        mode_(mode),
        time_major_(time_major),
        reverse_(reverse),
        steps_(in[kX].dim(time_major ? 0 : 1)) {
    ARGOSY_CHECK(steps_ >= 0, not_implemented)
        << "[rnn] the gradient of its gradient needs to know the number of steps while a Program "
           "is built, got inputs "
        << in[kX] << ". Do this: give the time axis a size (in InputSpec or static.data).";
  }

  Tensors run() {
    forward();
    return backward();
  }

 private:
  bool lstm() const { return mode_ == RnnMode::lstm; }
  bool gru() const { return mode_ == RnnMode::gru; }
  // From [batch, time, ..] to time first, and back.
  Tensor turned(const Tensor& x) const { return time_major_ ? x : transpose(x, {1, 0, 2}); }
  Tensors by_step(const Tensor& x) const {
    return steps_ == 1 ? Tensors{x} : split(x, IntArray::one(steps_), 0);
  }
  // The place of the n-th step that is taken.
  int64_t place(int64_t n) const { return reverse_ ? steps_ - 1 - n : n; }

  void forward() {
    x_ = turned(in_[kX]);
    Tensor projected = matmul(x_, in_[kWIh], false, true);
    if (in_[kBIh].defined()) projected = add(projected, in_[kBIh]);
    const Tensors a = steps_ ? by_step(projected) : Tensors{};
    Tensor lengths;
    if (in_[kLengths].defined()) lengths = reshape(in_[kLengths], IntArray{1, -1, 1});
    Tensor h = unsqueeze(in_[kH0], IntArray{0}), c;
    if (lstm()) c = unsqueeze(in_[kC0], IntArray{0});
    all_.resize(static_cast<size_t>(steps_));
    for (int64_t n = 0; n < steps_; ++n) {
      const auto t = static_cast<size_t>(place(n));
      Step& s = all_[t];
      if (lengths.defined())
        s.running = less_than(constant(op::Scalar(place(n)), DType::int32, h.place()), lengths);
      s.h = h;
      s.c = c;
      Tensor u = matmul(h, in_[kWHh], false, true);
      if (in_[kBHh].defined()) u = add(u, in_[kBHh]);
      Tensor next_h, next_c;
      if (lstm()) {
        const Tensors g = split(add(a[t], u), IntArray::one(4), -1);
        s.gates = {sigmoid(g[0]), sigmoid(g[1]), tanh(g[2]), sigmoid(g[3])};
        next_c = add(multiply(s.gates[1], c), multiply(s.gates[0], s.gates[2]));
        s.out = tanh(next_c);
        next_h = multiply(s.gates[3], s.out);
        c = s.moved(next_c, c);
      } else if (gru()) {
        const Tensors p = split(a[t], IntArray::one(3), -1), q = split(u, IntArray::one(3), -1);
        Tensor r = sigmoid(add(p[0], q[0])), z = sigmoid(add(p[1], q[1]));
        Tensor n_gate = tanh(add(p[2], multiply(r, q[2])));
        s.gates = {r, z, n_gate, q[2]};
        next_h = add(multiply(subtract(h, n_gate), z), n_gate);
      } else {
        s.out = add(a[t], u);
        next_h = mode_ == RnnMode::tanh ? tanh(s.out) : relu(s.out);
        if (mode_ == RnnMode::tanh) s.out = next_h;
      }
      h = s.moved(next_h, h);
    }
  }

  // dh, dc: gradients of what the step made; become those of what it was given. The gradients of
  // its sums of x and of h.
  std::pair<Tensor, Tensor> step_back(const Step& s, Tensor& dh, Tensor& dc) const {
    Tensor kept_h = s.outside(dh), kept_c = lstm() ? s.outside(dc) : Tensor();
    const Tensor d = s.inside(dh);
    Tensor da, du, direct;
    auto through_sigmoid = [](const Tensor& dy, const Tensor& y) {
      return multiply(dy, multiply(y, one_minus(y)));
    };
    auto through_tanh = [](const Tensor& dy, const Tensor& y) {
      return multiply(dy, one_minus(multiply(y, y)));
    };
    if (lstm()) {
      const Tensor &i = s.gates[0], &f = s.gates[1], &g = s.gates[2], &o = s.gates[3];
      const Tensor cell = add(s.inside(dc), through_tanh(multiply(d, o), s.out));
      const Tensor parts[] = {
          through_sigmoid(multiply(cell, g), i), through_sigmoid(multiply(cell, s.c), f),
          through_tanh(multiply(cell, i), g), through_sigmoid(multiply(d, s.out), o)};
      da = du = concat(parts, -1);
      dc = sum_of(multiply(cell, f), kept_c);
    } else if (gru()) {
      const Tensor &r = s.gates[0], &z = s.gates[1], &n = s.gates[2], &u_n = s.gates[3];
      const Tensor dn = through_tanh(multiply(d, one_minus(z)), n);
      const Tensor dz = through_sigmoid(multiply(d, subtract(s.h, n)), z);
      const Tensor dr = through_sigmoid(multiply(dn, u_n), r);
      const Tensor of_a[] = {dr, dz, dn}, of_u[] = {dr, dz, multiply(dn, r)};
      da = concat(of_a, -1);
      du = concat(of_u, -1);
      direct = multiply(d, z);
    } else {
      da = du = mode_ == RnnMode::tanh ? through_tanh(d, s.out) : multiply(d, above(s.out, 0));
    }
    dh = sum_of(sum_of(matmul(du, in_[kWHh]), direct), kept_h);
    return {da, du};
  }

  Tensors backward() {
    Tensors out;
    out.resize(kLengths);
    auto or_zero = [&](const Tensor& d, const Tensor& like) {
      return unsqueeze(d.defined() ? d : zeros_like(like), IntArray{0});
    };
    Tensor dh = or_zero(in_[kDh], in_[kH0]), dc;
    if (lstm()) dc = or_zero(in_[kDc], in_[kC0]);
    const Tensors dy = in_[kDy].defined() && steps_ ? by_step(turned(in_[kDy])) : Tensors{};
    std::vector<Tensor> da(all_.size()), du(all_.size()), h(all_.size());
    for (int64_t n = steps_; n-- > 0;) {
      const auto t = static_cast<size_t>(place(n));
      const Step& s = all_[t];
      if (!dy.empty()) dh = add(dh, s.inside(dy[t]));
      std::tie(da[t], du[t]) = step_back(s, dh, dc);
      h[t] = s.h;
    }
    out[kH0] = squeeze(dh, IntArray{0});
    if (lstm()) out[kC0] = squeeze(dc, IntArray{0});
    for (size_t i = 0; i < kLengths; ++i) {  // missing ones are empty
      const bool missing = !in_[i].defined();
      if (missing) out[i] = full(IntArray{0}, op::Scalar(0.0), in_[kX].dtype());
      if (!steps_ && !missing && !out[i].defined()) out[i] = zeros_like(in_[i]);
    }
    if (!steps_) return out;
    Tensor all_a = concat(da, 0), all_u = gru() ? concat(du, 0) : all_a, all_h = concat(h, 0);
    auto rows = [](const Tensor& t) { return flatten(t, 0, 1); };
    out[kX] = turned(matmul(all_a, in_[kWIh]));
    out[kWIh] = matmul(rows(all_a), rows(x_), true, false);
    out[kWHh] = matmul(rows(all_u), rows(all_h), true, false);
    if (in_[kBIh].defined()) out[kBIh] = sum(all_a, IntArray{0, 1});
    if (in_[kBHh].defined()) out[kBHh] = sum(all_u, IntArray{0, 1});
    return out;
  }

  const op::Inputs& in_;
  const RnnMode mode_;
  const bool time_major_, reverse_;
  const int64_t steps_;
  Tensor x_;  // time first
  std::vector<Step> all_;
};

}  // namespace

Tensors unrolled_gradients(const op::Inputs& in, RnnMode mode, bool time_major, bool reverse) {
  return Unrolled(in, mode, time_major, reverse).run();
}

}  // namespace argosy::ops

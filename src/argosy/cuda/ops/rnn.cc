#include "argosy/ops/rnn/rnn.h"

#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/rnn.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;
using ops::DirectionAttrs;

RnnShape shape_of(const KernelFrame& f, const DirectionAttrs& a) {
  const cpu::RnnShape given =
      ops::rnn_kernel_shape(f.in[ops::kX].shape(), f.in[ops::kWHh].shape(), a);
  RnnShape s;
  switch (given.mode) {
    case cpu::RnnMode::lstm:
      s.mode = RnnMode::lstm;
      break;
    case cpu::RnnMode::gru:
      s.mode = RnnMode::gru;
      break;
    case cpu::RnnMode::tanh:
      s.mode = RnnMode::tanh;
      break;
    case cpu::RnnMode::relu:
      s.mode = RnnMode::relu;
      break;
  }
  s.steps = given.steps;
  s.batch = given.batch;
  s.input = given.input;
  s.hidden = given.hidden;
  s.time_major = given.time_major;
  s.reverse = given.reverse;
  return s;
}

const void* raw_of(const Tensor& t) {
  return t.defined() ? t.raw() : nullptr;
}

void run_direction(KernelFrame& f, const DirectionAttrs& a) {
  const auto& in = f.in;
  const RnnShape s = shape_of(f, a);
  RnnForward args{};
  args.x = in[ops::kX].raw();
  args.w_ih = in[ops::kWIh].raw();
  args.w_hh = in[ops::kWHh].raw();
  args.b_ih = raw_of(in[ops::kBIh]);
  args.b_hh = raw_of(in[ops::kBHh]);
  args.h0 = in[ops::kH0].raw();
  args.c0 = raw_of(in[ops::kC0]);
  args.lengths = static_cast<const int32_t*>(raw_of(in[ops::kLengths]));
  args.y = f.out[0].raw();
  args.h_last = f.out[1].raw();
  args.c_last = s.mode == RnnMode::lstm ? f.out[2].raw() : nullptr;
  args.reserve = f.out[3].raw();
  rnn_forward(stream_of(f), in[ops::kX].dtype(), s, args);
}

void run_direction_grad(KernelFrame& f, const DirectionAttrs& a) {
  const auto& in = f.in;
  const RnnShape s = shape_of(f, a);
  const bool lstm = s.mode == RnnMode::lstm;
  RnnBackward args{};
  args.x = in[ops::kX].raw();
  args.w_ih = in[ops::kWIh].raw();
  args.w_hh = in[ops::kWHh].raw();
  args.lengths = static_cast<const int32_t*>(raw_of(in[ops::kLengths]));
  args.reserve = in[ops::kDirectionInputs].raw();
  args.dy = raw_of(in[ops::kDirectionInputs + 1]);
  args.dh_last = raw_of(in[ops::kDirectionInputs + 2]);
  args.dc_last = lstm ? raw_of(in[ops::kDirectionInputs + 3]) : nullptr;
  const auto out = [&](size_t i) { return in[i].defined() ? f.out[i].raw() : nullptr; };
  args.dx = out(ops::kX);
  args.dh0 = out(ops::kH0);
  args.dc0 = lstm ? out(ops::kC0) : nullptr;
  args.dw_ih = out(ops::kWIh);
  args.dw_hh = out(ops::kWHh);
  args.db_ih = out(ops::kBIh);
  args.db_hh = out(ops::kBHh);
  rnn_backward(stream_of(f), in[ops::kX].dtype(), s, args);
}

[[maybe_unused]] const bool added[] = {
    add_kernel<DirectionAttrs>("rnn_direction", run_direction),
    add_kernel<DirectionAttrs>("rnn_direction_grad", run_direction_grad),
};

}  // namespace
}  // namespace argosy::cuda

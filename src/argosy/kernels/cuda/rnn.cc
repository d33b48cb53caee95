#include "argosy/kernels/cuda/rnn.h"

#include "argosy/kernels/cuda/blas.h"
#include "argosy/kernels/cuda/rnn_cells.h"
#include "argosy/kernels/cuda/runtime.h"

// Inputs of all steps are multiplied ahead, and gradients of the weights at the end, as single
// large products; a step is one product of the state and one kernel.
namespace argosy::cuda {
namespace {

// Elements of a dtype behind an address.
struct Memory {
  DType dtype;
  void* at(const void* base, int64_t elements) const {
    return const_cast<char*>(static_cast<const char*>(base)) + elements * item_size(dtype);
  }
  size_t bytes(int64_t elements) const {
    return static_cast<size_t>(elements) * static_cast<size_t>(item_size(dtype));
  }
};

// What forward keeps, each with one row for each step of each sequence.
struct Reserve {
  Reserve(const RnnShape& s, const Memory& m, const void* base)
      : gates(m.at(base, 0)),
        h(m.at(base, s.rows() * s.gates())),
        cell(m.at(base, s.rows() * (s.gates() + s.hidden))) {}
  void *gates, *h, *cell;
};

void copy_or_zero(cudaStream_t stream, const void* from, size_t bytes, void* to) {
  if (bytes == 0) return;
  if (from)
    ARGOSY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
  else
    ARGOSY_CUDA(cudaMemsetAsync(to, 0, bytes, stream));
}

// Row major: c[m, n] = op(a) op(b) + bias.
void multiply(cudaStream_t stream, DType dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k,
              const void* a, int64_t lda, const void* b, int64_t ldb, void* c,
              const void* bias = nullptr) {
  if (m == 0 || n == 0) return;
  Product p;
  p.dtype = dtype;
  p.transpose_a = ta;
  p.transpose_b = tb;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = a;
  p.lda = lda;
  p.b = b;
  p.ldb = ldb;
  p.c = c;
  p.ldc = n;
  p.bias = bias;
  gemm(stream, p);
}

// Both biases go into the sums ahead, except for gate n of a gru, where r scales u's.
void project_input(cudaStream_t stream, const Memory& m, const RnnShape& s, const RnnForward& args,
                   void* gates) {
  const int64_t g = s.gates(), plain = s.mode == RnnMode::gru ? 2 * s.hidden : g;
  const Scratch bias(stream, m.bytes(g));
  copy_or_zero(stream, args.b_ih, m.bytes(g), bias.data());
  if (args.b_hh) rnn_add(stream, m.dtype, plain, bias.data(), args.b_hh, bias.data());
  multiply(stream, m.dtype, false, true, s.rows(), g, s.input, args.x, s.input, args.w_ih, s.input,
           gates, bias.data());
}

}  // namespace

void rnn_forward(cudaStream_t stream, DType dtype, const RnnShape& s, const RnnForward& args) {
  const Memory m{dtype};
  const Reserve kept(s, m, args.reserve);
  const RnnRows rows(s);
  const int64_t n = s.hidden, g = s.gates(), state = s.batch * n;
  copy_or_zero(stream, args.h0, m.bytes(state), args.h_last);
  if (s.mode == RnnMode::lstm) copy_or_zero(stream, args.c0, m.bytes(state), args.c_last);
  if (s.rows() == 0 || n == 0) return;
  project_input(stream, m, s, args, kept.gates);
  const Scratch u(stream, m.bytes(s.batch * g));
  for (int64_t i = 0; i < s.steps; ++i) {
    const int64_t t = s.reverse ? s.steps - 1 - i : i, row = rows.at(t, 0);
    multiply(stream, dtype, false, true, s.batch, g, n, args.h_last, n, args.w_hh, n, u.data());
    RnnStep step{};
    step.mode = s.mode;
    step.t = t;
    step.batch = s.batch;
    step.hidden = n;
    step.sequence = rows.sequence;
    step.lengths = args.lengths;
    step.gates = m.at(kept.gates, row * g);
    step.u = u.data();
    step.bias_n = s.mode == RnnMode::gru && args.b_hh ? m.at(args.b_hh, 2 * n) : nullptr;
    step.h = args.h_last;
    step.c = args.c_last;
    step.h_before = m.at(kept.h, row * n);
    step.cell = m.at(kept.cell, row * n);
    step.y = m.at(args.y, row * n);
    rnn_step(stream, dtype, step);
  }
}

void rnn_backward(cudaStream_t stream, DType dtype, const RnnShape& s, const RnnBackward& args) {
  const Memory m{dtype};
  const Reserve kept(s, m, args.reserve);
  const RnnRows rows(s);
  const int64_t n = s.hidden, g = s.gates(), state = s.batch * n, total = s.rows();
  const bool gru = s.mode == RnnMode::gru;
  const Scratch dgates(stream, m.bytes(total * g)), apart(stream, gru ? m.bytes(total * g) : 0);
  void* du = gru ? apart.data() : dgates.data();
  const Scratch dh(stream, m.bytes(state)), dc(stream, m.bytes(state));
  const Scratch through(stream, m.bytes(state));
  copy_or_zero(stream, args.dh_last, m.bytes(state), dh.data());
  copy_or_zero(stream, args.dc_last, m.bytes(state), dc.data());
  const bool runs = total > 0 && n > 0;
  for (int64_t i = s.steps; runs && i-- > 0;) {
    const int64_t t = s.reverse ? s.steps - 1 - i : i, row = rows.at(t, 0);
    RnnStepBack step{};
    step.mode = s.mode;
    step.t = t;
    step.batch = s.batch;
    step.hidden = n;
    step.sequence = rows.sequence;
    step.lengths = args.lengths;
    step.gates = m.at(kept.gates, row * g);
    step.h_before = m.at(kept.h, row * n);
    step.cell = m.at(kept.cell, row * n);
    step.dy = args.dy ? m.at(args.dy, row * n) : nullptr;
    step.dh = dh.data();
    step.dc = dc.data();
    step.through = i + 1 == s.steps ? nullptr : through.data();
    step.dgates = m.at(dgates.data(), row * g);
    step.du = m.at(du, row * g);
    rnn_step_back(stream, dtype, step);
    multiply(stream, dtype, false, false, s.batch, n, g, step.du, rows.sequence * g, args.w_hh, n,
             through.data());
  }
  if (args.dh0) rnn_add(stream, dtype, state, dh.data(), runs ? through.data() : nullptr, args.dh0);
  if (args.dc0) copy_or_zero(stream, dc.data(), m.bytes(state), args.dc0);
  if (args.dx)
    multiply(stream, dtype, false, false, total, s.input, g, dgates.data(), g, args.w_ih, s.input,
             args.dx);
  if (args.dw_ih)
    multiply(stream, dtype, true, false, g, s.input, total, dgates.data(), g, args.x, s.input,
             args.dw_ih);
  if (args.dw_hh) multiply(stream, dtype, true, false, g, n, total, du, g, kept.h, n, args.dw_hh);
  if (args.db_ih) rnn_column_sums(stream, dtype, total, g, dgates.data(), args.db_ih);
  if (args.db_hh) rnn_column_sums(stream, dtype, total, g, du, args.db_hh);
}

}  // namespace argosy::cuda

#pragma once

#include "argosy/kernels/cuda/rnn.h"

// The steps of rnn.cc between its products.
namespace argosy::cuda {

// Rows of x, y and what is kept are numbered as x lies in memory.
struct RnnRows {
  explicit RnnRows(const RnnShape& s)
      : step(s.time_major ? s.batch : 1), sequence(s.time_major ? 1 : s.steps) {}
  int64_t at(int64_t t, int64_t b) const { return t * step + b * sequence; }
  int64_t step, sequence;
};

// Step t of all sequences. gates, h_before, cell, y are at the row of sequence 0; those of the next
// sequence are `sequence` rows further. State is [batch, hidden].
struct RnnStep {
  RnnMode mode;
  int64_t t, batch, hidden, sequence;
  const int32_t* lengths;  // may be null
  void* gates;             // sums of the inputs in, activated values out
  const void* u;           // [batch, gates]: products of the state before
  const void* bias_n;      // gru: of gate n's u, may be null
  void *h, *c;             // the state, replaced
  void *h_before, *cell;   // kept: the state before; lstm: c before, gru: u of gate n
  void* y;
};
void rnn_step(cudaStream_t stream, DType dtype, const RnnStep& step);

// The same backwards.
struct RnnStepBack {
  RnnMode mode;
  int64_t t, batch, hidden, sequence;
  const int32_t* lengths;
  const void *gates, *h_before, *cell;  // what was kept
  const void* dy;                       // may be null
  void *dh, *dc;        // [batch, hidden]: what does not go through products, replaced
  const void* through;  // [batch, hidden]: what went through those of the step after; or null
  void *dgates, *du;    // gradients of the sums of x and of h; one memory but for gru
};
void rnn_step_back(cudaStream_t stream, DType dtype, const RnnStepBack& step);

// to[i] = a[i] + b[i]. to may be one of them; a or b may be null: zeros.
void rnn_add(cudaStream_t stream, DType dtype, int64_t n, const void* a, const void* b, void* to);

// Sums of the columns of [rows, columns].
void rnn_column_sums(cudaStream_t stream, DType dtype, int64_t rows, int64_t columns,
                     const void* from, void* to);

}  // namespace argosy::cuda

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// One direction of one recurrent layer over whole sequences: what it computes, and what forward
// leaves for backward, stands in kernels/cpu/rnn.h. float32 and float64.
namespace argosy::cuda {

enum class RnnMode : uint8_t { lstm, gru, tanh, relu };

struct RnnShape {
  RnnMode mode = RnnMode::lstm;
  int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  bool time_major = false, reverse = false;

  int64_t gates() const {
    return hidden * (mode == RnnMode::lstm ? 4 : mode == RnnMode::gru ? 3 : 1);
  }
  int64_t rows() const { return steps * batch; }
};

struct RnnForward {
  const void* x;
  const void *w_ih, *w_hh;
  const void *b_ih, *b_hh;  // may be null
  const void *h0, *c0;      // null: zeros
  const int32_t* lengths;   // may be null
  void* y;
  void *h_last, *c_last;  // c_last of lstm alone
  void* reserve;
};
void rnn_forward(cudaStream_t stream, DType dtype, const RnnShape& s, const RnnForward& args);

struct RnnBackward {
  const void* x;
  const void *w_ih, *w_hh;
  const int32_t* lengths;
  const void* reserve;
  const void *dy, *dh_last, *dc_last;  // may be null
  void* dx;                            // the rest: may be null
  void *dw_ih, *dw_hh, *db_ih, *db_hh;
  void *dh0, *dc0;
};
void rnn_backward(cudaStream_t stream, DType dtype, const RnnShape& s, const RnnBackward& args);

}  // namespace argosy::cuda

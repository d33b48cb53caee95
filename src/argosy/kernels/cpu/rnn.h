#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// One direction of one recurrent layer over whole sequences.
namespace argosy::cpu {

// Gates, in the order of the weights' rows (G = 4, 3, 1, 1 times hidden), with a = x W_ih^T + b_ih
// and u = h W_hh^T + b_hh by gate:
//   lstm: i, f, g, o. i, f, o = sigmoid(a + u), g = tanh(a + u); c' = f c + i g, h' = o tanh(c')
//   gru:  r, z, n. r, z = sigmoid(a + u), n = tanh(a + r u); h' = (h - n) z + n
//   tanh, relu: h' = activation(a + u)
enum class RnnMode : uint8_t { lstm, gru, tanh, relu };

struct RnnShape {
  RnnMode mode = RnnMode::lstm;
  int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  bool time_major = false;  // x and y are [steps, batch, ..]; else [batch, steps, ..]
  bool reverse = false;     // from the last step to the first
  // Elements from one row of y to the next, >= hidden: two directions may share a tensor of
  // [.., 2 * hidden] rows. Rows of x are contiguous.
  int64_t y_row = 0;

  int64_t gates() const {
    return hidden * (mode == RnnMode::lstm ? 4 : mode == RnnMode::gru ? 3 : 1);
  }
};

// Elements of the dtype that forward leaves for backward.
ARGOSY_API int64_t rnn_reserve_size(const RnnShape& shape);

struct RnnForward {
  const void* x;
  const void *w_ih, *w_hh;  // [G, input], [G, hidden]
  const void *b_ih, *b_hh;  // [G], may be null
  const void *h0, *c0;      // [batch, hidden], null for zeros; c0 for lstm alone
  // [batch] or null: steps from its length on leave a sequence's state as it is, and its y 0.
  const int32_t* lengths;
  void* y;
  void *h_last, *c_last;  // [batch, hidden], may be null
  void* reserve;          // rnn_reserve_size() elements
};
// float32 or float64.
ARGOSY_API void rnn_forward(DType dtype, const RnnShape& shape, const RnnForward& args);

struct RnnBackward {
  const void* x;
  const void *w_ih, *w_hh;
  const void *b_ih, *b_hh;
  const int32_t* lengths;
  const void* reserve;
  const void* dy;                 // rows y_row apart, like y; may be null
  const void *dh_last, *dc_last;  // may be null
  void* dx;                       // the rest: each is written whole, and may be null
  void *dw_ih, *dw_hh;
  void *db_ih, *db_hh;
  void *dh0, *dc0;
};
ARGOSY_API void rnn_backward(DType dtype, const RnnShape& shape, const RnnBackward& args);

}  // namespace argosy::cpu

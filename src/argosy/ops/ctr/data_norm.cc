#include <cmath>
#include <vector>

#include "argosy/op/define.h"
#include "argosy/ops/ctr/ctr.h"

// data_norm: normalization by sums over all data seen, which are its three summary states.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::Save;

constexpr DTypes kReal = only(DType::float32) | only(DType::float64);
constexpr double kNoShow = 1e-7;  // of slots: a show count below is none

// Operands from `first` on: size, sum and square sum of [C], then scale_w and bias or nothing.
void check(const char* name, const Tensor& x, const op::Inputs& in, size_t first,
           const DataNormAttrs& a) {
  ARGOSY_CHECK(x.rank() == 2, invalid_argument)
      << '[' << name << "] x must be [N, C], got " << x << '.';
  for (size_t i = first; i < first + 4; ++i)
    ARGOSY_CHECK(!in[i].defined() || (in[i].rank() == 1 && (in[i].dim(0) < 0 || x.dim(1) < 0 ||
                                                            in[i].dim(0) == x.dim(1))),
                 invalid_argument)
        << '[' << name << "] states and weights must be [C] for x of [N, C]: x is " << x
        << ", one of them is " << in[i] << '.';
  ARGOSY_CHECK(a.slot_dim <= 0 || x.dim(1) < 0 || x.dim(1) % a.slot_dim == 0, invalid_argument)
      << '[' << name << "] slot_dim must divide the columns of x, got slot_dim=" << a.slot_dim
      << " for x " << x << '.';
}

template <class T>
struct Normal {
  std::vector<T> mean, scale;
  Normal(const Tensor& size, const Tensor& sum, const Tensor& square) {
    for (int64_t k = 0; k < size.numel(); ++k) {
      mean.push_back(sum.data<T>()[k] / size.data<T>()[k]);
      scale.push_back(std::sqrt(size.data<T>()[k] / square.data<T>()[k]));
    }
  }
};

// Is the slot of column k in this row one that was never shown?
template <class T>
bool absent(const T* row, int64_t k, int64_t slot_dim) {
  return slot_dim > 0 && std::abs(row[k - k % slot_dim]) < T(kNoShow);
}

void data_norm_infer(InferContext& c, const DataNormAttrs& a) {
  check("data_norm", c.in[0], c.in, 1, a);
  ARGOSY_CHECK(c.in[4].defined() == c.in[5].defined(), invalid_argument)
      << "[data_norm] scale_w and bias come together. Do this: pass both or none.";
}

void data_norm_run(KernelFrame& f, const DataNormAttrs& a) {
  const int64_t n = f.in[0].dim(0), width = f.in[0].dim(1);
  dispatch_types<float, double>(f.in[0].dtype(), [&]<class T>(T) {
    const Normal<T> normal(f.in[1], f.in[2], f.in[3]);
    const T* weight = f.in[4].defined() ? f.in[4].data<T>() : nullptr;
    const T* bias = f.in[5].defined() ? f.in[5].data<T>() : nullptr;
    const T* x = f.in[0].data<T>();
    T* y = f.out[0].data<T>();
    for (int64_t i = 0; i < n; ++i, x += width, y += width)
      for (int64_t k = 0; k < width; ++k) {
        y[k] = (x[k] - normal.mean[static_cast<size_t>(k)]) * normal.scale[static_cast<size_t>(k)];
        if (weight) y[k] = y[k] * weight[k] + bias[k];
        if (absent(x, k, a.slot_dim)) y[k] = 0;
      }
  });
}

// dy, x, batch_size, batch_sum, batch_square_sum, scale_w
void grad_infer(InferContext& c, const DataNormAttrs& a) {
  check("data_norm_grad", c.in[1], c.in, 2, a);
  const DType dtype = c.in[1].dtype();
  c.out[0] = {c.in[1].shape(), dtype};
  for (size_t i = 1; i < 6; ++i)
    c.out[i] = {i < 4 || c.in[5].defined() ? c.in[2].shape() : Shape{0}, dtype};
}

void grad_run(KernelFrame& f, const DataNormAttrs& a) {
  const Tensor& in_x = f.in[1];
  const int64_t n = in_x.dim(0), width = in_x.dim(1);
  dispatch_types<float, double>(in_x.dtype(), [&]<class T>(T) {
    const Normal<T> normal(f.in[2], f.in[3], f.in[4]);
    const T* weight = f.in[5].defined() ? f.in[5].data<T>() : nullptr;
    std::vector<double> count(static_cast<size_t>(width)), sum(count), square(count), dw(count),
        db(count);
    const T* x = in_x.data<T>();
    const T* dy = f.in[0].data<T>();
    T* dx = f.out[0].data<T>();
    for (int64_t i = 0; i < n; ++i, x += width, dy += width, dx += width)
      for (int64_t k = 0; k < width; ++k) {
        const auto c = static_cast<size_t>(k);
        const bool skip = absent(x, k, a.slot_dim);
        const T centred = x[k] - normal.mean[c];
        // What Paddle does: without weights a slot that was never shown has a gradient all the
        // same.
        dx[k] =
            weight ? (skip ? T(0) : dy[k] * normal.scale[c] * weight[k]) : dy[k] * normal.scale[c];
        if (skip) continue;
        count[c] += 1;
        sum[c] += x[k];
        square[c] += centred * centred;
        dw[c] += dy[k] * centred * normal.scale[c];
        db[c] += dy[k];
      }
    for (size_t c = 0; c < count.size(); ++c) {
      // With slots a batch counts as one sample: the average of those that were shown.
      const double per = a.slot_dim > 0 && count[c] > 0 ? count[c] : 1;
      f.out[1].data<T>()[c] = static_cast<T>(count[c] / per);
      f.out[2].data<T>()[c] = static_cast<T>(sum[c] / per);
      f.out[3].data<T>()[c] = static_cast<T>(square[c] / per + count[c] * a.epsilon);
      if (!weight) continue;
      f.out[4].data<T>()[c] = static_cast<T>(dw[c]);
      f.out[5].data<T>()[c] = static_cast<T>(db[c]);
    }
  });
}

Tensors no_second(const GradCall&, const DataNormAttrs&) {
  ARGOSY_THROW(not_implemented)
      << "[data_norm] has no second derivative: the gradients of its states are sums of the batch. "
         "Do this: leave create_graph off, or use batch_norm.";
}

ARGOSY_OP(data_norm_grad, DataNormAttrs)
    .doc("Gradients of data_norm; those of the states are what the batch adds to them.")
    .input("dy", kReal)
    .input("x", kReal)
    .input("batch_size", kReal)
    .input("batch_sum", kReal)
    .input("batch_square_sum", kReal)
    .optional_input("scale_w", kReal)
    .output("dx")
    .output("dbatch_size")
    .output("dbatch_sum")
    .output("dbatch_square_sum")
    .output("dscale_w")
    .output("dbias")
    .infer(grad_infer)
    .kernel("rows", grad_run)
    .gradient(no_second)
    .done();

Tensors data_norm_grad(const GradCall& c, const DataNormAttrs& a) {
  const Tensor in[] = {c.dy(), c.in[0], c.in[1], c.in[2], c.in[3], c.in[4]};
  Tensors out = data_norm_grad_op.all(op::Inputs(in), a);
  if (!c.in[4].defined()) out[4] = out[5] = Tensor();
  return out;
}

ARGOSY_OP(data_norm, DataNormAttrs)
    .doc(
        "(x - batch_sum / batch_size) * sqrt(batch_size / batch_square_sum) for each column of x "
        "[N, C], then * scale_w + bias if given. slot_dim > 0: columns are slots of so many, the "
        "first of which counts shows; a slot without shows is zeros and does not count. The "
        "gradients of the three states are what this batch adds to them, see summary_update_.")
    .input("x", kReal, Save::value)
    .input("batch_size", kReal, Save::value)
    .input("batch_sum", kReal, Save::value)
    .input("batch_square_sum", kReal, Save::value)
    .optional_input("scale_w", kReal, Save::value)
    .optional_input("bias", kReal)
    .output("out")
    .infer(data_norm_infer)
    .kernel("rows", data_norm_run)
    .gradient(data_norm_grad)
    .done();

void summary_update(KernelFrame& f, const SummaryAttrs& a) {
  const auto params = f.in.list(0), grads = f.in.list(1);
  ARGOSY_CHECK(params.size() == grads.size(), invalid_argument)
      << "[summary_update_] expected a gradient for each of " << params.size()
      << " parameters, got " << grads.size() << '.';
  for (size_t i = 0; i < params.size(); ++i) {
    ARGOSY_CHECK(params[i].shape() == grads[i].shape() && params[i].dtype() == grads[i].dtype(),
                 invalid_argument)
        << "[summary_update_] gradient " << i << " has the wrong form: expected that of "
        << params[i] << ", got " << grads[i] << '.';
    ARGOSY_CHECK(params[i].is_contiguous(), invalid_argument)
        << "[summary_update_] parameter " << i << " must be contiguous.";
    const Tensor grad = op::contiguous(grads[i]);
    dispatch_types<float, double>(params[i].dtype(), [&]<class T>(T) {
      T* p = params[i].data<T>();
      const T* g = grad.data<T>();
      for (int64_t k = 0; k < params[i].numel(); ++k)
        p[k] = static_cast<T>(static_cast<double>(p[k]) * a.decay + static_cast<double>(g[k]));
    });
  }
}

void summary_rule(op::UpdateRule& rule, const SummaryAttrs&) {
  rule.name = "sum";
}

ARGOSY_OP(summary_update_, SummaryAttrs)
    .doc("param = param * decay + grad, for all parameters: sums over what came lately.")
    .list_input("params", kReal)
    .list_input("grads", kReal)
    .list_output("out")
    .writes({0})
    .kernel("fused", summary_update)
    .strided()
    .update_rule(summary_rule)
    .done();

}  // namespace
}  // namespace argosy::ops

#include <atomic>
#include <cmath>
#include <type_traits>

#include "argosy/base/parallel.h"
#include "argosy/op/define.h"
#include "argosy/ops/optim/optim.h"

// Gradients of a scaled loss.
namespace argosy::ops {
namespace {

// Divides n numbers by scale; is one of the results not finite? float16 is divided in float32,
// since 1 / scale may be too small for it.
template <class T>
bool unscale_range(T* x, int64_t n, double scale) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const W by = static_cast<W>(scale), times = static_cast<W>(1 / scale);
  bool bad = false;
  for (int64_t i = 0; i < n; ++i) {
    const W v = static_cast<W>(x[i]);
    x[i] = static_cast<T>(std::is_same_v<T, float16> ? v / by : v * times);
    bad |= !std::isfinite(static_cast<W>(x[i]));
  }
  return bad;
}

void unscale_run(op::KernelFrame& f, const UnscaleAttrs& a) {
  std::atomic<bool> found = false;
  for (const Tensor& g : f.in.list(0)) {
    const Tensor dense = op::contiguous(g);
    dispatch_floating(dense.dtype(), [&]<class T>(T) {
      T* data = dense.data<T>();
      parallel_for(dense.numel(), 32 * 1024, [&](int64_t begin, int64_t end) {
        if (unscale_range(data + begin, end - begin, a.scale)) found = true;
      });
    });
    if (!dense.is(g)) op::copy_into(g, dense);
    g.wrote("unscale_grads_");
  }
  f.out[0].data<bool>()[0] = found;
}

void unscale_infer(op::InferContext& c, const UnscaleAttrs& a) {
  ARGOSY_CHECK(a.scale != 0, invalid_argument)
      << '[' << c.name() << "] scale must not be 0. Do this: pass that of the loss.";
  c.out[0] = {{}, DType::bool_};
}

ARGOSY_OP(unscale_grads_, UnscaleAttrs)
    .doc("Divides all gradients by scale, in place; whether a result is infinite or no number.")
    .list_input("grads", kFloating)
    .index_output("found")
    .updates({0})
    .infer(unscale_infer)
    .kernel("loop", unscale_run)
    .strided()
    .done();

}  // namespace
}  // namespace argosy::ops

#include "argosy/ops/math/math.h"

#include <algorithm>
#include <vector>

#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/copy.h"
#include "argosy/kernels/cuda/creation.h"
#include "argosy/kernels/cuda/loops_more.h"
#include "argosy/ops/loss/loss.h"

// Ops of elements whose kernels on the CPU are no loop tables.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;

void run_over(KernelFrame& f, std::initializer_list<Tensor> in, DeviceLoop loop,
              const cpu::LoopParams* params = nullptr) {
  const Tensor& y = f.out[0];
  if (y.numel() == 0) return;
  View views[kMaxRank];
  int count = 0;
  for (const Tensor& x : in) views[count++] = view_of(x, y.shape());
  views[count] = view_of(y);
  const DType key = in.begin()->dtype();
  const bool done = loop(stream_of(f), LoopCall{views, count, 1, key, params});
  ARGOSY_CHECK(done, type) << '[' << f.name() << "] is not defined for " << key
                           << " on GPUs. Do this: cast with .astype(..).";
}
template <DeviceLoop kLoop>
void run1(KernelFrame& f, const NoAttrs&) {
  run_over(f, {f.in[0]}, kLoop);
}
template <DeviceLoop kLoop>
void run2(KernelFrame& f, const NoAttrs&) {
  run_over(f, {f.in[0], f.in[1]}, kLoop);
}

Tensor as_dtype(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y = Tensor::empty(x.shape(), dtype, x.place());
  op::copy_into(y, x);
  return y;
}

void nan_to_num_run(KernelFrame& f, const ops::NanToNumAttrs& a) {
  const double most = ops::largest(f.in[0].dtype());
  const cpu::LoopParams p{a.nan, a.posinf.value_or(most), a.neginf.value_or(-most)};
  run_over(f, {f.in[0]}, nan_to_num_loop, &p);
}

void frexp_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  frexp(stream_of(f), x.dtype(), x.raw(), f.out[0].raw(), f.out[1].raw(), x.numel());
}

void round_run(KernelFrame& f, const ops::RoundAttrs& a) {
  // Beyond the exponents of double nothing is rounded away, or everything is.
  constexpr int64_t kMostDecimals = 308;
  const Tensor& x = f.in[0];
  if (!is_floating(x.dtype()) || a.decimals > kMostDecimals) return op::copy_into(f.out[0], x);
  if (a.decimals == 0) return run_over(f, {x}, round_loop);
  const int64_t places = std::abs(std::max(a.decimals, -kMostDecimals));
  cpu::LoopParams p{1, a.decimals > 0 ? 1.0 : 0.0};
  for (int64_t i = 0; i < places; ++i) p.a *= 10;
  run_over(f, {x}, round_places_loop, &p);
}

void polygamma_run(KernelFrame& f, const ops::PolygammaAttrs& a) {
  const Tensor x = as_dtype(f.in[0], f.out[0].dtype());
  const cpu::LoopParams p{static_cast<double>(a.n)};
  run_over(f, {x}, a.n == 0 ? digamma_loop : polygamma_loop, &p);
}

void floored_run(KernelFrame& f, const ops::LogLossAttrs& a) {
  const cpu::LoopParams p{a.epsilon};
  run_over(f, {f.in[0]}, floored_loop, &p);
}

void move_bytes(KernelFrame& f, const NoAttrs&) {
  if (f.out[0].numel() == 0) return;
  ARGOSY_CUDA(cudaMemcpyAsync(f.out[0].raw(), f.in[0].raw(), f.out[0].nbytes(),
                              cudaMemcpyDeviceToDevice, stream_of(f)));
}

void add_n_run(KernelFrame& f, const NoAttrs&) {
  const auto parts = f.in.list(0);
  const Tensor& y = f.out[0];
  // A number may stand beside tensors of one element.
  const auto form = [&](const Tensor& t) {
    return t.rank() == y.rank() ? t : t.view(Shape{1}, Shape{1});
  };
  if (parts.size() == 1) return op::copy_into(y, form(parts[0]));
  run_over(f, {form(parts[0]), form(parts[1])}, add_loop);
  for (const Tensor& part : parts.subspan(2)) run_over(f, {y, form(part)}, add_loop);
}

const char* many_candidates(const Inputs& in, const NoAttrs&) {
  return in.list(0).size() > kMostCandidates ? "more than 256 candidates" : nullptr;
}
void multiplex_run(KernelFrame& f, const NoAttrs&) {
  const auto parts = f.in.list(0);
  const Tensor &index = f.in[1], &y = f.out[0];
  const int64_t rows = y.dim(0);
  ARGOSY_CHECK(rows <= parts[0].dim(0), invalid_argument)
      << "[multiplex] index has " << rows << " rows, the candidates only " << parts[0].dim(0)
      << '.';
  if (y.numel() == 0) return;
  std::vector<const void*> from;
  for (const Tensor& t : parts) from.push_back(t.raw());
  multiplex(stream_of(f), from.data(), static_cast<int>(from.size()), index.dtype(), index.raw(),
            y.raw(), rows, static_cast<int64_t>(y.nbytes()) / rows);
}

[[maybe_unused]] const bool added =
    add_kernel<ops::NanToNumAttrs>("nan_to_num", nan_to_num_run, true) &&
    add_kernel<NoAttrs>("frexp", frexp_run) &&
    add_kernel<ops::RoundAttrs>("round", round_run, true) &&
    add_kernel<ops::PolygammaAttrs>("polygamma", polygamma_run, true) &&
    add_kernel<NoAttrs>("gammainc", run2<gammainc_loop>, true) &&
    add_kernel<NoAttrs>("gammaincc", run2<gammaincc_loop>, true) &&
    add_kernel<NoAttrs>("signbit", run1<signbit_loop>, true) &&
    add_kernel<NoAttrs>("zero_nan", run1<zero_nan_loop>, true) &&
    add_kernel<NoAttrs>("complex", run2<complex_loop>, true) &&
    add_kernel<NoAttrs>("as_complex", move_bytes) && add_kernel<NoAttrs>("as_real", move_bytes) &&
    add_kernel<NoAttrs>("add_n", add_n_run, true) &&
    add_kernel<NoAttrs>("multiplex", many_candidates, multiplex_run) &&
    add_kernel<NoAttrs>("logits_loss", run2<logits_loss_loop>, true) &&
    add_kernel<NoAttrs>("probability_loss", run2<probability_loss_loop>, true) &&
    add_kernel<ops::LogLossAttrs>("floored_variance", floored_run, true);

}  // namespace
}  // namespace argosy::cuda

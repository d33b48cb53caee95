#include <algorithm>
#include <array>

#include "argosy/comm/ops/calls.h"
#include "argosy/comm/ops/exchange.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/reduce/reduce.h"

// Batch normalization by the statistics of what all ranks of a group have. Each tells its count,
// mean and sum of squared distances; joining those loses no digits where the mean is large (Chan,
// Golub and LeVeque, 1979).
namespace argosy::comm {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::Save;

struct SyncBatchNormAttrs {
  int64_t ranks = 1;
  int64_t group = 0;
  double momentum = 0.9;
  double epsilon = 1e-5;
  bool channel_last = false;
};
ARGOSY_ATTRS(SyncBatchNormAttrs, ranks, group, momentum, epsilon, channel_last)

void sync_batch_norm_infer(InferContext& c, const SyncBatchNormAttrs& a) {
  check_ranks(c.name(), a.ranks);
  const Tensor& x = c.in[0];
  ARGOSY_CHECK(x.rank() >= 2, invalid_argument)
      << "[sync_batch_norm] x: expected 2 dimensions or more, [N, C, ..], got " << x
      << ". Do this: unsqueeze it.";
  const int64_t channels = x.dim(ops::channel_axis(x, a.channel_last));
  const char* names[] = {"x", "running_mean", "running_var", "weight", "bias"};
  for (size_t i = 1; i < 5; ++i)
    ops::check_parameter(c.name(), names[i], c.in[i], channels, x.shape());
  const DType wide = ops::statistics_dtype(x.dtype());
  c.out[1] = c.out[2] = {{channels}, wide};
  c.out[3] = {{1}, wide};
}

// Rows of what a rank tells of its x: count, mean and squared distances of each channel.
void tell_own(const Tensor& x, const SyncBatchNormAttrs& a, const TensorList& rows) {
  const int64_t channels = rows[0].numel();
  const int64_t count = x.numel() / std::max<int64_t>(channels, 1);
  if (count)
    cpu::batch_norm_statistics(ops::channel_layout(x, a.channel_last), x.raw(), rows[1].raw(),
                               rows[2].raw());
  dispatch_types<float, double>(rows[0].dtype(), [&]<class T>(T) {
    std::fill_n(rows[0].data<T>(), channels, static_cast<T>(count));
    for (int64_t i = 0; i < channels; ++i) {
      if (!count) rows[1].data<T>()[i] = rows[2].data<T>()[i] = 0;
      rows[2].data<T>()[i] *= static_cast<T>(count);
    }
  });
}

// told: [ranks, 3, channels]. The number of values that a channel has on all ranks, 1 if there are
// none.
template <class T>
double join(const Tensor& told, T* mean, T* variance) {
  const int64_t ranks = told.dim(0), channels = told.dim(2);
  const auto at = [&](int64_t rank, int64_t row, int64_t i) {
    return static_cast<double>(told.data<T>()[(rank * 3 + row) * channels + i]);
  };
  double total = 0;
  if (channels)
    for (int64_t r = 0; r < ranks; ++r) total += at(r, 0, 0);
  total = std::max(total, 1.0);
  for (int64_t i = 0; i < channels; ++i) {
    double sum = 0, distances = 0;
    for (int64_t r = 0; r < ranks; ++r) sum += at(r, 0, i) * at(r, 1, i);
    const double middle = sum / total;
    for (int64_t r = 0; r < ranks; ++r) {
      const double apart = at(r, 1, i) - middle;
      distances += at(r, 2, i) + at(r, 0, i) * apart * apart;
    }
    mean[i] = static_cast<T>(middle);
    variance[i] = static_cast<T>(distances / total);
  }
  return total;
}

void sync_batch_norm_run(KernelFrame& f, const SyncBatchNormAttrs& a) {
  const auto group = group_of(f.name(), a.group, a.ranks);
  const Tensor x = op::contiguous(f.in[0]);
  const Tensor &mean = f.out[1], &variance = f.out[2];
  const Tensor mine = Tensor::empty({3, mean.numel()}, mean.dtype());
  const Tensor told = Tensor::empty({a.ranks, 3, mean.numel()}, mean.dtype());
  tell_own(x, a, rows_of(mine));
  group->all_gather(rows_of(told), mine, false);
  double total = 1;
  dispatch_types<float, double>(mean.dtype(), [&]<class T>(T) {
    total = join(told, mean.data<T>(), variance.data<T>());
    f.out[3].data<T>()[0] = static_cast<T>(total);
  });
  // As batch_norm: statistics of one value say nothing.
  if (total == 1) return op::copy_into(f.out[0], x);
  ops::update_running(f.name(), f.in[1], mean, a.momentum);
  ops::update_running(f.name(), f.in[2], variance, a.momentum);
  if (x.numel() == 0) return;
  const Tensor weight = ops::as_dtype(f.in[3], mean.dtype());
  const Tensor bias = ops::as_dtype(f.in[4], mean.dtype());
  cpu::batch_norm_apply(ops::channel_layout(x, a.channel_last), x.raw(), mean.raw(), variance.raw(),
                        a.epsilon, ops::raw_or_null(weight), ops::raw_or_null(bias),
                        f.out[0].raw());
}

// Where channels have one value on all ranks; undefined where that is known not to be. A number on
// a device is not waited for.
Tensor is_lone(const Tensor& total) {
  if (!total.symbolic() && total.has_data() && total.place().kind == DeviceKind::cpu) {
    double value = 0;
    dispatch_types<float, double>(total.dtype(), [&]<class T>(T) { value = total.data<T>()[0]; });
    if (value != 1) return {};
  }
  return ops::equal(total, ops::ones_like(total));
}

// Statistics are functions of x like any other: what is asked of them, and what the result asks of
// them, is summed over ranks and spread over the values. So the rule has gradients itself.
// Gradients of weight and bias are those of this rank.
Tensors sync_batch_norm_grad(const GradCall& c, const SyncBatchNormAttrs& a) {
  const Tensor &mean = c.out(1), &variance = c.out(2), &total = c.out(3);
  const Tensor x = ops::widened(c.in[0]), g = ops::widened(c.dy(0));
  const auto [axes, spread] = ops::ChannelAxes(x, a.channel_last);
  const auto over_x = [&spread = spread](const Tensor& t) { return ops::reshape(t, spread); };
  const Tensor lone = is_lone(total);
  const auto unless_lone = [&](const Tensor& t, const Tensor& otherwise) {
    return lone.defined() ? ops::where(lone, otherwise, t) : t;
  };
  const Tensor zeros = ops::zeros_like(mean);
  const Tensor centered = ops::subtract(x, over_x(mean));
  const Tensor rstd = ops::rsqrt(ops::scale(variance, 1, a.epsilon));
  Tensor of_mean = c.dy(1), of_variance = c.dy(2), dweight, dbias, dx;
  if (g.defined()) {
    const Tensor factor =
        c.in[3].defined() ? ops::multiply(rstd, ops::cast(c.in[3], rstd.dtype())) : rstd;
    const Tensor sum = ops::sum(g, axes, false);
    const Tensor with_x = ops::sum(ops::multiply(g, centered), axes, false);
    if (c.in[3].defined())
      dweight = ops::cast(unless_lone(ops::multiply(with_x, rstd), zeros), c.in[3].dtype());
    if (c.in[4].defined()) dbias = ops::cast(unless_lone(sum, zeros), c.in[4].dtype());
    const Tensor by_mean = ops::negative(ops::multiply(sum, factor));
    const Tensor by_variance =
        ops::scale(ops::multiply(ops::multiply(with_x, factor), ops::square(rstd)), -0.5);
    of_mean = ops::sum_of(of_mean, unless_lone(by_mean, zeros));
    of_variance = ops::sum_of(of_variance, unless_lone(by_variance, zeros));
    dx = ops::multiply(g, over_x(unless_lone(factor, ops::ones_like(mean))));
  }
  const std::array<Tensor, 2> asked{of_mean.defined() ? of_mean : zeros,
                                    of_variance.defined() ? of_variance : zeros};
  const Tensor of_all =
      ops::divide(all_reduce(ops::stack(asked, 0), name_of(Reduce::sum), a.group), total);
  const Tensor along = ops::pick(of_all, 0, 0);
  const Tensor across = ops::scale(ops::pick(of_all, 0, 1), 2);
  dx = ops::sum_of(dx, ops::add(ops::multiply(centered, over_x(across)), over_x(along)));
  return {ops::cast(dx, c.in[0].dtype()), Tensor(), Tensor(), dweight, dbias};
}

bool by_running_statistics(const op::Surroundings&, op::Instead& instead,
                           const SyncBatchNormAttrs& a) {
  instead.op = &op::get("batch_norm");
  ops::BatchNormAttrs fixed;
  fixed.momentum = a.momentum;
  fixed.epsilon = a.epsilon;
  fixed.channel_last = a.channel_last;
  instead.attrs = op::AttrBox(attr_type(&fixed), &fixed);
  instead.operands = {0, 1, 2, 3, 4};
  instead.results = 1;  // the statistics are others
  return true;
}

ARGOSY_OP(sync_batch_norm, SyncBatchNormAttrs)
    .doc(
        "batch_norm by the statistics of the x of all ranks of a group, which may have other "
        "numbers of rows; the running ones are updated in place. Gradients of weight and bias are "
        "those of the own x.")
    .paper("1502.03167")
    .input("x", kFloating, Save::value)
    .input("running_mean", kFloating)
    .input("running_var", kFloating)
    .optional_input("weight", kFloating, Save::value)
    .optional_input("bias", kFloating, Save::shape)
    .output("out")
    .output("mean", Save::value)
    .output("variance", Save::value)
    .index_output("total", Save::value)
    .updates({1, 2})
    .infer(sync_batch_norm_infer)
    .kernel("group", sync_batch_norm_run)
    .strided()
    .gradient(sync_batch_norm_grad)
    .inference(by_running_statistics)
    .amp(op::Amp::leading)
    .effect(op::Effect::communicates)
    .done();

[[maybe_unused]] const bool described = describe_exchange("sync_batch_norm", [](const op::Inputs&
                                                                                    in,
                                                                                const void* attrs) {
  const auto& a = as<SyncBatchNormAttrs>(attrs);
  const int64_t channels = in[0].dim(ops::channel_axis(in[0], a.channel_last));
  const Tensor told = Tensor::describe(Shape{3, channels}, ops::statistics_dtype(in[0].dtype()));
  return exchange(Kind::all_gather, a.group, {&told, 1});
});

}  // namespace
}  // namespace argosy::comm

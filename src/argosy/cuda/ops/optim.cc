#include "argosy/kernels/cuda/optim.h"

#include <utility>
#include <vector>

#include "argosy/cuda/call.h"
#include "argosy/cuda/ops/move_operands.h"
#include "argosy/ops/optim/update.h"

// Optimizers on GPUs. Powers and counts of steps are read and advanced on the device.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using ops::optim::Common;
using ops::optim::Update;
using optim::Array;
using optim::Numbers;
using optim::Param;

// A learning rate that is a tensor of this GPU stays there: kernels multiply by it.
template <class A>
Common common_of(const A& a) {
  Common common = a.common();
  if (a.lr.tensor.defined()) common.lr = 1;
  return common;
}
template <class A>
Numbers numbers_of(const A& a) {
  Numbers n;
  const Tensor& rate = a.lr.tensor;
  if (rate.defined()) n.rate = {rate.raw(), rate.dtype()};
  return n;
}

// The parameters of a call, ready for kernels; strided ones are written back by finish().
class Gathered {
 public:
  // full, single: the states with an element for each of the parameter's, and those of one.
  // rows_only: of a row-sparse gradient, visit only its rows.
  Gathered(const KernelFrame& f, int states, const Common& common, std::initializer_list<int> full,
           std::initializer_list<int> single, bool rows_only = false)
      : f_(f), update_(f, states, common), stream_(stream_of(f)) {
    const bool masters = !f.in.list(2 + static_cast<size_t>(states)).empty();
    list_.resize(update_.size());
    for (size_t i = 0; i < list_.size(); ++i) {
      Param& p = list_[i];
      const Tensor& to = update_.target(i);
      const Tensor& param = f.in.list(0)[i];
      p.n = to.numel();
      p.target = written(to);
      if (masters && !to.is(param)) p.copy = written(param);
      int k = 0;
      for (int state : full) p.states[k++] = state_of(state, i, 1);
      k = 0;
      for (int state : single) p.scalars[k++] = scalar_of(state, i);
      p.lr = update_.lr(i);
      p.l1 = Update::at(common.l1, i, 0);
      p.l2 = Update::at(common.l2, i, 0);
      const Tensor& grad = f.in.list(1)[i];
      if (grad.layout() == Layout::row_sparse)
        sum_rows(p, grad, to, rows_only && p.l1 == 0 && p.l2 == 0);  // decay reaches every row
      else
        p.grad = read(grad);
    }
  }

  const Update& update() const { return update_; }
  std::vector<Param>& params() { return list_; }
  bool has_state(int k) const { return update_.has_state(k); }
  // State k, `times` as long as its parameter.
  Array state_of(int k, size_t i, int64_t times) {
    const Tensor& s = update_.state(k, i);
    ARGOSY_CHECK(s.numel() == times * list_[i].n, invalid_argument)
        << '[' << f_.op.name << "] " << f_.op.inputs[2 + static_cast<size_t>(k)].name << ' ' << i
        << " has the wrong shape: expected " << times << " times that of its parameter, "
        << update_.target(i) << ", got " << s
        << ". Do this: load a state_dict of the same parameters, or make the optimizer anew.";
    return written(s);
  }
  void decays(const std::vector<double>& decays) {
    update_.check("decays", decays);
    for (size_t i = 0; i < list_.size(); ++i) list_[i].decay = Update::at(decays, i, 0);
  }
  void finish() const {
    for (const auto& [strided, copy] : back_) op::copy_into(strided, copy);
  }

 private:
  void sum_rows(Param& p, const Tensor& grad, const Tensor& to, bool rows_only) {
    const DType dtype = to.dtype() == DType::float64 ? DType::float64 : DType::float32;
    const Tensor dense = Tensor::empty(to.shape(), dtype, to.place());
    optim::Rows rows;
    rows.rows = static_cast<const int64_t*>(read(grad.parts()[0]).data);
    rows.values = read(grad.parts()[1]).data;
    rows.dtype = grad.parts()[1].dtype();
    rows.count = grad.parts()[0].numel();
    rows.height = to.dim(0);
    rows.width = rows.height ? p.n / rows.height : 0;
    p.grad = {dense.raw(), dtype};
    p.ahead = true;
    kept_.push_back(dense);
    if (rows_only) {
      kept_.push_back(Tensor::empty({rows.height}, DType::uint8, to.place()));
      p.visited = static_cast<const uint8_t*>(kept_.back().raw());
      p.width = rows.width;
    }
    optim::add_rows(stream_, rows, dense.raw(), dtype, const_cast<uint8_t*>(p.visited));
  }
  Array scalar_of(int k, size_t i) const {
    const Tensor& t = update_.state(k, i);
    ARGOSY_CHECK(t.numel() >= 1, invalid_argument)
        << '[' << f_.op.name << "] " << f_.op.inputs[2 + static_cast<size_t>(k)].name << ' ' << i
        << " must have one element, got " << t << '.';
    return {t.raw(), t.dtype()};
  }
  Array read(const Tensor& t) {
    if (t.is_contiguous()) return {t.raw(), t.dtype()};
    kept_.push_back(op::contiguous(t));
    return {kept_.back().raw(), t.dtype()};
  }
  Array written(const Tensor& t) {
    const Array a = read(t);
    if (!t.is_contiguous()) back_.emplace_back(t, kept_.back());
    return a;
  }

  const KernelFrame& f_;
  Update update_;
  cudaStream_t stream_;
  std::vector<Param> list_;
  std::vector<Tensor> kept_;  // dense copies
  std::vector<std::pair<Tensor, Tensor>> back_;
};

// Rows of row-sparse gradients are added up in any order.
template <class A>
const char* takes(const Inputs& in, const A&) {
  for (const Tensor& g : in.list(1))
    if (g.layout() != Layout::strided && ordered_sums())
      return "row-sparse gradients where a flag asks for sums in order";
  return nullptr;
}
// Also scalars of input k and after it, up to `end`, must be what kernels read.
template <class A, size_t begin, size_t end>
const char* takes_scalars(const Inputs& in, const A& a) {
  for (size_t k = begin; k < end; ++k)
    for (const Tensor& t : in.list(k))
      if (t.dtype() != DType::float32 && t.dtype() != DType::float64)
        return "powers that are not float32 or float64";
  return takes(in, a);
}

void sgd(KernelFrame& f, const ops::SgdAttrs& a) {
  Gathered g(f, 0, common_of(a), {}, {}, true);
  optim::sgd(stream_of(f), g.params(), numbers_of(a));
  g.finish();
}

void momentum(KernelFrame& f, const ops::MomentumAttrs& a) {
  Gathered g(f, 1, common_of(a), {0}, {});
  Numbers n = numbers_of(a);
  n.grad_scale = a.rescale_grad;
  n.momentum = a.mu;
  n.flag = a.use_nesterov;
  optim::momentum(stream_of(f), g.params(), n);
  g.finish();
}

void asgd(KernelFrame& f, const ops::AsgdAttrs& a) {
  ARGOSY_CHECK(a.batch_num > 0, invalid_argument)
      << "[asgd_] batch_num is out of range: expected > 0, got " << a.batch_num << '.';
  Gathered g(f, 3, common_of(a), {0}, {2});
  for (size_t i = 0; i < g.params().size(); ++i)
    g.params()[i].states[1] = g.state_of(1, i, a.batch_num);
  Numbers n = numbers_of(a);
  n.batch_num = a.batch_num;
  optim::asgd(stream_of(f), g.params(), n);
  g.finish();
}

void rprop(KernelFrame& f, const ops::RpropAttrs& a) {
  Gathered g(f, 2, common_of(a), {0, 1}, {});
  Numbers n = numbers_of(a);
  n.lr_min = a.lr_min;
  n.lr_max = a.lr_max;
  n.eta_negative = a.eta_negative;
  n.eta_positive = a.eta_positive;
  optim::rprop(stream_of(f), g.params(), n);
  g.finish();
}

void adagrad(KernelFrame& f, const ops::AdagradAttrs& a) {
  Gathered g(f, 1, common_of(a), {0}, {}, true);
  Numbers n = numbers_of(a);
  n.epsilon = a.epsilon;
  optim::adagrad(stream_of(f), g.params(), n);
  g.finish();
}

void adadelta(KernelFrame& f, const ops::AdadeltaAttrs& a) {
  Gathered g(f, 2, common_of(a), {0, 1}, {});
  Numbers n = numbers_of(a);
  n.rho = a.rho;
  n.epsilon = a.epsilon;
  optim::adadelta(stream_of(f), g.params(), n);
  g.finish();
}

void rmsprop(KernelFrame& f, const ops::RmspropAttrs& a) {
  Gathered g(f, 3, common_of(a), {0, 1}, {});
  for (size_t i = 0; a.centered && i < g.params().size(); ++i)
    g.params()[i].states[2] = g.state_of(2, i, 1);
  Numbers n = numbers_of(a);
  n.rho = a.rho;
  n.epsilon = a.epsilon;
  n.momentum = a.momentum;
  n.flag = a.centered;
  optim::rmsprop(stream_of(f), g.params(), n);
  g.finish();
}

template <class A>
Numbers betas_of(const A& a) {
  Numbers n = numbers_of(a);
  n.beta1 = a.beta1;
  n.beta2 = a.beta2;
  n.epsilon = a.epsilon;
  return n;
}

// states: moment1s, moment2s, moment2_maxs (none without AMSGrad), beta1_pows, beta2_pows.
void adam(KernelFrame& f, const ops::AdamAttrs& a) {
  Gathered g(f, 5, common_of(a), {0, 1}, {3, 4}, a.lazy);
  g.decays(a.decays);
  const bool amsgrad = g.has_state(2);
  for (size_t i = 0; amsgrad && i < g.params().size(); ++i)
    g.params()[i].states[2] = g.state_of(2, i, 1);
  optim::adam(stream_of(f), g.params(), betas_of(a), amsgrad);
  g.finish();
}

void adamax(KernelFrame& f, const ops::AdamaxAttrs& a) {
  Gathered g(f, 3, common_of(a), {0, 1}, {2});
  optim::adamax(stream_of(f), g.params(), betas_of(a));
  g.finish();
}

void nadam(KernelFrame& f, const ops::NadamAttrs& a) {
  Gathered g(f, 5, common_of(a), {3, 4}, {0, 1, 2});
  Numbers n = betas_of(a);
  n.momentum_decay = a.momentum_decay;
  optim::nadam(stream_of(f), g.params(), n);
  g.finish();
}

void radam(KernelFrame& f, const ops::RadamAttrs& a) {
  Gathered g(f, 5, common_of(a), {3, 4}, {0, 1, 2});
  optim::radam(stream_of(f), g.params(), betas_of(a));
  g.finish();
}

void lamb(KernelFrame& f, const ops::LambAttrs& a) {
  Gathered g(f, 4, common_of(a), {0, 1}, {2, 3});
  g.decays(a.decays);
  Numbers n = betas_of(a);
  n.flag = a.always_adapt;
  optim::lamb(stream_of(f), g.params(), n);
  g.finish();
}

template <class A>
bool add(const char* op, const char* (*match)(const Inputs&, const A&),
         void (*run)(KernelFrame&, const A&)) {
  op::KernelDef kernel = op::make_kernel<A>("cuda", kAccelerator, match, run);
  kernel.strided = true;
  kernel.reads_numbers = true;
  return op::register_kernel(op, std::move(kernel), /*first=*/false);
}

// Inputs: params, grads, then states; places of scalars among them.
[[maybe_unused]] const bool added[] = {
    add<ops::SgdAttrs>("sgd_", takes, sgd),
    add<ops::MomentumAttrs>("momentum_", takes, momentum),
    add<ops::AsgdAttrs>("asgd_", takes, asgd),
    add<ops::RpropAttrs>("rprop_", takes, rprop),
    add<ops::AdagradAttrs>("adagrad_", takes, adagrad),
    add<ops::AdadeltaAttrs>("adadelta_", takes, adadelta),
    add<ops::RmspropAttrs>("rmsprop_", takes, rmsprop),
    add<ops::AdamAttrs>("adam_", takes_scalars<ops::AdamAttrs, 5, 7>, adam),
    add<ops::AdamaxAttrs>("adamax_", takes_scalars<ops::AdamaxAttrs, 4, 5>, adamax),
    add<ops::NadamAttrs>("nadam_", takes_scalars<ops::NadamAttrs, 2, 5>, nadam),
    add<ops::RadamAttrs>("radam_", takes_scalars<ops::RadamAttrs, 2, 5>, radam),
    add<ops::LambAttrs>("lamb_", takes_scalars<ops::LambAttrs, 4, 6>, lamb),
};

}  // namespace
}  // namespace argosy::cuda

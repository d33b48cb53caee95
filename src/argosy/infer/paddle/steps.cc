#include "argosy/infer/paddle/steps.h"

#include "argosy/ops/control/control.h"

namespace argosy::infer::paddle {
namespace {

Tensor integer(int64_t v) {
  return ops::constant(op::Scalar(v), DType::int64);
}

Tensor clipped(const Tensor& x, const Tensor& low, const Tensor& high) {
  return ops::minimum(ops::maximum(x, low), high);
}

}  // namespace

Padded::Padded(const Tensor& lengths, bool backwards) : lengths_(lengths), backwards_(backwards) {
  longest_ = ops::max(lengths_);
  starts_ = ops::subtract(call("cumsum", {lengths_}, {{"axis", 0}}), lengths_);
  const Tensor sequences = count_up_to(ops::size_of(lengths_, 0, DType::int64));
  owner_ = call("repeat_interleave", {sequences, lengths_}, {{"axis", 0}});
  position_ = ops::subtract(count_up_to(ops::size_of(owner_, 0, DType::int64)),
                            ops::take_slices(starts_, owner_, 0));
}

Tensor Padded::pad(const Tensor& rows) const {
  const Tensor step = ops::unsqueeze(count_up_to(longest_), {0});
  const Tensor starts = ops::unsqueeze(starts_, {1}), lengths = ops::unsqueeze(lengths_, {1});
  const Tensor place =
      backwards_ ? ops::subtract(ops::subtract(ops::add(starts, lengths), integer(1)), step)
                 : ops::add(starts, step);
  const Tensor last = ops::subtract(ops::size_of(rows, 0, DType::int64), integer(1));
  return ops::take_slices(rows, clipped(place, integer(0), last), 0);
}

Tensor Padded::unpad(const Tensor& padded) const {
  Tensor place = position_;
  if (backwards_)
    place = ops::subtract(ops::subtract(ops::take_slices(lengths_, owner_, 0), integer(1)), place);
  return ops::take_slices(ops::flatten(padded, 0, 1),
                          ops::add(ops::multiply(owner_, longest_), place), 0);
}

Tensor Padded::inside() const {
  return ops::less_than(ops::unsqueeze(count_up_to(longest_), {0}), ops::unsqueeze(lengths_, {1}));
}

Stepped run_steps(
    const Node& n, const Tensor& count, std::vector<Tensor> states,
    const std::function<Step(const Tensor& i, const std::vector<Tensor>& states)>& step) {
  program::Builder& b = n.session.builder();
  std::vector<Tensor> init{integer(0)};
  init.insert(init.end(), states.begin(), states.end());
  Tensor form;  // of what a step gives
  const auto arguments = [&] {
    std::vector<Tensor> list;
    for (const Tensor& t : init) list.push_back(b.argument(program::handle(b.current(t))));
    return list;
  };
  const auto run = [&](const std::vector<Tensor>& a) {
    return step(a[0], {a.begin() + 1, a.begin() + 1 + static_cast<std::ptrdiff_t>(states.size())});
  };
  {
    program::OpenBlock block(b);
    const Step tried = run(arguments());
    if (tried.out.defined()) form = Tensor::describe(tried.out.shape(), tried.out.dtype());
  }
  if (form.defined()) {
    const auto recording = n.session.recording();
    init.push_back(ops::array_new(form.dtype()));
  }
  program::Draft condition, body;
  {
    program::OpenBlock block(b);
    const Tensor more = ops::less_than(arguments()[0], count);
    condition = block.end({&more, 1});
  }
  {
    program::OpenBlock block(b);
    const std::vector<Tensor> a = arguments();
    Step made = run(a);
    std::vector<Tensor> yields{ops::add(a[0], integer(1))};
    yields.insert(yields.end(), made.states.begin(), made.states.end());
    if (form.defined())
      yields.push_back(ops::array_write(a.back(), ops::reshape(a[0], {1}), made.out));
    body = block.end(yields);
  }
  const Tensors last = b.append_while(init, std::move(condition), std::move(body));
  Stepped result;
  for (size_t i = 0; i < states.size(); ++i) result.states.push_back(last[1 + i]);
  if (form.defined()) {
    const std::vector<int64_t> element(form.shape().begin(), form.shape().end());
    result.outs = call("array_join", {last[1 + states.size()]},
                       {{"axis", 0}, {"stack", true}, {"element", element}});
  }
  return result;
}

}  // namespace argosy::infer::paddle

#include "argosy/infer/onnx/loop.h"

#include "argosy/infer/onnx/common.h"
#include "argosy/ops/control/control.h"

namespace argosy::infer::onnx {
namespace {

constexpr int64_t kFewRounds = 8;
constexpr int64_t kMostRounds = 4096;  // that are unrolled where nothing else will do

struct CannotRecord {};  // a body carries what no value of a Program is

Tensor int_constant(int64_t v) {
  return ops::constant(op::Scalar(v), DType::int64);
}
Tensor bool_constant(bool v) {
  return ops::constant(op::Scalar(v), DType::bool_);
}
Tensor scalar(const Tensor& t) {
  return t.rank() == 0 ? t : ops::reshape(t, op::IntArray{});
}

bool truth(const Tensor& t) {
  return *op::contiguous(as(t, DType::bool_)).data<bool>();
}

bool has_sequences(const Items& items) {
  for (const Item& item : items)
    if (item.kind != Item::Kind::tensor) return true;
  return false;
}

Items unrolled(const Node& n, const Loop& loop) {
  const int64_t most =
      loop.count.defined()
          ? *op::contiguous(as(n.session.need(n, loop.count), DType::int64)).data<int64_t>()
          : kMostRounds + 1;
  Items carried = loop.carried;
  std::vector<std::vector<Tensor>> scanned;
  Tensor proceed = loop.proceed;
  for (int64_t i = 0; i < most; ++i) {
    if (proceed.defined() && !truth(n.session.need(n, proceed))) break;
    if (i > kMostRounds) n.unsupported("a loop of so many rounds over sequences");
    Round round =
        loop.body(int_constant(i), proceed.defined() ? proceed : bool_constant(true), carried);
    carried = std::move(round.carried);
    proceed = round.proceed;
    scanned.resize(round.scanned.size());
    for (size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(round.scanned[k]);
  }
  Items out = std::move(carried);
  const size_t wanted = n.outputs() > out.size() ? n.outputs() - out.size() : 0;
  if (scanned.size() < wanted) n.unsupported("a loop without rounds that collects results");
  for (const auto& parts : scanned) out.emplace_back(ops::stack(parts, 0));
  return out;
}

// A loop that is recorded as a `while`: its values are the round, whether to proceed, what is
// carried and an array for each result that collects.
class Recorder {
 public:
  Recorder(const Node& n, const Loop& loop) : n_(n), loop_(loop), b_(n.session.builder()) {
    if (has_sequences(loop.carried)) throw CannotRecord();
    init_ = {int_constant(0), loop.proceed.defined() ? scalar(loop.proceed) : bool_constant(true)};
    for (const Item& item : loop.carried) init_.push_back(item.tensor);
  }

  Items run() {
    constexpr int kMostTries = 4;
    for (int i = 0; !settle(); ++i)
      if (i == kMostTries) throw CannotRecord();
    {
      const auto recording = n_.session.recording();
      for (const Tensor& like : scanned_) init_.push_back(ops::array_new(like.dtype()));
    }
    program::Draft condition = record_condition();
    const Tensors last = b_.append_while(init_, std::move(condition), record_body());
    const size_t carried = loop_.carried.size();
    Items out(last.begin() + 2, last.begin() + 2 + static_cast<std::ptrdiff_t>(carried));
    for (size_t k = 0; k < scanned_.size(); ++k)
      out.emplace_back(joined(last[2 + carried + k], scanned_[k].shape()));
    return out;
  }

 private:
  std::vector<Tensor> arguments() {
    std::vector<Tensor> list;
    for (const Tensor& t : init_) list.push_back(b_.argument(program::handle(b_.current(t))));
    return list;
  }

  Round round_of(const std::vector<Tensor>& arguments) {
    const auto first = arguments.begin() + 2;
    const Items carried(first, first + static_cast<std::ptrdiff_t>(loop_.carried.size()));
    Round round = loop_.body(arguments[0], arguments[1], carried);
    if (has_sequences(round.carried)) throw CannotRecord();
    n_.expect(round.carried.size() == carried.size(), "the body gives another number of values");
    return round;
  }

  // Records a round for the forms of what it makes, and forgets what sizes it changes; true if it
  // changes none.
  bool settle() {
    std::vector<std::pair<size_t, std::vector<int64_t>>> changed;
    {
      program::OpenBlock block(b_);
      const Round round = round_of(arguments());
      for (size_t i = 0; i < round.carried.size(); ++i) {
        const Tensor &before = init_[2 + i], &after = round.carried[i].tensor;
        if (before.dtype() != after.dtype()) n_.fail("the body changes the type of a value");
        if (before.rank() != after.rank()) throw CannotRecord();
        std::vector<int64_t> sizes;
        for (int d = 0; d < before.rank(); ++d)
          sizes.push_back(before.dim(d) == after.dim(d) ? before.dim(d) : kUnknown);
        if (!std::equal(sizes.begin(), sizes.end(), before.shape().begin()))
          changed.emplace_back(2 + i, sizes);
      }
      scanned_.clear();
      for (const Tensor& t : round.scanned)
        scanned_.push_back(Tensor::describe(t.shape(), t.dtype()));
    }
    for (const auto& [i, sizes] : changed) {
      const auto recording = n_.session.recording();
      init_[i] = ops::forget_sizes(init_[i], sizes);
    }
    return changed.empty();
  }

  program::Draft record_condition() {
    program::OpenBlock block(b_);
    const std::vector<Tensor> a = arguments();
    const Tensor more = loop_.count.defined()
                            ? ops::logical_and(a[1], ops::less_than(a[0], scalar(loop_.count)))
                            : a[1];
    return block.end({&more, 1});
  }

  program::Draft record_body() {
    program::OpenBlock block(b_);
    const std::vector<Tensor> a = arguments();
    const Round round = round_of(a);
    std::vector<Tensor> yields{ops::add(a[0], int_constant(1)),
                               round.proceed.defined() ? scalar(round.proceed) : a[1]};
    for (const Item& item : round.carried) yields.push_back(item.tensor);
    for (size_t k = 0; k < round.scanned.size(); ++k)
      yields.push_back(ops::array_write(a[2 + round.carried.size() + k], a[0], round.scanned[k]));
    return block.end(yields);
  }

  static Tensor joined(const Tensor& array, const Shape& element) {
    // Of a loop without rounds, nothing of each size that only a run knows.
    std::vector<int64_t> sizes(element.begin(), element.end());
    return call("array_join", {array},
                {{"axis", 0}, {"stack", true}, {"element", sizes}, {"empty", true}});
  }

  const Node& n_;
  const Loop& loop_;
  program::Builder& b_;
  std::vector<Tensor> init_;
  std::vector<Tensor> scanned_;  // descriptions of what one round adds to each
};

}  // namespace

Items run_loop(const Node& n, const Loop& loop) {
  const bool known = loop.count.defined() && !loop.count.symbolic();
  const int64_t rounds = known ? *op::contiguous(as(loop.count, DType::int64)).data<int64_t>() : -1;
  const bool unconditional = !loop.proceed.defined() || !loop.proceed.symbolic();
  if (known && rounds <= kFewRounds && unconditional && !loop.checks) return unrolled(n, loop);
  try {
    return Recorder(n, loop).run();
  } catch (const CannotRecord&) {
    return unrolled(n, loop);
  }
}

}  // namespace argosy::infer::onnx

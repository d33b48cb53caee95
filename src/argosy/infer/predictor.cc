#include "argosy/infer/predictor.h"

#include <cstring>

#include "argosy/infer/engine.h"
#include "argosy/op/dispatch.h"
#include "argosy/program/builder.h"
#include "argosy/runtime/frame.h"

namespace argosy::infer {
namespace {

size_t find(const char* what, std::span<const Port> ports, std::string_view name) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name) return i;
  Message known;
  for (const Port& p : ports) known << (p.name == ports[0].name ? "" : ", ") << p.name;
  ARGOSY_THROW(not_found) << "[infer] the model has no " << what << " '" << name
                          << "'. Do this: use one of " << known.str() << '.';
}

void check_form(const Port& port, DType dtype, const Shape& shape, bool any_sizes) {
  const bool fits = any_sizes && port.ranked ? shape.rank() == port.shape.rank() : port.fits(shape);
  if (fits && dtype == port.dtype) return;
  Message expected;
  expected << port.dtype;
  if (port.ranked)
    expected << port.shape;
  else
    expected << " of any shape";
  ARGOSY_THROW(invalid_argument) << "[infer] input '" << port.name << "': expected "
                                 << expected.str() << ", got " << dtype << shape
                                 << ". Do this: feed what the model was saved for.";
}

bool same_values(const Tensor& a, const Tensor& b) {
  const Tensor dense = op::contiguous(b);
  return a.shape() == b.shape() &&
         (a.nbytes() == 0 || std::memcmp(a.raw(), dense.raw(), a.nbytes()) == 0);
}

}  // namespace

Predictor::Predictor(const Options& options) : Predictor(std::make_shared<Engine>(options)) {}

Predictor::Predictor(std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)),
      feeds_(engine_->inputs.size()),
      buffers_(engine_->inputs.size()),
      forms_(engine_->inputs.size()) {}

Predictor::~Predictor() = default;

std::unique_ptr<Predictor> Predictor::clone() const {
  return std::unique_ptr<Predictor>(new Predictor(engine_));
}

std::span<const Port> Predictor::inputs() const {
  return engine_->inputs;
}
std::span<const Port> Predictor::outputs() const {
  return engine_->outputs;
}
size_t Predictor::input(std::string_view name) const {
  return find("input", engine_->inputs, name);
}
size_t Predictor::output(std::string_view name) const {
  return find("output", engine_->outputs, name);
}

void Predictor::set_input(size_t i, const Tensor& t) {
  ARGOSY_CHECK(t.defined() && !t.symbolic() && t.layout() == Layout::strided && t.has_data() &&
                   t.place().kind == DeviceKind::cpu,
               invalid_argument)
      << "[infer] input '" << inputs()[i].name << "': expected a dense tensor in main memory.";
  check_form(inputs()[i], t.dtype(), t.shape(), engine_->takes_other_sizes());
  feeds_[i] = t;
}

const Tensor& Predictor::input_buffer(size_t i, const Shape& shape) {
  const Port& port = inputs()[i];
  check_form(port, port.dtype, shape, engine_->takes_other_sizes());
  if (!buffers_[i].defined() || buffers_[i].shape() != shape)
    buffers_[i] = Tensor::empty(shape, port.dtype);
  feeds_[i] = buffers_[i];
  return feeds_[i];
}

bool Predictor::fits() const {
  if (!frame_) return false;
  for (size_t i = 0; i < feeds_.size(); ++i)
    if (feeds_[i].shape() != forms_[i]) return false;
  for (const auto& [input, value] : choice_->values)
    if (!same_values(value, feeds_[input])) return false;
  return true;
}

void Predictor::choose() {
  for (size_t i = 0; i < feeds_.size(); ++i)
    ARGOSY_CHECK(feeds_[i].defined(), invalid_argument)
        << "[infer] input '" << inputs()[i].name
        << "' has no value. Do this: give every input one before run().";
  if (fits()) return;
  release_memory();
  choice_ = engine_->choose(feeds_);
  for (size_t i = 0; i < feeds_.size(); ++i) forms_[i] = feeds_[i].shape();
  frame_ = choice_->plan->take_frame();
}

void Predictor::run() {
  program::Recording none(nullptr);
  op::GradMode off(false);
  limit_.interrupted = false;
  limit_.until = engine_->time_limit ? runtime::Limit::clock() + engine_->time_limit : 0;
  choose();
  ran_ = false;
  if (engine_->writes_state()) {
    MutexLock lock(engine_->state_mutex());
    run_frame();
  } else {
    run_frame();
  }
  ran_ = true;
}

void Predictor::run_frame() {
  try {
    const bool bound = frame_->bind(feeds_, engine_->scope());
    ARGOSY_CHECK(bound, runtime) << "[infer] the model's state has changed its form.";
    frame_->limit = &limit_;
    frame_->run();
    frame_->limit = nullptr;
    if (engine_->writes_state()) frame_->write_state();
  } catch (...) {
    frame_->mark_state();
    frame_ = nullptr;  // whatever it holds is not looked at any more
    throw;
  }
}

Tensor Predictor::output_tensor(size_t i) const {
  if (!ran_ || !frame_) return {};
  const uint32_t slot = choice_->plan->fetches[i];
  const Tensor& value = frame_->slots[slot];
  const bool own = choice_->plan->slots[slot].kind == runtime::MemorySlot::Kind::fresh &&
                   value.is_contiguous() && value.layout() == Layout::strided;
  if (own) return value.detach();
  if (value.layout() != Layout::strided) return value.detach();
  Tensor copy = Tensor::empty(value.shape(), value.dtype());
  op::copy_into(copy, value);
  return copy;
}

void Predictor::release_memory() {
  ran_ = false;
  if (!frame_) return;
  frame_->release();
  choice_->plan->give_frame(std::move(frame_));
  choice_ = nullptr;
}

const runtime::Plan* Predictor::plan() const {
  return choice_ ? choice_->plan.get() : nullptr;
}

const std::shared_ptr<program::Program>& Predictor::program() const {
  return choice_ ? choice_->program : engine_->program();
}

}  // namespace argosy::infer

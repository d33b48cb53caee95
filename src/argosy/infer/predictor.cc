#include "argosy/infer/predictor.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "argosy/infer/engine.h"
#include "argosy/infer/on_device.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/host_work.h"
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
  const Tensor dense = op::to_host(b);
  return a.shape() == b.shape() &&
         (a.nbytes() == 0 || std::memcmp(a.raw(), dense.raw(), a.nbytes()) == 0);
}

}  // namespace

Predictor::Predictor(const Options& options) : Predictor(std::make_shared<Engine>(options)) {}

Predictor::Predictor(std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)),
      feeds_(engine_->inputs.size()),
      buffers_(engine_->inputs.size()),
      forms_(engine_->inputs.size()) {
  if (engine_->place().kind == DeviceKind::cpu) return;
  lane_ = std::make_unique<Lane>(engine_->place(), feeds_.size());
  engine_->fill_pool(lane_->stream());
}

Predictor::~Predictor() {
  if (!lane_) return;
  try {
    lane_->synchronize();
  } catch (const Error&) {
    // The device has failed, which whoever uses it next is told.
  }
  frame_ = nullptr;  // while the stream is there
}

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
                   (t.place().kind == DeviceKind::cpu || t.place() == engine_->place()),
               invalid_argument)
      << "[infer] input '" << inputs()[i].name << "': expected a dense tensor in main memory"
      << (lane_ ? " or on the place of the model. Do this: move it there with .to(..)."
                : ". Do this: move it with .cpu(), or let the model run there.");
  check_form(inputs()[i], t.dtype(), t.shape(), engine_->takes_other_sizes());
  feeds_[i] = t;
}

const Tensor& Predictor::input_buffer(size_t i, const Shape& shape) {
  const Port& port = inputs()[i];
  check_form(port, port.dtype, shape, engine_->takes_other_sizes());
  if (lane_)
    buffers_[i] = lane_->host_memory(i, shape, port.dtype);
  else if (!buffers_[i].defined() || buffers_[i].shape() != shape)
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
  // Whatever place is current on the calling thread; a device's is set where its work is enqueued.
  const op::MakesOnHost on_host;
  limit_.interrupted = false;
  limit_.until = engine_->time_limit ? runtime::Limit::clock() + engine_->time_limit : 0;
  choose();
  ran_ = false;
  if (lane_) {
    run_on_device();
  } else if (engine_->writes_state()) {
    MutexLock lock(engine_->state_mutex());
    run_frame(feeds_);
  } else {
    run_frame(feeds_);
  }
  ran_ = true;
}

void Predictor::run_on_device() {
  const std::vector<Tensor> feeds = lane_->bring(feeds_);
  {
    const OnStream on(lane_->stream());
    if (engine_->writes_state()) {
      MutexLock lock(engine_->state_mutex());
      run_frame(feeds);
      lane_->synchronize();  // clones read and write the same memory on streams of their own
    } else {
      run_frame(feeds);
    }
  }
  lane_->enqueued(feeds_);
  if (engine_->time_limit) wait_within_limit();
}

void Predictor::wait_within_limit() const {
  Device& device = device::of(lane_->stream().place);
  while (!device.done(lane_->stream())) {
    limit_.check();
    if (runtime::look_for_interrupt) runtime::look_for_interrupt();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Predictor::run_frame(const std::vector<Tensor>& feeds) {
  try {
    const bool bound = frame_->bind(feeds, engine_->scope());
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

const Tensor* Predictor::value_of(size_t i) const {
  return ran_ && frame_ ? &frame_->slots[choice_->plan->fetches[i]] : nullptr;
}

std::optional<Shape> Predictor::output_shape(size_t i) const {
  const Tensor* value = value_of(i);
  return value ? std::optional(value->shape()) : std::nullopt;
}

Place Predictor::place() const {
  return engine_->place();
}

Tensor Predictor::output_on_host(size_t i) const {
  const Tensor* value = value_of(i);
  if (!value || !lane_ || value->place().kind == DeviceKind::cpu) return output_tensor(i);
  return lane_->on_host(*value);
}

Tensor Predictor::output_tensor(size_t i) const {
  if (!ran_ || !frame_) return {};
  const uint32_t slot = choice_->plan->fetches[i];
  const Tensor& value = frame_->slots[slot];
  if (lane_ && value.layout() == Layout::strided && value.place() == lane_->stream().place)
    return lane_->handed_out(value);
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
  // What the plan keeps on the device may go with it, and this stream reads it.
  if (lane_) lane_->synchronize();
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

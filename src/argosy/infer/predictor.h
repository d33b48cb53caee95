#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/infer/importer.h"
#include "argosy/runtime/frame.h"

// Runs models that are trained: loaded, rewritten once by the passes for deployment, planned for
// each form of inputs. Nothing of the training rooms is used.
namespace argosy::infer {

struct Options {
  ImportOptions model;
  // Passes that compute in another order, or with packed weights. Without them results are those of
  // the Program bit for bit.
  bool optimize = true;
  std::vector<std::string> without;  // passes left out, by name
  size_t plans = 32;                 // kept, the least recently used goes first; at least 1
  size_t memory_limit = 0;           // bytes that a run's values may take; 0: no limit
  double time_limit = 0;             // seconds that a run may take; 0: no limit
  // Where it runs: "cpu", "gpu", or the name of a device that was added.
  std::string device = "cpu";
  int device_index = 0;
  size_t device_pool =
      0;  // bytes that the stream of the first predictor takes from the device at once
  // The dtype of products and the like, as the pass autocast chooses them; inputs and outputs stay.
  DType precision = DType::float32;              // or float16, bfloat16
  std::vector<std::string> lowered, kept_float;  // names of ops: more of them, and not them
};

class Engine;
class Lane;
struct Choice;

// One model with inputs and outputs of its own. Used by one thread at a time; clones are
// independent of each other and share weights and plans.
//
// On a device each has a stream of its own, and run() has enqueued its work when it returns; who
// reads an output waits. A failure of the device is raised there. Inputs may be on the host or on
// that place.
class ARGOSY_API Predictor {
 public:
  explicit Predictor(const Options& options);
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  std::unique_ptr<Predictor> clone() const;

  std::span<const Port> inputs() const;
  std::span<const Port> outputs() const;
  // Places by name; not_found, with the names that there are, for others.
  size_t input(std::string_view name) const;
  size_t output(std::string_view name) const;

  // The tensor is read by each run until another is set; it is not copied. Dtype and rank must be
  // those of the input.
  void set_input(size_t i, const Tensor& t);
  // Memory of the host for input i that is kept from run to run, uninitialized where the shape is
  // another one. It is the input from now on. For a device it is pinned, and asking for it waits
  // until the run before has read it.
  const Tensor& input_buffer(size_t i, const Shape& shape);
  const Tensor& input_tensor(size_t i) const { return feeds_[i]; }  // may be undefined

  // Computes all outputs. Once the forms of inputs repeat, it takes no tensor memory from anybody,
  // as long as nobody holds an output of the run before.
  // Between steps it looks whether it takes longer than Options::time_limit (ErrorKind::timeout).
  void run();
  // From any thread: the run that is under way, if one is, fails before its next steps. Runs that
  // begin later are not concerned.
  void interrupt() { limit_.interrupted = true; }
  // Of the last run; undefined before. Holding it keeps it as it is: the next run then uses other
  // memory. On a device it is a copy there, which the caller's current stream makes.
  Tensor output_tensor(size_t i) const;
  // The same in the host's memory; waits for a device.
  Tensor output_on_host(size_t i) const;
  // Undefined before a run.
  std::optional<Shape> output_shape(size_t i) const;
  Place place() const;

  // Gives back the memory of runs; plans stay.
  void release_memory();
  // The plan of the last run, or null.
  const runtime::Plan* plan() const;
  // What the passes made of the model; null before the first run where what is fed decides it.
  const std::shared_ptr<program::Program>& program() const;

 private:
  explicit Predictor(std::shared_ptr<Engine> engine);
  bool fits() const;
  void choose();
  void run_frame(const std::vector<Tensor>& feeds);
  void run_on_device();
  void wait_within_limit() const;
  const Tensor* value_of(size_t output) const;

  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Lane> lane_;  // null on the CPU
  std::vector<Tensor> feeds_, buffers_;
  std::shared_ptr<const Choice> choice_;
  std::vector<Shape> forms_;  // of feeds, that choice_ is for
  std::unique_ptr<runtime::Frame> frame_;
  runtime::Limit limit_;  // of the run that is under way
  bool ran_ = false;
};

}  // namespace argosy::infer

#pragma once

#include <memory>
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
};

class Engine;
struct Choice;

// One model with inputs and outputs of its own. Used by one thread at a time; clones are
// independent of each other and share weights and plans.
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
  // Memory for input i that is kept from run to run, uninitialized where the shape is another one.
  // It is the input from now on.
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
  // memory.
  Tensor output_tensor(size_t i) const;

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
  void run_frame();

  std::shared_ptr<Engine> engine_;
  std::vector<Tensor> feeds_, buffers_;
  std::shared_ptr<const Choice> choice_;
  std::vector<Shape> forms_;  // of feeds, that choice_ is for
  std::unique_ptr<runtime::Frame> frame_;
  runtime::Limit limit_;  // of the run that is under way
  bool ran_ = false;
};

}  // namespace argosy::infer

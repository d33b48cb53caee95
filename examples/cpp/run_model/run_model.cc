#include <algorithm>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "argosy/op/dispatch.h"
#include "argosy/program/model.h"
#include "argosy/program/weights.h"
#include "argosy/runtime/executor.h"

// run_model PREFIX [INPUTS.safetensors [OUTPUTS.safetensors]]
//
// Loads PREFIX.argosy and PREFIX.safetensors, runs the model on tensors found by the names of its
// inputs, and prints what comes out. Without a file of inputs they are ones, with 1 for sizes that
// are not known.
namespace {

using namespace argosy;

Tensor ones(const program::Value& input) {
  Shape shape = input.shape;
  for (int d = 0; d < shape.rank(); ++d) shape[d] = std::max<int64_t>(shape[d], 1);
  const float value = 1;
  Tensor one = Tensor::empty({}, DType::float32), t = Tensor::empty(shape, input.dtype);
  std::memcpy(one.raw(), &value, sizeof(value));
  op::copy_into(t, one);
  return t;
}

Tensor input_of(const program::Value& input, const program::NamedTensors& given) {
  if (given.empty()) return ones(input);
  for (const auto& [name, t] : given)
    if (name == input.name) return t;
  throw Error(ErrorKind::invalid_argument, "there is no tensor for the input '" + input.name + "'");
}

std::string described(const Tensor& t) {
  Message m;
  m << t;
  return m.str();
}

void print(const std::string& name, const Tensor& t) {
  std::cout << name << ": " << described(t);
  Tensor values = Tensor::empty(t.shape(), DType::float64);
  op::copy_into(values, t);
  for (int64_t i = 0; i < std::min<int64_t>(t.numel(), 8); ++i)
    std::cout << (i ? " " : " = ") << values.data<double>()[i];
  std::cout << (t.numel() > 8 ? " ..\n" : "\n");
}

void run(const std::string& prefix, const char* inputs, const char* outputs) {
  const program::Model model = program::load_model(prefix);
  program::NamedTensors given;
  if (inputs) given = program::load_weights(inputs);

  std::vector<Tensor> feeds;
  for (const auto& input : model.program->main.arguments) {
    feeds.push_back(input_of(*input, given));
    std::cout << "input " << input->name << ": " << described(feeds.back()) << '\n';
  }
  std::vector<Ref<program::Value>> fetches;
  for (const program::Output& output : model.program->outputs) fetches.push_back(output.value);

  runtime::Executor executor;
  const Tensors results = executor.run(model.program, feeds, fetches, model.scope.get());
  program::NamedTensors named;
  for (size_t i = 0; i < results.size(); ++i) {
    print(model.program->outputs[i].name, results[i]);
    named.emplace_back(model.program->outputs[i].name, results[i]);
  }
  if (outputs) program::save_weights(outputs, named);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: " << argv[0] << " PREFIX [INPUTS.safetensors [OUTPUTS.safetensors]]\n";
    return 2;
  }
  try {
    run(argv[1], argc > 2 ? argv[2] : nullptr, argc > 3 ? argv[3] : nullptr);
  } catch (const std::exception& e) {
    std::cerr << "run_model: " << e.what() << '\n';
    return 1;
  }
  return 0;
}

#include "argosy/infer/importer.h"
#include "argosy/infer/paddle.h"

// Models of Paddle for whoever asks infer::load: predictors.
namespace argosy::infer {
namespace {

// Reads its files again for each Program: their weights are not kept.
class PaddleSource final : public Source {
 public:
  PaddleSource(const ImportOptions& options, std::vector<Port> inputs, std::vector<Port> outputs)
      : options_(options),
        program_bytes_(options.program_bytes),
        weight_bytes_(options.weight_bytes),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {
    options_.program_bytes = program_bytes_;
    options_.weight_bytes = weight_bytes_;
  }

  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }

  bool takes_other_sizes() const override { return true; }

  program::Model build(std::span<const Tensor> fixed, std::vector<Need>* needs) const override {
    PaddleImport made = import_paddle(options_, fixed);
    needs->insert(needs->end(), made.needs.begin(), made.needs.end());
    return std::move(made.model);
  }

 private:
  ImportOptions options_;
  const std::string program_bytes_, weight_bytes_;  // what options_ refers to
  const std::vector<Port> inputs_, outputs_;
};

Import load(const ImportOptions& options) {
  PaddleImport made = import_paddle(options, {});
  Import import{std::move(made.model), nullptr, std::move(made.needs)};
  // What was handed over in memory is not kept for sizes that may never come.
  if (!import.model.program || options.program_bytes.empty())
    import.source =
        std::make_shared<PaddleSource>(options, std::move(made.inputs), std::move(made.outputs));
  return import;
}

[[maybe_unused]] const bool registered = register_importer({"paddle", recognizes_paddle, load});

}  // namespace
}  // namespace argosy::infer

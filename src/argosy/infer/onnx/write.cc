#include "argosy/infer/onnx/write.h"

#include "argosy/infer/onnx/emit.h"
#include "onnx.pb.h"

namespace argosy::infer::onnx {
namespace {

// What the rows write: axes as inputs since 13, LayerNormalization since 17.
constexpr int64_t kLeastOpset = 17, kNewestOpset = 23;
constexpr int64_t kIrVersion = 8;

}  // namespace

std::string write_model(const program::Program& program, const OnnxExport& options) {
  ARGOSY_CHECK(options.opset <= kNewestOpset, not_implemented)
      << "[onnx.export] opset_version: " << kNewestOpset << " is the newest that is written, got "
      << options.opset << '.';
  const std::shared_ptr<program::Program> p = for_writing(program);
  check_writable(*p, "onnx.export", "ONNX", can_write);
  file::Model model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("argosy");
  file::Opset* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(std::max(options.opset, kLeastOpset));
  Emitter(*p, model, opset->version()).write(options);
  std::string bytes;
  ARGOSY_CHECK(model.ByteSizeLong() < size_t{1} << 31 && model.SerializeToString(&bytes),
               not_implemented)
      << "[onnx.export] the model takes more than the 2 GiB that an ONNX file holds.";
  return bytes;
}

}  // namespace argosy::infer::onnx

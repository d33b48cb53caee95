#include "argosy/infer/onnx/write.h"

#include <set>

#include "argosy/infer/onnx/emit.h"
#include "argosy/op/dispatch.h"
#include "argosy/program/inference.h"
#include "onnx.pb.h"

namespace argosy::infer::onnx {
namespace {

// What the rows write: axes as inputs since 13, LayerNormalization since 17.
constexpr int64_t kLeastOpset = 17, kNewestOpset = 23;
constexpr int64_t kIrVersion = 8;

void check_operations(const program::Program& p) {
  std::set<std::string> missing;
  program::each_operation(p.main, [&](const Operation& o) {
    if (!can_write(o)) missing.insert(o.op->name);
  });
  if (missing.empty()) return;
  std::string list;
  for (const std::string& name : missing) list += (list.empty() ? "" : ", ") + name;
  ARGOSY_THROW(not_implemented) << "[onnx.export] ops without a counterpart in ONNX: " << list
                                << ". Do this: compute them outside of the exported layer.";
}

}  // namespace

std::string write_model(const program::Program& program, const OnnxExport& options) {
  ARGOSY_CHECK(options.opset <= kNewestOpset, not_implemented)
      << "[onnx.export] opset_version: " << kNewestOpset << " is the newest that is written, got "
      << options.opset << '.';
  op::GradMode no_grad(false);
  const std::shared_ptr<program::Program> p = program.clone();
  program::become_inference(*p);
  const std::string dead[] = {"dead_code"};
  passes::PassContext context;
  context.inference = true;
  passes::run_pipeline(*p, dead, context);
  check_operations(*p);
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

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <new>
#include <set>

#include "argosy/infer/onnx.h"
#include "argosy/infer/onnx/session.h"
#include "argosy/infer/onnx/write.h"
#include "argosy/op/dispatch.h"
#include "onnx.pb.h"

namespace argosy::infer::onnx {
namespace {

namespace pb = google::protobuf;

constexpr int kMaxNesting = 100;
// Messages of a file take at most this many bytes of memory for each of the file's: a model's nodes
// take about ten, a file of empty ones two hundred.
constexpr size_t kMemoryPerByte = 32;
constexpr size_t kMemoryAtLeast = size_t{64} << 20;

// What the arena of this thread may still take.
thread_local size_t* arena_budget = nullptr;

void* take_block(size_t bytes) {
  if (bytes > *arena_budget) throw std::bad_alloc();
  *arena_budget -= bytes;
  return ::operator new(bytes);
}

OnnxPort port_of(const file::ValueInfo& info) {
  OnnxPort port;
  port.name = info.name();
  const file::TypeOf* type = &info.type();
  const bool optional = type->has_optional_type();
  if (optional) type = &type->optional_type().elem_type();
  const bool sequence = type->has_sequence_type();
  if (sequence) type = &type->sequence_type().elem_type();
  port.kind = optional
                  ? (sequence ? OnnxPort::Kind::optional_sequence : OnnxPort::Kind::optional_tensor)
              : sequence ? OnnxPort::Kind::sequence
                         : OnnxPort::Kind::tensor;
  ARGOSY_CHECK(type->has_tensor_type(), not_implemented)
      << "[onnx] '" << port.name << "' is a map, a sparse tensor or nested; tensors, sequences of "
      << "them and optionals are supported.";
  port.element = type->tensor_type().elem_type();
  const auto dtype = dtype_of_element(port.element);
  ARGOSY_CHECK(dtype, not_implemented)
      << "[onnx] '" << port.name << "' has elements of type " << element_name(port.element) << " ("
      << port.element << "), which is not supported.";
  port.dtype = *dtype;
  port.ranked = type->tensor_type().has_shape();
  const file::Sizes& sizes = type->tensor_type().shape();
  ARGOSY_CHECK(sizes.dim_size() <= kMaxRank, not_implemented)
      << "[onnx] '" << port.name << "' has " << sizes.dim_size() << " dimensions; at most "
      << kMaxRank << " are supported.";
  for (const file::Dimension& d : sizes.dim()) {
    const bool known = d.has_dim_value() && d.dim_value() >= 0;
    port.shape.push_back(known ? d.dim_value() : kUnknown);
    port.axes.push_back(d.dim_param());
  }
  return port;
}

class Model final : public OnnxModel {
 public:
  Model(std::string_view bytes, const std::string& folder) : reader_(folder) {
    budget_ = kMemoryAtLeast + bytes.size() * kMemoryPerByte;
    pb::ArenaOptions options;
    options.block_alloc = take_block;
    options.block_dealloc = [](void* p, size_t) { ::operator delete(p); };
    const auto within = budget();
    arena_ = std::make_unique<pb::Arena>(options);
    proto_ = pb::Arena::CreateMessage<file::Model>(arena_.get());
    parse(bytes);
    check();
  }

  const std::vector<OnnxPort>& inputs() const override { return inputs_; }
  const std::vector<OnnxPort>& outputs() const override { return outputs_; }
  std::vector<std::pair<std::string, std::string>> metadata() const override {
    std::vector<std::pair<std::string, std::string>> list;
    for (const file::Entry& e : proto_->metadata_props()) list.emplace_back(e.key(), e.value());
    return list;
  }

  OnnxProgram build(std::span<const OnnxGiven> given) const override {
    check_operators(*proto_);
    for (const OnnxGiven& g : given) {
      bool found = false;
      for (const OnnxPort& port : inputs_) found = found || port.name == g.name;
      ARGOSY_CHECK(found, not_found) << "[onnx] the model has no input '" << g.name << "'.";
    }
    op::GradMode no_grad(false);
    Session session(*proto_, reader_);
    try {
      return finish(session, given);
    } catch (const NeedsMore& more) {
      return {nullptr, {}, more.needs};
    }
  }

 private:
  struct Budget {
    explicit Budget(size_t* of) : before(arena_budget) { arena_budget = of; }
    ~Budget() { arena_budget = before; }
    size_t* before;
  };
  Budget budget() { return Budget(&budget_); }

  void parse(std::string_view bytes) {
    pb::io::ArrayInputStream raw(bytes.data(), static_cast<int>(bytes.size()));
    bool whole = bytes.size() < size_t{1} << 31;
    ARGOSY_CHECK(whole, not_implemented)
        << "[onnx] the file has " << bytes.size()
        << " bytes; 2 GiB is the most. Do this: keep its weights in files beside it.";
    pb::io::CodedInputStream stream(&raw);
    stream.SetRecursionLimit(kMaxNesting);
    try {
      whole = proto_->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
    } catch (const std::bad_alloc&) {
      ARGOSY_THROW(memory) << "[onnx] the file of " << bytes.size()
                           << " bytes takes too much memory: it is no model.";
    }
    ARGOSY_CHECK(whole && proto_->has_graph() && proto_->opset_import_size() > 0, invalid_argument)
        << "[onnx] the file of " << bytes.size() << " bytes is no whole ONNX model.";
  }

  void check() {
    const file::Graph& graph = proto_->graph();
    std::set<std::string> constants;
    for (const file::Tensor& t : graph.initializer()) constants.insert(t.name());
    for (const file::ValueInfo& v : graph.input()) {
      const bool constant = constants.contains(v.name());
      is_input_.push_back(!constant);
      if (!constant) inputs_.push_back(port_of(v));
    }
    for (const file::ValueInfo& v : graph.output()) {
      OnnxPort port;
      port.name = v.name();
      if (v.has_type()) port = port_of(v);
      outputs_.push_back(port);
    }
  }

  OnnxProgram finish(Session& session, std::span<const OnnxGiven> given) const {
    file::Graph const& graph = proto_->graph();
    Items in;
    size_t at = 0;
    for (int i = 0; i < graph.input_size(); ++i) {
      if (!is_input_[static_cast<size_t>(i)]) {
        in.push_back({});
        continue;
      }
      const OnnxPort& port = inputs_[at++];
      const OnnxGiven* known = nullptr;
      for (const OnnxGiven& g : given)
        if (g.name == port.name) known = &g;
      in.push_back(session.input(port, known));
    }
    OnnxProgram made;
    const Items out = session.run(graph, in);
    made.program = session.program();
    for (size_t i = 0; i < out.size(); ++i) add_output(session, out[i], outputs_[i], &made);
    made.program->verify();
    return made;
  }

  static void add_output(Session& session, const Item& item, const OnnxPort& port,
                         OnnxProgram* made) {
    OnnxOutput output;
    output.name = port.name;
    output.element = item.element;
    output.sequence = item.kind == Item::Kind::sequence;
    output.missing = item.kind == Item::Kind::missing;
    const std::vector<Tensor> tensors = output.sequence  ? item.elements
                                        : output.missing ? std::vector<Tensor>()
                                                         : std::vector<Tensor>{item.tensor};
    output.count = tensors.size();
    for (size_t i = 0; i < tensors.size(); ++i)
      made->program->outputs.push_back(
          {output.sequence ? port.name + "." + std::to_string(i) : port.name,
           session.builder().current(tensors[i])});
    made->outputs.push_back(std::move(output));
  }

  TensorReader reader_;
  size_t budget_ = 0;
  std::unique_ptr<pb::Arena> arena_;
  file::Model* proto_ = nullptr;
  std::vector<OnnxPort> inputs_, outputs_;
  std::vector<bool> is_input_;  // of the graph's inputs: false where an initializer is its value
};

std::shared_ptr<OnnxModel> parse(std::string_view bytes, const std::string& folder) {
  return std::make_shared<Model>(bytes, folder);
}

}  // namespace
}  // namespace argosy::infer::onnx

extern "C" __attribute__((visibility("default"))) argosy::infer::OnnxLibrary argosy_onnx_library() {
  return {argosy::infer::onnx::parse, argosy::infer::onnx::write_model};
}

#include "argosy/kernels/cuda/conv_graph.h"

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/kernels/cuda/dnn.h"
#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {
namespace {

namespace fe = cudnn_frontend;
using Node = std::shared_ptr<fe::graph::Tensor_attributes>;
using Sizes = std::vector<int64_t>;

// What a graph's tensors are called when it runs.
enum Id : int64_t { kX = 1, kW, kY };

struct Plan {
  fe::graph::Graph graph;
  int64_t workspace = 0;
  std::mutex running;  // of the host's part: one thread at a time fills in a graph's addresses
};

// By conv_key; null where cuDNN has no kernel. The mutex is held for look-ups and insertions alone.
// When it is full, all of it is dropped; calls that are under way keep theirs.
class Plans {
 public:
  bool find(const std::string& key, std::shared_ptr<Plan>& plan) {
    std::lock_guard lock(mutex_);
    const auto at = plans_.find(key);
    if (at == plans_.end()) return false;
    plan = at->second;
    return true;
  }
  std::shared_ptr<Plan> keep(const std::string& key, std::shared_ptr<Plan> plan) {
    std::lock_guard lock(mutex_);
    if (plans_.size() >= kMost) plans_.clear();
    return plans_.emplace(key, std::move(plan)).first->second;
  }

 private:
  static constexpr size_t kMost = 2048;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Plan>> plans_;
};
Plans& plans() {
  static auto* all = new Plans;  // outlives threads that still compute when the process ends
  return *all;
}

// Sizes as cuDNN orders them, [batch or out, channels, height, width], and channels last in memory.
struct Form {
  Sizes sizes, strides;
};
Form form(int64_t n, int64_t c, const int64_t* places) {
  const int64_t h = places[1], w = places[2];
  return {{n, c, h, w}, {h * w * c, 1, w * c, c}};
}

fe::graph::Tensor_attributes describe(Id id, const Form& f, fe::DataType_t type) {
  fe::graph::Tensor_attributes t;
  t.set_uid(id).set_dim(f.sizes).set_stride(f.strides).set_data_type(type);
  return t;
}

template <class Attributes>
Attributes attributes_of(const ConvShape& s) {
  Attributes a;
  a.set_padding({s.pad[1], s.pad[2]})
      .set_stride({s.stride[1], s.stride[2]})
      .set_dilation({s.dilation[1], s.dilation[2]});
  return a;
}

void add(fe::graph::Graph& graph, ConvKind kind, const ConvShape& s, fe::DataType_t type) {
  const Form x = form(s.batch, s.in_channels, s.in), y = form(s.batch, s.out_channels, s.out),
             w = form(s.out_channels, s.in_channels, s.kernel);
  const auto given = [&](Id id, const Form& f) { return graph.tensor(describe(id, f, type)); };
  const auto makes = [&](const Node& node, Id id, const Form& f) {
    node->set_output(true).set_uid(id).set_dim(f.sizes).set_stride(f.strides).set_data_type(type);
  };
  switch (kind) {
    case ConvKind::forward:
      return makes(graph.conv_fprop(given(kX, x), given(kW, w),
                                    attributes_of<fe::graph::Conv_fprop_attributes>(s)),
                   kY, y);
    case ConvKind::data:
      return makes(graph.conv_dgrad(given(kY, y), given(kW, w),
                                    attributes_of<fe::graph::Conv_dgrad_attributes>(s)),
                   kX, x);
    case ConvKind::weight:
      return makes(graph.conv_wgrad(given(kY, y), given(kX, x),
                                    attributes_of<fe::graph::Conv_wgrad_attributes>(s)),
                   kW, w);
  }
}

std::shared_ptr<Plan> build(ConvKind kind, cudnnHandle_t handle, DType dtype, const ConvShape& s,
                            const ConvOptions& options) {
  auto plan = std::make_shared<Plan>();
  fe::graph::Graph& graph = plan->graph;
  const fe::DataType_t type =
      dtype == DType::bfloat16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF;
  graph.set_io_data_type(type)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  try {
    add(graph, kind, s, type);
    if (graph.validate().is_bad() || graph.build_operation_graph(handle).is_bad()) return nullptr;
    if (graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}).is_bad())
      return nullptr;
    graph.deselect_workspace_greater_than(options.workspace);
    if (options.deterministic)
      graph.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
    if (graph.check_support(handle).is_bad() || graph.build_plans(handle).is_bad()) return nullptr;
    if (graph.get_workspace_size(plan->workspace).is_bad()) return nullptr;
  } catch (const std::exception&) {  // of the front end, where a library of cuDNN is missing
    return nullptr;
  }
  return plan;
}

}  // namespace

bool graph_conv(ConvKind kind, cudaStream_t stream, DType dtype, const ConvShape& s,
                const ConvOptions& options, const void* x, const void* w, const void* y) {
  constexpr uintptr_t kAligned = 16;
  for (const void* p : {x, w, y})
    if (reinterpret_cast<uintptr_t>(p) % kAligned) return false;
  cudnnHandle_t handle = dnn_handle(stream);
  const std::string key = conv_key(kind, dtype, s, options, false);
  std::shared_ptr<Plan> plan;
  if (!plans().find(key, plan)) plan = plans().keep(key, build(kind, handle, dtype, s, options));
  if (!plan) return false;
  const Scratch space(stream, static_cast<size_t>(std::max<int64_t>(plan->workspace, 1)));
  std::unordered_map<int64_t, void*> addresses = {
      {kX, const_cast<void*>(x)}, {kW, const_cast<void*>(w)}, {kY, const_cast<void*>(y)}};
  std::lock_guard lock(plan->running);
  fe::error_t status = plan->graph.execute(handle, addresses, space.data());
  ARGOSY_CHECK(status.is_good(), device)
      << "[gpu] a convolution of cuDNN failed: " << status.get_message()
      << ". Do this: run with CUDNN_LOGLEVEL_DBG=2 to see why.";
  return true;
}

}  // namespace argosy::cuda

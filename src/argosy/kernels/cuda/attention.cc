#include "argosy/kernels/cuda/attention.h"

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/base/flags.h"
#include "argosy/kernels/cuda/dnn.h"
#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {
namespace {

namespace fe = cudnn_frontend;
using Node = std::shared_ptr<fe::graph::Tensor_attributes>;
using Sizes = std::vector<int64_t>;

// What a graph's tensors are called when it runs.
enum Id : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOut,
  kLogSum,
  kDout,
  kDquery,
  kDkey,
  kDvalue,
  kLengthsQ,
  kLengthsK,
  kPlaces,  // and those after it
};

struct Plan {
  fe::graph::Graph graph;
  int64_t workspace = 0;
  std::mutex running;  // of the host's part: one thread at a time fills in a graph's addresses
};

// --- keys ---

// All that a plan depends on.
using Key = std::vector<int64_t>;

Key key_of(const Attention& a, bool gradient, bool deterministic) {
  int device = 0;
  ARGOSY_CUDA(cudaGetDevice(&device));
  Key key{device,
          gradient + 2 * deterministic + 4 * a.causal,
          static_cast<int64_t>(a.type),
          a.batch,
          a.heads,
          a.key_heads,
          a.queries,
          a.keys,
          a.size,
          a.value_size,
          std::bit_cast<int64_t>(a.scale)};
  for (const HeadMatrices& m : {a.query, a.key, a.value})
    key.insert(key.end(), {m.batch, m.row, m.head});
  return key;
}

// Plans by problem; null where cuDNN has none. The mutex is held for look-ups and insertions alone,
// so two threads may build the same plan at once; the first one stays. When it is full, all of it
// is dropped; calls that are under way keep theirs.
class Plans {
 public:
  bool find(const Key& key, std::shared_ptr<Plan>& plan) {
    std::lock_guard lock(mutex_);
    const auto at = plans_.find(key);
    if (at == plans_.end()) return false;
    plan = at->second;
    return true;
  }
  std::shared_ptr<Plan> keep(const Key& key, std::shared_ptr<Plan> plan) {
    std::lock_guard lock(mutex_);
    if (plans_.size() >= kMost) plans_.clear();
    return plans_.emplace(key, std::move(plan)).first->second;
  }

 private:
  static constexpr size_t kMost = 1024;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Plan>> plans_;
};
Plans& plans() {
  static auto* all = new Plans;  // outlives threads that still compute when the process ends
  return *all;
}

// --- graphs ---

fe::graph::Tensor_attributes describe(Id id, const char* name, const Sizes& sizes,
                                      const Sizes& strides, fe::DataType_t type) {
  fe::graph::Tensor_attributes t;
  t.set_uid(id).set_name(name).set_dim(sizes).set_stride(strides).set_data_type(type);
  return t;
}

fe::DataType_t type_of(DType type) {
  return type == DType::bfloat16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF;
}

// As cuDNN orders sizes: [batch, heads, length, size].
struct Form {
  Sizes sizes, strides;
};
Form form_of(const HeadMatrices& m, int64_t batch, int64_t heads, int64_t length, int64_t size) {
  // Strides of sizes 1 are never used, but looked at.
  const int64_t head = heads == 1 ? size : m.head;
  const int64_t row = length == 1 ? heads * size : m.row;
  return {{batch, heads, length, size}, {batch == 1 ? length * row : m.batch, head, row, 1}};
}
// [batch, length, heads, size] without gaps.
Form dense(int64_t batch, int64_t heads, int64_t length, int64_t size) {
  return {{batch, heads, length, size}, {length * heads * size, size, heads * size, 1}};
}

struct Operands {
  Node query, key, value;
};
Operands add_operands(fe::graph::Graph& graph, const Attention& a) {
  const fe::DataType_t type = type_of(a.type);
  const Form q = form_of(a.query, a.batch, a.heads, a.queries, a.size);
  const Form k = form_of(a.key, a.batch, a.key_heads, a.keys, a.size);
  const Form v = form_of(a.value, a.batch, a.key_heads, a.keys, a.value_size);
  return {graph.tensor(describe(kQuery, "query", q.sizes, q.strides, type)),
          graph.tensor(describe(kKey, "key", k.sizes, k.strides, type)),
          graph.tensor(describe(kValue, "value", v.sizes, v.strides, type))};
}

void set_result(const Node& t, Id id, const Form& form, fe::DataType_t type) {
  t->set_output(true).set_uid(id).set_dim(form.sizes).set_stride(form.strides).set_data_type(type);
}

Form log_sums(const Attention& a) {
  return {{a.batch, a.heads, a.queries, 1}, {a.heads * a.queries, a.queries, 1, 1}};
}

void add_forward(fe::graph::Graph& graph, const Attention& a) {
  const Operands in = add_operands(graph, a);
  fe::graph::SDPA_attributes how;
  how.set_name("attention").set_generate_stats(true).set_attn_scale(static_cast<float>(a.scale));
  how.set_implementation(fe::AttentionImplementation_t::COMPOSITE);
  if (a.causal)
    how.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  auto [out, log_sum] = graph.sdpa(in.query, in.key, in.value, how);
  set_result(out, kOut, dense(a.batch, a.heads, a.queries, a.value_size), type_of(a.type));
  set_result(log_sum, kLogSum, log_sums(a), fe::DataType_t::FLOAT);
}

void add_backward(fe::graph::Graph& graph, const Attention& a, bool deterministic) {
  const fe::DataType_t type = type_of(a.type);
  const Operands in = add_operands(graph, a);
  const Form out = dense(a.batch, a.heads, a.queries, a.value_size), sums = log_sums(a);
  const Node y = graph.tensor(describe(kOut, "out", out.sizes, out.strides, type));
  const Node dy = graph.tensor(describe(kDout, "dout", out.sizes, out.strides, type));
  const Node log_sum =
      graph.tensor(describe(kLogSum, "log_sum", sums.sizes, sums.strides, fe::DataType_t::FLOAT));
  fe::graph::SDPA_backward_attributes how;
  how.set_name("attention_grad").set_attn_scale(static_cast<float>(a.scale));
  how.set_deterministic_algorithm(deterministic);
  if (a.causal)
    how.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  auto [dq, dk, dv] = graph.sdpa_backward(in.query, in.key, in.value, y, dy, log_sum, how);
  set_result(dq, kDquery, dense(a.batch, a.heads, a.queries, a.size), type);
  set_result(dk, kDkey, dense(a.batch, a.key_heads, a.keys, a.size), type);
  set_result(dv, kDvalue, dense(a.batch, a.key_heads, a.keys, a.value_size), type);
}

// Null where cuDNN has no kernel for the graph that `add` makes.
template <class Add>
std::shared_ptr<Plan> build(cudnnHandle_t handle, fe::DataType_t type, Add&& add) {
  auto plan = std::make_shared<Plan>();
  fe::graph::Graph& graph = plan->graph;
  graph.set_io_data_type(type)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  try {
    add(graph);
    if (graph.build(handle, {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}).is_bad()) return nullptr;
    if (graph.get_workspace_size(plan->workspace).is_bad()) return nullptr;
  } catch (const std::exception&) {  // the frontend's way to say that it takes something not
    return nullptr;
  }
  return plan;
}

bool is_deterministic() {
  static const flags::Flag& flag = flags::find("FLAGS_cudnn_deterministic");
  return flag.boolean();
}

template <class Add>
std::shared_ptr<Plan> plan_of(cudnnHandle_t handle, const Key& key, fe::DataType_t type,
                              Add&& add) {
  std::shared_ptr<Plan> plan;
  if (plans().find(key, plan)) return plan;
  return plans().keep(key, build(handle, type, add));
}

using Addresses = std::unordered_map<int64_t, void*>;

void* address(const void* p) {
  return const_cast<void*>(p);
}

Addresses operands_of(const Attention& a) {
  return {{kQuery, address(a.query.data)},
          {kKey, address(a.key.data)},
          {kValue, address(a.value.data)}};
}

void run(cudnnHandle_t handle, cudaStream_t stream, Plan& plan, Addresses addresses) {
  const Scratch workspace(stream, static_cast<size_t>(std::max<int64_t>(plan.workspace, 1)));
  std::lock_guard lock(plan.running);
  fe::error_t status = plan.graph.execute(handle, addresses, workspace.data());
  ARGOSY_CHECK(status.is_good(), device)
      << "[attention] cuDNN failed: " << status.get_message()
      << ". Do this: run with CUDNN_LOGLEVEL_DBG=2 to see the operands.";
}

}  // namespace

bool attention(cudaStream_t stream, const Attention& a, void* out, float* log_sum) {
  const cudnnHandle_t handle = dnn_handle(stream);
  const auto plan = plan_of(handle, key_of(a, /*gradient=*/false, false), type_of(a.type),
                            [&](fe::graph::Graph& graph) { add_forward(graph, a); });
  if (!plan) return false;
  Addresses addresses = operands_of(a);
  addresses[kOut] = out;
  addresses[kLogSum] = log_sum;
  run(handle, stream, *plan, std::move(addresses));
  return true;
}

bool attention_grad(cudaStream_t stream, const Attention& a, const void* out, const float* log_sum,
                    const void* dout, void* dquery, void* dkey, void* dvalue) {
  const cudnnHandle_t handle = dnn_handle(stream);
  const bool deterministic = is_deterministic();
  const auto plan =
      plan_of(handle, key_of(a, /*gradient=*/true, deterministic), type_of(a.type),
              [&](fe::graph::Graph& graph) { add_backward(graph, a, deterministic); });
  if (!plan) return false;
  Addresses addresses = operands_of(a);
  addresses[kOut] = address(out);
  addresses[kLogSum] = address(log_sum);
  addresses[kDout] = address(dout);
  addresses[kDquery] = dquery;
  addresses[kDkey] = dkey;
  addresses[kDvalue] = dvalue;
  run(handle, stream, *plan, std::move(addresses));
  return true;
}

// --- packed ---

namespace {

// Plans are for so many sequences and rows, rounded up, of which a call may have fewer.
struct Room {
  int64_t sequences, rows, key_rows;
};
int64_t rounded(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 128))));
}
Room room_of(const PackedAttention& a) {
  return {static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(a.sequences))), rounded(a.rows),
          rounded(a.key_rows)};
}

Key key_of(const PackedAttention& a, const Room& room, bool gradient, bool deterministic) {
  int device = 0;
  ARGOSY_CUDA(cudaGetDevice(&device));
  // Of another length than keys of Attention.
  return {device,
          gradient + 2 * deterministic + 4 * a.causal,
          static_cast<int64_t>(a.type),
          room.sequences,
          room.rows,
          room.key_rows,
          a.heads,
          a.key_heads,
          a.size,
          a.value_size,
          std::bit_cast<int64_t>(a.scale)};
}

// A tensor of the packed batch: where its sequences begin is operand kPlaces + place.
class PackedTensors {
 public:
  PackedTensors(fe::graph::Graph& graph, const PackedAttention& a, const Room& room)
      : graph_(graph), room_(room), type_(type_of(a.type)) {
    const Sizes one{room.sequences, 1, 1, 1}, more{room.sequences + 1, 1, 1, 1}, steps{1, 1, 1, 1};
    const auto number = fe::DataType_t::INT32;
    lengths_q = graph.tensor(describe(kLengthsQ, "lengths_q", one, steps, number));
    lengths_k = graph.tensor(describe(kLengthsK, "lengths_k", one, steps, number));
    for (int i = 0; i < kPackedTensors; ++i) {
      const auto id = static_cast<Id>(kPlaces + i);
      const std::string name = "places" + std::to_string(i);
      places_[i] = graph.tensor(describe(id, name.c_str(), more, steps, number));
    }
  }
  Node operand(Id id, const char* name, int place, int64_t heads, int64_t size) {
    const Form f = form(place, heads, size);
    auto t = describe(id, name, f.sizes, f.strides, type_);
    return graph_.tensor(t.set_ragged_offset(places_[place]));
  }
  void result(const Node& t, Id id, int place, int64_t heads, int64_t size) {
    set_result(t, id, form(place, heads, size), type_);
    t->set_ragged_offset(places_[place]);
  }
  Form sums(int64_t heads) const {
    return {{room_.sequences, heads, room_.rows, 1}, {room_.rows * heads, 1, heads, 1}};
  }
  Node places(int place) const { return places_[place]; }
  Node lengths_q, lengths_k;

 private:
  Form form(int place, int64_t heads, int64_t size) const {
    const bool of_keys = place == 1 || place == 2;
    return dense(room_.sequences, heads, of_keys ? room_.key_rows : room_.rows, size);
  }
  fe::graph::Graph& graph_;
  Room room_;
  fe::DataType_t type_;
  Node places_[kPackedTensors];
};

void add_forward(fe::graph::Graph& graph, const PackedAttention& a, const Room& room) {
  PackedTensors t(graph, a, room);
  fe::graph::SDPA_attributes how;
  how.set_name("attention").set_generate_stats(true).set_attn_scale(static_cast<float>(a.scale));
  how.set_implementation(fe::AttentionImplementation_t::COMPOSITE);
  how.set_padding_mask(true).set_seq_len_q(t.lengths_q).set_seq_len_kv(t.lengths_k);
  if (a.causal)
    how.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  const Node q = t.operand(kQuery, "query", 0, a.heads, a.size);
  const Node k = t.operand(kKey, "key", 1, a.key_heads, a.size);
  const Node v = t.operand(kValue, "value", 2, a.key_heads, a.value_size);
  auto [out, log_sum] = graph.sdpa(q, k, v, how);
  t.result(out, kOut, 3, a.heads, a.value_size);
  set_result(log_sum, kLogSum, t.sums(a.heads), fe::DataType_t::FLOAT);
  log_sum->set_ragged_offset(t.places(4));
}

void add_backward(fe::graph::Graph& graph, const PackedAttention& a, const Room& room,
                  bool deterministic) {
  PackedTensors t(graph, a, room);
  fe::graph::SDPA_backward_attributes how;
  how.set_name("attention_grad").set_attn_scale(static_cast<float>(a.scale));
  how.set_deterministic_algorithm(deterministic);
  how.set_padding_mask(true).set_seq_len_q(t.lengths_q).set_seq_len_kv(t.lengths_k);
  how.set_max_total_seq_len_q(room.rows).set_max_total_seq_len_kv(room.key_rows);
  if (a.causal)
    how.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  const Node q = t.operand(kQuery, "query", 0, a.heads, a.size);
  const Node k = t.operand(kKey, "key", 1, a.key_heads, a.size);
  const Node v = t.operand(kValue, "value", 2, a.key_heads, a.value_size);
  const Node y = t.operand(kOut, "out", 3, a.heads, a.value_size);
  const Node dy = t.operand(kDout, "dout", 3, a.heads, a.value_size);
  const Form sums = t.sums(a.heads);
  auto described = describe(kLogSum, "log_sum", sums.sizes, sums.strides, fe::DataType_t::FLOAT);
  const Node log_sum = graph.tensor(described.set_ragged_offset(t.places(4)));
  auto [dq, dk, dv] = graph.sdpa_backward(q, k, v, y, dy, log_sum, how);
  t.result(dq, kDquery, 0, a.heads, a.size);
  t.result(dk, kDkey, 1, a.key_heads, a.size);
  t.result(dv, kDvalue, 2, a.key_heads, a.value_size);
}

// Runs with where the sequences are, which is computed first.
void run_packed(cudnnHandle_t handle, cudaStream_t stream, Plan& plan, const PackedAttention& a,
                const Room& room, Addresses addresses) {
  const int64_t most = room.sequences;
  const PackedPlaces places{a.starts_type,
                            a.starts_q,
                            a.starts_k,
                            a.sequences,
                            most,
                            a.rows,
                            a.key_rows,
                            {a.heads * a.size, a.key_heads * a.size, a.key_heads * a.value_size,
                             a.heads * a.value_size, a.heads}};
  // Each list begins at a multiple of 16 bytes.
  const int64_t step = places_step(most);
  const Scratch memory(stream, static_cast<size_t>((2 + kPackedTensors) * step) * sizeof(int32_t));
  auto* to = memory.data<int32_t>();
  packed_places(stream, places, to);
  addresses[kQuery] = address(a.query);
  addresses[kKey] = address(a.key);
  addresses[kValue] = address(a.value);
  addresses[kLengthsQ] = to;
  addresses[kLengthsK] = to + step;
  for (int i = 0; i < kPackedTensors; ++i) addresses[kPlaces + i] = to + (2 + i) * step;
  run(handle, stream, plan, std::move(addresses));
}

void clear(cudaStream_t stream, void* p, int64_t elements) {
  ARGOSY_CUDA(cudaMemsetAsync(p, 0, static_cast<size_t>(elements) * 2, stream));
}

}  // namespace

bool packed_attention(cudaStream_t stream, const PackedAttention& a, void* out, float* log_sum) {
  const cudnnHandle_t handle = dnn_handle(stream);
  const Room room = room_of(a);
  const auto plan = plan_of(handle, key_of(a, room, /*gradient=*/false, false), type_of(a.type),
                            [&](fe::graph::Graph& graph) { add_forward(graph, a, room); });
  if (!plan) return false;
  clear(stream, out, a.rows * a.heads * a.value_size);
  run_packed(handle, stream, *plan, a, room, {{kOut, out}, {kLogSum, log_sum}});
  return true;
}

bool packed_attention_grad(cudaStream_t stream, const PackedAttention& a, const void* out,
                           const float* log_sum, const void* dout, void* dquery, void* dkey,
                           void* dvalue) {
  const cudnnHandle_t handle = dnn_handle(stream);
  const Room room = room_of(a);
  const bool deterministic = is_deterministic();
  const auto plan =
      plan_of(handle, key_of(a, room, /*gradient=*/true, deterministic), type_of(a.type),
              [&](fe::graph::Graph& graph) { add_backward(graph, a, room, deterministic); });
  if (!plan) return false;
  clear(stream, dquery, a.rows * a.heads * a.size);
  clear(stream, dkey, a.key_rows * a.key_heads * a.size);
  clear(stream, dvalue, a.key_rows * a.key_heads * a.value_size);
  run_packed(handle, stream, *plan, a, room,
             {{kOut, address(out)},
              {kLogSum, address(log_sum)},
              {kDout, address(dout)},
              {kDquery, dquery},
              {kDkey, dkey},
              {kDvalue, dvalue}});
  return true;
}

}  // namespace argosy::cuda

#include "argosy/kernels/cpu/packed_primitive.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "argosy/base/error.h"
#include "argosy/kernels/cpu/gemm_blas.h"
#include "argosy/kernels/cpu/onednn.h"
#include "argosy/kernels/cpu/scratch.h"

namespace argosy::cpu {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kFloat = memory::data_type::f32;

void append_post(dnnl::post_ops& ops, PostOp post, float alpha, float beta) {
  using A = dnnl::algorithm;
  switch (post) {
    case PostOp::none:
      return;
    case PostOp::relu:
      return ops.append_eltwise(A::eltwise_relu, alpha, 0);
    case PostOp::clip:
      return ops.append_eltwise(A::eltwise_clip, alpha, beta);
    case PostOp::elu:
      return ops.append_eltwise(A::eltwise_elu, alpha, 0);
    case PostOp::sigmoid:
      return ops.append_eltwise(A::eltwise_logistic, 0, 0);
    case PostOp::tanh:
      return ops.append_eltwise(A::eltwise_tanh, 0, 0);
    case PostOp::silu:
      return ops.append_eltwise(A::eltwise_swish, 1, 0);
    case PostOp::gelu:
      return ops.append_eltwise(A::eltwise_gelu_erf, 0, 0);
    case PostOp::gelu_tanh:
      return ops.append_eltwise(A::eltwise_gelu_tanh, 0, 0);
    case PostOp::hardswish:
      return ops.append_eltwise(A::eltwise_hardswish, 1.0f / 6, 0.5f);
    case PostOp::hardsigmoid:
      return ops.append_eltwise(A::eltwise_hardsigmoid, alpha, beta);
  }
}

memory::desc plain(const memory::dims& dims, Tag tag) {
  return {dims, kFloat, tag};
}

bool is_there(const memory::desc& desc) {
  return desc && desc.get_size() > 0;
}

uint64_t next_id() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// The arguments of one primitive as one thread hands them over: made once, then only pointed
// elsewhere.
struct PackedPrimitive::Bound {
  std::array<memory, 6> memories;
  std::array<dnnl_exec_arg_t, 6> arguments;
  int count = 0;
  int x, weights, bias = -1, residual = -1, y, scratchpad = -1;

  int add(int argument, const memory::desc& desc) {
    const auto i = static_cast<size_t>(count);
    memories[i] = memory(desc, cpu_engine(), nullptr);
    arguments[i] = {argument, memories[i].get()};
    return count++;
  }
  void point(int i, const void* at) {
    if (i >= 0) memories[static_cast<size_t>(i)].set_data_handle(const_cast<void*>(at));
  }
};

PackedPrimitive::PackedPrimitive(const PackedKey& key, const std::optional<memory::desc>& form)
    : id_(next_id()) {
  const OneDnnCall call;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops after;
  if (key.residual) {
    residual_ = plain({key.batch, key.out_channels, key.out[0], key.out[1]}, Tag::nhwc);
    after.append_binary(dnnl::algorithm::binary_add, residual_);
  }
  append_post(after, static_cast<PostOp>(key.post), key.alpha, key.beta);
  if (key.scale != 1 || key.shift != 0)
    after.append_eltwise(dnnl::algorithm::eltwise_linear, key.scale, key.shift);
  attributes.set_post_ops(after);
  memory::dims weights{key.out_channels / key.groups, key.in_channels / key.groups, key.kernel[0],
                       key.kernel[1]};
  if (key.groups > 1) weights.insert(weights.begin(), key.groups);
  make(key, form ? *form : plain(weights, Tag::any), attributes);
}

void PackedPrimitive::make(const PackedKey& key, const memory::desc& weights,
                           const dnnl::primitive_attr& attributes) {
  const memory::desc x = plain({key.batch, key.in_channels, key.in[0], key.in[1]}, Tag::nhwc);
  const memory::desc y = plain({key.batch, key.out_channels, key.out[0], key.out[1]}, Tag::nhwc);
  if (key.bias) bias_ = plain({key.out_channels}, Tag::a);
  memory::dims dilation, after;
  for (int d = 0; d < 2; ++d) {
    dilation.push_back(key.dilation[d] - 1);
    const int64_t needed =
        (key.out[d] - 1) * key.stride[d] + (key.kernel[d] - 1) * key.dilation[d] + 1;
    after.push_back(std::max<int64_t>(needed - key.in[d] - key.pad[d], 0));
  }
  const memory::dims stride{key.stride[0], key.stride[1]}, before{key.pad[0], key.pad[1]};
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  using Conv = dnnl::convolution_forward;
  const auto desc = key.bias ? Conv::primitive_desc(cpu_engine(), kKind, kDirect, x, weights, bias_,
                                                    y, stride, dilation, before, after, attributes)
                             : Conv::primitive_desc(cpu_engine(), kKind, kDirect, x, weights, y,
                                                    stride, dilation, before, after, attributes);
  const std::string_view name = desc.impl_info_str();
  fast_ = name.find("ref") == name.npos && name.find("gemm:") == name.npos;
  primitive_ = Conv(desc);
  x_ = desc.src_desc();
  weights_ = desc.weights_desc();
  y_ = desc.dst_desc();
  scratchpad_ = desc.scratchpad_desc();
}

PackedPrimitive::Bound& PackedPrimitive::bound() const {
  constexpr size_t kMost = 512;
  using Kept = std::unordered_map<uint64_t, Bound>;
  static thread_local const auto kept = std::make_unique<Kept>();
  const auto it = kept->find(id_);
  if (it != kept->end()) return it->second;
  if (kept->size() >= kMost) kept->clear();
  Bound& b = (*kept)[id_];
  b.x = b.add(DNNL_ARG_SRC, x_);
  b.weights = b.add(DNNL_ARG_WEIGHTS, weights_);
  b.y = b.add(DNNL_ARG_DST, y_);
  if (is_there(bias_)) b.bias = b.add(DNNL_ARG_BIAS, bias_);
  if (is_there(residual_))
    b.residual = b.add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, residual_);
  if (is_there(scratchpad_)) b.scratchpad = b.add(DNNL_ARG_SCRATCHPAD, scratchpad_);
  return b;
}

void PackedPrimitive::run(const float* x, const void* packed, const PackedEpilogue& epilogue,
                          float* y) const {
  const OneDnnCall call;
  Bound& b = bound();
  b.point(b.x, x);
  b.point(b.weights, packed);
  b.point(b.bias, epilogue.bias);
  b.point(b.residual, epilogue.residual);
  b.point(b.y, y);
  const size_t bytes = b.scratchpad >= 0 ? scratchpad_.get_size() : 0;
  std::optional<Scratch> scratch;
  if (bytes) b.point(b.scratchpad, scratch.emplace(bytes).as());
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), thread_stream().get(), b.count, b.arguments.data());
  ARGOSY_CHECK(status == dnnl_success, internal)
      << "[packed] oneDNN could not run a primitive, status " << static_cast<int>(status) << '.';
}

namespace {

struct Hash {
  size_t operator()(const PackedKey& key) const {
    uint64_t words[sizeof(PackedKey) / 8];
    std::memcpy(words, &key, sizeof(key));
    uint64_t h = 0;
    for (uint64_t w : words) h = (h ^ w) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
    return h;
  }
};
struct Equal {
  bool operator()(const PackedKey& a, const PackedKey& b) const {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
  }
};

// Leaked, as oneDNN's own globals may end before ours.
struct Cache {
  static constexpr size_t kMost = 4096;
  std::mutex mutex;
  // Guarded by mutex. Null: there is no fast code for it.
  std::unordered_map<PackedKey, std::shared_ptr<const PackedPrimitive>, Hash, Equal> entries;
};

}  // namespace

std::shared_ptr<const PackedPrimitive> packed_primitive(
    const PackedKey& key, const std::function<std::optional<memory::desc>()>& form) {
  static Cache& cache = *new Cache;
  {
    std::lock_guard lock(cache.mutex);
    const auto it = cache.entries.find(key);
    if (it != cache.entries.end()) return it->second;
  }
  // Generating code takes milliseconds: not under the lock. Two threads may both do it.
  std::shared_ptr<const PackedPrimitive> made;
  try {
    made = std::make_shared<PackedPrimitive>(key, form());
    if (!made->fast()) made = nullptr;
  } catch (const dnnl::error& e) {
    ARGOSY_CHECK(e.status != dnnl_out_of_memory, memory)
        << "[packed] oneDNN ran out of memory while preparing a primitive.";
  }
  std::lock_guard lock(cache.mutex);
  if (cache.entries.size() >= Cache::kMost) cache.entries.clear();
  return cache.entries.emplace(key, std::move(made)).first->second;
}

void reorder_weights(const memory::desc& from, const void* plain, const memory::desc& to,
                     void* packed) {
  const OneDnnCall call;
  // Gaps that the order has are zero.
  if (to.get_size() > from.get_size()) std::memset(packed, 0, to.get_size());
  dnnl::reorder::primitive_desc desc(cpu_engine(), from, cpu_engine(), to);
  memory source(from, cpu_engine(), const_cast<void*>(plain)), target(to, cpu_engine(), packed);
  dnnl::stream stream(cpu_engine());
  dnnl::reorder(desc).execute(stream, source, target);
  stream.wait();
}

}  // namespace argosy::cpu

#include "argosy/kernels/cpu/conv_plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "argosy/base/cpu.h"
#include "argosy/base/error.h"
#include "argosy/kernels/cpu/gemm_blas.h"
#include "argosy/kernels/cpu/onednn.h"
#include "argosy/kernels/cpu/scratch.h"

namespace argosy::cpu {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;
constexpr auto kFloat = Type::f32;

Type type_of_activations(const ConvTask& t) {
  return t.half ? Type::bf16 : kFloat;
}
Type type_of_weights(const ConvTask& t) {
  return t.half && t.kind != ConvKind::backward_weights ? Type::bf16 : kFloat;
}

dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// A primitive that takes its temporary memory from us, so that threads may share it.
struct Step {
  dnnl::primitive primitive;
  memory::desc scratchpad;

  void run(std::unordered_map<int, memory>& arguments) const {
    size_t bytes = scratchpad ? scratchpad.get_size() : 0;
    Scratch scratch(bytes);
    if (bytes)
      arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(scratchpad, cpu_engine(), scratch.as()));
    primitive.execute(thread_stream(), arguments);
  }
};

struct Operand {
  memory::desc plain, packed;
  bool differs = false;
  Step pack, unpack;

  // Which ways data goes: into the primitive, or out of it.
  void prepare(const memory::desc& wanted, bool incoming) {
    packed = wanted;
    differs = plain != packed;
    if (!differs) return;
    const auto& from = incoming ? plain : packed;
    const auto& to = incoming ? packed : plain;
    dnnl::reorder::primitive_desc desc(cpu_engine(), from, cpu_engine(), to, own_scratchpad());
    Step& step = incoming ? pack : unpack;
    step.primitive = dnnl::reorder(desc);
    step.scratchpad = desc.scratchpad_desc();
  }
};

memory::dims spatial(const ConvTask& t, const int64_t (&values)[3]) {
  return {values, values + t.dims};
}

memory::dims joined(std::initializer_list<int64_t> head, const memory::dims& tail) {
  memory::dims out(head);
  out.insert(out.end(), tail.begin(), tail.end());
  return out;
}

int64_t product(const memory::dims& dims) {
  int64_t p = 1;
  for (int64_t d : dims) p *= d;
  return p;
}

memory::dims row_major(const memory::dims& dims, int64_t step = 1) {
  memory::dims strides(dims.size());
  for (size_t i = dims.size(); i-- > 0; step *= dims[i]) strides[i] = step;
  return strides;
}

// `channels` of the `all` that the tensor has.
memory::desc activation(const ConvTask& t, int64_t channels, int64_t all,
                        const memory::dims& size) {
  int64_t elements = product(size);
  memory::dims strides = t.channels_last ? joined({all * elements, 1}, row_major(size, all))
                                         : joined({all * elements, elements}, row_major(size));
  return {joined({t.images, channels}, size), type_of_activations(t), strides};
}

class DnnlPlan final : public ConvPlan {
 public:
  DnnlPlan(const ConvTask& t, bool channels_last_inside) {
    bool data = t.kind == ConvKind::backward_data;
    int64_t oc = data ? t.out_channels : t.slice, ic = data ? t.slice : t.in_channels;
    int64_t deep = t.in_channels / t.groups;
    memory::dims kernel = spatial(t, t.kernel);
    int64_t taps = product(kernel);
    auto x = activation(t, ic, t.in_channels, spatial(t, t.in));
    auto y = activation(t, oc, t.out_channels, spatial(t, t.out));
    memory::dims w_dims, w_strides;
    if (t.groups > 1) {
      w_dims = joined({t.groups, oc / t.groups, ic / t.groups}, kernel);
      w_strides = row_major(w_dims);
    } else {
      w_dims = joined({oc, ic}, kernel);
      w_strides = joined({deep * taps, taps}, row_major(kernel));
    }
    memory::desc w(w_dims, type_of_weights(t), w_strides);
    // Of rank 0: none. A default-constructed desc is not a desc to oneDNN.
    memory::dims bias_dims = t.bias ? memory::dims{oc} : memory::dims{};
    memory::desc bias(bias_dims, kFloat, row_major(bias_dims));

    auto inside = [&](const memory::desc& plain) {
      if (t.channels_last && t.slice == (data ? t.in_channels : t.out_channels)) return plain;
      Tag tag = !channels_last_inside ? Tag::any : t.dims == 3 ? Tag::ndhwc : Tag::nhwc;
      return memory::desc(plain.get_dims(), type_of_activations(t), tag);
    };
    auto xi = inside(x), yi = inside(y);
    memory::desc wi(w_dims, type_of_weights(t), Tag::any);
    const memory::desc read(w_dims, type_of_activations(t), Tag::any);  // what a forward one takes
    memory::dims stride = spatial(t, t.stride), before = spatial(t, t.pad), after(before.size());
    memory::dims dilation = spatial(t, t.dilation);
    for (size_t d = 0; d < after.size(); ++d) {
      --dilation[d];
      int64_t need = (t.out[d] - 1) * t.stride[d] + (t.kernel[d] - 1) * t.dilation[d] + 1;
      after[d] = std::max<int64_t>(0, need - t.in[d] - t.pad[d]);
    }
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    auto attributes = own_scratchpad();
    dnnl::convolution_forward::primitive_desc forward(
        cpu_engine(), dnnl::prop_kind::forward_training, kDirect, xi, read, bias, yi, stride,
        dilation, before, after, attributes);
    weights_.plain = w;
    if (t.kind == ConvKind::forward) {
      whole_.plain = x;
      sliced_.plain = y;
      whole_.prepare(forward.src_desc(), true);
      weights_.prepare(forward.weights_desc(), true);
      sliced_.prepare(forward.dst_desc(), false);
      bias_ = forward.bias_desc();
      arguments_ = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST};
      finish(dnnl::convolution_forward(forward), forward);
    } else if (t.kind == ConvKind::backward_data) {
      dnnl::convolution_backward_data::primitive_desc desc(
          cpu_engine(), kDirect, xi, wi, yi, stride, dilation, before, after, forward, attributes);
      whole_.plain = y;
      sliced_.plain = x;
      whole_.prepare(desc.diff_dst_desc(), true);
      weights_.prepare(desc.weights_desc(), true);
      sliced_.prepare(desc.diff_src_desc(), false);
      arguments_ = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, 0, DNNL_ARG_DIFF_SRC};
      finish(dnnl::convolution_backward_data(desc), desc);
    } else {
      dnnl::convolution_backward_weights::primitive_desc desc(cpu_engine(), kDirect, xi, wi, bias,
                                                              yi, stride, dilation, before, after,
                                                              forward, attributes);
      whole_.plain = x;
      sliced_.plain = y;
      whole_.prepare(desc.src_desc(), true);
      weights_.prepare(desc.diff_weights_desc(), false);
      sliced_.prepare(desc.diff_dst_desc(), true);
      bias_ = desc.diff_bias_desc();
      arguments_ = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_DST};
      finish(dnnl::convolution_backward_weights(desc), desc);
    }
    has_bias_ = t.bias != 0;
  }

  bool is_packed(ConvRole role) const override { return at(role).differs; }
  int64_t packed_bytes(ConvRole role) const override {
    return static_cast<int64_t>(at(role).packed.get_size());
  }

  void pack(ConvRole role, const void* plain, void* packed) const override {
    const Operand& o = at(role);
    reorder(o.pack, o.plain, const_cast<void*>(plain), o.packed, packed);
  }
  void unpack(ConvRole role, const void* packed, void* plain) const override {
    const Operand& o = at(role);
    reorder(o.unpack, o.packed, const_cast<void*>(packed), o.plain, plain);
  }

  void run(void* whole, void* weights, float* bias, void* sliced) const override {
    const OneDnnCall call;
    const auto& engine = cpu_engine();
    std::unordered_map<int, memory> arguments;
    arguments.emplace(arguments_[0], memory(whole_.packed, engine, whole));
    arguments.emplace(arguments_[1], memory(weights_.packed, engine, weights));
    if (has_bias_) arguments.emplace(arguments_[2], memory(bias_, engine, bias));
    arguments.emplace(arguments_[3], memory(sliced_.packed, engine, sliced));
    step_.run(arguments);
  }

  // oneDNN's name of the code it chose, "jit:avx512_core" for example.
  std::string_view name() const { return name_; }

 private:
  const Operand& at(ConvRole role) const {
    return role == ConvRole::whole ? whole_ : role == ConvRole::sliced ? sliced_ : weights_;
  }

  template <class Desc>
  void finish(dnnl::primitive primitive, const Desc& desc) {
    name_ = desc.impl_info_str();
    step_ = {std::move(primitive), desc.scratchpad_desc()};
  }

  static void reorder(const Step& step, const memory::desc& from_desc, void* from,
                      const memory::desc& to_desc, void* to) {
    const OneDnnCall call;
    std::unordered_map<int, memory> arguments;
    arguments.emplace(DNNL_ARG_FROM, memory(from_desc, cpu_engine(), from));
    arguments.emplace(DNNL_ARG_TO, memory(to_desc, cpu_engine(), to));
    step.run(arguments);
  }

  Operand whole_, sliced_, weights_;
  memory::desc bias_;
  Step step_;
  std::array<int, 4> arguments_{};
  bool has_bias_ = false;
  std::string name_;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

std::shared_ptr<const ConvPlan> make_plan(const ConvTask& task) {
  const OneDnnCall call;
  try {
    auto plan = std::make_shared<DnnlPlan>(task, false);
    // With few channels the blocked layouts of the wide kernels do not apply, and oneDNN falls back
    // to narrower ones; in channels-last order the wide ones do.
    if (features().avx512 && !task.channels_last && !contains(plan->name(), "avx512")) {
      auto other = std::make_shared<DnnlPlan>(task, true);
      if (contains(other->name(), "avx512")) plan = other;
    }
    // Reference loops, and its own lowering to products, are no better than ours.
    if (contains(plan->name(), "ref") || contains(plan->name(), "gemm")) return nullptr;
    return plan;
  } catch (const dnnl::error& e) {
    ARGOSY_CHECK(e.status != dnnl_out_of_memory, memory)
        << "[conv] oneDNN ran out of memory while preparing a convolution.";
    return nullptr;
  }
}

struct Hash {
  size_t operator()(const ConvTask& t) const {
    const auto* words = reinterpret_cast<const int64_t*>(&t);
    size_t h = 0;
    for (size_t i = 0; i < sizeof(t) / 8; ++i)
      h = (h ^ static_cast<size_t>(words[i])) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
    return h;
  }
};
struct Equal {
  bool operator()(const ConvTask& a, const ConvTask& b) const {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
  }
};

struct Entry {
  std::shared_ptr<const ConvPlan> plan;
  uint64_t used = 0;
};

// Least recently used plans go first. Leaked, as oneDNN's own globals may end before ours.
struct Cache {
  static constexpr size_t kMost = 1024;
  std::mutex mutex;
  uint64_t clock = 0;
  std::unordered_map<ConvTask, Entry, Hash, Equal> entries;
};

}  // namespace

std::shared_ptr<const ConvPlan> conv_plan(const ConvTask& task) {
  static Cache& cache = *new Cache;
  {
    std::lock_guard lock(cache.mutex);
    auto it = cache.entries.find(task);
    if (it != cache.entries.end()) {
      it->second.used = ++cache.clock;
      return it->second.plan;
    }
  }
  // Generating code takes milliseconds: not under the lock. Two threads may both do it.
  auto plan = make_plan(task);
  std::lock_guard lock(cache.mutex);
  if (cache.entries.size() >= Cache::kMost) {
    auto oldest = cache.entries.begin();
    for (auto it = cache.entries.begin(); it != cache.entries.end(); ++it)
      if (it->second.used < oldest->second.used) oldest = it;
    cache.entries.erase(oldest);
  }
  cache.entries[task] = {plan, ++cache.clock};
  return plan;
}

}  // namespace argosy::cpu

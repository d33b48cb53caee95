#include "argosy/kernels/cpu/gemm_bf16.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "argosy/base/cpu.h"
#include "argosy/base/error.h"
#include "argosy/kernels/cpu/gemm_blas.h"
#include "argosy/kernels/cpu/onednn.h"
#include "argosy/kernels/cpu/scratch.h"

namespace argosy::cpu {
namespace {

using dnnl::memory;
constexpr auto kHalfType = memory::data_type::bf16;

memory::desc matrix(int64_t rows, int64_t columns, bool transposed, int64_t ld,
                    memory::data_type type) {
  ld = std::max(ld, transposed ? rows : columns);
  return {{rows, columns}, type, transposed ? memory::dims{1, ld} : memory::dims{ld, 1}};
}

// A prepared product; any number of threads may run it.
struct Plan {
  explicit Plan(const Bf16Product& p)
      : a(matrix(p.m, p.k, p.trans_a, p.lda, kHalfType)),
        b(matrix(p.k, p.n, p.trans_b, p.ldb, kHalfType)),
        c(matrix(p.m, p.n, false, p.ldc, p.wide ? memory::data_type::f32 : kHalfType)) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (p.relu) {
      dnnl::post_ops after;
      after.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
      attributes.set_post_ops(after);
    }
    if (p.bias) bias = matrix(1, p.n, false, p.n, kHalfType);
    auto desc = p.bias ? dnnl::matmul::primitive_desc(cpu_engine(), a, b, bias, c, attributes)
                       : dnnl::matmul::primitive_desc(cpu_engine(), a, b, c, attributes);
    good = std::string_view(desc.impl_info_str()).find("ref") == std::string_view::npos;
    scratchpad = desc.scratchpad_desc();
    scratch_bytes = scratchpad.get_size();
    primitive = dnnl::matmul(desc);
  }

  memory::desc a, b, c, bias, scratchpad;
  size_t scratch_bytes = 0;
  dnnl::primitive primitive;
  bool good = false;  // not by reference loops
};

std::shared_ptr<const Plan> make_plan(const Bf16Product& p) {
  const OneDnnCall call;
  try {
    return std::make_shared<Plan>(p);
  } catch (const dnnl::error& e) {
    ARGOSY_CHECK(e.status != dnnl_out_of_memory, memory)
        << "[matmul] oneDNN ran out of memory while preparing a product.";
    return nullptr;
  }
}

struct Hash {
  size_t operator()(const Bf16Product& p) const {
    int64_t words[sizeof(p) / 8];
    std::memcpy(words, &p, sizeof(p));
    size_t h = 0;
    for (int64_t w : words) h = (h ^ static_cast<size_t>(w)) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
    return h;
  }
};
struct Equal {
  bool operator()(const Bf16Product& x, const Bf16Product& y) const {
    return std::memcmp(&x, &y, sizeof(x)) == 0;
  }
};

// Leaked, as oneDNN's own globals may end before ours.
struct Cache {
  static constexpr size_t kMost = 1024;
  std::mutex mutex;
  std::unordered_map<Bf16Product, std::shared_ptr<const Plan>, Hash, Equal> plans;
};

std::shared_ptr<const Plan> plan_of(const Bf16Product& p) {
  static Cache& cache = *new Cache;
  {
    std::lock_guard lock(cache.mutex);
    if (auto it = cache.plans.find(p); it != cache.plans.end()) return it->second;
  }
  // Generating code takes milliseconds: not under the lock. Two threads may both do it.
  auto plan = make_plan(p);
  std::lock_guard lock(cache.mutex);
  if (cache.plans.size() >= Cache::kMost) cache.plans.clear();
  cache.plans[p] = plan;
  return plan;
}

// A plan with the descriptions of memory that a thread hands over: only addresses change from call
// to call.
struct Bound {
  Bound(const Bf16Product& p, std::shared_ptr<const Plan> made)
      : product(p), plan(std::move(made)) {
    auto add = [&](int name, const memory::desc& desc) {
      memories.emplace_back(desc, cpu_engine(), nullptr);
      arguments.push_back({name, memories.back().get()});
    };
    add(DNNL_ARG_SRC, plan->a);
    add(DNNL_ARG_WEIGHTS, plan->b);
    add(DNNL_ARG_DST, plan->c);
    if (p.bias) add(DNNL_ARG_BIAS, plan->bias);
    if (plan->scratch_bytes) add(DNNL_ARG_SCRATCHPAD, plan->scratchpad);
  }

  Bf16Product product;
  std::shared_ptr<const Plan> plan;
  std::vector<memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

// Of this thread; products that come in turns find themselves at their place.
Bound& bound_of(const Bf16Product& p) {
  constexpr size_t kPlaces = 64;
  // Behind a pointer: thread-local space of a library is scarce.
  using Places = std::array<std::unique_ptr<Bound>, kPlaces>;
  static thread_local std::unique_ptr<Places> places = std::make_unique<Places>();
  std::unique_ptr<Bound>& place = (*places)[Hash{}(p) >> 7 & (kPlaces - 1)];
  if (!place || !Equal{}(place->product, p)) {
    auto plan = plan_of(p);
    ARGOSY_INVARIANT(plan);
    place = std::make_unique<Bound>(p, std::move(plan));
  }
  return *place;
}

bool has_instructions() {
  return features().avx512_bf16 || features().amx_bf16;
}

}  // namespace

bool has_bf16_product(const Bf16Product& product) {
  if (!has_instructions()) return false;
  const auto plan = plan_of(product);
  return plan && plan->good;
}

void run_bf16_product(const Bf16Product& product, const void* a, const void* b, const void* bias,
                      void* c) {
  const OneDnnCall call;
  Bound& bound = bound_of(product);
  const Scratch scratch(bound.plan->scratch_bytes);
  const void* addresses[5] = {a, b, c};
  size_t count = 3;
  if (product.bias) addresses[count++] = bias;
  if (bound.plan->scratch_bytes) addresses[count++] = scratch.as();
  for (size_t i = 0; i < count; ++i)
    bound.memories[i].set_data_handle(const_cast<void*>(addresses[i]));
  const dnnl_status_t status =
      dnnl_primitive_execute(bound.plan->primitive.get(), thread_stream().get(),
                             static_cast<int>(count), bound.arguments.data());
  ARGOSY_CHECK(status == dnnl_success, internal)
      << "[matmul] oneDNN refused a bfloat16 product of m=" << product.m << " n=" << product.n
      << " k=" << product.k << " with status " << static_cast<int>(status) << '.';
}

}  // namespace argosy::cpu

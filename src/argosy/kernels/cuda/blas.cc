#include "argosy/kernels/cuda/blas.h"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "argosy/base/device.h"
#include "argosy/base/error.h"
#include "argosy/base/flags.h"
#include "argosy/kernels/cuda/blas_handle.h"
#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {
namespace {

// What cuBLASLt is asked for at most on compute capability 9.0; each call takes what its algorithm
// wants, in stream order, so streams and threads share none.
constexpr size_t kWorkspace = size_t{32} << 20;

int device_now() {
  int device = 0;
  ARGOSY_CUDA(cudaGetDevice(&device));
  return device;
}

// One for each device, for the whole process: cuBLASLt's are thread safe.
cublasLtHandle_t lt_handle(int device) {
  static std::mutex mutex;
  static std::vector<cublasLtHandle_t> handles;
  std::lock_guard lock(mutex);
  if (handles.size() <= static_cast<size_t>(device))
    handles.resize(static_cast<size_t>(device) + 1);
  cublasLtHandle_t& handle = handles[static_cast<size_t>(device)];
  if (!handle) ARGOSY_CUBLAS(cublasLtCreate(&handle));
  return handle;
}

// --- types ---

struct Types {
  cudaDataType_t stored, scale;
  cublasComputeType_t computed;
};

Types types_of(DType dtype) {
  static const flags::Flag& tf32 = flags::find("FLAGS_allow_tf32");
  const cublasComputeType_t single =
      tf32.boolean() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  switch (dtype) {
    case DType::float16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::bfloat16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::float32:
      return {CUDA_R_32F, CUDA_R_32F, single};
    case DType::float64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::complex64:
      return {CUDA_C_32F, CUDA_C_32F, single};
    case DType::complex128:
      return {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F};
    default:
      fail_dtype("matmul", dtype);
  }
}

// A real number of any scale type, as cuBLAS reads it from the host.
class Number {
 public:
  Number(cudaDataType_t type, double value)
      : is_single_(type == CUDA_R_32F || type == CUDA_C_32F),
        single_{static_cast<float>(value), 0},
        wide_{value, 0} {}
  const void* get() const {
    if (is_single_) return single_;
    return wide_;
  }

 private:
  bool is_single_;
  float single_[2];
  double wide_[2];
};

// --- the choice of an algorithm ---

// A problem as cuBLASLt sees it. Column major: it computes C^T = B^T A^T, so its first operand is
// B.
struct Description {
  cublasLtMatmulDescOpaque_t product;
  cublasLtMatrixLayoutOpaque_t a, b, c;
};

template <class T>
void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t what, const T& value) {
  ARGOSY_CUBLAS(cublasLtMatmulDescSetAttribute(desc, what, &value, sizeof(value)));
}
template <class T>
void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t what, const T& value) {
  ARGOSY_CUBLAS(cublasLtMatrixLayoutSetAttribute(layout, what, &value, sizeof(value)));
}

void describe(cublasLtMatrixLayoutOpaque_t& layout, cudaDataType_t type, int64_t rows, int64_t row,
              int64_t ld, int64_t batch, int64_t stride) {
  ARGOSY_CUBLAS(cublasLtMatrixLayoutInit(&layout, type, static_cast<uint64_t>(row),
                                         static_cast<uint64_t>(rows), ld));
  if (batch == 1) return;
  set(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
  set(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
}

Description describe(const Product& p, const Types& types) {
  Description d;
  ARGOSY_CUBLAS(cublasLtMatmulDescInit(&d.product, types.computed, types.scale));
  set(&d.product, CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(&d.product, CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (p.bias) {
    set(&d.product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(&d.product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, types.stored);
    set(&d.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  }
  const auto rows = [](bool transposed, int64_t own, int64_t other) {
    return transposed ? other : own;
  };
  describe(d.a, types.stored, rows(p.transpose_a, p.m, p.k), rows(p.transpose_a, p.k, p.m), p.lda,
           p.batch, p.a_stride);
  describe(d.b, types.stored, rows(p.transpose_b, p.k, p.n), rows(p.transpose_b, p.n, p.k), p.ldb,
           p.batch, p.b_stride);
  describe(d.c, types.stored, p.m, p.n, p.ldc, p.batch, p.c_stride);
  return d;
}

// Bytes by which each matrix of a stack is aligned.
uint32_t alignment(const void* data, int64_t stride, DType dtype) {
  const auto at = reinterpret_cast<uintptr_t>(data) |
                  static_cast<uintptr_t>(stride * static_cast<int64_t>(item_size(dtype)));
  return at == 0 ? 256 : static_cast<uint32_t>(std::min<uintptr_t>(256, at & (~at + 1)));
}

struct Alignments {
  uint32_t a, b, c;
};
Alignments alignments(const Product& p) {
  const bool stack = p.batch > 1;
  return {alignment(p.a, stack ? p.a_stride : 0, p.dtype),
          alignment(p.b, stack ? p.b_stride : 0, p.dtype),
          alignment(p.c, stack ? p.c_stride : 0, p.dtype)};
}

// All that the choice depends on.
using Key = std::array<int64_t, 18>;
Key key_of(const Product& p, const Types& types, bool searched) {
  const Alignments by = alignments(p);
  const bool stack = p.batch > 1;
  return {device_now(),
          static_cast<int64_t>(p.dtype),
          static_cast<int64_t>(types.computed),
          p.transpose_a * 4 + p.transpose_b * 2 + (p.bias != nullptr),
          p.m,
          p.n,
          p.k,
          p.lda,
          p.ldb,
          p.ldc,
          p.batch,
          stack ? p.a_stride : 0,
          stack ? p.b_stride : 0,
          stack ? p.c_stride : 0,
          by.a,
          by.b,
          by.c,
          searched};
}
struct HashOfKey {
  size_t operator()(const Key& key) const {
    uint64_t h = 1469598103934665603u;
    for (int64_t v : key) h = (h ^ static_cast<uint64_t>(v)) * 1099511628211u + (h >> 29);
    return static_cast<size_t>(h);
  }
};

struct Choice {
  bool found = false;  // else cuBLASLt has no algorithm for the problem
  size_t workspace = 0;
  cublasLtMatmulAlgo_t algorithm{};
};

// Choices by problem. The mutex is held for look-ups and insertions alone, so two threads may
// choose for the same problem at once; the first choice stays. When it is full, all of it is
// dropped: a program with that many problems makes new ones all the time.
class Choices {
 public:
  bool find(const Key& key, Choice& choice) {
    std::lock_guard lock(mutex_);
    const auto at = choices_.find(key);
    if (at == choices_.end()) return false;
    choice = at->second;
    return true;
  }
  Choice keep(const Key& key, const Choice& choice) {
    std::lock_guard lock(mutex_);
    if (choices_.size() >= kMost) choices_.clear();
    return choices_.emplace(key, choice).first->second;
  }

 private:
  static constexpr size_t kMost = 16384;
  std::mutex mutex_;
  std::unordered_map<Key, Choice, HashOfKey> choices_;
};
Choices& choices() {
  static auto* all = new Choices;  // outlives threads that still compute when the process ends
  return *all;
}

// What cuBLASLt expects to be fast, best first; empty where it has nothing.
std::vector<cublasLtMatmulHeuristicResult_t> candidates(cublasLtHandle_t handle, const Product& p,
                                                        Description& d) {
  cublasLtMatmulPreferenceOpaque_t wish;
  ARGOSY_CUBLAS(cublasLtMatmulPreferenceInit(&wish));
  const auto ask = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
    ARGOSY_CUBLAS(cublasLtMatmulPreferenceSetAttribute(&wish, what, &value, sizeof(value)));
  };
  const Alignments by = alignments(p);
  ask(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kWorkspace});
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, by.b);
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, by.a);
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, by.c);
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, by.c);
  std::vector<cublasLtMatmulHeuristicResult_t> found(8);
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, &d.product, &d.b, &d.a, &d.c, &d.c, &wish,
                                     static_cast<int>(found.size()), found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE)
    count = 0;
  else if (status != CUBLAS_STATUS_SUCCESS)
    fail_blas(status, "cublasLtMatmulAlgoGetHeuristic");
  found.resize(static_cast<size_t>(count));
  std::erase_if(found, [](const auto& r) { return r.state != CUBLAS_STATUS_SUCCESS; });
  return found;
}

cublasStatus_t enqueue(cublasLtHandle_t handle, cudaStream_t stream, const Product& p,
                       const Types& types, Description& d, const cublasLtMatmulAlgo_t& algorithm,
                       size_t workspace) {
  const Number one(types.scale, 1), zero(types.scale, 0);
  const auto call = [&](void* memory) {
    return cublasLtMatmul(handle, &d.product, one.get(), p.b, &d.b, p.a, &d.a, zero.get(), p.c,
                          &d.c, p.c, &d.c, &algorithm, memory, workspace, stream);
  };
  if (workspace == 0) return call(nullptr);
  const Scratch memory(stream, workspace);
  return call(memory.data());
}

struct Events {
  Events() {
    ARGOSY_CUDA(cudaEventCreate(&begin));
    ARGOSY_CUDA(cudaEventCreate(&end));
  }
  ~Events() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  cudaEvent_t begin = nullptr, end = nullptr;
};

// Runs each on the operands themselves, `times` times after once for warmth, and waits. C is only
// written, so it is right in the end.
size_t fastest(cublasLtHandle_t handle, cudaStream_t stream, const Product& p, const Types& types,
               Description& d, std::span<const cublasLtMatmulHeuristicResult_t> all,
               int64_t times) {
  const Events events;
  const device::HostWait wait;
  size_t best = 0;
  float least = 0;
  bool any = false;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto once = [&] {
      return enqueue(handle, stream, p, types, d, all[i].algo, all[i].workspaceSize);
    };
    if (once() != CUBLAS_STATUS_SUCCESS) continue;
    ARGOSY_CUDA(cudaEventRecord(events.begin, stream));
    for (int64_t n = 0; n < times; ++n) once();
    ARGOSY_CUDA(cudaEventRecord(events.end, stream));
    ARGOSY_CUDA(cudaEventSynchronize(events.end));
    float taken = 0;
    ARGOSY_CUDA(cudaEventElapsedTime(&taken, events.begin, events.end));
    if (any && taken >= least) continue;
    any = true;
    best = i;
    least = taken;
  }
  return best;
}

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ARGOSY_CUDA(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

Choice choose(cublasLtHandle_t handle, cudaStream_t stream, const Product& p, const Types& types,
              Description& d) {
  static const flags::Flag& search = flags::find("FLAGS_cublaslt_exhaustive_search_times");
  int64_t times = std::max<int64_t>(search.integer(), 0);
  Choice choice;
  if (choices().find(key_of(p, types, times > 0), choice)) return choice;
  if (times > 0 && is_captured(stream)) {
    times = 0;
    if (choices().find(key_of(p, types, false), choice)) return choice;
  }
  const auto found = candidates(handle, p, d);
  if (!found.empty()) {
    const size_t i =
        times > 0 && found.size() > 1 ? fastest(handle, stream, p, types, d, found, times) : 0;
    choice = {true, found[i].workspaceSize, found[i].algo};
  }
  return choices().keep(key_of(p, types, times > 0), choice);
}

// --- cuBLAS ---

cublasOperation_t operation(bool transposed) {
  return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

void by_blas(cudaStream_t stream, const Product& p, const Types& types) {
  const Number one(types.scale, 1), zero(types.scale, 0);
  with_blas(stream, [&](cublasHandle_t handle) {
    ARGOSY_CUBLAS(cublasGemmStridedBatchedEx_64(
        handle, operation(p.transpose_b), operation(p.transpose_a), p.n, p.m, p.k, one.get(), p.b,
        types.stored, p.ldb, p.b_stride, p.a, types.stored, p.lda, p.a_stride, zero.get(), p.c,
        types.stored, p.ldc, p.c_stride, p.batch, types.computed, CUBLAS_GEMM_DEFAULT));
  });
}

void by_addresses(cudaStream_t stream, const Product& p, const StackPlan& plan) {
  const Types types = types_of(p.dtype);
  const Number one(types.scale, 1), zero(types.scale, 0);
  const Scratch memory(stream, static_cast<size_t>(3 * plan.count) * sizeof(void*));
  auto** addresses = memory.data<void*>();
  stack_addresses(stream, plan, addresses);
  void **a = addresses, **b = a + plan.count, **c = b + plan.count;
  with_blas(stream, [&](cublasHandle_t handle) {
    ARGOSY_CUBLAS(cublasGemmBatchedEx_64(handle, operation(p.transpose_b), operation(p.transpose_a),
                                         p.n, p.m, p.k, one.get(), b, types.stored, p.ldb, a,
                                         types.stored, p.lda, zero.get(), c, types.stored, p.ldc,
                                         plan.count, types.computed, CUBLAS_GEMM_DEFAULT));
  });
}

// A column as a row: C^T = B^T A^T of a C with one column, which then is many columns for cuBLASLt.
Product as_row(const Product& p) {
  Product r = p;
  r.m = 1;
  r.n = p.m;
  r.a = p.b;
  r.b = p.a;
  r.a_stride = p.b_stride;
  r.b_stride = p.a_stride;
  r.ldb = p.lda;
  r.transpose_b = !p.transpose_a;
  r.transpose_a = !p.transpose_b;
  r.lda = p.ldb;
  if (r.transpose_a && r.lda == 1) {  // [k, 1] is [1, k]
    r.transpose_a = false;
    r.lda = std::max<int64_t>(p.k, 1);
  }
  r.ldc = p.m;
  return r;
}

// --- stacks ---

struct Dimension {
  int64_t size, a, b, c;
};

// The stack's dimensions, neighbours that are one joined. C's last stride is that of a matrix.
std::vector<Dimension> dimensions(const Product& p, std::span<const int64_t> a_strides,
                                  std::span<const int64_t> b_strides,
                                  std::span<const int64_t> batch) {
  std::vector<Dimension> dims;  // innermost first
  int64_t c = p.m * p.n;
  for (size_t i = batch.size(); i-- > 0;) {
    const Dimension own{batch[i], a_strides[i], b_strides[i], c};
    c *= batch[i];
    if (own.size == 1) continue;
    Dimension* last = dims.empty() ? nullptr : &dims.back();
    if (last && own.a == last->a * last->size && own.b == last->b * last->size)
      last->size *= own.size;
    else
      dims.push_back(own);
  }
  return dims;
}

// Matrices A that lie one below the other and meet the same B are one matrix.
void join_rows(Product& p, std::vector<Dimension>& dims) {
  if (dims.empty() || p.transpose_a || dims[0].b != 0) return;
  if (p.m == 1 && dims[0].a >= std::max<int64_t>(p.k, 1)) p.lda = dims[0].a;
  if (dims[0].a != p.m * p.lda) return;
  p.m *= dims[0].size;
  dims.erase(dims.begin());
}

constexpr int64_t kMostCalls = 8;
constexpr int64_t kMostBatch = int64_t{1} << 30;  // cuBLASLt counts a stack in 32 bits

char* advance(const void* data, int64_t elements, DType dtype) {
  return static_cast<char*>(const_cast<void*>(data)) + elements * item_size(dtype);
}

// A call for each place in dims but the first, which is the strided one.
void gemm_each(cudaStream_t stream, const Product& p, std::span<const Dimension> dims) {
  if (dims.empty()) return gemm(stream, p);
  Product part = p;
  for (int64_t i = 0; i < dims.back().size; ++i) {
    part.a = advance(p.a, i * dims.back().a, p.dtype);
    part.b = advance(p.b, i * dims.back().b, p.dtype);
    part.c = advance(p.c, i * dims.back().c, p.dtype);
    gemm_each(stream, part, dims.first(dims.size() - 1));
  }
}

}  // namespace

void gemm(cudaStream_t stream, const Product& given) {
  if (given.m == 0 || given.n == 0 || given.batch == 0) return;
  const int64_t rows = given.batch * given.m;
  if (given.k == 0) {
    const auto bytes =
        static_cast<size_t>(rows * given.n) * static_cast<size_t>(item_size(given.dtype));
    ARGOSY_CUDA(cudaMemsetAsync(given.c, 0, bytes, stream));
    if (given.bias) add_bias(stream, given.dtype, given.c, rows, given.n, given.bias);
    return;
  }
  const Types types = types_of(given.dtype);
  Product p = given;
  // A bias that kernels cannot read by 16 bytes is added afterwards.
  const bool apart = p.bias && (p.batch > 1 || alignment(p.bias, 0, p.dtype) < 16);
  if (apart) p.bias = nullptr;
  if (p.n == 1 && p.m > 1 && p.ldc == 1 && !p.bias) p = as_row(p);
  const int device = device_now();
  cublasLtHandle_t handle = lt_handle(device);
  Description d = describe(p, types);
  Choice choice = choose(handle, stream, p, types, d);
  if (!choice.found && p.bias) {
    p.bias = nullptr;
    d = describe(p, types);
    choice = choose(handle, stream, p, types, d);
  }
  if (choice.found)
    ARGOSY_CUBLAS(enqueue(handle, stream, p, types, d, choice.algorithm, choice.workspace));
  else
    by_blas(stream, p, types);
  if (given.bias && !p.bias) add_bias(stream, given.dtype, given.c, rows, given.n, given.bias);
}

void gemm_batched(cudaStream_t stream, Product p, std::span<const int64_t> a_strides,
                  std::span<const int64_t> b_strides, std::span<const int64_t> batch) {
  if (p.m == 0 || p.n == 0) return;
  std::vector<Dimension> dims = dimensions(p, a_strides, b_strides, batch);
  int64_t count = 1;
  for (const Dimension& d : dims) count *= d.size;
  if (count == 0) return;
  if (p.k == 0) {
    p.batch = count;
    return gemm(stream, p);
  }
  join_rows(p, dims);
  if (dims.empty()) return gemm(stream, p);
  count = 1;
  for (const Dimension& d : dims) count *= d.size;
  // The longest is the strided one; of the others each place is a call, or all are addresses.
  std::iter_swap(dims.begin(), std::max_element(dims.begin(), dims.end(),
                                                [](auto& x, auto& y) { return x.size < y.size; }));
  if (count / dims[0].size <= kMostCalls && dims[0].size <= kMostBatch) {
    p.batch = dims[0].size;
    p.a_stride = dims[0].a;
    p.b_stride = dims[0].b;
    p.c_stride = dims[0].c;
    return gemm_each(stream, p, std::span(dims).subspan(1));
  }
  StackPlan plan;
  plan.rank = static_cast<int>(dims.size());
  plan.count = count;
  plan.base[0] = p.a;
  plan.base[1] = p.b;
  plan.base[2] = p.c;
  const auto item = static_cast<int64_t>(item_size(p.dtype));
  for (size_t i = 0; i < dims.size(); ++i) {
    plan.shape[i] = dims[i].size;
    plan.strides[0][i] = dims[i].a * item;
    plan.strides[1][i] = dims[i].b * item;
    plan.strides[2][i] = dims[i].c * item;
  }
  by_addresses(stream, p, plan);
}

}  // namespace argosy::cuda

#include "argosy/kernels/cuda/conv_dnn.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "argosy/kernels/cuda/dnn.h"
#include "argosy/kernels/cuda/runtime.h"
#include "argosy/kernels/cuda/timing.h"

namespace argosy::cuda {
namespace {

// One way to compute a convolution.
struct Candidate {
  int algorithm = 0;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  size_t workspace = 0;
};

cudnnDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return CUDNN_DATA_HALF;
    case DType::bfloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::float64:
      return CUDNN_DATA_DOUBLE;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

// What a convolution of one shape needs, once it is known how it runs. It is not changed then, so
// threads share it.
class Plan {
 public:
  Plan(DType dtype, const ConvShape& s, const ConvOptions& options, bool biased) : dtype_(dtype) {
    const int skip = s.dims == 3 ? 0 : 1, spatial = 3 - skip, rank = spatial + 2;
    const cudnnTensorFormat_t format = s.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    int x[5] = {to_int(s.batch), to_int(s.in_channels)};
    int y[5] = {to_int(s.batch), to_int(s.out_channels)};
    int w[5] = {to_int(s.out_channels), to_int(s.in_channels / s.groups)};
    int pad[3], stride[3], dilation[3];
    for (int d = 0; d < spatial; ++d) {
      x[2 + d] = to_int(s.in[skip + d]);
      y[2 + d] = to_int(s.out[skip + d]);
      w[2 + d] = to_int(s.kernel[skip + d]);
      pad[d] = to_int(s.pad[skip + d]);
      stride[d] = to_int(s.stride[skip + d]);
      dilation[d] = to_int(s.dilation[skip + d]);
    }
    const cudnnDataType_t type = data_type(dtype);
    ARGOSY_CUDNN(cudnnCreateTensorDescriptor(&x_));
    ARGOSY_CUDNN(cudnnCreateTensorDescriptor(&y_));
    ARGOSY_CUDNN(cudnnCreateFilterDescriptor(&w_));
    ARGOSY_CUDNN(cudnnCreateConvolutionDescriptor(&conv_));
    ARGOSY_CUDNN(cudnnSetTensorNdDescriptorEx(x_, format, type, rank, x));
    ARGOSY_CUDNN(cudnnSetTensorNdDescriptorEx(y_, format, type, rank, y));
    ARGOSY_CUDNN(cudnnSetFilterNdDescriptor(w_, type, format, rank, w));
    const bool wide = dtype == DType::float64;
    ARGOSY_CUDNN(cudnnSetConvolutionNdDescriptor(conv_, spatial, pad, stride, dilation,
                                                 CUDNN_CROSS_CORRELATION,
                                                 wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT));
    ARGOSY_CUDNN(cudnnSetConvolutionGroupCount(conv_, to_int(s.groups)));
    // float32 rounds its factors only where that is allowed.
    const bool exact = wide || (dtype == DType::float32 && !options.tf32);
    math_ = exact ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
    ARGOSY_CUDNN(cudnnSetConvolutionMathType(conv_, math_));
    if (!biased) return;
    const int bias[5] = {1, y[1], 1, 1, 1};
    ARGOSY_CUDNN(cudnnCreateTensorDescriptor(&bias_));
    ARGOSY_CUDNN(cudnnSetTensorNdDescriptorEx(bias_, format, type, rank, bias));
    ARGOSY_CUDNN(cudnnCreateActivationDescriptor(&identity_));
    ARGOSY_CUDNN(cudnnSetActivationDescriptor(identity_, CUDNN_ACTIVATION_IDENTITY,
                                              CUDNN_NOT_PROPAGATE_NAN, 0));
  }
  ~Plan() {
    if (identity_) cudnnDestroyActivationDescriptor(identity_);
    if (bias_) cudnnDestroyTensorDescriptor(bias_);
    if (conv_) cudnnDestroyConvolutionDescriptor(conv_);
    if (w_) cudnnDestroyFilterDescriptor(w_);
    if (y_) cudnnDestroyTensorDescriptor(y_);
    if (x_) cudnnDestroyTensorDescriptor(x_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // What cuDNN expects to be fastest first.
  std::vector<Candidate> candidates(ConvKind kind, cudnnHandle_t handle,
                                    const ConvOptions& options) const {
    int n = 0;
    if (kind == ConvKind::forward) {
      cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
      if (cudnnGetConvolutionForwardAlgorithm_v7(handle, x_, w_, conv_, y_,
                                                 CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &n,
                                                 found) != CUDNN_STATUS_SUCCESS)
        return {};
      return chosen(found, n, options);
    }
    if (kind == ConvKind::data) {
      cudnnConvolutionBwdDataAlgoPerf_t found[CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT];
      if (cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w_, y_, conv_, x_,
                                                      CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, &n,
                                                      found) != CUDNN_STATUS_SUCCESS)
        return {};
      return chosen(found, n, options);
    }
    cudnnConvolutionBwdFilterAlgoPerf_t found[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT];
    if (cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x_, y_, conv_, w_,
                                                      CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, &n,
                                                      found) != CUDNN_STATUS_SUCCESS)
      return {};
    return chosen(found, n, options);
  }

  // What was fastest on these operands, results of which are written.
  std::vector<Candidate> timed(ConvKind kind, cudnnHandle_t handle, cudaStream_t stream,
                               const ConvOptions& options, void* x, void* w, void* y) const {
    const Scratch space(stream, static_cast<size_t>(options.workspace));
    int n = 0;
    if (kind == ConvKind::forward) {
      cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
      if (cudnnFindConvolutionForwardAlgorithmEx(
              handle, x_, x, w_, w, conv_, y_, y, CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &n, found,
              space.data(), space.bytes()) != CUDNN_STATUS_SUCCESS)
        return {};
      return chosen(found, n, options);
    }
    if (kind == ConvKind::data) {
      cudnnConvolutionBwdDataAlgoPerf_t found[CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT];
      if (cudnnFindConvolutionBackwardDataAlgorithmEx(
              handle, w_, w, y_, y, conv_, x_, x, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, &n, found,
              space.data(), space.bytes()) != CUDNN_STATUS_SUCCESS)
        return {};
      return chosen(found, n, options);
    }
    cudnnConvolutionBwdFilterAlgoPerf_t found[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT];
    if (cudnnFindConvolutionBackwardFilterAlgorithmEx(
            handle, x_, x, y_, y, conv_, w_, w, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, &n, found,
            space.data(), space.bytes()) != CUDNN_STATUS_SUCCESS)
      return {};
    return chosen(found, n, options);
  }

  // Before the plan is shared.
  bool prepare(const Candidate& candidate) {
    best = candidate;
    const cudnnMathType_t math = math_ == CUDNN_FMA_MATH ? math_ : candidate.math;
    return cudnnSetConvolutionMathType(conv_, math) == CUDNN_STATUS_SUCCESS;
  }

  cudnnStatus_t run(ConvKind kind, cudnnHandle_t handle, cudaStream_t stream, void* x, void* w,
                    void* y, const void* bias) const {
    const float one = 1, zero = 0;
    const double one64 = 1, zero64 = 0;
    const bool wide = dtype_ == DType::float64;
    const void* alpha = wide ? static_cast<const void*>(&one64) : &one;
    const void* beta = wide ? static_cast<const void*>(&zero64) : &zero;
    const Scratch space(stream, best.workspace);
    if (bias)
      return cudnnConvolutionBiasActivationForward(
          handle, alpha, x_, x, w_, w, conv_,
          static_cast<cudnnConvolutionFwdAlgo_t>(best.algorithm), space.data(), space.bytes(), beta,
          y_, y, bias_, bias, identity_, y_, y);
    if (kind == ConvKind::forward)
      return cudnnConvolutionForward(handle, alpha, x_, x, w_, w, conv_,
                                     static_cast<cudnnConvolutionFwdAlgo_t>(best.algorithm),
                                     space.data(), space.bytes(), beta, y_, y);
    if (kind == ConvKind::data)
      return cudnnConvolutionBackwardData(
          handle, alpha, w_, w, y_, y, conv_,
          static_cast<cudnnConvolutionBwdDataAlgo_t>(best.algorithm), space.data(), space.bytes(),
          beta, x_, x);
    return cudnnConvolutionBackwardFilter(
        handle, alpha, x_, x, y_, y, conv_,
        static_cast<cudnnConvolutionBwdFilterAlgo_t>(best.algorithm), space.data(), space.bytes(),
        beta, w_, w);
  }

  bool possible = true;  // false: no algorithm took it
  Candidate best;

 private:
  static int to_int(int64_t n) { return static_cast<int>(n); }

  // By Fourier transforms errors are relative to the largest element, so only a search takes those.
  static bool transforms(const cudnnConvolutionFwdAlgoPerf_t& p) {
    return p.algo == CUDNN_CONVOLUTION_FWD_ALGO_FFT ||
           p.algo == CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING;
  }
  static bool transforms(const cudnnConvolutionBwdDataAlgoPerf_t& p) {
    return p.algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT ||
           p.algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING;
  }
  static bool transforms(const cudnnConvolutionBwdFilterAlgoPerf_t& p) {
    return p.algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT ||
           p.algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING;
  }
  template <class P>
  static std::vector<Candidate> chosen(const P* found, int n, const ConvOptions& options) {
    std::vector<Candidate> list;
    for (int i = 0; i < n; ++i) {
      const P& p = found[i];
      if (p.status != CUDNN_STATUS_SUCCESS) continue;
      if (p.memory > static_cast<size_t>(options.workspace)) continue;
      if (options.deterministic && p.determinism != CUDNN_DETERMINISTIC) continue;
      if (!options.search && transforms(p)) continue;
      list.push_back({static_cast<int>(p.algo), p.mathType, p.memory});
    }
    return list;
  }

  DType dtype_;
  cudnnMathType_t math_ = CUDNN_DEFAULT_MATH;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t conv_ = nullptr;
  cudnnTensorDescriptor_t bias_ = nullptr;
  cudnnActivationDescriptor_t identity_ = nullptr;
};

class Plans {
 public:
  std::shared_ptr<const Plan> find(const std::string& key) {
    std::lock_guard lock(mutex_);
    auto found = plans_.find(key);
    return found == plans_.end() ? nullptr : found->second;
  }
  void keep(const std::string& key, std::shared_ptr<const Plan> plan) {
    std::lock_guard lock(mutex_);
    if (plans_.size() >= kMost) plans_.clear();
    plans_[key] = std::move(plan);
  }

 private:
  static constexpr size_t kMost = 4096;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Plan>> plans_;
};
Plans& plans() {
  static Plans* made = new Plans;  // outlives cuDNN's own ends
  return *made;
}

constexpr int kTried = 3;                     // candidates that are timed
constexpr size_t kLittle = size_t{32} << 20;  // bytes of workspace

}  // namespace

std::string conv_key(ConvKind kind, DType dtype, const ConvShape& s, const ConvOptions& options,
                     bool biased) {
  int device = 0;
  ARGOSY_CUDA(cudaGetDevice(&device));
  const int64_t head[] = {device,
                          static_cast<int64_t>(kind),
                          static_cast<int64_t>(dtype),
                          s.dims,
                          s.channels_last,
                          s.batch,
                          s.in_channels,
                          s.out_channels,
                          s.groups,
                          options.tf32,
                          options.deterministic,
                          options.search,
                          options.workspace,
                          biased};
  std::string key(reinterpret_cast<const char*>(head), sizeof head);
  for (const auto* list : {&s.in, &s.out, &s.kernel, &s.stride, &s.dilation, &s.pad})
    key.append(reinterpret_cast<const char*>(*list), sizeof *list);
  return key;
}

bool dnn_conv(ConvKind kind, cudaStream_t stream, DType dtype, const ConvShape& s,
              const ConvOptions& options, void* x, void* w, void* y, const void* bias) {
  cudnnHandle_t handle = dnn_handle(stream);
  const std::string key = conv_key(kind, dtype, s, options, bias != nullptr);
  if (auto known = plans().find(key)) {
    if (!known->possible) return false;
    ARGOSY_CUDNN(known->run(kind, handle, stream, x, w, y, bias));
    return true;
  }
  auto plan = std::make_shared<Plan>(dtype, s, options, bias != nullptr);
  std::vector<Candidate> list;
  if (options.search) list = plan->timed(kind, handle, stream, options, x, w, y);
  if (list.empty()) list = plan->candidates(kind, handle, options);
  plan->possible = false;
  // The first that works; of large 16-bit ones the fastest of the first few that need little
  // memory.
  const bool times = item_size(dtype) == 2 && s.is_large() && !options.deterministic &&
                     !options.search && may_time(stream);
  Candidate best;
  float least = std::numeric_limits<float>::infinity();
  int tried = 0;
  const auto run = [&] { return plan->run(kind, handle, stream, x, w, y, bias); };
  for (const Candidate& candidate : list) {
    // With a bias and no activation cuDNN has this one.
    if (bias && candidate.algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) continue;
    if (plan->possible && candidate.workspace > std::max(best.workspace, kLittle)) continue;
    if (!plan->prepare(candidate) || run() != CUDNN_STATUS_SUCCESS) continue;
    if (!plan->possible) best = candidate;
    plan->possible = true;
    if (!times) break;
    const float took = milliseconds(stream, [&] { run(); });
    if (took < least) {
      least = took;
      best = candidate;
    }
    if (++tried == kTried) break;
  }
  if (tried > 0) {  // what was tried last is not what is kept
    plan->prepare(best);
    ARGOSY_CUDNN(run());
  }
  if (!plan->possible) cudaGetLastError();  // what the last attempt may have left
  const bool possible = plan->possible;
  plans().keep(key, std::move(plan));
  return possible;
}

}  // namespace argosy::cuda

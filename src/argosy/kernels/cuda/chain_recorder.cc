#include "argosy/kernels/cuda/chain_recorder.h"

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "argosy/base/log.h"
#include "argosy/kernels/cuda/nvrtc.h"
#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

constinit thread_local ChainRecorder* chain_recorder = nullptr;

namespace {

std::atomic<uint64_t> launches{0};

// Enough for any number of models; what comes later runs unfused.
constexpr size_t kMostKernels = 4096;

// 10 times the compute capability of the GPU that is current.
int capability() {
  static std::array<std::atomic<int>, 64> known{};  // of each GPU; 0: not asked yet
  int gpu = 0, major = 0, minor = 0;
  ARGOSY_CUDA(cudaGetDevice(&gpu));
  std::atomic<int>& found = known[static_cast<size_t>(gpu) % known.size()];
  if (const int n = found.load(std::memory_order_relaxed)) return n;
  ARGOSY_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu));
  ARGOSY_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu));
  found.store(10 * major + minor, std::memory_order_relaxed);
  return 10 * major + minor;
}

bool is_recorded(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ARGOSY_CUDA(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

void tell_once(const char* what, const std::string& why) {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  ARGOSY_LOG(warning) << "[gpu] chains of elementwise ops run op by op: " << what << why
                      << ". (This is said once; ARGOSY_DEVICE_FUSION=0 turns it off.)";
}

cudaKernel_t make_kernel(const std::string& text, int target) {
  const Compiled made = compile_text(text, chain_headers(), target);
  if (made.code.empty()) {
    tell_once("their kernel did not compile: ", made.error);
    return nullptr;
  }
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  cudaError_t status =
      cudaLibraryLoadData(&library, made.code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (status == cudaSuccess) status = cudaLibraryGetKernel(&kernel, library, "chain");
  if (status == cudaSuccess) return kernel;
  cudaGetLastError();
  tell_once("their kernel cannot be loaded: ", cudaGetErrorString(status));
  return nullptr;
}

// Null: there is none, and will be none. Kernels live as long as the process: graphs have them.
cudaKernel_t find_kernel(cudaStream_t stream, std::span<const ChainStep> steps,
                         const ChainGroup& group, const ChainForm& form) {
  static auto& mutex = *new std::mutex;
  static auto& kernels = *new std::unordered_map<std::string, cudaKernel_t>;  // guarded by mutex
  if (const char* missing = compiler_missing()) {
    tell_once(missing, "");
    return nullptr;
  }
  const int target = capability();
  std::string key = chain_key(steps, group, form);
  key += static_cast<char>(target);
  std::lock_guard lock(mutex);
  if (const auto found = kernels.find(key); found != kernels.end()) return found->second;
  // What is recorded has run before, so its kernel is there, as a rule.
  if (kernels.size() >= kMostKernels || is_recorded(stream)) return nullptr;
  return kernels[key] = make_kernel(chain_text(steps, group, form), target);
}

// False: nothing was done.
bool launch(cudaStream_t stream, std::span<const ChainStep> steps, const ChainGroup& group) {
  bool writes = false;
  for (const ChainGroup::Operand& at : group.operands) writes |= at.written_by >= 0;
  if (!writes) return true;
  ChainForm form;
  if (!chain_form(steps, group, form)) return false;
  const cudaKernel_t kernel = find_kernel(stream, steps, group, form);
  if (!kernel) return false;
  void* arguments[] = {&form.args};
  const int blocks = grid(form.args.items, int64_t{kChainThreads} * form.flight, 48);
  ARGOSY_CUDA(cudaLaunchKernel(reinterpret_cast<const void*>(kernel),
                               dim3(static_cast<unsigned>(blocks)), dim3(kChainThreads), arguments,
                               0, stream));
  launches.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace

uint64_t chain_launches() {
  return launches.load(std::memory_order_relaxed);
}

void ChainRecorder::run() {
  for (ChainStep& s : steps_) s.unread = false;
  finish();
}

void ChainRecorder::try_run() noexcept {
  try {
    run();
  } catch (...) {
    failed_ = std::current_exception();
  }
}

void ChainRecorder::finish() {
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
  if (steps_.empty()) return;
  struct Paused {
    ChainRecorder* const before = chain_recorder;
    std::vector<ChainStep>& steps;
    explicit Paused(std::vector<ChainStep>& steps) : steps(steps) { chain_recorder = nullptr; }
    ~Paused() {
      steps.clear();
      chain_recorder = before;
    }
  } paused(steps_);
  for (const ChainGroup& group : chain_groups(steps_)) {
    if (group.size() > 1 && launch(stream_, steps_, group)) continue;
    for (size_t i = group.begin; i < group.end; ++i) steps_[i].alone(stream_, steps_[i]);
  }
}

}  // namespace argosy::cuda

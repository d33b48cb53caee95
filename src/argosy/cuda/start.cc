#include <cuda_runtime_api.h>

#include <cstdlib>

#include "argosy/base/error.h"
#include "argosy/base/export.h"
#include "argosy/base/native_stream.h"
#include "argosy/cuda/device.h"
#include "argosy/cuda/launcher.h"
#include "argosy/cuda/nccl.h"

// What op/accelerator.cc calls after this library's kernels are registered.
namespace argosy::cuda {
namespace {

CudaDevice* started = nullptr;  // set once, under the lock of op::start_cuda

class Streams final : public NativeStreams {
 public:
  void* handle(Stream stream) override { return CudaDevice::get().stream(stream); }
  Stream adopt(Place place, void* handle) override {
    return CudaDevice::get().adopt(place, static_cast<cudaStream_t>(handle));
  }
};

// What NCCL needs to know of CUDA.
Native native() {
  Native n;
  n.stream = [](Stream stream) -> void* { return CudaDevice::get().stream(stream); };
  n.enter = [](Place place) { use_gpu(place.index); };
  n.identity = [](Place place) {
    cudaDeviceProp p{};
    ARGOSY_CHECK(cudaGetDeviceProperties(&p, place.index) == cudaSuccess, device)
        << "[gpu] cudaGetDeviceProperties fails for GPU " << place.index << '.';
    return std::string(p.uuid.bytes, sizeof(p.uuid.bytes));
  };
  return n;
}

}  // namespace

CudaDevice& CudaDevice::get() {
  return *started;
}

}  // namespace argosy::cuda

extern "C" ARGOSY_API void argosy_cuda_start() {
  using namespace argosy;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  ARGOSY_CHECK(status == cudaSuccess && count > 0, device)
      << "[gpu] CUDA cannot start: " << cudaGetErrorString(status)
      << ". Do this: see whether `nvidia-smi` lists a GPU and its driver is new enough for CUDA "
      << CUDART_VERSION / 1000 << '.' << CUDART_VERSION % 1000 / 10 << '.';
  // Both live as long as the process.
  if (!cuda::started) cuda::started = new cuda::CudaDevice(count);
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  device::add(cuda::started);
  op::set_launcher(new cuda::CudaLauncher(blocking && *blocking == '1'));
  device::set_native_streams(kAccelerator, new cuda::Streams);
  device::set_linker(kAccelerator, cuda::nccl_linker(cuda::native()));
}

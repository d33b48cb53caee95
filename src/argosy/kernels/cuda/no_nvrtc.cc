#include <nvrtc.h>

// cuDNN's front end calls NVRTC for one kind of graph that is never made here. With these in its
// place libargosy_cuda.so needs no libnvrtc; nobody else sees them.
#pragma GCC visibility push(hidden)
extern "C" {

nvrtcResult nvrtcCreateProgram(nvrtcProgram*, const char*, const char*, int, const char* const*,
                               const char* const*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}

}  // extern "C"
#pragma GCC visibility pop

#include "argosy/kernels/cpu/libraries.h"

#include <oneapi/dnnl/dnnl.h>

extern "C" char* scipy_openblas_get_config();

namespace argosy::cpu {
namespace {

const char* name_of(dnnl_cpu_isa_t isa) {
  switch (isa) {
    case dnnl_cpu_isa_sse41:
      return "sse41";
    case dnnl_cpu_isa_avx:
      return "avx";
    case dnnl_cpu_isa_avx2:
      return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
      return "avx2_vnni";
    case dnnl_cpu_isa_avx2_vnni_2:
      return "avx2_vnni_2";
    case dnnl_cpu_isa_avx512_core:
      return "avx512";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "avx512_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "avx512_bf16";
    case dnnl_cpu_isa_avx512_core_fp16:
      return "avx512_fp16";
    case dnnl_cpu_isa_avx512_core_amx:
      return "amx";
    case dnnl_cpu_isa_avx512_core_amx_fp16:
      return "amx_fp16";
    default:
      return "unknown instructions";
  }
}

}  // namespace

std::string onednn_version() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + '.' + std::to_string(v->minor) + '.' +
         std::to_string(v->patch) + ", " + name_of(dnnl_get_effective_cpu_isa());
}

std::string openblas_version() {
  std::string text = scipy_openblas_get_config();
  const char prefix[] = "OpenBLAS ";
  return text.rfind(prefix, 0) == 0 ? text.substr(sizeof prefix - 1) : text;
}

}  // namespace argosy::cpu

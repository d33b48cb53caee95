#include "argosy/kernels/cpu/onednn.h"

namespace argosy::cpu {

const dnnl::engine& cpu_engine() {
  static const auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream& thread_stream() {
  static thread_local dnnl::stream stream(cpu_engine());
  return stream;
}

}  // namespace argosy::cpu

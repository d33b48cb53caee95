#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace argosy::cpu {

// The one engine of oneDNN, for ever.
const dnnl::engine& cpu_engine();
// Nothing says that threads may share one.
dnnl::stream& thread_stream();

}  // namespace argosy::cpu

#pragma once

#include <string>

#include "argosy/base/export.h"

// Versions of the libraries behind the kernels, as loaded at run time.
namespace argosy::cpu {

ARGOSY_API std::string onednn_version();    // "3.2.0, at most avx512_core_amx"
ARGOSY_API std::string openblas_version();  // what OpenBLAS says of itself

}  // namespace argosy::cpu

#pragma once

#include "argosy/program/program.h"

// What builder.cc and writes.cc, which are one class, share.
namespace argosy::program {

// x becomes a handle on v, as far as it does not stand for state.
void point_at(const Tensor& x, const Ref<Value>& v);

}  // namespace argosy::program

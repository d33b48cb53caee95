#pragma once

#include <string>

namespace argosy::python {

// "file:line" of the innermost Python frame outside this package; empty if there is none. Needs the
// GIL.
std::string user_line();

}  // namespace argosy::python

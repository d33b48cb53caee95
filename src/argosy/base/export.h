#pragma once

// Symbols are hidden by default; what out-of-tree ops and the bindings need is marked.
#define ARGOSY_API __attribute__((visibility("default")))

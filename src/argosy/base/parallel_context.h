#pragma once

namespace argosy {

// A pointer of the calling thread that pool threads have, too, while they work on its loops. Null
// at first.
void*& parallel_context();

// Whether the pool started the calling thread. Such threads get no signals.
bool on_pool_thread();

}  // namespace argosy

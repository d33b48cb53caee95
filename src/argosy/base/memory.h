#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "argosy/base/export.h"
#include "argosy/base/place.h"

// Device memory by a chunk pool per place: small blocks from per-thread free lists by size class,
// larger ones best-fit from chunks that grow automatically. Thread safe; a block may be freed on
// another thread than the one that took it. ARGOSY_ALLOCATOR=system passes everything to the
// system (for sanitizers).
namespace argosy::memory {

inline constexpr size_t kAlignment = 64;

struct Stats {
  size_t allocated = 0;  // bytes in use now (rounded up to block sizes)
  size_t peak = 0;       // most of it since the last reset_peak
  size_t reserved = 0;   // bytes held from the system
  size_t peak_reserved = 0;
};

// Never null. bytes == 0 gives a valid unique pointer. Throws ErrorKind::memory naming the request,
// what is in use and the cap.
ARGOSY_API void* allocate(Place place, size_t bytes);
// `bytes` must be what allocate was given.
ARGOSY_API void deallocate(Place place, void* block, size_t bytes) noexcept;

ARGOSY_API Stats stats(Place place);
ARGOSY_API void reset_peak(Place place);
ARGOSY_API void set_limit(Place place, size_t bytes);  // 0: none
ARGOSY_API void release_cached(Place place);           // gives wholly free chunks back
ARGOSY_API std::string dump(Place place);              // a table for people

}  // namespace argosy::memory

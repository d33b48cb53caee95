#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "argosy/base/export.h"
#include "argosy/base/place.h"

// Device memory. On the CPU blocks up to 64 KiB come from per-thread free lists by size class;
// larger ones are cut best-fit from chunks that grow automatically and are kept for reuse. Thread
// safe: a block may be freed on another thread than the one that took it. A CUDA place has the
// chunk pool over the driver's functions (set_backend). The null place hands out addresses that
// cannot be dereferenced and only counts, so that a model larger than any machine can be dry-run.
//
// ARGOSY_ALLOCATOR=system passes each CPU block to the C library, for sanitizers; =guard ends each
// at a page that faults;
// ARGOSY_MEMORY_LIMIT_MB is set_limit of the CPU at the start.
namespace argosy::memory {

inline constexpr size_t kAlignment = 64;

// Exact when no other thread is allocating or freeing. The peak is exact for what one thread
// allocates; small blocks that several threads hold at once may be off by 64 KiB for each of them.
struct Stats {
  size_t allocated = 0;  // bytes in use now, each block rounded up as block_size says
  size_t peak = 0;       // most of it since the last reset_peak
  size_t reserved = 0;   // bytes held from the system
  size_t peak_reserved = 0;
};

// Never null. bytes == 0 gives a valid unique pointer. Throws ErrorKind::memory naming the request,
// what is in use, what is reserved and the limit; ErrorKind::device if the place does not exist.
ARGOSY_API void* allocate(Place place, size_t bytes);
// `bytes` must be what allocate was given.
ARGOSY_API void deallocate(Place place, void* block, size_t bytes) noexcept;
// What a request for `bytes` counts as in Stats::allocated.
ARGOSY_API size_t block_size(Place place, size_t bytes);

// Memory that other processes of this host map too, for tensors that are exchanged with them. From
// now on allocate_shared() takes blocks of [begin, begin + bytes), which stays mapped for ever.
// Once in the life of a process: false, and without effect, later, and where ARGOSY_ALLOCATOR is
// not pool.
ARGOSY_API bool share(char* begin, size_t bytes);
// As allocate of the CPU does; a block of more than 64 KiB from the memory given to share(), as
// long as that has room.
ARGOSY_API void* allocate_shared(size_t bytes);
// Whether the address lies in that memory.
ARGOSY_API bool is_shared(const void* address);

ARGOSY_API Stats stats(Place place);
// Since now.
ARGOSY_API void reset_peak(Place place);
// Neither `allocated` nor `reserved` may grow past the limit. 0: none.
ARGOSY_API void set_limit(Place place, size_t bytes);
// Gives back to the system what holds no block in use. Free blocks in other threads' lists (at most
// 128 KiB for each size class) stay.
ARGOSY_API void release_cached(Place place);
ARGOSY_API std::string dump(Place place);  // a table for people

// Where the chunks of a kind of device come from. allocate returns null where there is no memory
// left; blocks are aligned to 512 bytes or more.
struct Backend {
  void* (*allocate)(int index, size_t bytes);
  void (*release)(int index, void* block, size_t bytes);
};
// For a device room, at load time, before the first allocation on that kind. (Tests replace the
// CPU's to inject failures; it must then be able to release what the former one allocated.) Returns
// the former one.
ARGOSY_API Backend set_backend(DeviceKind kind, Backend backend);

}  // namespace argosy::memory

#pragma once

#include <cstdint>

#include "argosy/base/error.h"

struct CUstream_st;  // cudaStream_t is a pointer to it

// Indices that kernels find out of range. The kernel that finds the first one writes it down and
// goes on; whoever waits for the device next raises it, and the process goes on, too. Nothing is
// counted, written or waited for while all indices are good.
namespace argosy::cuda {

// What the number was to name, by which the error reads as the CPU's does.
enum class Named : uint32_t {
  element,   // along dimension `detail`, negative ones from the end
  corner,    // the same, of gather_nd
  row,       // of an embedding's table
  label,     // a class; `detail` is ignore_index
  category,  // of one_hot
  parent,    // of beams
  place,     // in a plane of a pool
  image,     // of a batch
  argmax,    // in a plane, as roi_pool gave it
};

// What was found, in pinned memory: written by the device, taken by the host.
struct Finding {
  uint32_t ready = 0;
  Named named = Named::element;
  const char* op = nullptr;  // lives as long as the process
  int64_t value = 0, bound = 0, detail = 0;
};
// In memory of the device: who sets `taken` writes the finding.
struct Watcher {
  unsigned taken;
  Finding* finding;
};

// A kernel's argument: where it tells what it finds. Without a watcher it tells nobody.
struct Watch {
  Watcher* to = nullptr;
  const char* op = nullptr;
  Named named = Named::element;
  int64_t detail = 0;
};

// --- the host's part; that without a stream needs no GPU ---

// Takes what is ready, once: of several threads one gets it.
bool take_finding(Finding& from, Finding* found);
// The error that the CPU's kernel raises for it.
Error error_of(const Finding& found);

// Memory for the findings of so many GPUs; called once, before the first kernel.
void start_watching(int gpus);
// Of the GPU that is current on the calling thread.
Watch watch_of(const char* op, Named named, int64_t detail = 0);
// Raises what kernels have found on this GPU, for who has waited for it. `stream` is one of its.
void raise_found(int gpu, CUstream_st* stream);

}  // namespace argosy::cuda

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "argosy/base/device.h"
#include "argosy/tensor/tensor.h"

// Steps of a frame as one call of the device. A run of kernels that nothing of the host comes
// between is recorded when it meets the same memory a second time, and launched as a graph from
// then on.
namespace argosy::runtime {

struct FrameStep;
class Plan;

// A range of steps, by number.
struct Stretch {
  uint32_t begin, end;
  bool takes_memory = false;  // in some of the steps
};

// The ranges of a block that can be recorded, longest possible; none where the device of the place
// has no graphs, or ARGOSY_DEVICE_GRAPHS is 0. Steps that take memory are in them if asked for: who
// runs them takes it before.
std::vector<Stretch> stretches_of(std::span<const FrameStep> steps, uint32_t begin, uint32_t end,
                                  const Plan& plan, bool taking_memory);

// How often a graph was launched since the process began.
ARGOSY_API uint64_t graph_launches();

// What is recorded of one stretch of one frame. Used by one run at a time, as the frame is.
class StretchGraphs {
 public:
  // Enqueues the steps on the place's current stream: by a graph, or by `run`, which is called for
  // recording, too. Memory is taken and views are placed already.
  void run(std::span<const FrameStep> steps, std::span<const Tensor> slots, Place place,
           const std::function<void()>& run);
  // It meets other memory each time, or cannot be recorded.
  bool given_up() const { return given_up_; }

 private:
  // Where a run meets its operands.
  struct Met {
    Stream stream;
    std::vector<const void*> memory;
    bool operator==(const Met&) const = default;
  };
  struct Recorded {
    Met met;
    Ref<DeviceGraph> graph;
  };
  static constexpr size_t kMost = 4;         // a loader hands out few buffers in turn
  static constexpr uint32_t kPatience = 64;  // runs without a graph, one after the other

  // Null if it cannot be recorded.
  static Ref<DeviceGraph> record(Stream stream, const std::function<void()>& run);

  std::vector<Recorded> recorded_;  // last used first
  std::vector<Met> seen_;           // run without a graph, last first
  uint32_t misses_ = 0;
  bool given_up_ = false;
};

}  // namespace argosy::runtime

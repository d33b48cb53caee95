#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/op/op.h"

// Where ops work, for the few that do not do so where their operands are. It is said beside the
// description, as what an op exchanges is (comm/ops/exchange.h):
//
//   [[maybe_unused]] const bool array_write_placed = place_op("array_write", on_host({"i"}));
namespace argosy::op {

struct Placing {
  // On a device without a kernel of its own for it, the CPU's kernel runs on the calling thread: it
  // works with tensors as wholes, or with the world outside of them. It writes by ops and by
  // op/copy.h.
  bool on_host = false;
  // Inputs whose values kernels read on the host. They may be there whatever place the others are
  // on; else whoever calls the kernel brings them there.
  std::vector<std::string> host_inputs;
  // Where results are. Null: where the operands are.
  Place (*result)(const void* attrs) = nullptr;

  bool reads_on_host(const InputDef& input) const;
};

ARGOSY_API Placing on_host(std::vector<std::string> host_inputs = {});

// While libraries load. True, for static initializers.
ARGOSY_API bool place_op(std::string_view op, Placing placing);
// Null for an op that works where its operands are. What does I/O works on the host.
ARGOSY_API const Placing* placing_of(const OpDef& op);

// For who computes while compiling, and reads the results: meanwhile, what this thread makes
// without operands is on the host where it would be on a device.
class ARGOSY_API MakesOnHost {
 public:
  MakesOnHost();
  ~MakesOnHost();
  MakesOnHost(const MakesOnHost&) = delete;

 private:
  const Place before_;
};

}  // namespace argosy::op

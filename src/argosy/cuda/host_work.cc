#include "argosy/op/host_work.h"

#include <set>
#include <string>

#include "argosy/base/log.h"
#include "argosy/base/mutex.h"
#include "argosy/cuda/launcher.h"

namespace argosy::cuda {
namespace {

void warn_once(const op::OpDef& op) {
  static auto& mutex = *new Mutex;
  static auto& told = *new std::set<std::string>;  // guarded by mutex
  MutexLock lock(mutex);
  if (!told.insert(op.name).second) return;
  ARGOSY_LOG(warning)
      << '[' << op.name
      << "] has no GPU kernel for this call: it runs on the CPU, and its operands travel. "
         "(This is said once for each op.)";
}

}  // namespace

void run_on_host(const op::KernelDef& kernel, op::KernelFrame& frame, const void* attrs,
                 Place place) {
  warn_once(frame.op);
  op::run_on_host(kernel, frame, attrs, place);
}

}  // namespace argosy::cuda

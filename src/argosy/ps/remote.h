#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "argosy/base/export.h"
#include "argosy/ps/request.h"

namespace argosy::ps {

// The tables as the operations of a trainer's Program see them. Whether they lie in this process or
// on servers, whether a push waits, is merged with others or held back for some steps (sync, async,
// geo) is the business of who made the Remote. Calls come from any thread; each has a deadline and
// then throws ErrorKind::timeout.
class ARGOSY_API Remote {
 public:
  virtual ~Remote();
  // out [keys, pull width]. Training creates rows.
  virtual void pull_sparse(uint32_t table, std::span<const uint64_t> keys, float* out,
                           bool training) = 0;
  // Of several tables at once.
  virtual void pull_many(std::span<const SparsePull> requests, bool training);
  // This thread's next step will ask for these (`out` is not used): they may be fetched meanwhile,
  // where rows may be as old as that.
  virtual void prefetch(std::span<const SparsePull> requests);
  // values [keys, push width]. learning_rate below 0: the table's own.
  virtual void push_sparse(uint32_t table, std::span<const uint64_t> keys, const float* values,
                           float learning_rate) = 0;
  virtual void pull_dense(uint32_t table, std::span<float> out) = 0;
  virtual void push_dense(uint32_t table, std::span<const float> values, float learning_rate) = 0;
  // Ends a step of this thread: in sync mode waits for all workers.
  virtual void end_step() = 0;
};

// The one that operations of this process use; the second throws if there is none.
ARGOSY_API void set_remote(std::shared_ptr<Remote> remote);
ARGOSY_API std::shared_ptr<Remote> remote();

}  // namespace argosy::ps

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy::program {

// A named place for a tensor. Its address stays valid as long as its Scope.
struct ARGOSY_API Variable {
  std::string name;
  Tensor tensor;  // undefined until something is put here
};

// Names to tensors: what executors read and write state in. A name not found here is looked up in
// the parent. Finding and making variables is thread safe; the tensors are guarded by whoever uses
// them.
class ARGOSY_API Scope {
 public:
  explicit Scope(std::shared_ptr<Scope> parent = nullptr);
  ~Scope();
  Variable* find(std::string_view name) const;        // here or above; null if nowhere
  Variable* find_local(std::string_view name) const;  // here
  Variable& var(std::string_view name);               // made here if not found anywhere
  Variable& local(std::string_view name);             // made here if not found here
  bool erase(std::string_view name);                  // here
  std::vector<std::string> names() const;             // here, in order of creation
  const std::shared_ptr<Scope>& parent() const { return parent_; }

 private:
  struct Table;
  std::shared_ptr<Scope> parent_;
  mutable std::mutex mutex_;  // guards table_
  std::unique_ptr<Table> table_;
};

}  // namespace argosy::program

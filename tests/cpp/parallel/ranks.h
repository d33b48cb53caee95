#pragma once

#include "argosy/comm/groups.h"
#include "argosy/program/builder.h"
#include "argosy/runtime/executor.h"
#include "tests/cpp/comm/world.h"
#include "tests/cpp/passes/recorded.h"

// Ranks that are threads, each with Programs and groups of its own.
namespace argosy::parallel {

// Runs body(group) on `size` ranks, for whose Programs the group is number 0. What each rank threw.
inline std::vector<std::string> errors_on_ranks(
    int size, double seconds, const std::function<void(comm::ProcessGroup&)>& body,
    comm::Over over = comm::Over::board) {
  return comm::run_ranks(over, size, seconds, [&](comm::ProcessGroup& group) {
    comm::Groups groups;
    groups.enter(0, group.shared_from_this());
    const comm::Groups::Scope scope(groups);
    body(group);
  });
}
inline void on_ranks(int size, const std::function<void(comm::ProcessGroup&)>& body,
                     comm::Over over = comm::Over::board) {
  for (const std::string& error : errors_on_ranks(size, 60, body, over)) EXPECT_EQ(error, "");
}

using program::Program;

// Values of the Program's outputs, by the serial executor of this rank.
inline Tensors execute(const std::shared_ptr<Program>& p, const std::vector<Tensor>& feeds) {
  runtime::Executor executor(4);
  executor.parallel = runtime::Parallel::off;
  std::vector<Ref<program::Value>> fetches;
  for (const auto& o : p->outputs) fetches.push_back(o.value);
  return executor.run(p, feeds, fetches, nullptr);
}

template <class T>
std::function<void(op::AttrBox&)> with(const char* name, T value) {
  return [=](op::AttrBox& attrs) { passes::set_attr(attrs, name, value); };
}

}  // namespace argosy::parallel

#include <sstream>

#include "argosy/passes/pass.h"
#include "argosy/ps/split.h"

// The pass `parameter_server_startup`; what it says of tables goes to the metadata
// `parameter_server.tables`.
namespace argosy::ps {
namespace {

bool run(program::Program& p, const passes::PassContext& context) {
  std::vector<std::string> removed;
  std::istringstream lines{std::string(context.option("parameter_server_startup.removed"))};
  for (std::string name; std::getline(lines, name);) removed.push_back(name);
  std::vector<TableConfig> tables =
      parse_tables(context.option("parameter_server_startup.tables", "[]"));
  split_startup(p, removed, tables);
  std::erase_if(p.metadata, [](const auto& m) { return m.first == "parameter_server.tables"; });
  p.metadata.emplace_back("parameter_server.tables", to_json(tables));
  return true;
}

ARGOSY_PASS(
    parameter_server_startup, passes::Rounding::meaning,
    "A startup Program without the state that the trainer no longer has, nor what computes its "
    "first value; tables start in the range that the initializer draws from. Options: "
    "parameter_server_startup.removed, names by lines; parameter_server_startup.tables, JSON.",
    run)

}  // namespace
}  // namespace argosy::ps

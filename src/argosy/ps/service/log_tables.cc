#include "argosy/ps/service/log_tables.h"

#include <algorithm>
#include <map>

#include "argosy/base/error.h"
#include "argosy/base/file.h"
#include "argosy/base/json.h"
#include "argosy/ps/service/durable_file.h"

namespace argosy::ps {
namespace {

constexpr const char* kName = "tables.json";

bool has(const std::string& directory) {
  const auto names = list_directory(directory);
  return std::find(names.begin(), names.end(), kName) != names.end();
}

std::map<uint32_t, std::string> described(const TableSet& tables) {
  std::map<uint32_t, std::string> all;
  for (const SparseTable* t : tables.sparse) all[t->config().id] = "rows: " + t->layout();
  for (const DenseTable* t : tables.dense)
    all[t->config().id] = t->config().kind + ": " + std::to_string(t->config().size) +
                          " numbers, " + t->config().accessor.embedding.rule;
  return all;
}

std::map<uint32_t, std::string> read(const std::string& path) {
  try {
    std::map<uint32_t, std::string> all;
    const auto file = parse_json(read_file(path));
    for (const auto& one : file.at("tables"))
      all[one.at("id").get<uint32_t>()] = one.at("what").get<std::string>();
    return all;
  } catch (const Json::exception& e) {
    ARGOSY_THROW(io) << "[log] '" << path << "' is damaged (" << e.what()
                     << "). Do this: restore it, or remove it if the servers have the tables that "
                        "they had before.";
  }
}

}  // namespace

void check_log_tables(const std::string& directory, const TableSet& tables) {
  if (!has(directory)) return;
  const auto now = described(tables);
  for (const auto& [id, what] : read(join_path(directory, kName))) {
    const auto found = now.find(id);
    ARGOSY_CHECK(found != now.end() && found->second == what, io)
        << "[log] '" << directory << "' has changes of table " << id << " (" << what << "), "
        << (found == now.end() ? "which this server does not have"
                               : "which is another one now (" + found->second + ")")
        << ". Do this: start with the tables that the log was written with, save the model, and "
           "load it into servers with the new ones and another directory.";
  }
}

void write_log_tables(const std::string& directory, const TableSet& tables) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [id, what] : described(tables)) list.push_back({{"id", id}, {"what", what}});
  const std::string text = OrderedJson{{"format", 1}, {"tables", list}}.dump(2) + "\n";
  const std::string path = join_path(directory, kName);
  if (has(directory) && read_file(path) == text) return;  // a full disk stops no start
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace argosy::ps

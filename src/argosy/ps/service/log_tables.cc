#include "argosy/ps/service/log_tables.h"

#include <algorithm>
#include <map>

#include "argosy/base/error.h"
#include "argosy/base/file.h"
#include "argosy/base/json.h"
#include "argosy/ps/service/durable_file.h"
#include "argosy/ps/table/layout.h"

namespace argosy::ps {
namespace {

constexpr const char* kName = "tables.json";

bool has(const std::string& directory) {
  const auto names = list_directory(directory);
  return std::find(names.begin(), names.end(), kName) != names.end();
}

// What of a table the bytes of records depend on.
std::string form_of(const TableConfig& t) {
  if (t.kind == "sparse") return "rows: " + RowLayout(t).name();
  return t.kind + ": " + std::to_string(t.size) + " numbers, " + t.accessor.embedding.rule;
}

std::map<uint32_t, std::string> forms_of(const std::vector<TableConfig>& tables) {
  std::map<uint32_t, std::string> all;
  for (const TableConfig& t : tables)
    if (t.kind != "barrier") all[t.id] = form_of(t);
  return all;
}

// What of a table decides what records do, as text. Where its rows lie does not.
std::string settings_of(TableConfig t) {
  t.name.clear();
  t.tier = "memory";
  t.directory.clear();
  t.memory_rows = 0;
  return to_json({t});
}

struct Told {
  uint32_t workers = 0;  // 0: of an earlier version
  std::map<uint32_t, std::string> forms, settings;
};

Told read(const std::string& path) {
  try {
    Told told;
    const auto file = parse_json<OrderedJson>(read_file(path));
    ARGOSY_CHECK(file.at("format") == 1, io)
        << "[log] '" << path << "' has format " << file.at("format").dump()
        << ", this version reads format 1. Do this: start the version that wrote it.";
    told.workers = file.value("workers", 0u);
    for (const auto& one : file.at("tables")) {
      const auto id = one.at("id").get<uint32_t>();
      told.forms[id] = one.at("what").get<std::string>();
      if (one.contains("config")) told.settings[id] = OrderedJson::array({one.at("config")}).dump();
    }
    return told;
  } catch (const OrderedJson::exception& e) {
    ARGOSY_THROW(io) << "[log] '" << path << "' is damaged (" << e.what()
                     << "). Do this: restore it, or remove it if the servers have the tables that "
                        "they had before.";
  }
}

bool same_forms(const Told& told, const std::vector<TableConfig>& tables) {
  const auto now = forms_of(tables);
  return std::all_of(told.forms.begin(), told.forms.end(), [&](const auto& one) {
    const auto found = now.find(one.first);
    return found != now.end() && found->second == one.second;
  });
}

}  // namespace

void check_log_tables(const std::string& directory, const std::vector<TableConfig>& tables) {
  if (!has(directory)) return;
  const auto now = forms_of(tables);
  for (const auto& [id, what] : read(join_path(directory, kName)).forms) {
    const auto found = now.find(id);
    ARGOSY_CHECK(found != now.end() && found->second == what, io)
        << "[log] '" << directory << "' has changes of table " << id << " (" << what << "), "
        << (found == now.end() ? "which this server does not have"
                               : "which is another one now (" + found->second + ")")
        << ". Do this: start with the tables that the log was written with, save the model, and "
           "load it into servers with the new ones and another directory.";
  }
}

void write_log_tables(const std::string& directory, const ServerOptions& options) {
  OrderedJson list = OrderedJson::array();
  for (const TableConfig& t : options.tables) {
    if (t.kind == "barrier") continue;
    list.push_back({{"id", t.id},
                    {"what", form_of(t)},
                    {"config", parse_json<OrderedJson>(settings_of(t))[0]}});
  }
  const OrderedJson file = {{"format", 1}, {"workers", options.workers}, {"tables", list}};
  const std::string text = file.dump(2) + "\n";
  const std::string path = join_path(directory, kName);
  if (has(directory) && read_file(path) == text) return;  // a full disk stops no start
  OutputFile out(path);
  out.write(text);
  out.commit();
}

std::optional<ServerOptions> options_of_log(const std::string& directory,
                                            const ServerOptions& now) {
  if (!has(directory)) return std::nullopt;
  const Told told = read(join_path(directory, kName));
  // Other forms are refused, by check_log_tables.
  if (!told.workers || !same_forms(told, now.tables)) return std::nullopt;
  ServerOptions before = now;
  before.workers = told.workers;
  bool differ = now.workers != told.workers;
  for (TableConfig& t : before.tables) {
    const auto found = told.settings.find(t.id);
    if (found == told.settings.end() || found->second == settings_of(t)) continue;
    differ = true;
    TableConfig then = parse_tables(found->second).at(0);
    then.name = t.name;
    if (!then.max_rows) {  // a tier on disk has no such cap
      then.tier = t.tier;
      then.directory = t.directory;
      then.memory_rows = t.memory_rows;
    }
    t = std::move(then);
  }
  return differ ? std::optional(std::move(before)) : std::nullopt;
}

}  // namespace argosy::ps

#include <sstream>

#include "argosy/passes/pass.h"
#include "argosy/ps/split.h"

// The pass `parameter_server`. What the split found is put into the Program's metadata:
//   parameter_server.tables   JSON, see config.h
//   parameter_server.dense    a line for each dense table: its id and its parameters, by tabs
//   parameter_server.removed  names of state, by lines
namespace argosy::ps {
namespace {

constexpr std::string_view kRemote = "parameter_server.remote.";

// "table=3 click own_rule own_rate show=NAME clicks=NAME slots=1,2", any of these.
RemoteParameter parse_remote(std::string name, const std::string& text) {
  RemoteParameter r;
  r.name = std::move(name);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t equal = word.find('=');
    const std::string key = word.substr(0, equal);
    const std::string value = equal == std::string::npos ? "" : word.substr(equal + 1);
    if (key == "click") {
      r.click = true;
    } else if (key == "own_rule") {
      r.own_rule = true;
    } else if (key == "own_rate") {
      r.own_rate = true;
    } else if (key == "table") {
      r.table = std::stoll(value);
    } else if (key == "show") {
      r.show = value;
    } else if (key == "clicks") {
      r.click_from = value;
    } else if (key == "slots") {
      std::istringstream numbers(value);
      for (std::string n; std::getline(numbers, n, ',');) r.slots.push_back(std::stoll(n));
    } else {
      ARGOSY_THROW(invalid_argument)
          << "[parameter_server] option '" << std::string(kRemote) << r.name << "': there is no '"
          << word << "'. Do this: use table=, click, own_rule, own_rate, show=, clicks= or slots=.";
    }
  }
  return r;
}

void set_metadata(program::Program& p, const std::string& name, const std::string& value) {
  std::erase_if(p.metadata, [&](const auto& entry) { return entry.first == name; });
  p.metadata.emplace_back(name, value);
}

bool run(program::Program& p, const passes::PassContext& context) {
  SplitOptions options;
  options.sparse = context.number("parameter_server.sparse", 1) != 0;
  options.dense = context.number("parameter_server.dense", 1) != 0;
  options.workers = static_cast<uint32_t>(context.number("parameter_server.workers", 1));
  options.first_table = static_cast<uint32_t>(context.number("parameter_server.first_table", 0));
  for (const auto& [name, value] : context.options)
    if (name.rfind(kRemote, 0) == 0)
      options.remote.push_back(parse_remote(name.substr(kRemote.size()), value));
  const Split found = split(p, options);
  if (found.tables.empty()) return false;
  set_metadata(p, "parameter_server.tables", to_json(found.tables));
  std::string dense, removed;
  for (const DenseBlock& d : found.dense) {
    dense += std::to_string(d.table);
    for (const std::string& name : d.parameters) dense += '\t' + name;
    dense += '\n';
  }
  for (const std::string& name : found.removed) removed += name + '\n';
  set_metadata(p, "parameter_server.dense", dense);
  set_metadata(p, "parameter_server.removed", removed);
  return true;
}

ARGOSY_PASS(
    parameter_server, passes::Rounding::meaning,
    "The trainer's part of a Program that trains with a parameter server: look-ups of embeddings "
    "become pulls, updates of parameters become pushes; the tables of the servers are told in the "
    "metadata. Options: parameter_server.remote.NAME, an embedding that goes to servers (words: "
    "table=, click, own_rule, own_rate, show=, clicks=, slots=); parameter_server.sparse, whether "
    "all "
    "embeddings with sparse gradients do (1); parameter_server.dense, whether other parameters do "
    "(1); parameter_server.workers, how many push steps of their own (1); "
    "parameter_server.first_table, where new ids start (0).",
    run)

}  // namespace
}  // namespace argosy::ps

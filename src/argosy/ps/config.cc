#include "argosy/ps/config.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>

#include "argosy/base/error.h"
#include "argosy/base/json.h"
#include "argosy/base/text.h"

namespace argosy::ps {
namespace {

// Every field once, by its name in JSON. `F` is called with the name and a reference.
template <class Config, class F>
void each_field(Config& c,
                F&& f) requires std::is_same_v<std::remove_const_t<Config>, OptimizerConfig> {
  f("rule", c.rule);
  f("learning_rate", c.learning_rate);
  f("initial_range", c.initial_range);
  f("minimum", c.minimum);
  f("maximum", c.maximum);
  f("initial_g2sum", c.initial_g2sum);
  f("beta1", c.beta1);
  f("beta2", c.beta2);
  f("epsilon", c.epsilon);
  f("decay", c.decay);
  f("amsgrad", c.amsgrad);
  f("rho", c.rho);
  f("momentum", c.momentum);
  f("nesterov", c.nesterov);
  f("l1", c.l1);
  f("l2", c.l2);
  f("lr_power", c.lr_power);
}

template <class Config, class F>
void each_field(Config& c,
                F&& f) requires std::is_same_v<std::remove_const_t<Config>, AccessorConfig> {
  f("kind", c.kind);
  f("dim", c.dim);
  f("dtype", c.dtype);
  f("weight", c.weight);
  f("embedding", c.embedding);
  f("nonclick_coefficient", c.nonclick_coefficient);
  f("click_coefficient", c.click_coefficient);
  f("embedding_threshold", c.embedding_threshold);
  f("base_threshold", c.base_threshold);
  f("delta_threshold", c.delta_threshold);
  f("delta_keep_days", c.delta_keep_days);
  f("show_click_decay_rate", c.show_click_decay_rate);
  f("delete_threshold", c.delete_threshold);
  f("delete_after_unseen_days", c.delete_after_unseen_days);
  f("show_scale", c.show_scale);
  f("ssd_unseen_days", c.ssd_unseen_days);
}

template <class Config, class F>
void each_field(Config& c,
                F&& f) requires std::is_same_v<std::remove_const_t<Config>, AdmissionConfig> {
  f("kind", c.kind);
  f("count", c.count);
  f("probability", c.probability);
}

template <class Config, class F>
void each_field(Config& c,
                F&& f) requires std::is_same_v<std::remove_const_t<Config>, TableConfig> {
  f("id", c.id);
  f("name", c.name);
  f("kind", c.kind);
  f("accessor", c.accessor);
  f("admission", c.admission);
  f("size", c.size);
  f("max_rows", c.max_rows);
  f("tier", c.tier);
  f("directory", c.directory);
  f("memory_rows", c.memory_rows);
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const auto name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

// ", did you mean 'dim'?" if one of `names` is near, else "".
std::string suggestion(std::string_view wrong, const std::vector<std::string_view>& names) {
  size_t best = std::max<size_t>(wrong.size() / 2, 1) + 1;
  std::string_view near;
  for (const auto name : names) {
    const size_t d = edit_distance(wrong, name);
    if (d < best) best = d, near = name;
  }
  return near.empty() ? "" : ", did you mean '" + std::string(near) + "'?";
}

const char* type_text(const OrderedJson& value) {
  return value.type_name();
}

std::string shown(const OrderedJson& value) {
  std::string text = json_text(value);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

void read(const OrderedJson& value, const std::string& path, std::string& field) {
  ARGOSY_CHECK(value.is_string(), invalid_argument)
      << "[table config] " << path << ": expected a string, got " << shown(value) << " ("
      << type_text(value) << ").";
  field = value.get<std::string>();
}

void read(const OrderedJson& value, const std::string& path, bool& field) {
  ARGOSY_CHECK(value.is_boolean(), invalid_argument)
      << "[table config] " << path << ": expected true or false, got " << shown(value) << " ("
      << type_text(value) << ").";
  field = value.get<bool>();
}

void read(const OrderedJson& value, const std::string& path, float& field) {
  ARGOSY_CHECK(value.is_number(), invalid_argument)
      << "[table config] " << path << ": expected a number, got " << shown(value) << " ("
      << type_text(value) << ").";
  const double number = value.get<double>();
  ARGOSY_CHECK(std::isfinite(static_cast<float>(number)), invalid_argument)
      << "[table config] " << path << ": expected a number that a float32 holds, got "
      << shown(value) << '.';
  field = static_cast<float>(number);
}

template <class T>
void read_integer(const OrderedJson& value, const std::string& path, T& field) {
  // A float with an integer value is let through: Python configs say 1e9.
  const bool whole =
      value.is_number_integer() || (value.is_number_float() && value.get<double>() >= 0 &&
                                    value.get<double>() <= 9007199254740992.0 &&
                                    value.get<double>() == std::floor(value.get<double>()));
  constexpr uint64_t most = static_cast<uint64_t>(std::numeric_limits<T>::max());
  const bool negative =
      value.is_number_integer() && !value.is_number_unsigned() && value.get<int64_t>() < 0;
  const uint64_t number = !whole || negative        ? 0
                          : value.is_number_float() ? static_cast<uint64_t>(value.get<double>())
                                                    : value.get<uint64_t>();
  ARGOSY_CHECK(whole && !negative && number <= most, invalid_argument)
      << "[table config] " << path << ": expected an integer in [0, " << most << "], got "
      << shown(value) << '.';
  field = static_cast<T>(number);
}
void read(const OrderedJson& value, const std::string& path, int& field) {
  read_integer(value, path, field);
}
void read(const OrderedJson& value, const std::string& path, uint32_t& field) {
  read_integer(value, path, field);
}
void read(const OrderedJson& value, const std::string& path, uint64_t& field) {
  read_integer(value, path, field);
}

template <class Config>
void read(const OrderedJson& value, const std::string& path,
          Config& config) requires std::is_class_v<Config> {
  ARGOSY_CHECK(value.is_object(), invalid_argument)
      << "[table config] " << path << ": expected an object, got " << shown(value) << " ("
      << type_text(value) << ").";
  std::vector<std::string_view> names;
  each_field(config, [&](std::string_view name, auto&) { names.push_back(name); });
  for (const auto& [name, unused] : value.items()) {
    ARGOSY_CHECK(std::find(names.begin(), names.end(), name) != names.end(), invalid_argument)
        << "[table config] " << path << " has no field '" << name << "'" << suggestion(name, names)
        << " Fields: " << listed(names) << '.';
  }
  each_field(config, [&](const char* name, auto& field) {
    const auto found = value.find(name);
    if (found != value.end()) read(*found, path + "." + name, field);
  });
}

template <class T>
OrderedJson written(const T& field) {
  if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
    OrderedJson object = OrderedJson::object();
    each_field(field, [&](const char* name, const auto& f) { object[name] = written(f); });
    return object;
  } else {
    return field;
  }
}

void check_choice(const std::string& path, const std::string& value,
                  const std::vector<std::string_view>& choices) {
  ARGOSY_CHECK(std::find(choices.begin(), choices.end(), value) != choices.end(), invalid_argument)
      << "[table config] " << path << ": there is no '" << value << "'"
      << suggestion(value, choices) << " Choices: " << listed(choices) << '.';
}

void check_range(const std::string& path, double value, double least, double most) {
  ARGOSY_CHECK(value >= least && value <= most, invalid_argument)
      << "[table config] " << path << ": expected a number in [" << least << ", " << most
      << "], got " << value << '.';
}

void validate(const std::string& path, const OptimizerConfig& c) {
  check_choice(path + ".rule", c.rule,
               {"sgd", "momentum", "adagrad", "adagrad_elementwise", "adagrad_lazy", "adam",
                "adam_d2sum", "adam_shared", "adam_lazy", "ftrl", "rmsprop", "sum"});
  constexpr double large = 3.5e38;
  check_range(path + ".learning_rate", c.learning_rate, 0, large);
  check_range(path + ".initial_range", c.initial_range, 0, large);
  ARGOSY_CHECK(c.minimum < c.maximum, invalid_argument)
      << "[table config] " << path << ": expected minimum < maximum, got " << c.minimum << " and "
      << c.maximum << '.';
  if (c.rule == "adagrad" || c.rule == "adagrad_elementwise") {
    check_range(path + ".initial_g2sum", c.initial_g2sum, 1e-30, large);
  }
  if (c.rule == "adagrad_lazy") {
    check_range(path + ".initial_g2sum", c.initial_g2sum, 0, large);
    check_range(path + ".epsilon", c.epsilon, 0, large);
  }
  if (c.rule == "adam" || c.rule == "adam_d2sum" || c.rule == "adam_shared" ||
      c.rule == "adam_lazy") {
    check_range(path + ".beta1", c.beta1, 0, 0.9999999);
    check_range(path + ".beta2", c.beta2, 0, 0.9999999);
    check_range(path + ".epsilon", c.epsilon, 0, large);
  }
  check_range(path + ".decay", c.decay, 0, large);
  if (c.rule == "momentum") check_range(path + ".momentum", c.momentum, -large, large);
  if (c.rule == "rmsprop") {
    check_range(path + ".rho", c.rho, 0, 1);
    check_range(path + ".momentum", c.momentum, 0, 1);
    check_range(path + ".epsilon", c.epsilon, 0, large);
  }
  if (c.rule == "ftrl") {
    check_range(path + ".l1", c.l1, 0, large);
    check_range(path + ".l2", c.l2, 0, large);
    check_range(path + ".lr_power", c.lr_power, -large, 0);
  }
}

void validate(const std::string& path, const AccessorConfig& c) {
  check_choice(path + ".kind", c.kind, {"plain", "click"});
  check_range(path + ".dim", c.dim, 1, 4096);
  check_choice(path + ".dtype", c.dtype, {"float32", "float16", "int8"});
  validate(path + ".embedding", c.embedding);
  ARGOSY_CHECK(c.embedding.rule != "adam_d2sum" && c.weight.rule != "adam_d2sum", invalid_argument)
      << "[table config] " << path << ".rule: adam_d2sum is for dense tables. Do this: use adam.";
  ARGOSY_CHECK(c.dtype != "int8" || c.embedding.rule != "sum", invalid_argument)
      << "[table config] " << path
      << ": the rule sum needs exact weights, got dtype int8. Do this: "
      << "use float32.";
  if (c.kind == "click") {
    validate(path + ".weight", c.weight);
    check_range(path + ".show_click_decay_rate", c.show_click_decay_rate, 0, 1);
    check_range(path + ".delete_after_unseen_days", c.delete_after_unseen_days, 0, 65000);
    check_range(path + ".delta_keep_days", c.delta_keep_days, 0, 65535);
  }
  check_range(path + ".ssd_unseen_days", c.ssd_unseen_days, 0, 65535);
}

void validate(const std::string& path, const TableConfig& c) {
  check_choice(path + ".kind", c.kind, {"sparse", "dense", "summary", "barrier", "global_step"});
  if (c.kind == "sparse") {
    validate(path + ".accessor", c.accessor);
    check_choice(path + ".admission.kind", c.admission.kind,
                 {"always", "count", "probability", "show_click"});
    if (c.admission.kind == "count") {
      check_range(path + ".admission.count", c.admission.count, 1, 65535);
    }
    if (c.admission.kind == "probability") {
      check_range(path + ".admission.probability", c.admission.probability, 0, 1);
    }
    check_choice(path + ".tier", c.tier, {"memory", "ssd"});
    ARGOSY_CHECK(c.tier != "ssd" || !c.directory.empty(), invalid_argument)
        << "[table config] " << path
        << ".directory: tier ssd keeps rows in a database. Do this: name its folder.";
    ARGOSY_CHECK(c.tier != "ssd" || c.max_rows == 0, invalid_argument)
        << "[table config] " << path
        << ".max_rows: tier ssd keeps all rows. Do this: set memory_rows to bound the memory.";
    ARGOSY_CHECK(c.tier == "ssd" || c.memory_rows == 0, invalid_argument)
        << "[table config] " << path << ".memory_rows: only tier ssd has somewhere else to put "
        << "rows, got tier " << c.tier << ". Do this: use tier ssd, or max_rows to drop rows.";
    return;
  }
  if (c.kind == "dense" || c.kind == "summary") {
    ARGOSY_CHECK(c.size > 0, invalid_argument) << "[table config] " << path << ".size: a " << c.kind
                                               << " table needs the number of its values, got 0.";
  }
  if (c.kind == "dense") {
    validate(path + ".accessor.embedding", c.accessor.embedding);
    const std::string& rule = c.accessor.embedding.rule;
    const bool of_rows = rule == "adam_shared" || rule == "adam_lazy" || rule == "adagrad_lazy";
    ARGOSY_CHECK(!of_rows, invalid_argument)
        << "[table config] " << path << ".accessor.embedding.rule: " << rule
        << " is for rows, a dense table has none. Do this: use adam or adagrad.";
  }
  if (c.kind == "summary") {
    ARGOSY_CHECK(c.size % 3 == 0, invalid_argument)
        << "[table config] " << path << ".size: a summary table holds batch_size, batch_sum and "
        << "batch_square_sum of equal length: expected a multiple of 3, got " << c.size << '.';
  }
}

}  // namespace

bool set_number(OptimizerConfig& rule, std::string_view name, double value) {
  bool found = false;
  each_field(rule, [&]<class T>(std::string_view field, T& number) {
    if constexpr (!std::is_same_v<T, std::string>) {
      if (field == name) number = static_cast<T>(value), found = true;
    }
  });
  return found;
}

std::vector<TableConfig> parse_tables(std::string_view text) {
  OrderedJson parsed;
  try {
    parsed = parse_json<OrderedJson>(text);
  } catch (const OrderedJson::exception& e) {
    ARGOSY_THROW(invalid_argument) << "[table config] this is not JSON: " << e.what();
  }
  ARGOSY_CHECK(parsed.is_array(), invalid_argument)
      << "[table config] expected a list of tables, got " << shown(parsed) << " ("
      << type_text(parsed) << ").";
  std::vector<TableConfig> tables;
  std::set<uint32_t> ids;
  for (size_t i = 0; i < parsed.size(); ++i) {
    const std::string path = "tables[" + std::to_string(i) + "]";
    tables.emplace_back();
    read(parsed[i], path, tables[i]);
    validate(path, tables[i]);
    ARGOSY_CHECK(ids.insert(tables[i].id).second, invalid_argument)
        << "[table config] " << path << ".id: " << tables[i].id
        << " is the id of another table too. Do this: number the tables.";
  }
  return tables;
}

void validate(const TableConfig& table) {
  validate("table", table);
}

std::string to_json(const std::vector<TableConfig>& tables) {
  OrderedJson list = OrderedJson::array();
  for (const auto& table : tables) list.push_back(written(table));
  return list.dump();
}

}  // namespace argosy::ps

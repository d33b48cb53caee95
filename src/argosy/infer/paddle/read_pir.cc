#include <limits>

#include "argosy/base/json.h"
#include "argosy/infer/paddle/graph.h"
#include "argosy/infer/paddle/pir_names.h"

// .json: {"base_code": {..}, "program": {"regions": [{"blocks": [{"args": [..], "ops": [op,
// ..]}]}]}}.
//   op     {"#": "1.conv2d", "I": [{"%": 9}, ..], "O": [{"%": 10, "TT": type}, ..],
//           "A": [{"N": name, "AT": attribute}, ..], "OA": .., "regions": [..]}
//          "#": 0 is the dialect builtin, 1 pd_op, 2 cf. A parameter is "p", its "A" ends in its
//          name.
//   type   {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, sizes, layout, offsets, offset]}
//   attribute {"#": "0.a_i32", "D": value}; an array's "D" is a list of attributes.
namespace argosy::infer::paddle {
namespace {

constexpr int kMaxNesting = 64;
constexpr char kNonPersistable[] = "__non_persistable";

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"0.t_bool", DType::bool_},
    {"0.t_ui8", DType::uint8},
    {"0.t_i8", DType::int8},
    {"0.t_i16", DType::int16},
    {"0.t_i32", DType::int32},
    {"0.t_i64", DType::int64},
    {"0.t_f16", DType::float16},
    {"0.t_bf16", DType::bfloat16},
    {"0.t_f32", DType::float32},
    {"0.t_f64", DType::float64},
    {"0.t_c64", DType::complex64},
    {"0.t_c128", DType::complex128},
    {"0.t_f8e4m3fn", DType::float8_e4m3},
    {"0.t_f8e5m2", DType::float8_e5m2},
};

// "%9" of {"%": 9}; 0 stands for an operand that is missing.
std::string name_of_value(const Json& id) {
  const auto number = id.get<int64_t>();
  return number == 0 ? "" : "%" + std::to_string(number);
}

Variable variable_of(const std::string& name, const Json& type) {
  Variable v;
  v.name = name;
  const auto kind = type.at("#").get<std::string>();
  if (kind == "1.t_dense_tensor_array")
    v.kind = kLodTensorArray;
  else if (kind != "0.t_dtensor")
    v.kind = kRaw;
  if (v.kind == kRaw) return v;
  const Json& d = type.at("D");
  const auto dtype = d.at(0).at("#").get<std::string>();
  for (const auto& [text, t] : kTypes)
    if (dtype == text) {
      v.dtype = t;
      v.typed = true;
    }
  ARGOSY_CHECK(d.at(1).size() <= kMaxRank, invalid_argument)
      << "[paddle] value " << name << " has " << d.at(1).size() << " dimensions.";
  for (const Json& size : d.at(1)) {
    const auto s = size.get<int64_t>();
    v.shape.push_back(s < 0 ? kUnknown : s);
  }
  return v;
}

// Numbers that JSON does not have are texts.
double real_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    if (text == "nan" || text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    if (text == "INF" || text == "inf" || text == "Infinity") return infinity;
    if (text == "-INF" || text == "-inf" || text == "-Infinity") return -infinity;
  }
  return value.get<double>();
}

// The last of a list; throws where there is none.
const Json& last_of(const Json& list) {
  return list.at(list.size() - 1);
}

const Json& data_of(const Json& a) {
  return a.contains("D") ? a.at("D") : a.at("VD");
}

Attribute dtype_attribute(const std::string& name) {
  const auto dtype = dtype_from_name(name);
  if (!dtype) return {};  // "Undefined(..)": none is given
  return number_of_dtype(*dtype);
}

Attribute array_of(const Json& list) {
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> texts;
  for (const Json& e : list) {
    const auto kind = e.at("#").get<std::string>();
    if (kind == "0.a_str")
      texts.push_back(data_of(e).get<std::string>());
    else if (kind == "0.a_bool")
      integers.push_back(data_of(e).get<bool>());
    else if (kind == "0.a_i32" || kind == "0.a_i64" || kind == "0.a_index")
      integers.push_back(data_of(e).get<int64_t>());
    else if (kind == "0.a_f32" || kind == "0.a_f64")
      reals.push_back(real_of(data_of(e)));
    else if (kind == "1.a_scalar")
      reals.push_back(real_of(data_of(e).is_array() ? last_of(data_of(e)) : data_of(e)));
    else
      return {};
  }
  if (!reals.empty()) return reals;
  if (!texts.empty()) return texts;
  return integers;
}

Attribute attribute_of(const Json& a) {
  const auto kind = a.at("#").get<std::string>();
  if (kind == "0.a_array") return array_of(data_of(a));
  if (kind == "0.a_str") return data_of(a).get<std::string>();
  if (kind == "0.a_bool") return data_of(a).get<bool>();
  if (kind == "0.a_i32" || kind == "0.a_i64" || kind == "0.a_index")
    return data_of(a).get<int64_t>();
  if (kind == "0.a_f32" || kind == "0.a_f64") return real_of(data_of(a));
  if (kind == "1.a_intarray") return data_of(a).get<std::vector<int64_t>>();
  if (kind == "1.a_dtype") return dtype_attribute(data_of(a).get<std::string>());
  if (kind == "1.a_scalar") {
    const Json& d = data_of(a);
    const Json& value = d.is_array() ? last_of(d) : d;
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_integer()) return value.get<int64_t>();
    return real_of(value);
  }
  return {};  // places, layouts and the like
}

// Gives names to operands or results: "X Y" one each, "*X" all that are left.
Slots slots_of(const char* names, const std::vector<std::string>& values) {
  Slots slots;
  size_t at = 0;
  std::string_view rest = names;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.starts_with('*')) {
      slots.push_back({std::string(name.substr(1)),
                       {values.begin() + static_cast<std::ptrdiff_t>(std::min(at, values.size())),
                        values.end()}});
      at = values.size();
    } else if (at < values.size()) {
      const std::string& value = values[at++];
      if (!value.empty()) slots.push_back({std::string(name), {value}});
    }
  }
  return slots;
}

void rename_attributes(const char* renamed, Operation* o) {
  std::string_view rest = renamed;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t equals = word.find('=');
    const std::string from(word.substr(0, equals)), to(word.substr(equals + 1));
    if (auto node = o->attributes.extract(from); !node.empty()) {
      node.key() = to;
      o->attributes.insert(std::move(node));
    }
  }
}

class Reader {
 public:
  Graph read(const Json& root) {
    const Json& code = root.at("base_code");
    ARGOSY_CHECK(code.at("magic") == "pir", invalid_argument)
        << "[paddle] this .json file is no Program of Paddle.";
    g_.pir = true;
    g_.version = 3000000;
    const Json& regions = root.at("program").at("regions");
    ARGOSY_CHECK(regions.size() == 1, invalid_argument)
        << "[paddle] a Program has one region, got " << regions.size() << '.';
    read_block(regions.at(0), -1, 0);
    return std::move(g_);
  }

 private:
  int64_t read_block(const Json& region, int64_t parent, int depth) {
    ARGOSY_CHECK(depth <= kMaxNesting, invalid_argument)
        << "[paddle] regions are nested more than " << kMaxNesting << " deep.";
    const Json& blocks = region.at("blocks");
    ARGOSY_CHECK(blocks.size() == 1, not_implemented)
        << "[paddle] a region of " << blocks.size() << " blocks is not supported.";
    const Json& from = blocks.at(0);
    const auto index = static_cast<int64_t>(g_.blocks.size());
    g_.blocks.emplace_back();
    Block b;
    b.parent = parent;
    for (const Json& arg : from.at("args")) {
      b.arguments.push_back(name_of_value(arg.at("#")));
      b.variables[b.arguments.back()] = variable_of(b.arguments.back(), arg.at("TT"));
    }
    for (const Json& op : from.at("ops")) read_operation(op, index, depth, &b);
    g_.blocks[static_cast<size_t>(index)] = std::move(b);
    return index;
  }

  void read_parameter(const Json& op, Block* b) {
    const auto name = last_of(op.at("A")).get<std::string>();
    const Json& out = op.at("O").is_array() ? op.at("O").at(0) : op.at("O");
    Variable v = variable_of(name, out.at("TT"));
    v.persistable = v.parameter = true;
    v.in_file = !name.ends_with(kNonPersistable);
    ARGOSY_CHECK(g_.blocks.size() == 1, invalid_argument)
        << "[paddle] parameter '" << name << "' stands in a nested region.";
    const bool has_value = v.in_file;
    b->variables[name] = std::move(v);
    if (!has_value) return;
    Operation o;
    o.type = "assign";
    o.inputs = {{"X", {name}}};
    o.outputs = {{"Out", {name_of_value(out.at("%"))}}};
    b->operations.push_back(std::move(o));
  }

  void read_operation(const Json& op, int64_t block, int depth, Block* b) {
    const auto full = op.at("#").get<std::string>();
    if (full == "p") return read_parameter(op, b);
    std::vector<std::string> in, out;
    for (const Json& i : op.at("I")) in.push_back(name_of_value(i.at("%")));
    for (const Json& r : op.at("O")) {
      out.push_back(name_of_value(r.at("%")));
      if (r.contains("TT") && r.at("TT").is_object())
        b->variables[out.back()] = variable_of(out.back(), r.at("TT"));
    }
    if (full == "2.yield" || full == "cf.yield") {
      b->yields = in;
      return;
    }
    Operation o;
    std::string name = full.substr(full.find('.') + 1);
    if (full == "0.split" || full == "0.slice") name += "_builtin";
    const PirName* known =
        full.starts_with("0.") || full.starts_with("1.") ? find_pir_name(name) : nullptr;
    o.foreign = name;
    for (const Json& a : op.at("A"))
      o.attributes[a.at("N").get<std::string>()] = attribute_of(a.at("AT"));
    o.type = known ? known->op : "pir:" + full;
    if (known) {
      o.inputs = slots_of(known->inputs, in);
      o.outputs = slots_of(known->outputs, out);
      rename_attributes(known->attributes, &o);
    }
    if (op.contains("regions")) {
      Blocks owned;
      for (const Json& region : op.at("regions"))
        owned.indices.push_back(read_block(region, block, depth + 1));
      o.attributes["regions"] = std::move(owned);
    }
    b->operations.push_back(std::move(o));
  }

  Graph g_;
};

}  // namespace

Graph read_pir(std::string_view bytes) {
  try {
    return Reader().read(parse_json(bytes));
  } catch (const Json::exception& e) {
    ARGOSY_THROW(invalid_argument)
        << "[paddle] this .json file is no Program of Paddle: " << e.what() << '.';
  }
}

}  // namespace argosy::infer::paddle

#include <cmath>
#include <cstdio>
#include <span>

#include "argosy/base/json.h"
#include "argosy/infer/paddle/written.h"

// Programs as `.json` files have them (PIR; read_pir.cc reads them).
namespace argosy::infer::paddle {
namespace {

std::string json_string(std::string_view text) {
  return json_text(Json(text));
}

std::string typed(const char* kind, const std::string& data) {
  return std::string(R"({"#":")") + kind + R"(","D":)" + data + "}";
}

// JSON has no infinities: those are texts in another field.
std::string real(const char* kind, double v, int digits) {
  if (!std::isfinite(v))
    return std::string(R"({"#":")") + kind + R"(","VD":")" +
           (std::isnan(v) ? "NaN"
            : v > 0       ? "INF"
                          : "-INF") +
           "\"}";
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, v);
  std::string number(text);
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  return typed(kind, number);
}

template <class List, class Print>
std::string array(const List& list, Print print) {
  std::string s = "[";
  for (const auto& v : list) s += (s.size() > 1 ? "," : "") + print(v);
  return s + "]";
}

std::string integers_of(const char* kind, std::span<const int64_t> v) {
  return typed("0.a_array", array(v, [&](int64_t i) { return typed(kind, std::to_string(i)); }));
}

const char* type_of(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return "0.t_bool";
    case DType::uint8:
      return "0.t_ui8";
    case DType::int8:
      return "0.t_i8";
    case DType::int16:
      return "0.t_i16";
    case DType::int32:
      return "0.t_i32";
    case DType::int64:
      return "0.t_i64";
    case DType::float16:
      return "0.t_f16";
    case DType::bfloat16:
      return "0.t_bf16";
    case DType::float32:
      return "0.t_f32";
    case DType::float64:
      return "0.t_f64";
    case DType::complex64:
      return "0.t_c64";
    case DType::complex128:
      return "0.t_c128";
    default:
      ARGOSY_THROW(not_implemented)
          << "[paddle] values of " << dtype << " are not written to models of Paddle.";
  }
}

template <class List>
std::string list_of_sizes(const List& sizes) {
  return array(sizes, [](int64_t s) { return std::to_string(s); });
}

std::string type_of(const Written& w) {
  if (w.is_list)
    return typed("0.t_vec", array(w.parts, [](const Written& part) { return type_of(part); }));
  return std::string(R"({"#":"0.t_dtensor","D":[{"#":")") + type_of(w.dtype) + "\"}," +
         list_of_sizes(w.shape) + R"(,"NCHW",[],0]})";
}

std::string result_of(const Written& w) {
  return "{\"%\":" + std::to_string(w.id) + ",\"TT\":" + type_of(w) + "}";
}

std::string operands_of(const std::vector<Written>& in) {
  return array(in, [](const Written& w) { return "{\"%\":" + std::to_string(w.id) + "}"; });
}

std::string value_of(const Set& s) {
  auto number = [&] { return std::to_string(std::get<int64_t>(s.value)); };
  auto numbers = [&]() -> const std::vector<int64_t>& {
    return std::get<std::vector<int64_t>>(s.value);
  };
  switch (s.type) {
    case Set::Type::i32:
      return typed("0.a_i32", number());
    case Set::Type::i64:
      return typed("0.a_i64", number());
    case Set::Type::f32:
      return real("0.a_f32", std::get<double>(s.value), 9);
    case Set::Type::f64:
      return real("0.a_f64", std::get<double>(s.value), 17);
    case Set::Type::boolean:
      return typed("0.a_bool", std::get<int64_t>(s.value) ? "true" : "false");
    case Set::Type::text:
      return typed("0.a_str", json_string(std::get<std::string>(s.value)));
    case Set::Type::i32s:
      return integers_of("0.a_i32", numbers());
    case Set::Type::i64s:
      return integers_of("0.a_i64", numbers());
    case Set::Type::f64s:
      return typed("0.a_array", array(std::get<std::vector<double>>(s.value),
                                      [](double d) { return real("0.a_f64", d, 17); }));
    case Set::Type::sizes:
      return typed("1.a_intarray", list_of_sizes(numbers()));
    case Set::Type::dtype: {
      const auto& dtype = std::get<std::optional<DType>>(s.value);
      return typed("1.a_dtype", dtype ? json_string(name_of(*dtype)) : "\"Undefined(ALL_DTYPE)\"");
    }
    case Set::Type::place:
      return typed("1.a_place", std::get<int64_t>(s.value) ? "[1,0,\"\"]" : "[0,0,\"\"]");
  }
  return {};
}

// No gradient flows through what was written.
std::string stop_gradient(size_t results) {
  const std::vector<int> all(results);
  return R"({"AT":)" +
         typed("0.a_array", array(all, [](int) { return typed("0.a_bool", "true"); })) +
         R"(,"N":"stop_gradient"})";
}

// "relu" is an op of the dialect 1; a name with a point says its own.
std::string full_name(const std::string& op) {
  return op.find('.') == std::string::npos ? "1." + op : op;
}

std::string block_of(int number, const std::string& arguments, const std::string& code) {
  const std::string n = std::to_string(number);
  return R"({"#":"region_)" + n + R"(","blocks":[{"#":"block_)" + n + R"(","args":)" + arguments +
         ",\"ops\":[" + code + "]}]}";
}

// A parameter is written shorter than other operations; the numbers are is_distributed,
// is_parameter, need_clip, and persistable, stop_gradient, trainable.
std::string parameter_of(const std::string& name, const Written& w) {
  return R"({"#":"p","A":[0,1,1,)" + json_string(name) + R"(],"DA":[],"O":)" + result_of(w) +
         R"(,"OA":[1,1,0],"QA":[]})";
}

// Regions have numbers in the order in which they begin.
class Printer {
 public:
  std::string document(const Document& d) {
    std::string code;
    for (const auto& [name, w] : d.parameters) add(&code, parameter_of(name, w));
    for (const std::vector<Node>* nodes : {&d.constants, &d.main.nodes})
      for (const Node& n : *nodes) add(&code, node(n));
    return R"({"base_code":{"magic":"pir","trainable":false,"version":4},"program":{"regions":[)" +
           block_of(0, "[]", code) + "]}}";
  }

 private:
  static void add(std::string* list, const std::string& item) {
    if (!list->empty()) *list += ',';
    *list += item;
  }

  std::string region(const Region& r) {
    const int number = ++regions_;
    std::string code;
    for (const Node& n : r.nodes) add(&code, node(n));
    add(&code, node({"2.yield", r.yields, {}, {}}));
    const std::string arguments = array(r.arguments, [](const Written& w) {
      return "{\"#\":" + std::to_string(w.id) + ",\"TT\":" + type_of(w) + "}";
    });
    return block_of(number, arguments, code);
  }

  std::string node(const Node& n) {
    std::string regions;
    for (const Region& r : n.regions) add(&regions, region(r));
    return "{\"#\":" + json_string(full_name(n.op)) + ",\"A\":" + json_of(n.sets) +
           ",\"I\":" + operands_of(n.in) + ",\"O\":" + array(n.out, &result_of) + ",\"OA\":[" +
           (n.out.empty() ? "" : stop_gradient(n.out.size())) + "]" +
           (regions.empty() ? "" : ",\"regions\":[" + regions + "]") + "}";
  }

  int regions_ = 0;
};

}  // namespace

std::string json_of(const Sets& sets) {
  return array(sets, [](const Set& s) {
    return "{\"AT\":" + value_of(s) + ",\"N\":" + json_string(s.name) + "}";
  });
}

std::string pir_of(const Document& document) {
  return Printer().document(document);
}

}  // namespace argosy::infer::paddle

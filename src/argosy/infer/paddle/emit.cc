#include "argosy/infer/paddle/emit.h"

#include <cmath>
#include <cstdio>
#include <unordered_map>
#include <utility>

#include "argosy/base/json.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/program/attributes.h"

namespace argosy::infer::paddle {

using program::Operation;
using program::Value;

namespace {

// --- JSON ---

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

std::string list_of_sizes(const Shape& shape) {
  return array(shape, [](int64_t s) { return std::to_string(s); });
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

std::string attributes_of(const Sets& sets) {
  return array(sets, [](const Set& s) {
    return "{\"AT\":" + s.json + ",\"N\":" + json_string(s.name) + "}";
  });
}

// No gradient flows through what was written.
std::string stop_gradient(size_t results) {
  const std::vector<int> all(results);
  return R"({"AT":)" +
         typed("0.a_array", array(all, [](int) { return typed("0.a_bool", "true"); })) +
         R"(,"N":"stop_gradient"})";
}

std::string operation_of(std::string_view op, const std::vector<Written>& in, const Sets& sets,
                         const std::string& results, size_t count,
                         const std::string& regions = "") {
  return "{\"#\":" + json_string(op) + ",\"A\":" + attributes_of(sets) +
         ",\"I\":" + operands_of(in) + ",\"O\":" + results + ",\"OA\":[" +
         (count ? stop_gradient(count) : "") + "]" +
         (regions.empty() ? "" : ",\"regions\":[" + regions + "]") + "}";
}

// "relu" is an op of the dialect 1; a name with a point says its own.
std::string full_name(std::string_view op) {
  return op.find('.') == std::string_view::npos ? "1." + std::string(op) : std::string(op);
}

// --- rows ---

const WriteRow* find_row(std::string_view op) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const WriteRow*> map;
    for (auto family : {write_math_rows, write_shape_rows, write_nn_rows, write_window_rows})
      for (const WriteRow& row : family()) map.emplace(row.op, &row);
    return map;
  }();
  auto it = rows.find(op);
  return it == rows.end() ? nullptr : it->second;
}

const SameRow* find_same(std::string_view op) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const SameRow*> map;
    for (const SameRow& row : write_same_rows()) map.emplace(row.op, &row);
    return map;
  }();
  auto it = rows.find(op);
  return it == rows.end() ? nullptr : it->second;
}

// One word of SameRow::attributes.
Set set_of(const Emit& e, std::string_view word) {
  const size_t colon = word.find(':'), equals = word.find('=');
  const std::string theirs(word.substr(0, colon));
  const std::string_view kind = word.substr(colon + 1, equals - colon - 1);
  const std::string own(equals == std::string_view::npos ? theirs : word.substr(equals + 1));
  const char* ours = own.c_str();
  if (kind == "i32") return i32(theirs, e.integer(ours));
  if (kind == "i64") return i64(theirs, e.integer(ours));
  if (kind == "f32") return f32(theirs, e.real(ours));
  if (kind == "f64") return f64(theirs, e.real(ours));
  if (kind == "bool") return boolean(theirs, e.flag(ours));
  ARGOSY_CHECK(kind == "str", internal) << "no kind of attribute: " << std::string(word);
  return text(theirs, e.text(ours));
}

void write_same(Emit& e, const SameRow& row) {
  Sets sets;
  for (std::string_view rest = row.attributes; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    sets.push_back(set_of(e, rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  // Functions give floating results of integers, too.
  std::vector<Written> in;
  for (const auto& v : e.o.inputs()) {
    Written w = v ? e.to.value(v) : Written();
    if (v && is_floating(e.result().dtype) && !is_floating(v->dtype) && e.o.inputs().size() == 1)
      w = e.to.cast(w, e.result().dtype);
    in.push_back(std::move(w));
  }
  e.give(row.pir, in, sets);
}

}  // namespace

// --- attributes ---

Set i32(std::string name, int64_t v) {
  return {std::move(name), typed("0.a_i32", std::to_string(v))};
}
Set i64(std::string name, int64_t v) {
  return {std::move(name), typed("0.a_i64", std::to_string(v))};
}
Set f32(std::string name, double v) {
  return {std::move(name), real("0.a_f32", v, 9)};
}
Set f64(std::string name, double v) {
  return {std::move(name), real("0.a_f64", v, 17)};
}
Set boolean(std::string name, bool v) {
  return {std::move(name), typed("0.a_bool", v ? "true" : "false")};
}
Set text(std::string name, std::string_view v) {
  return {std::move(name), typed("0.a_str", json_string(v))};
}
Set i32s(std::string name, std::span<const int64_t> v) {
  return {std::move(name), integers_of("0.a_i32", v)};
}
Set i64s(std::string name, std::span<const int64_t> v) {
  return {std::move(name), integers_of("0.a_i64", v)};
}
Set f64s(std::string name, std::span<const double> v) {
  return {std::move(name),
          typed("0.a_array", array(v, [](double d) { return real("0.a_f64", d, 17); }))};
}
Set sizes(std::string name, const Shape& v) {
  return {std::move(name), typed("1.a_intarray", list_of_sizes(v))};
}
Set dtype(std::string name, DType v) {
  return {std::move(name), typed("1.a_dtype", json_string(name_of(v)))};
}
Set no_dtype(std::string name) {
  return {std::move(name), typed("1.a_dtype", "\"Undefined(ALL_DTYPE)\"")};
}
Set place(std::string name, bool cpu) {
  return {std::move(name), typed("1.a_place", cpu ? "[1,0,\"\"]" : "[0,0,\"\"]")};
}

bool can_write(const Operation& o) {
  return find_row(o.op->name) || find_same(o.op->name) || o.is_if() || o.is_while() ||
         (o.op->compose && o.op->writes.empty());
}

// --- values ---

Written Emitter::value(const Ref<Value>& v) {
  if (auto it = values_.find(v.get()); it != values_.end()) return it->second;
  // Constants that opening an op has added are the Program's too.
  for (const program::Constant& c : program_.constants)
    if (c.value == v) return values_[v.get()] = constant(c.tensor);
  for (const program::StateUse& s : program_.states)
    if (s.initial == v)
      return values_[v.get()] = parameter(s.state->name, program::read_state(*s.state, scope_));
  ARGOSY_THROW(internal) << "[paddle] %" << v->id << " is used before it is made.";
}

Written Emitter::parameter(std::string name, const Tensor& t) {
  if (name.empty()) name = "parameter";
  if (name.ends_with("__non_persistable")) name += "_";  // Paddle would not read it
  std::string unique = name;
  for (int i = 1; parameters_.contains(unique); ++i) unique = name + "_" + std::to_string(i);
  parameters_.emplace(unique, op::contiguous(t));
  const Written w{++last_id_, t.dtype(), t.shape()};
  if (!head_.empty()) head_ += ',';
  // A parameter is written shorter than other operations; the numbers are is_distributed,
  // is_parameter, need_clip, and persistable, stop_gradient, trainable.
  head_ += R"({"#":"p","A":[0,1,1,)" + json_string(unique) + R"(],"DA":[],"O":)" + result_of(w) +
           R"(,"OA":[1,1,0],"QA":[]})";
  return w;
}

Written Emitter::constant(const Tensor& t) {
  constexpr int64_t kExact = int64_t{1} << 53;  // Paddle's full takes a float64
  if (t.numel() == 1 && !is_complex(t.dtype())) {
    const op::Scalar v = program::number_in(t);
    if (v.kind != op::Scalar::Kind::integer || std::abs(v.i) <= kExact)
      return full(v, t.dtype(), t.shape());
  }
  return parameter("constant_" + std::to_string(last_id_ + 1), t);
}

Written Emitter::full(const op::Scalar& v, DType dtype_of, const Shape& shape) {
  const Sets sets{sizes("shape", shape), f64("value", v.real()), dtype("dtype", dtype_of),
                  place("place", true)};
  const std::string key = "full" + attributes_of(sets);
  if (auto it = heads_.find(key); it != heads_.end()) return it->second;
  std::string* inner = std::exchange(code_, &head_);
  const Written w = node("full", {}, sets, dtype_of, shape);
  code_ = inner;
  return heads_[key] = w;
}

Written Emitter::integers(std::span<const int64_t> v) {
  const Sets sets{i64s("value", v), dtype("dtype", DType::int64), place("place", true)};
  const std::string key = "integers" + attributes_of(sets);
  if (auto it = heads_.find(key); it != heads_.end()) return it->second;
  std::string* inner = std::exchange(code_, &head_);
  const Written w =
      node("full_int_array", {}, sets, DType::int64, Shape({static_cast<int64_t>(v.size())}));
  code_ = inner;
  return heads_[key] = w;
}

// --- operations ---

std::vector<Written> Emitter::nodes(std::string_view op, const std::vector<Written>& in,
                                    const Sets& sets, std::vector<Written> out) {
  for (Written& w : out) w.id = ++last_id_;
  line() += operation_of(full_name(op), in, sets, array(out, &result_of), out.size());
  return out;
}

Written Emitter::cast(const Written& x, DType to) {
  return x.dtype == to ? x : node("cast", {x}, {dtype("dtype", to)}, to, x.shape);
}

Written Emitter::reshape(const Written& x, std::span<const int64_t> to, const Shape& shape) {
  return reshape(x, integers(to), shape);
}

Written Emitter::transpose(const Written& x, std::span<const int64_t> perm) {
  Shape shape;
  for (const int64_t d : perm) shape.push_back(x.shape[static_cast<int>(d)]);
  return node("transpose", {x}, {i32s("perm", perm)}, x.dtype, shape);
}

Written Emitter::unsqueeze(const Written& x, int64_t axis) {
  Shape shape;
  for (int d = 0; d <= x.shape.rank(); ++d) {
    if (d == axis) shape.push_back(1);
    if (d < x.shape.rank()) shape.push_back(x.shape[d]);
  }
  return node("unsqueeze", {x, integers({axis})}, {}, x.dtype, shape);
}

Written Emitter::squeeze(const Written& x, int64_t axis) {
  Shape shape;
  for (int d = 0; d < x.shape.rank(); ++d)
    if (d != axis) shape.push_back(x.shape[d]);
  return node("squeeze", {x, integers({axis})}, {}, x.dtype, shape);
}

Written Emitter::scale(const Written& x, double factor, double bias) {
  return node("scale", {x, number(factor, DType::float32)},
              {f32("bias", bias), boolean("bias_after_scale", true)}, x.dtype, x.shape);
}

Written Emitter::sizes_of(const Written& x) {
  return node("shape64", {x}, {}, DType::int64, Shape({x.shape.rank()}));
}

Written Emitter::size_of(const Written& x, int d) {
  if (x.shape[d] >= 0) return full(op::Scalar(x.shape[d]), DType::int64, {});
  const int64_t axis[] = {0}, flag[] = {1};
  return node("slice", {sizes_of(x), integers({d}), integers({d + 1})},
              {i64s("axes", axis), i64s("infer_flags", flag), i64s("decrease_axis", axis)},
              DType::int64, {});
}

Written Emitter::vector_of(const std::vector<Written>& numbers) {
  return node("stack", {combine(numbers)}, {i32("axis", 0)}, DType::int64,
              Shape({static_cast<int64_t>(numbers.size())}));
}

std::vector<Written> Emitter::broadcast(const std::vector<Written>& list, const Shape& shape) {
  std::vector<Written> out = list;
  for (Written& w : out) w.shape = shape;
  return list_of("broadcast_tensors", {combine(list)}, {}, std::move(out));
}

// --- blocks ---

void Emitter::operation(const Operation& o) {
  if (o.is_if()) return write_if(o);
  if (o.is_while()) return write_while(o);
  Emit e(*this, o);
  if (const WriteRow* row = find_row(o.op->name)) return row->write(e);
  if (const SameRow* row = find_same(o.op->name)) return write_same(e, *row);
  open(o);
}

// An op without a counterpart, by the parts that it is composed of.
void Emitter::open(const Operation& o) {
  const OpenedOp& opened = opened_.emplace_back(open_op(program_, o));
  const program::Block& block = *opened.block;
  for (const auto& [inner, outer] : opened.arguments) give(inner, value(outer));
  for (const auto& part : block.operations) {
    ARGOSY_CHECK(can_write(*part), not_implemented)
        << "[paddle] " << part->op->name << ", a part of " << o.op->name
        << ", has no counterpart in Paddle.";
    operation(*part);
  }
  for (size_t i = 0; i < o.results.size() && i < block.yields.size(); ++i)
    if (block.yields[i]) give(o.results[i], value(block.yields[i]));
}

void Emitter::operations(const program::Block& block) {
  for (const auto& o : block.operations) operation(*o);
}

std::string Emitter::region(const std::vector<Written>& arguments,
                            const std::function<std::vector<Written>()>& write) {
  const std::string number = std::to_string(regions_++);
  std::string code;
  std::string* outer = std::exchange(code_, &code);
  const std::vector<Written> yields = write();
  line() += operation_of("2.yield", yields, {}, "[]", 0);
  code_ = outer;
  const std::string args = array(arguments, [](const Written& w) {
    return "{\"#\":" + std::to_string(w.id) + ",\"TT\":" + type_of(w) + "}";
  });
  return R"({"#":"region_)" + number + R"(","blocks":[{"#":"block_)" + number + R"(","args":)" +
         args + ",\"ops\":[" + code + "]}]}";
}

void Emitter::give_results(const char* op, const Operation& o, const std::vector<Written>& in,
                           const std::string& regions) {
  std::vector<Written> out;
  for (const Ref<Value>& v : o.results) {
    out.push_back({++last_id_, v->dtype, v->shape});
    give(v, out.back());
  }
  line() += operation_of(op, in, {}, array(out, &result_of), out.size(), regions);
}

void Emitter::write_if(const Operation& o) {
  const auto inputs = o.inputs();
  const Written condition = value(inputs[0]);
  std::string regions;
  for (const auto& b : o.blocks) {
    for (size_t i = 0; i < b->arguments.size(); ++i) give(b->arguments[i], value(inputs[i + 1]));
    regions += (regions.empty() ? "" : ",") + region({}, [&] {
                 operations(*b);
                 std::vector<Written> yields;
                 for (const Ref<Value>& v : b->yields) yields.push_back(value(v));
                 return yields;
               });
  }
  give_results("1.if", o, {condition}, regions);
}

// Paddle's loop carries its condition; ours has a block that makes it, which is written before the
// loop and at the end of its body.
void Emitter::write_while(const Operation& o) {
  const program::Block &condition = *o.blocks[0], &body = *o.blocks[1];
  const auto inputs = o.inputs();
  auto bind = [&](const program::Block& b, const std::vector<Written>& values) {
    for (size_t i = 0; i < b.arguments.size(); ++i)
      give(b.arguments[i], i < values.size() ? values[i] : value(inputs[i]));
  };
  auto proceed = [&](const std::vector<Written>& values) {
    bind(condition, values);
    operations(condition);
    std::vector<Written> all{value(condition.yields[0])};
    all.insert(all.end(), values.begin(), values.end());
    return all;
  };
  std::vector<Written> first, arguments;
  for (size_t i = 0; i < o.results.size(); ++i) {
    ARGOSY_CHECK(inputs[i]->layout == Layout::strided, not_implemented)
        << "[paddle] a loop that carries arrays of tensors is not written to models of Paddle.";
    first.push_back(value(inputs[i]));
    const Value& v = *body.arguments[i];
    arguments.push_back({--last_argument_, v.dtype, v.shape});
  }
  const std::vector<Written> in = proceed(first);
  const std::string turn = region(arguments, [&] {
    bind(body, arguments);
    operations(body);
    std::vector<Written> next;
    for (const Ref<Value>& v : body.yields) next.push_back(value(v));
    return proceed(next);
  });
  give_results("1.while", o, in, turn);
}

// --- the whole ---

void Emitter::add_input(const Value& v, size_t i) {
  const std::string name = v.name.empty() ? "input_" + std::to_string(i) : v.name;
  values_[&v] = node(
      "data", {},
      {text("name", name), sizes("shape", v.shape), dtype("dtype", v.dtype), place("place", false)},
      v.dtype, v.shape);
}

void Emitter::add_output(const program::Output& output, size_t i) {
  const Written w = value(output.value);
  Written fetched{++last_id_, w.dtype, w.shape};
  const Sets sets{text("name", output.name), i32("col", static_cast<int64_t>(i))};
  line() += operation_of("1.fetch", {w}, sets, array(std::vector{fetched}, &result_of), 1);
}

std::string Emitter::write() {
  for (size_t i = 0; i < program_.main.arguments.size(); ++i)
    add_input(*program_.main.arguments[i], i);
  operations(program_.main);
  for (size_t i = 0; i < program_.outputs.size(); ++i) add_output(program_.outputs[i], i);
  // Paddle loads no model without parameters.
  if (parameters_.empty()) parameter("unused", ops::constant(op::Scalar(0.0), DType::float32));
  return R"({"base_code":{"magic":"pir","trainable":false,"version":4},"program":{"regions":[{"#":)"
         R"("region_0","blocks":[{"#":"block_0","args":[],"ops":[)" +
         head_ + (head_.empty() || body_.empty() ? "" : ",") + body_ + "]}]}]}}";
}

// --- one operation ---

std::vector<Written> Emit::list(size_t i) const {
  std::vector<Written> all;
  for (const auto& v : values(i)) all.push_back(to.value(v));
  return all;
}

Written Emit::sizes(const char* name) {
  if (is_known(name)) return to.integers(known(name));
  std::vector<Written> parts;
  for (const Element& e : elements(name)) {
    if (const auto* number = std::get_if<int64_t>(&e)) {
      parts.push_back(to.full(op::Scalar(*number), DType::int64, {}));
      continue;
    }
    const Written w = to.cast(to.value(std::get<Ref<Value>>(e)), DType::int64);
    parts.push_back(w.shape.rank() == 0 ? w : to.reshape(w, std::span<const int64_t>(), {}));
  }
  return to.vector_of(parts);
}

void Emit::give(std::string_view op, const std::vector<Written>& in, const Sets& sets) {
  std::vector<Written> out;
  for (const Ref<Value>& v : o.results) out.push_back({0, v->dtype, v->shape});
  out = to.nodes(op, in, sets, std::move(out));
  for (size_t i = 0; i < out.size(); ++i) give(out[i], i);
}

}  // namespace argosy::infer::paddle

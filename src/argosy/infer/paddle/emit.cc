#include "argosy/infer/paddle/emit.h"

#include <cmath>
#include <unordered_map>
#include <utility>

#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/program/attributes.h"

namespace argosy::infer::paddle {

using program::Operation;
using program::Value;

namespace {

// --- rows ---

const WriteRow* find_row(std::string_view op) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const WriteRow*> map;
    for (auto family :
         {write_math_rows, write_shape_rows, write_nn_rows, write_window_rows, write_linear_rows})
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
    if (v && is_floating(e.result().dtype) && !is_floating(v->dtype) && !is_complex(v->dtype) &&
        e.o.inputs().size() == 1)
      w = e.to.cast(w, e.result().dtype);
    in.push_back(std::move(w));
  }
  e.give(row.pir, in, sets);
}

}  // namespace

// --- attributes ---

using Type = Set::Type;

Set i32(std::string name, int64_t v) {
  return {std::move(name), Type::i32, v};
}
Set i64(std::string name, int64_t v) {
  return {std::move(name), Type::i64, v};
}
Set f32(std::string name, double v) {
  return {std::move(name), Type::f32, v};
}
Set f64(std::string name, double v) {
  return {std::move(name), Type::f64, v};
}
Set boolean(std::string name, bool v) {
  return {std::move(name), Type::boolean, int64_t{v}};
}
Set text(std::string name, std::string_view v) {
  return {std::move(name), Type::text, std::string(v)};
}
Set i32s(std::string name, std::span<const int64_t> v) {
  return {std::move(name), Type::i32s, std::vector(v.begin(), v.end())};
}
Set i64s(std::string name, std::span<const int64_t> v) {
  return {std::move(name), Type::i64s, std::vector(v.begin(), v.end())};
}
Set f64s(std::string name, std::span<const double> v) {
  return {std::move(name), Type::f64s, std::vector(v.begin(), v.end())};
}
Set sizes(std::string name, const Shape& v) {
  return {std::move(name), Type::sizes, std::vector(v.begin(), v.end())};
}
Set dtype(std::string name, DType v) {
  return {std::move(name), Type::dtype, std::optional(v)};
}
Set no_dtype(std::string name) {
  return {std::move(name), Type::dtype, std::optional<DType>()};
}
Set place(std::string name, bool cpu) {
  return {std::move(name), Type::place, int64_t{cpu}};
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
  for (int i = 1; document_.tensors.contains(unique); ++i) unique = name + "_" + std::to_string(i);
  document_.tensors.emplace(unique, op::contiguous(t));
  document_.parameters.emplace_back(unique, Written{++last_id_, t.dtype(), t.shape()});
  return document_.parameters.back().second;
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

Written Emitter::constant_node(const char* op, Sets sets, DType dtype, const Shape& shape) {
  Written& w = constants_[op + json_of(sets)];
  if (w.id) return w;
  w = {++last_id_, dtype, shape};
  document_.constants.push_back({op, {}, std::move(sets), {w}});
  return w;
}

Written Emitter::full(const op::Scalar& v, DType dtype_of, const Shape& shape) {
  return constant_node("full",
                       {sizes("shape", shape), f64("value", v.real()), dtype("dtype", dtype_of),
                        place("place", true)},
                       dtype_of, shape);
}

Written Emitter::integers(std::span<const int64_t> v) {
  return constant_node("full_int_array",
                       {i64s("value", v), dtype("dtype", DType::int64), place("place", true)},
                       DType::int64, Shape({static_cast<int64_t>(v.size())}));
}

// --- operations ---

std::vector<Written> Emitter::nodes(std::string_view op, const std::vector<Written>& in,
                                    const Sets& sets, std::vector<Written> out) {
  for (Written& w : out) w.id = ++last_id_;
  code_->push_back({std::string(op), in, sets, out});
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

Region Emitter::region(std::vector<Written> arguments,
                       const std::function<std::vector<Written>()>& write) {
  Region made{std::move(arguments), {}, {}};
  std::vector<Node>* outer = std::exchange(code_, &made.nodes);
  made.yields = write();
  code_ = outer;
  return made;
}

void Emitter::give_results(const char* op, const Operation& o, std::vector<Written> in,
                           std::vector<Region> regions) {
  std::vector<Written> out;
  for (const Ref<Value>& v : o.results) {
    out.push_back({++last_id_, v->dtype, v->shape});
    give(v, out.back());
  }
  code_->push_back({op, std::move(in), {}, std::move(out), std::move(regions)});
}

void Emitter::write_if(const Operation& o) {
  const auto inputs = o.inputs();
  const Written condition = value(inputs[0]);
  std::vector<Region> regions;
  for (const auto& b : o.blocks) {
    for (size_t i = 0; i < b->arguments.size(); ++i) give(b->arguments[i], value(inputs[i + 1]));
    regions.push_back(region({}, [&] {
      operations(*b);
      std::vector<Written> yields;
      for (const Ref<Value>& v : b->yields) yields.push_back(value(v));
      return yields;
    }));
  }
  give_results("if", o, {condition}, std::move(regions));
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
  Region turn = region(arguments, [&] {
    bind(body, arguments);
    operations(body);
    std::vector<Written> next;
    for (const Ref<Value>& v : body.yields) next.push_back(value(v));
    return proceed(next);
  });
  give_results("while", o, in, {std::move(turn)});
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
  Written w = value(output.value);
  // Predictors of Paddle find a value by the name of one fetch.
  for (size_t k = 0; k < i; ++k)
    if (program_.outputs[k].value == output.value) w = node("assign", {w}, {}, w.dtype, w.shape);
  node("fetch", {w}, {text("name", output.name), i32("col", static_cast<int64_t>(i))}, w.dtype,
       w.shape);
}

Document Emitter::write() {
  for (size_t i = 0; i < program_.main.arguments.size(); ++i)
    add_input(*program_.main.arguments[i], i);
  operations(program_.main);
  for (size_t i = 0; i < program_.outputs.size(); ++i) add_output(program_.outputs[i], i);
  // Paddle loads no model without parameters.
  if (document_.parameters.empty())
    parameter("unused", ops::constant(op::Scalar(0.0), DType::float32));
  return std::move(document_);
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

#include "argosy/infer/onnx/emit.h"

#include <unordered_map>

#include "argosy/infer/onnx/types.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "onnx.pb.h"

namespace argosy::infer::onnx {
namespace {

const WriteRow* find_row(std::string_view op) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const WriteRow*> map;
    for (auto family : {write_math_rows, write_shape_rows, write_nn_rows, write_linear_rows})
      for (const WriteRow& row : family()) map.emplace(row.op, &row);
    return map;
  }();
  auto it = rows.find(op);
  return it == rows.end() ? nullptr : it->second;
}

void set_attributes(file::Node* node, Sets sets) {
  for (const Set& s : sets) {
    file::Attribute* a = node->add_attribute();
    a->set_name(s.name);
    if (const auto* i = std::get_if<int64_t>(&s.value)) {
      a->set_type(file::Attribute::INT);
      a->set_i(*i);
    } else if (const auto* f = std::get_if<double>(&s.value)) {
      a->set_type(file::Attribute::FLOAT);
      a->set_f(static_cast<float>(*f));
    } else if (const auto* t = std::get_if<std::string>(&s.value)) {
      a->set_type(file::Attribute::STRING);
      a->set_s(*t);
    } else if (const auto* list = std::get_if<std::vector<int64_t>>(&s.value)) {
      a->set_type(file::Attribute::INTS);
      for (int64_t v : *list) a->add_ints(v);
    } else {
      a->set_type(file::Attribute::FLOATS);
      for (double v : std::get<std::vector<double>>(s.value)) a->add_floats(static_cast<float>(v));
    }
  }
}

void describe(file::ValueInfo* info, const std::string& name, const Value& v,
              const std::vector<std::string>& axes) {
  info->set_name(name);
  auto* type = info->mutable_type()->mutable_tensor_type();
  type->set_elem_type(element_of_dtype(v.dtype));
  file::Sizes* sizes = type->mutable_shape();
  for (int d = 0; d < v.shape.rank(); ++d) {
    file::Dimension* size = sizes->add_dim();
    const auto i = static_cast<size_t>(d);
    if (v.shape[d] >= 0)
      size->set_dim_value(v.shape[d]);
    else
      size->set_dim_param(i < axes.size() && !axes[i].empty() ? axes[i]
                                                              : name + "_" + std::to_string(d));
  }
}

}  // namespace

bool can_write(const Operation& o) {
  return find_row(o.op->name) || o.is_if() || o.is_while() ||
         (o.op->compose && o.op->writes.empty());
}

Emitter::Emitter(program::Program& program, file::Model& model, int64_t opset)
    : program_(program), model_(model), graph_(model.mutable_graph()), opset_(opset) {}

// --- names ---

std::string Emitter::name(const Ref<Value>& v) {
  if (auto it = names_.find(v.get()); it != names_.end()) return it->second;
  // Constants that opening an op has added are the Program's too.
  for (const program::Constant& c : program_.constants)
    if (c.value == v) return names_[v.get()] = constant(c.tensor);
  for (const program::StateUse& s : program_.states)
    if (s.initial == v) {
      ARGOSY_CHECK(s.state->tensor.defined(), invalid_argument)
          << "[onnx.export] state '" << s.state->name << "' has no value.";
      const std::string known = s.state->name;
      file::Tensor* t = model_.mutable_graph()->add_initializer();
      write_tensor(s.state->tensor, known, t);
      return names_[v.get()] = known;
    }
  ARGOSY_THROW(internal) << "[onnx.export] %" << v->id << " is used before it is made.";
}

std::string Emitter::constant(const Tensor& t) {
  const std::string made = fresh();
  write_tensor(t, made, model_.mutable_graph()->add_initializer());
  return made;
}

std::string Emitter::integers(std::span<const int64_t> v) {
  Tensor t = Tensor::empty({static_cast<int64_t>(v.size())}, DType::int64);
  std::copy(v.begin(), v.end(), t.data<int64_t>());
  return constant(t);
}

std::string Emitter::number(double v, DType dtype) {
  const bool whole = is_integral(dtype);
  return constant(
      ops::constant(whole ? op::Scalar(static_cast<int64_t>(v)) : op::Scalar(v), dtype));
}

std::string Emitter::cast(const std::string& x, DType to) {
  return node("Cast", {x}, {{"to", element_of_dtype(to)}});
}

// --- nodes ---

std::vector<std::string> Emitter::nodes(const char* op, const std::vector<std::string>& in,
                                        size_t outputs, Sets sets) {
  file::Node* node = graph_->add_node();
  node->set_op_type(op);
  size_t count = in.size();
  while (count && in[count - 1].empty()) --count;
  for (size_t i = 0; i < count; ++i) node->add_input(in[i]);
  std::vector<std::string> out;
  for (size_t i = 0; i < outputs; ++i) {
    out.push_back(fresh());
    node->add_output(out.back());
  }
  node->set_name(std::string(op) + "_" + out[0]);
  set_attributes(node, sets);
  return out;
}

// --- operations ---

void Emitter::block(const program::Block& block) {
  for (const auto& o : block.operations) operation(*o);
}

void Emitter::operation(const Operation& o) {
  if (o.is_if()) return write_if(o);
  if (o.is_while()) return write_while(o);
  if (const WriteRow* row = find_row(o.op->name)) {
    Emit e(*this, o);
    return row->write(e);
  }
  open(o);
}

// An op without a counterpart, by the parts that it is composed of.
void Emitter::open(const Operation& o) {
  ARGOSY_CHECK(o.op->compose, not_implemented)
      << "[onnx.export] " << o.op->name << " has no counterpart in ONNX.";
  const OpenedOp& opened = opened_.emplace_back(open_op(program_, o));
  const program::Block& block = *opened.block;
  for (const auto& [inner, outer] : opened.arguments) give(inner, name(outer));
  for (const auto& part : block.operations) {
    ARGOSY_CHECK(can_write(*part), not_implemented)
        << "[onnx.export] " << part->op->name << ", a part of " << o.op->name
        << ", has no counterpart in ONNX.";
    operation(*part);
  }
  for (size_t i = 0; i < o.results.size() && i < block.yields.size(); ++i)
    if (block.yields[i]) give(o.results[i], name(block.yields[i]));
}

// --- control flow ---

// The block as a graph of a node: its arguments have names already, its yields become outputs.
void Emitter::add_graph(file::Node* node, const char* attribute, const program::Block& b) {
  file::Attribute* a = node->add_attribute();
  a->set_name(attribute);
  a->set_type(file::Attribute::GRAPH);
  file::Graph* outer = graph_;
  graph_ = a->mutable_g();
  graph_->set_name(fresh());
  block(b);
  for (const Ref<Value>& v : b.yields) {
    const std::string out = this->node("Identity", {name(v)});
    describe(graph_->add_output(), out, *v, {});
  }
  graph_ = outer;
}

void Emitter::write_if(const Operation& o) {
  const auto inputs = o.inputs();
  const std::string pred = name(inputs[0]);
  for (const auto& b : o.blocks)
    for (size_t i = 0; i < b->arguments.size(); ++i) give(b->arguments[i], name(inputs[i + 1]));
  // Initializers of inner blocks are the main graph's, so the node is written after them.
  file::Node node;
  node.set_op_type("If");
  node.add_input(pred);
  add_graph(&node, "then_branch", *o.blocks[0]);
  add_graph(&node, "else_branch", *o.blocks[1]);
  for (const Ref<Value>& v : o.results) {
    const std::string made = fresh();
    give(v, made);
    node.add_output(made);
  }
  node.set_name("If_" + node.output(0));
  *graph_->add_node() = node;
}

void Emitter::write_while(const Operation& o) {
  const program::Block &condition = *o.blocks[0], &body = *o.blocks[1];
  const auto inputs = o.inputs();
  const size_t carried = o.results.size();
  // What both blocks take beyond the carried values does not change.
  auto bind = [&](const program::Block& b, const std::vector<std::string>& values) {
    for (size_t i = 0; i < b.arguments.size(); ++i)
      give(b.arguments[i], i < values.size() ? values[i] : name(inputs[i]));
  };
  std::vector<std::string> init;
  for (size_t i = 0; i < carried; ++i) {
    ARGOSY_CHECK(inputs[i]->layout == Layout::strided, not_implemented)
        << "[onnx.export] a loop that carries arrays of tensors has no counterpart in ONNX.";
    init.push_back(name(inputs[i]));
  }
  bind(condition, init);
  block(condition);
  const std::string first = name(condition.yields[0]);

  file::Node loop;
  loop.set_op_type("Loop");
  loop.add_input("");
  loop.add_input(first);
  for (const std::string& x : init) loop.add_input(x);
  file::Attribute* a = loop.add_attribute();
  a->set_name("body");
  a->set_type(file::Attribute::GRAPH);
  file::Graph* outer = graph_;
  graph_ = a->mutable_g();
  graph_->set_name(fresh());
  std::vector<std::string> arguments;
  {
    const std::string round = fresh(), proceed = fresh();
    file::ValueInfo* info = graph_->add_input();
    info->set_name(round);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(kInt64);
    info->mutable_type()->mutable_tensor_type()->mutable_shape();
    info = graph_->add_input();
    info->set_name(proceed);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(kBool);
    info->mutable_type()->mutable_tensor_type()->mutable_shape();
  }
  for (size_t i = 0; i < carried; ++i) {
    arguments.push_back(fresh());
    describe(graph_->add_input(), arguments.back(), *body.arguments[i], {});
  }
  bind(body, arguments);
  block(body);
  std::vector<std::string> next;
  for (size_t i = 0; i < carried; ++i) next.push_back(node("Identity", {name(body.yields[i])}));
  bind(condition, next);
  block(condition);
  describe(graph_->add_output(), node("Identity", {name(condition.yields[0])}),
           *condition.yields[0], {});
  for (size_t i = 0; i < carried; ++i) describe(graph_->add_output(), next[i], *body.yields[i], {});
  graph_ = outer;
  for (const Ref<Value>& v : o.results) {
    const std::string made = fresh();
    give(v, made);
    loop.add_output(made);
  }
  loop.set_name("Loop_" + loop.output(0));
  *graph_->add_node() = loop;
}

// --- the whole ---

void Emitter::write_inputs(const OnnxExport& options) {
  for (size_t i = 0; i < program_.main.arguments.size(); ++i) {
    const Ref<Value>& v = program_.main.arguments[i];
    const std::string known = v->name.empty() ? "input_" + std::to_string(i) : v->name;
    give(v, known);
    describe(graph_->add_input(), known, *v,
             i < options.axes.size() ? options.axes[i] : std::vector<std::string>());
  }
}

void Emitter::write_outputs() {
  for (const program::Output& output : program_.outputs) {
    file::Node* node = graph_->add_node();
    node->set_op_type("Identity");
    node->add_input(name(output.value));
    node->add_output(output.name);
    describe(graph_->add_output(), output.name, *output.value, {});
  }
}

void Emitter::write(const OnnxExport& options) {
  graph_->set_name(options.name);
  write_inputs(options);
  block(program_.main);
  write_outputs();
}

// --- one operation ---

std::vector<std::string> Emit::list(size_t i) const {
  std::vector<std::string> names;
  for (const Ref<Value>& v : values(i)) names.push_back(to.name(v));
  return names;
}

std::string Emit::sizes(const char* name) const {
  if (is_known(name)) return to.integers(known(name));
  std::vector<std::string> parts;
  for (const Element& e : elements(name)) {
    if (const auto* number = std::get_if<int64_t>(&e)) {
      parts.push_back(to.integers({*number}));
      continue;
    }
    const auto& v = std::get<Ref<Value>>(e);
    const std::string whole =
        v->dtype == DType::int64 ? to.name(v) : to.cast(to.name(v), DType::int64);
    parts.push_back(to.node("Reshape", {whole, to.integers({1})}));
  }
  return parts.size() == 1 ? parts[0] : to.node("Concat", parts, {{"axis", 0}});
}

std::string Emit::reduce(const char* op, const std::string& x, const std::vector<int64_t>& axes,
                         bool keep) {
  const bool input = to.opset() >= 18 || std::string_view(op) == "ReduceSum";
  if (axes.empty()) return x;
  if (input) return node(op, {x, to.integers(axes)}, {{"keepdims", keep}});
  return node(op, {x}, {{"axes", axes}, {"keepdims", keep}});
}

std::string Emit::size(size_t i, int d) {
  if (shape(i)[d] >= 0) return to.integers({shape(i)[d]});
  return node("Gather", {node("Shape", {in(i)}), to.integers({d})});
}

}  // namespace argosy::infer::onnx

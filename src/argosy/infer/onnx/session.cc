#include "argosy/infer/onnx/session.h"

#include <set>

#include "argosy/infer/deciders.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/manip/manip.h"
#include "onnx.pb.h"

namespace argosy::infer::onnx {
namespace {

constexpr int kMaxDepth = 64;          // of graphs and functions in one another
constexpr int kMaxNodes = 1 << 20;     // that are converted: functions that call others twice each
constexpr int64_t kMaxNumbers = 4096;  // a vector of sizes is never longer

std::string domain_of(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

const file::Function* find_function(const file::Model& model, const file::Node& n) {
  for (const file::Function& f : model.functions())
    if (f.name() == n.op_type() && domain_of(f.domain()) == domain_of(n.domain()) &&
        f.overload() == n.overload())
      return &f;
  return nullptr;
}

template <class Nodes>
void collect_unknown(const file::Model& model, const Nodes& nodes, std::set<std::string>* found) {
  for (const file::Node& n : nodes) {
    if (!find_row(n.domain(), n.op_type()) && !find_function(model, n))
      found->insert((n.domain().empty() ? "" : n.domain() + ".") + n.op_type());
    for (const file::Attribute& a : n.attribute())
      if (a.has_g()) collect_unknown(model, a.g().node(), found);
  }
}

}  // namespace

void check_operators(const file::Model& model) {
  std::set<std::string> unknown;
  collect_unknown(model, model.graph().node(), &unknown);
  for (const file::Function& f : model.functions()) collect_unknown(model, f.node(), &unknown);
  if (unknown.empty()) return;
  std::string list;
  for (const std::string& name : unknown) list += (list.empty() ? "" : ", ") + name;
  ARGOSY_THROW(not_implemented) << "[onnx] the model has operators that are not supported: " << list
                                << '.';
}

namespace {

// Products, and convolutions, which are products of windows.
bool is_product(const file::Node& n) {
  return n.op_type() == "MatMul" || n.op_type() == "Gemm" || n.op_type() == "Conv";
}

}  // namespace

Session::Session(const file::Model& model, const TensorReader& reader)
    : model_(model), reader_(reader), program_(program::Program::make()) {
  for (const file::Opset& o : model.opset_import()) opsets_[domain_of(o.domain())] = o.version();
  for (const file::Node& n : model.graph().node())
    if (n.input_size() > 1 && is_product(n)) multiplied_.insert(n.input(1));
}

int64_t Session::opset(const std::string& domain) const {
  auto it = opsets_.find(domain_of(domain));
  return it == opsets_.end() ? 1 : it->second;
}

// --- inputs ---

Item Session::input(const OnnxPort& port, const OnnxGiven* given) {
  ports_.push_back(port);
  const bool optional = port.kind == OnnxPort::Kind::optional_tensor ||
                        port.kind == OnnxPort::Kind::optional_sequence;
  const bool sequence =
      port.kind == OnnxPort::Kind::sequence || port.kind == OnnxPort::Kind::optional_sequence;
  if (given && given->missing) return {};
  if ((sequence || optional || !port.ranked) && !given) throw NeedsMore{{{port.name, false}}};
  auto value = [&](const std::string& name, const Shape& shape, DType dtype) {
    Tensor t = builder().input(name, shape, dtype);
    return t;
  };
  if (sequence) {
    std::vector<Tensor> elements;
    for (size_t i = 0; i < given->tensors.size(); ++i) {
      const Tensor& t = given->tensors[i];
      elements.push_back(
          t.has_data() ? t : value(port.name + "." + std::to_string(i), t.shape(), t.dtype()));
    }
    return Item::sequence(std::move(elements));
  }
  if (!given) return {value(port.name, port.shape, port.dtype), port.element};
  ARGOSY_CHECK(given->tensors.size() == 1, invalid_argument)
      << "[onnx] input '" << port.name << "' is one tensor, given are " << given->tensors.size()
      << '.';
  const Tensor& t = given->tensors[0];
  ARGOSY_CHECK(t.dtype() == port.dtype, type)
      << "[onnx] input '" << port.name << "' is " << port.dtype << ", given is " << t << '.';
  const Tensor fed =
      value(port.name, t.shape(), t.dtype());  // an input even where a value is fixed
  return {t.has_data() ? t : fed, port.element};
}

// --- names ---

const Item& Session::look_up(const std::string& name) const {
  for (size_t i = scopes_.size(); i-- > visible_;)
    if (auto it = scopes_[i].find(name); it != scopes_[i].end()) return it->second;
  ARGOSY_THROW(invalid_argument) << "[onnx] '" << name
                                 << "' is used in the model before it is made.";
}

void Session::define(const file::Graph& graph, const Items& in) {
  auto& scope = scopes_.back();
  for (const file::Tensor& t : graph.initializer()) {
    const Tensor value = reader_.read(t);
    value.impl()->name = std::make_unique<std::string>(t.name());
    scope[t.name()] = Item(value, t.data_type());
  }
  for (const file::SparseTensor& t : graph.sparse_initializer())
    scope[t.values().name()] = reader_.read(t);
  ARGOSY_CHECK(static_cast<size_t>(graph.input_size()) >= in.size(), invalid_argument)
      << "[onnx] graph '" << graph.name() << "' has " << graph.input_size() << " inputs, got "
      << in.size() << '.';
  for (size_t i = 0; i < in.size(); ++i) {
    const std::string& name = graph.input(static_cast<int>(i)).name();
    if (in[i].kind != Item::Kind::missing || !scope.contains(name)) scope[name] = in[i];
  }
}

Items Session::run(const file::Graph& graph, const Items& in) {
  ARGOSY_CHECK(++depth_ <= kMaxDepth, invalid_argument)
      << "[onnx] graphs and functions are nested more than " << kMaxDepth << " deep.";
  scopes_.emplace_back();
  define(graph, in);
  for (const file::Node& n : graph.node()) run_node(n);
  Items out;
  for (const file::ValueInfo& v : graph.output()) out.push_back(look_up(v.name()));
  scopes_.pop_back();
  --depth_;
  return out;
}

void Session::run_node(const file::Node& proto) {
  ARGOSY_CHECK(++nodes_ <= kMaxNodes, invalid_argument)
      << "[onnx] the functions and loops of the model are more than " << kMaxNodes
      << " nodes when they are written out.";
  Items in;
  for (const std::string& name : proto.input()) in.push_back(name.empty() ? Item() : look_up(name));
  Items out = convert(proto, std::move(in));
  ARGOSY_CHECK(out.size() >= static_cast<size_t>(proto.output_size()), not_implemented)
      << "[onnx] " << proto.op_type() << " '" << proto.name() << "' has " << proto.output_size()
      << " outputs; " << out.size() << " are supported.";
  for (int i = 0; i < proto.output_size(); ++i)
    if (!proto.output(i).empty()) scopes_.back()[proto.output(i)] = out[static_cast<size_t>(i)];
}

Items Session::convert(const file::Node& proto, Items in) {
  if (const file::Function* f = find_function(model_, proto)) return call_function(*f, proto, in);
  const Row* row = find_row(proto.domain(), proto.op_type());
  ARGOSY_INVARIANT(row);
  const Node n(*this, proto, opset(proto.domain()), std::move(in));
  try {
    Items out = row->convert(n);
    n.check_attributes_read();
    return out;
  } catch (const Error& e) {
    const std::string text = e.what();
    if (text.starts_with("[onnx]")) throw;
    throw Error(e.kind(), n.where() + ": " + text);
  }
}

// --- functions of the model ---

const file::Attribute* Session::function_attribute(const std::string& name) const {
  std::string wanted = name;
  for (const Call* call = call_; call; call = call->outer) {
    const file::Attribute* found = nullptr;
    for (const file::Attribute& a : call->node->attribute())
      if (a.name() == wanted) found = &a;
    if (!found)
      for (const file::Attribute& a : call->function->attribute_proto())
        if (a.name() == wanted) return &a;
    if (!found) return nullptr;
    if (found->ref_attr_name().empty()) return found;
    wanted = found->ref_attr_name();
  }
  return nullptr;
}

Items Session::call_function(const file::Function& f, const file::Node& proto, const Items& in) {
  ARGOSY_CHECK(++depth_ <= kMaxDepth, invalid_argument)
      << "[onnx] function '" << f.name() << "' calls itself, or functions are nested more than "
      << kMaxDepth << " deep.";
  const Call call{&proto, &f, call_};
  auto opsets = opsets_;
  for (const file::Opset& o : f.opset_import()) opsets[domain_of(o.domain())] = o.version();
  opsets.swap(opsets_);
  const size_t visible = visible_;
  visible_ = scopes_.size();
  call_ = &call;
  scopes_.emplace_back();
  for (int i = 0; i < f.input_size(); ++i)
    scopes_.back()[f.input(i)] =
        static_cast<size_t>(i) < in.size() ? in[static_cast<size_t>(i)] : Item();
  for (const file::Node& n : f.node()) run_node(n);
  Items out;
  for (const std::string& name : f.output()) out.push_back(look_up(name));
  scopes_.pop_back();
  call_ = call.outer;
  visible_ = visible;
  opsets.swap(opsets_);
  --depth_;
  return out;
}

// --- numbers ---

void Session::remember(const Tensor& t, op::IntArray numbers) {
  if (t.symbolic()) numbers_[t.impl()] = {t, std::move(numbers)};
}

op::IntArray Session::integers(const Tensor& t) const {
  if (auto it = numbers_.find(t.impl()); it != numbers_.end()) return it->second.second;
  op::IntArray list;
  ARGOSY_CHECK(t.rank() <= 1 && (t.numel() >= 0 || t.symbolic()) && t.numel() <= kMaxNumbers,
               invalid_argument)
      << "[onnx] a short vector of integers is expected, got " << t << '.';
  if (!t.symbolic()) {
    const Tensor wide = op::contiguous(call("cast", {t}, {{"dtype", DType::int64}}));
    for (int64_t i = 0; i < wide.numel(); ++i) list.values.push_back(wide.data<int64_t>()[i]);
    return list;
  }
  if (const Tensor known = program::known(t); known.defined()) return integers(known);
  if (t.numel() < 0) {
    NeedsMore more;
    ask_for(t, true, &more);
    throw more;
  }
  const Tensor wide = t.dtype() == DType::int64 ? t : call("cast", {t}, {{"dtype", DType::int64}});
  for (int64_t i = 0; i < t.numel(); ++i) {
    list.values.push_back(kUnknown);
    list.symbols.push_back(
        {static_cast<uint32_t>(i), t.rank() == 0 ? wide : ops::pick(wide, 0, i)});
  }
  return list;
}

void Session::ask_for(const Tensor& t, bool sizes, NeedsMore* more) const {
  for (const Decider& d : deciders_of(*program_, t, sizes))
    for (const OnnxPort& port : ports_)
      if (d.input->name == port.name || d.input->name.starts_with(port.name + "."))
        more->needs.push_back({port.name, d.value});
}

Tensor Session::need(const Node& n, const Tensor& t) {
  if (!t.symbolic()) return t;
  if (const Tensor known = program::known(t); known.defined()) return known;
  NeedsMore more;
  ask_for(t, false, &more);
  if (more.needs.empty())
    n.unsupported("an input that only a run knows, which decides the form of the results,");
  throw more;
}

bool Session::is_fed(const Tensor& t) const {
  const program::Value* v = program::value_of(t);
  return v && !v->producer && v->block == &program_->main;
}

void Session::need_shapes(const Node& n) {
  NeedsMore more;
  for (size_t i = 0; i < n.inputs(); ++i)
    if (n.has(i) && n.item(i).kind == Item::Kind::tensor && n.in(i).symbolic())
      ask_for(n.in(i), true, &more);
  if (more.needs.empty()) n.unsupported("a size that only a run knows");
  throw more;
}

}  // namespace argosy::infer::onnx

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>

#include "argosy/extension/access.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/library.h"
#include "argosy/op/runtime_op.h"
#include "argosy/ops/creation/creation.h"

// What PD_BUILD_OP, PD_BUILD_GRAD_OP and PD_BUILD_DOUBLE_GRAD_OP describe becomes ops NAME,
// NAME_grad and NAME_grad_grad; the rule of each calls the next.
namespace argosy::extension {

using argosy::op::FieldKind;
namespace op = argosy::op;

// One description, as it was written.
struct OpMeta {
  struct Attr {
    std::string name, type;
    FieldKind kind;
  };
  std::string base;  // PD_BUILD_OP(base)
  int level = 0;
  const char* file = "";
  std::vector<std::string> inputs, outputs, attr_texts;
  std::vector<Attr> attrs;
  std::unordered_map<std::string, std::string> inplace;
  OpFunction kernel = nullptr, infer_shape = nullptr, infer_dtype = nullptr;
  bool on_gpu = false;  // its kernel takes tensors of GPUs, too

  // Of a gradient: inputs of the op before it that are not among `inputs` and whose form its
  // outputs take. They follow `inputs` as operands that are read for their shape.
  std::vector<std::string> likes;
  const OpMeta* next = nullptr;
  const op::OpDef* def = nullptr;

  std::string name() const {
    std::string out = base;
    for (int i = 0; i < level; ++i) out += "_grad";
    return out;
  }
};

namespace {

constexpr const char* kGrad = "@GRAD";

bool has(const std::string& name, const char* mark) {
  return name.find(mark) != std::string::npos;
}
bool is_list(const std::string& name) {
  return has(name, "@VECTOR");
}
bool is_optional(const std::string& name) {
  return has(name, "@OPTIONAL");
}
int find(const std::vector<std::string>& names, const std::string& name) {
  auto it = std::find(names.begin(), names.end(), name);
  return it == names.end() ? -1 : static_cast<int>(it - names.begin());
}
// Of which tensor `name`, Grad(..) of something, is the gradient: of the operand of that name, also
// where New(..) marks it as one of several gradients.
std::string gradient_of(std::string name) {
  if (size_t at = name.find("@NEW"); at != name.npos) name.erase(at, 4);
  if (size_t at = name.rfind(kGrad); at != name.npos) name.erase(at, 5);
  return name;
}

// As parameters are called in Python: X@VECTOR is x, X@GRAD is x_grad.
std::string python_name(const std::string& name) {
  std::string out = name.substr(0, name.find('@'));
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (size_t at = name.find(kGrad); at != name.npos; at = name.find(kGrad, at + 1)) out += "_grad";
  return out;
}

OpMeta::Attr parse_attr(const OpMeta& m, const std::string& text) {
  const size_t colon = text.find(':');
  auto trimmed = [](std::string s) {
    std::erase_if(s, [](char c) { return c == ' '; });
    return s;
  };
  OpMeta::Attr a{trimmed(text.substr(0, colon)),
                 colon == text.npos ? "" : trimmed(text.substr(colon + 1)), FieldKind::integer};
  static const std::pair<const char*, FieldKind> kinds[] = {
      {"bool", FieldKind::boolean},
      {"int", FieldKind::integer},
      {"int64_t", FieldKind::integer},
      {"float", FieldKind::real},
      {"double", FieldKind::real},
      {"std::string", FieldKind::string},
      {"std::vector<int>", FieldKind::integers},
      {"std::vector<int64_t>", FieldKind::integers},
      {"std::vector<float>", FieldKind::reals},
      {"std::vector<double>", FieldKind::reals},
      {"std::vector<std::string>", FieldKind::strings}};
  for (auto& [type, kind] : kinds) {
    if (a.type != type) continue;
    a.kind = kind;
    return a;
  }
  ARGOSY_THROW(invalid_argument) << '[' << m.name() << "] attribute '" << text
                                 << "': expected 'name: type' with a type of bool, int, int64_t, "
                                    "float, double, std::string or "
                                    "a std::vector of one of these but bool.";
}

// --- calls ---

// The tensors of operand i as a function of the op sees them; those of `copied` are copies, which
// it may write.
OpCall::Operand operand(const op::Inputs& in, size_t i, bool optional, bool list, bool copied) {
  OpCall::Operand o;
  for (const argosy::Tensor& t : in.list(i)) {
    if (!t.defined()) continue;
    argosy::Tensor own = t.has_data() ? op::contiguous(t) : t;
    if (copied) {
      argosy::Tensor copy = argosy::Tensor::empty(own.shape(), own.dtype(), own.place());
      op::copy_into(copy, own);
      own = std::move(copy);
    }
    o.shapes.emplace_back(own.shape().begin(), own.shape().end());
    o.dtypes.push_back(from_dtype(own.dtype()));
    // A body of its own: what a kernel does to a handle does not reach the caller's tensor.
    o.tensors.push_back(TensorAccess::wrap(own.has_data() ? own.detach() : own));
  }
  o.given = !o.tensors.empty() || (list && !optional);
  return o;
}

OpCall call_of(const OpMeta& m, const op::Inputs& in, const void* attrs, bool run) {
  OpCall call;
  call.op = &m;
  call.attrs = attrs;
  for (size_t i = 0; i < m.inputs.size(); ++i)
    call.inputs.push_back(operand(in, i, is_optional(m.inputs[i]), is_list(m.inputs[i]),
                                  run && m.inplace.contains(m.inputs[i])));
  return call;
}

// The place of the input that output i becomes in place, or whose gradient it is: its form is the
// output's. -1: none.
int like_of(const OpMeta& m, size_t i, bool inplace_only = false) {
  for (auto& [in, out] : m.inplace)
    if (out == m.outputs[i]) return find(m.inputs, in);
  if (inplace_only || m.level == 0) return -1;
  const std::string name = gradient_of(m.outputs[i]);
  if (int at = find(m.inputs, name); at >= 0) return at;
  const int like = find(m.likes, name);
  return like < 0 ? -1 : static_cast<int>(m.inputs.size()) + like;
}

[[noreturn]] void fail_infer(const OpMeta& m, const char* what, const char* function) {
  ARGOSY_THROW(invalid_argument)
      << '[' << m.name() << "] " << what
      << " of its outputs are not known: it has several inputs or outputs and no function that "
         "infers them. Do this: add .Set"
      << function << "(..) to its PD_BUILD_OP.";
}

void infer(const OpMeta& m, op::InferContext& c, const void* attrs) {
  OpCall call = call_of(m, c.in, attrs, false);
  if (m.infer_shape) m.infer_shape(call);
  if (m.infer_dtype) m.infer_dtype(call);
  const bool simple = m.inputs.size() == 1 && m.outputs.size() == 1 && !is_list(m.inputs[0]);
  c.out.clear();
  // Functions that infer say nothing of outputs that are inputs written in place.
  size_t shape_at = 0, dtype_at = 0;
  auto next_shape = [&]() -> argosy::Shape {
    ARGOSY_CHECK(shape_at < call.made_shapes.size(), invalid_argument)
        << '[' << m.name() << "] its function for shapes must return one for each output: it has "
        << m.outputs.size() << " outputs, got " << call.made_shapes.size() << " shapes.";
    argosy::Shape shape;
    for (int64_t s : call.made_shapes[shape_at++])
      shape.push_back(s < 0 ? argosy::kUnknown : s);  // computed from an unknown one
    return shape;
  };
  auto next_dtype = [&] {
    ARGOSY_CHECK(dtype_at < call.made_dtypes.size(), invalid_argument)
        << '[' << m.name() << "] its function for dtypes must return one for each output: it has "
        << m.outputs.size() << " outputs, got " << call.made_dtypes.size() << " dtypes.";
    return to_dtype(call.made_dtypes[dtype_at++]);
  };
  for (size_t i = 0; i < m.outputs.size(); ++i) {
    const int in_place = like_of(m, i, true);
    const bool many = is_list(m.outputs[i]);
    const int like = simple && m.level == 0 && !many ? 0 : like_of(m, i);
    const auto forms =
        like < 0 ? std::span<const argosy::Tensor>{} : c.in.list(static_cast<size_t>(like));
    const size_t of_lists = static_cast<size_t>(
        std::count_if(m.outputs.begin(), m.outputs.end(), [](auto& n) { return is_list(n); }));
    // A list whose length no input tells takes what the function for shapes has left.
    const size_t count = !many       ? 1
                         : like >= 0 ? forms.size()
                         : of_lists == 1 && call.made_shapes.size() + 1 >= m.outputs.size()
                             ? call.made_shapes.size() + 1 - m.outputs.size()
                             : 1;
    for (size_t k = 0; k < count; ++k) {
      const argosy::Tensor* form = k < forms.size() && forms[k].defined() ? &forms[k] : nullptr;
      op::Meta meta;
      if (form) meta = {form->shape(), form->dtype()};
      if (like >= 0 && !form) meta.shape = argosy::Shape{0};  // of what is missing: nothing
      const bool told = in_place < 0 && (like < 0 || form);
      if (told && m.infer_shape)
        meta.shape = next_shape();
      else if (!form && like < 0)
        fail_infer(m, "shapes", "InferShapeFn(PD_INFER_SHAPE(f))");
      if (told && m.infer_dtype)
        meta.dtype = next_dtype();
      else if (!form && like < 0 && !c.in.flat().empty() && m.inputs.size() == 1)
        meta.dtype = c.in.flat()[0].dtype();
      else if (!form && like < 0)
        fail_infer(m, "dtypes", "InferDtypeFn(PD_INFER_DTYPE(f))");
      c.out.push_back(meta);
    }
  }
}

void run(const OpMeta& m, op::KernelFrame& f, const void* attrs) {
  op::InsideKernel inside;
  OpCall call = call_of(m, f.in, attrs, true);
  // Outputs that kernels get pointers to, which are those that no input becomes.
  size_t flat = 0;
  std::vector<size_t> counts;
  for (size_t i = 0; i < m.outputs.size(); ++i) {
    const int like = like_of(m, i);
    const size_t count = !is_list(m.outputs[i]) ? 1
                         : like >= 0            ? f.in.list(static_cast<size_t>(like)).size()
                                                : f.out.size() + 1 - m.outputs.size();
    counts.push_back(count);
    if (like_of(m, i, true) < 0) call.outputs.emplace_back(count);
    flat += count;
  }
  ARGOSY_INVARIANT(flat == f.out.size());
  try {
    m.kernel(call);
  } catch (const argosy::Error&) {
    throw;
  } catch (const std::exception& e) {
    ARGOSY_THROW(runtime) << '[' << m.name() << "] its kernel failed: " << e.what();
  }
  if (!call.returned) {
    for (auto& list : call.outputs)
      for (Tensor& t : list) call.made.push_back(std::move(t));
  }
  // In the order of the description: those in place from their inputs, the others as they were
  // made.
  argosy::Tensors all;
  size_t next = 0;
  for (size_t i = 0; i < m.outputs.size(); ++i) {
    const int in_place = like_of(m, i, true);
    const int like = like_of(m, i);
    if (in_place >= 0) {
      const auto& written = call.inputs[static_cast<size_t>(in_place)];
      for (const Tensor& t : written.tensors) all.push_back(TensorAccess::unwrap(t));
      if (!written.given && counts[i])
        all.push_back(argosy::Tensor::empty({0}, f.out[all.size()].dtype()));
      // A kernel may hand out what it wrote, as all its results.
      if (call.made.size() == f.out.size()) next += counts[i];
      continue;
    }
    for (size_t k = 0; k < counts[i]; ++k) {
      argosy::Tensor t =
          next < call.made.size() ? TensorAccess::unwrap(call.made[next++]) : argosy::Tensor();
      const bool missing = like >= 0 && !f.in.list(static_cast<size_t>(like))[k].defined();
      if (!t.defined() && missing) t = argosy::Tensor::empty({0}, f.out[all.size()].dtype());
      ARGOSY_CHECK(t.defined(), invalid_argument)
          << '[' << m.name() << "] its kernel gives no tensor for output '" << m.outputs[i]
          << "': expected " << f.out.size() << " tensors in all, got " << call.made.size()
          << ". Do this: return one for each output, in their order.";
      all.push_back(std::move(t));
    }
  }
  ARGOSY_CHECK(next == call.made.size(), invalid_argument)
      << '[' << m.name() << "] its kernel gives another number of tensors than it has outputs: "
      << "expected " << next << ", got " << call.made.size()
      << ". Do this: return one for each output, in their order.";
  op::give_outputs(f, std::move(all));
}

// The rule of m calls m.next on what that reads of operands, results and their gradients.
argosy::Tensors gradient(const OpMeta& m, const op::GradCall& c, const void* attrs) {
  const OpMeta& g = *m.next;
  const op::OpDef& def = *g.def;
  // Where the results of output i of m begin, and how many they are. One list at most has a length
  // that its own inputs do not tell.
  auto results_of = [&](size_t wanted, size_t& count) {
    size_t at = 0;
    for (size_t i = 0;; ++i) {
      const int like = like_of(m, i);
      count = !is_list(m.outputs[i]) ? 1
              : like >= 0            ? c.in.list(static_cast<size_t>(like)).size()
                                     : c.outs().size() + 1 - m.outputs.size();
      if (i == wanted) return at;
      at += count;
    }
  };
  std::vector<argosy::Tensor> flat;
  std::vector<uint32_t> ends;
  auto add = [&](const std::string& name) {
    size_t count = 0;
    if (int at = find(m.inputs, name); at >= 0) {
      for (const argosy::Tensor& t : c.in.list(static_cast<size_t>(at))) flat.push_back(t);
    } else if (int out = find(m.outputs, name); out >= 0) {
      size_t begin = results_of(static_cast<size_t>(out), count);
      for (size_t k = 0; k < count; ++k) flat.push_back(c.out(begin + k));
    } else {
      size_t begin = results_of(static_cast<size_t>(find(m.outputs, gradient_of(name))), count);
      for (size_t k = 0; k < count; ++k) {
        const argosy::Tensor& dy = c.dy(begin + k);
        flat.push_back(dy.defined() ? dy : argosy::ops::zeros_like(c.out(begin + k)));
      }
    }
    ends.push_back(static_cast<uint32_t>(flat.size()));
  };
  for (const std::string& name : g.inputs) add(name);
  for (const std::string& name : g.likes) add(name);
  const argosy::op::AttrBox box = op::runtime_attrs(def, *m.def, attrs);
  const argosy::Tensors made =
      op::dispatch(def, op::Inputs(flat, def.any_list ? ends.data() : nullptr), box.get());

  argosy::Tensors grads;
  grads.resize(c.in.flat().size());
  size_t next = 0;
  for (const std::string& output : g.outputs) {
    const size_t input = static_cast<size_t>(find(m.inputs, gradient_of(output)));
    const auto operands = c.in.list(input);
    for (size_t k = 0; k < operands.size(); ++k, ++next)
      if (operands[k].defined()) grads[c.in.place_of(input) + k] = made[next];
  }
  return grads;
}

// --- registration ---

// Described since the last time that ops were registered.
std::deque<OpMeta>*& described() {
  static auto* list = new std::deque<OpMeta>();
  return list;
}

void check_parts(const OpMeta& m, const OpMeta* before) {
  const std::string name = m.name();
  ARGOSY_CHECK(m.kernel, invalid_argument)
      << '[' << name << "] has no kernel. Do this: add .SetKernelFn(PD_KERNEL(f)).";
  ARGOSY_CHECK(!m.outputs.empty(), invalid_argument)
      << '[' << name << "] has no outputs. Do this: add .Outputs({..}).";
  for (auto& [in, out] : m.inplace)
    ARGOSY_CHECK(find(m.inputs, in) >= 0 && find(m.outputs, out) >= 0, invalid_argument)
        << '[' << name << "] SetInplaceMap: expected names of an input and an output, got '" << in
        << "' and '" << out << "'.";
  int lists = 0;
  for (size_t i = 0; i < m.outputs.size(); ++i) lists += is_list(m.outputs[i]) && like_of(m, i) < 0;
  ARGOSY_CHECK(lists < 2, not_implemented)
      << '[' << name << "] has " << lists
      << " lists of outputs, whose lengths cannot be told apart. Do this: make them outputs of two "
         "ops, or write them over lists of inputs (SetInplaceMap).";
  if (!before) return;
  for (const std::string& in : m.inputs)
    ARGOSY_CHECK(find(before->inputs, in) >= 0 || find(before->outputs, in) >= 0 ||
                     find(before->outputs, gradient_of(in)) >= 0,
                 invalid_argument)
        << '[' << name << "] input '" << in << "' is neither an input nor an output of "
        << before->name() << ", nor the gradient of an output. Do this: name one of these.";
  for (const std::string& out : m.outputs)
    ARGOSY_CHECK(find(before->inputs, gradient_of(out)) >= 0, invalid_argument)
        << '[' << name << "] output '" << out << "' is not the gradient of an input of "
        << before->name() << ". Do this: write it as Grad(\"..\") of one.";
  for (const OpMeta::Attr& a : m.attrs) {
    bool known = false;
    for (const OpMeta::Attr& b : before->attrs) known |= a.name == b.name && a.kind == b.kind;
    ARGOSY_CHECK(known, invalid_argument)
        << '[' << name << "] attribute '" << a.name << ": " << a.type << "' is not one of "
        << before->name() << ". Do this: give the op and its gradient the same attributes.";
  }
}

// By name of the op; written within Registrations, which are one at a time, and by the first
// look-up.
using InplacePairs = std::map<std::string, std::vector<std::pair<size_t, size_t>>>;
InplacePairs& inplace_pairs() {
  static auto* pairs = new InplacePairs();
  return *pairs;
}

void register_one(OpMeta& m) {
  op::RuntimeOp r;
  r.name = m.name();
  r.file = m.file;
  r.doc =
      m.level ? "The gradient of an op that PD_BUILD_OP described." : "Described by PD_BUILD_OP.";
  const OpMeta* g = m.next;
  auto saves = [&](const std::string& name) {
    if (!g) return op::Save::nothing;
    if (find(g->inputs, name) >= 0) return op::Save::value;
    if (find(g->likes, name) >= 0) return op::Save::shape;
    return op::Save::nothing;
  };
  auto add_input = [&](const std::string& name, op::Reads reads) {
    op::InputDef in;
    in.name = python_name(name);
    in.optional = is_optional(name);
    in.list = is_list(name);
    in.reads = reads;
    in.save = saves(name);
    r.inputs.push_back(std::move(in));
  };
  for (const std::string& name : m.inputs) add_input(name, op::Reads::values);
  for (const std::string& name : m.likes) add_input(name, op::Reads::shape);
  for (const std::string& name : m.outputs) {
    op::OutputDef out;
    // As written: so Operators of static Programs show it.
    out.name = m.level ? python_name(name) : name.substr(0, name.find('@'));
    out.list = is_list(name);
    // Its form at least, for the zeros that stand for a gradient that nobody sent.
    out.save = g ? std::max(saves(name), op::Save::shape) : op::Save::nothing;
    r.outputs.push_back(std::move(out));
  }
  for (const OpMeta::Attr& a : m.attrs) r.attrs.push_back({a.name, a.kind});
  r.infer = [&m](op::InferContext& c, const void* a) { infer(m, c, a); };
  r.run = [&m](op::KernelFrame& f, const void* a) { run(m, f, a); };
  r.on_device = m.on_gpu;
  if (g) r.gradient = [&m](const op::GradCall& c, const void* a) { return gradient(m, c, a); };
  m.def = op::register_runtime_op(std::move(r));
  for (size_t i = 0; i < m.outputs.size(); ++i)
    if (const int in = like_of(m, i, true); in >= 0)
      inplace_pairs()[m.name()].emplace_back(i, static_cast<size_t>(in));
}

// Once all initializers of a library have run.
void register_all(std::deque<OpMeta>& list) {
  for (OpMeta& m : list)
    for (const std::string& text : m.attr_texts) m.attrs.push_back(parse_attr(m, text));
  for (OpMeta& m : list) {
    OpMeta* before = nullptr;
    for (OpMeta& b : list)
      if (b.base == m.base && b.level + 1 == m.level) before = &b;
    ARGOSY_CHECK(before || m.level == 0, invalid_argument)
        << '[' << m.name() << "] is the gradient of an op that this library does not describe. Do "
        << "this: add its " << (m.level == 1 ? "PD_BUILD_OP" : "PD_BUILD_GRAD_OP") << '.';
    check_parts(m, before);
    if (before) before->next = &m;
  }
  for (OpMeta& m : list) {
    if (!m.next) continue;
    for (const std::string& out : m.next->outputs)
      if (const std::string of = gradient_of(out); find(m.next->inputs, of) < 0)
        const_cast<OpMeta*>(m.next)->likes.push_back(of);
  }
  for (OpMeta& m : list) register_one(m);
}

const OpMeta& meta_of(const OpCall& call) {
  return *static_cast<const OpMeta*>(call.op);
}

[[noreturn]] void fail_attr(const OpCall& call, size_t i, const char* read) {
  const OpMeta& m = meta_of(call);
  ARGOSY_CHECK(i < m.attrs.size(), invalid_argument)
      << '[' << m.name() << "] a function of it takes " << i + 1
      << " or more attributes, but it has " << m.attrs.size()
      << ". Do this: name all of them in .Attrs({\"name: type\"}).";
  ARGOSY_THROW(invalid_argument) << '[' << m.name() << "] attribute '" << m.attrs[i].name
                                 << "' is a " << m.attrs[i].type
                                 << ", but a function of it takes a " << read
                                 << ". Do this: use the same type in both.";
}

template <class T>
const T& field(const OpCall& call, size_t i, std::initializer_list<const char*> types) {
  const OpMeta& m = meta_of(call);
  if (i >= m.attrs.size()) fail_attr(call, i, *types.begin());
  for (const char* type : types)
    if (m.attrs[i].type == type) return op::runtime_field<T>(*m.def, call.attrs, i);
  fail_attr(call, i, *types.begin());
}

int narrow(const OpCall& call, size_t i, int64_t v) {
  ARGOSY_CHECK(v == static_cast<int>(v), invalid_argument)
      << '[' << meta_of(call).name() << "] attribute '" << meta_of(call).attrs[i].name << "': " << v
      << " does not fit into an int. Do this: declare it as int64_t.";
  return static_cast<int>(v);
}

}  // namespace

const OpCall::Operand& OpCall::input(size_t i, bool list) const {
  const OpMeta& m = meta_of(*this);
  ARGOSY_CHECK(i < inputs.size(), invalid_argument)
      << '[' << m.name() << "] a function of it takes " << i + 1 << " or more inputs, but it has "
      << inputs.size() << ". Do this: name all of them in .Inputs({..}).";
  ARGOSY_CHECK(list || inputs[i].tensors.size() == 1, invalid_argument)
      << '[' << m.name() << "] input '" << m.inputs[i]
      << "' is read as one tensor: expected 1, got " << inputs[i].tensors.size()
      << ". Do this: take a paddle::optional or a std::vector of tensors.";
  return inputs[i];
}

std::vector<Tensor>& OpCall::output(size_t i) {
  ARGOSY_CHECK(i < outputs.size(), invalid_argument)
      << '[' << meta_of(*this).name() << "] its kernel takes " << i + 1
      << " or more outputs, but it has " << outputs.size() << " that are not in place.";
  return outputs[i];
}

void OpCall::read(size_t i, bool* value) const {
  *value = field<bool>(*this, i, {"bool"});
}
void OpCall::read(size_t i, int* value) const {
  *value = narrow(*this, i, field<int64_t>(*this, i, {"int"}));
}
void OpCall::read(size_t i, int64_t* value) const {
  *value = field<int64_t>(*this, i, {"int64_t"});
}
void OpCall::read(size_t i, float* value) const {
  *value = static_cast<float>(field<double>(*this, i, {"float"}));
}
void OpCall::read(size_t i, double* value) const {
  *value = field<double>(*this, i, {"double"});
}
void OpCall::read(size_t i, std::string* value) const {
  *value = field<std::string>(*this, i, {"std::string"});
}
void OpCall::read(size_t i, std::vector<int>* value) const {
  for (int64_t v : field<std::vector<int64_t>>(*this, i, {"std::vector<int>"}))
    value->push_back(narrow(*this, i, v));
}
void OpCall::read(size_t i, std::vector<int64_t>* value) const {
  *value = field<std::vector<int64_t>>(*this, i, {"std::vector<int64_t>"});
}
void OpCall::read(size_t i, std::vector<float>* value) const {
  for (double v : field<std::vector<double>>(*this, i, {"std::vector<float>"}))
    value->push_back(static_cast<float>(v));
}
void OpCall::read(size_t i, std::vector<double>* value) const {
  *value = field<std::vector<double>>(*this, i, {"std::vector<double>"});
}
void OpCall::read(size_t i, std::vector<std::string>* value) const {
  *value = field<std::vector<std::string>>(*this, i, {"std::vector<std::string>"});
}

std::vector<std::pair<size_t, size_t>> inplace_of(const op::OpDef& def) {
  auto it = inplace_pairs().find(def.name);
  return it == inplace_pairs().end() ? std::vector<std::pair<size_t, size_t>>{} : it->second;
}

OpMetaInfoBuilder::OpMetaInfoBuilder(const char* name, int level, const char* file, bool on_gpu) {
  std::deque<OpMeta>*& list = described();
  if (list->empty())
    op::Registration::at_end([] {
      // Kept for ever: the ops hold on to it.
      std::deque<OpMeta>* done = std::exchange(described(), new std::deque<OpMeta>());
      register_all(*done);
    });
  meta_ = &list->emplace_back();
  meta_->base = name;
  meta_->level = level;
  meta_->file = file;
  meta_->on_gpu = on_gpu;
}
OpMetaInfoBuilder& OpMetaInfoBuilder::Inputs(std::vector<std::string> names) {
  meta_->inputs = std::move(names);
  return *this;
}
OpMetaInfoBuilder& OpMetaInfoBuilder::Outputs(std::vector<std::string> names) {
  meta_->outputs = std::move(names);
  return *this;
}
OpMetaInfoBuilder& OpMetaInfoBuilder::Attrs(std::vector<std::string> attrs) {
  meta_->attr_texts = std::move(attrs);
  return *this;
}
OpMetaInfoBuilder& OpMetaInfoBuilder::SetInplaceMap(
    std::unordered_map<std::string, std::string> map) {
  meta_->inplace = std::move(map);
  return *this;
}
OpMetaInfoBuilder& OpMetaInfoBuilder::SetKernelFn(OpFunction fn) {
  meta_->kernel = fn;
  return *this;
}
OpMetaInfoBuilder& OpMetaInfoBuilder::SetInferShapeFn(OpFunction fn) {
  meta_->infer_shape = fn;
  return *this;
}
OpMetaInfoBuilder& OpMetaInfoBuilder::SetInferDtypeFn(OpFunction fn) {
  meta_->infer_dtype = fn;
  return *this;
}

}  // namespace argosy::extension

#include "argosy/op/runtime_op.h"

#include <cctype>
#include <deque>
#include <memory>
#include <new>
#include <set>

#include "argosy/base/device.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"

namespace argosy::op {
namespace {

// An attribute struct of a RuntimeOp begins with a pointer to its form, so that the functions of
// AttrType, which see nothing but the struct, know what is in it.
struct Form {
  AttrType type{};
  std::vector<Field> fields;
  std::deque<std::string> names;
  std::unique_ptr<char[]> defaults;
};

const Form& form_of(const void* attrs) {
  return **static_cast<const Form* const*>(attrs);
}

// Calls fn(T*) with a null pointer of the field's C++ type; false for kinds that have none here.
template <class F>
bool with_type(FieldKind kind, F&& fn) {
  switch (kind) {
    case FieldKind::boolean:
      return fn(static_cast<bool*>(nullptr)), true;
    case FieldKind::integer:
      return fn(static_cast<int64_t*>(nullptr)), true;
    case FieldKind::real:
      return fn(static_cast<double*>(nullptr)), true;
    case FieldKind::string:
      return fn(static_cast<std::string*>(nullptr)), true;
    case FieldKind::integers:
      return fn(static_cast<std::vector<int64_t>*>(nullptr)), true;
    case FieldKind::reals:
      return fn(static_cast<std::vector<double>*>(nullptr)), true;
    case FieldKind::strings:
      return fn(static_cast<std::vector<std::string>*>(nullptr)), true;
    default:
      return false;
  }
}

void copy_attrs(void* to, const void* from) {
  const Form& form = form_of(from);
  *static_cast<const Form**>(to) = &form;
  for (const Field& f : form.fields)
    with_type(f.kind, [&]<class T>(T*) {
      new (static_cast<char*>(to) + f.offset)
          T(*reinterpret_cast<const T*>(static_cast<const char*>(from) + f.offset));
    });
}

void destroy_attrs(void* value) {
  for (const Field& f : form_of(value).fields)
    with_type(f.kind, [&]<class T>(T*) {
      reinterpret_cast<T*>(static_cast<char*>(value) + f.offset)->~T();
    });
}

bool is_identifier(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  for (char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return true;
}

void check_names(const RuntimeOp& op) {
  std::set<std::string> seen;
  auto check = [&](const std::string& name, bool once) {
    ARGOSY_CHECK(is_identifier(name), invalid_argument)
        << '[' << op.name << "] '" << name
        << "' is no name for an op, an input or an attribute: expected letters, digits and _.";
    ARGOSY_CHECK(!once || seen.insert(name).second, invalid_argument)
        << '[' << op.name << "] '" << name
        << "' names two of its inputs and attributes. Do this: rename one (letter case does not "
           "tell names apart).";
  };
  check(op.name, false);
  for (const InputDef& in : op.inputs) check(in.name, true);
  for (const RuntimeOp::Attr& a : op.attrs) check(a.name, true);
}

// Bytes that call_op (python/src/op_entries.cc) has for a struct.
constexpr size_t kMostBytes = 512;

// Kept for the length of the process, as its op is.
const AttrType* make_form(const RuntimeOp& op) {
  Form& form = *new Form();
  size_t size = sizeof(const Form*);
  for (const RuntimeOp::Attr& a : op.attrs) {
    const bool known = with_type(a.kind, [&]<class T>(T*) {
      static_assert(alignof(T) <= 8);
      form.fields.push_back(
          {form.names.emplace_back(a.name).c_str(), a.kind, static_cast<uint16_t>(size)});
      size += (sizeof(T) + 7) / 8 * 8;
    });
    ARGOSY_CHECK(known, invalid_argument)
        << '[' << op.name << "] attribute " << a.name << " has a kind that such ops cannot have.";
  }
  ARGOSY_CHECK(size <= kMostBytes, invalid_argument)
      << '[' << op.name << "] has too many attributes: they take " << size << " bytes, at most "
      << kMostBytes << ". Do this: put several numbers into one list.";
  form.defaults.reset(new char[size]);
  *reinterpret_cast<const Form**>(form.defaults.get()) = &form;
  for (const Field& f : form.fields)
    with_type(f.kind, [&]<class T>(T*) { new (form.defaults.get() + f.offset) T(); });
  form.type = {.name = (form.names.emplace_back(op.name + " attributes")).c_str(),
               .size = size,
               .align = 8,
               .fields = form.fields,
               .defaults = form.defaults.get(),
               .trivial = false,
               .may_hold_symbols = false,
               .copy = copy_attrs,
               .destroy = destroy_attrs};
  return &form.type;
}

// Erased keeps a function; here it keeps the address of the RuntimeOp, which the caller's `call`
// gets back. (POSIX promises that an object's address survives this.)
void (*hidden(const RuntimeOp* op))() {
  return reinterpret_cast<void (*)()>(reinterpret_cast<uintptr_t>(op));
}
const RuntimeOp& behind(void (*op)()) {
  return *reinterpret_cast<const RuntimeOp*>(reinterpret_cast<uintptr_t>(op));
}

bool overlap(const Tensor& a, const Tensor& b) {
  return a.impl()->storage && b.defined() && a.impl()->storage == b.impl()->storage;
}

}  // namespace

OpDef* register_runtime_op(RuntimeOp described) {
  check_names(described);
  const RuntimeOp* op = new RuntimeOp(std::move(described));  // as long as its OpDef: for ever
  OpDef def;
  def.name = op->name;
  def.doc = op->doc;
  def.file = op->file.c_str();
  def.inputs = op->inputs;
  def.outputs = op->outputs;
  def.effect = op->effect;
  def.attrs = make_form(*op);
  for (const InputDef& in : def.inputs) def.any_list |= in.list;
  for (const OutputDef& out : def.outputs) def.any_list |= out.list;
  def.infer = {[](void (*o)(), InferContext& c, const void* a) { behind(o).infer(c, a); },
               hidden(op)};
  KernelDef kernel{.name = "extension", .device = DeviceKind::cpu, .match = {}, .run = {}};
  kernel.attrs = def.attrs;
  kernel.run = {[](void (*o)(), KernelFrame& f, const void* a) { behind(o).run(f, a); },
                hidden(op)};
  if (op->on_device) {
    KernelDef there = kernel;
    there.device = kAccelerator;
    def.kernels[static_cast<int>(kAccelerator)].push_back(std::move(there));
  }
  def.kernels[static_cast<int>(DeviceKind::cpu)].push_back(std::move(kernel));
  if (op->gradient)
    def.gradient = {
        [](void (*o)(), const GradCall& c, const void* a) { return behind(o).gradient(c, a); },
        hidden(op)};
  return register_op(std::move(def));
}

AttrBox runtime_attrs(const OpDef& to, const OpDef& from, const void* attrs) {
  AttrBox box(*to.attrs, to.attrs->defaults);
  for (const Field& field : to.attrs->fields)
    for (const Field& own : from.attrs->fields) {
      if (std::string_view(field.name) != own.name) continue;
      with_type(field.kind, [&]<class T>(T*) {
        *reinterpret_cast<T*>(static_cast<char*>(box.get()) + field.offset) =
            *reinterpret_cast<const T*>(static_cast<const char*>(attrs) + own.offset);
      });
    }
  return box;
}

InsideKernel::InsideKernel()
    : grad_(thread_state.grad_enabled), recorder_(std::exchange(thread_state.recorder, nullptr)) {
  thread_state.grad_enabled = false;
}
InsideKernel::~InsideKernel() {
  thread_state.grad_enabled = grad_;
  thread_state.recorder = recorder_;
}

void give_outputs(KernelFrame& f, Tensors made) {
  ARGOSY_CHECK(made.size() == f.out.size(), invalid_argument)
      << '[' << f.name() << "] its kernel gives another number of outputs than it has: expected "
      << f.out.size() << ", got " << made.size() << ". Do this: return one tensor for each output.";
  for (size_t i = 0; i < made.size(); ++i) {
    Tensor& t = made[i];
    const Tensor& want = f.out[i];
    bool fits = t.defined() && t.dtype() == want.dtype() && t.rank() == want.rank();
    for (int d = 0; fits && d < t.rank(); ++d)
      fits = want.dim(d) == kUnknown || want.dim(d) == t.dim(d);
    ARGOSY_CHECK(fits, invalid_argument)
        << '[' << f.name() << "] output " << i << " is not of the form that was inferred: expected "
        << want << ", got " << t
        << ". Do this: let the functions that infer shape and dtype say what the kernel gives.";
    bool shared = !t.is_contiguous();
    for (const Tensor& in : f.in.flat()) shared = shared || overlap(t, in);
    for (size_t j = 0; j < i; ++j) shared = shared || overlap(t, made[j]);
    if (t.place() != want.place()) {
      t = to_place(t, want.place());
    } else if (shared) {
      Tensor copy = Tensor::empty(t.shape(), t.dtype(), t.place());
      copy_into(copy, t);
      t = std::move(copy);
    }
  }
  f.out = std::move(made);
}

}  // namespace argosy::op

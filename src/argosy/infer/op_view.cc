#include "argosy/infer/op_view.h"

#include <set>

#include "argosy/op/dispatch.h"
#include "argosy/passes/pass.h"
#include "argosy/program/attributes.h"
#include "argosy/program/builder.h"
#include "argosy/program/inference.h"

namespace argosy::infer {

using program::Operation;
using program::Value;

const Ref<Value>& OpView::value(size_t i) const {
  static const Ref<Value> none;
  const size_t at = o.ends.empty() ? i : i ? o.ends[i - 1] : 0;
  return at < o.inputs().size() ? o.operands[at] : none;
}

std::span<const Ref<Value>> OpView::values(size_t i) const {
  const size_t begin = o.ends.empty() ? i : i ? o.ends[i - 1] : 0;
  const size_t end = o.ends.empty() ? i + 1 : o.ends[i];
  return o.inputs().subspan(begin, end - begin);
}

std::vector<int64_t> OpView::known(const char* name) const {
  const auto& a = attr<op::IntArray>(name);
  if (!a.symbols.empty()) unsupported("a number that only a run knows");
  return {a.values.begin(), a.values.end()};
}

bool OpView::is_known(const char* name) const {
  return attr<op::IntArray>(name).symbols.empty();
}

// Elements that are values stand among the operands in the order of the fields.
std::vector<OpView::Element> OpView::elements(const char* name) const {
  size_t at = o.inputs().size();
  for (const op::Field& f : o.op->attrs->fields) {
    const char* field = static_cast<const char*>(o.attrs.get()) + f.offset;
    if (f.kind == op::FieldKind::int_array) {
      const auto& a = *reinterpret_cast<const op::IntArray*>(field);
      if (std::string_view(f.name) == name) {
        std::vector<Element> list(a.values.begin(), a.values.end());
        for (size_t k = 0; k < a.symbols.size(); ++k)
          list[a.symbols[k].position] = o.operands[at + k];
        return list;
      }
      at += a.symbols.size();
    } else if (f.kind == op::FieldKind::scalar) {
      at += reinterpret_cast<const op::Scalar*>(field)->tensor.defined();
    } else if (f.kind == op::FieldKind::optional_scalar) {
      const auto& s = *reinterpret_cast<const std::optional<op::Scalar>*>(field);
      at += s && s->tensor.defined();
    }
  }
  unsupported("an attribute");
}

std::vector<int64_t> OpView::axes(const char* name, int rank) const {
  const uint32_t mask = op::axes_mask(o.op->name.c_str(), attr<op::IntArray>(name), rank);
  std::vector<int64_t> list;
  for (int d = 0; d < rank; ++d)
    if (mask >> d & 1) list.push_back(d);
  return list;
}

void OpView::unsupported(const char* what) const {
  ARGOSY_THROW(not_implemented) << '[' << writer_ << "] " << o.op->name << ": " << what
                                << " has no counterpart there.";
}

OpenedOp open_op(program::Program& program, const Operation& o) {
  program::Builder& b = program.builder();
  program::OpenBlock block(b);
  std::vector<Ref<Value>> given;
  auto argument = [&](const Ref<Value>& v) {
    if (!v) return Tensor();
    given.push_back(v);
    return b.argument(program::handle(v));
  };
  std::vector<Tensor> in, elements;
  for (const Ref<Value>& v : o.inputs()) in.push_back(argument(v));
  for (const Ref<Value>& v : o.attr_values()) elements.push_back(argument(v));
  const op::AttrBox attrs = program::attributes(o, elements);
  const op::Inputs inputs(in, o.ends.empty() ? nullptr : o.ends.data());
  const program::Recording recording(program.shared_from_this());
  const Tensors out = o.op->compose(inputs, attrs.get());
  program::Draft draft = block.end(std::span(out.begin(), out.size()));
  OpenedOp opened{std::move(draft.block), {}};
  for (size_t i = 0; i < given.size(); ++i)
    opened.arguments.emplace_back(opened.block->arguments[i], given[i]);
  for (const auto& [outer, inner] : draft.captures) opened.arguments.emplace_back(inner, outer);
  return opened;
}

std::shared_ptr<program::Program> for_writing(const program::Program& program) {
  op::GradMode no_grad(false);
  std::shared_ptr<program::Program> p = program.clone();
  program::become_inference(*p);
  const std::string dead[] = {"dead_code"};
  passes::PassContext context;
  context.inference = true;
  passes::run_pipeline(*p, dead, context);
  return p;
}

void check_writable(const program::Program& program, const char* writer, const char* format,
                    bool (*can_write)(const Operation& o)) {
  std::set<std::string> missing;
  program::each_operation(program.main, [&](const Operation& o) {
    if (!can_write(o)) missing.insert(o.op->name);
  });
  if (missing.empty()) return;
  std::string list;
  for (const std::string& name : missing) list += (list.empty() ? "" : ", ") + name;
  ARGOSY_THROW(not_implemented) << '[' << writer << "] ops without a counterpart in " << format
                                << ": " << list
                                << ". Do this: compute them outside of the exported layer.";
}

}  // namespace argosy::infer

#include "argosy/op/attrs.h"
#include "argosy/program/program.h"
#include "argosy/program/serialize.h"
#include "argosy/program/text.h"

namespace argosy::program {
namespace {

void print_value(Message& m, const Ref<Value>& v) {
  if (v)
    m << '%' << v->id;
  else
    m << "None";
}

void print_type(Message& m, const Value& v) {
  if (v.layout != Layout::strided) m << layout_name(v.layout) << ' ';
  m << v.dtype << v.shape;
}

void print_name(Message& m, const Value& v) {
  if (v.name.empty()) return;
  m << ' ';
  quote(m, v.name);
}

// Where it is not as it would be anyhow.
void print_flow(Message& m, const Value& v, bool flows) {
  if (carries_gradient(v) && !flows) m << " grad";
  if (!carries_gradient(v) && flows) m << " stop";
}

template <class List>
void print_list(Message& m, const List& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) m << ", ";
    print_value(m, list[i]);
  }
}

void print_block(Message& m, const Block& block, const std::string& indent);

void print_operation(Message& m, const Operation& o, const std::string& indent) {
  m << indent;
  print_list(m, o.results);
  m << (o.results.empty() ? "" : " = ") << o.op->name << '(';
  const auto inputs = o.inputs();
  // List inputs in brackets.
  size_t at = 0;
  for (size_t i = 0; i < (o.ends.empty() ? inputs.size() : o.ends.size()); ++i) {
    if (i) m << ", ";
    // A list of one may be recorded as a plain operand.
    const bool list = !o.op->structural && i < o.op->inputs.size() && o.op->inputs[i].list;
    const size_t end = o.ends.empty() ? i + 1 : o.ends[i];
    if (list) m << '[';
    print_list(m, inputs.subspan(at, end - at));
    if (list) m << ']';
    at = end;
  }
  if (o.attr_operands) {
    m << "; ";
    print_list(m, o.attr_values());
  }
  m << ')';
  if (!o.op->attrs->fields.empty()) m << ' ' << op::print(*o.op->attrs, o.attrs.get());
  if (!o.results.empty()) m << " : ";
  for (size_t i = 0; i < o.results.size(); ++i) {
    if (i) m << ", ";
    print_type(m, *o.results[i]);
    print_name(m, *o.results[i]);
    print_flow(m, *o.results[i], flows(o, *o.results[i]));
  }
  for (const auto& b : o.blocks) {
    m << " {\n" << indent << "  (";
    for (size_t i = 0; i < b->arguments.size(); ++i) {
      if (i) m << ", ";
      print_value(m, b->arguments[i]);
      m << " : ";
      print_type(m, *b->arguments[i]);
      print_name(m, *b->arguments[i]);
      print_flow(m, *b->arguments[i], flows(o, i, *b->arguments[i]));
    }
    m << ")\n";
    print_block(m, *b, indent + "  ");
    m << indent << "  yield ";
    print_list(m, b->yields);
    m << '\n' << indent << '}';
  }
  if (o.role != Role::forward) m << (o.role == Role::backward ? " backward" : " optimize");
  if (!o.location.empty()) {
    m << " loc(";
    quote(m, o.location);
    m << ')';
  }
  m << '\n';
}

void print_block(Message& m, const Block& block, const std::string& indent) {
  for (const auto& o : block.operations) print_operation(m, *o, indent);
}

}  // namespace

std::string Program::print() const {
  Message m;
  m << "program";
  if (!name.empty()) {
    m << ' ';
    quote(m, name);
  }
  m << " {\n";
  for (const auto& [key, text] : metadata) {
    m << "  metadata ";
    quote(m, key);
    m << " = ";
    quote(m, text);
    m << '\n';
  }
  for (const Ref<Value>& v : main.arguments) {
    m << "  input %" << v->id << ' ';
    quote(m, v->name);
    m << " : ";
    print_type(m, *v);
    print_flow(m, *v, false);
    m << '\n';
  }
  const std::vector<std::string> names = state_names(*this);
  for (size_t i = 0; i < states.size(); ++i) {
    const StateUse& s = states[i];
    m << "  state %" << s.initial->id << ' ';
    quote(m, names[i]);
    m << " : ";
    print_type(m, *s.initial);
    m << (s.state->trainable ? " trainable" : "") << (s.state->persistable ? "" : " temporary");
    print_flow(m, *s.initial, s.state->trainable);
    m << '\n';
  }
  for (const Constant& c : constants) {
    m << "  constant %" << c.value->id << " : ";
    print_type(m, *c.value);
    print_name(m, *c.value);
    print_flow(m, *c.value, false);
    m << " = ";
    if (is_printed(c.tensor))
      print_elements(m, c.tensor);
    else
      m << '#' << digest_of(c.tensor);
    m << '\n';
  }
  print_block(m, main, "  ");
  for (size_t i = 0; i < states.size(); ++i) {
    if (!states[i].last) continue;
    m << "  write ";
    quote(m, names[i]);
    m << " = %" << states[i].last->id << '\n';
  }
  for (const Output& o : outputs) {
    m << "  output ";
    quote(m, o.name);
    m << " = %" << o.value->id << '\n';
  }
  return m.str() + "}\n";
}

}  // namespace argosy::program

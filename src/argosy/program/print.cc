#include "argosy/op/attrs.h"
#include "argosy/program/program.h"

namespace argosy::program {
namespace {

void quote(Message& m, const std::string& text) {
  m << '"';
  for (char c : text) {
    if (c == '"' || c == '\\') m << '\\';
    m << c;
  }
  m << '"';
}

void print_value(Message& m, const Ref<Value>& v) {
  if (v)
    m << '%' << v->id;
  else
    m << "None";
}

void print_type(Message& m, const Value& v) {
  if (v.layout == Layout::tensor_array) m << "array ";
  m << v.dtype << v.shape;
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
    const bool list = !o.ends.empty() && o.op->inputs[i].list;
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
    if (!o.results[i]->name.empty()) {
      m << ' ';
      quote(m, o.results[i]->name);
    }
  }
  for (const auto& b : o.blocks) {
    m << " {\n" << indent << "  (";
    for (size_t i = 0; i < b->arguments.size(); ++i) {
      if (i) m << ", ";
      print_value(m, b->arguments[i]);
      m << " : ";
      print_type(m, *b->arguments[i]);
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
  for (const Ref<Value>& v : main.arguments) {
    m << "  input %" << v->id << ' ';
    quote(m, v->name);
    m << " : ";
    print_type(m, *v);
    m << '\n';
  }
  for (const StateUse& s : states) {
    m << "  state %" << s.initial->id << ' ';
    quote(m, s.state->name);
    m << " : ";
    print_type(m, *s.initial);
    m << (s.state->trainable ? " trainable" : "") << (s.state->persistable ? "" : " temporary")
      << '\n';
  }
  for (const Constant& c : constants) {
    m << "  constant %" << c.value->id << " : ";
    print_type(m, *c.value);
    m << '\n';
  }
  print_block(m, main, "  ");
  for (const StateUse& s : states) {
    if (!s.last) continue;
    m << "  write ";
    quote(m, s.state->name);
    m << " = %" << s.last->id << '\n';
  }
  for (const Output& o : outputs) {
    m << "  output ";
    quote(m, o.name);
    m << " = %" << o.value->id << '\n';
  }
  return m.str() + "}\n";
}

}  // namespace argosy::program

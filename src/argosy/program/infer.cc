#include "argosy/op/dispatch.h"
#include "argosy/program/program.h"

namespace argosy::program {

Shape join_shapes(const Shape& a, const Shape& b) {
  ARGOSY_CHECK(a.rank() == b.rank(), invalid_argument)
      << "A branch or loop has a value of " << a << " and of " << b
      << ": expected as many dimensions.";
  Shape out = a;
  for (int i = 0; i < out.rank(); ++i)
    if (a[i] != b[i]) out[i] = kUnknown;
  return out;
}

namespace {

// An operation of a branch or loop that these sizes do not suit may never run: its results keep
// what is known of them, and running it says what is wrong.
void infer_inner(Block& block) {
  for (const auto& o : block.operations) {
    try {
      infer_operation(*o);
    } catch (const Error&) {
    }
  }
}

void infer_if(Operation& o) {
  for (const auto& block : o.blocks) {
    for (size_t i = 0; i < block->arguments.size(); ++i)
      block->arguments[i]->shape = o.operands[i + 1]->shape;
    infer_inner(*block);
  }
  for (size_t i = 0; i < o.results.size(); ++i)
    o.results[i]->shape = join_shapes(o.blocks[0]->yields[i]->shape, o.blocks[1]->yields[i]->shape);
}

void infer_while(Operation& o) {
  Block &cond = *o.blocks[0], &body = *o.blocks[1];
  for (size_t i = 0; i < o.operands.size(); ++i)
    body.arguments[i]->shape = cond.arguments[i]->shape = o.operands[i]->shape;
  // Sizes that change from round to round are unknown in all.
  for (bool settled = false; !settled;) {
    infer_inner(body);
    settled = true;
    for (size_t i = 0; i < o.results.size(); ++i) {
      Shape wide = join_shapes(body.arguments[i]->shape, body.yields[i]->shape);
      if (wide == body.arguments[i]->shape) continue;
      body.arguments[i]->shape = cond.arguments[i]->shape = wide;
      settled = false;
    }
  }
  infer_inner(cond);
  for (size_t i = 0; i < o.results.size(); ++i) o.results[i]->shape = body.arguments[i]->shape;
}

}  // namespace

void infer_operation(Operation& o) {
  if (o.op->structural) return o.is_if() ? infer_if(o) : infer_while(o);
  InlineVector<Tensor, 8> in, elements;
  for (const Ref<Value>& v : o.inputs()) in.push_back(handle(v));
  for (const Ref<Value>& v : o.attr_values()) elements.push_back(handle(v));
  op::InferContext c{*o.op, op::Inputs(in, o.ends.empty() ? nullptr : o.ends.data()), {}};
  if (o.op->writes.empty()) {
    if (o.attr_operands) {
      op::AttrBox attrs = attributes(o, elements);
      op::infer(c, attrs.get());
    } else {
      op::infer(c, o.attrs.get());
    }
  } else {
    for (uint32_t i : o.op->writes)
      for (const Tensor& t : c.in.list(i)) c.out.push_back({t.shape(), t.dtype(), t.layout()});
  }
  const size_t outputs = o.outputs();
  ARGOSY_CHECK(c.out.size() == outputs, internal)
      << '[' << o.op->name << "] has " << outputs << " results, inferred " << c.out.size();
  for (size_t i = 0; i < outputs; ++i) {
    o.results[i]->shape = c.out[i].shape;
    o.results[i]->dtype = c.out[i].dtype;
    o.results[i]->layout = c.out[i].layout;
  }
  const std::vector<size_t> updated = o.updated_inputs();
  for (size_t i = 0; i < updated.size(); ++i)
    o.results[outputs + i]->shape = o.operands[updated[i]]->shape;
}

void infer_types(Block& block) {
  for (const auto& o : block.operations) infer_operation(*o);
}

}  // namespace argosy::program

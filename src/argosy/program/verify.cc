#include "argosy/op/dispatch.h"
#include "argosy/program/attributes.h"
#include "argosy/program/program.h"

// Nothing here may trust what it looks at: the loader of files has its Programs checked by this.
namespace argosy::program {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& p) : p_(p), made_(p.value_count()) {}

  void run() {
    for (const StateUse& s : p_.states) check_state(s);
    for (const Constant& c : p_.constants) check_constant(c);
    check_block(p_.main, nullptr);
    for (const StateUse& s : p_.states) {
      if (!s.last) continue;
      ARGOSY_CHECK(is_made(*s.last, p_.main) && s.last->dtype == s.state->dtype &&
                       s.last->shape.rank() == s.state->shape.rank() &&
                       s.last->layout == s.initial->layout,
                   internal)
          << "what is written to state '" << s.state->name << "' is not made, or of another type";
    }
    for (const Output& o : p_.outputs)
      ARGOSY_CHECK(o.value && is_made(*o.value, p_.main), internal)
          << "output '" << o.name << "' is not made in the main block";
  }

 private:
  bool is_made(const Value& v, const Block& block) const {
    return v.id < made_.size() && made_[v.id] == &v && v.block == &block;
  }

  void make(const Ref<Value>& v, const Block& block, const Operation* producer) {
    ARGOSY_CHECK(v && v->id < made_.size() && !made_[v->id], internal)
        << '%' << (v ? v->id : 0) << " is made twice, or missing";
    ARGOSY_CHECK(v->block == &block && v->producer == producer, internal)
        << '%' << v->id << " does not know where it is made";
    for (int64_t size : v->shape)
      ARGOSY_CHECK(size >= kUnknown, internal) << '%' << v->id << " has a size " << size;
    v->shape.numel();  // raises when there are too many elements
    made_[v->id] = v.get();
  }

  void check_state(const StateUse& s) {
    ARGOSY_CHECK(s.state, internal) << "a state is missing";
    make(s.initial, p_.main, nullptr);
    ARGOSY_CHECK(
        s.initial->dtype == s.state->dtype && s.initial->shape.rank() == s.state->shape.rank(),
        internal)
        << "state '" << s.state->name << "' is " << s.state->dtype << s.state->shape
        << ", its first value %" << s.initial->id << ' ' << s.initial->dtype << s.initial->shape;
  }

  void check_constant(const Constant& c) {
    make(c.value, p_.main, nullptr);
    const Value& v = *c.value;
    ARGOSY_CHECK(c.tensor.defined() && !c.tensor.symbolic() && c.tensor.dtype() == v.dtype &&
                     c.tensor.layout() == v.layout && fits(v.shape, c.tensor.shape()),
                 internal)
        << "constant %" << v.id << " is not the " << v.dtype << v.shape << " that it should be";
  }

  static bool agree(const Value& a, const Value& b) {
    return same_form(a, b) && fits(a.shape, b.shape);
  }

  // Does every size that both know agree?
  static bool fits(const Shape& a, const Shape& b) {
    bool same = a.rank() == b.rank();
    for (int d = 0; same && d < a.rank(); ++d)
      same = a[d] == b[d] || a[d] == kUnknown || b[d] == kUnknown;
    return same;
  }

  void use(const Ref<Value>& v, const Block& block, const std::string& who) const {
    ARGOSY_CHECK(is_made(*v, block), internal)
        << '%' << v->id << " is used by " << who << " before it is made in its block.";
  }

  void check_block(const Block& block, const Operation* owner) {
    ARGOSY_CHECK(block.owner == owner, internal) << "a block does not know its operation";
    for (const Ref<Value>& v : block.arguments) make(v, block, nullptr);
    for (const auto& o : block.operations) {
      ARGOSY_CHECK(o && o->op && o->parent == &block && o->attrs.type() == o->op->attrs, internal)
          << "an operation does not know its block";
      ARGOSY_CHECK(o->attr_operands <= o->operands.size(), internal)
          << '[' << o->op->name << "] has more elements of attributes than operands";
      for (const Ref<Value>& v : o->operands)
        if (v) use(v, block, o->op->name);
      if (o->op->structural)
        check_structure(*o);
      else
        check_operands(*o);
      for (const auto& b : o->blocks) check_block(*b, o.get());
      for (const Ref<Value>& v : o->results) make(v, block, o.get());
      o->op->structural ? check_yields(*o) : check_types(*o);
    }
    for (const Ref<Value>& v : block.yields) {
      ARGOSY_CHECK(v, internal) << "a block yields nothing at some place";
      use(v, block, "a yield");
    }
  }

  static void expect(bool ok, const Operation& o, const char* what) {
    ARGOSY_CHECK(ok, internal) << '[' << o.op->name << "] is malformed: " << what << '.';
  }

  // --- if and while ---

  static void check_structure(const Operation& o) {
    const bool is_if = o.is_if();
    expect(o.blocks.size() == 2 && o.blocks[0] && o.blocks[1], o, "expected two blocks");
    expect(!o.attr_operands && o.ends.empty(), o, "it takes operands only");
    for (const Ref<Value>& v : o.operands) expect(bool(v), o, "an operand is missing");
    size_t first = 0;
    if (is_if) {
      first = 1;
      expect(!o.operands.empty() && o.operands[0]->dtype == DType::bool_ &&
                 o.operands[0]->layout == Layout::strided,
             o, "the first operand must be a bool");
    }
    for (const auto& b : o.blocks) {
      expect(b->arguments.size() == o.operands.size() - first, o,
             "operands and block arguments differ in number");
      for (size_t i = 0; i < b->arguments.size(); ++i)
        expect(b->arguments[i] && agree(*o.operands[first + i], *b->arguments[i]), o,
               "an operand and its block argument differ in type");
    }
  }

  static void check_yields(const Operation& o) {
    const bool is_if = o.is_if();
    for (size_t k = is_if ? 0 : 1; k < 2; ++k) {
      const auto& yields = o.blocks[k]->yields;
      expect(yields.size() == o.results.size(), o, "yields and results differ in number");
      for (size_t i = 0; i < yields.size(); ++i)
        expect(agree(*yields[i], *o.results[i]), o, "a yield and its result differ in type");
    }
    if (is_if) return;
    expect(o.results.size() <= o.operands.size(), o, "more results than operands");
    for (size_t i = 0; i < o.results.size(); ++i)
      expect(agree(*o.operands[i], *o.results[i]), o, "an operand and its result differ in type");
    const auto& test = o.blocks[0]->yields;
    expect(test.size() == 1 && test[0]->dtype == DType::bool_ && test[0]->layout == Layout::strided,
           o, "the first block must yield one bool");
  }

  // --- all others ---

  // What dispatch asks of the operands of a call.
  static void check_operands(const Operation& o) {
    const auto inputs = o.inputs();
    expect(o.blocks.empty(), o, "it owns a block");
    if (o.ends.empty()) {
      ARGOSY_CHECK(inputs.size() == o.op->inputs.size(), internal)
          << '[' << o.op->name << "] takes " << o.op->inputs.size() << " inputs, has "
          << inputs.size();
    } else {
      expect(o.ends.size() == o.op->inputs.size() && o.ends.back() == inputs.size(), o,
             "its list inputs do not end where its inputs end");
    }
    size_t begin = 0;
    for (size_t i = 0; i < o.op->inputs.size(); ++i) {
      const op::InputDef& def = o.op->inputs[i];
      const size_t end = o.ends.empty() ? i + 1 : o.ends[i];
      expect(begin <= end && end <= inputs.size() && (def.list || end == begin + 1), o,
             "an input that is no list has not one operand");
      for (; begin < end; ++begin) {
        if (!inputs[begin]) {
          ARGOSY_CHECK(def.optional, internal)
              << '[' << o.op->name << "] " << def.name << " is missing";
          continue;
        }
        const Value& v = *inputs[begin];
        ARGOSY_CHECK(def.dtypes.has(v.dtype) && def.layouts.has(v.layout), internal)
            << '[' << o.op->name << "] does not take %" << v.id << ", " << v.dtype << v.shape
            << ", as " << def.name;
      }
    }
    for (uint32_t i : o.op->writes) check_written(o, i);
    for (uint32_t i : o.op->updates) check_written(o, i);
    size_t elements = 0;
    each_element(*o.op->attrs, const_cast<void*>(o.attrs.get()),
                 [&](Tensor&, int64_t*, op::Scalar*) { ++elements; });
    expect(elements == o.attr_operands, o, "elements of attributes and operands for them differ");
    for (const Ref<Value>& v : o.attr_values())
      expect(v && v->layout == Layout::strided && !is_complex(v->dtype), o,
             "an element of an attribute is no number");
  }

  static void check_written(const Operation& o, uint32_t input) {
    const size_t begin = o.ends.empty() ? input : input ? o.ends[input - 1] : 0;
    const size_t end = o.ends.empty() ? input + 1 : o.ends[input];
    for (size_t k = begin; k < end; ++k)
      expect(bool(o.operands[k]), o, "an operand that it writes is missing");
  }

  static void check_types(const Operation& o) {
    struct Type {
      Shape shape;
      DType dtype;
      Layout layout;
    };
    std::vector<Type> before;
    for (const Ref<Value>& v : o.results) before.push_back({v->shape, v->dtype, v->layout});
    auto put_back = [&] {
      for (size_t i = 0; i < before.size(); ++i) {
        o.results[i]->shape = before[i].shape;
        o.results[i]->dtype = before[i].dtype;
        o.results[i]->layout = before[i].layout;
      }
    };
    const size_t updates = o.updated_inputs().size();
    expect(updates <= o.results.size(), o, "it has too few results");
    std::vector<Type> now;
    try {
      infer_operation(const_cast<Operation&>(o));
      for (const Ref<Value>& v : o.results) now.push_back({v->shape, v->dtype, v->layout});
    } catch (...) {
      put_back();
      throw;
    }
    put_back();
    for (size_t i = 0; i < before.size(); ++i) {
      // Passes may know a size that inference does not see any more, never a different one.
      const bool same = now[i].dtype == before[i].dtype && fits(now[i].shape, before[i].shape) &&
                        now[i].layout == before[i].layout;
      ARGOSY_CHECK(same, internal)
          << '%' << o.results[i]->id << " of " << o.op->name << " is " << before[i].dtype
          << before[i].shape << ", inferred " << now[i].dtype << now[i].shape;
    }
  }

  const Program& p_;
  std::vector<const Value*> made_;  // by id
};

}  // namespace

void Program::verify() const {
  Verifier(*this).run();
}

}  // namespace argosy::program

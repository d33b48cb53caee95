#include <functional>

#include "argosy/infer/paddle/common.h"
#include "argosy/ops/control/control.h"

// Branches, loops, arrays.
//
// `conditional_block` and `while` write variables of the blocks around them. Such a variable
// becomes a result of our `if` or `while`. The regions of `.json` files have arguments and yields
// instead.
namespace argosy::infer::paddle {
namespace {

Tensor as_condition(const Tensor& t) {
  return as(t.rank() == 0 ? t : ops::reshape(t, op::IntArray{}), DType::bool_);
}

// Undefined where only a run knows it.
Tensor known_condition(const Node& n, const Tensor& t) {
  return t.symbolic() ? n.session.builder().known(t) : t;
}

bool truth(const Tensor& t) {
  const program::Recording at_once(nullptr);
  return *op::contiguous(as(t, DType::bool_)).data<bool>();
}

bool is_array(const Tensor& t) {
  return t.layout() == Layout::tensor_array;
}

// The number that Paddle has where a variable has no value yet, whatever its type will be.
bool says_no_value(const Tensor& t) {
  if (t.symbolic() || !is_floating(t.dtype()) || t.numel() != 1) return false;
  const program::Recording at_once(nullptr);  // also of float64, whose cast would be recorded
  return *op::contiguous(as(t, DType::float32)).data<float>() == 1.77113e27f;
}

bool says_no_value(const Item& item) {
  return item.kind == Item::Kind::tensor && says_no_value(item.tensor);
}

bool same_form(const Tensor& a, const Tensor& b) {
  return a.rank() == b.rank() && a.dtype() == b.dtype() && a.layout() == b.layout();
}

// A value of the type of t where a variable has none yet: it is not read.
Tensor placeholder(const Node& n, const Tensor& t) {
  const auto recording = n.session.recording();
  if (is_array(t)) return ops::array_new(t.dtype());
  op::IntArray shape;
  for (const int64_t d : t.shape()) shape.values.push_back(d < 0 ? 0 : d);
  return ops::full(shape, op::Scalar(0.0), t.dtype());
}

// --- if ---

// An `if` one of whose branches keeps what the variables were.
void conditional_block(const Node& n) {
  Session& s = n.session;
  const std::vector<int64_t> blocks = n.blocks();
  n.expect(blocks.size() == 1, "it owns one block");
  const Tensor condition = n.has("Cond") ? n.in("Cond") : n.in("Params");
  const Tensor known = known_condition(n, condition);
  if (known.defined()) {
    if (!truth(known)) return;
    Session::Ran ran = s.run(blocks[0], {});
    for (const std::string& name : s.written_by(blocks[0]))
      if (const auto it = ran.items.find(name); it != ran.items.end()) s.set(name, it->second);
    return;
  }
  std::vector<std::string> names;
  std::vector<Tensor> yields, others;
  program::Draft then_block, else_block;
  {
    program::OpenBlock block(s.builder());
    const Session::Ran ran = s.run(blocks[0], {});
    for (const std::string& name : s.written_by(blocks[0])) {
      const auto it = ran.items.find(name);
      if (it == ran.items.end() || it->second.kind != Item::Kind::tensor) continue;
      if (says_no_value(it->second)) {  // what it was before is as good
        if (!s.find(name)) s.set(name, it->second);
        continue;
      }
      names.push_back(name);
      yields.push_back(it->second.tensor);
    }
    then_block = block.end(yields);
  }
  {
    program::OpenBlock block(s.builder());
    for (size_t i = 0; i < names.size(); ++i) {
      const Item* before = s.find(names[i]);
      const bool fits =
          before && before->kind == Item::Kind::tensor && same_form(before->tensor, yields[i]);
      others.push_back(fits ? before->tensor : placeholder(n, yields[i]));
    }
    else_block = block.end(others);
  }
  const Tensors out =
      s.builder().append_if(as_condition(condition), std::move(then_block), std::move(else_block));
  for (size_t i = 0; i < names.size(); ++i) s.set(names[i], out[i]);
}

// X[Mask]. A side without a value is not read.
void select_input(const Node& n) {
  Session& s = n.session;
  const std::vector<std::string>* names = n.op.input("X");
  n.expect(names && names->size() == 2, "two values are expected");
  const Tensor mask = n.in("Mask");
  const Tensor known = known_condition(n, mask);
  if (known.defined()) return n.out("Out", s.get((*names)[truth(known)]));
  const Item no = s.get((*names)[0]), yes = s.get((*names)[1]);
  n.expect(no.kind == Item::Kind::tensor && yes.kind == Item::Kind::tensor,
           "values are no tensors");
  if (no.tensor.is(yes.tensor) || says_no_value(no)) return n.out("Out", yes);
  if (says_no_value(yes)) return n.out("Out", no);
  if (!same_form(no.tensor, yes.tensor))
    n.need_value(mask, "a choice of tensors of different types or numbers of dimensions");
  program::Draft then_block, else_block;
  {
    program::OpenBlock block(s.builder());
    then_block = block.end({&yes.tensor, 1});
  }
  {
    program::OpenBlock block(s.builder());
    else_block = block.end({&no.tensor, 1});
  }
  n.out("Out",
        s.builder().append_if(as_condition(mask), std::move(then_block), std::move(else_block))[0]);
}

void select_output(const Node& n) {
  for (size_t i = 0; i < n.outputs("Out"); ++i) n.out("Out", n.item("X"), i);
}

void region_if(const Node& n) {
  Session& s = n.session;
  const std::vector<int64_t> blocks = n.blocks();
  n.expect(blocks.size() == 2, "it owns two blocks");
  const Tensor condition = n.in("X");
  const Tensor known = known_condition(n, condition);
  if (known.defined()) {
    const Session::Ran ran = s.run(blocks[truth(known) ? 0 : 1], {});
    for (size_t i = 0; i < ran.yields.size(); ++i) n.out("Out", ran.yields[i], i);
    return;
  }
  program::Draft drafts[2];
  for (size_t k = 0; k < 2; ++k) {
    program::OpenBlock block(s.builder());
    const Session::Ran ran = s.run(blocks[k], {});
    std::vector<Tensor> yields;
    for (const Item& item : ran.yields) {
      n.expect(item.kind == Item::Kind::tensor, "a branch gives what is no tensor");
      yields.push_back(item.tensor);
    }
    drafts[k] = block.end(yields);
  }
  const Tensors out =
      s.builder().append_if(as_condition(condition), std::move(drafts[0]), std::move(drafts[1]));
  for (size_t i = 0; i < out.size(); ++i) n.out("Out", out[i], i);
}

// --- while ---

struct Loop {
  int64_t block;
  std::vector<Tensor> init;        // the condition comes first
  std::vector<std::string> names;  // what a round knows them by; the first may be empty
  std::function<std::vector<Tensor>(const Session::Ran&)> next;
};

class LoopRecorder {
 public:
  LoopRecorder(const Node& n, Loop loop) : n_(n), b_(n.session.builder()), loop_(std::move(loop)) {}

  Tensors run() {
    // Sizes that rounds change are forgotten, which may change others.
    constexpr int kMostTries = 8;
    for (int i = 0; settle(); ++i)
      if (i == kMostTries) n_.unsupported("a loop whose sizes do not settle");
    program::Draft condition;
    {
      program::OpenBlock block(b_);
      const Tensor more = as_condition(arguments()[0]);
      condition = block.end({&more, 1});
    }
    program::Draft body;
    {
      program::OpenBlock block(b_);
      body = block.end(round(false));
    }
    return b_.append_while(loop_.init, std::move(condition), std::move(body));
  }

 private:
  std::vector<Tensor> arguments() {
    std::vector<Tensor> list;
    for (const Tensor& t : loop_.init) list.push_back(b_.argument(program::handle(b_.current(t))));
    return list;
  }

  // `first`: what has no value before the loop has none in the round either.
  std::vector<Tensor> round(bool first) {
    std::vector<Tensor> a = arguments();
    for (size_t i = 0; first && i < a.size(); ++i)
      if (says_no_value(loop_.init[i])) a[i] = loop_.init[i];
    std::vector<std::pair<std::string, Item>> given;
    for (size_t i = 0; i < a.size(); ++i)
      if (!loop_.names[i].empty()) given.emplace_back(loop_.names[i], a[i]);
    return loop_.next(n_.session.run(loop_.block, given));
  }

  // What a variable is before the first round, as rounds have it. Where it has no value, Paddle 3
  // says a number; one that the first round spreads over a tensor is spread now.
  Tensor in_form_of(const Tensor& before, const Tensor& after) {
    if (says_no_value(before)) return placeholder(n_, after);
    op::IntArray shape;
    for (const int64_t d : after.shape()) shape.values.push_back(d < 0 ? 1 : d);
    return ops::expand(before, shape);
  }

  // Records a round for the forms of what it makes; true if it changed what is known of them.
  bool settle() {
    std::vector<std::pair<size_t, std::vector<int64_t>>> changed;
    std::vector<std::pair<size_t, Tensor>> reformed;
    {
      program::OpenBlock block(b_);
      const std::vector<Tensor> after = round(true);
      for (size_t i = 0; i < after.size(); ++i) {
        const Tensor& before = loop_.init[i];
        if (is_array(before)) continue;
        const bool same_type = before.dtype() == after[i].dtype();
        if (!same_type || before.rank() != after[i].rank()) {
          n_.expect(same_type || says_no_value(before), "a round changes the type of a variable");
          n_.expect(before.rank() == 0 || says_no_value(before),
                    "a round changes the rank of a variable");
          reformed.emplace_back(i, after[i]);
          continue;
        }
        std::vector<int64_t> sizes;
        for (int d = 0; d < before.rank(); ++d)
          sizes.push_back(before.dim(d) == after[i].dim(d) ? before.dim(d) : kUnknown);
        if (!std::ranges::equal(sizes, before.shape())) changed.emplace_back(i, sizes);
      }
    }
    const auto recording = n_.session.recording();
    for (const auto& [i, sizes] : changed) loop_.init[i] = ops::forget_sizes(loop_.init[i], sizes);
    for (const auto& [i, after] : reformed) loop_.init[i] = in_form_of(loop_.init[i], after);
    return !changed.empty() || !reformed.empty();
  }

  const Node& n_;
  program::Builder& b_;
  Loop loop_;
};

void while_block(const Node& n) {
  Session& s = n.session;
  const std::vector<int64_t> blocks = n.blocks();
  n.expect(blocks.size() == 1, "it owns one block");
  const Tensor more = n.in("Condition");
  const std::string condition = n.op.input("Condition")->front();
  Loop loop{blocks[0], {more}, {condition}, {}};
  for (const std::string& name : s.written_by(blocks[0])) {
    const Item* item = s.find_or_empty(name);
    if (name == condition || !item) continue;  // what has no value yet is of one round
    n.expect(item->kind == Item::Kind::tensor && !item->lengths.defined(),
             "a loop over batches of sequences is not supported");
    loop.init.push_back(item->tensor);
    loop.names.push_back(name);
  }
  const std::vector<std::string> names = loop.names;
  loop.next = [&](const Session::Ran& ran) {
    std::vector<Tensor> next;
    for (const std::string& name : names) {
      const auto it = ran.items.find(name);
      next.push_back(it == ran.items.end() ? s.get(name).tensor : it->second.tensor);
    }
    return next;
  };
  const Tensors last = LoopRecorder(n, std::move(loop)).run();
  for (size_t i = 0; i < names.size(); ++i) s.set(names[i], last[i]);
}

void region_while(const Node& n) {
  const std::vector<int64_t> blocks = n.blocks();
  n.expect(blocks.size() == 1, "it owns one block");
  const Block& block = n.session.graph().blocks[static_cast<size_t>(blocks[0])];
  Loop loop{blocks[0], n.tensors("X"), {""}, {}};
  loop.names.insert(loop.names.end(), block.arguments.begin(), block.arguments.end());
  n.expect(loop.names.size() == loop.init.size(), "the block has another number of arguments");
  loop.next = [&n, count = loop.init.size()](const Session::Ran& ran) {
    n.expect(ran.yields.size() == count, "the block gives another number of values");
    std::vector<Tensor> next;
    for (const Item& item : ran.yields) next.push_back(item.tensor);
    return next;
  };
  const Tensors last = LoopRecorder(n, std::move(loop)).run();
  for (size_t i = 1; i < last.size(); ++i) n.out("Out", last[i], i - 1);
}

// --- arrays ---

Tensor index_of(const Tensor& i) {
  return as(i.rank() == 0 ? ops::reshape(i, {1}) : i, DType::int64);
}

void array_write(const Node& n) {
  const Tensor x = n.in("X");
  n.expect(n.wants("Out"), "it has no output");
  // In place, whatever the result is called.
  const std::vector<std::string>* given = n.op.input("Array");
  const std::string& name = given ? given->front() : n.op.output("Out")->front();
  const Item* before = n.session.find(name);
  const auto recording = n.session.recording();
  const Tensor array = before && before->kind == Item::Kind::tensor && is_array(before->tensor)
                           ? before->tensor
                           : ops::array_new(x.dtype());
  const Item after = Item::without_lengths(ops::array_write(array, index_of(n.in("I")), x));
  n.session.set(name, after);
  n.out("Out", after);
}

void array_read(const Node& n) {
  const Tensor array = n.in("X");
  const Variable* v = n.declared("Out");
  Shape shape;
  if (v) shape = v->shape;
  n.out("Out", ops::array_read(array, index_of(n.in("I")), shape, array.dtype()));
}

void array_length(const Node& n) {
  n.out("Out", ops::reshape(ops::array_length(n.in("X")), {1}));
}

// What is known of the elements of the array in a slot: only the array itself has the shape in
// files that say of an element that it has no dimensions.
Shape element_shape(const Node& n, const char* slot, const char* out) {
  const Variable* v = n.declared(out);
  if (v && v->shape.rank() > 0) return v->shape;
  const std::vector<std::string>* names = n.op.input(slot);
  const Variable* array = names ? n.session.variable(names->front()) : nullptr;
  return array && array->kind == kLodTensorArray ? array->shape : Shape();
}

// Place i of an array; those that are negative count from the end.
Tensor counted(const Tensor& array, const Tensor& i) {
  const Tensor from_end = ops::add(i, ops::reshape(ops::array_length(array), {1}));
  return ops::where(ops::less_than(i, ops::constant(0, DType::int64)), from_end, i);
}

void give_element(const Node& n, const Tensor& array, const Tensor& i) {
  const Variable* v = n.declared("Out");
  n.out("Out", ops::array_read(array, counted(array, i), v ? v->shape : Shape(), array.dtype()));
}

void array_element(const Node& n) {
  give_element(n, n.in("X"), index_of(n.in("Starts")));
}

Tensor whole(int64_t i) {
  return ops::constant(op::Scalar(i), DType::int64);
}

// Elements begin to end (int64 of one element) as an array.
Tensor part_of(const Tensor& array, const Tensor& begin, const Tensor& end, int64_t step = 1) {
  return call("array_slice", {array, ops::array_length(array), begin, end}, {{"step", step}});
}

void array_part(const Node& n) {
  n.out("Out", part_of(n.in("X"), index_of(n.in("Starts")), index_of(n.in("Ends"))));
}

// Takes an element out, in place.
void array_pop(const Node& n) {
  const Tensor array = n.in("X");
  const Tensor at = counted(array, index_of(whole(n.integer("index", -1))));
  n.out("Out", ops::array_read(array, at, element_shape(n, "X", "Out"), array.dtype()));
  const Tensor next = ops::add(at, whole(1));
  const Tensor rest = call(
      "array_chain", {part_of(array, whole(0), at), at, part_of(array, next, whole(INT64_MAX))});
  call("array_assign", {array, rest});
  n.out("ArrayOut", n.item("X"));
}

void create_array(const Node& n) {
  const auto recording = n.session.recording();
  n.out("Out", ops::array_new(n.dtype("dtype", DType::float32)));
}

// The elements joined along an axis, or a new one.
void array_to_tensor(const Node& n) {
  const Variable* v = n.declared("Out");
  const Tensor array = n.in("X");
  const bool stacks = n.flag("use_stack");
  const int64_t axis = n.integer("axis", 0);
  if (!v) n.fail("nothing is known of the result");
  std::vector<int64_t> element(v->shape.begin(), v->shape.end());
  const auto at = static_cast<std::ptrdiff_t>(n.axis(axis, v->shape.rank()));
  if (stacks)
    element.erase(element.begin() + at);
  else
    element[static_cast<size_t>(at)] = kUnknown;
  const Tensors both =
      call_all("array_join", {array}, {{"axis", axis}, {"stack", stacks}, {"element", element}});
  n.out("Out", both[0]);
  n.out("OutIndex", as(both[1], DType::int32));
}

void assert_true(const Node& n) {
  std::vector<Tensor> in{as(n.in("Cond"), DType::bool_)};
  for (const Tensor& t : n.tensors("Data")) in.push_back(t);
  const auto recording = n.session.recording();
  const std::vector<Arg> args{{"summarize", n.integer("summarize", 20)}};
  call_all("assert_true", in, args);
}

// Deployed models do not print.
void print(const Node& n) {
  n.out("Out", n.item("In"));
}

constexpr Row kRows[] = {
    {"conditional_block", conditional_block},
    {"conditional_block_infer", conditional_block},
    {"select_input", select_input},
    {"select_output", select_output},
    {"while", while_block},
    {"region_if", region_if},
    {"region_while", region_while},
    {"write_to_array", array_write},
    {"read_from_array", array_read},
    {"lod_array_length", array_length},
    {"create_array", create_array},
    {"slice_array_dense", array_element},
    {"slice_array", array_part},
    {"array_pop", array_pop},
    {"tensor_array_to_tensor", array_to_tensor},
    {"assert", assert_true},
    {"print", print},
};

}  // namespace

void slice_array(const Node& n) {
  const auto bound = [&n](const char* all, const char* tensor, const char* list) {
    const op::IntArray numbers = n.numbers(all, tensor, list);
    n.expect(numbers.size() == 1, "an array has one axis");
    return index_of(numbers.symbols.empty() ? whole(numbers[0]) : numbers.symbols.front().value);
  };
  const Tensor array = n.in("Input");
  const Tensor begin = bound("starts", "StartsTensor", "StartsTensorList");
  if (!n.integers("decrease_axis").empty()) return give_element(n, array, begin);
  const std::vector<int64_t> steps =
      n.known_numbers("strides", "StridesTensor", "StridesTensorList");
  n.expect(steps.empty() || (steps.size() == 1 && steps[0] != 0), "an array has one axis");
  n.out("Out", part_of(array, begin, bound("ends", "EndsTensor", "EndsTensorList"),
                       steps.empty() ? 1 : steps[0]));
}

std::span<const Row> control_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle

#include "argosy/program/serialize.h"

#include <gtest/gtest.h>

#include <cstring>

#include "argosy/program/attributes.h"
#include "argosy/program/builder.h"
#include "argosy/program/fields.h"
#include "argosy/program/text.h"

namespace argosy::program {
namespace {

using op::FieldKind;

// A Program of one operation of any op, which need not verify.
std::shared_ptr<Program> alone(const op::OpDef& op, op::AttrBox attrs) {
  auto p = Program::make();
  auto o = std::make_unique<Operation>();
  o->op = &op;
  o->attrs = std::move(attrs);
  o->parent = &p->main;
  p->main.operations.push_back(std::move(o));
  return p;
}

std::string error_of(std::string_view bytes) {
  try {
    deserialize(bytes);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// Something else than the default, of every kind.
FieldValue another(FieldKind kind) {
  FieldValue v;
  v.kind = kind;
  v.integer = kind == FieldKind::boolean || kind == FieldKind::optional_boolean ? 1 : 7;
  v.real = -0.0;
  v.text = "a 'text'\n";
  v.integers = {3, 1};
  v.reals = {1e300, -0.0};
  v.texts = {"", "\"x\""};
  v.number = op::Scalar::Kind::integer;
  return v;
}

TEST(Fields, EveryFieldOfEveryOp) {
  size_t fields = 0;
  for (const op::OpDef* op : op::all()) {
    op::AttrBox box(*op->attrs, op->attrs->defaults);
    for (const op::Field& f : op->attrs->fields) {
      ++fields;
      // The default, read and written to a struct that has something else.
      op::AttrBox other(*op->attrs, op->attrs->defaults);
      ASSERT_EQ(write_field(f, other.get(), another(f.kind)), nullptr) << op->name << f.name;
      EXPECT_FALSE(op::equal(*op->attrs, other.get(), box.get()) && f.kind != FieldKind::boolean &&
                   f.kind != FieldKind::optional_boolean)
          << op->name << ' ' << f.name;
      ASSERT_EQ(write_field(f, other.get(), read_field(f, box.get())), nullptr);
      EXPECT_TRUE(op::equal(*op->attrs, other.get(), box.get())) << op->name << ' ' << f.name;
    }
  }
  EXPECT_GT(fields, 500u);
}

TEST(Fields, WhatDoesNotFitIsRefused) {
  const op::Field real{"f", FieldKind::real, 0};
  double x = 3;
  FieldValue v;
  v.kind = FieldKind::string;
  EXPECT_NE(write_field(real, &x, v), nullptr);
  v.kind = FieldKind::optional_real;
  v.none = true;
  EXPECT_NE(write_field(real, &x, v), nullptr);
  v.kind = FieldKind::integer;
  v.none = false;
  v.integer = 5;
  EXPECT_EQ(write_field(real, &x, v), nullptr);
  EXPECT_EQ(x, 5);

  const op::Field boolean{"f", FieldKind::boolean, 0}, dtype{"f", FieldKind::dtype, 0};
  bool b = false;
  DType t = DType::float32;
  v.kind = FieldKind::boolean;
  EXPECT_NE(write_field(boolean, &b, v), nullptr);
  for (int64_t number : {int64_t{-1}, int64_t{kDTypeCount}, int64_t{1} << 40}) {
    v.kind = FieldKind::dtype;
    v.integer = number;
    EXPECT_NE(write_field(dtype, &t, v), nullptr);
  }
  EXPECT_EQ(t, DType::float32);

  const op::Field sizes{"f", FieldKind::int_array, 0};
  op::IntArray array{1, 2};
  FieldValue list;
  list.kind = FieldKind::int_array;
  list.integers = {1, 2};
  list.single = true;
  EXPECT_NE(write_field(sizes, &array, list), nullptr);
  list.single = false;
  for (std::vector<uint32_t> symbols : {std::vector<uint32_t>{2}, {1, 1}, {1, 0}}) {
    list.symbols = symbols;
    EXPECT_NE(write_field(sizes, &array, list), nullptr);
  }
  list.symbols = {0, 1};
  EXPECT_EQ(write_field(sizes, &array, list), nullptr);
  EXPECT_EQ(array.symbols.size(), 2u);
}

// Sets every field to something that is not its default.
void differ(const op::AttrType& type, void* attrs) {
  for (const op::Field& f : type.fields) {
    const std::string usual = op::print_field(f, type.defaults);
    FieldValue v = another(f.kind);
    ASSERT_EQ(write_field(f, attrs, v), nullptr) << f.name;
    if (op::print_field(f, attrs) != usual) continue;
    v.integer = v.integer == 1 ? 0 : 8;
    v.real = 0.1;
    v.text += 'b';
    ASSERT_EQ(write_field(f, attrs, v), nullptr) << f.name;
    ASSERT_NE(op::print_field(f, attrs), usual) << f.name;
  }
}

// Whether an operation with these attributes comes back through bytes and through text. It need not
// verify.
void expect_back(const op::OpDef& op, const void* attrs) {
  auto p = alone(op, op::AttrBox(*op.attrs, attrs));
  // As many operands, all missing, as the text needs.
  Operation& o = *p->main.operations[0];
  bool lists = false;
  for (const op::InputDef& in : op.inputs) {
    lists |= in.list;
    if (!in.list) o.operands.push_back({});
    o.ends.push_back(static_cast<uint32_t>(o.operands.size()));
  }
  if (!lists || op.structural) o.ends.clear();
  if (op.structural) o.operands.clear();
  const auto same = [&](const Program& other, const char* how) {
    ASSERT_EQ(other.main.operations.size(), 1u) << op.name << how;
    const Operation& back = *other.main.operations[0];
    EXPECT_EQ(back.op, &op) << how;
    EXPECT_TRUE(op::equal(*op.attrs, back.attrs.get(), o.attrs.get()))
        << op.name << how << op::print(*op.attrs, back.attrs.get()) << " was "
        << op::print(*op.attrs, o.attrs.get());
  };
  const std::string bytes = serialize(*p);
  const auto read = deserialize_unverified(bytes);
  same(*read, " through bytes: ");
  EXPECT_EQ(serialize(*read), bytes) << op.name;
  same(*p->clone(), " by clone(): ");
  if (op.structural) return;  // its text has blocks, which this one lacks
  const std::string text = p->print();
  const auto parsed = parse_unverified(text);
  same(*parsed, " through text: ");
  EXPECT_EQ(parsed->print(), text);
}

TEST(Serialize, AttributesOfEveryOp) {
  size_t count = 0;
  for (const op::OpDef* op : op::all()) {
    if (op->name == "py_call") continue;  // is not saved
    SCOPED_TRACE(op->name);
    op::AttrBox box(*op->attrs, op->attrs->defaults);
    expect_back(*op, box.get());
    differ(*op->attrs, box.get());
    expect_back(*op, box.get());
    // Each field alone, and None where there may be none.
    for (const op::Field& f : op->attrs->fields) {
      op::AttrBox one(*op->attrs, op->attrs->defaults);
      ASSERT_EQ(write_field(f, one.get(), read_field(f, box.get())), nullptr) << f.name;
      expect_back(*op, one.get());
      FieldValue none = another(f.kind);
      none.none = true;
      none.integers.clear();
      if (write_field(f, one.get(), none) == nullptr) expect_back(*op, one.get());
    }
    ++count;
  }
  EXPECT_GT(count, 400u);
}

TEST(Serialize, SparseIdsAreNumberedAnew) {
  auto p = Program::make();
  p->reserve_ids(50'000'000);
  p->builder().input("x", {2}, DType::float32);
  auto copy = deserialize(serialize(*p));
  EXPECT_LE(copy->value_count(), 1u);
  EXPECT_EQ(copy->main.arguments[0]->name, "x");
}

TEST(Serialize, UnalignedBytes) {
  auto p = Program::make();
  p->builder().input("x", {2, kUnknown}, DType::bfloat16);
  const std::string bytes = serialize(*p);
  for (size_t shift = 0; shift < 9; ++shift) {
    const std::string moved = std::string(shift, '-') + bytes;
    EXPECT_EQ(deserialize(std::string_view(moved).substr(shift))->print(), p->print());
  }
}

TEST(Serialize, EmptyAndForeign) {
  EXPECT_NE(error_of("").find("truncated"), std::string::npos);
  EXPECT_NE(error_of("PK").find("no saved Program"), std::string::npos);
  EXPECT_NE(error_of(std::string(1000, '\xff')).find("no saved Program"), std::string::npos);
  FileHeader header{{}, kFormatVersion, 0, 64};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  for (char fill : {'\0', '\1', '\4', '\xff'})
    EXPECT_NE(error_of(bytes + std::string(64, fill)).find("damaged"), std::string::npos);
}

// --- the verifier ---

struct Broken {
  std::shared_ptr<Program> p = Program::make();
  Tensor x, y;
  Operation* add = nullptr;
  Broken() {
    Recording recording(p);
    x = p->builder().input("x", {2, 3}, DType::float32);
    y = p->builder().input("y", {2, 3}, DType::float32);
    const op::OpDef& def = op::get("add");
    const Tensor in[] = {x, y};
    p->builder().append(def, op::Inputs(in), def.attrs->defaults);
    add = p->main.operations[0].get();
  }
  void refused(const char* why) {
    try {
      p->verify();
      FAIL() << "expected: " << why;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    }
  }
};

TEST(Verify, MalformedOperations) {
  Broken().p->verify();
  Broken b;
  b.add->operands.pop_back();
  b.refused("takes 2 inputs, has 1");
  b = Broken();
  b.add->operands[1] = {};
  b.refused("missing");
  b = Broken();
  b.add->attr_operands = 5;
  b.refused("more elements of attributes");
  b = Broken();
  b.add->attr_operands = 1;
  b.refused("takes 2 inputs, has 1");
  b = Broken();
  b.add->ends = {1};
  b.refused("list inputs");
  b = Broken();
  b.add->ends = {2, 2};
  b.refused("not one operand");
  b = Broken();
  b.add->ends = {7, 2};
  b.refused("not one operand");
  b = Broken();
  b.add->results.clear();
  b.refused("results");
  b = Broken();
  b.add->blocks.push_back(std::make_unique<Block>());
  b.refused("owns a block");
  b = Broken();
  b.add->operands[0] = b.add->results[0];
  b.refused("before it is made");
  b = Broken();
  b.p->main.arguments.push_back(b.p->main.arguments[0]);
  b.refused("made twice");
  b = Broken();
  b.add->results[0]->id = 1000;
  b.refused("made twice, or missing");
  b = Broken();
  b.add->results[0]->shape = {3, 3};
  b.refused("inferred float32[2, 3]");
  b = Broken();
  b.add->results[0]->layout = Layout::tensor_array;
  b.refused("inferred");
  b = Broken();
  b.p->main.arguments[0]->shape = {-5, 3};
  b.refused("has a size -5");
  b = Broken();
  b.p->outputs.push_back({"o", {}});
  b.refused("output 'o'");
  b = Broken();
  b.p->constants.push_back({b.p->make_value({2}, DType::float32), {}});
  b.p->constants[0].value->block = &b.p->main;
  b.refused("constant");
  b = Broken();
  b.p->states.push_back({make_ref<State>(), b.p->make_value({2}, DType::float32), {}});
  b.p->states[0].initial->block = &b.p->main;
  b.refused("state ''");
}

TEST(Verify, MalformedBlocks) {
  for (const char* name : {"if", "while"}) {
    const op::OpDef& def = op::get(name);
    auto p = alone(def, op::AttrBox(*def.attrs, def.attrs->defaults));
    EXPECT_THROW(p->verify(), Error);
    Operation& o = *p->main.operations[0];
    for (int i = 0; i < 2; ++i) {
      o.blocks.push_back(std::make_unique<Block>());
      EXPECT_THROW(p->verify(), Error);
      o.blocks.back()->owner = &o;
    }
    EXPECT_THROW(p->verify(), Error);
    o.operands.push_back({});
    EXPECT_THROW(p->verify(), Error);
  }
}

}  // namespace
}  // namespace argosy::program

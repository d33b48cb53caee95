#include <algorithm>
#include <cstring>
#include <limits>

#include "argosy/op/op.h"
#include "argosy/program/attributes.h"
#include "argosy/program/fields.h"
#include "roundtrip.h"

// Programs of a few operations on whatever operands and attributes the bytes say: what the
// verifier lets through reaches every op's inference.
using namespace argosy;
using program::FieldValue;
using program::Operation;
using program::Program;
using program::Value;

namespace {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  uint8_t byte() { return empty() ? 0 : data_[at_++]; }
  uint32_t below(uint32_t n) {
    const uint32_t v = byte();
    return n > 256 ? (v << 8 | byte()) % n : v % n;
  }
  int64_t number() {
    static constexpr int64_t odd[] = {INT64_MIN, INT64_MAX, INT64_MAX - 1, 1ll << 31, -(1ll << 31),
                                      1ll << 40, -1,        100,           1000000,   -9};
    const uint8_t v = byte();
    return v < 240 ? static_cast<int64_t>(v % 8) - 2 : odd[v % std::size(odd)];
  }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

Shape make_shape(Bytes& b) {
  static constexpr int64_t sizes[] = {-1, 0, 1, 2, 3, 4, 5, 8, 1 << 20, 1ll << 40};
  Shape s;
  for (uint32_t rank = b.below(6); rank--;) s.push_back(sizes[b.below(std::size(sizes))]);
  return s;
}

FieldValue make_field(Bytes& b, op::FieldKind kind) {
  FieldValue v;
  v.kind = kind;
  const uint8_t how = b.byte();
  v.none = how % 16 == 1;
  v.single = how % 16 == 2;
  v.is_symbol = how % 16 == 3;
  v.number = static_cast<op::Scalar::Kind>(b.below(4));
  v.integer = b.number();
  const double reals[] = {0,
                          1,
                          0.5,
                          -1,
                          1e300,
                          -0.0,
                          1.0 / 3,
                          std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity()};
  v.real = reals[b.below(std::size(reals))];
  v.imaginary = reals[b.below(std::size(reals))];
  static constexpr const char* texts[] = {
      "",     "mean", "none",     "sum",     "same", "valid",     "constant",    "reflect",
      "NCHW", "NHWC", "bilinear", "nearest", "tanh", "ij,jk->ik", "...i,i->...", "linear",
      "x",    "max",  "fro"};
  v.text = texts[b.below(std::size(texts))];
  const uint32_t n = v.single ? 1 : v.none ? 0 : b.below(6);
  for (uint32_t i = 0; i < n; ++i) {
    v.integers.push_back(kind == op::FieldKind::dtypes ? b.below(kDTypeCount) : b.number());
    v.reals.push_back(reals[b.below(std::size(reals))]);
    v.texts.push_back(texts[b.below(std::size(texts))]);
  }
  if (kind == op::FieldKind::dtype || kind == op::FieldKind::optional_dtype)
    v.integer = b.below(kDTypeCount);
  if (kind == op::FieldKind::boolean || kind == op::FieldKind::optional_boolean)
    v.integer = how & 1;
  if (kind == op::FieldKind::int_array && n && how % 16 == 4) v.symbols.push_back(b.below(n));
  return v;
}

class Maker {
 public:
  explicit Maker(Bytes& b) : b_(b), p_(Program::make()) {}

  std::shared_ptr<Program> make() {
    for (int i = 0; i < 3 && !b_.empty(); ++i)
      if (!add()) break;
    return p_;
  }

 private:
  Ref<Value> value(DTypes dtypes) {
    if (!made_.empty() && b_.below(3) == 0)
      return made_[b_.below(static_cast<uint32_t>(made_.size()))];
    std::vector<DType> usable;
    for (int t = 0; t < kDTypeCount; ++t)
      if (dtypes.has(static_cast<DType>(t))) usable.push_back(static_cast<DType>(t));
    const DType t = usable.empty() ? DType::float32 : usable[b_.below(uint32_t(usable.size()))];
    Ref<Value> v = p_->make_value(make_shape(b_), t);
    v->block = &p_->main;
    v->name.assign(1, 'x');
    p_->main.arguments.push_back(v);
    made_.push_back(v);
    return v;
  }

  bool add() {
    static const std::vector<const op::OpDef*> ops = op::all();
    auto o = std::make_unique<Operation>();
    o->op = ops[b_.below(static_cast<uint32_t>(ops.size()))];
    if (o->op->structural || o->op->name == "py_call") return false;
    o->attrs = op::AttrBox(*o->op->attrs, o->op->attrs->defaults);
    for (const op::Field& f : o->op->attrs->fields)
      if (b_.below(3)) program::write_field(f, o->attrs.get(), make_field(b_, f.kind));
    bool lists = false;
    for (const op::InputDef& in : o->op->inputs) lists |= in.list;
    for (const op::InputDef& in : o->op->inputs) {
      for (uint32_t n = in.list ? b_.below(4) : 1; n--;) {
        if (in.optional && b_.below(2))
          o->operands.push_back({});
        else
          o->operands.push_back(value(in.dtypes));
      }
      if (lists) o->ends.push_back(static_cast<uint32_t>(o->operands.size()));
    }
    program::each_element(*o->op->attrs, o->attrs.get(), [&](Tensor&, int64_t*, op::Scalar*) {
      o->operands.push_back(value(kIndex));
      ++o->attr_operands;
    });
    o->parent = &p_->main;
    size_t results = o->op->outputs.size() + b_.below(2);
    if (o->op->outputs.size() == 1 && o->op->outputs[0].list) results = b_.below(5);
    // The types that inference gives, so that the verifier has nothing to say.
    std::vector<Tensor> in, elements;
    for (const auto& v : o->inputs()) in.push_back(program::handle(v));
    for (const auto& v : o->attr_values()) elements.push_back(program::handle(v));
    Operation& made = *o;
    for (size_t i = 0; i < results; ++i) {
      Ref<Value> v = p_->make_value({}, DType::float32);
      v->block = &p_->main;
      v->producer = o.get();
      o->results.push_back(v);
    }
    p_->main.operations.push_back(std::move(o));
    // The verifier looks at operands first, then infers.
    try {
      p_->verify();
    } catch (const Error&) {
      try {
        settle(made);
      } catch (const Error&) {
        return false;
      }
    }
    for (const auto& v : made.results) made_.push_back(v);
    return true;
  }

  // Gives the results the inferred types if the operands are such that the verifier gets there.
  void settle(Operation& o) {
    auto before = std::move(o.results);
    o.results.clear();
    auto alone = p_->clone();
    o.results = std::move(before);
    try {
      alone->verify();
    } catch (const Error& e) {
      // Only the number of results is wrong, so the operands are well formed.
      if (!std::strstr(e.what(), "results, inferred")) throw;
    }
    program::infer_operation(o);
  }

  Bytes& b_;
  std::shared_ptr<Program> p_;
  std::vector<Ref<Value>> made_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes b(data, size);
  std::shared_ptr<Program> p;
  try {
    p = Maker(b).make();
    p->verify();
  } catch (const Error&) {
    return 0;
  }
  fuzz::check_round_trips(*p);
  return 0;
}

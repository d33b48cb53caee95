#include "argosy/program/serialize.h"

#include <bit>
#include <cstring>
#include <map>
#include <set>

#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/names.h"
#include "argosy/program/fields.h"
#include "argosy/program/program_generated.h"

static_assert(std::endian::native == std::endian::little, "files hold what memory holds");

namespace argosy::program {
namespace {

using flatbuffers::Offset;

static_assert(int(file::DType::complex128) == int(DType::complex128) &&
              int(file::DType::MAX) + 1 == kDTypeCount);
static_assert(int(file::Layout::tensor_array) == int(Layout::tensor_array));
static_assert(int(file::Kind::dtypes) == int(op::FieldKind::dtypes) &&
              int(file::Kind::int_array) == int(op::FieldKind::int_array));
static_assert(int(file::Number::complex) == int(op::Scalar::Kind::complex));
static_assert(int(file::Role::optimize) == int(Role::optimize));

constexpr uint32_t kNone = 0xffffffff;
constexpr size_t kInlineBytes = 4096;
constexpr size_t kMaxInline = size_t{1} << 30;  // FlatBuffers end at 2 GiB

class Writer {
 public:
  Writer(const Program& p, NamedTensors* outside)
      : p_(p), outside_(outside), places_(p.value_count(), kNone) {}

  std::string write() {
    for (const StateUse& s : p_.states) define(s.initial);
    for (const Constant& c : p_.constants) define(c.value);
    collect(p_.main);
    std::vector<Offset<file::Constant>> constants;
    for (const Constant& c : p_.constants) {
      auto array = write_array(c.tensor, *c.value);
      constants.push_back(file::CreateConstant(b_, place(c.value), array));
    }
    std::vector<Offset<file::Block>> blocks;
    for (size_t i = 0; i < blocks_.size(); ++i) blocks.push_back(write_block(*blocks_[i]));
    std::vector<Offset<file::State>> states;
    const std::vector<std::string> names = state_names(p_);
    for (size_t i = 0; i < p_.states.size(); ++i) {
      const StateUse& s = p_.states[i];
      states.push_back(file::CreateState(b_, text(names[i]), dtype(s.state->dtype),
                                         s.state->trainable, s.state->persistable,
                                         sizes(s.state->shape), place(s.initial), place(s.last)));
    }
    std::vector<Offset<file::Output>> outputs;
    for (const Output& o : p_.outputs)
      outputs.push_back(file::CreateOutput(b_, text(o.name), place(o.value)));
    std::vector<Offset<file::Entry>> metadata;
    for (const auto& [key, value] : p_.metadata)
      metadata.push_back(file::CreateEntry(b_, text(key), text(value)));
    std::vector<Offset<file::Value>> values;
    // Who loads a file asks for no gradients of a leaf in the middle: none goes through it.
    for (const Value* v : values_)
      values.push_back(file::CreateValue(b_, v->id, dtype(v->dtype), layout(v->layout),
                                         v->stop || v->leaf, v->requires_grad, sizes(v->shape),
                                         v->name.empty() ? 0 : text(v->name)));
    std::vector<Offset<flatbuffers::String>> strings;
    for (const std::string_view s : strings_)
      strings.push_back(b_.CreateString(s.data(), s.size()));
    auto producer = text("argosy " ARGOSY_VERSION), name = text(p_.name);
    b_.Finish(file::CreateProgram(b_, producer, name, b_.CreateVector(strings),
                                  b_.CreateVector(values), b_.CreateVector(blocks),
                                  b_.CreateVector(states), b_.CreateVector(constants),
                                  b_.CreateVector(outputs), b_.CreateVector(metadata)));
    FileHeader header{{}, kFormatVersion, 0, b_.GetSize()};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
    out.append(reinterpret_cast<const char*>(b_.GetBufferPointer()), b_.GetSize());
    return out;
  }

 private:
  void define(const Ref<Value>& v) {
    ARGOSY_CHECK(v->id < places_.size() && places_[v->id] == kNone, internal)
        << "%" << v->id << " of the Program is made twice.";
    places_[v->id] = static_cast<uint32_t>(values_.size());
    values_.push_back(v.get());
  }

  // Numbers values and blocks, outer ones first.
  void collect(const Block& block) {
    blocks_.push_back(&block);
    for (const Ref<Value>& v : block.arguments) define(v);
    for (const auto& o : block.operations) {
      for (const auto& inner : o->blocks) collect(*inner);
      for (const Ref<Value>& v : o->results) define(v);
    }
  }

  uint32_t place(const Ref<Value>& v) const {
    if (!v) return kNone;
    ARGOSY_CHECK(v->id < places_.size() && places_[v->id] != kNone, internal)
        << "%" << v->id << " is used in the Program but not made.";
    return places_[v->id];
  }

  Offset<flatbuffers::Vector<uint32_t>> places(std::span<const Ref<Value>> values) {
    if (values.empty()) return 0;
    std::vector<uint32_t> list;
    for (const Ref<Value>& v : values) list.push_back(place(v));
    return b_.CreateVector(list);
  }

  // The place of a text in the table of strings; it must live as long as the Program.
  uint32_t string_place(std::string_view s) {
    auto [it, fresh] = string_places_.try_emplace(s, static_cast<uint32_t>(strings_.size()));
    if (fresh) strings_.push_back(s);
    return it->second;
  }

  Offset<flatbuffers::String> text(std::string_view s) {
    return b_.CreateString(s.data(), s.size());
  }
  Offset<flatbuffers::Vector<int64_t>> sizes(const Shape& s) {
    return b_.CreateVector(s.data(), static_cast<size_t>(s.rank()));
  }
  static file::DType dtype(DType t) { return static_cast<file::DType>(t); }
  static file::Layout layout(Layout l) { return static_cast<file::Layout>(l); }

  template <class T>
  Offset<flatbuffers::Vector<T>> numbers(const std::vector<T>& list) {
    return list.empty() ? 0 : b_.CreateVector(list);
  }

  Offset<file::Attribute> write_attribute(const op::Field& field, const op::AttrType& type,
                                          const void* attrs) {
    const FieldValue v = read_field(field, attrs);
    const op::AttrType alone{type.name,    type.size, type.align, {&field, 1}, type.defaults,
                             type.trivial, false,     type.copy,  type.destroy};
    const bool is_default = op::equal(alone, attrs, type.defaults);
    const auto string = v.text.empty() ? Offset<flatbuffers::String>() : text(v.text);
    const auto integers = numbers(v.integers);
    const auto reals = numbers(v.reals);
    const auto symbols = numbers(v.symbols);
    Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> texts;
    if (!v.texts.empty()) texts = b_.CreateVectorOfStrings(v.texts);
    file::AttributeBuilder a(b_);
    a.add_name(string_place(field.name));
    a.add_kind(static_cast<file::Kind>(v.kind));
    a.add_is_default(is_default);
    a.add_none(v.none);
    a.add_single(v.single);
    a.add_is_symbol(v.is_symbol);
    a.add_number(static_cast<file::Number>(v.number));
    if (v.integer) a.add_integer(v.integer);
    if (std::bit_cast<uint64_t>(v.real)) a.add_real(v.real);
    if (std::bit_cast<uint64_t>(v.imaginary)) a.add_imaginary(v.imaginary);
    if (!string.IsNull()) a.add_text(string);
    if (!integers.IsNull()) a.add_integers(integers);
    if (!reals.IsNull()) a.add_reals(reals);
    if (!texts.IsNull()) a.add_texts(texts);
    if (!symbols.IsNull()) a.add_symbols(symbols);
    return a.Finish();
  }

  Offset<file::Block> write_block(const Block& block) {
    std::vector<Offset<file::Operation>> operations;
    for (const auto& o : block.operations) {
      ARGOSY_CHECK(o->op->name != op::names::kPyCall, invalid_argument)
          << "The Program calls a Python function (py_func, Print or Assert"
          << (o->location.empty() ? "" : ", ") << o->location
          << "), which cannot be saved. Do this: build it without, or fetch only what does not "
             "need it (normalize_program).";
      std::vector<Offset<file::Attribute>> attributes;
      for (const op::Field& f : o->op->attrs->fields)
        attributes.push_back(write_attribute(f, *o->op->attrs, o->attrs.get()));
      std::vector<uint32_t> inner;
      for (size_t i = 0; i < o->blocks.size(); ++i) inner.push_back(next_block_of(*o->blocks[i]));
      operations.push_back(file::CreateOperation(
          b_, string_place(o->op->name), places(o->operands), o->attr_operands, numbers(o->ends),
          attributes.empty() ? 0 : b_.CreateVector(attributes), places(o->results), numbers(inner),
          static_cast<file::Role>(o->role),
          o->location.empty() ? kNone : string_place(o->location)));
    }
    return file::CreateBlock(b_, places(block.arguments), b_.CreateVector(operations),
                             places(block.yields));
  }

  uint32_t next_block_of(const Block& block) {
    if (block_places_.empty())
      for (size_t i = 0; i < blocks_.size(); ++i)
        block_places_[blocks_[i]] = static_cast<uint32_t>(i);
    return block_places_.at(&block);
  }

  Offset<file::Array> write_array(const Tensor& t, const Value& v) {
    if (!t.defined())
      return file::CreateArray(b_, file::DType::MIN, file::Layout::strided, 0, 0, 0, 0, true);
    if (t.layout() != Layout::strided) {
      std::vector<Offset<file::Array>> parts;
      for (const Tensor& part : t.parts()) parts.push_back(write_array(part, v));
      return file::CreateArray(b_, dtype(t.dtype()), layout(t.layout()), sizes(t.shape()), 0, 0,
                               b_.CreateVector(parts));
    }
    ARGOSY_CHECK(t.has_data() && t.place().kind != DeviceKind::null, runtime)
        << "Constant %" << v.id << " of the Program, " << t << " on " << t.place()
        << ", cannot be saved: it has no values. Do this: make it on another device.";
    const Tensor dense = op::to_host(t);
    if (outside_ && t.nbytes() > kInlineBytes) {
      std::string name("argosy.constant.");
      name += std::to_string(v.id);
      if (int n = parts_of_[v.id]++) name.append(1, '.').append(std::to_string(n));
      outside_->emplace_back(name, dense);
      return file::CreateArray(b_, dtype(t.dtype()), file::Layout::strided, sizes(t.shape()), 0,
                               text(name));
    }
    inline_bytes_ += t.nbytes();
    ARGOSY_CHECK(inline_bytes_ <= kMaxInline, invalid_argument)
        << "The constants of the Program have more than 1 GiB, which does not fit into one "
           "piece. Do this: save it with its weights beside it (program_save).";
    b_.ForceVectorAlignment(t.nbytes(), 1, 16);
    return file::CreateArray(b_, dtype(t.dtype()), file::Layout::strided, sizes(t.shape()),
                             b_.CreateVector(static_cast<const uint8_t*>(dense.raw()), t.nbytes()));
  }

  const Program& p_;
  NamedTensors* outside_;
  flatbuffers::FlatBufferBuilder b_;
  std::vector<uint32_t> places_;  // by id
  std::vector<const Value*> values_;
  std::vector<const Block*> blocks_;
  std::map<const Block*, uint32_t> block_places_;
  std::map<std::string_view, uint32_t> string_places_;
  std::vector<std::string_view> strings_;
  std::map<uint32_t, int> parts_of_;
  size_t inline_bytes_ = 0;
};

}  // namespace

std::vector<std::string> state_names(const Program& p) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const StateUse& s : p.states) {
    std::string name = s.state->name;
    for (int n = 1; !taken.insert(name).second; ++n) name = s.state->name + "." + std::to_string(n);
    names.push_back(name);
  }
  return names;
}

std::string serialize(const Program& p, NamedTensors* outside) {
  return Writer(p, outside).write();
}

}  // namespace argosy::program

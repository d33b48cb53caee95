#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>

#include "argosy/op/dispatch.h"
#include "argosy/op/names.h"
#include "argosy/program/attributes.h"
#include "argosy/program/fields.h"
#include "argosy/program/program_generated.h"
#include "argosy/program/serialize.h"

namespace argosy::program {
namespace {

constexpr uint32_t kNone = 0xffffffff;
constexpr int kMaxNesting = 200;  // of blocks; destroying, printing and running recurse
// Memory that a file may ask for: files can name one part many times.
constexpr size_t kMemoryPerByte = 64, kMemoryAlways = 1 << 20;

[[noreturn]] void fail_damaged(const Message& what) {
  ARGOSY_THROW(invalid_argument)
      << "The saved Program is damaged: " << what.str()
      << ". Do this: copy the file again from where it was saved, or save it again.";
}
#define DAMAGED_UNLESS(condition, what)                \
  do {                                                 \
    if (!(condition)) fail_damaged(Message() << what); \
  } while (false)

class Reader {
 public:
  Reader(std::string_view bytes, std::span<const NamedTensors::value_type> outside)
      : outside_(outside), budget_(bytes.size() * kMemoryPerByte + kMemoryAlways) {
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                   /*max_depth=*/32,
                                   static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 64));
    DAMAGED_UNLESS(verifier.VerifyBuffer<file::Program>(nullptr),
                   "its parts do not lie where they should");
    f_ = flatbuffers::GetRoot<file::Program>(bytes.data());
  }

  std::shared_ptr<Program> read() {
    p_ = Program::make();
    p_->name = text(f_->name());
    read_values();
    const auto* blocks = f_->blocks();
    DAMAGED_UNLESS(blocks && blocks->size() && blocks->Get(0), "it has no main block");
    used_blocks_.assign(blocks->size(), false);
    if (f_->states())
      for (const file::State* s : *f_->states()) read_state(*s);
    if (f_->constants())
      for (const file::Constant* c : *f_->constants()) read_constant(*c);
    used_blocks_[0] = true;
    read_block(0, p_->main, 0);
    if (f_->outputs())
      for (const file::Output* o : *f_->outputs())
        p_->outputs.push_back({text(o->name()), value(o->value(), "an output")});
    if (f_->metadata())
      for (const file::Entry* e : *f_->metadata())
        p_->metadata.emplace_back(text(e->key()), text(e->value()));
    for (size_t i = 0; i < last_.size(); ++i)
      if (last_[i] != kNone) p_->states[i].last = value(last_[i], "what is written to state");
    check_names();
    return p_;
  }

 private:
  // Counts memory that is about to be used.
  void spend(size_t bytes) {
    DAMAGED_UNLESS(bytes <= budget_, "it asks for much more memory than it has bytes");
    budget_ -= bytes;
  }

  std::string text(const flatbuffers::String* s) {
    if (!s) return {};
    spend(s->size());
    return s->str();
  }

  // FlatBuffers' own verifier looks only at where the length of a list lies.
  template <class T>
  static void check_aligned(const flatbuffers::Vector<T>& list) {
    DAMAGED_UNLESS(!list.size() || reinterpret_cast<uintptr_t>(list.Data()) % alignof(T) == 0,
                   "a list of numbers does not lie where it should");
  }

  Shape shape(const flatbuffers::Vector<int64_t>* sizes) {
    Shape s;
    if (!sizes) return s;
    check_aligned(*sizes);
    DAMAGED_UNLESS(sizes->size() <= kMaxRank, "a shape has " << sizes->size() << " dimensions");
    for (int64_t size : *sizes) {
      DAMAGED_UNLESS(size >= kUnknown, "a shape has the size " << size);
      s.push_back(size);
    }
    s.numel();  // raises when there are too many
    return s;
  }

  DType dtype(file::DType t) {
    ARGOSY_CHECK(int(t) < kDTypeCount, invalid_argument)
        << "The saved Program has a dtype that this Argosy does not know (number " << int(t)
        << "): it was made by " << producer() << ". Do this: upgrade Argosy.";
    return static_cast<DType>(t);
  }
  Layout layout(file::Layout l) {
    ARGOSY_CHECK(l <= file::Layout::MAX, invalid_argument)
        << "The saved Program has a layout that this Argosy does not know (number " << int(l)
        << "): it was made by " << producer() << ". Do this: upgrade Argosy.";
    return static_cast<Layout>(l);
  }

  std::string producer() {
    std::string who = text(f_->producer());
    return who.empty() ? "an unnamed program" : "'" + who.substr(0, 80) + "'";
  }

  std::string_view string_at(uint32_t place) {
    const auto* strings = f_->strings();
    DAMAGED_UNLESS(strings && place < strings->size() && strings->Get(place),
                   "it names a text that it does not have");
    const flatbuffers::String* s = strings->Get(place);
    return {s->data(), s->size()};
  }

  void read_values() {
    const auto* values = f_->values();
    const uint32_t count = values ? values->size() : 0;
    spend(count * sizeof(Value));
    uint32_t end = 0;
    for (uint32_t i = 0; i < count; ++i)
      end = std::max(end, values->Get(i)->id() == kNone ? kNone : values->Get(i)->id() + 1);
    // Ids are only labels: numbered anew where they would make big tables.
    const bool renumber = end / 16 > count + 4096;
    end = renumber ? count : end;
    std::vector<bool> seen(end);
    for (uint32_t i = 0; i < count; ++i) {
      const file::Value& f = *values->Get(i);
      auto v = make_ref<Value>();
      v->id = renumber ? i : f.id();
      DAMAGED_UNLESS(!seen[v->id], "two values have the number " << v->id);
      seen[v->id] = true;
      v->shape = shape(f.shape());
      v->dtype = dtype(f.dtype());
      v->layout = layout(f.layout());
      v->stop = f.stop();
      v->requires_grad = f.requires_grad();
      v->name = text(f.name());
      v->program = p_->weak_from_this();
      values_.push_back(std::move(v));
    }
    p_->reserve_ids(end);
  }

  Ref<Value> value(uint32_t place, const char* what) {
    DAMAGED_UNLESS(place < values_.size(),
                   what << " is value " << place << " of " << values_.size());
    return values_[place];
  }

  // A value where it is made, which is once.
  Ref<Value> defined(uint32_t place, Block& block, const char* what) {
    Ref<Value> v = value(place, what);
    DAMAGED_UNLESS(!v->block, "value " << place << " is made twice");
    v->block = &block;
    return v;
  }

  void read_state(const file::State& f) {
    spend(sizeof(State));
    auto s = make_ref<State>();
    s->name = text(f.name());
    s->shape = shape(f.shape());
    s->dtype = dtype(f.dtype());
    s->trainable = f.trainable();
    s->persistable = f.persistable();
    DAMAGED_UNLESS(!s->name.empty(), "a state has no name");
    p_->states.push_back({s, defined(f.initial(), p_->main, "a state"), {}});
    last_.push_back(f.last());
  }

  void check_names() {
    std::vector<std::string_view> names;
    for (const StateUse& s : p_->states) names.push_back(s.state->name);
    std::sort(names.begin(), names.end());
    auto twice = std::adjacent_find(names.begin(), names.end());
    DAMAGED_UNLESS(twice == names.end(), "two states are called '" << *twice << "'");
  }

  Tensor array(const file::Array& f, bool may_miss) {
    spend(sizeof(TensorImpl) + sizeof(Storage));
    if (f.missing()) {
      DAMAGED_UNLESS(may_miss, "a constant is missing");
      return {};
    }
    const Shape s = shape(f.shape());
    const DType type = dtype(f.dtype());
    const Layout form = layout(f.layout());
    DAMAGED_UNLESS(s.known(), "a constant has a shape that is not known");
    if (form != Layout::strided) {
      std::vector<Tensor> parts;
      if (f.parts())
        for (const file::Array* part : *f.parts())
          parts.push_back(array(*part, form == Layout::tensor_array));
      if (form == Layout::row_sparse) {
        DAMAGED_UNLESS(parts.size() == 2 && s.rank() >= 1 && parts[0].rank() == 1 &&
                           parts[0].dtype() == DType::int64 && parts[1].rank() == s.rank() &&
                           parts[1].dtype() == type && parts[0].dim(0) == parts[1].dim(0),
                       "a row-sparse constant is malformed");
        for (int d = 1; d < s.rank(); ++d)
          DAMAGED_UNLESS(parts[1].dim(d) == s[d], "a row-sparse constant is malformed");
        for (int64_t i = 0; i < parts[0].numel(); ++i)
          DAMAGED_UNLESS(parts[0].data<int64_t>()[i] >= 0 && parts[0].data<int64_t>()[i] < s[0],
                         "a row-sparse constant has a row out of range");
        return Tensor::row_sparse(parts[0], parts[1], s[0]);
      }
      DAMAGED_UNLESS(form == Layout::tensor_array && s.rank() == 1 &&
                         s[0] == static_cast<int64_t>(parts.size()),
                     "a constant has a layout that constants do not have");
      Tensor t = Tensor::describe(s, type);
      t.impl()->layout = form;
      t.impl()->parts = std::move(parts);
      return t;
    }
    const std::string name = text(f.weight());
    if (!name.empty()) return weight(name, s, type);
    const size_t have = f.bytes() ? f.bytes()->size() : 0;
    DAMAGED_UNLESS(static_cast<uint64_t>(s.numel()) <= have &&
                       static_cast<size_t>(s.numel()) * item_size(type) == have,
                   "a constant " << type << s << " has " << have << " bytes");
    spend(have);
    Tensor t = Tensor::empty(s, type);
    if (have) std::memcpy(t.raw(), f.bytes()->data(), have);
    if (type == DType::bool_)
      for (size_t i = 0; i < have; ++i)
        DAMAGED_UNLESS(f.bytes()->data()[i] <= 1, "a constant of dtype bool has other bytes");
    return t;
  }

  Tensor weight(const std::string& name, const Shape& s, DType type) {
    if (by_name_.empty())
      for (const auto& [key, t] : outside_) by_name_.emplace(key, &t);
    if (auto it = by_name_.find(name); it != by_name_.end()) {
      const Tensor& tensor = *it->second;
      ARGOSY_CHECK(tensor.shape() == s && tensor.dtype() == type, invalid_argument)
          << "The weights do not belong to the saved Program: '" << name << "' must be " << type
          << s << ", is " << tensor
          << ". Do this: keep the two files of a saved model (.argosy and .safetensors) together.";
      return tensor;
    }
    ARGOSY_THROW(invalid_argument)
        << "The saved Program has a constant '" << name
        << "' in a weights file, which was not given. Do this: load PREFIX.argosy together with "
           "PREFIX.safetensors (program_load, jit.load).";
  }

  void read_constant(const file::Constant& f) {
    DAMAGED_UNLESS(f.array(), "a constant has no data");
    Ref<Value> v = defined(f.value(), p_->main, "a constant");
    Tensor t = array(*f.array(), false);
    DAMAGED_UNLESS(t.layout() == v->layout && (v->layout != Layout::strided ||
                                               (t.dtype() == v->dtype && t.shape() == v->shape)),
                   "a constant's data has not the type that the Program says");
    p_->constants.push_back({v, std::move(t), true});
  }

  // Of one operation: the kind says how to read it, the op's own field where it goes.
  void read_attribute(const file::Attribute& f, Operation& o) {
    const std::string_view name = string_at(f.name());
    const op::Field* field = nullptr;
    for (const op::Field& own : o.op->attrs->fields)
      if (name == own.name) field = &own;
    if (!field && f.is_default()) return;
    ARGOSY_CHECK(field && f.kind() <= file::Kind::MAX, invalid_argument)
        << "[" << o.op->name << "] of the saved Program has an attribute '" << name.substr(0, 80)
        << "' that this Argosy does not know: it was made by " << producer()
        << ". Do this: upgrade Argosy.";
    FieldValue v;
    v.kind = static_cast<op::FieldKind>(f.kind());
    v.none = f.none();
    v.single = f.single();
    v.is_symbol = f.is_symbol();
    v.number = static_cast<op::Scalar::Kind>(f.number());
    v.integer = f.integer().value_or(0);
    v.real = f.real().value_or(0);
    v.imaginary = f.imaginary().value_or(0);
    v.text = text(f.text());
    list(f.integers(), v.integers);
    list(f.reals(), v.reals);
    list(f.symbols(), v.symbols);
    if (f.texts())
      for (const flatbuffers::String* s : *f.texts()) {
        spend(sizeof(std::string));
        v.texts.push_back(text(s));
      }
    spend(v.symbols.size() * sizeof(op::IntArray::Symbol));
    const char* wrong = write_field(*field, o.attrs.get(), std::move(v));
    DAMAGED_UNLESS(!wrong, "attribute '" << field->name << "' of " << o.op->name << " " << wrong);
  }

  template <class T>
  void list(const flatbuffers::Vector<T>* from, std::vector<T>& to) {
    if (!from) return;
    spend(from->size() * sizeof(T));
    check_aligned(*from);
    to.assign(from->begin(), from->end());
  }

  void read_places(const flatbuffers::Vector<uint32_t>* from, std::vector<Ref<Value>>& to,
                   const char* what, bool may_miss) {
    if (!from) return;
    spend(from->size() * sizeof(Ref<Value>));
    to.reserve(from->size());
    for (uint32_t place : *from)
      to.push_back(may_miss && place == kNone ? Ref<Value>() : value(place, what));
  }

  void define_places(const flatbuffers::Vector<uint32_t>* from, std::vector<Ref<Value>>& to,
                     Block& block, const char* what) {
    if (!from) return;
    for (uint32_t place : *from) to.push_back(defined(place, block, what));
  }

  std::unique_ptr<Operation> read_operation(const file::Operation& f, Block& block,
                                            uint32_t block_place, int depth) {
    spend(sizeof(Operation));
    auto o = std::make_unique<Operation>();
    const std::string_view name = string_at(f.op());
    o->op = op::find(name);
    ARGOSY_CHECK(o->op, invalid_argument)
        << "The saved Program uses the op '" << name.substr(0, 80)
        << "', which this Argosy does not have: it was made by " << producer()
        << ". Do this: upgrade Argosy if that is newer than this one (" ARGOSY_VERSION
           "); if the op is from an extension, load that first "
           "(argosy.utils.cpp_extension.load_op_library(path)); if it is a Python function, "
           "register "
           "it first (argosy.static.register_op).";
    ARGOSY_CHECK(o->op->name != op::names::kPyCall, invalid_argument)
        << "The saved Program calls a Python function, which a file cannot hold.";
    spend(o->op->attrs->size);
    o->attrs = op::AttrBox(*o->op->attrs, o->op->attrs->defaults);
    if (f.attributes())
      for (const file::Attribute* a : *f.attributes()) read_attribute(*a, *o);
    o->parent = &block;
    o->attr_operands = f.attr_operands();
    DAMAGED_UNLESS(f.role() <= file::Role::MAX, "an operation has a role that there is not");
    o->role = static_cast<Role>(f.role());
    if (f.location() != kNone) {
      const std::string_view where = string_at(f.location());
      spend(where.size());
      o->location = where;
    }
    read_places(f.operands(), o->operands, "an operand", true);
    list(f.ends(), o->ends);
    if (f.blocks())
      for (uint32_t place : *f.blocks()) {
        DAMAGED_UNLESS(place > block_place && place < used_blocks_.size() && !used_blocks_[place],
                       "an operation owns a block that is not its own");
        DAMAGED_UNLESS(depth < kMaxNesting, "blocks are nested deeper than " << kMaxNesting);
        used_blocks_[place] = true;
        spend(sizeof(Block));
        o->blocks.push_back(std::make_unique<Block>());
        o->blocks.back()->owner = o.get();
        read_block(place, *o->blocks.back(), depth + 1);
      }
    define_places(f.results(), o->results, block, "a result");
    for (const Ref<Value>& v : o->results) v->producer = o.get();
    return o;
  }

  void read_block(uint32_t place, Block& block, int depth) {
    const file::Block& f = *f_->blocks()->Get(place);
    define_places(f.arguments(), block.arguments, block, "a block argument");
    if (f.operations())
      for (const file::Operation* o : *f.operations())
        block.operations.push_back(read_operation(*o, block, place, depth));
    read_places(f.yields(), block.yields, "a yield", false);
  }

  std::span<const NamedTensors::value_type> outside_;
  std::map<std::string_view, const Tensor*> by_name_;
  size_t budget_;
  const file::Program* f_ = nullptr;
  std::shared_ptr<Program> p_;
  std::vector<Ref<Value>> values_;  // by place
  std::vector<uint32_t> last_;      // of each state
  std::vector<bool> used_blocks_;
};

}  // namespace

std::shared_ptr<Program> deserialize(std::string_view bytes,
                                     std::span<const NamedTensors::value_type> outside) {
  std::shared_ptr<Program> p = deserialize_unverified(bytes, outside);
  try {
    p->verify();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::memory) throw;
    fail_damaged(Message() << "it is no valid Program (" << e.what() << ")");
  }
  return p;
}

std::shared_ptr<Program> deserialize_unverified(std::string_view bytes,
                                                std::span<const NamedTensors::value_type> outside) {
  FileHeader header;
  const size_t magic = std::min(bytes.size(), sizeof(kMagic));
  ARGOSY_CHECK(std::memcmp(bytes.data(), kMagic, magic) == 0, invalid_argument)
      << "This is no saved Program: it does not begin as one. Do this: give the .argosy file that "
         "program_save or jit.save wrote.";
  DAMAGED_UNLESS(bytes.size() >= sizeof(header),
                 "it is truncated: it has only " << bytes.size() << " bytes");
  std::memcpy(&header, bytes.data(), sizeof(header));
  ARGOSY_CHECK(header.format <= kFormatVersion, invalid_argument)
      << "The saved Program has format version " << header.format
      << "; this Argosy (" ARGOSY_VERSION ") reads up to " << kFormatVersion
      << ". Do this: upgrade Argosy, or save it with this version.";
  DAMAGED_UNLESS(header.format >= 1 && header.reserved == 0, "its header is wrong");
  std::string_view body = bytes.substr(sizeof(header));
  DAMAGED_UNLESS(header.bytes == body.size(),
                 "it is truncated or has something behind it: its header tells of "
                     << header.bytes << " bytes, it has " << body.size());
  DAMAGED_UNLESS(body.size() < FLATBUFFERS_MAX_BUFFER_SIZE, "it is too big");
  // Numbers in it are aligned relative to its start.
  if (reinterpret_cast<uintptr_t>(body.data()) % 16) {
    std::vector<std::max_align_t> room(body.size() / sizeof(std::max_align_t) + 1);
    std::memcpy(room.data(), body.data(), body.size());
    return Reader({reinterpret_cast<const char*>(room.data()), body.size()}, outside).read();
  }
  return Reader(body, outside).read();
}

}  // namespace argosy::program

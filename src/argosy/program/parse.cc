#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "argosy/op/dispatch.h"
#include "argosy/program/fields.h"
#include "argosy/program/text.h"

namespace argosy::program {
namespace {

using op::FieldKind;

constexpr int kMaxNesting = 200;  // of blocks, as in files

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class Parser {
 public:
  Parser(std::string_view text, std::span<const Tensor> constants, bool without_data)
      : text_(text), constants_(constants), without_data_(without_data) {}

  std::shared_ptr<Program> parse() {
    p_ = Program::make();
    p_->main.owner = nullptr;
    word("program");
    if (peek() == '"') p_->name = string('"');
    symbol('{');
    head();
    operations(p_->main, 0);
    tail();
    symbol('}');
    space();
    if (at_ < text_.size()) fail("nothing more after the Program");
    p_->reserve_ids(made_ ? last_id_ + 1 : 0);
    return p_;
  }

 private:
  // --- characters ---

  [[noreturn]] void fail(const Message& expected) {
    size_t line = 1, begin = 0;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i)
      if (text_[i] == '\n') ++line, begin = i + 1;
    Message got;
    if (at_ >= text_.size()) {
      got << "the text ends";
    } else {
      size_t end = at_;
      while (end < text_.size() && end < at_ + 24 && text_[end] != '\n') ++end;
      got << "got `" << text_.substr(at_, end - at_) << '`';
    }
    ARGOSY_THROW(invalid_argument) << "[parse] line " << line << ", column " << at_ - begin + 1
                                   << ": expected " << expected.str() << "; " << got.str() << '.';
  }
  [[noreturn]] void fail(const char* expected) { fail(Message() << expected); }
  [[noreturn]] void fail_at(size_t at, const Message& expected) {
    at_ = at;
    fail(expected);
  }

  void space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '/' && text_.substr(at_, 2) == "//")
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      else if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
        ++at_;
      else
        return;
    }
  }

  // The next character that counts; 0 at the end.
  char peek() {
    space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void symbol(char c) {
    if (!take(c)) fail(Message() << '`' << c << '`');
  }

  std::string_view peek_word() {
    space();
    size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool take_word(std::string_view w) {
    if (peek_word() != w) return false;
    at_ += w.size();
    return true;
  }
  void word(std::string_view w) {
    if (!take_word(w)) fail(Message() << '`' << w << '`');
  }
  std::string_view any_word(const char* what) {
    const std::string_view w = peek_word();
    if (w.empty()) fail(what);
    at_ += w.size();
    return w;
  }

  std::string string(char quote) {
    if (!take(quote)) fail(Message() << "a text in " << quote);
    std::string s;
    for (;; ++at_) {
      if (at_ >= text_.size()) fail(Message() << "the end of a text, " << quote);
      char c = text_[at_];
      if (c == quote) break;
      if (c == '\\') {
        const char next = at_ + 1 < text_.size() ? text_[++at_] : '\0';
        if (next == 'n') {
          c = '\n';
        } else if (next == 'x') {
          unsigned code = 0;
          const char* from = text_.data() + at_ + 1;
          if (at_ + 2 >= text_.size() || std::from_chars(from, from + 2, code, 16).ptr != from + 2)
            fail("two hexadecimal digits");
          c = static_cast<char>(code);
          at_ += 2;
        } else {
          c = next;
        }
      }
      s += c;
    }
    ++at_;
    return s;
  }

  // --- numbers ---

  // The characters of a number: a sign, digits, letters of nan, inf and exponents.
  std::string_view number_text() {
    space();
    size_t end = at_;
    while (end < text_.size() &&
           (is_word(text_[end]) || text_[end] == '.' || text_[end] == '+' || text_[end] == '-'))
      ++end;
    return text_.substr(at_, end - at_);
  }

  template <class T>
  T integer() {
    const std::string_view s = number_text();
    T v{};
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (s.empty() || error != std::errc() || end != s.data() + s.size())
      fail(Message() << "an integer from " << std::numeric_limits<T>::min() << " to "
                     << std::numeric_limits<T>::max());
    at_ += s.size();
    return v;
  }

  template <class T>
  T floating() {
    std::string_view s = number_text();
    const size_t length = s.size();
    T v{};
    if (s == "nan" || s == "-nan") {
      v = std::copysign(std::numeric_limits<T>::quiet_NaN(), s[0] == '-' ? T(-1) : T(1));
    } else {
      auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
      const bool out_of_range = error == std::errc::result_out_of_range;
      if (s.empty() || (error != std::errc() && !out_of_range) || end != s.data() + s.size())
        fail("a number");
      if (out_of_range) fail("a number that its dtype can hold");
    }
    at_ += length;
    return v;
  }

  // As in attributes, where Python's spelling is kept.
  double python_float() {
    if (!take_word("float")) return floating<double>();
    symbol('(');
    const std::string s = string('\'');
    symbol(')');
    if (s == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (s == "inf") return std::numeric_limits<double>::infinity();
    if (s == "-inf") return -std::numeric_limits<double>::infinity();
    fail("float('nan'), float('inf') or float('-inf')");
  }

  bool boolean() {
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    fail("True or False");
  }

  DType dtype_named(std::string_view name, size_t where) {
    for (int i = 0; i < kDTypeCount; ++i)
      if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
    fail_at(where, Message() << "a dtype, as float32");
  }

  // --- values ---

  uint32_t id() {
    symbol('%');
    if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') fail("the number of a value");
    const size_t where = at_;
    uint32_t v = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    // Tables go by number; a text of some length needs no more than so many.
    if (error != std::errc() || v / 16 > text_.size() + 4096)
      fail_at(where, Message() << "a value's number, not as big a one");
    at_ = static_cast<size_t>(end - text_.data());
    return v;
  }

  Ref<Value> use(const Block& block) {
    const size_t where = at_;
    const uint32_t i = id();
    if (i >= values_.size() || !values_[i] || values_[i]->block != &block)
      fail_at(where, Message() << "a value made before in its own block");
    return values_[i];
  }

  Ref<Value> define(Block& block) {
    const size_t where = at_;
    const uint32_t i = id();
    if (i >= values_.size()) values_.resize(std::max<size_t>(i + size_t{1}, values_.size() * 2));
    if (values_[i]) fail_at(where, Message() << "a value that is not made twice");
    auto v = make_ref<Value>();
    v->id = i;
    v->program = p_->weak_from_this();
    v->block = &block;
    last_id_ = std::max(last_id_, i);
    made_ = true;
    values_[i] = v;
    return v;
  }

  void type(Value& v) {
    size_t where = (space(), at_);
    std::string_view w = any_word("a type, as float32[2, ?]");
    for (Layout l :
         {Layout::ragged, Layout::row_sparse, Layout::coo, Layout::csr, Layout::tensor_array})
      if (w == layout_name(l)) {
        v.layout = l;
        where = (space(), at_);
        w = any_word("a dtype");
        break;
      }
    v.dtype = dtype_named(w, where);
    symbol('[');
    while (!take(']')) {
      if (v.shape.rank()) symbol(',');
      if (v.shape.rank() == kMaxRank) fail("at most 9 sizes");
      if (take('?')) {
        v.shape.push_back(kUnknown);
        continue;
      }
      where = at_;
      const int64_t size = integer<int64_t>();
      if (size < 0) fail_at(where, Message() << "a size, or ? where it is not known");
      v.shape.push_back(size);
    }
    v.shape.numel();  // raises when there are too many
  }

  void name(Value& v) {
    if (peek() == '"') v.name = string('"');
  }

  void flow(Value& v, bool flows) {
    v.requires_grad = flows;
    if (take_word("grad")) v.requires_grad = true;
    if (take_word("stop")) {
      v.requires_grad = false;
      v.stop = v.producer != nullptr;
    }
  }

  // --- the whole ---

  void head() {
    std::set<std::string> names;
    for (;;) {
      if (take_word("metadata")) {
        std::string key = string('"');
        symbol('=');
        p_->metadata.emplace_back(std::move(key), string('"'));
      } else if (take_word("input")) {
        Ref<Value> v = define(p_->main);
        name(*v);
        symbol(':');
        type(*v);
        flow(*v, false);
        p_->main.arguments.push_back(v);
      } else if (take_word("state")) {
        auto s = make_ref<State>();
        Ref<Value> v = define(p_->main);
        const size_t where = at_;
        s->name = string('"');
        if (s->name.empty() || !names.insert(s->name).second)
          fail_at(where, Message() << "a name of its own for each state");
        v->name = s->name;
        symbol(':');
        type(*v);
        s->shape = v->shape;
        s->dtype = v->dtype;
        s->trainable = take_word("trainable");
        s->persistable = !take_word("temporary");
        flow(*v, s->trainable);
        p_->states.push_back({s, v, {}});
      } else if (take_word("constant")) {
        Ref<Value> v = define(p_->main);
        symbol(':');
        type(*v);
        name(*v);
        flow(*v, false);
        symbol('=');
        p_->constants.push_back({v, peek() == '#' ? named_constant(*v) : elements(*v), true});
      } else {
        return;
      }
    }
  }

  void tail() {
    for (;;) {
      if (take_word("write")) {
        const size_t where = (space(), at_);
        StateUse* use_of = p_->find_state(string('"'));
        if (!use_of) fail_at(where, Message() << "the name of a state");
        if (use_of->last) fail_at(where, Message() << "a state that is written once");
        symbol('=');
        use_of->last = use(p_->main);
      } else if (take_word("output")) {
        std::string name = string('"');
        symbol('=');
        p_->outputs.push_back({std::move(name), use(p_->main)});
      } else {
        return;
      }
    }
  }

  // --- constants ---

  Tensor elements(const Value& v) {
    const size_t where = at_;
    if (v.layout != Layout::strided || !v.shape.known())
      fail("the digest of a constant that is not dense, as #0123456789abcdef");
    const int64_t count = v.shape.numel();
    // Each element takes two characters.
    if (static_cast<uint64_t>(count) > text_.size()) fail(Message() << count << " elements");
    Tensor t = Tensor::empty(v.shape, v.dtype);
    symbol('[');
    dispatch_types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t,
                   float8_e4m3, float8_e5m2, float16, bfloat16, float, double, complex64,
                   complex128>(v.dtype, [&]<class T>(T) {
      for (int64_t i = 0; i < count; ++i) {
        if (i) symbol(',');
        t.data<T>()[i] = element<T>();
      }
    });
    if (!take(']')) fail_at(where, Message() << count << " elements for " << v.dtype << v.shape);
    return t;
  }

  template <class T>
  T element() {
    if constexpr (std::is_same_v<T, bool>) {
      return boolean();
    } else if constexpr (std::is_integral_v<T>) {
      return integer<T>();
    } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      return floating<T>();
    } else if constexpr (sizeof(T) <= 2) {
      return T(floating<float>());
    } else {
      symbol('(');
      const auto real = floating<typename T::value_type>();
      symbol(',');
      const auto imaginary = floating<typename T::value_type>();
      symbol(')');
      return {real, imaginary};
    }
  }

  Tensor named_constant(const Value& v) {
    const size_t where = at_;
    symbol('#');
    const std::string digest(any_word("a digest"));
    if (digest.size() != 16) fail_at(where, Message() << "16 hexadecimal digits after #");
    if (digests_.size() != constants_.size())
      for (const Tensor& t : constants_) digests_.push_back(digest_of(t));
    for (size_t i = 0; i < digests_.size(); ++i)
      if (digests_[i] == digest) return constants_[i];
    if (!without_data_)
      fail_at(where, Message() << "a constant whose elements are here or given beside the text");
    if (!v.shape.known()) fail_at(where, Message() << "a constant of known sizes");
    Tensor t = Tensor::describe(v.shape, v.dtype, {DeviceKind::null, 0});
    t.impl()->layout = v.layout;
    t.impl()->name = std::make_unique<std::string>(digest);
    return t;
  }

  // --- operations ---

  bool at_operation() {
    if (peek() == '%') return true;
    const std::string_view w = peek_word();
    if (w.empty() || w == "yield" || w == "write" || w == "output") return false;
    // The name of an op without results.
    size_t end = at_ + w.size();
    while (end < text_.size() && text_[end] == ' ') ++end;
    return end < text_.size() && text_[end] == '(';
  }

  void operations(Block& block, int depth) {
    while (at_operation()) block.operations.push_back(operation(block, depth));
  }

  std::unique_ptr<Operation> operation(Block& block, int depth) {
    auto o = std::make_unique<Operation>();
    o->parent = &block;
    // Results are made after the operation's own blocks are read, but their names come first.
    std::vector<size_t> results;
    if (peek() == '%') {
      do {
        space();
        results.push_back(at_);
        id();
      } while (take(','));
      symbol('=');
    }
    const size_t where = (space(), at_);
    const std::string_view op_name = any_word("the name of an op");
    o->op = op::find(op_name);
    if (!o->op)
      fail_at(where,
              Message() << "an op that this Argosy has (newer ones need a newer Argosy, those "
                           "of extensions that the extension is loaded first, with "
                           "argosy.utils.cpp_extension.load_op_library(path))");
    o->attrs = op::AttrBox(*o->op->attrs, o->op->attrs->defaults);
    operands(*o, block);
    if (peek() == '{') attributes_of(*o);
    if (take(':')) {
      for (size_t i = 0; i < results.size(); ++i) {
        if (i) symbol(',');
        Ref<Value> v = define_at(results[i], block);
        v->producer = o.get();
        o->results.push_back(v);
        type(*v);
        name(*v);
        flow(*v, flows(*o, *v));
      }
    } else if (!results.empty()) {
      fail("`:` and the types of the results");
    }
    while (take('{')) {
      if (depth >= kMaxNesting) fail(Message() << "blocks nested at most " << kMaxNesting);
      nested(*o, depth + 1);
    }
    if (take_word("backward"))
      o->role = Role::backward;
    else if (take_word("optimize"))
      o->role = Role::optimize;
    if (take_word("loc")) {
      symbol('(');
      o->location = string('"');
      symbol(')');
    }
    return o;
  }

  Ref<Value> define_at(size_t where, Block& block) {
    const size_t back = at_;
    at_ = where;
    Ref<Value> v = define(block);
    at_ = back;
    return v;
  }

  void operands(Operation& o, const Block& block) {
    bool lists = false;
    for (const op::InputDef& i : o.op->inputs) lists |= i.list;
    lists &= !o.op->structural;
    symbol('(');
    if (take(')')) {
      if (lists) o.ends.assign(o.op->inputs.size(), 0);
      return;
    }
    auto one = [&] {
      if (take_word("None"))
        o.operands.push_back({});
      else
        o.operands.push_back(use(block));
    };
    if (peek() != ';') {
      do {
        if (peek() != '[') {
          one();
        } else {
          symbol('[');
          if (!lists) fail("an operand: the op takes no lists");
          if (peek() != ']') {
            do one();
            while (take(','));
          }
          symbol(']');
        }
        if (lists) o.ends.push_back(static_cast<uint32_t>(o.operands.size()));
      } while (take(','));
    }
    if (take(';')) {
      do {
        one();
        ++o.attr_operands;
      } while (take(','));
    }
    symbol(')');
  }

  void nested(Operation& o, int depth) {
    auto block = std::make_unique<Block>();
    block->owner = &o;
    symbol('(');
    if (!take(')')) {
      do {
        Ref<Value> v = define(*block);
        symbol(':');
        type(*v);
        name(*v);
        flow(*v, flows(o, block->arguments.size(), *v));
        block->arguments.push_back(v);
      } while (take(','));
      symbol(')');
    }
    operations(*block, depth);
    word("yield");
    if (peek() == '%') {
      do block->yields.push_back(use(*block));
      while (take(','));
    }
    symbol('}');
    o.blocks.push_back(std::move(block));
  }

  // --- attributes ---

  void attributes_of(Operation& o) {
    symbol('{');
    if (take('}')) return;
    do {
      const size_t where = (space(), at_);
      const std::string_view attr = any_word("the name of an attribute");
      const op::Field* field = nullptr;
      for (const op::Field& f : o.op->attrs->fields)
        if (attr == f.name) field = &f;
      if (!field) fail_at(where, Message() << "an attribute of " << o.op->name);
      symbol('=');
      const size_t value_at = (space(), at_);
      FieldValue v;
      v.kind = field->kind;
      attribute(v);
      if (const char* wrong = write_field(*field, o.attrs.get(), std::move(v)))
        fail_at(value_at, Message() << kind_name(field->kind) << " (this " << wrong << ')');
    } while (take(','));
    symbol('}');
  }

  void attribute(FieldValue& v) {
    switch (v.kind) {
      case FieldKind::optional_boolean:
      case FieldKind::optional_integer:
      case FieldKind::optional_real:
      case FieldKind::optional_dtype:
      case FieldKind::optional_string:
      case FieldKind::optional_scalar:
      case FieldKind::int_array:
        if (take_word("None")) {
          v.none = true;
          return;
        }
        break;
      default:
        break;
    }
    auto list = [&](auto&& item) {
      symbol('[');
      for (bool first = true; !take(']'); first = false) {
        if (!first) symbol(',');
        item();
      }
    };
    auto dtype = [&] {
      const size_t where = (space(), at_);
      return static_cast<int64_t>(dtype_named(string('\''), where));
    };
    switch (v.kind) {
      case FieldKind::boolean:
      case FieldKind::optional_boolean:
        v.integer = boolean();
        return;
      case FieldKind::integer:
      case FieldKind::optional_integer:
        v.integer = integer<int64_t>();
        return;
      case FieldKind::real:
      case FieldKind::optional_real:
        v.real = python_float();
        return;
      case FieldKind::string:
      case FieldKind::optional_string:
        v.text = string('\'');
        return;
      case FieldKind::dtype:
      case FieldKind::optional_dtype:
        v.integer = dtype();
        return;
      case FieldKind::integers:
        return list([&] { v.integers.push_back(integer<int64_t>()); });
      case FieldKind::reals:
        return list([&] { v.reals.push_back(python_float()); });
      case FieldKind::strings:
        return list([&] { v.texts.push_back(string('\'')); });
      case FieldKind::dtypes:
        return list([&] { v.integers.push_back(dtype()); });
      case FieldKind::scalar:
      case FieldKind::optional_scalar:
        return scalar(v);
      case FieldKind::int_array: {
        auto size = [&] {
          if (take('$')) {
            v.symbols.push_back(static_cast<uint32_t>(v.integers.size()));
            v.integers.push_back(kUnknown);
          } else {
            v.integers.push_back(integer<int64_t>());
          }
        };
        v.single = peek() != '[';
        return v.single ? size() : list(size);
      }
    }
  }

  void scalar(FieldValue& v) {
    using Kind = op::Scalar::Kind;
    if (take('$')) {
      v.is_symbol = true;
      return;
    }
    const std::string_view w = peek_word();
    if (w == "True" || w == "False") {
      v.number = Kind::boolean;
      v.integer = boolean();
    } else if (take_word("complex")) {
      v.number = Kind::complex;
      symbol('(');
      v.real = python_float();
      symbol(',');
      v.imaginary = python_float();
      symbol(')');
    } else if (w == "float" || number_text().find_first_of(".en") != std::string_view::npos) {
      v.number = Kind::real;
      v.real = python_float();
    } else if (w.empty() && number_text().empty()) {
      fail("a number, True, False or $");
    } else {
      v.number = Kind::integer;
      v.integer = integer<int64_t>();
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  std::span<const Tensor> constants_;
  std::vector<std::string> digests_;
  bool without_data_;
  std::shared_ptr<Program> p_;
  std::vector<Ref<Value>> values_;  // by id
  uint32_t last_id_ = 0;
  bool made_ = false;
};

}  // namespace

std::shared_ptr<Program> parse(std::string_view text, std::span<const Tensor> constants,
                               bool without_data) {
  std::shared_ptr<Program> p = Parser(text, constants, without_data).parse();
  try {
    p->verify();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::memory) throw;
    ARGOSY_THROW(invalid_argument) << "[parse] the text is no valid Program: " << e.what();
  }
  return p;
}

std::shared_ptr<Program> parse_unverified(std::string_view text) {
  return Parser(text, {}, false).parse();
}

}  // namespace argosy::program

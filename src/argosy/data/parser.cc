#include "argosy/data/parser.h"

#include <string_view>

#include "argosy/data/digits.h"

namespace argosy::data {
namespace {

// Branches that are almost always taken: what follows need not wait for the bytes.
inline const char* skip_blanks(const char* p) {
  if (*p == ' ') [[likely]] {
    ++p;
    if (static_cast<unsigned char>(*p) > ' ') [[likely]]
      return p;
  }
  while (*p == ' ' || *p == '\t') ++p;
  return p;
}

inline bool ends_token(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// What stands at p, for messages: control characters as \xHH, since texts of errors end at a NUL.
std::string token(const char* p, const char* end) {
  constexpr char kDigits[] = "0123456789abcdef";
  const char* q = p;
  while (q < end && !ends_token(*q) && q - p < 40) ++q;
  if (p == q) return "the end of the line";
  std::string text = "'";
  for (; p < q; ++p) {
    const auto c = static_cast<unsigned char>(*p);
    if (c < 0x20 || c == 0x7f)
      text.append({'\\', 'x', kDigits[c >> 4], kDigits[c & 15]});
    else
      text.push_back(*p);
  }
  return text + '\'';
}

uint64_t hash(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

// "1 WORD": the word, or an empty one.
std::string_view one_word(const char** at, const char* end) {
  const char* p = skip_blanks(*at);
  uint64_t count;
  p = read_unsigned(p, &count);
  if (!p || count != 1) return {};
  p = skip_blanks(p);
  const char* q = p;
  while (q < end && !ends_token(*q)) ++q;
  *at = q;
  return {p, static_cast<size_t>(q - p)};
}

template <class T>
void drop_zeros(Bytes* values, size_t from) {
  auto* const first = reinterpret_cast<T*>(values->data() + from);
  auto* const last = reinterpret_cast<T*>(values->data() + values->size());
  T* to = first;
  for (T* p = first; p != last; ++p)
    if (*p != 0) *to++ = *p;
  if (to == first && first != last) ++to;
  values->resize(from + static_cast<size_t>(to - first) * sizeof(T));
}

}  // namespace

Parser::Parser(const Format& format) : format_(format) {
  for (const Slot& s : format_.slots) {
    ARGOSY_CHECK(s.dtype == DType::int64 || s.dtype == DType::int32 || s.dtype == DType::float32,
                 invalid_argument)
        << "[dataset] slot '" << s.name << "': expected int64, int32 or float32, got " << s.dtype
        << ". Do this: declare the variable so, and cast it in the Program.";
    ARGOSY_CHECK(s.row.known() && s.width() > 0, invalid_argument)
        << "[dataset] slot '" << s.name << "': all sizes after the first must be known, got "
        << s.row << ". Do this: give static.data the width of the slot, or lod_level=1.";
    const Kind kind = s.dtype == DType::int64   ? Kind::int64
                      : s.dtype == DType::int32 ? Kind::int32
                                                : Kind::float32;
    forms_.push_back(
        {kind, s.ragged, static_cast<uint64_t>(s.width()), static_cast<uint32_t>(s.item())});
  }
}

bool Parser::parse(const char* begin, const char* end, Columns* columns, std::string* why) const {
  while (end > begin && (end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t')) --end;
  const char* p = skip_blanks(begin);
  if (p >= end) return false;
  size_t slot = 0;
  const size_t ids = columns->ids.size();
  if (sample(p, end, columns, &slot, why)) {
    ++columns->samples;
    return true;
  }
  take_back(columns, slot);
  columns->ids.resize(ids);
  return false;
}

// False if the line is bad; then slots before *slot have the sample's values.
bool Parser::sample(const char* p, const char* end, Columns* columns, size_t* slot,
                    std::string* why) const {
  for (int i = 0; i < format_.sample_id + format_.content; ++i) {
    const std::string_view word = one_word(&p, end);
    const bool id = i == 0 && format_.sample_id;
    if (word.empty()) {
      Message m;
      m << (id ? "the id of the sample" : "the content") << ": expected '1 TEXT', got "
        << token(skip_blanks(p), end);
      *why = m.str();
      return false;
    }
    if (id) columns->ids.push_back(hash(word));
  }
  const size_t slots = forms_.size();
  for (size_t i = 0; i < slots; ++i) {
    *slot = i;
    const Form& form = forms_[i];
    const char* const at = skip_blanks(p);
    uint64_t count;
    if (at[1] == ' ' && static_cast<unsigned char>(at[0] - '0') < 10) [[likely]] {
      count = static_cast<unsigned char>(at[0] - '0');
      p = at + 1;
    } else {
      p = read_unsigned(at, &count);
    }
    auto fail = [&](const char* expected, const std::string& got) {
      Message m;
      m << "slot '" << format_.slots[i].name << "' (" << i + 1 << " of " << slots << "): expected "
        << expected << ", got " << got;
      *why = m.str();
      return false;
    };
    if (!p || !ends_token(*p)) return fail("a count", token(at, end));
    if (form.ragged ? count % form.width != 0 : count != form.width) [[unlikely]] {
      Message m;
      m << (form.ragged ? "a multiple of " : "") << form.width << " values";
      return fail(m.str().c_str(), std::to_string(count));
    }
    // Each value takes a blank and a digit: nothing is reserved for counts that cannot be true.
    if (count > static_cast<uint64_t>(end - p) / 2) [[unlikely]] {
      Message m;
      m << count << " values";
      return fail(m.str().c_str(), "the end of the line");
    }
    Bytes& values = columns->values[i];
    if (count == 1 && form.kind == Kind::int64 && form.width == 1 && !format_.drop_zeros)
        [[likely]] {
      // What most slots are.
      uint64_t bits = 0;
      const char* const after = read_bits(skip_blanks(p), &bits);
      if (after && ends_token(*after)) [[likely]] {
        p = after;
        values.append(&bits, sizeof bits);
        constexpr int64_t kOne = 1;
        if (form.ragged) columns->lengths[i].append(&kOne, sizeof kOne);
        continue;
      }
    }
    const size_t before = values.size();
    char* to = values.extend(count * form.item);
    const char* wrong = nullptr;
    for (uint64_t k = 0; k < count; ++k, to += form.item) {
      const char* const value = skip_blanks(p);
      if (form.kind == Kind::float32) {
        float f = 0;
        p = read_float(value, &f);
        std::memcpy(to, &f, sizeof f);
      } else {
        uint64_t bits = 0;
        p = read_bits(value, &bits);
        if (form.kind == Kind::int64) {
          std::memcpy(to, &bits, sizeof bits);
        } else {
          const auto n = static_cast<int32_t>(bits);
          if (static_cast<uint64_t>(static_cast<int64_t>(n)) != bits) p = nullptr;
          std::memcpy(to, &n, sizeof n);
        }
      }
      if (!p || !ends_token(*p)) [[unlikely]] {
        wrong = value;
        break;
      }
    }
    if (wrong) {
      values.resize(before);
      const char* const expected = form.kind == Kind::float32 ? "a number that fits float32"
                                   : form.kind == Kind::int64 ? "an integer of 64 bits"
                                                              : "an integer of 32 bits";
      return fail(expected, token(wrong, end));
    }
    if (!form.ragged) continue;
    if (format_.drop_zeros && form.width == 1) {
      if (form.kind == Kind::float32)
        drop_zeros<float>(&values, before);
      else if (form.kind == Kind::int64)
        drop_zeros<int64_t>(&values, before);
      else
        drop_zeros<int32_t>(&values, before);
      count = (values.size() - before) / form.item;
    }
    const auto rows = static_cast<int64_t>(count / form.width);
    columns->lengths[i].append(&rows, sizeof rows);
  }
  *slot = slots;
  p = skip_blanks(p);
  if (p < end) {
    Message m;
    m << "expected the end of the line after " << slots << " slots, got " << token(p, end);
    *why = m.str();
    return false;
  }
  return true;
}

void Parser::take_back(Columns* columns, size_t slots) const {
  for (size_t i = 0; i < slots; ++i) {
    Bytes &values = columns->values[i], &lengths = columns->lengths[i];
    uint64_t rows = 1;
    if (forms_[i].ragged) {
      int64_t last;
      std::memcpy(&last, lengths.data() + lengths.size() - sizeof last, sizeof last);
      lengths.resize(lengths.size() - sizeof last);
      rows = static_cast<uint64_t>(last);
    }
    values.resize(values.size() - rows * forms_[i].width * forms_[i].item);
  }
}

}  // namespace argosy::data

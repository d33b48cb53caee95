#include "argosy/ps/service/wire.h"

#include <algorithm>
#include <cstring>

#include "argosy/ps/service/parameter_server.pb.h"

namespace argosy::ps {
namespace {

constexpr uint32_t kHeader = 1, kKeys = 2, kValues = 3;
constexpr uint32_t kDelimited = 2;  // the wire type of bytes and messages
// Headers hold names and the JSON of tables; more is not one of ours.
constexpr size_t kMaxHeader = size_t{64} << 20;

void put_varint(std::string* out, uint64_t value) {
  for (; value >= 128; value >>= 7) out->push_back(static_cast<char>(value | 128));
  out->push_back(static_cast<char>(value));
}

void put_field(std::string* out, uint32_t number, size_t length) {
  put_varint(out, number << 3 | kDelimited);
  put_varint(out, length);
}

// Calls field(number, length) for bulk fields, which reads or skips them; other fields are skipped.
template <class F>
bool fields(Cursor* in, F&& field) {
  while (in->left()) {
    uint64_t tag, n;
    if (!in->varint(&tag)) return false;
    switch (tag & 7) {
      case 0:
        if (!in->varint(&n)) return false;
        break;
      case 1:
        if (!in->skip(8)) return false;
        break;
      case 5:
        if (!in->skip(4)) return false;
        break;
      case kDelimited:
        if (!in->varint(&n) || n > in->left()) return false;
        if (!field(tag >> 3, static_cast<size_t>(n))) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

template <class M>
bool read_message(Cursor* in, size_t n, M* message) {
  if (n > kMaxHeader) return false;
  std::string text(n, '\0');
  return in->read(text.data(), n) && message->ParseFromString(text);
}

bool read_bytes(Cursor* in, size_t n, Bytes* out) {
  *out = Bytes(n);
  return in->read(out->data(), n);
}

}  // namespace

Cursor::Cursor(std::span<const Piece> pieces) : pieces_(pieces) {
  for (const Piece& p : pieces) left_ += p.size();
}

template <class F>
bool Cursor::walk(size_t n, F&& f) {
  if (n > left_) return false;
  left_ -= n;
  while (n) {
    const Piece& piece = pieces_[at_];
    const size_t part = std::min(n, piece.size() - offset_);
    if (part) f(piece.subspan(offset_, part));
    n -= part;
    offset_ += part;
    if (offset_ == piece.size()) {
      ++at_;
      offset_ = 0;
    }
  }
  return true;
}

bool Cursor::read(void* to, size_t n) {
  auto* out = static_cast<std::byte*>(to);
  return walk(n, [&](Piece p) {
    std::memcpy(out, p.data(), p.size());
    out += p.size();
  });
}

bool Cursor::skip(size_t n) {
  return walk(n, [](Piece) {});
}

bool Cursor::take(size_t n, std::vector<Piece>* out) {
  return walk(n, [&](Piece p) { out->push_back(p); });
}

bool Cursor::varint(uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte;
    if (!read(&byte, 1)) return false;
    *value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

namespace {

// Between fields of Header and of its message: enums travel as numbers.
template <class T>
auto to_message(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return static_cast<uint32_t>(value);
  else
    return value;
}

v1::Header message_of(const Header& h) {
  v1::Header m;
#define ARGOSY_PS_FIELD(type, name, value) m.set_##name(to_message(h.name));
  ARGOSY_PS_HEADER(ARGOSY_PS_FIELD)
#undef ARGOSY_PS_FIELD
  return m;
}

// False: an enum has a value that is none of its own.
bool read_header(const v1::Header& m, Header* h) {
  if (m.change() > static_cast<uint32_t>(Change::step) ||
      m.phase() > static_cast<uint32_t>(SavePhase::keep))
    return false;
#define ARGOSY_PS_FIELD(type, name, value) h->name = static_cast<type>(m.name());
  ARGOSY_PS_HEADER(ARGOSY_PS_FIELD)
#undef ARGOSY_PS_FIELD
  return true;
}

}  // namespace

Encoded encode_request(const Header& header, size_t keys_bytes, size_t values_bytes) {
  const v1::Header m = message_of(header);
  Encoded e;
  put_field(&e.head, kHeader, m.ByteSizeLong());
  m.AppendToString(&e.head);
  if (keys_bytes) put_field(&e.head, kKeys, keys_bytes);
  if (values_bytes) put_field(keys_bytes ? &e.before_last : &e.head, kValues, values_bytes);
  return e;
}

Encoded encode_answer(const Answer& a) {
  v1::Result m;
  m.set_number(a.number);
  m.set_epoch(a.epoch);
  m.set_incarnation(a.incarnation);
  m.set_next_step(a.next_step);
  m.set_next_round(a.next_round);
  m.set_step_open(a.step_open);
  m.set_text(a.text);
  for (const std::string& part : a.parts) m.add_parts(part);
  for (const TableShape& t : a.tables) {
    v1::Table* out = m.add_tables();
    out->set_id(t.id);
    out->set_dense(t.dense);
    out->set_pull_width(t.pull_width);
    out->set_push_width(t.push_width);
    out->set_size(t.size);
  }
  Encoded e;
  put_field(&e.head, kHeader, m.ByteSizeLong());
  m.AppendToString(&e.head);
  if (a.values.size()) put_field(&e.head, kValues, a.values.size());
  return e;
}

bool decode_request(std::span<const Piece> pieces, Request* request) {
  Cursor in(pieces);
  v1::Header m;
  const bool whole = fields(&in, [&](uint64_t field, size_t n) {
    if (field == kHeader) return read_message(&in, n, &m);
    if (field == kKeys) return read_bytes(&in, n, &request->keys);
    if (field == kValues) return read_bytes(&in, n, &request->values);
    return in.skip(n);
  });
  return whole && read_header(m, &request->header);
}

bool decode_answer(std::span<const Piece> pieces, Answer* answer, std::vector<Piece>* values) {
  Cursor in(pieces);
  v1::Result m;
  const bool whole = fields(&in, [&](uint64_t field, size_t n) {
    if (field == kHeader) return read_message(&in, n, &m);
    if (field == kValues) {
      values->clear();
      return in.take(n, values);
    }
    return in.skip(n);
  });
  if (!whole) return false;
  answer->number = m.number();
  answer->epoch = m.epoch();
  answer->incarnation = m.incarnation();
  answer->next_step = m.next_step();
  answer->next_round = m.next_round();
  answer->step_open = m.step_open();
  answer->text = m.text();
  answer->parts.assign(m.parts().begin(), m.parts().end());
  answer->tables.clear();
  for (const v1::Table& t : m.tables())
    answer->tables.push_back({t.id(), t.dense(), t.pull_width(), t.push_width(), t.size()});
  return true;
}

namespace {
constexpr std::string_view kCodes[] = {"ok",       "bad_request",    "unauthenticated", "forbidden",
                                       "mismatch", "unknown_client", "stale_epoch",     "too_old",
                                       "timeout",  "busy",           "unsynced",        "failed",
                                       "silent"};
}

std::string_view name_of(Code code) {
  return kCodes[static_cast<size_t>(code)];
}

Code code_of(std::string_view name) {
  for (size_t i = 0; i < std::size(kCodes); ++i)
    if (kCodes[i] == name) return static_cast<Code>(i);
  return Code::failed;
}

}  // namespace argosy::ps

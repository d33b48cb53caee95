#include "argosy/program/weights.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "argosy/base/file.h"
#include "argosy/base/json.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"

static_assert(std::endian::native == std::endian::little, "files hold what memory holds");

namespace argosy::program {
namespace {

constexpr const char* kNames[kDTypeCount] = {"BOOL", "U8",  "I8",  "U16",     "I16",     "U32",
                                             "I32",  "U64", "I64", "F8_E4M3", "F8_E5M2", "F16",
                                             "BF16", "F32", "F64", "C64",     nullptr};
constexpr uint64_t kMaxHeader = 100'000'000;  // as the format's own reader has it
constexpr const char* kMetadata = "__metadata__";
// Names of tensors that are complex128, as a JSON list.
constexpr const char* kComplex128 = "argosy.complex128";

[[noreturn]] void fail(const std::string& path, const Message& what) {
  ARGOSY_THROW(invalid_argument)
      << "'" << path << "' is no valid safetensors file: " << what.str()
      << ". Do this: copy the file again from where it was saved, or save it again.";
}
#define VALID(condition, what)                       \
  do {                                               \
    if (!(condition)) fail(path, Message() << what); \
  } while (false)

struct Entry {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  uint64_t begin = 0, end = 0;
};

Entry parse_entry(const std::string& path, const std::string& name, const Json& j) {
  Entry e;
  e.name = name;
  VALID(j.is_object() && j.contains("dtype") && j.contains("shape") && j.contains("data_offsets"),
        "tensor '" << name << "' has no dtype, shape or data_offsets");
  VALID(j["dtype"].is_string(), "the dtype of '" << name << "' is no text");
  const auto& dtype = j["dtype"].get_ref<const std::string&>();
  const char* const* known =
      std::find_if(kNames, kNames + kDTypeCount, [&](const char* n) { return n && dtype == n; });
  ARGOSY_CHECK(known != kNames + kDTypeCount, invalid_argument)
      << "'" << path << "': tensor '" << name << "' has dtype '" << dtype.substr(0, 40)
      << "', which Argosy does not have. Do this: convert it where it was made, for example to "
         "F32.";
  e.dtype = static_cast<DType>(known - kNames);
  const Json& shape = j["shape"];
  VALID(shape.is_array() && shape.size() <= kMaxRank,
        "the shape of '" << name << "' is no list of at most " << kMaxRank << " sizes");
  for (const Json& size : shape) {
    VALID(size.is_number_unsigned() && size.get<uint64_t>() <= uint64_t(INT64_MAX),
          "the shape of '" << name << "' has something else than sizes");
    e.shape.push_back(static_cast<int64_t>(size.get<uint64_t>()));
  }
  const Json& offsets = j["data_offsets"];
  VALID(offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
            offsets[1].is_number_unsigned(),
        "the data_offsets of '" << name << "' are no two numbers");
  e.begin = offsets[0].get<uint64_t>();
  e.end = offsets[1].get<uint64_t>();
  VALID(e.begin <= e.end, "the data_offsets of '" << name << "' are out of order");
  uint64_t bytes = 0;
  VALID(!__builtin_mul_overflow(static_cast<uint64_t>(e.shape.numel()),
                                static_cast<uint64_t>(item_size(e.dtype)), &bytes) &&
            bytes == e.end - e.begin,
        "'" << name << "' (" << dtype << ' ' << e.shape << ") has " << e.end - e.begin << " bytes");
  return e;
}

// The header; raises on a name that is there twice, of which a parser would keep only one.
Json parse_header(const std::string& path, const std::string& text) {
  std::set<std::string> names;
  bool twice = false;
  auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1)
      twice |= !names.insert(parsed.get<std::string>()).second;
    return true;
  };
  try {
    Json header = parse_json(text, watch);
    VALID(!twice, "its header has a name twice");
    return header;
  } catch (const Json::exception& e) {
    fail(path, Message() << "its header is no JSON object: " << e.what());
  }
}

Strings parse_metadata(const std::string& path, const Json& header) {
  Strings list;
  if (!header.contains(kMetadata)) return list;
  const Json& metadata = header[kMetadata];
  VALID(metadata.is_object(), "its __metadata__ is no JSON object");
  for (const auto& [key, value] : metadata.items()) {
    VALID(value.is_string(), "its __metadata__ has something else than texts");
    list.emplace_back(key, value.get<std::string>());
  }
  return list;
}

// Takes them out of the metadata.
std::set<std::string> complex128_names(const std::string& path, Strings& metadata) {
  const auto found = std::find_if(metadata.begin(), metadata.end(),
                                  [](const auto& entry) { return entry.first == kComplex128; });
  if (found == metadata.end()) return {};
  try {
    auto names = parse_json(found->second).get<std::set<std::string>>();
    metadata.erase(found);
    return names;
  } catch (const Json::exception& e) {
    fail(path, Message() << "its " << kComplex128 << " is no list of names: " << e.what());
  }
}

void check_text(const std::string& text, const char* what) {
  // The library throws its own error for what is not UTF-8.
  try {
    Json(text).dump();
  } catch (const Json::exception&) {
    ARGOSY_THROW(invalid_argument) << "[save_weights] " << what << " is not UTF-8 text.";
  }
}

}  // namespace

void write_weights(OutputFile& file, std::span<const NamedTensors::value_type> weights,
                   const Strings& metadata) {
  struct Part {
    const std::string* name;
    Tensor data;
  };
  std::vector<Part> parts;
  std::set<std::string_view> names;
  Json complex128 = Json::array();
  for (const auto& [name, t] : weights) {
    ARGOSY_CHECK(name != kMetadata, invalid_argument)
        << "[save_weights] the name '" << name << "' is kept for the format.";
    ARGOSY_CHECK(names.insert(name).second, already_exists)
        << "[save_weights] the name '" << name << "' is given twice.";
    check_text(name, "a name");
    ARGOSY_CHECK(t.defined() && !t.symbolic(), type)
        << "[save_weights] '" << name << "' has no value.";
    ARGOSY_CHECK(
        t.layout() == Layout::strided && t.place().kind != DeviceKind::null && t.has_data(),
        invalid_argument)
        << "[save_weights] '" << name << "', " << t << " on " << t.place()
        << ", is not a dense tensor with values. Do this: call .to_dense() first.";
    parts.push_back({&name, op::to_host(t)});
    if (t.dtype() == DType::complex128) complex128.push_back(name);
  }
  // Widest elements first: then each is aligned for who maps the file into memory.
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return item_size(a.data.dtype()) > item_size(b.data.dtype());
  });
  Json header = Json::object();
  Json texts = Json::object();
  for (const auto& [key, value] : metadata) {
    check_text(key, "a key of the metadata");
    check_text(value, "a value of the metadata");
    texts[key] = value;
  }
  if (!complex128.empty()) texts[kComplex128] = complex128.dump();
  if (!texts.empty()) header[kMetadata] = std::move(texts);
  uint64_t at = 0;
  for (const Part& part : parts) {
    const Tensor& t = part.data;
    std::vector<int64_t> shape(t.shape().begin(), t.shape().end());
    const char* dtype = kNames[static_cast<int>(t.dtype())];
    if (!dtype) {
      dtype = "F64";
      shape.push_back(2);
    }
    header[*part.name] = {
        {"dtype", dtype}, {"shape", shape}, {"data_offsets", {at, at + t.nbytes()}}};
    at += t.nbytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  ARGOSY_CHECK(text.size() <= kMaxHeader, invalid_argument)
      << "[save_weights] names and metadata have " << text.size() << " bytes; readers take up to "
      << kMaxHeader << '.';
  const uint64_t length = text.size();
  file.write(&length, sizeof(length));
  file.write(text);
  for (const Part& part : parts) file.write(part.data.raw(), part.data.nbytes());
}

void save_weights(const std::string& path, std::span<const NamedTensors::value_type> weights,
                  const Strings& metadata) {
  OutputFile file(followed(path));
  write_weights(file, weights, metadata);
  file.commit();
}

namespace {

// What is in memory, read as a file is.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  uint64_t size() const { return bytes_.size(); }
  // REQUIRES: there are so many.
  void read(uint64_t offset, void* to, size_t count) const {
    if (count) std::memcpy(to, bytes_.data() + offset, count);
  }

 private:
  std::string_view bytes_;
};

template <class File>
NamedTensors read_weights(const std::string& path, const File& file, Strings* metadata_out) {
  uint64_t length = 0;
  VALID(file.size() >= sizeof(length), "it has only " << file.size() << " bytes");
  file.read(0, &length, sizeof(length));
  VALID(length <= kMaxHeader && length <= file.size() - sizeof(length),
        "its header should have " << length << " bytes, the file has " << file.size());
  std::string text(length, '\0');
  file.read(sizeof(length), text.data(), text.size());
  VALID(!text.empty() && text[0] == '{', "its header is no JSON object");
  const Json header = parse_header(path, text);
  Strings metadata = parse_metadata(path, header);
  const std::set<std::string> complex128 = complex128_names(path, metadata);
  std::vector<Entry> entries;
  for (const auto& [name, j] : header.items())
    if (name != kMetadata) entries.push_back(parse_entry(path, name, j));
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  const uint64_t data = sizeof(length) + length;
  uint64_t at = 0;
  for (const Entry& e : entries) {
    VALID(e.begin == at, "the values of '" << e.name << "' begin at byte " << e.begin
                                           << ", those before end at " << at);
    at = e.end;
  }
  VALID(at == file.size() - data,
        "its tensors take " << at << " bytes, it has " << file.size() - data);
  NamedTensors list;
  for (Entry& e : entries) {
    if (complex128.count(e.name) && e.dtype == DType::float64 && e.shape.rank() &&
        e.shape.back() == 2) {
      e.shape.erase(e.shape.rank() - 1);
      e.dtype = DType::complex128;
    }
    Tensor t = Tensor::empty(e.shape, e.dtype);
    file.read(data + e.begin, t.raw(), t.nbytes());
    if (e.dtype == DType::bool_)
      for (size_t i = 0; i < t.nbytes(); ++i)
        VALID(t.data<uint8_t>()[i] <= 1, "'" << e.name << "' of dtype BOOL has other bytes");
    list.emplace_back(std::move(e.name), std::move(t));
  }
  if (metadata_out) *metadata_out = std::move(metadata);
  return list;
}

}  // namespace

NamedTensors load_weights(const std::string& path, Strings* metadata) {
  return read_weights(path, InputFile(path), metadata);
}

NamedTensors parse_weights(std::string_view bytes, Strings* metadata) {
  return read_weights("weights in memory", Bytes(bytes), metadata);
}

}  // namespace argosy::program

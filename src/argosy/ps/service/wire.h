#pragma once

#include <span>
#include <string>
#include <vector>

#include "argosy/ps/service/message.h"

// Messages of parameter_server.proto as bytes. Bulk fields are not copied when written, and copied
// once when read. Input is hostile: lengths are checked before memory is taken.
namespace argosy::ps {

// A message is `head`, then keys and values between the small texts that announce them.
struct Encoded {
  std::string head;         // header, and tag and length of the first bulk field
  std::string before_last;  // tag and length of the last one, if there are two
};
ARGOSY_API Encoded encode_request(const Header& header, size_t keys_bytes, size_t values_bytes);
ARGOSY_API Encoded encode_answer(const Answer& answer);

// Reads pieces as one row of bytes.
class ARGOSY_API Cursor {
 public:
  explicit Cursor(std::span<const Piece> pieces);
  size_t left() const { return left_; }
  // False if there are not as many.
  bool read(void* to, size_t n);
  bool skip(size_t n);
  bool varint(uint64_t* value);
  // The next n bytes, as pieces.
  bool take(size_t n, std::vector<Piece>* out);

 private:
  template <class F>
  bool walk(size_t n, F&& f);
  std::span<const Piece> pieces_;
  size_t left_ = 0, at_ = 0, offset_ = 0;
};

// False: not such a message.
ARGOSY_API bool decode_request(std::span<const Piece> pieces, Request* request);
// `values` points into the pieces; answer->values stays empty.
ARGOSY_API bool decode_answer(std::span<const Piece> pieces, Answer* answer,
                              std::vector<Piece>* values);

}  // namespace argosy::ps

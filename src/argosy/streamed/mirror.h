#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "argosy/base/export.h"

namespace argosy::streamed {

// Memory that is mapped twice. Tensors carry the address of the face, which nobody may touch: a
// read of the host faults there, and a system call gets EFAULT. Queues use the alias of the same
// bytes. (One mapping cannot do that, since protection belongs to the process, not to a thread.)
//
// Addresses are used again only when all have been used, and closed blocks stay closed until then,
// at both ends. Not synchronized.
class ARGOSY_API Mirror {
 public:
  // Throws Error(ErrorKind::device) where the system has no room for `bytes` of addresses.
  explicit Mirror(size_t bytes);
  Mirror(const Mirror&) = delete;

  static constexpr size_t kPage = 4096;
  static constexpr size_t rounded(size_t bytes) {
    return bytes ? (bytes + kPage - 1) / kPage * kPage : kPage;
  }

  // Filled with bytes that are a NaN in every floating dtype. Null where there is no memory left.
  // `bytes` is a multiple of kPage.
  char* open(size_t bytes);
  // Gives the pages back to the system.
  void close(char* face, size_t bytes) noexcept;
  bool has(const void* face) const { return offset(face) < size_; }
  char* alias(const void* face) const { return alias_ + offset(face); }

 private:
  struct Range {
    size_t begin, bytes;
  };
  size_t offset(const void* face) const {
    return reinterpret_cast<uintptr_t>(face) - reinterpret_cast<uintptr_t>(face_);
  }
  // SIZE_MAX if there is none.
  size_t take(size_t bytes);

  int file_;
  size_t size_;
  char* face_;
  char* alias_;
  size_t fresh_ = 0;          // from here on nothing was ever opened
  std::deque<Range> closed_;  // the longest closed first
};

}  // namespace argosy::streamed

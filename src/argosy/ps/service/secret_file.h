#pragma once

#include <optional>
#include <string>

#include "argosy/base/export.h"

namespace argosy::ps {

struct Tokens {
  std::string worker, admin;
  bool operator==(const Tokens&) const = default;
};

// Tokens of a server that was started on loopback without any. They lie in a file that only its
// user can read, named by the port; clients of the same user find it there. A server that comes
// back on the port goes on with them, so its clients do.
//
// Folders, the first that can be used: $XDG_RUNTIME_DIR/argosy, ~/.cache/argosy/HOST,
// /tmp/argosy-UID. A folder or file that is a link, or that others own or can read, is none.
class ARGOSY_API SecretFile {
 public:
  // Of a server that has the port. Throws ErrorKind::io where no folder can be used.
  explicit SecretFile(int port);
  ~SecretFile();
  SecretFile(const SecretFile&) = delete;
  SecretFile& operator=(const SecretFile&) = delete;

  const Tokens& tokens() const { return tokens_; }
  // At an orderly end, while the port is still held: the file goes, unless another server of this
  // port (at another address of loopback) uses it.
  void remove();

 private:
  Tokens tokens_;
  int folder_ = -1, file_ = -1;
  std::string name_;
};

// What the server that runs on this port of this host left for this user. Throws ErrorKind::io
// where there is something that others could have put there.
ARGOSY_API std::optional<Tokens> find_tokens(int port);
// "/a, /b or /c", for errors.
ARGOSY_API std::string token_folders();

}  // namespace argosy::ps

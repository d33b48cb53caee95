#pragma once

#include <string>
#include <string_view>

#include "argosy/base/export.h"
#include "argosy/ps/service/server.h"

namespace argosy::ps {

// In a time that does not depend on where they differ.
ARGOSY_API bool same_secret(std::string_view a, std::string_view b);
// Of an endpoint host:port.
ARGOSY_API bool is_loopback(std::string_view endpoint);
// Throws ValueError if this server would be open to a network without TLS and token, or has half
// of what TLS needs.
ARGOSY_API void check_exposure(const ServerOptions& options);
// Throws ValueError if it cannot travel in a header.
ARGOSY_API void check_token(std::string_view token);
// A file's text; ErrorKind::io names what it is for.
std::string read_pem(const std::string& path, std::string_view what);

}  // namespace argosy::ps

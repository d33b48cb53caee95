#pragma once

#include <string>
#include <string_view>

#include "argosy/base/export.h"
#include "argosy/ps/service/client.h"
#include "argosy/ps/service/message.h"
#include "argosy/ps/service/secret_file.h"
#include "argosy/ps/service/server.h"

namespace argosy::ps {

// In a time that does not depend on where they differ.
ARGOSY_API bool same_secret(std::string_view a, std::string_view b);
// Of an endpoint host:port.
ARGOSY_API bool is_loopback(std::string_view endpoint);
// Throw ValueError if a server would be open to a network without TLS and token, if a client would
// send its token where others can read it, or if one has half of what TLS needs.
ARGOSY_API void check_exposure(const ServerOptions& options);
ARGOSY_API void check_exposure(const ClientOptions& options);
// Who a call comes from, by its metadata "authorization". A worker's token that is the
// administrator's too makes an administrator.
enum class Role : uint8_t { nobody, worker, administrator };
ARGOSY_API Role role_of(std::string_view authorization, const Tokens& tokens);
ARGOSY_API std::string authorization_of(std::string_view token);
// Calls that change or end a whole job, or touch the disks of servers.
ARGOSY_API bool is_administration(Method method);
// Throws ValueError if it cannot travel in a header.
ARGOSY_API void check_token(std::string_view token);

}  // namespace argosy::ps

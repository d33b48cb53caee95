#pragma once

#include <string>
#include <vector>

#include "argosy/ps/service/client_calls.h"

namespace argosy::ps {

// Through the mailboxes of the servers (mailbox.h): gives each worker its part, and returns what
// all workers had for this one, by their number. `round` is the same for all workers and larger
// than that of any exchange before; no worker may begin the next one before all have returned.
// Throws ServiceError: Reason::timeout, with the workers who are missing, when nothing came or went
// for `wait_deadline`.
std::vector<std::string> exchange_parts(Calls* calls, const ClientOptions& options, uint64_t round,
                                        const std::vector<std::string>& parts);

}  // namespace argosy::ps

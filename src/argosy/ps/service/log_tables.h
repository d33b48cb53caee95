#pragma once

#include <optional>
#include <string>

#include "argosy/ps/service/server.h"

// A record of the log says what was pushed, not what it did: that depends on the tables, on their
// rules and on the number of workers. So a file beside the segments says what those were.
namespace argosy::ps {

// Throws (io) if the log of this directory has records of tables that are not in `tables` or have
// another kind, size or layout of rows. A log without the file, of an earlier version, passes.
void check_log_tables(const std::string& directory, const std::vector<TableConfig>& tables);
// The records that follow are of these.
void write_log_tables(const std::string& directory, const ServerOptions& options);

// The options with which the log of this directory does again what it did, where those are others
// than `now`: other rules, or another number of workers. Nothing where the log has none of these
// tables, or was written by a version that did not tell.
std::optional<ServerOptions> options_of_log(const std::string& directory, const ServerOptions& now);

}  // namespace argosy::ps

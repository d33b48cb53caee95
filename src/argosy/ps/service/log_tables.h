#pragma once

#include <string>

#include "argosy/ps/service/snapshot.h"

// Records of the log name their table by its number alone. So a file beside the segments says what
// tables those are: with others the records would mean something else.
namespace argosy::ps {

// Throws (io) if the log of this directory has records of tables that are not in `tables` or have
// another kind, size or layout of rows. A log without the file, of an earlier version, passes.
void check_log_tables(const std::string& directory, const TableSet& tables);
// The records that follow are of these.
void write_log_tables(const std::string& directory, const TableSet& tables);

}  // namespace argosy::ps

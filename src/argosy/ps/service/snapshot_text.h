#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "argosy/base/export.h"

// A save or snapshot for human eyes. Errors as load_snapshot's.
namespace argosy::ps {

// JSON: saves, how many servers wrote it, and for each table id, name, kind, layout, rows (of
// sparse ones, each file's counted), bytes.
ARGOSY_API std::string describe_snapshot(const std::string& directory);

// Hands out lines, many at once, of a table given by name or number; `limit` at most, 0 for all.
// Sparse: key, then the row as SparseTable::text says. Dense: number, weight, optimizer state. Tab
// separated. Needs memory for one shard.
ARGOSY_API void print_snapshot(const std::string& directory, const std::string& table,
                               uint64_t limit, const std::function<void(std::string_view)>& out);

}  // namespace argosy::ps

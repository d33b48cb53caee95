#pragma once

#include <memory>
#include <string>

#include "argosy/data/stream.h"

namespace argosy::data {

// The output of `sh -c command`, whose stdin is the descriptor `input` (of a regular file; taken
// over; -1: none) or what `feed` gives. `path` is for messages; `timeout` is of StreamOptions, and
// bytes on stderr do not count for it.
std::unique_ptr<Stream> run_command(const std::string& command, const std::string& path, int input,
                                    std::unique_ptr<Stream> feed, const Stop& stop, double timeout);

void throw_if_stopped(const Stop& stop);

}  // namespace argosy::data

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/comm/header.h"

// The flight recorder: what this process's groups did last. Thread safe.
namespace argosy::comm {

enum class Stage : uint8_t { started, done, failed };

struct Record {
  Header header;
  int rank = 0;  // of all processes
  Stage stage = Stage::started;
  double started = 0;  // seconds since 1970
  double seconds = 0;  // until it was done or failed
};

inline constexpr uint64_t kRecords = 1000;  // older ones are forgotten

// A number for `finish`.
uint64_t record(const Header& header, int rank);
void finish(uint64_t number, Stage stage);
// Oldest first.
ARGOSY_API std::vector<Record> records();
// One line for each.
ARGOSY_API std::string print_records();
// Writes them to comm.RANK.PID.log in the folder of ARGOSY_COMM_DUMP, else PADDLE_LOG_DIR; where
// neither is set, nowhere. Says on stderr where they are, together with `why`; once a process.
void dump_records(int rank, const char* why);

}  // namespace argosy::comm

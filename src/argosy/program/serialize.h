#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/program/program.h"
#include "argosy/program/weights.h"

// Programs as bytes. docs/program.md says what a file is made of and which versions read which.
namespace argosy::program {

// State is named, its values are not part of it; constants are. With `outside`, constants of more
// than 4 KiB are appended to that list instead, for a weights file.
ARGOSY_API std::string serialize(const Program& p, NamedTensors* outside = nullptr);

// The inverse. `outside`: what serialize() put there, more is ignored. The bytes are not trusted:
// whatever they are, either a Program that verifies is returned or an Error thrown, and memory is
// bounded by a multiple of their length.
ARGOSY_API std::shared_ptr<Program> deserialize(
    std::string_view bytes, std::span<const NamedTensors::value_type> outside = {});

// As deserialize(), but whether the Program verifies is not looked at: it may not be run, printed
// or changed before Program::verify().
ARGOSY_API std::shared_ptr<Program> deserialize_unverified(
    std::string_view bytes, std::span<const NamedTensors::value_type> outside = {});

// What each of p.states is called in files: its name, made unique.
ARGOSY_API std::vector<std::string> state_names(const Program& p);

inline constexpr uint32_t kFormatVersion = 1;
// A file starts with this, the format version, and the number of bytes of the FlatBuffer that
// follows (program.fbs); all little-endian.
struct FileHeader {
  char magic[8];
  uint32_t format;
  uint32_t reserved;  // 0
  uint64_t bytes;
};
inline constexpr char kMagic[8] = {'a', 'r', 'g', 'o', 's', 'y', '\r', '\n'};

}  // namespace argosy::program

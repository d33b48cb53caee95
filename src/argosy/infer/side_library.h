#pragma once

namespace argosy::infer {

// Formats whose readers need Protobuf are libraries of their own beside the one with this code,
// loaded at the first use: libargosy.so loads libargosy_FORMAT.so, libargosy_infer.so
// libargosy_infer_FORMAT.so. Gives the address of `entry` in it; throws if it is not there. It
// stays for the life of the process.
void* side_library(const char* format, const char* entry);

}  // namespace argosy::infer

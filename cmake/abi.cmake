# cmake -DOUTPUT=argosy_abi.h -DROOT=src -DHEADERS=a.h;b.h -P abi.cmake
#
# Writes the header that marks a library of ops with the version of the interface it was compiled
# against. The mark is a reference to a symbol that only an Argosy of that version has, so the dynamic
# linker refuses all others before any code of the library runs.
list(SORT HEADERS)
set(all)
foreach(header ${HEADERS})
  file(SHA256 ${header} hash)
  file(RELATIVE_PATH name ${ROOT} ${header})
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 version "${all}")
string(SUBSTRING ${version} 0 12 version)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#pragma once

// Generated: the version of Argosy's headers. What includes this can be loaded by an Argosy with the
// same headers only.
#define ARGOSY_ABI_VERSION "@version@"
#define ARGOSY_ABI_SYMBOL argosy_abi_@version@

extern "C" __attribute__((visibility("default"))) const char ARGOSY_ABI_SYMBOL[];

namespace {
__attribute__((used)) const char* const argosy_abi_mark = ARGOSY_ABI_SYMBOL;
}
]])

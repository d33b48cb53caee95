# Headers of the standard library that most of our files include, parsed once for each set of flags
# instead of in each of 600 files, where they were a fourth of the time. Those of ours are not among
# them: they change, and everything would be compiled again.
#
# A file includes what it uses all the same. The builds of the sanitizers and the fuzzers, which have no
# precompiled headers (CMakePresets.json), fail where one does not.
set(ARGOSY_PRECOMPILED
  <algorithm> <array> <atomic> <chrono> <cmath> <complex> <condition_variable> <cstdint> <cstring>
  <functional> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view>
  <unordered_map> <utility> <variant> <vector>)

# Where GCC cannot use one, it says so and reads the headers.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(argosy_flags INTERFACE -Wno-error=invalid-pch
    -fpch-preprocess)  # ccache preprocesses
endif()

# cmake -DOUTPUT=infer.map -DNM=nm -DOBJECTS=a.o;b.o -P infer_exports.cmake
#
# Writes the version script of libargosy_infer.so: it shows the functions of argosy.h, and of the core
# what the objects of the format libraries refer to.
execute_process(COMMAND ${NM} --undefined-only --format=posix ${OBJECTS}
  OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "_Z[A-Za-z0-9_]*6argosy[A-Za-z0-9_]*" symbols "${listed}")
list(REMOVE_DUPLICATES symbols)
list(SORT symbols)
list(JOIN symbols "; " symbols)
file(WRITE ${OUTPUT} "{
  global: argosy_abi_version; argosy_last_error; argosy_options_*; argosy_predictor_*;
    ${symbols};
  local: *;
};
")

# cmake -DOUT=FILE.cc -DROOT=DIR -DFILES=a;b;.. -P embed.cmake: a C++ file with the texts of files, which the
# kernels of fused chains include (kernels/cuda/nvrtc.h).
set(text "// Made by cmake/embed.cmake.\n#include \"argosy/kernels/cuda/nvrtc.h\"\n\n")
string(APPEND text "namespace argosy::cuda {\n\nstd::span<const Header> chain_headers() {\n")
string(APPEND text "  static constexpr Header kHeaders[] = {\n")
foreach(file ${FILES})
  file(READ ${ROOT}/${file} content)
  string(APPEND text "      {\"${file}\", R\"--(${content})--\"},\n")
endforeach()
string(APPEND text "  };\n  return kHeaders;\n}\n\n}  // namespace argosy::cuda\n")
file(WRITE ${OUT} "${text}")

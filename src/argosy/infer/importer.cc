#include "argosy/infer/importer.h"

#include <fstream>

#include <sys/stat.h>

#include "argosy/base/error.h"

namespace argosy::infer {
namespace {

std::vector<Importer>& registry() {
  static std::vector<Importer> list;
  return list;
}

enum class Kind : uint8_t { nothing, file, folder };

Kind kind_of(const std::string& path) {
  struct stat s;
  if (::stat(path.c_str(), &s) != 0) return Kind::nothing;
  return S_ISDIR(s.st_mode) ? Kind::folder : Kind::file;
}

std::string head_of(const std::string& path) {
  std::string head(4096, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

}  // namespace

bool register_importer(const Importer& importer) {
  registry().push_back(importer);
  return true;
}

std::span<const Importer> importers() {
  return registry();
}

Source::~Source() = default;

Import import_model(const ImportOptions& options) {
  std::string head(options.program_bytes.substr(0, 4096));
  const Kind kind = head.empty() ? kind_of(options.path) : Kind::file;
  if (head.empty() && kind == Kind::file) head = head_of(options.path);
  for (const Importer& importer : importers())
    if (importer.recognizes(options.path, head)) return importer.load(options);
  ARGOSY_CHECK(kind != Kind::nothing, not_found)
      << "[infer] there is no model at '" << options.path
      << "'. Do this: pass the file of the model, its folder, or the prefix that jit.save was "
         "given.";
  Message known;
  for (const Importer& importer : importers())
    known << (importer.name == importers().front().name ? "" : ", ") << importer.name;
  ARGOSY_THROW(invalid_argument) << "[infer] '" << options.path
                                 << "' is in no format that is known here: " << known.str()
                                 << ". Do this: pass the file of the model's graph.";
}

program::Model load(const ImportOptions& options) {
  Import made = import_model(options);
  if (made.model.program) return std::move(made.model);
  Message m;
  for (size_t i = 0; i < made.needs.size(); ++i)
    m << (i ? ", " : "") << (made.needs[i].value ? "the value" : "the shape") << " of '"
      << made.source->inputs()[made.needs[i].input].name << "'";
  ARGOSY_THROW(not_implemented) << "[infer] the Program of the model depends on " << m.str()
                                << ", which its file does not fix. Do this: run it with a "
                                   "predictor, which makes one for what it is fed.";
}

}  // namespace argosy::infer

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

std::string describe(std::span<const Source::Need> needs, std::span<const Port> inputs) {
  Message m;
  m << "the Program of the model depends on ";
  for (size_t i = 0; i < needs.size(); ++i)
    m << (i ? ", " : "") << (needs[i].value ? "the value" : "the shape") << " of '"
      << inputs[needs[i].input].name << "'";
  m << ", which its file does not fix. Do this: run it with a predictor, which makes one for what "
       "it is fed.";
  return m.str();
}

program::Model load(const ImportOptions& options) {
  Import made = import_model(options);
  if (made.model.program) return std::move(made.model);
  ARGOSY_THROW(not_implemented) << "[infer] " << describe(made.needs, made.source->inputs());
}

}  // namespace argosy::infer

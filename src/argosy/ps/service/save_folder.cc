#include "argosy/ps/service/save_folder.h"

#include <algorithm>
#include <utility>

#include "argosy/base/error.h"
#include "argosy/base/log.h"

namespace argosy::ps {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Names of the files that SnapshotWriter makes.
bool is_ours(const std::string& name) {
  return name == "manifest.json" || name == "state" ||
         (name.starts_with("table-") && (name.ends_with(".rows") || name.ends_with(".dense")));
}

void remove_files(const std::string& part) {
  for (const std::string& name : list_directory(part))
    if (is_ours(name)) remove_file(join_path(part, name));
  remove_empty_directory(part);
}

// Whether a manifest says that it is this part of this save.
bool is_part(const std::string& directory, const std::string& save, const std::string& part) {
  try {
    const Manifest m = read_manifest(join_path(join_path(join_path(directory, save), part),
                                               "manifest.json"));
    return m.save == save && part_name(m.server, m.servers) == part;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

SaveFolder::SaveFolder(std::string directory, uint32_t server, uint32_t servers)
    : directory_(std::move(directory)),
      part_(part_name(server, servers)),
      note_(join_path(directory_, ".saving-" + part_ + ".json")) {
  read_index(directory_);
}

void SaveFolder::note(const std::vector<std::string>& saves) const {
  write_names(note_, saves);
}

void SaveFolder::begin(const std::string& save) {
  std::vector<std::string> left;
  try {
    left = read_names(note_);
  } catch (const Error& e) {
    ARGOSY_LOG(warning) << e.what() << " What it named stays where it is.";
  }
  const std::vector<std::string> kept = read_index(directory_);
  for (const std::string& name : left)
    if (!contains(kept, name)) remove_save(name, true);
  note({save});
}

void SaveFolder::publish(const std::string& save) {
  const std::vector<std::string> before = read_index(directory_);
  std::vector<std::string> all = before;
  all.push_back(save);
  note(all);
  write_index(directory_, {save});
  for (const std::string& name : before)
    if (name != save) remove_save(name, false);
  remove_file(note_);
}

void SaveFolder::give_up(const std::string& save) noexcept {
  try {
    if (contains(read_index(directory_), save)) return;
    remove_save(save, true);
    remove_file(note_);
  } catch (const Error& e) {
    ARGOSY_LOG(warning) << e.what() << " The next save into the folder tries again.";
  }
}

void SaveFolder::remove_save(const std::string& save, bool own) const {
  const std::string path = join_path(directory_, save);
  for (const std::string& part : list_directory(path)) {
    if (own ? part == part_ || part == ".aside-" + part_ : is_part(directory_, save, part))
      remove_files(join_path(path, part));
  }
  remove_empty_directory(path);
}

}  // namespace argosy::ps

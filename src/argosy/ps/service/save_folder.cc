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
    const Manifest m =
        read_manifest(join_path(join_path(join_path(directory, save), part), "manifest.json"));
    return m.save == save && part_name(m.server, m.servers) == part;
  } catch (const Error&) {
    return false;
  }
}

std::string note_name(const std::string& part) {
  return ".saving-" + part + ".json";
}

// A damaged note names nothing: what it named stays where it is.
std::vector<std::string> read_note(const std::string& path) {
  try {
    return read_names(path);
  } catch (const Error& e) {
    ARGOSY_LOG(warning) << e.what() << " What it named stays where it is.";
    return {};
  }
}

}  // namespace

SaveFolder::SaveFolder(std::string directory, uint32_t server, uint32_t servers)
    : directory_(std::move(directory)),
      servers_(servers),
      part_(part_name(server, servers)),
      note_(join_path(directory_, note_name(part_))) {
  read_index(directory_);
}

void SaveFolder::begin(const std::string& save) {
  std::vector<std::string> names = read_note(note_);
  for (const std::string& name : names) remove_unfinished(name);
  std::erase_if(names, [&](auto& name) { return !is_directory(join_path(directory_, name)); });
  names.push_back(save);
  write_names(note_, names);
}

void SaveFolder::check_whole(const std::string& save) const {
  const std::string path = join_path(directory_, save);
  std::string missing;
  bool shared = false;
  for (uint32_t i = 0; i < servers_; ++i) {
    const std::string part = part_name(i, servers_);
    const bool there = is_part(directory_, save, part);
    if (!there) missing += ' ' + part;
    // Its own part is there, unless another job took the folder for its own.
    shared =
        shared ||
        (part == part_ ? !there : there || path_exists(join_path(directory_, note_name(part))));
  }
  ARGOSY_CHECK(!shared || missing.empty(), io)
      << "[save] '" << path << "' lacks" << missing
      << ", whose server gave the save up, or which a save of another job removed. What counts in "
         "the folder stays. Do this: save again, each job into a folder of its own.";
}

void SaveFolder::publish(const std::string& save) {
  check_whole(save);
  std::vector<std::string> others = read_index(directory_);
  for (const std::string& name : read_note(note_))
    if (!contains(others, name)) others.push_back(name);
  std::erase(others, save);
  std::vector<std::string> all = others;
  all.push_back(save);
  write_names(note_, all);
  write_index(directory_, {save});
  for (const std::string& name : others) remove_save(name);
  remove_file(note_);
}

void SaveFolder::give_up(const std::string& save) noexcept {
  try {
    remove_unfinished(save);
    remove_empty_directory(join_path(directory_, save));
    std::vector<std::string> names = read_note(note_);
    std::erase_if(names, [&](auto& name) { return !is_directory(join_path(directory_, name)); });
    names.empty() ? remove_file(note_) : write_names(note_, names);
  } catch (const Error& e) {
    ARGOSY_LOG(warning) << e.what() << " The next save into the folder tries again.";
  }
}

void SaveFolder::remove_unfinished(const std::string& save) const {
  const std::string path = join_path(directory_, save);
  const std::string aside = join_path(path, ".aside-" + part_);
  if (is_directory(aside)) remove_files(aside);
  remove_empty_directory(path);
}

void SaveFolder::remove_save(const std::string& save) const {
  remove_unfinished(save);
  const std::string path = join_path(directory_, save);
  for (const std::string& part : list_directory(path))
    if (is_part(directory_, save, part)) remove_files(join_path(path, part));
  remove_empty_directory(path);
}

}  // namespace argosy::ps

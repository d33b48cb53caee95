#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/export.h"

namespace argosy::ps {

// A directory that is held open: files are made and read in it whatever becomes of its name.
class ARGOSY_API Directory {
 public:
  // Of any path of this machine. Throw io.
  static std::shared_ptr<const Directory> open(const std::string& path);
  static std::shared_ptr<const Directory> make(const std::string& path);  // if need be, to stay
  explicit Directory(int fd);                                             // takes it
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  // For system calls, as long as this lives.
  const std::string& path() const { return path_; }
  // As people know it, without links; of when it was opened.
  const std::string& name() const { return name_; }
  // A text with path() in it, for people.
  std::string named(std::string text) const;
  int fd() const { return fd_; }

 private:
  const int fd_;
  std::string path_, name_;
};

// The directories beneath which a server saves and loads what clients name.
class ARGOSY_API Roots {
 public:
  // `state`: where a server keeps its own files. Saves into them, above or below are refused.
  // Throws io where a root is not a directory.
  Roots(const std::vector<std::string>& roots, const std::vector<std::string>& state);

  // Opened one component after another from its root on, without following a link. Relative names
  // are beneath the first root. Throw invalid_argument for what is not beneath a root, io.
  std::shared_ptr<const Directory> to_load(const std::string& path) const;
  std::shared_ptr<const Directory> to_save(const std::string& path) const;  // made if need be

 private:
  std::shared_ptr<const Directory> open(const std::string& path, bool make) const;
  void check_state(std::string_view name, const std::string& path) const;

  struct Root {
    std::string given;  // as it was named, made absolute
    std::shared_ptr<const Directory> directory;
  };
  std::vector<Root> roots_;
  std::vector<std::string> state_;
};

}  // namespace argosy::ps

#include "argosy/ps/service/directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "argosy/base/error.h"
#include "argosy/ps/service/durable_file.h"

namespace argosy::ps {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* doing, const std::string& path, int error) {
  ARGOSY_THROW(io) << "Cannot " << doing << " '" << path << "': " << std::strerror(error) << '.';
}

std::string target_of(const std::string& link) {
  std::error_code ignored;
  return fs::read_symlink(link, ignored).string();
}

// `inner` is `outer` or lies below it. Both absolute, without links.
bool lies_in(std::string_view inner, std::string_view outer) {
  if (outer.ends_with('/')) outer.remove_suffix(1);
  return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
}

std::string absolute(const std::string& path) {
  std::string whole = fs::absolute(path).lexically_normal().string();
  if (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  return whole;
}

// Whether a server keeps its state here, or a table its rows on disk: now, or in a life that others
// may go on with.
bool is_state(const std::string& directory) {
  const auto has = [&](const char* name) { return path_exists(join_path(directory, name)); };
  return has("LOCK") && (has("log") || has("snapshot.json") || has("CURRENT"));
}

// Without links, as far as it exists.
std::string resolved(const std::string& path) {
  std::error_code ignored;
  const fs::path found = fs::weakly_canonical(absolute(path), ignored);
  return found.empty() ? absolute(path) : found.string();
}

}  // namespace

std::shared_ptr<const Directory> Directory::make(const std::string& path) {
  make_directories(path);
  return open(path);
}

std::shared_ptr<const Directory> Directory::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail("open", path, errno);
  return std::make_shared<Directory>(fd);
}

Directory::Directory(int fd)
    : fd_(fd), path_("/proc/self/fd/" + std::to_string(fd)), name_(target_of(path_)) {}

Directory::~Directory() {
  ::close(fd_);
}

std::string Directory::named(std::string text) const {
  for (size_t at = 0; (at = text.find(path_, at)) != text.npos; at += name_.size()) {
    const size_t end = at + path_.size();
    if (end < text.size() && text[end] >= '0' && text[end] <= '9') {  // that of another one
      at = end - name_.size();
      continue;
    }
    text.replace(at, path_.size(), name_);
  }
  return text;
}

Roots::Roots(const std::vector<std::string>& roots, const std::vector<std::string>& state) {
  for (const std::string& root : roots) {
    const int fd = ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ARGOSY_CHECK(fd >= 0, io) << "[parameter_server] save_roots: cannot open '" << root
                              << "': " << std::strerror(errno)
                              << ". Do this: name directories of the server's machine.";
    roots_.push_back({absolute(root), std::make_shared<Directory>(fd)});
  }
  for (const std::string& path : state)
    if (!path.empty()) state_.push_back(resolved(path));
}

std::shared_ptr<const Directory> Roots::to_load(const std::string& path) const {
  return open(path, false);
}

std::shared_ptr<const Directory> Roots::to_save(const std::string& path) const {
  return open(path, true);
}

void Roots::check_state(std::string_view name, const std::string& path) const {
  for (const std::string& state : state_)
    ARGOSY_CHECK(!lies_in(name, state) && !lies_in(state, name), invalid_argument)
        << "[parameter_server] cannot save into '" << path
        << "': the server keeps its own state in '" << state
        << "', and neither may lie in the other. Do this: name another directory.";
}

std::shared_ptr<const Directory> Roots::open(const std::string& path, bool make) const {
  ARGOSY_CHECK(!path.empty() && path.find('\0') == path.npos, invalid_argument)
      << "[parameter_server] expected a directory beneath a root of saves, got a name that is "
         "empty "
         "or has a byte of zero.";
  const std::string first = path.substr(0, path.find('/'));
  const bool of_cluster = path.starts_with("hdfs:") || path.starts_with("afs:");
  ARGOSY_CHECK(!of_cluster && (first.empty() || first.back() != ':'), invalid_argument)
      << "[parameter_server] '" << path << "' is a name of a cluster's file system: expected a "
      << "directory of the servers' machines, beneath a root of saves. Do this: save into such a "
         "one, and copy it (fleet.utils.HDFSClient.upload), or mount the file system there.";
  const auto refuse_unless = [&](bool right, const char* why) {
    std::string known;
    for (const Root& root : roots_) known += (known.empty() ? "'" : ", '") + root.given + "'";
    ARGOSY_CHECK(right, invalid_argument)
        << "[parameter_server] '" << path << "' " << why << ": expected a directory beneath "
        << (known.empty() ? "a root, of which this server has none" : known)
        << ". Do this: name such a one, or start the servers with another root (--save_root).";
  };
  for (const fs::path& part : fs::path(path)) refuse_unless(part != "..", "goes up by '..'");
  refuse_unless(!roots_.empty(), "is not beneath a root of saves");
  const std::string whole = path[0] == '/'
                                ? fs::path(path).lexically_normal().string()
                                : (fs::path(roots_[0].given) / path).lexically_normal().string();
  const Root* root = nullptr;
  size_t skip = 0;
  for (const Root& r : roots_) {
    for (const std::string& name : {r.given, r.directory->name()}) {
      if (!lies_in(whole, name) || (root && name.size() < skip)) continue;
      root = &r;
      skip = name.size();
    }
  }
  refuse_unless(root, "is not beneath a root of saves");

  std::vector<std::string> rest;
  for (const fs::path& part : fs::path(whole.substr(skip)))
    if (!part.empty() && part != "/" && part != ".") rest.push_back(part.string());
  // Before anything is made.
  if (make) {
    fs::path name(root->directory->name());
    for (const std::string& part : rest) name /= part;
    check_state(name.string(), path);
  }
  int fd = ::openat(root->directory->fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail("open", root->given, errno);
  auto at = std::make_shared<const Directory>(fd);
  const auto check_no_state = [&](const Directory& directory) {
    ARGOSY_CHECK(!make || !is_state(directory.path()), invalid_argument)
        << "[parameter_server] cannot save into '" << path << "': '" << directory.name()
        << "' is the state of a server. Do this: name another directory.";
  };
  check_no_state(*at);
  for (const std::string& part : rest) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int next = ::openat(at->fd(), part.c_str(), flags);
    if (next < 0 && errno == ENOENT && make) {
      if (::mkdirat(at->fd(), part.c_str(), 0777) && errno != EEXIST)
        fail("make the directory", at->name() + '/' + part, errno);
      sync_directory(at->path());
      next = ::openat(at->fd(), part.c_str(), flags);
    }
    const int error = next < 0 ? errno : 0;
    struct stat info;
    const bool link = error && !::fstatat(at->fd(), part.c_str(), &info, AT_SYMLINK_NOFOLLOW) &&
                      S_ISLNK(info.st_mode);
    refuse_unless(!link, ("goes through '" + part + "', which is a link").c_str());
    if (error) fail("open", at->name() + '/' + part, error);
    at = std::make_shared<const Directory>(next);
    check_no_state(*at);
  }
  if (make) check_state(at->name(), path);
  return at;
}

}  // namespace argosy::ps

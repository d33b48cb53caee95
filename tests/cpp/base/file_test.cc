#include "argosy/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "argosy/base/error.h"

namespace argosy {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
 protected:
  OutputFiles() {
    std::string name = fs::temp_directory_path() / "argosy-file-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ / "weights";
  }
  ~OutputFiles() override { fs::remove_all(folder_); }

  void write(std::string_view text) {
    OutputFile file(path_);
    file.write(text);
    file.commit();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : fs::directory_iterator(folder_))
      list.push_back(entry.path().filename());
    return list;
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(OutputFiles, WhatAKilledWriterLeftGoesWithTheNextFile) {
  write("old");
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    if (!child) {
      OutputFile file(path_);
      file.write("half");
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    // Each removes what the one before left.
    EXPECT_EQ(names().size(), 2u);
    EXPECT_EQ(read_file(path_), "old");
  }
  write("new");
  EXPECT_EQ(names(), std::vector<std::string>{"weights"});
  EXPECT_EQ(read_file(path_), "new");
}

TEST_F(OutputFiles, ALivingWriterIsLeftAlone) {
  OutputFile first(path_);
  first.write("first");
  write("second");
  EXPECT_EQ(names().size(), 2u);
  first.commit();
  EXPECT_EQ(read_file(path_), "first");
  EXPECT_EQ(names(), std::vector<std::string>{"weights"});
}

TEST_F(OutputFiles, OthersFilesOfLikeNamesStay) {
  for (const char* name : {"weights.tmp-7-0", "weights.tmp-notes", "weights.tmp-0123456789abcdeX",
                           "other.tmp-0123456789abcdef"}) {
    OutputFile file(folder_ / name);
    file.commit();
  }
  write("new");
  EXPECT_EQ(names().size(), 5u);
}

TEST_F(OutputFiles, PermissionsStay) {
  write("secret");
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  write("another");
  struct stat s;
  ASSERT_EQ(::stat(path_.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0600u);
}

TEST_F(OutputFiles, WithoutACommitNothingChanges) {
  write("old");
  {
    OutputFile file(path_);
    file.write("new");
    file.sync();
  }
  EXPECT_EQ(read_file(path_), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"weights"});
}

TEST_F(OutputFiles, LinksAreFollowedToTheirEnds) {
  const std::string link = folder_ / "link", second = folder_ / "second";
  fs::create_symlink("second", link);
  fs::create_symlink(path_, second);
  EXPECT_EQ(followed(link), path_);  // which is not there yet
  write("x");
  EXPECT_EQ(followed(link), path_);
  fs::create_symlink("circle", folder_ / "circle");
  EXPECT_THROW(OutputFile(followed(folder_ / "circle") + "/x"), Error);
  EXPECT_EQ(followed(path_), path_);
}

}  // namespace
}  // namespace argosy

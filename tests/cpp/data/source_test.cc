#include "argosy/data/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <set>
#include <thread>

#include "argosy/data/records.h"

namespace argosy::data {
namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/argosy_data_XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() {
    for (const std::string& f : files_) unlink(f.c_str());
    rmdir(path_.c_str());
  }
  std::string write(const std::string& name, const std::string& text) {
    files_.push_back(path_ + '/' + name);
    std::ofstream(files_.back(), std::ios::binary) << text;
    return files_.back();
  }
  std::string fifo(const std::string& name) {
    files_.push_back(path_ + '/' + name);
    mkfifo(files_.back().c_str(), 0600);
    return files_.back();
  }
  std::string pack(const std::string& name, const std::string& text) {
    files_.push_back(path_ + '/' + name);
    gzFile f = gzopen(files_.back().c_str(), "wb");
    gzwrite(f, text.data(), static_cast<unsigned>(text.size()));
    gzclose(f);
    return files_.back();
  }

 private:
  std::string path_;
  std::vector<std::string> files_;
};

ReadOptions options(std::vector<std::string> files, int64_t batch_size = 4) {
  ReadOptions o;
  o.format.slots = {{"id", DType::int64, false, {1}}, {"list", DType::int64, true, {}}};
  o.files = std::move(files);
  o.batch_size = batch_size;
  return o;
}

// Lines of samples first .. last - 1: the number, and a list of number % 4 of it.
std::string lines(int first, int last, const char* end = "\n") {
  std::string text;
  for (int i = first; i < last; ++i) {
    text += "1 " + std::to_string(i) + ' ' + std::to_string(i % 4);
    for (int k = 0; k < i % 4; ++k) text += ' ' + std::to_string(i * 10 + k);
    text += end;
  }
  return text;
}

// Numbers of all samples in the batches of a source, which are whole.
std::vector<int64_t> read_all(Source& source, std::vector<int64_t>* sizes = nullptr) {
  std::vector<int64_t> ids;
  Batch b;
  while (source.next(0, &b)) {
    if (sizes) sizes->push_back(b.samples);
    int64_t at = 0;
    for (int64_t i = 0; i < b.samples; ++i) {
      const int64_t id = b.values[0].data<int64_t>()[i];
      ids.push_back(id);
      EXPECT_EQ(b.lengths[1].data<int64_t>()[i], id % 4);
      for (int64_t k = 0; k < id % 4; ++k)
        EXPECT_EQ(b.values[1].data<int64_t>()[at++], id * 10 + k);
    }
    EXPECT_EQ(b.values[1].numel(), at);
  }
  return ids;
}

std::vector<int64_t> range(int64_t n) {
  std::vector<int64_t> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(i);
  return v;
}

// What the process has; none of it may be left by a source.
size_t count(const char* folder) {
  size_t n = 0;
  DIR* d = opendir(folder);
  while (readdir(d)) ++n;
  closedir(d);
  return n;
}

std::string error_of(Source& source) {
  Batch b;
  try {
    while (source.next(0, &b)) {
    }
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Files, InOrderByOneReader) {
  Folder folder;
  const auto source = read_files(options(
      {folder.write("a", lines(0, 10)), folder.write("b", ""), folder.write("c", lines(10, 15))}));
  std::vector<int64_t> sizes;
  EXPECT_EQ(read_all(*source, &sizes), range(15));
  EXPECT_EQ(sizes, (std::vector<int64_t>{4, 4, 4, 3}));
  EXPECT_EQ(source->progress().samples, 15u);
  Batch b;
  EXPECT_FALSE(source->next(0, &b));
}

TEST(Files, EndsOfLinesAndNoLastOne) {
  Folder folder;
  std::string text = lines(0, 7, "\r\n") + "\n  \n" + lines(7, 9);
  text.pop_back();
  EXPECT_EQ(read_all(*read_files(options({folder.write("a", text)}))), range(9));
}

TEST(Files, LongLines) {
  Folder folder;
  const int n = 300000;
  std::string text = "1 7 " + std::to_string(n);
  for (int i = 0; i < n; ++i) text += ' ' + std::to_string(i) + "00000";
  const auto source = read_files(options({folder.write("a", lines(0, 4) + text + '\n')}, 100));
  Batch b;
  ASSERT_TRUE(source->next(0, &b));
  EXPECT_EQ(b.samples, 5);
  EXPECT_EQ(b.values[1].dim(0), 6 + n);
  EXPECT_EQ(b.values[1].data<int64_t>()[5 + n], (n - 1) * int64_t{100000});
}

TEST(Files, Gzip) {
  Folder folder;
  const std::string one = folder.pack("a", lines(0, 50000));
  EXPECT_EQ(read_all(*read_files(options({one}))), range(50000));
  // Two members one after the other, as `cat a.gz b.gz` makes them.
  const std::string other = folder.pack("b", lines(50000, 50010));
  std::ifstream first(one, std::ios::binary), second(other, std::ios::binary);
  std::string both((std::istreambuf_iterator<char>(first)), {});
  both.append(std::istreambuf_iterator<char>(second), {});
  EXPECT_EQ(read_all(*read_files(options({folder.write("c", both)}))), range(50010));
  auto cut = read_files(options({folder.write("d", both.substr(0, both.size() / 2))}));
  EXPECT_NE(error_of(*cut).find("is cut off"), std::string::npos);
  std::string bad = both;
  for (size_t i = 1000; i < 1100; ++i) bad[i] = 'x';
  auto damaged = read_files(options({folder.write("e", bad)}));
  EXPECT_NE(error_of(*damaged), "no error");
}

TEST(Files, SeveralReadersLoseNothing) {
  Folder folder;
  std::vector<std::string> files;
  for (int i = 0; i < 20; ++i)
    files.push_back(folder.write(std::to_string(i), lines(i * 37, i * 37 + 37)));
  ReadOptions o = options(files);
  o.readers = 3;
  o.lanes = 2;
  o.room = 2;
  const auto source = read_files(o);
  std::vector<int64_t> parts[3];
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      Batch b;
      while (source->next(t, &b))
        for (int64_t i = 0; i < b.samples; ++i) parts[t].push_back(b.values[0].data<int64_t>()[i]);
    });
  for (std::thread& t : threads) t.join();
  std::multiset<int64_t> found;
  for (const auto& p : parts) found.insert(p.begin(), p.end());
  const auto all = range(20 * 37);
  EXPECT_EQ(found, std::multiset<int64_t>(all.begin(), all.end()));
}

TEST(Files, BadLinesAreNamed) {
  Folder folder;
  const std::string path = folder.write("bad", lines(0, 5) + "1 5 x\n" + lines(6, 8) + "oops\n");
  auto source = read_files(options({path}));
  EXPECT_EQ(error_of(*source),
            "[dataset] " + path +
                ":6: slot 'list' (2 of 2): expected a count, got 'x'. Do this: mend the line, or "
                "init the data set with bad_lines='skip', which counts such lines and goes on.");
  ReadOptions o = options({path});
  o.skip_bad_lines = true;
  source = read_files(o);
  EXPECT_EQ(read_all(*source), (std::vector<int64_t>{0, 1, 2, 3, 4, 6, 7}));
  EXPECT_EQ(source->progress().bad_lines, 2u);
}

TEST(Files, MissingFilesAndFolders) {
  EXPECT_NE(
      error_of(*read_files(options({"/nowhere/at/all"}))).find("cannot open '/nowhere/at/all'"),
      std::string::npos);
  EXPECT_NE(error_of(*read_files(options({"/tmp"}))).find("is a folder"), std::string::npos);
}

TEST(Commands, FilterPlainAndPackedFiles) {
  Folder folder;
  ReadOptions o =
      options({folder.write("a", lines(0, 30000)), folder.pack("b", lines(30000, 60000))});
  o.stream.pipe_command = "sed s/x/y/";
  EXPECT_EQ(read_all(*read_files(o)), range(60000));
  o.stream.pipe_command = "head -n 3";  // leaves its input unread
  EXPECT_EQ(read_all(*read_files(o)), (std::vector<int64_t>{0, 1, 2, 30000, 30001, 30002}));
}

TEST(Commands, AFailureTellsTheCodeAndTheLastLines) {
  Folder folder;
  const std::string path = folder.write("a", lines(0, 3));
  ReadOptions o = options({path}, 1);
  o.stream.pipe_command = "cat; echo first >&2; echo second >&2; exit 3";
  const std::string text = error_of(*read_files(o));
  EXPECT_EQ(text, "[dataset] the command '" + o.stream.pipe_command + "' failed on '" + path +
                      "': exit code 3. Its last lines on stderr:\nfirst\nsecond");
  o.stream.pipe_command = "kill -9 $$";
  EXPECT_NE(error_of(*read_files(o)).find("killed by signal 9"), std::string::npos);
  o.stream.pipe_command = "/no/such/program";
  EXPECT_NE(error_of(*read_files(o)).find("exit code 127"), std::string::npos);
}

TEST(Commands, LinesAreCountedInTheOutput) {
  Folder folder;
  ReadOptions o = options({folder.write("a", lines(0, 3))});
  o.stream.pipe_command = "sed -e 1d -e '$a bad'";
  const std::string text = error_of(*read_files(o));
  EXPECT_NE(text.find("/a:3: slot 'id'"), std::string::npos) << text;
  EXPECT_NE(text.find("mend the line (of what the pipe_command wrote)"), std::string::npos) << text;
}

TEST(Sources, LeaveNothingBehind) {
  Folder folder;
  const std::string path = folder.write("a", lines(0, 100000));
  const size_t threads = count("/proc/self/task");
  { const auto warm = read_files(options({path})); }
  const size_t files = count("/proc/self/fd");
  for (const char* command : {"", "cat; sleep 1000", "sleep 1000"}) {
    ReadOptions o = options({path, path, path});
    o.stream.pipe_command = command;
    o.readers = 2;
    const auto source = read_files(o);
    Batch b;
    if (std::string(command) != "sleep 1000") {
      ASSERT_TRUE(source->next(0, &b));
    }
  }
  // A joined thread stays listed until the kernel has buried it, a moment after the join.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (count("/proc/self/task") > threads && std::chrono::steady_clock::now() < limit)
    usleep(1000);
  EXPECT_LE(count("/proc/self/task"), threads);
  EXPECT_EQ(count("/proc/self/fd"), files);
}

// --- waits ---

// Stops a process or a thread of this one wherever it is, as a file system that hangs would, by a
// tracer process; what is killed meanwhile stays, too.
class Held {
 public:
  explicit Held(pid_t who) {
    int ready[2];
    if (pipe(ready)) return;
    tracer_ = fork();
    if (tracer_ == 0) {
      char ok = ptrace(PTRACE_SEIZE, who, nullptr, nullptr) == 0;
      if (ok && ptrace(PTRACE_INTERRUPT, who, nullptr, nullptr) == 0) waitpid(who, nullptr, __WALL);
      if (write(ready[1], &ok, 1) != 1) _exit(1);
      for (;;) pause();
    }
    char ok = 0;
    held_ = read(ready[0], &ok, 1) == 1 && ok;
    close(ready[0]);
    close(ready[1]);
  }
  ~Held() { release(); }
  void release() {
    if (tracer_ <= 0) return;
    kill(tracer_, SIGKILL);
    waitpid(tracer_, nullptr, 0);
    tracer_ = -1;
  }
  explicit operator bool() const { return held_; }

 private:
  pid_t tracer_ = -1;
  bool held_ = false;
};

std::set<pid_t> threads_of_this_process() {
  std::set<pid_t> found;
  DIR* d = opendir("/proc/self/task");
  while (const dirent* e = readdir(d))
    if (const int id = std::atoi(e->d_name)) found.insert(id);
  closedir(d);
  return found;
}

template <class F>
std::string timeout_of(F wait) {
  try {
    wait();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::timeout) << e.what();
    return e.what();
  }
  return "no error";
}

std::string timeout_of(const ReadOptions& o) {
  const auto source = read_files(o);
  return timeout_of([&] {
    Batch b;
    while (source->next(0, &b)) {
    }
  });
}

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Waits, FifosThatNobodyWrites) {
  Folder folder;
  const std::string path = folder.fifo("a");
  ReadOptions o = options({path});
  o.stream.timeout = 0.3;
  for (const char* command : {"", "sed s/x/y/"}) {
    o.stream.pipe_command = command;
    expect_in("nobody wrote a byte into '" + path + "', which is a pipe or a device, for 0.3 s",
              timeout_of(o));
  }
  const int writer = open(path.c_str(), O_RDWR);  // and writes nothing
  expect_in("nobody wrote a byte", timeout_of(o));
  close(writer);
  // The end of a pass needs no writer, either.
  o.stream.timeout = std::numeric_limits<double>::infinity();
  const auto left = read_files(o);
}

TEST(Waits, FifosAreReadToTheEnd) {
  Folder folder;
  const std::string path = folder.fifo("a");
  for (const char* command : {"", "sed s/x/y/"}) {
    ReadOptions o = options({path});
    o.stream.pipe_command = command;
    o.stream.timeout = 100;
    const auto source = read_files(o);
    std::thread writing([&] {
      usleep(200'000);
      std::ofstream to(path);
      to << lines(0, 1000) << std::flush;
      usleep(200'000);
      to << lines(1000, 2000);
    });
    EXPECT_EQ(read_all(*source), range(2000));
    writing.join();
  }
}

TEST(Waits, CommandsThatHang) {
  Folder folder;
  const std::string plain = folder.write("a", lines(0, 3)),
                    packed = folder.pack("b", lines(0, 100000));
  for (const std::string& path : {plain, packed}) {
    ReadOptions o = options({path});
    o.stream.timeout = 1;  // and not less: the shell has to say what it is looking for
    for (const char* command : {"sleep 1000", "trap '' TERM; sleep 1000", "head -1; sleep 1000",
                                "echo looking >&2; sleep 1000"}) {
      o.stream.pipe_command = command;
      const std::string text = timeout_of(o);
      expect_in("the command '" + o.stream.pipe_command + "' (process ", text);
      expect_in("on '" + path + "' neither read nor wrote a byte for 1 s", text);
      expect_in("ARGOSY_DATA_TIMEOUT", text);
    }
    expect_in("Its last lines on stderr:\nlooking\n. Do this", timeout_of(o));
    o.stream.pipe_command = "cat; exec >&-; sleep 1000";
    expect_in("has closed its output and has not ended for 1 s", timeout_of(o));
  }
}

TEST(Waits, DownloadsThatHang) {
  ReadOptions o = options({"hdfs:/a/b"});
  o.stream.timeout = 0.3;
  o.stream.remote_command = "sleep 1000; echo";
  expect_in("the command 'sleep 1000; echo 'hdfs:/a/b'' (process ", timeout_of(o));
  o.stream.pipe_command = "sed s/x/y/";
  expect_in("the command 's", timeout_of(o));
}

TEST(Waits, SlowOnesMayTakeTheirTime) {
  Folder folder;
  ReadOptions o = options({folder.write("a", lines(0, 8))});
  o.stream.timeout = 3;
  // Each line is progress, written or read.
  o.stream.pipe_command = "while read -r line; do sleep 0.5; echo \"$line\"; done";
  EXPECT_EQ(read_all(*read_files(o)), range(8));
  o.stream.pipe_command = "while read -r line; do sleep 0.5; done; echo 1 0 0";
  EXPECT_EQ(read_all(*read_files(o)), range(1));
}

TEST(Waits, AReaderWhoseConsumerIsGone) {
  Folder folder;
  ReadOptions o = options({folder.write("a", lines(0, 1000))});
  o.stream.timeout = 0.2;
  const auto source = read_files(o);
  usleep(2'000'000);
  expect_in(
      "a reader waited 0.4 s for room: 8 batches are ready and no thread that trains took one",
      timeout_of([&] {
        Batch b;
        while (source->next(0, &b)) {
        }
      }));
}

TEST(Waits, AConsumerOfReadersThatDoNotMove) {
  const Stop reading;
  BatchQueue queue(1, 2, 3, 1, reading);
  Batch b;
  expect_in("thread 5 waited 1 s for a batch, and none of 3 readers got on in that time",
            timeout_of([&] { queue.pop(5, &b); }));
  // Those who read without a whole batch yet do move.
  std::thread slow([&] {
    for (int i = 0; i < 40; ++i) {
      usleep(50'000);
      reading.moved();
    }
    queue.push({});
  });
  EXPECT_TRUE(queue.pop(0, &b));
  slow.join();
}

// S: it waits.
char state_of_thread(pid_t id) {
  std::ifstream file("/proc/self/task/" + std::to_string(id) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name = text.rfind(") ");
  return name == text.npos ? '?' : text[name + 2];
}

// Holds the last thread that was started, which waits in poll and so has no lock.
std::unique_ptr<Held> hold_last_thread(const std::set<pid_t>& before, size_t started) {
  std::set<pid_t> now;
  do {
    usleep(200'000);
    now = threads_of_this_process();
    for (pid_t id : before) now.erase(id);  // some of them may have ended
  } while (now.size() < started || state_of_thread(*now.rbegin()) != 'S');
  return std::make_unique<Held>(*now.rbegin());
}

TEST(Waits, AReaderThatHangsIsLeftBehind) {
  Folder folder;
  ReadOptions o = options({folder.fifo("a")});
  o.stream.timeout = 3;
  std::set<pid_t> before = threads_of_this_process();
  auto source = read_files(o);
  auto held = hold_last_thread(before, 1);
  if (!*held) GTEST_SKIP() << "processes may not be traced here";
  expect_in("thread 0 waited 6 s for a batch, and none of 1 readers got on", timeout_of([&] {
              Batch b;
              while (source->next(0, &b)) {
              }
            }));
  const auto begin = std::chrono::steady_clock::now();
  source.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
  held.reset();  // it goes on, finds that it is to end, and frees what it had

  Records records(o.format);
  before = threads_of_this_process();
  std::thread loading([&] {
    expect_in("no reader got on for 6 s while loading", timeout_of([&] { records.load(o); }));
  });
  held = hold_last_thread(before, 2);
  loading.join();
  held.reset();
  EXPECT_EQ(records.size(), 0u);
}

TEST(Waits, ACommandThatDoesNotEndWhenKilled) {
  Folder folder;
  ReadOptions o = options({folder.write("a", "")});
  const std::string id = folder.write("id", "");
  o.stream.pipe_command = "echo $$ > " + id + "; sleep 1000";
  auto source = read_files(o);
  pid_t command = 0;
  while (!(std::ifstream(id) >> command)) usleep(1000);
  Held held(command);
  if (!held) GTEST_SKIP() << "processes may not be traced here";
  const auto begin = std::chrono::steady_clock::now();
  testing::internal::CaptureStderr();
  source.reset();
  expect_in("(process " + std::to_string(command) + ") was killed and has not ended after 5 s",
            testing::internal::GetCapturedStderr());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
  held.release();
  EXPECT_EQ(waitpid(command, nullptr, 0), command);
}

TEST(Sources, StopWakesWhoWaits) {
  Folder folder;
  ReadOptions o = options({folder.write("a", "")});
  o.stream.pipe_command = "sleep 1000";
  const auto source = read_files(o);
  std::thread waiting([&] {
    Batch b;
    EXPECT_FALSE(source->next(0, &b));
  });
  source->stop();
  waiting.join();
}

TEST(Records, KeepShuffleAndGive) {
  Folder folder;
  ReadOptions o = options({folder.write("a", lines(0, 700)), folder.pack("b", lines(700, 1000))});
  o.readers = 2;
  Records records(o.format);
  records.load(o);
  EXPECT_EQ(records.size(), 1000u);
  std::vector<int64_t> sizes;
  EXPECT_EQ(read_all(*records.batches(300), &sizes), range(1000));
  EXPECT_EQ(sizes, (std::vector<int64_t>{300, 300, 300, 100}));
  records.shuffle(5);
  auto once = read_all(*records.batches(7));
  EXPECT_NE(once, range(1000));
  std::sort(once.begin(), once.end());
  EXPECT_EQ(once, range(1000));
  records.load(o);
  EXPECT_EQ(records.size(), 2000u);
}

TEST(Records, AreCompact) {
  Folder folder;
  ReadOptions o = options({folder.write("a", lines(0, 300000))});
  Records records(o.format);
  records.load(o);
  // 8 for the number, 1 for the count, 12 of the list on average, 8 for the place.
  EXPECT_LT(records.bytes(), 300000 * 29 * 1.3);
}

TEST(Records, LongListsAndCounts) {
  Folder folder;
  std::string text;
  for (int n : {127, 128, 129, 16383, 16384, 70000}) {
    text += "1 0 " + std::to_string(n);
    for (int k = 0; k < n; ++k) text += ' ' + std::to_string(k + 1);
    text += '\n';
  }
  ReadOptions o = options({folder.write("a", text)});
  Records records(o.format);
  records.load(o);
  const auto source = records.batches(6);
  Batch b;
  ASSERT_TRUE(source->next(0, &b));
  const int64_t* n = b.lengths[1].data<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(n, n + 6),
            (std::vector<int64_t>{127, 128, 129, 16383, 16384, 70000}));
  EXPECT_EQ(b.values[1].data<int64_t>()[b.values[1].numel() - 1], 70000);
}

TEST(Records, SlotsShuffleMovesOneSlotOnly) {
  Folder folder;
  ReadOptions o = options({folder.write("a", lines(0, 500))});
  Records records(o.format);
  records.load(o);
  const size_t slots[] = {1};
  for (int round = 0; round < 2; ++round) {
    records.shuffle_slots(slots, 9);
    const auto source = records.batches(500);
    Batch b;
    ASSERT_TRUE(source->next(0, &b));
    std::multiset<int64_t> lists;
    int moved = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < 500; ++i) {
      EXPECT_EQ(b.values[0].data<int64_t>()[i], i);
      const int64_t n = b.lengths[1].data<int64_t>()[i];
      if (n) moved += b.values[1].data<int64_t>()[at] / 10 != i;
      for (int64_t k = 0; k < n; ++k) lists.insert(b.values[1].data<int64_t>()[at++]);
    }
    EXPECT_GT(moved, 300);
    std::multiset<int64_t> expected;
    for (int64_t i = 0; i < 500; ++i)
      for (int64_t k = 0; k < i % 4; ++k) expected.insert(i * 10 + k);
    EXPECT_EQ(lists, expected);
  }
}

TEST(Records, PartsHoldEverySampleOnce) {
  Folder folder;
  ReadOptions o = options({folder.write("a", lines(0, 1000))});
  Records records(o.format);
  records.load(o);
  const auto parts = records.take_parts(3, 4);
  EXPECT_EQ(records.size(), 0u);
  std::vector<int64_t> found;
  for (const std::string& p : parts) {
    EXPECT_GT(p.size(), 5000u);
    Records other(o.format);
    other.add_part(p);
    const auto ids = read_all(*other.batches(64));
    found.insert(found.end(), ids.begin(), ids.end());
  }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, range(1000));
}

TEST(Records, MergeById) {
  Folder folder;
  ReadOptions o =
      options({folder.write("a", "1 u 1 1 2 5 6\n1 v 1 2 1 7\n1 u 1 3 1 8\n1 w 1 4 0\n")});
  o.format.sample_id = true;
  Records records(o.format);
  records.load(o);
  records.merge_by_id(2);
  ASSERT_EQ(records.size(), 1u);
  Batch b;
  const auto source = records.batches(4);
  ASSERT_TRUE(source->next(0, &b));
  EXPECT_EQ(b.values[0].data<int64_t>()[0], 1);
  const int64_t* list = b.values[1].data<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(list, list + 3), (std::vector<int64_t>{5, 6, 8}));
}

TEST(Records, LoadingIsStoppedByErrorsAndByOthers) {
  Folder folder;
  ReadOptions o =
      options({folder.write("a", lines(0, 5) + "bad\n"), folder.write("b", lines(5, 9))});
  Records records(o.format);
  EXPECT_THROW(records.load(o), Error);
  EXPECT_EQ(records.size(), 0u);
  o = options({folder.write("c", "")});
  o.stream.pipe_command = "sleep 1000";
  std::atomic<bool> ended{false};
  std::thread loading([&] {
    EXPECT_THROW(records.load(o), Error);
    ended = true;
  });
  while (!ended) records.stop_loading();  // it may not have begun
  loading.join();
}

}  // namespace
}  // namespace argosy::data

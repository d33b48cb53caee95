#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz.h"

// A mutation fuzzer guided by coverage, for the preset `fuzz` (the compiler that builds Argosy has
// no libFuzzer): driver SECONDS CORPUS_OUT [CORPUS_IN...]
//
// A worker process mutates inputs and keeps those that reach new edges of code compiled with
// -fsanitize-coverage=trace-pc. An input that kills it, or takes more than 10 seconds, is saved as
// crash-N beside the corpus, and another worker goes on. Exit code 1: there were such.

namespace fs = std::filesystem;
using Input = std::vector<uint8_t>;

namespace {

constexpr size_t kEdges = 1 << 16;
uint8_t edges[kEdges];
uintptr_t previous;

}  // namespace

// Called at each edge.
extern "C" __attribute__((visibility("default"))) void __sanitizer_cov_trace_pc() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  const size_t i = (here * 0x9e3779b97f4a7c15ull >> 40 ^ previous) & (kEdges - 1);
  if (edges[i] != 255) ++edges[i];
  previous = (here * 0x9e3779b97f4a7c15ull >> 41) & (kEdges - 1);
}

extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "handle_abort=1:max_allocation_size_mb=1024:hard_rss_limit_mb=3000:detect_leaks=1";
}

namespace {

constexpr size_t kMaxSize = 1 << 16;

// What the parent needs to know of a worker that died.
struct Shared {
  uint64_t runs;
  uint64_t size;
  uint8_t input[kMaxSize];
};
Shared* shared;

Input read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  return {bytes.begin(), bytes.end()};
}

void write(const fs::path& path, const uint8_t* data, size_t size) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> list;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().filename().string().rfind("crash", 0) != 0)
        list.push_back(entry.path());
  std::sort(list.begin(), list.end());
  return list;
}

class Worker {
 public:
  Worker(uint64_t seed, fs::path out) : random_(seed), out_(std::move(out)) {}

  void add(const Input& input) {
    if (input.size() <= kMaxSize && run(input)) corpus_.push_back(input);
  }

  void loop(std::chrono::steady_clock::time_point end) {
    if (corpus_.empty()) corpus_.push_back({});
    while (std::chrono::steady_clock::now() < end) {
      for (int i = 0; i < 64; ++i) {
        Input input = mutated();
        if (!run(input)) continue;
        corpus_.push_back(input);
        const std::string name = std::to_string(random_());
        write(out_ / name, input.data(), input.size());
      }
    }
  }

 private:
  // Whether it reached something new.
  bool run(const Input& input) {
    std::memset(edges, 0, sizeof(edges));
    previous = 0;
    shared->size = input.size();
    if (!input.empty()) std::memcpy(shared->input, input.data(), input.size());
    ++shared->runs;
    alarm(10);
    LLVMFuzzerTestOneInput(input.data(), input.size());
    alarm(0);
    bool fresh = false;
    for (size_t i = 0; i < kEdges; ++i) {
      if (!edges[i]) continue;
      // Counts fall into classes: 1, 2, 3, 4-7, 8-15, ...
      const uint8_t n = edges[i];
      const uint8_t kind = n < 4 ? 1 << (n - 1) : n < 8 ? 8 : n < 16 ? 16 : n < 32 ? 32 : 64;
      fresh |= (seen_[i] | kind) != seen_[i];
      seen_[i] |= kind;
    }
    return fresh;
  }

  size_t below(size_t n) { return n ? random_() % n : 0; }

  const Input& any() {
    // Newer ones more often.
    const size_t a = below(corpus_.size()), b = below(corpus_.size());
    return corpus_[std::max(a, b)];
  }

  Input mutated() {
    Input x = any();
    for (size_t n = 1 + below(1 << below(4)); n--;) mutate(x);
    if (x.size() > kMaxSize) x.resize(kMaxSize);
    return x;
  }

  void mutate(Input& x) {
    static constexpr int64_t odd[] = {0,         1,         -1,    2,          4,
                                      8,         16,        127,   128,        255,
                                      256,       32767,     65535, 0x7fffffff, -2147483648ll,
                                      INT64_MAX, INT64_MIN, 100,   1 << 20};
    const size_t at = below(x.size());
    const size_t left = x.size() - at;
    switch (below(10)) {
      case 0:
        if (!x.empty()) x[at] ^= static_cast<uint8_t>(1 << below(8));
        break;
      case 1:
        if (!x.empty()) x[at] = static_cast<uint8_t>(random_());
        break;
      case 2:
      case 3: {
        const int64_t v = odd[below(std::size(odd))];
        const size_t width = size_t{1} << below(4);
        if (left >= width) std::memcpy(&x[at], &v, width);
        break;
      }
      case 4: {
        int32_t v;
        if (left < 4) break;
        std::memcpy(&v, &x[at], 4);
        v = static_cast<int32_t>(static_cast<uint32_t>(v) + below(65) - 32);
        std::memcpy(&x[at], &v, 4);
        break;
      }
      case 5:
        x.erase(x.begin() + static_cast<ptrdiff_t>(at),
                x.begin() + static_cast<ptrdiff_t>(at + std::min(left, 1 + below(32))));
        break;
      case 6: {
        Input more(1 + below(16), static_cast<uint8_t>(random_()));
        x.insert(x.begin() + static_cast<ptrdiff_t>(at), more.begin(), more.end());
        break;
      }
      case 7: {
        const Input piece(x.begin() + static_cast<ptrdiff_t>(at),
                          x.begin() + static_cast<ptrdiff_t>(at + std::min(left, 1 + below(64))));
        const size_t to = below(x.size() + 1);
        if (below(2))
          x.insert(x.begin() + static_cast<ptrdiff_t>(to), piece.begin(), piece.end());
        else
          std::copy_n(piece.begin(), std::min(piece.size(), x.size() - to),
                      x.begin() + static_cast<ptrdiff_t>(to));
        break;
      }
      case 8: {
        // A piece of another input, over or into this one.
        const Input& other = any();
        const size_t from = below(other.size());
        const size_t n = std::min(other.size() - from, 1 + below(64));
        if (below(2)) {
          const Input piece(other.begin() + static_cast<ptrdiff_t>(from),
                            other.begin() + static_cast<ptrdiff_t>(from + n));
          x.insert(x.begin() + static_cast<ptrdiff_t>(at), piece.begin(), piece.end());
        } else {
          std::copy_n(other.begin() + static_cast<ptrdiff_t>(from), std::min(n, left),
                      x.begin() + static_cast<ptrdiff_t>(at));
        }
        break;
      }
      default: {
        // Numbers in texts.
        size_t digit = at;
        while (digit < x.size() && (x[digit] < '0' || x[digit] > '9')) ++digit;
        if (digit < x.size()) x[digit] = static_cast<uint8_t>('0' + below(10));
      }
    }
  }

  std::mt19937_64 random_;
  fs::path out_;
  std::vector<Input> corpus_;
  uint8_t seen_[kEdges] = {};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SECONDS CORPUS_OUT [CORPUS_IN...]\n", argv[0]);
    return 2;
  }
  const fs::path out = argv[2];
  fs::create_directories(out);
  shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) return 2;
  const auto start = std::chrono::steady_clock::now();
  const auto end = start + std::chrono::seconds(std::atoi(argv[1]));
  uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  int crashes = 0;
  while (std::chrono::steady_clock::now() < end && crashes < 20) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGALRM, [](int) { argosy::fuzz::die("took more than 10 seconds"); });
      Worker worker(seed, out);
      for (int i = 2; i < argc; ++i)
        for (const fs::path& path : files_in(argv[i])) worker.add(read(path));
      worker.loop(end);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    const fs::path path = out / ("crash-" + std::to_string(seed));
    write(path, shared->input, shared->size);
    std::printf("%s: status %d\n", path.c_str(), status);
    ++crashes;
    ++seed;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu runs in %.0f s, %zu inputs, %d crashes\n",
              static_cast<unsigned long long>(shared->runs), seconds, files_in(out).size(),
              crashes);
  return crashes ? 1 : 0;
}

// Speed and memory of sparse tables on one core. Keys are random or Zipf distributed; results are
// checked against a plain computation of the same rows.
//   ps_table_bench [--rows 100e6] [--kind plain|click] [--dim 8] [--rule adagrad] [--dtype float32]
//                  [--batch 65536] [--embedded 0.2] [--calls 400]
//   ps_table_bench --memory-rows 40e6 --directory /tmp/table [--rows 200e6] [--zipf 1.05]
//                  tier ssd: keys are drawn by popularity; rows are made from the rarest key on
#include <malloc.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "argosy/ps/table/table.h"

using namespace argosy::ps;

namespace {

struct Options {
  double rows = 100e6, embedded = 0.2;
  std::string kind = "plain", rule = "adagrad", dtype = "float32";
  double memory_rows = 0, zipf = 0;
  std::string directory;
  int dim = 8, batch = 65536, calls = 400;
};

// Ranks 0 .. n - 1 with probability ~ 1 / (rank + 1)^s, by rejection from the integral of the
// density (Hoermann and Derflinger 1996).
class Zipf {
 public:
  Zipf(double n, double s) : n_(n), s_(s), low_(integral(1.5) - 1), high_(integral(n + 0.5)) {}
  uint64_t draw(uint64_t* state) const {
    for (;;) {
      *state = *state * 6364136223846793005 + 1442695040888963407;
      const double u = low_ + static_cast<double>(mix(*state) >> 11) * 0x1p-53 * (high_ - low_);
      const double x = inverse(u);
      const double k = std::min(std::max(std::floor(x + 0.5), 1.0), n_);
      if (u >= integral(k + 0.5) - std::pow(k, -s_)) return static_cast<uint64_t>(k) - 1;
    }
  }

 private:
  double integral(double x) const { return (std::pow(x, 1 - s_) - 1) / (1 - s_); }
  double inverse(double u) const { return std::pow(1 + u * (1 - s_), 1 / (1 - s_)); }
  double n_, s_, low_, high_;
};

// Of this thread's processor (or the process's): other processes on the machine do not count.
double now(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double wall() {
  return now(CLOCK_MONOTONIC);
}

// Seconds that this thread was ready, but other threads had the processors. 0 if not known.
double queued() {
  FILE* f = std::fopen("/proc/thread-self/schedstat", "r");
  unsigned long long running = 0, waiting = 0;
  if (f) {
    if (std::fscanf(f, "%llu %llu", &running, &waiting) != 2) waiting = 0;
    std::fclose(f);
  }
  return 1e-9 * static_cast<double>(waiting);
}

double resident_bytes() {
  FILE* f = std::fopen("/proc/self/statm", "r");
  long size = 0, resident = 0;
  if (f) {
    if (std::fscanf(f, "%ld %ld", &size, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return 4096.0 * static_cast<double>(resident);
}

// The i-th of the table's keys.
Key key_of(uint64_t i) {
  return mix(i * 0x9e3779b97f4a7c15 + 12345);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--rows")
      o.rows = std::atof(value);
    else if (name == "--embedded")
      o.embedded = std::atof(value);
    else if (name == "--kind")
      o.kind = value;
    else if (name == "--rule")
      o.rule = value;
    else if (name == "--dtype")
      o.dtype = value;
    else if (name == "--memory-rows")
      o.memory_rows = std::atof(value);
    else if (name == "--zipf")
      o.zipf = std::atof(value);
    else if (name == "--directory")
      o.directory = value;
    else if (name == "--dim")
      o.dim = std::atoi(value);
    else if (name == "--batch")
      o.batch = std::atoi(value);
    else if (name == "--calls")
      o.calls = std::atoi(value);
    else
      std::fprintf(stderr, "unknown option %s\n", name.c_str()), std::exit(2);
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  const bool click = o.kind == "click";
  TableConfig config;
  config.name = "bench";
  config.accessor.kind = o.kind;
  config.accessor.dim = o.dim;
  config.accessor.dtype = o.dtype;
  config.accessor.weight.rule = config.accessor.embedding.rule = o.rule;
  config.accessor.embedding_threshold = 0.9f;
  const bool tiered = !o.directory.empty();
  if (tiered) {
    config.tier = "ssd";
    config.directory = o.directory;
    config.memory_rows = static_cast<uint64_t>(o.memory_rows);
  }
  const auto table = make_sparse_table(config);
  const size_t pull_width = table->pull_width(), push_width = table->push_width();
  const size_t batch = static_cast<size_t>(o.batch);
  const auto rows = static_cast<uint64_t>(o.rows);
  std::vector<Key> keys(batch);
  std::vector<float> values(batch * push_width, 0.01f), out(batch * pull_width);
  for (size_t i = 0; i < batch && click; ++i) {
    values[i * push_width] = static_cast<float>(i % 300);
    values[i * push_width + 1] = 0.5f;
    values[i * push_width + 2] = 0;
  }

  // Rows come to be; what a call takes above the usual is growth.
  const double resident_before = resident_bytes();
  double longest = 0, longest_wall = 0, begin = now();
  const double wall_begin = wall();
  constexpr size_t kSmall = 4096;  // keys of a call: a pause is not hidden in a long call
  // Tiered: as a snapshot is loaded, all rows alike.
  Rows loaded;
  if (tiered) {
    auto small = config;
    small.tier = "memory";
    small.directory.clear();
    small.memory_rows = 0;
    const auto one = make_sparse_table(small);
    one->pull({keys.data(), 1}, out.data(), true);
    Rows row;
    one->copy_shard(shard_of(keys[0]), Selection::all, false, &row, nullptr);
    for (size_t i = 0; i < kSmall; ++i) {
      loaded.bytes.insert(loaded.bytes.end(), row.bytes.begin(), row.bytes.end());
      loaded.offsets.push_back(static_cast<uint32_t>(loaded.bytes.size()));
    }
    loaded.keys.resize(kSmall);
  }
  for (uint64_t done = 0; tiered && done < rows; done += kSmall) {
    // The rarest first: at the end memory has the keys that are used most.
    for (size_t i = 0; i < kSmall; ++i)
      loaded.keys[i] = key_of(rows - 1 - std::min(done + i, rows - 1));
    const double t = now(), w = wall(), q = queued();
    table->put_rows(loaded);
    longest = std::max(longest, now() - t);
    longest_wall = std::max(longest_wall, wall() - w - (queued() - q));
  }
  for (uint64_t done = 0; !tiered && done < rows;) {
    const size_t n = std::min<uint64_t>(kSmall, rows - done);
    for (size_t i = 0; i < n; ++i) keys[i] = key_of(done + i);
    const double t = now();
    if (click) {
      // A part of the keys gets clicks enough for an embedding.
      for (size_t i = 0; i < n; ++i) {
        const bool full = static_cast<double>((done + i) % 1000) < 1000 * o.embedded;
        values[i * push_width + 2] = full ? 1.0f : 0.0f;
      }
      table->push({keys.data(), n}, values.data(), {});
    } else {
      table->pull({keys.data(), n}, out.data(), true);
    }
    longest = std::max(longest, now() - t);
    done += n;
  }
  const double filled = now() - begin;
  for (size_t i = 0; i < batch && click; ++i) values[i * push_width + 2] = 0;
  malloc_trim(0);
  const double resident = resident_bytes() - resident_before;
  const auto stats = table->stats();
  const double n = static_cast<double>(tiered ? rows : stats.rows);
  std::printf("%s dim %d %s %s: %.0f rows in %.1f s (%.2f M/s), longest call of %zu keys %.1f ms\n",
              o.kind.c_str(), o.dim, o.dtype.c_str(), o.rule.c_str(), n, filled, n / filled / 1e6,
              kSmall, 1e3 * longest);
  Rows sample;
  for (uint32_t s = 0; s < 8; ++s) table->copy_shard(s, Selection::all, false, &sample, nullptr);
  const double payload =
      8 + static_cast<double>(sample.bytes.size()) / static_cast<double>(sample.keys.size());
  if (tiered) {
    std::printf(
        "in memory %.1fM rows, on disk %.1fM; filled in %.0f s; longest call by the clock on the "
        "wall, without waiting for a processor: %.1f ms\n",
        static_cast<double>(stats.rows) / 1e6, static_cast<double>(stats.disk_rows) / 1e6,
        wall() - wall_begin, 1e3 * longest_wall);
  }
  std::printf(
      "memory: resident %.2f GiB, %.1f bytes a row (counted %.1f); key and value %.1f; "
      "ratio %.3f\n",
      resident / (1 << 30), resident / n, static_cast<double>(stats.memory_bytes) / n, payload,
      resident / n / payload);

  // Batches of random keys of the table. The seconds are those of the calls alone.
  uint64_t state = 7;
  const Zipf zipf(static_cast<double>(rows), o.zipf);
  const auto draw = [&] {
    for (auto& k : keys) {
      if (o.zipf > 0) {
        k = key_of(zipf.draw(&state));
        continue;
      }
      state = state * 6364136223846793005 + 1442695040888963407;
      k = key_of(static_cast<uint64_t>((static_cast<unsigned __int128>(state) * rows) >> 64));
    }
  };
  double pulling = 0, pushing = 0, pulling_wall = 0, pulling_queued = 0, pulling_all = 0;
  for (int c = 0; tiered && c < o.calls; ++c) {  // until memory has what this workload uses
    draw();
    table->pull(keys, out.data(), false);
  }
  const uint64_t read_before = table->stats().disk_reads;
  for (int c = 0; c < o.calls; ++c) {
    draw();
    const double t = now(), w = wall(), q = queued(), all = now(CLOCK_PROCESS_CPUTIME_ID);
    table->pull(keys, out.data(), false);
    pulling += now() - t;
    pulling_wall += wall() - w;
    pulling_queued += queued() - q;
    pulling_all += now(CLOCK_PROCESS_CPUTIME_ID) - all;
  }
  const auto read = static_cast<double>(table->stats().disk_reads - read_before);
  for (int c = 0; c < o.calls; ++c) {
    draw();
    const double t = now();
    table->push(keys, values.data(), {});
    pushing += now() - t;
  }
  const double operations = static_cast<double>(o.calls) * static_cast<double>(batch);
  std::printf("batch %zu: %.2f M pulls/s, %.2f M pushes/s\n", batch, operations / pulling / 1e6,
              operations / pushing / 1e6);
  if (tiered) {
    // Keys that memory has if it holds those that are drawn most.
    double best = 0, sum = 0, at = 1;
    const double s = o.zipf > 0 ? o.zipf : 0, in_memory = o.memory_rows;
    for (; at <= static_cast<double>(rows); at += std::max(1.0, std::floor(at / 1000))) {
      const double step = std::max(1.0, std::floor(at / 1000));
      const double part = step * std::pow(at + (step - 1) / 2, -s);
      sum += part;
      if (at <= in_memory) best += part;
    }
    std::printf(
        "pulls by the clock on the wall: %.2f M/s; without waiting for a processor: %.2f M/s; "
        "%.2f processors busy\nread from disk: %.2f %% of the keys; if memory had the likeliest "
        "ones: %.2f %%\n",
        operations / pulling_wall / 1e6, operations / (pulling_wall - pulling_queued) / 1e6,
        pulling_all / pulling_wall, 100 * read / operations, 100 * (1 - best / sum));
  }

  // Check: a push of known gradients moves known rows as the rule says.
  draw();
  keys.resize(1000);
  std::vector<float> before(1000 * pull_width), after(1000 * pull_width);
  if (o.rule == "sum" || o.rule == "sgd") {
    table->pull(keys, before.data(), false);
    table->push({keys.data(), 1000}, values.data(), {});
    table->pull(keys, after.data(), false);
    const float rate = o.rule == "sum" ? 1.0f : -config.accessor.embedding.learning_rate;
    for (size_t i = 0; i < 1000; ++i) {
      const size_t w = i * pull_width + pull_width - 1;
      const float step = after[w] - before[w];
      if (!(click && after[w] == 0) && std::abs(step - rate * 0.01f) > 1e-5f) {
        std::printf("WRONG: row %zu moved by %g\n", i, static_cast<double>(step));
        return 1;
      }
    }
  } else if (o.rule == "adagrad") {
    // The pushes so far are unknown, but the step gives the state, and the state the next step.
    size_t checked = 0;
    std::map<Key, int> times;
    for (const Key key : keys) ++times[key];
    table->pull(keys, before.data(), false);
    table->push({keys.data(), 1000}, values.data(), {});
    table->pull(keys, after.data(), false);
    for (size_t i = 0; i < 1000; ++i) {
      const size_t w = i * pull_width + pull_width - 1;
      if (times[keys[i]] > 1 || (click && before[w] == 0)) continue;
      const double g = click ? 0.01 / 0.5 : 0.01;
      const double step = static_cast<double>(before[w]) - static_cast<double>(after[w]);
      const double g2sum = 3 * (0.05 * g / step) * (0.05 * g / step) - 3;
      if (!(g2sum > -0.05 && g2sum < (o.zipf > 0 ? 1e4 : 0.1))) {
        std::printf("WRONG: row %zu moved by %g\n", i, step);
        return 1;
      }
      ++checked;
    }
    if (checked < 50) return std::printf("WRONG: only %zu rows checked\n", checked), 1;
  }
  std::printf("checked\n");
  return 0;
}

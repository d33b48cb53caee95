// Speed and memory of sparse tables on one core. Keys are random or Zipf distributed; results are
// checked against a plain computation of the same rows.
//   ps_table_bench [--rows 100e6] [--kind plain|click] [--dim 8] [--rule adagrad] [--dtype float32]
//                  [--batch 65536] [--embedded 0.2] [--calls 400]
#include <malloc.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "argosy/ps/table/table.h"

using namespace argosy::ps;

namespace {

struct Options {
  double rows = 100e6, embedded = 0.2;
  std::string kind = "plain", rule = "adagrad", dtype = "float32";
  int dim = 8, batch = 65536, calls = 400;
};

// Of this thread's processor: other processes on the machine do not count.
double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
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
  double longest = 0, begin = now();
  constexpr size_t kSmall = 4096;  // keys of a call: a pause is not hidden in a long call
  for (uint64_t done = 0; done < rows;) {
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
  const double n = static_cast<double>(stats.rows);
  std::printf("%s dim %d %s %s: %.0f rows in %.1f s (%.2f M/s), longest call of %zu keys %.1f ms\n",
              o.kind.c_str(), o.dim, o.dtype.c_str(), o.rule.c_str(), n, filled, n / filled / 1e6,
              kSmall, 1e3 * longest);
  Rows sample;
  for (uint32_t s = 0; s < 8; ++s) table->copy_shard(s, Selection::all, false, &sample, nullptr);
  const double payload =
      8 + static_cast<double>(sample.bytes.size()) / static_cast<double>(sample.keys.size());
  std::printf(
      "memory: resident %.2f GiB, %.1f bytes a row (counted %.1f); key and value %.1f; "
      "ratio %.3f\n",
      resident / (1 << 30), resident / n, static_cast<double>(stats.memory_bytes) / n, payload,
      resident / n / payload);

  // Batches of random keys of the table. The seconds are those of the calls alone.
  uint64_t state = 7;
  const auto draw = [&] {
    for (auto& k : keys) {
      state = state * 6364136223846793005 + 1442695040888963407;
      k = key_of(static_cast<uint64_t>((static_cast<unsigned __int128>(state) * rows) >> 64));
    }
  };
  double pulling = 0, pushing = 0;
  for (int c = 0; c < o.calls; ++c) {
    draw();
    const double t = now();
    table->pull(keys, out.data(), false);
    pulling += now() - t;
  }
  for (int c = 0; c < o.calls; ++c) {
    draw();
    const double t = now();
    table->push(keys, values.data(), {});
    pushing += now() - t;
  }
  const double operations = static_cast<double>(o.calls) * static_cast<double>(batch);
  std::printf("batch %zu: %.2f M pulls/s, %.2f M pushes/s\n", batch, operations / pulling / 1e6,
              operations / pushing / 1e6);

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
    std::vector<float> last(1000 * pull_width);
    table->pull(keys, before.data(), false);
    table->push({keys.data(), 1000}, values.data(), {});
    table->pull(keys, after.data(), false);
    size_t checked = 0;
    for (size_t i = 0; i < 1000; ++i) {
      const size_t w = i * pull_width + pull_width - 1;
      if (click && before[w] == 0) continue;
      const double g = click ? 0.01 / 0.5 : 0.01;
      const double step = static_cast<double>(before[w]) - static_cast<double>(after[w]);
      const double g2sum = 3 * (0.05 * g / step) * (0.05 * g / step) - 3;
      if (!(g2sum > -0.05 && g2sum < 0.1)) {
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

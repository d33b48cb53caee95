// Times of a predictor whose input and outputs stay where they are, for benchmarks/inference.py:
//   predictor_bench cpp MODEL THREADS SHAPE     (SHAPE: 1x784)
// Prints [first answer, 0] in seconds, then for each line with a number as many times as it says.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

#include "argosy/base/parallel.h"
#include "argosy/infer/predictor.h"

namespace argosy {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int64_t number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Shape shape_of(std::string_view text) {
  Shape shape;
  while (!text.empty()) {
    const size_t end = std::min(text.find('x'), text.size());
    shape.push_back(number(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shape;
}

int run(char** arguments) {
  set_num_threads(static_cast<int>(number(arguments[3])));
  const auto start = Clock::now();
  infer::Options options;
  options.model.path = arguments[2];
  infer::Predictor predictor(options);
  const Tensor& x = predictor.input_buffer(0, shape_of(arguments[4]));
  std::fill_n(x.data<float>(), x.numel(), 0.5f);
  predictor.run();
  std::printf("[%.6f, 0]\n", seconds_since(start));
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const int64_t count = number(line);
    std::string times = "[";
    for (int64_t i = 0; i < count; ++i) {
      const auto begin = Clock::now();
      predictor.run();
      times += (i ? ", " : "") + std::to_string(seconds_since(begin) * 1e6) + "e-6";
    }
    std::printf("%s]\n", times.c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace argosy

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: predictor_bench cpp MODEL THREADS SHAPE\n");
    return 2;
  }
  return argosy::run(argv);
}

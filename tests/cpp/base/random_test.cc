#include "argosy/base/random.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "argosy/base/error.h"

namespace argosy::random {
namespace {

// What PaddlePaddle 3.3.1 gives on the CPU after paddle.seed(1234): the first values for readers,
// and a hash of the bytes of all kMany.
constexpr int64_t kMany = 20003;

template <class T>
uint64_t hash(const std::vector<T>& values) {
  uint64_t h = 0xcbf29ce484222325;
  auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i) h = (h ^ bytes[i]) * 0x100000001b3;
  return h;
}

template <class T, class Fill>
std::vector<T> draw(Fill fill, int64_t n = kMany) {
  Generator g(1234);
  std::vector<T> out(n);
  fill(g, out.data());
  return out;
}

template <class T>
void expect_begins(const std::vector<T>& values, std::initializer_list<T> first) {
  size_t i = 0;
  for (T v : first) {
    EXPECT_EQ(values[i], v) << "at " << i;
    ++i;
  }
}

TEST(PaddleStreamTest, Uniform) {
  auto f = draw<float>([](Generator& g, float* out) { g.uniform(out, kMany, 0, 1); });
  expect_begins(f, {0x1.4d80e2p-1f, 0x1.8b204ep-2f, 0x1.bbdbdcp-3f, 0x1.868eccp-3f});
  EXPECT_EQ(hash(f), 0x23582f5723e52afdu);
  auto d = draw<double>([](Generator& g, double* out) { g.uniform(out, kMany, 0, 1); });
  expect_begins(d, {0x1.4d80e23bc9e5ap-1, 0x1.8b204e20209bdp-2, 0x1.bbdbdc93d4377p-3});
  EXPECT_EQ(hash(d), 0x952fb2a17bd79cd6u);
  f = draw<float>([](Generator& g, float* out) { g.uniform(out, kMany, -2.7f, 5.3f); });
  expect_begins(f, {0x1.41682ap+1f, 0x1.8c35ap-2f, -0x1.eeaebp-1f});
  EXPECT_EQ(hash(f), 0x3dcb68c3c807f4c1u);
  d = draw<double>([](Generator& g, double* out) { g.uniform(out, kMany, -2.7f, 5.3f); });
  expect_begins(d, {0x1.41682bc514ad8p+1, 0x1.8c35a72d86170p-2});
  EXPECT_EQ(hash(d), 0x88d942228c9979b6u);
}

TEST(PaddleStreamTest, Normal) {
  auto f = draw<float>([](Generator& g, float* out) { g.normal(out, kMany, 0, 1); });
  expect_begins(f, {-0x1.2f8d5cp+0f, 0x1.929808p+0f, -0x1.3c93e8p-1f, -0x1.21f076p-1f});
  EXPECT_EQ(hash(f), 0x2dea107251fcd167u);
  auto d = draw<double>([](Generator& g, double* out) { g.normal(out, kMany, 0, 1); });
  expect_begins(d, {-0x1.2f8d5ada71955p+0, 0x1.9298099aa5983p+0, -0x1.3c93e8730655cp-1});
  EXPECT_EQ(hash(d), 0x56fc4a71691512aau);
  f = draw<float>([](Generator& g, float* out) { g.normal(out, kMany, 2.7f, 3.3f); });
  expect_begins(f, {-0x1.3685acp+0f, 0x1.f8f0ap+2f, 0x1.51b188p-1f});
  EXPECT_EQ(hash(f), 0x6331312de8ea9cb4u);
  d = draw<double>([](Generator& g, double* out) { g.normal(out, kMany, 2.7f, 3.3f); });
  expect_begins(d, {-0x1.3685aa1138f0ep+0, 0x1.f8f0a168aa354p+2});
  EXPECT_EQ(hash(d), 0xd6fde492264c21feu);
}

// paddle.concat([randn([5]), rand([5]), randn([3])]): the second half of a pair does not survive.
TEST(PaddleStreamTest, CallsFollowEachOther) {
  Generator g(1234);
  std::vector<float> out(13);
  g.normal(out.data(), 5, 0, 1);
  g.uniform(out.data() + 5, 5, 0, 1);
  g.normal(out.data() + 10, 3, 0, 1);
  expect_begins(out,
                {-0x1.2f8d5cp+0f, 0x1.929808p+0f, -0x1.3c93e8p-1f, -0x1.21f076p-1f, -0x1.27fac4p-1f,
                 0x1.249742p-2f, 0x1.fcd65ap-2f, 0x1.6374c6p-2f, 0x1.38cbfap-1f, 0x1.42a384p-7f,
                 -0x1.09b4dcp+0f, -0x1.fe5e68p-1f, 0x1.8aap-1f});
}

TEST(PaddleStreamTest, SixteenBitTypes) {
  auto b = draw<bfloat16>([](Generator& g, bfloat16* out) { g.uniform(out, kMany, 0, 1); });
  EXPECT_EQ(b[0].bits, 16167);
  EXPECT_EQ(hash(b), 0x49f879648f0956d8u);
  b = draw<bfloat16>([](Generator& g, bfloat16* out) { g.normal(out, kMany, 0, 1); });
  EXPECT_EQ(hash(b), 0x84ab04db3fb70f31u);
  auto h = draw<float16>([](Generator& g, float16* out) { g.uniform(out, kMany, -2.7f, 5.3f); });
  EXPECT_EQ(hash(h), 0x203a9a85e13705b8u);
  h = draw<float16>([](Generator& g, float16* out) { g.normal(out, kMany, 0, 1); });
  EXPECT_EQ(h[0].bits, 48318);
  EXPECT_EQ(hash(h), 0x95a666b1585707a3u);
}

TEST(PaddleStreamTest, Integers) {
  auto small = draw<int32_t>([](Generator& g, int32_t* out) { g.integers(out, kMany, -7, 93); });
  expect_begins(small, {58, 31, 14, 12, 29, 92, 54, -2});
  EXPECT_EQ(hash(small), 0xe6f86ed69e697d35u);
  auto large = draw<int64_t>(
      [](Generator& g, int64_t* out) { g.integers(out, kMany, -1000000, 2147483647); });
  expect_begins<int64_t>(large, {1398466236, 828025549, 464636448, 408720224});
  EXPECT_EQ(hash(large), 0xd50aee6308d360f0u);
}

TEST(PaddleStreamTest, Permutation) {
  auto p = draw<int64_t>([](Generator& g, int64_t* out) { g.permutation(out, kMany); });
  expect_begins<int64_t>(p, {6385, 12253, 15132, 12932});
  EXPECT_EQ(hash(p), 0x7410194c04829ef8u);
  Generator g(1234);
  std::vector<int32_t> even(10);
  g.permutation(even.data(), 10);
  EXPECT_EQ(even, (std::vector<int32_t>{5, 6, 7, 9, 2, 3, 4, 1, 0, 8}));
  std::vector<float> odd(11);
  g.permutation(odd.data(), 11);
  EXPECT_EQ(odd, (std::vector<float>{5, 1, 8, 2, 9, 0, 4, 6, 7, 3, 10}));
}

// Also where the number of elements decides how many words are drawn.
TEST(PaddleStreamTest, PermutationOfAnySize) {
  const struct {
    int64_t n;
    uint64_t hash, next;
  } cases[] = {{1, 0x4d25767f9dce13f5u, 12015728179033591597u},
               {2, 0x08cd4c29d1e47d34u, 7117960686032319543u},
               {3, 0x1ff3f111c7bd8bd6u, 7117960686032319543u},
               {20002, 0xfcd0d2cc98146604u, 5578524634226377854u}};
  for (const auto& c : cases) {
    Generator g(1234);
    std::vector<int32_t> out(static_cast<size_t>(c.n));
    g.permutation(out.data(), c.n);
    EXPECT_EQ(hash(out), c.hash) << c.n;
    EXPECT_EQ(g.word(), c.next) << c.n;
  }
}

TEST(PaddleStreamTest, PoissonOfAnyMean) {
  const struct {
    double mean, first, second;
    uint64_t hash;
  } cases[] = {
      {1e-9, 0, 0, 0x2b2b1cab4e05f705u},
      {0.3, 0, 0, 0x7a3faa7365a87050u},
      {11.99, 11, 7, 0xcbf2a55033edad49u},
      {12, 16, 11, 0x283f091cca115645u},
      {12.5, 16, 16, 0x596d4fda1c0e915cu},
      {31, 36, 26, 0x5f612d21c1491d64u},
      {100.25, 108, 93, 0x8a6d948310705651u},
      {5000, 5046, 4958, 0xd362fb53940c307cu},
      {2e9, 2000027655, 1999974146, 0xee00827b9b1d1f11u},
  };
  for (const auto& c : cases) {
    const std::vector<double> means(kMany, c.mean);
    auto d = draw<double>([&](Generator& g, double* out) { g.poisson(out, means.data(), kMany); });
    EXPECT_EQ(d[0], c.first) << c.mean;
    EXPECT_EQ(d[1], c.second) << c.mean;
    EXPECT_EQ(hash(d), c.hash) << c.mean;
  }
}

TEST(PaddleStreamTest, BernoulliAndDropout) {
  // Where p equals u to the last bit, the comparison decides.
  auto u = draw<float>([](Generator& g, float* out) { g.uniform(out, kMany, 0, 1); });
  auto b = draw<float>([&](Generator& g, float* out) { g.bernoulli(out, u.data(), kMany); });
  EXPECT_EQ(b, std::vector<float>(kMany, 0));
  std::vector<double> p(20, 0.4);
  auto d = draw<double>([&](Generator& g, double* out) { g.bernoulli(out, p.data(), 20); }, 20);
  EXPECT_EQ(d, (std::vector<double>{0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1}));
  auto mask = draw<uint8_t>([](Generator& g, uint8_t* out) { g.dropped(out, kMany, 0.37f); });
  expect_begins<uint8_t>(mask, {0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0});
  EXPECT_EQ(hash(mask), 0x7e6a3963ccee8655u);
}

TEST(PaddleStreamTest, ExponentialPoissonGammaBinomial) {
  auto f = draw<float>([](Generator& g, float* out) { g.exponential(out, kMany, 2.3f); });
  expect_begins(f, {0x1.d52674p-2f, 0x1.b21faap-3f, 0x1.b305b8p-4f});
  EXPECT_EQ(hash(f), 0x475cf8248ac35d28u);
  auto d = draw<double>([](Generator& g, double* out) { g.exponential(out, kMany, 2.3f); });
  EXPECT_EQ(hash(d), 0xd86b58412830cee6u);

  std::vector<float> few(kMany, 3.5f);
  f = draw<float>([&](Generator& g, float* out) { g.poisson(out, few.data(), kMany); });
  expect_begins<float>(f, {3, 3, 3, 0, 4, 1});
  EXPECT_EQ(hash(f), 0xa9a7b89fb1ab6c58u);
  std::vector<double> many(kMany, 50);
  d = draw<double>([&](Generator& g, double* out) { g.poisson(out, many.data(), kMany); });
  expect_begins<double>(d, {56, 44, 40, 42, 49, 53});
  EXPECT_EQ(hash(d), 0x8c0dec2dbf6b34e8u);

  std::vector<float> above(kMany, 2.5f), below(kMany, 0.5f);
  f = draw<float>([&](Generator& g, float* out) { g.gamma(out, above.data(), kMany); });
  expect_begins(f, {0x1.b22e26p-1f, 0x1.84a01ep+0f, 0x1.6c1aa8p+0f});
  EXPECT_EQ(hash(f), 0x94dc7e7ea3ab71d6u);
  f = draw<float>([&](Generator& g, float* out) { g.gamma(out, below.data(), kMany); });
  EXPECT_EQ(hash(f), 0x9caaf1d5d945c13cu);
  std::vector<double> above64(kMany, 2.5), below64(kMany, 0.5);
  d = draw<double>([&](Generator& g, double* out) { g.gamma(out, above64.data(), kMany); });
  EXPECT_EQ(hash(d), 0x5abc4f1e593886a0u);
  d = draw<double>([&](Generator& g, double* out) { g.gamma(out, below64.data(), kMany); });
  EXPECT_EQ(hash(d), 0x98eb2a96f42283b7u);

  auto binomial = [](int64_t trials, auto p) {
    std::vector<int64_t> n(kMany, trials);
    std::vector<decltype(p)> ps(kMany, p);
    return draw<int64_t>(
        [&](Generator& g, int64_t* out) { g.binomial(out, n.data(), ps.data(), kMany); });
  };
  expect_begins<int64_t>(binomial(10, 0.3f), {3, 3, 3, 0, 4, 1, 5, 5});
  EXPECT_EQ(hash(binomial(10, 0.3f)), 0x7da62315f987c86u);
  EXPECT_EQ(hash(binomial(1000, 0.3)), 0xda9e8b02bac8ac0eu);
  EXPECT_EQ(hash(binomial(1000, 0.8f)), 0x36494f11c61490cfu);
  EXPECT_EQ(hash(binomial(1000, 0.8)), 0xc04d46c39214fa34u);
}

template <class T>
void check_multinomial() {
  const T weights[] = {T(.1), T(.2), T(.3), T(.4), 0, 4, 3, 2, 1, 7};
  auto with = draw<int64_t>(
      [&](Generator& g, int64_t* out) { g.multinomial(out, weights, 2, 5, 10, true); }, 20);
  EXPECT_EQ(with,
            (std::vector<int64_t>{3, 2, 1, 1, 2, 3, 3, 0, 1, 2, 1, 4, 0, 1, 1, 4, 4, 0, 0, 0}));
  auto without = draw<int64_t>(
      [&](Generator& g, int64_t* out) { g.multinomial(out, weights, 2, 5, 4, false); }, 8);
  EXPECT_EQ(without, (std::vector<int64_t>{3, 1, 0, 2, 1, 4, 2, 0}));
}
TEST(PaddleStreamTest, Multinomial) {
  check_multinomial<float>();
  check_multinomial<double>();
}

TEST(PaddleStreamTest, TruncatedNormalUpToRounding) {
  const double expected[] = {0x1.685bd2b8c2c89p-1,  -0x1.9829e58314768p-3, -0x1.b1814c250e3aap-1,
                             -0x1.ea8bc80d019c6p-1, -0x1.0c9ecbeedb1eep-2, 0x1.fb69c02389f7bp+0};
  auto d =
      draw<double>([](Generator& g, double* out) { g.truncated_normal(out, 6, 0.5, 2, -2, 2); }, 6);
  auto f =
      draw<float>([](Generator& g, float* out) { g.truncated_normal(out, 6, 0.5, 2, -2, 2); }, 6);
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(d[i], expected[i], 1e-14);
    EXPECT_NEAR(f[i], expected[i], 3e-7);
  }
}

TEST(PaddleStreamTest, Seeds) {
  auto first = [](Generator& g) {
    float u;
    g.uniform(&u, 1, -1, 1);
    return u;
  };
  Generator g(0);
  EXPECT_EQ(first(g), 2 * 0x1.3fd4a4p-2f - 1);
  g.seed_for_op(11);  // paddle.uniform(..., seed=11)
  EXPECT_EQ(first(g), -0x1.564f4cp-1f);
  g.seed(7);
  float seven = first(g);
  g.seed((uint64_t{1} << 33) + 7);
  EXPECT_EQ(first(g), seven);
  EXPECT_EQ(g.initial_seed(), (uint64_t{1} << 33) + 7);
}

// ---- Against the C++ library ----

TEST(EngineTest, IsTheMersenneTwister) {
  Engine mine;
  std::mt19937_64 theirs;
  mine.seed(42);
  theirs.seed(42);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(mine(), theirs());
  mine.seed_sequence(42);
  std::seed_seq sequence{42};
  theirs.seed(sequence);
  for (int i = 0; i < 1000;) {
    for (uint64_t word : mine.take(1 + i % 7)) {
      ASSERT_EQ(word, theirs());
      ++i;
    }
  }
}

TEST(GeneratorTest, LongStreamsEqualTheLibrarys) {
  constexpr int64_t kLong = 1 << 20;
  Generator g(3);
  std::seed_seq sequence{3};
  std::mt19937_64 engine(sequence);
  std::vector<float> f(kLong);
  std::vector<double> d(kLong);
  g.uniform(f.data(), kLong, 0, 1);
  std::uniform_real_distribution<float> uniform_float(0, 1);
  for (float v : f) ASSERT_EQ(v, uniform_float(engine));
  g.uniform(d.data(), kLong, 0, 1);
  std::uniform_real_distribution<double> uniform_double(0, 1);
  for (double v : d) ASSERT_EQ(v, uniform_double(engine));
  g.normal(f.data(), kLong - 1, 0.5f, 2);
  std::normal_distribution<float> normal_float(0.5f, 2);
  for (int64_t i = 0; i < kLong - 1; ++i) ASSERT_EQ(f[i], normal_float(engine)) << i;
  g.normal(d.data(), kLong, 0.5, 2);
  std::normal_distribution<double> normal_double(0.5, 2);
  for (double v : d) ASSERT_EQ(v, normal_double(engine));
  std::vector<int64_t> n(kLong);
  g.integers(n.data(), kLong, INT64_MIN / 2, INT64_MAX / 3 * 2);  // many words are redrawn
  std::uniform_int_distribution<int64_t> integers(INT64_MIN / 2, INT64_MAX / 3 * 2 - 1);
  for (int64_t v : n) ASSERT_EQ(v, integers(engine));
}

TEST(GeneratorTest, DroppedAtTheEnds) {
  Generator g(5), h(5);
  std::vector<uint8_t> mask(1000);
  g.dropped(mask.data(), 1000, 0);
  EXPECT_EQ(std::accumulate(mask.begin(), mask.end(), 0), 0);
  std::vector<float> u(1000);
  h.uniform(u.data(), 1000, 0, 1);
  EXPECT_EQ(g.word(), h.word());  // the words were drawn all the same
  g.dropped(mask.data(), 1000, 1);
  EXPECT_EQ(std::accumulate(mask.begin(), mask.end(), 0), 1000);
}

TEST(GeneratorTest, StatesRestoreTheStreamAnywhere) {
  for (int skipped : {0, 1, 311, 312, 313, 1000}) {
    Generator g(17);
    for (int i = 0; i < skipped; ++i) g.word();
    std::string state = g.state();
    std::vector<float> expected(700), again(700);
    g.normal(expected.data(), 700, 0, 1);
    Generator other(1);
    other.set_state(state);
    EXPECT_EQ(other.initial_seed(), 17u);
    other.normal(again.data(), 700, 0, 1);
    EXPECT_EQ(again, expected);
    EXPECT_EQ(other.state(), g.state());
  }
}

TEST(GeneratorTest, PlacesCountFromTheSeedAndAreKeptByStates) {
  Generator g(17);
  EXPECT_EQ(g.take_places(5).first, 0u);
  const std::string state = g.state();
  EXPECT_EQ(g.take_places(1).first, 5u);
  EXPECT_EQ(g.take_places(1).first, 6u);
  g.set_state(state);
  EXPECT_EQ(g.take_places(1).first, 5u);
  g.seed(18);
  const Generator::Places places = g.take_places(1);
  EXPECT_EQ(places.seed, 18u);
  EXPECT_EQ(places.first, 0u);
}

TEST(GeneratorTest, StatesWithoutPlacesAreTaken) {
  Generator g(17), other(1);
  std::string old = g.state().substr(0, 2520);
  old[7] = '1';
  other.take_places(3);
  other.set_state(old);
  EXPECT_EQ(other.state(), g.state());
}

void expect_invalid(const std::function<void()>& call, const std::string& part) {
  try {
    call();
    FAIL() << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_argument);
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(GeneratorTest, WhatIsNotAStateIsRefused) {
  Generator g(1);
  std::string state = g.state(), before = state;
  expect_invalid([&] { g.set_state(""); }, "[set_rng_state] expected the 2528 bytes");
  expect_invalid([&] { g.set_state(state + "x"); }, "got 2529 bytes");
  state[0] ^= 1;
  expect_invalid([&] { g.set_state(state); }, "that are not one");
  state = before;
  state[17] = 7;  // position 1792 + ..
  expect_invalid([&] { g.set_state(state); }, "that are not one");
  EXPECT_EQ(g.state(), before);
}

TEST(GeneratorTest, MultinomialChecksItsWeights) {
  Generator g(1);
  int64_t out[8];
  const float negative[] = {1, -1}, zeros[] = {0, 0}, two[] = {0, 1, 0, 2}, bad[] = {1, NAN};
  std::string before = g.state();
  expect_invalid([&] { g.multinomial(out, negative, 1, 2, 1, true); }, "got -1 for category 1");
  expect_invalid([&] { g.multinomial(out, bad, 1, 2, 1, true); }, "for category 1");
  expect_invalid([&] { g.multinomial(out, zeros, 1, 2, 1, true); }, "got 2 zeros");
  expect_invalid([&] { g.multinomial(out, two, 1, 4, 3, false); },
                 "cannot draw 3 samples without replacement from 2 categories");
  EXPECT_EQ(g.state(), before);
  for (int i = 0; i < 1000; ++i) {
    g.multinomial(out, two, 1, 4, 2, false);
    EXPECT_EQ(out[0] + out[1], 4);
  }
}

TEST(GeneratorTest, EdgesOfParameters) {
  Generator g(1);
  const float shape[] = {0, -1, 1e-3f, 1e6f};
  float out[4];
  g.gamma(out, shape, 4);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 0);
  EXPECT_GE(out[2], 0);
  EXPECT_NEAR(out[3], 1e6, 1e4);
  g.poisson(out, shape, 2);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 0);
  const int64_t trials[] = {10, 10, 0, 10};
  const double p[] = {0, 1.5, 0.5, -1};
  int64_t counts[4];
  g.binomial(counts, trials, p, 4);
  EXPECT_EQ(counts[0], 0);
  EXPECT_EQ(counts[1], 10);
  EXPECT_EQ(counts[2], 0);
  EXPECT_EQ(counts[3], 0);
}

// Each call's values are contiguous in the stream, whichever thread gets there first.
TEST(GeneratorTest, ThreadsDrawOneAfterTheOther) {
  constexpr int kThreads = 4, kCalls = 100, kEach = 37;
  Generator g(9), reference(9);
  std::vector<float> stream(kThreads * kCalls * kEach);
  reference.uniform(stream.data(), static_cast<int64_t>(stream.size()), 0, 1);
  std::set<std::vector<float>> expected, drawn;
  for (size_t i = 0; i < stream.size(); i += kEach) {
    expected.emplace(stream.begin() + i, stream.begin() + i + kEach);
  }
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int c = 0; c < kCalls; ++c) {
        std::vector<float> part(kEach);
        g.uniform(part.data(), kEach, 0, 1);
        std::lock_guard lock(mutex);
        drawn.insert(part);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(drawn, expected);
}

TEST(GeneratorTest, AForkFindsGeneratorsUnlocked) {
  std::atomic<bool> stop{false};
  Generator& g = default_generator(Place{});
  std::thread busy([&] {
    std::vector<float> out(10000);
    while (!stop) g.normal(out.data(), 10000, 0, 1);
  });
  for (int i = 0; i < 10; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      g.word();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

TEST(GeneratorTest, SeedRestartsAllDefaults) {
  Place cpu{}, null{DeviceKind::null, 3};
  seed(77);
  uint64_t a = default_generator(cpu).word();
  uint64_t b = default_generator(null).word();  // made after the seed
  EXPECT_EQ(a, b);
  seed(77);
  EXPECT_EQ(default_generator(cpu).word(), a);
  EXPECT_EQ(default_generator(null).word(), b);
  EXPECT_EQ(default_generator(cpu).initial_seed(), 77u);
  EXPECT_NE(entropy(), entropy());
  EXPECT_THROW(default_generator({DeviceKind::null, 64}), Error);
}

}  // namespace
}  // namespace argosy::random

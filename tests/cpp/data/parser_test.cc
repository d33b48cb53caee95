#include "argosy/data/parser.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <sstream>

#include "argosy/data/digits.h"

namespace argosy::data {
namespace {

Slot slot(const char* name, DType dtype, bool ragged, Shape row = {}) {
  return {name, dtype, ragged, row};
}

// A line as Lines gives it.
struct Line {
  explicit Line(const std::string& text) : whole(text + '\n' + std::string(Parser::kSlack, '7')) {
    end = whole.data() + text.size();
  }
  std::string whole;
  const char* end;
};

std::string parse(const Format& format, const std::string& text, Columns* columns) {
  const Line line(text);
  std::string why;
  Parser(format).parse(line.whole.data(), line.end, columns, &why);
  return why;
}

template <class T>
std::vector<T> all(const Bytes& b) {
  std::vector<T> v(b.size() / sizeof(T));
  if (b.size()) std::memcpy(v.data(), b.data(), b.size());
  return v;
}

TEST(Digits, AreWhatTheLibraryReads) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const uint64_t n = random() >> (random() % 64);
    std::string text = std::string(random() % 3 ? 0 : random() % 4, '0') + std::to_string(n);
    const size_t length = text.size();
    text += i % 2 ? " 123456789012345678901234567890" : "\n99999999999999999999999999999999";
    uint64_t got = 0;
    const char* end = read_unsigned(text.data(), &got);
    ASSERT_EQ(end, text.data() + length) << text;
    ASSERT_EQ(got, n) << text;
  }
}

TEST(Digits, EveryByteThatIsNoDigitEndsThem) {
  for (int c = 0; c < 256; ++c) {
    for (int at = 0; at < 8; ++at) {
      std::string text = "12345678";
      text[static_cast<size_t>(at)] = static_cast<char>(c);
      uint64_t value;
      const unsigned n = digits(text.data(), &value);
      if (c >= '0' && c <= '9') {
        EXPECT_EQ(n, 8u);
        EXPECT_EQ(value, std::stoull(text));
      } else {
        EXPECT_EQ(n, static_cast<unsigned>(at)) << c;
        EXPECT_EQ(value, at ? std::stoull(text.substr(0, static_cast<size_t>(at))) : 0);
      }
    }
  }
}

TEST(Digits, LimitsOf64Bits) {
  auto read = [](std::string text, uint64_t* bits) {
    text += " 0000000000000000000000000000000000";
    return read_bits(text.data(), bits) != nullptr;
  };
  uint64_t bits;
  EXPECT_TRUE(read("18446744073709551615", &bits));
  EXPECT_EQ(bits, UINT64_MAX);
  EXPECT_TRUE(read("0000000000000000000018446744073709551615", &bits));
  EXPECT_EQ(bits, UINT64_MAX);
  EXPECT_FALSE(read("18446744073709551616", &bits));
  EXPECT_FALSE(read("99999999999999999999", &bits));
  EXPECT_FALSE(read("184467440737095516150", &bits));
  EXPECT_TRUE(read("-9223372036854775808", &bits));
  EXPECT_EQ(static_cast<int64_t>(bits), INT64_MIN);
  EXPECT_FALSE(read("-9223372036854775809", &bits));
  EXPECT_TRUE(read("-0", &bits));
  EXPECT_EQ(bits, 0u);
  EXPECT_TRUE(read("+5", &bits));
  EXPECT_FALSE(read("-", &bits));
  EXPECT_FALSE(read("+-5", &bits));
}

float reference(const std::string& text) {
  return std::strtof(text.c_str(), nullptr);
}

void expect_float(const std::string& text) {
  std::string padded = text + " 00000000000000000000000000000000000";
  float got = -7;
  const char* end = read_float(padded.data(), &got);
  ASSERT_EQ(end, padded.data() + text.size()) << text;
  ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(reference(text))) << text;
}

TEST(Digits, FloatsAreRoundedToTheNearest) {
  std::mt19937_64 random(2);
  char text[64];
  for (int i = 0; i < 300000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    const auto f = std::bit_cast<float>(bits);
    if (!std::isfinite(f)) continue;
    static const char* const forms[] = {"%.3f", "%.9g", "%.17g", "%.6e", "%.12f", "%.1f"};
    std::snprintf(text, sizeof text, forms[i % 6],
                  i % 3
                      ? static_cast<double>(f)
                      : static_cast<double>(random() % 1000000) / static_cast<double>(1 + i % 997));
    if (std::strlen(text) > 50) continue;
    if (!std::isfinite(reference(text)) || std::abs(reference(text)) < 1e-37f) continue;
    expect_float(text);
  }
  // Between two floats: what lies in the middle, and a digit more.
  for (int i = 0; i < 20000; ++i) {
    const auto f = std::bit_cast<float>(0x3f800000u + static_cast<uint32_t>(random() % 0x800000));
    const double middle =
        (static_cast<double>(f) + static_cast<double>(std::nextafter(f, 1e30f))) / 2;
    std::snprintf(text, sizeof text, "%.30f", middle);
    expect_float(text);
    std::snprintf(text, sizeof text, "%.18g", middle);
    expect_float(text);
  }
  for (const char* t : {"0",
                        "-0",
                        "0.0",
                        "1",
                        "-1.5",
                        ".5",
                        "5.",
                        "1e3",
                        "1E-3",
                        "16777217",
                        "16777219",
                        "123456789012345678901234567890",
                        "0.000000000000000000001",
                        "3.4028234e38",
                        "1.17549435e-38",
                        "inf",
                        "-inf",
                        "99999999",
                        "12345678.5",
                        "1234567890123456.5",
                        "0.1234567890123456789"})
    expect_float(t);
}

TEST(Digits, WhatIsNoFloat) {
  for (const char* t : {"", "-", ".", "e5", "1e99", "abc", "+-1", "--1"}) {
    const std::string text = std::string(t) + " 0000000000000000000000000000000";
    float f = 0;
    const char* end = read_float(text.data(), &f);
    EXPECT_TRUE(!end || *end != ' ' || end == text.data()) << t;
  }
}

TEST(Parser, DenseAndRagged) {
  const Format format{{slot("label", DType::int64, false, {1}), slot("ids", DType::int64, true),
                       slot("x", DType::float32, false, {2, 2}),
                       slot("k", DType::int32, true, {2})}};
  Columns columns(format.slots);
  EXPECT_EQ(parse(format, "1 1 3 7 18446744073709551615 9 4 0.5 1 -2 3e0 0", &columns), "");
  EXPECT_EQ(parse(format, "1 0  0\t4 1 2 3 4 4 -1 2 3 4 \r", &columns), "");
  EXPECT_EQ(parse(format, " \t\r", &columns), "");
  EXPECT_EQ(columns.samples, 2);
  EXPECT_EQ(all<int64_t>(columns.values[0]), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(all<int64_t>(columns.values[1]), (std::vector<int64_t>{7, -1, 9}));
  EXPECT_EQ(all<int64_t>(columns.lengths[1]), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(all<float>(columns.values[2]), (std::vector<float>{.5f, 1, -2, 3, 1, 2, 3, 4}));
  EXPECT_EQ(all<int32_t>(columns.values[3]), (std::vector<int32_t>{-1, 2, 3, 4}));
  EXPECT_EQ(all<int64_t>(columns.lengths[3]), (std::vector<int64_t>{0, 2}));
  Batch batch;
  columns.finish(format.slots, &batch);
  EXPECT_EQ(batch.values[2].shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(batch.values[1].shape(), (Shape{3}));
  EXPECT_EQ(batch.values[3].shape(), (Shape{2, 2}));
  EXPECT_FALSE(batch.lengths[0].defined());
  EXPECT_EQ(batch.lengths[3].shape(), (Shape{2}));
  EXPECT_EQ(columns.samples, 0);
}

TEST(Parser, ABadLineLeavesNothingBehind) {
  const Format format{{slot("y", DType::int64, false, {1}), slot("ids", DType::int64, true),
                       slot("x", DType::float32, false, {2})}};
  const std::pair<const char*, const char*> bad[] = {
      {"1 1 2 5 6", "slot 'x' (3 of 3): expected a count, got the end of the line"},
      {"1 1 2 5 6 1 0.5", "slot 'x' (3 of 3): expected 2 values, got 1"},
      {"1 1 2 5 6 2 0.5",
       "slot 'x' (3 of 3): expected a number that fits float32, got the end of "
       "the line"},
      {"1 1 2 5 6 2 0.5 abc", "slot 'x' (3 of 3): expected a number that fits float32, got 'abc'"},
      {"1 1 2 5 6 2 0.5 0.5 9", "expected the end of the line after 3 slots, got '9'"},
      {"1 1 2 5 x6 2 0.5 0.5", "slot 'ids' (2 of 3): expected an integer of 64 bits, got 'x6'"},
      {"1 1 2 5 6.5 2 0.5 0.5", "slot 'ids' (2 of 3): expected an integer of 64 bits, got '6.5'"},
      {"1 1 99999999999 5",
       "slot 'ids' (2 of 3): expected 99999999999 values, got the end of the "
       "line"},
      {"1 1 18446744073709551616 5",
       "slot 'ids' (2 of 3): expected a count, got '18446744073709551616'"},
      {"1 1 -1 5", "slot 'ids' (2 of 3): expected a count, got '-1'"},
      {"2 1 1 2 5 6 2 1 1", "slot 'y' (1 of 3): expected 1 values, got 2"},
      {"0 1 5 2 1 1", "slot 'y' (1 of 3): expected 1 values, got 0"},
      {"1", "slot 'y' (1 of 3): expected 1 values, got the end of the line"},
  };
  Columns columns(format.slots);
  ASSERT_EQ(parse(format, "1 1 2 5 6 2 0.5 1", &columns), "");
  for (auto [text, why] : bad) EXPECT_EQ(parse(format, text, &columns), why) << text;
  EXPECT_EQ(parse(format, std::string("1 1 \0\x01!", 7), &columns),
            "slot 'ids' (2 of 3): expected a count, got '\\x00\\x01!'");
  ASSERT_EQ(parse(format, "1 0 1 8 2 3 4", &columns), "");
  EXPECT_EQ(columns.samples, 2);
  EXPECT_EQ(all<int64_t>(columns.values[0]), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(all<int64_t>(columns.values[1]), (std::vector<int64_t>{5, 6, 8}));
  EXPECT_EQ(all<int64_t>(columns.lengths[1]), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(all<float>(columns.values[2]), (std::vector<float>{.5f, 1, 3, 4}));
}

TEST(Parser, IdsAndContent) {
  Format format{{slot("y", DType::int64, false, {1})}, true, true};
  Columns columns(format.slots);
  EXPECT_EQ(parse(format, "1 user-7 1 some_text 1 4", &columns), "");
  EXPECT_EQ(parse(format, "1 user-7 1 other 1 5", &columns), "");
  EXPECT_EQ(parse(format, "1 user-8 1 other 1 x", &columns),
            "slot 'y' (1 of 1): expected an integer of 64 bits, got 'x'");
  EXPECT_EQ(parse(format, "2 a b 1 other 1 5", &columns),
            "the id of the sample: expected '1 TEXT', got '2'");
  EXPECT_EQ(columns.ids.size(), 2u);
  EXPECT_EQ(columns.ids[0], columns.ids[1]);
}

TEST(Parser, DropsPadding) {
  Format format{
      {slot("a", DType::int64, true), slot("b", DType::float32, true)}, false, false, true};
  Columns columns(format.slots);
  EXPECT_EQ(parse(format, "3 0 5 0 2 0 0.0", &columns), "");
  EXPECT_EQ(parse(format, "0 1 0.5", &columns), "");
  EXPECT_EQ(all<int64_t>(columns.values[0]), (std::vector<int64_t>{5}));
  EXPECT_EQ(all<int64_t>(columns.lengths[0]), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(all<float>(columns.values[1]), (std::vector<float>{0, .5f}));
  EXPECT_EQ(all<int64_t>(columns.lengths[1]), (std::vector<int64_t>{1, 1}));
}

// Whatever the line, the parser gives a reason or a whole sample, and does not read past its slack.
TEST(Parser, RandomLines) {
  const Format format{{slot("y", DType::int64, false, {1}), slot("ids", DType::int64, true),
                       slot("x", DType::float32, true, {2}), slot("k", DType::int32, false, {1})}};
  std::mt19937 random(3);
  static const char kBytes[] = "0123456789012345678901234567 \t  -+.eE\r\0xZ\xff";
  Columns columns(format.slots);
  int good = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    if (i % 2) {
      // Nearly right.
      const unsigned n = random() % 4, m = random() % 3 * 2;
      std::ostringstream line;
      line << "1 " << random() % 2 << ' ' << n;
      for (unsigned k = 0; k < n; ++k) line << ' ' << random();
      line << ' ' << m;
      for (unsigned k = 0; k < m; ++k) line << ' ' << static_cast<float>(random() % 1000) / 7;
      line << " 1 " << static_cast<int32_t>(random());
      text = line.str();
      if (random() % 2) text[random() % text.size()] = kBytes[random() % (sizeof kBytes - 1)];
    } else {
      const size_t n = random() % 40;
      for (size_t k = 0; k < n; ++k) text += kBytes[random() % (sizeof kBytes - 1)];
    }
    const int64_t before = columns.samples;
    const std::string why = parse(format, text, &columns);
    if (columns.samples > before) {
      EXPECT_EQ(why, "");
      ++good;
    }
    uint64_t rows[2] = {0, 0};
    for (int s : {1, 2})
      for (int64_t n : all<int64_t>(columns.lengths[static_cast<size_t>(s)]))
        rows[s - 1] += static_cast<uint64_t>(n);
    ASSERT_EQ(columns.values[0].size(), static_cast<size_t>(columns.samples) * 8) << text;
    ASSERT_EQ(columns.values[1].size(), rows[0] * 8) << text;
    ASSERT_EQ(columns.values[2].size(), rows[1] * 8) << text;
    ASSERT_EQ(columns.values[3].size(), static_cast<size_t>(columns.samples) * 4) << text;
    if (columns.samples > 50) columns.clear();
  }
  EXPECT_GT(good, 40000);
}

}  // namespace
}  // namespace argosy::data

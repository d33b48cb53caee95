#include "argosy/base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "argosy/base/error.h"

namespace argosy {
namespace {

constexpr DType all[] = {DType::bool_,     DType::uint8,       DType::int8,        DType::uint16,
                         DType::int16,     DType::uint32,      DType::int32,       DType::uint64,
                         DType::int64,     DType::float8_e4m3, DType::float8_e5m2, DType::float16,
                         DType::bfloat16,  DType::float32,     DType::float64,     DType::complex64,
                         DType::complex128};

TEST(DTypeTest, NamesRoundTrip) {
  for (DType t : all) {
    EXPECT_EQ(dtype_from_name(name_of(t)), t);
    EXPECT_EQ(dtype_from_name(std::string("paddle.") + name_of(t)), t);
    EXPECT_EQ(dtype_from_name(std::string("argosy.") + name_of(t)), t);
  }
  EXPECT_STREQ(name_of(DType::float8_e4m3), "float8_e4m3fn");
  EXPECT_EQ(dtype_from_name("float"), DType::float64);
  EXPECT_EQ(dtype_from_name("int"), DType::int64);
  EXPECT_EQ(dtype_from_name("half"), DType::float16);
  for (const char* bad : {"", "fp32", "bf16", "paddle.", "torch.float32", "float128"}) {
    EXPECT_EQ(dtype_from_name(bad), std::nullopt) << bad;
  }
}

TEST(DTypeTest, MessagesNameThem) {
  Message m;
  m << DType::bfloat16 << "; " << (kHalf | kBool);
  EXPECT_EQ(m.str(), "bfloat16; bool, float16, bfloat16");
}

TEST(DTypeTest, PromotionIsSymmetricAndIdempotent) {
  for (DType a : all) {
    EXPECT_EQ(promote(a, a), a);
    EXPECT_TRUE(promotable(a, a));
    for (DType b : all) {
      EXPECT_EQ(promote(a, b), promote(b, a)) << name_of(a) << ' ' << name_of(b);
      EXPECT_EQ(promotable(a, b), promotable(b, a));
      EXPECT_EQ(promote(promote(a, b), a), promote(a, b)) << name_of(a) << ' ' << name_of(b);
    }
  }
}

// Rows and columns: bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128; what Paddle 3.3.1 gives for
// x + y where both are 0-d. Where it has no kernel (16-bit on the CPU) the rule is the same.
constexpr DType paddle_types[] = {DType::bool_,   DType::uint8,     DType::int8,
                                  DType::int16,   DType::int32,     DType::int64,
                                  DType::float16, DType::bfloat16,  DType::float32,
                                  DType::float64, DType::complex64, DType::complex128};

TEST(DTypeTest, PromotionOfScalarsIsPaddles) {
  using enum DType;
  const DType expected[12][12] = {
      {bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64,
       complex128},
      {uint8, uint8, int16, int16, int32, int64, float16, bfloat16, float32, float64, complex64,
       complex128},
      {int8, int16, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64,
       complex128},
      {int16, int16, int16, int16, int32, int64, float16, bfloat16, float32, float64, complex64,
       complex128},
      {int32, int32, int32, int32, int32, int64, float16, bfloat16, float32, float64, complex64,
       complex128},
      {int64, int64, int64, int64, int64, int64, float16, bfloat16, float32, float64, complex64,
       complex128},
      {float16, float16, float16, float16, float16, float16, float16, float32, float32, float64,
       complex64, complex128},
      {bfloat16, bfloat16, bfloat16, bfloat16, bfloat16, bfloat16, float32, bfloat16, float32,
       float64, complex64, complex128},
      {float32, float32, float32, float32, float32, float32, float32, float32, float32, float64,
       complex64, complex128},
      {float64, float64, float64, float64, float64, float64, float64, float64, float64, float64,
       complex128, complex128},
      {complex64, complex64, complex64, complex64, complex64, complex64, complex64, complex64,
       complex64, complex128, complex64, complex128},
      {complex128, complex128, complex128, complex128, complex128, complex128, complex128,
       complex128, complex128, complex128, complex128, complex128},
  };
  for (int i = 0; i < 12; ++i) {
    for (int j = 0; j < 12; ++j) {
      DType a = paddle_types[i], b = paddle_types[j];
      EXPECT_EQ(promote(a, b), expected[i][j]) << name_of(a) << ' ' << name_of(b);
      EXPECT_EQ(promote_tensors(a, true, b, true), expected[i][j]);
    }
  }
}

TEST(DTypeTest, TensorsWithDimensionsMixOnlyWithinFloatingOrWithComplex) {
  using enum DType;
  EXPECT_EQ(promote_tensors(float32, false, float64, false), float64);
  EXPECT_EQ(promote_tensors(float16, false, bfloat16, false), float32);
  EXPECT_EQ(promote_tensors(int64, false, complex64, false), complex64);
  EXPECT_EQ(promote_tensors(float64, false, complex64, false), complex128);
  EXPECT_EQ(promote_tensors(int32, false, int64, false), std::nullopt);
  EXPECT_EQ(promote_tensors(float32, false, int64, false), std::nullopt);
  EXPECT_EQ(promote_tensors(bool_, false, int32, false), std::nullopt);
  EXPECT_EQ(promote_tensors(float8_e4m3, false, float32, false), std::nullopt);
  EXPECT_EQ(promote_tensors(float8_e4m3, false, complex64, false), std::nullopt);
  EXPECT_EQ(promote_tensors(int32, false, int32, false), int32);
}

TEST(DTypeTest, AZeroDimensionalTensorDoesNotWidenWithinItsKind) {
  using enum DType;
  EXPECT_EQ(promote_tensors(float32, false, float64, true), float32);
  EXPECT_EQ(promote_tensors(float64, true, float16, false), float16);
  EXPECT_EQ(promote_tensors(uint8, false, int64, true), uint8);
  EXPECT_EQ(promote_tensors(complex64, false, complex128, true), complex64);
  // Another kind decides by the table.
  EXPECT_EQ(promote_tensors(bool_, false, uint8, true), uint8);
  EXPECT_EQ(promote_tensors(int64, false, float64, true), float64);
  EXPECT_EQ(promote_tensors(float32, false, int64, true), float32);
  EXPECT_EQ(promote_tensors(complex64, false, float64, true), complex128);
}

TEST(HalfTest, RoundsToNearestEven) {
  EXPECT_EQ(float16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(bfloat16(1.00390625f).bits, 0x3f80);  // halfway, to even
  EXPECT_EQ(bfloat16(1.01171875f).bits, 0x3f82);  // halfway, to even
  EXPECT_EQ(bfloat16(3.4e38f).bits, 0x7f80);      // rounds up to infinity
  EXPECT_TRUE(std::isnan(float(bfloat16(std::bit_cast<float>(0x7f800001u)))));
}

// Every 8-bit pattern decodes to a float that encodes to itself.
template <class T>
void check_round_trip() {
  for (int i = 0; i < 256; ++i) {
    T x;
    x.bits = static_cast<uint8_t>(i);
    float v = x;
    if (std::isnan(v)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(T(v)))) << i;
    } else {
      EXPECT_EQ(T(v).bits, x.bits) << i;
    }
  }
}

// Against the definition: the nearest representable value, ties to the even pattern.
template <class T>
void check_nearest(float largest) {
  for (int i = 0; i < 0x7f; ++i) {
    T low, high;
    low.bits = static_cast<uint8_t>(i);
    high.bits = static_cast<uint8_t>(i + 1);
    float a = low, b = high;
    if (!(a < largest)) break;
    float middle = (a + b) / 2;
    EXPECT_EQ(T(middle).bits, i % 2 == 0 ? i : i + 1) << i;
    EXPECT_EQ(T(std::nextafter(middle, 0.0f)).bits, i);
    EXPECT_EQ(T(std::nextafter(middle, 1e9f)).bits, i + 1);
    EXPECT_EQ(T(-a).bits, i | 0x80);
  }
}

TEST(HalfTest, Float8) {
  check_round_trip<float8_e4m3>();
  check_round_trip<float8_e5m2>();
  check_nearest<float8_e4m3>(448.0f);
  check_nearest<float8_e5m2>(57344.0f);
  EXPECT_EQ(static_cast<float>(float8_e4m3(448.0f)), 448.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(float8_e4m3(465.0f))));
  EXPECT_TRUE(std::isinf(static_cast<float>(float8_e5m2(1e6f))));
  float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(static_cast<float>(float8_e4m3(inf))));
  EXPECT_EQ(static_cast<float>(float8_e5m2(-inf)), -inf);
}

}  // namespace
}  // namespace argosy

#include "argosy/tensor/shape.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/cpp/tensors.h"

namespace argosy {
namespace {

using test::error_of;
using test::text_of;

TEST(Shape, HoldsUpToNineSizes) {
  Shape s;
  EXPECT_EQ(s.rank(), 0);
  for (int i = 0; i < kMaxRank; ++i) s.push_back(i + 1);
  EXPECT_EQ(s, Shape({1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(s.back(), 9);
  const std::string text =
      "A tensor has at most 9 dimensions: got 10. Do this: merge dimensions with reshape.";
  EXPECT_EQ(error_of(ErrorKind::invalid_argument, [&] { s.push_back(1); }), text);
  EXPECT_EQ(error_of(ErrorKind::invalid_argument, [&] { s.insert(0, 1); }), text);
  EXPECT_EQ(error_of(ErrorKind::invalid_argument, [] { Shape::filled(10, 1); }), text);
  const std::vector<int64_t> ten(10, 1);
  EXPECT_EQ(error_of(ErrorKind::invalid_argument, [&] { Shape{std::span<const int64_t>(ten)}; }),
            text);
  EXPECT_EQ(s.rank(), 9);  // as it was
}

TEST(Shape, InsertsAndErases) {
  Shape s{2, 4};
  s.insert(1, 3);
  s.insert(0, 1);
  s.insert(4, 5);
  EXPECT_EQ(s, Shape({1, 2, 3, 4, 5}));
  s.erase(0);
  s.erase(3);
  s.erase(1);
  EXPECT_EQ(s, Shape({2, 4}));
  EXPECT_EQ(error_of(ErrorKind::index, [&] { s.insert(3, 1); }),
            "Shape [2, 4] has no place 3 for a dimension.");
  EXPECT_EQ(error_of(ErrorKind::index, [&] { s.insert(-1, 1); }),
            "Shape [2, 4] has no place -1 for a dimension.");
  EXPECT_EQ(error_of(ErrorKind::index, [&] { s.erase(2); }), "Shape [2, 4] has no dimension 2.");
  EXPECT_EQ(s, Shape({2, 4}));
}

TEST(Shape, HasNoSizesOutside) {
  Shape none, two{3, 4};
  for (int i : {-1, 2, 9})
    EXPECT_EQ(error_of(ErrorKind::axis, [&] { (void)two[i]; }),
              "A tensor of shape [3, 4] has no dimension " + std::to_string(i) +
                  ". Do this: check the axes and the number of dimensions.");
  EXPECT_EQ(error_of(ErrorKind::axis, [&] { none[0] = 1; }),
            error_of(ErrorKind::axis, [&] { (void)std::as_const(none)[0]; }));
  EXPECT_THROW((void)none.back(), Error);
}

TEST(Shape, AxesOfATensorWithoutDimensions) {
  EXPECT_EQ(normalize_axis_of_any("sort", -1, 0), 0);
  EXPECT_THROW(normalize_axis_of_any("sort", 1, 0), Error);
  EXPECT_EQ(error_of(ErrorKind::axis, [] { normalize_axis("gather", 0, 0); }),
            "[gather] axis is out of range: a tensor of 0 dimensions has none, got 0. Do this: "
            "unsqueeze it.");
}

TEST(Shape, Equality) {
  EXPECT_EQ(Shape(), Shape());
  EXPECT_EQ(Shape({2, kUnknown}), Shape({2, kUnknown}));
  EXPECT_FALSE(Shape({2}) == Shape({2, 1}));
  EXPECT_FALSE(Shape({2, 3}) == Shape({3, 2}));
  EXPECT_FALSE(Shape() == Shape({0}));
}

TEST(Shape, Text) {
  EXPECT_EQ(text_of(Shape()), "[]");
  EXPECT_EQ(text_of(Shape({3})), "[3]");
  EXPECT_EQ(text_of(Shape({2, kUnknown, 0})), "[2, ?, 0]");
}

TEST(Shape, NumberOfElements) {
  EXPECT_EQ(Shape().numel(), 1);
  EXPECT_EQ(Shape({0}).numel(), 0);
  EXPECT_EQ(Shape({2, 3, 4}).numel(), 24);
  EXPECT_EQ(Shape({2, kUnknown}).numel(), kUnknown);
  EXPECT_EQ(Shape({kUnknown, 0}).numel(), 0);  // whatever the other is
  EXPECT_EQ(Shape({0, kUnknown}).numel(), 0);
  const int64_t large = int64_t{1} << 32;
  EXPECT_EQ(Shape({large, large / 4}).numel(), int64_t{1} << 62);
  EXPECT_EQ(Shape({large, large, 0}).numel(), 0);
  EXPECT_EQ(error_of(ErrorKind::memory,
                     [&] {
                       Shape({large, large}).numel();
                     }),
            "A tensor of shape [4294967296, 4294967296] has more than 2^63 elements.");
}

TEST(Shape, KnownSizes) {
  EXPECT_TRUE(Shape().known());
  EXPECT_TRUE(Shape({0, 5}).known());
  EXPECT_FALSE(Shape({3, kUnknown}).known());
}

TEST(Shape, ContiguousStrides) {
  EXPECT_EQ(Shape().contiguous_strides(), Shape());
  EXPECT_EQ(Shape({5}).contiguous_strides(), Shape({1}));
  EXPECT_EQ(Shape({2, 3, 4}).contiguous_strides(), Shape({12, 4, 1}));
  EXPECT_EQ(Shape({2, 1, 4}).contiguous_strides(), Shape({4, 4, 1}));
  EXPECT_EQ(Shape({2, 0, 4}).contiguous_strides(), Shape({4, 4, 1}));  // 0 counts as 1
}

// What the header promises, by its words: sizes from the right, a missing one is 1.
bool broadcast_by_words(const Shape& a, const Shape& b, Shape* out) {
  std::vector<int64_t> sizes;
  for (int i = 1; i <= std::max(a.rank(), b.rank()); ++i) {
    const int64_t x = i <= a.rank() ? a[a.rank() - i] : 1, y = i <= b.rank() ? b[b.rank() - i] : 1;
    if (x == y || y == 1 || (y == kUnknown && x != 1))
      sizes.insert(sizes.begin(), x);
    else if (x == 1 || x == kUnknown)
      sizes.insert(sizes.begin(), y);
    else
      return false;
  }
  *out = Shape(sizes);
  return true;
}

TEST(Broadcast, EveryPairOfSmallShapes) {
  const int64_t sizes[] = {kUnknown, 0, 1, 2, 3};
  std::vector<Shape> shapes{{}};
  for (int64_t a : sizes) {
    shapes.push_back({a});
    for (int64_t b : sizes) shapes.push_back({a, b});
  }
  int refused = 0;
  for (const Shape& a : shapes)
    for (const Shape& b : shapes) {
      SCOPED_TRACE(text_of(a) + " with " + text_of(b));
      Shape want;
      if (broadcast_by_words(a, b, &want)) {
        EXPECT_EQ(broadcast("f", a, b), want);
        EXPECT_EQ(broadcast("f", b, a), want);
      } else {
        ++refused;
        EXPECT_THROW(broadcast("f", a, b), Error);
      }
    }
  EXPECT_GT(refused, 50);
}

TEST(Broadcast, UnknownSizes) {
  EXPECT_EQ(broadcast("f", {kUnknown}, {1}), Shape({kUnknown}));
  EXPECT_EQ(broadcast("f", {kUnknown}, {4}), Shape({4}));
  EXPECT_EQ(broadcast("f", {kUnknown}, {kUnknown}), Shape({kUnknown}));
  EXPECT_EQ(broadcast("f", {1, 3}, {kUnknown, 1}), Shape({kUnknown, 3}));
}

TEST(Broadcast, TheErrorNamesOpShapesAndRemedy) {
  EXPECT_EQ(
      error_of(ErrorKind::invalid_argument,
               [] {
                 broadcast("add", {4, 2, 3}, {5, 3});
               }),
      "[add] cannot broadcast shapes [4, 2, 3] and [5, 3]: sizes 2 and 5 of dimension 1 differ and "
      "neither is 1. Do this: reshape, unsqueeze or expand one of them.");
}

TEST(NormalizeAxis, CountsFromTheEnd) {
  for (int rank = 1; rank <= kMaxRank; ++rank)
    for (int axis = 0; axis < rank; ++axis) {
      EXPECT_EQ(normalize_axis("f", axis, rank), axis);
      EXPECT_EQ(normalize_axis("f", axis - rank, rank), axis);
    }
  // Some operations take a number as one element.
  EXPECT_EQ(normalize_axis_of_any("f", 0, 0), 0);
  EXPECT_EQ(normalize_axis_of_any("f", -1, 0), 0);
}

TEST(NormalizeAxis, ErrorsNameOpAxisAndRank) {
  EXPECT_EQ(
      error_of(ErrorKind::axis, [] { normalize_axis("flip", 2, 2); }),
      "[flip] axis is out of range: expected -2 <= axis < 2 for a tensor of 2 dimensions, got "
      "2.");
  EXPECT_EQ(
      error_of(ErrorKind::axis, [] { normalize_axis("flip", -3, 2); }),
      "[flip] axis is out of range: expected -2 <= axis < 2 for a tensor of 2 dimensions, got "
      "-3.");
  EXPECT_THROW(normalize_axis("flip", 1, 0), Error);
  EXPECT_THROW(normalize_axis("flip", int64_t{1} << 40, 3), Error);
}

}  // namespace
}  // namespace argosy

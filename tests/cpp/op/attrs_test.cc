#include "argosy/op/attrs.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "argosy/program/builder.h"
#include "tests/cpp/tensors.h"

namespace argosy::op {
namespace {

using test::error_of;
using test::number;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// A field of every kind.
struct Everything {
  bool boolean = true;
  int64_t integer = -3;
  double real = 0.5;
  std::string string = "it's";
  DType dtype = DType::float16;
  std::optional<bool> optional_boolean;
  std::optional<int64_t> optional_integer = 4;
  std::optional<double> optional_real;
  std::optional<DType> optional_dtype = DType::int8;
  std::optional<std::string> optional_string;
  std::vector<int64_t> integers{1, 2};
  std::vector<double> reals{1, 0.25};
  std::vector<std::string> strings{"a", ""};
  Scalar scalar = 2;
  std::optional<Scalar> optional_scalar;
  IntArray int_array{5, -1};
  std::vector<DType> dtypes{DType::bool_};
};
ARGOSY_ATTRS(Everything, boolean, integer, real, string, dtype, optional_boolean, optional_integer,
             optional_real, optional_dtype, optional_string, integers, reals, strings, scalar,
             optional_scalar, int_array, dtypes)

const AttrType& type() {
  return attr_type(static_cast<const Everything*>(nullptr));
}

bool equal(const Everything& a, const Everything& b) {
  return op::equal(type(), &a, &b);
}
size_t hash(const Everything& a) {
  return op::hash(type(), &a);
}

TEST(Attrs, TheTableHasEveryFieldAndItsKind) {
  const auto fields = type().fields;
  ASSERT_EQ(fields.size(), 17u);
  const char* names[] = {"boolean",          "integer",       "real",
                         "string",           "dtype",         "optional_boolean",
                         "optional_integer", "optional_real", "optional_dtype",
                         "optional_string",  "integers",      "reals",
                         "strings",          "scalar",        "optional_scalar",
                         "int_array",        "dtypes"};
  // The fields stand in the order of FieldKind, so no kind is left out.
  for (size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(std::string(fields[i].name), names[i]);
    EXPECT_EQ(static_cast<size_t>(fields[i].kind), i) << names[i];
    EXPECT_TRUE(i == 0 || fields[i].offset > fields[i - 1].offset) << names[i];
  }
  EXPECT_STREQ(type().name, "Everything");
  EXPECT_EQ(type().size, sizeof(Everything));
  EXPECT_EQ(type().align, alignof(Everything));
  EXPECT_FALSE(type().trivial);
  EXPECT_TRUE(type().may_hold_symbols);
}

TEST(Attrs, DefaultsAreThoseOfTheStruct) {
  EXPECT_TRUE(op::equal(type(), type().defaults, std::make_unique<Everything>().get()));
  EXPECT_EQ(print(type(), type().defaults),
            "{boolean=True, integer=-3, real=0.5, string='it\\'s', dtype='float16', "
            "optional_boolean=None, optional_integer=4, optional_real=None, "
            "optional_dtype='int8', optional_string=None, integers=[1, 2], reals=[1.0, 0.25], "
            "strings=['a', ''], scalar=2, optional_scalar=None, int_array=[5, -1], "
            "dtypes=['bool']}");
}

// One change of each field, and what print() says of it then.
struct Change {
  std::function<void(Everything&)> make;
  const char* text;
};
const Change kChanges[] = {
    {[](Everything& e) { e.boolean = false; }, "False"},
    {[](Everything& e) { e.integer = INT64_MIN; }, "-9223372036854775808"},
    {[](Everything& e) { e.real = 1e-7; }, "1e-07"},
    {[](Everything& e) { e.string = "a\n\\"; }, "'a\\x0a\\\\'"},
    {[](Everything& e) { e.dtype = DType::float8_e4m3; }, "'float8_e4m3fn'"},
    {[](Everything& e) { e.optional_boolean = false; }, "False"},
    {[](Everything& e) { e.optional_integer.reset(); }, "None"},
    {[](Everything& e) { e.optional_real = 3; }, "3.0"},
    {[](Everything& e) { e.optional_dtype.reset(); }, "None"},
    {[](Everything& e) { e.optional_string = ""; }, "''"},
    {[](Everything& e) { e.integers = {}; }, "[]"},
    {[](Everything& e) { e.reals[1] = -kInf; }, "[1.0, float('-inf')]"},
    {[](Everything& e) { e.strings.push_back("\x7f"); }, "['a', '', '\\x7f']"},
    {[](Everything& e) { e.scalar = std::complex<double>(1, -2); }, "complex(1.0, -2.0)"},
    {[](Everything& e) { e.optional_scalar = Scalar(true); }, "True"},
    {[](Everything& e) { e.int_array = IntArray::all(); }, "None"},
    {[](Everything& e) {
       e.dtypes = {DType::int64, DType::complex64};
     },
     "['int64', 'complex64']"},
};

TEST(Attrs, EachFieldCountsInEqualityHashAndText) {
  static_assert(std::size(kChanges) == 17);
  const Everything usual;
  std::set<size_t> hashes{hash(usual)};
  for (size_t i = 0; i < std::size(kChanges); ++i) {
    SCOPED_TRACE(type().fields[i].name);
    Everything changed;
    kChanges[i].make(changed);
    EXPECT_FALSE(equal(changed, usual));
    EXPECT_FALSE(equal(usual, changed));
    EXPECT_TRUE(hashes.insert(hash(changed)).second);
    EXPECT_EQ(print_field(type().fields[i], &changed), kChanges[i].text);
    Everything same;
    kChanges[i].make(same);
    EXPECT_TRUE(equal(changed, same));
    EXPECT_EQ(hash(changed), hash(same));
  }
}

TEST(Attrs, FloatsCompareByBits) {
  const std::function<void(Everything&, double)> places[] = {
      [](Everything& e, double v) { e.real = v; },
      [](Everything& e, double v) { e.optional_real = v; },
      [](Everything& e, double v) {
        e.reals = {1, v};
      },
      [](Everything& e, double v) { e.scalar = v; },
      [](Everything& e, double v) { e.optional_scalar = Scalar(v); },
      [](Everything& e, double v) { e.scalar = std::complex<double>(0, v); },
  };
  for (size_t i = 0; i < std::size(places); ++i) {
    SCOPED_TRACE(i);
    Everything nan, other_nan, zero, minus_zero;
    places[i](nan, kNan), places[i](other_nan, kNan);
    places[i](zero, 0.0), places[i](minus_zero, -0.0);
    EXPECT_TRUE(equal(nan, other_nan));
    EXPECT_EQ(hash(nan), hash(other_nan));
    EXPECT_FALSE(equal(zero, minus_zero));
    EXPECT_NE(hash(zero), hash(minus_zero));
  }
}

TEST(Attrs, NumbersOfDifferentKindsDiffer) {
  Everything values[4];
  values[0].scalar = true;
  values[1].scalar = 1;
  values[2].scalar = 1.0;
  values[3].scalar = std::complex<double>(1);
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 4; ++k) EXPECT_EQ(equal(values[i], values[k]), i == k) << i << k;
}

TEST(Attrs, FormsOfIntArrayDiffer) {
  Everything list, one, none;
  list.int_array = {2};
  one.int_array = IntArray::one(2);
  none.int_array = IntArray::all();
  EXPECT_FALSE(equal(list, one));
  EXPECT_FALSE(equal(list, none));
  EXPECT_NE(hash(list), hash(one));
  const Field& field = type().fields[15];
  EXPECT_EQ(print_field(field, &list), "[2]");
  EXPECT_EQ(print_field(field, &one), "2");
  EXPECT_EQ(print_field(field, &none), "None");
}

TEST(Attrs, TextsOfNumbers) {
  const Field& field = type().fields[2];
  const std::pair<double, const char*> texts[] = {{0.0, "0.0"},
                                                  {-0.0, "-0.0"},
                                                  {2, "2.0"},
                                                  {0.1, "0.1"},
                                                  {1e300, "1e+300"},
                                                  {kNan, "float('nan')"},
                                                  {kInf, "float('inf')"},
                                                  {1.0 / 3, "0.3333333333333333"}};
  for (auto [value, text] : texts) {
    Everything e;
    e.real = value;
    EXPECT_EQ(print_field(field, &e), text);
  }
}

// --- elements that are values of a Program ---

TEST(Attrs, SymbolsAreToldApartByWhatTheyStandFor) {
  const Tensor n = number(3), m = number(3);
  Everything a, b, c;
  a.scalar.tensor = b.scalar.tensor = n;
  c.scalar.tensor = m;
  EXPECT_TRUE(equal(a, b));
  EXPECT_EQ(hash(a), hash(b));
  EXPECT_FALSE(equal(a, c));
  EXPECT_NE(hash(a), hash(c));
  EXPECT_EQ(print_field(type().fields[13], &a), "$");

  Everything x, y, z;
  x.int_array = y.int_array = z.int_array = {kUnknown, 7, kUnknown};
  x.int_array.symbols = {{0, n}, {2, m}};
  y.int_array.symbols = {{0, n}, {2, m}};
  z.int_array.symbols = {{0, m}, {2, n}};
  EXPECT_TRUE(equal(x, y));
  EXPECT_FALSE(equal(x, z));
  EXPECT_NE(hash(x), hash(z));
  EXPECT_EQ(print_field(type().fields[15], &x), "[$, 7, $]");
  x.int_array = IntArray::one(kUnknown);
  x.int_array.symbols = {{0, n}};
  EXPECT_EQ(print_field(type().fields[15], &x), "$");
}

struct Sizes {
  IntArray shape;
};
ARGOSY_ATTRS(Sizes, shape)
struct Plain {
  double factor = 1;
  std::optional<int64_t> axis;
};
ARGOSY_ATTRS(Plain, factor, axis)

TEST(Attrs, WhichTypesMayHoldSymbols) {
  EXPECT_TRUE(attr_type(static_cast<const Sizes*>(nullptr)).may_hold_symbols);
  EXPECT_FALSE(attr_type(static_cast<const Plain*>(nullptr)).may_hold_symbols);
  EXPECT_TRUE(attr_type(static_cast<const Plain*>(nullptr)).trivial);
  EXPECT_FALSE(attr_type(static_cast<const NoAttrs*>(nullptr)).may_hold_symbols);
}

TEST(Attrs, NoAttributes) {
  const AttrType& none = attr_type(static_cast<const NoAttrs*>(nullptr));
  NoAttrs a, b;
  EXPECT_TRUE(op::equal(none, &a, &b));
  EXPECT_EQ(op::hash(none, &a), op::hash(none, &b));
  EXPECT_EQ(print(none, &a), "{}");
}

// --- boxes ---

TEST(AttrBox, HoldsACopy) {
  Everything value;
  value.string = "before";
  AttrBox box(type(), &value);
  value.string = "after";
  EXPECT_EQ(static_cast<const Everything*>(box.get())->string, "before");
  EXPECT_EQ(box.type(), &type());
  AttrBox moved = std::move(box), other(type(), type().defaults);
  other = std::move(moved);
  EXPECT_EQ(static_cast<const Everything*>(other.get())->string, "before");
  AttrBox& self = other;
  other = std::move(self);
  EXPECT_EQ(static_cast<const Everything*>(other.get())->string, "before");
}

TEST(AttrBox, SmallPlainStructsAreHeldInPlace) {
  const AttrType& plain = attr_type(static_cast<const Plain*>(nullptr));
  Plain value{2.5, 7};
  AttrBox box(plain, &value);
  auto inside = [](const AttrBox& b) {
    const auto* at = static_cast<const char*>(b.get());
    const auto* begin = reinterpret_cast<const char*>(&b);
    return at >= begin && at < begin + sizeof(b);
  };
  EXPECT_TRUE(inside(box));
  AttrBox moved = std::move(box);
  EXPECT_TRUE(inside(moved));
  EXPECT_TRUE(op::equal(plain, moved.get(), &value));
  EXPECT_FALSE(inside(AttrBox(type(), type().defaults)));
}

TEST(AttrBox, FreesWhatItHolds) {
  const Tensor held = number(1);
  Everything value;
  value.scalar.tensor = held;
  {
    AttrBox a(type(), &value), b(type(), &value), c = std::move(a);
    EXPECT_EQ(held.ref()->ref_count(), 4u);
    c = std::move(b);
    EXPECT_EQ(held.ref()->ref_count(), 3u);
  }
  EXPECT_EQ(held.ref()->ref_count(), 2u);
}

// --- axes ---

TEST(AxesMask, BitsOfTheAxes) {
  EXPECT_EQ(axes_mask("f", {0}, 3), 0b001u);
  EXPECT_EQ(axes_mask("f", {-1, 0}, 3), 0b101u);
  EXPECT_EQ(axes_mask("f", {2, 1}, 3), 0b110u);
  EXPECT_EQ(axes_mask("f", IntArray::one(-2), 3), 0b010u);
  // None, and no axis, mean all.
  EXPECT_EQ(axes_mask("f", IntArray::all(), 3), 0b111u);
  EXPECT_EQ(axes_mask("f", {}, 3), 0b111u);
  // A number has axes 0 and -1, which are nothing.
  for (const IntArray& axes : {IntArray{}, IntArray{0}, IntArray{-1}, IntArray::all()})
    EXPECT_EQ(axes_mask("f", axes, 0), 0u);
}

TEST(AxesMask, ErrorsNameOpAxisAndRemedy) {
  EXPECT_EQ(error_of(ErrorKind::invalid_argument,
                     [] {
                       axes_mask("sum", {0, 3}, 3);
                     }),
            "[sum] axis 3 is out of range: expected from -3 to 2 for a tensor of 3 dimensions. Do "
            "this: check the axis, or unsqueeze the tensor.");
  EXPECT_EQ(error_of(ErrorKind::invalid_argument, [] { axes_mask("sum", {1}, 0); }),
            "[sum] axis 1 is out of range: expected from -1 to 0 for a tensor of 0 dimensions. Do "
            "this: check the axis, or unsqueeze the tensor.");
  EXPECT_EQ(error_of(ErrorKind::invalid_argument,
                     [] {
                       axes_mask("sum", {0, -3}, 3);
                     }),
            "[sum] axis -3 is given twice. Do this: name each axis once.");
}

}  // namespace
}  // namespace argosy::op

#include <gtest/gtest.h>

#include <set>

#include "argosy/op/define.h"
#include "tests/cpp/tensors.h"

namespace argosy::op {
namespace {

using test::error_of;

// Kernels that tell which one ran.
template <int kNumber>
void tell(KernelFrame& f, const NoAttrs&) {
  *f.out[0].data<float>() = kNumber;
}
KernelDef kernel(const char* name, void (*run)(KernelFrame&, const NoAttrs&)) {
  return make_kernel<NoAttrs>(name, DeviceKind::cpu, nullptr, run);
}

// Before the op itself, as files are initialized in any order.
[[maybe_unused]] const bool early = [] {
  register_kernel("zq_first", kernel("later", tell<3>), false);
  register_kernel("zq_first", kernel("best", tell<1>), true);
  return true;
}();

ARGOSY_OP(zq_first, NoAttrs).input("x").output("out").kernel("own", tell<2>).done();
ARGOSY_OP(zq_second, NoAttrs).input("x").optional_input("weight").output("out").done();
ARGOSY_OP(zq_third_and_last, NoAttrs).input("x").output("out").done();

TEST(Registry, FindsByName) {
  EXPECT_EQ(find("zq_first"), &zq_first_op.def());
  EXPECT_EQ(&get("zq_first"), &zq_first_op.def());
  EXPECT_EQ(find("zq_fourth"), nullptr);
  EXPECT_EQ(find(""), nullptr);
  EXPECT_EQ(get("zq_second").find_input("weight"), 1);
  EXPECT_EQ(get("zq_second").find_input("bias"), -1);
}

TEST(Registry, AnUnknownNameListsTheNearestThree) {
  EXPECT_EQ(error_of(ErrorKind::not_found, [] { get("zq_secund"); }).substr(0, 58),
            "There is no op called 'zq_secund'. Near names: zq_second, ");
  EXPECT_EQ(error_of(ErrorKind::not_found, [] { get("zq_third_and_lost"); }).substr(0, 72),
            "There is no op called 'zq_third_and_lost'. Near names: zq_third_and_last");
  // Of equal distance: in the order of the alphabet.
  const std::string text = error_of(ErrorKind::not_found, [] { get("bitwise_fnd"); });
  EXPECT_EQ(text,
            "There is no op called 'bitwise_fnd'. Near names: bitwise_and, bitwise_not, "
            "bitwise_or.");
}

TEST(Registry, AllAreSortedAndFound) {
  const auto list = all();
  EXPECT_GT(list.size(), 400u);
  std::set<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(find(list[i]->name), list[i]);
    EXPECT_TRUE(names.insert(list[i]->name).second) << list[i]->name;
    EXPECT_TRUE(i == 0 || list[i - 1]->name < list[i]->name) << list[i]->name;
  }
  EXPECT_TRUE(names.count("zq_second"));
}

TEST(Registry, KernelsOfOtherFilesJoin) {
  const auto& kernels = zq_first_op.def().kernels[0];
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].name, "best");
  EXPECT_EQ(kernels[1].name, "own");
  EXPECT_EQ(kernels[2].name, "later");
  EXPECT_EQ(*zq_first_op(test::number(0)).data<float>(), 1);
}

TEST(Registry, PlainDtypesAreThoseThatEveryInputTakes) {
  EXPECT_EQ(get("zq_first").plain_dtypes.bits, kAny.bits);
  EXPECT_EQ(get("concat").plain_dtypes.bits, 0u);  // lists do not settle it
  const OpDef& where = get("where_select");
  for (int t = 0; t < kDTypeCount; ++t) {
    bool every = true;
    for (const InputDef& in : where.inputs) every &= in.dtypes.has(static_cast<DType>(t));
    EXPECT_EQ(where.plain_dtypes.has(static_cast<DType>(t)), every);
  }
}

}  // namespace
}  // namespace argosy::op

#include "argosy/base/address_range.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace argosy::memory {
namespace {

char* at(size_t n) {
  return reinterpret_cast<char*>(n);
}

TEST(AddressRange, TakesTheFirstThatIsLongEnough) {
  AddressRange range(at(1000), 100);
  EXPECT_EQ(range.take(40), at(1000));
  EXPECT_EQ(range.take(40), at(1040));
  EXPECT_EQ(range.take(40), nullptr);
  EXPECT_EQ(range.take(20), at(1080));
  range.give_back(at(1000), 40);
  range.give_back(at(1080), 20);
  EXPECT_EQ(range.take(15), at(1000));
  EXPECT_EQ(range.take(30), nullptr);
  range.give_back(at(1040), 40);
  EXPECT_EQ(range.take(85), at(1015)) << "neighbours on both sides become one";
}

TEST(AddressRange, KnowsItsAddresses) {
  const AddressRange range(at(1000), 100);
  EXPECT_TRUE(range.has(at(1000)) && range.has(at(1099)));
  EXPECT_FALSE(range.has(at(999)) || range.has(at(1100)) || range.has(nullptr));
}

TEST(AddressRange, StretchesOfARandomSequenceAreDisjoint) {
  std::mt19937 random(3);
  AddressRange range(at(5000), 1000);
  std::map<char*, size_t> taken;
  for (int i = 0; i < 20000; ++i) {
    if (taken.empty() || random() % 2) {
      const size_t bytes = 1 + random() % 100;
      char* got = range.take(bytes);
      if (!got) continue;
      ASSERT_TRUE(got >= at(5000) && got + bytes <= at(6000));
      const auto [here, fresh] = taken.emplace(got, bytes);
      ASSERT_TRUE(fresh);
      const auto next = std::next(here);
      ASSERT_TRUE(next == taken.end() || got + bytes <= next->first);
      ASSERT_TRUE(here == taken.begin() || std::prev(here)->first + std::prev(here)->second <= got);
    } else {
      auto one = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      range.give_back(one->first, one->second);
      taken.erase(one);
    }
  }
  for (const auto& [begin, bytes] : taken) range.give_back(begin, bytes);
  EXPECT_EQ(range.take(1000), at(5000)) << "all is one stretch again";
}

}  // namespace
}  // namespace argosy::memory

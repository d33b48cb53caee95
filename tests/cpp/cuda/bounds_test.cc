#include "argosy/kernels/cuda/bounds.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace argosy::cuda {
namespace {

Finding finding(Named named, const char* op, int64_t value, int64_t bound, int64_t detail = 0) {
  return {1, named, op, value, bound, detail};
}

void expect(const Finding& found, ErrorKind kind, const std::string& text) {
  const Error error = error_of(found);
  EXPECT_EQ(error.kind(), kind) << text;
  EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
}

TEST(Bounds, NothingIsTakenUntilItIsReady) {
  Finding from, found;
  EXPECT_FALSE(take_finding(from, &found));
  from = finding(Named::row, "embedding", 7, 5);
  from.ready = 0;
  EXPECT_FALSE(take_finding(from, &found));
  EXPECT_EQ(found.op, nullptr);
}

TEST(Bounds, AFindingIsTakenOnce) {
  Finding from = finding(Named::element, "index_put", -4, 3, 1), found;
  ASSERT_TRUE(take_finding(from, &found));
  EXPECT_EQ(found.value, -4);
  EXPECT_EQ(found.bound, 3);
  EXPECT_EQ(found.detail, 1);
  EXPECT_FALSE(take_finding(from, &found));
  from.ready = 1;  // the next one
  EXPECT_TRUE(take_finding(from, &found));
}

TEST(Bounds, OneOfSeveralThreadsTakesIt) {
  for (int round = 0; round < 200; ++round) {
    Finding from = finding(Named::label, "cross_entropy", 9, 4, -100);
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        Finding found;
        if (take_finding(from, &found) && found.value == 9) ++taken;
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(taken, 1);
  }
}

TEST(Bounds, ErrorsReadAsTheCpusDo) {
  expect(finding(Named::element, "gather, index_select", 7, 5, 1), ErrorKind::index,
         "[gather, index_select] index 7 is out of range for dimension 1 of size 5. Do this: check "
         "the index; negative ones count from the end.");
  expect(finding(Named::element, "put_along", -9, 5), ErrorKind::index,
         "[put_along] index -9 is out of range for dimension 0 of size 5.");
  expect(finding(Named::corner, "gather_nd", 9, 4, 1), ErrorKind::axis,
         "[gather_nd] index 9 is out of range for dimension 1 of size 4.");
  expect(finding(Named::row, "embedding", 3, 3), ErrorKind::invalid_argument,
         "[embedding] index 3 is out of range: expected 0 <= index < 3 (the rows of weight).");
  expect(finding(Named::label, "cross_entropy", 10, 10, -100), ErrorKind::index,
         "[cross_entropy] label 10 is out of range: expected 0 <= label < 10 (the number of "
         "classes) or ignore_index -100.");
  expect(finding(Named::category, "one_hot", -1, 3), ErrorKind::invalid_argument,
         "[one_hot] element -1 is out of range: expected 0 <= x < 3 (num_classes).");
  expect(finding(Named::parent, "gather_tree", 2, 2), ErrorKind::invalid_argument,
         "[gather_tree] parent 2 is out of range: there are 2 beams.");
  expect(finding(Named::place, "max_unpool2d", 16, 16), ErrorKind::invalid_argument,
         "[max_unpool2d] index 16 is outside a plane of 16 elements.");
  expect(finding(Named::image, "roi_align", 2, 2), ErrorKind::invalid_argument,
         "[roi_align] there is no image 2 among 2.");
  expect(finding(Named::argmax, "roi_pool_grad", 99, 36), ErrorKind::invalid_argument,
         "[roi_pool_grad] argmax must be below 36, got 99.");
}

}  // namespace
}  // namespace argosy::cuda

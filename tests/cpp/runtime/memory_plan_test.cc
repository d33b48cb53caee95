#include "argosy/runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace argosy::runtime {
namespace {

bool live_together(const Buffer& a, const Buffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

void expect_apart(const std::vector<Buffer>& buffers, size_t bytes) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& a = buffers[i];
    EXPECT_LE(a.offset + a.bytes, bytes);
    for (size_t k = i + 1; k < buffers.size(); ++k) {
      const Buffer& b = buffers[k];
      if (!live_together(a, b)) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
          << "buffers " << i << " and " << k;
    }
  }
}

TEST(MemoryPlan, NothingNeedsNothing) {
  std::vector<Buffer> none;
  EXPECT_EQ(place_buffers(none).bytes, 0u);
}

TEST(MemoryPlan, AChainTakesTwoBuffers) {
  std::vector<Buffer> chain;
  for (uint32_t i = 0; i < 20; ++i) chain.push_back({128, i, i + 1});
  const Placement p = place_buffers(chain);
  EXPECT_EQ(p.lower_bound, 256u);
  EXPECT_EQ(p.bytes, 256u);
  expect_apart(chain, p.bytes);
}

TEST(MemoryPlan, WhatLivesTogetherIsApart) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Buffer> buffers;
    const int n = 1 + static_cast<int>(random() % 120);
    for (int i = 0; i < n; ++i) {
      const uint32_t first = random() % 100;
      buffers.push_back(
          {64 * (1 + random() % 40), first, static_cast<uint32_t>(first + random() % 30)});
    }
    const Placement p = place_buffers(buffers);
    expect_apart(buffers, p.bytes);
    EXPECT_GE(p.bytes, p.lower_bound);
    EXPECT_LE(static_cast<double>(p.bytes), 1.35 * static_cast<double>(p.lower_bound));
  }
}

// Forward activations that backward reads in turn, as in a training step.
TEST(MemoryPlan, ATrainingStepIsPlacedTightly) {
  std::mt19937 random(2);
  std::vector<Buffer> buffers;
  constexpr uint32_t kLayers = 100;
  for (uint32_t i = 0; i < kLayers; ++i) {
    const size_t bytes = 64 * (1 + random() % 1000);
    buffers.push_back({bytes, i, 2 * kLayers - i});
    buffers.push_back({bytes, 2 * kLayers - i, 2 * kLayers - i + 1});
  }
  const Placement p = place_buffers(buffers);
  expect_apart(buffers, p.bytes);
  EXPECT_LE(static_cast<double>(p.bytes), 1.03 * static_cast<double>(p.lower_bound));
}

TEST(MemoryPlan, ARuleForbidsSharing) {
  std::vector<Buffer> chain;
  for (uint32_t i = 0; i < 10; ++i) chain.push_back({64, i, i});
  auto never = [](uint32_t, uint32_t) { return false; };
  const MayFollow rule = never;
  const Placement p = place_buffers(chain, &rule);
  EXPECT_EQ(p.lower_bound, 64u);
  EXPECT_EQ(p.bytes, 640u);
}

}  // namespace
}  // namespace argosy::runtime

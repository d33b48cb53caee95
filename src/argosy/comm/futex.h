#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

// Sleeping until a word changes that several processes share. Linux; also between threads.
namespace argosy::comm {

// Sleeps while *word == seen, at most `limit`. May return early.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds limit);
void futex_wake_all(const std::atomic<uint32_t>& word);

// What a spinning processor is told.
void pause();

}  // namespace argosy::comm

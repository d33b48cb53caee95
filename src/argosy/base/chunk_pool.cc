#include "argosy/base/chunk_pool.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/base/text.h"

namespace argosy::memory {
namespace {

constexpr size_t kPage = size_t{2} << 20;  // a huge page
constexpr size_t kSmallestChunk = size_t{8} << 20, kLargestChunk = size_t{64} << 20;
// Free chunks beyond this and beyond what is in use are given back before new ones are taken.
constexpr size_t kKeep = size_t{256} << 20;

size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

bool ChunkPool::BySize::operator()(const Block* a, const Block* b) const {
  return a->size != b->size ? a->size < b->size : a->address < b->address;
}

ChunkPool::~ChunkPool() {
  for (auto& [address, block] : used_) {
    // Blocks in use keep their chunk: whoever holds them still reads it.
    delete block;
  }
  release_free();
  for (FreeSet& set : free_) {
    for (Block* block : set) delete block;
  }
}

void* ChunkPool::allocate(size_t bytes, size_t limit) {
  bool huge = bytes >= kHuge;
  Block* block = find(bytes, huge);
  if (!block) {
    release_free(std::max(kKeep, in_use_));
    block = grow(bytes, huge, limit);
    if (!block) return nullptr;
  }
  used_.emplace(block->address, block);
  if (block->whole()) free_whole_ -= block->size;
  block->node = free_of(*block).extract(block);
  block->used = bytes;
  in_use_ += bytes;
  size_t rest = block->size - bytes;
  if (rest >= (huge ? kHuge : granule_)) split(block, bytes);
  return block->address;
}

ChunkPool::Block* ChunkPool::find(size_t bytes, bool huge) {
  Block wanted{};
  wanted.size = bytes;
  auto found = free_[huge].lower_bound(&wanted);
  if (found == free_[huge].end()) return nullptr;
  size_t rest = (*found)->size - bytes;
  if (huge && rest > bytes / 8 && rest < kHuge) {
    // Too wasteful whole and too small to split: the next that can be split, if any.
    wanted.size = bytes + kHuge;
    found = free_[huge].lower_bound(&wanted);
    if (found == free_[huge].end()) return nullptr;
  }
  return *found;
}

ChunkPool::Block* ChunkPool::grow(size_t bytes, bool huge, size_t limit) {
  auto take = [&](size_t size) -> void* {
    if (limit && (size > limit || reserved_ > limit - size)) return nullptr;
    return backend_->allocate(index_, size);
  };
  size_t size = round_up(bytes, kPage);
  if (!huge)
    size =
        std::max(size, std::clamp(round_up(reserved_ / 4, kPage), kSmallestChunk, kLargestChunk));
  // The block first: if the host has no memory for it, nothing is lost.
  auto block = std::make_unique<Block>();
  void* address = take(size);
  if (!address) {
    release_free();
    address = take(size);
  }
  if (!address && size > bytes) address = take(size = bytes);
  if (!address) return nullptr;
  *block = {static_cast<char*>(address), size, nullptr, nullptr, 0, huge, {}};
  free_[huge].insert(block.get());
  reserved_ += size;
  free_whole_ += size;
  ++chunks_;
  return block.release();
}

void ChunkPool::split(Block* block, size_t bytes) {
  auto rest = std::make_unique<Block>(
      Block{block->address + bytes, block->size - bytes, block, block->after, 0, block->huge, {}});
  free_of(*rest).insert(rest.get());
  if (block->after) block->after->before = rest.get();
  block->after = rest.release();
  block->size = bytes;
}

bool ChunkPool::deallocate(void* address) {
  auto found = used_.find(address);
  if (found == used_.end()) return false;
  Block* block = found->second;
  used_.erase(found);
  in_use_ -= block->used;
  block->used = 0;
  if (Block* after = block->after; after && !after->used) {
    free_of(*after).erase(after);
    merge_into(block, after);
  }
  if (Block* before = block->before; before && !before->used) {
    before->node = free_of(*before).extract(before);
    merge_into(before, block);
    block = before;
  }
  FreeSet::node_type node = std::move(block->node);
  node.value() = block;
  free_of(*block).insert(std::move(node));
  if (block->whole()) free_whole_ += block->size;
  return true;
}

void ChunkPool::merge_into(Block* left, Block* right) {
  left->size += right->size;
  left->after = right->after;
  if (left->after) left->after->before = left;
  delete right;
}

void ChunkPool::release_free(size_t keep) {
  for (FreeSet& set : free_) {
    for (auto next = set.begin(); next != set.end() && free_whole_ > keep;) {
      Block* block = *next;
      if (!block->whole()) {
        ++next;
        continue;
      }
      next = set.erase(next);
      release(block);
    }
  }
}

void ChunkPool::release(Block* block) {
  backend_->release(index_, block->address, block->size);
  reserved_ -= block->size;
  free_whole_ -= block->size;
  --chunks_;
  delete block;
}

std::string ChunkPool::dump() const {
  size_t free_blocks = free_[0].size() + free_[1].size(), largest = 0, whole = free_whole_;
  for (const FreeSet& set : free_) {
    if (!set.empty()) largest = std::max(largest, (*set.rbegin())->size);
  }
  return "chunks           " + std::to_string(chunks_) + ", " + bytes_text(reserved_) +
         "\nblocks in use    " + std::to_string(used_.size()) + ", " + bytes_text(in_use_) +
         "\nfree blocks      " + std::to_string(free_blocks) + ", largest " + bytes_text(largest) +
         "\nfree chunks      " + bytes_text(whole) + "\n";
}

void ChunkPool::check() const {
  size_t total = 0, in_use = 0, whole = 0;
  int chunks = 0;
  auto visit = [&](const Block* b) {
    total += b->size;
    chunks += !b->before;
    ARGOSY_INVARIANT(b->size > 0 && b->size % granule_ == 0);
    ARGOSY_INVARIANT(!b->after || (b->after->before == b && b->after->huge == b->huge &&
                                   b->after->address == b->address + b->size));
    ARGOSY_INVARIANT(!b->before || b->before->after == b);
  };
  for (auto& [address, b] : used_) {
    visit(b);
    ARGOSY_INVARIANT(b->address == address && b->used > 0 && b->used <= b->size);
    in_use += b->used;
  }
  for (const FreeSet& set : free_) {
    for (const Block* b : set) {
      visit(b);
      ARGOSY_INVARIANT(!b->used && (!b->after || b->after->used));
      if (b->whole()) whole += b->size;
    }
  }
  ARGOSY_INVARIANT(total == reserved_ && in_use == in_use_);
  ARGOSY_INVARIANT(whole == free_whole_ && chunks == chunks_);
}

}  // namespace argosy::memory

#include "argosy/kernels/cpu/loops.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "argosy/base/error.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/simd/copy.h"

namespace argosy::cpu {
namespace {

// A chunk is worth handing to another thread from about this many nanoseconds on.
constexpr double kChunkNanoseconds = 32768;

int64_t grain_of(double cost) {
  return std::max<int64_t>(64, static_cast<int64_t>(kChunkNanoseconds / std::max(cost, 0.01)));
}

struct LoopPlan {
  int rank = 0;
  int count = 0;
  int64_t size[kMaxLoopRank];
  int64_t stride[kMaxLoopRank][kMaxLoopOperands];  // bytes
  char* base[kMaxLoopOperands];
  int item[kMaxLoopOperands];
};

// Drops dimensions of size 1; puts the dimension where the first output moves least innermost.
void fill(LoopPlan& plan, std::span<const int64_t> shape, std::span<const Operand> operands) {
  plan.count = static_cast<int>(operands.size());
  for (int k = 0; k < plan.count; ++k) {
    plan.base[k] = static_cast<char*>(operands[k].data);
    plan.item[k] = operands[k].item_size;
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    int r = plan.rank++;
    plan.size[r] = shape[d];
    for (int k = 0; k < plan.count; ++k) {
      plan.stride[r][k] = operands[k].strides[d] * operands[k].item_size;
    }
  }
}

// True if dimension i should be outside dimension j. The output decides (last operand first), then
// the inputs; equal ones keep their order.
bool goes_outside(const LoopPlan& plan, int i, int j) {
  for (int k = plan.count - 1; k >= 0; --k) {
    int64_t a = std::abs(plan.stride[i][k]), b = std::abs(plan.stride[j][k]);
    if (a != b && a != 0 && b != 0) return a > b;
  }
  return i < j;
}

void swap_dims(LoopPlan& plan, int i, int j) {
  std::swap(plan.size[i], plan.size[j]);
  for (int k = 0; k < plan.count; ++k) std::swap(plan.stride[i][k], plan.stride[j][k]);
}

void sort_dims(LoopPlan& plan) {
  for (int i = 1; i < plan.rank; ++i) {
    for (int j = i; j > 0 && !goes_outside(plan, j - 1, j); --j) swap_dims(plan, j - 1, j);
  }
}

void merge_dims(LoopPlan& plan) {
  int last = 0;
  for (int d = 1; d < plan.rank; ++d) {
    bool merges = true;
    for (int k = 0; k < plan.count; ++k) {
      merges &= plan.stride[last][k] == plan.stride[d][k] * plan.size[d];
    }
    if (merges) {
      plan.size[last] *= plan.size[d];
    } else {
      ++last;
      plan.size[last] = plan.size[d];
    }
    for (int k = 0; k < plan.count; ++k) plan.stride[last][k] = plan.stride[d][k];
  }
  if (plan.rank > 0) plan.rank = last + 1;
}

// Runs of a few elements cost more to start than to do: prefer a long dimension then.
void avoid_short_runs(LoopPlan& plan) {
  if (plan.rank < 2 || plan.size[plan.rank - 1] >= 16) return;
  int longest = plan.rank - 1;
  for (int d = 0; d < plan.rank; ++d) {
    if (plan.size[d] > plan.size[longest]) longest = d;
  }
  if (plan.size[longest] >= 4 * plan.size[plan.rank - 1]) {
    swap_dims(plan, longest, plan.rank - 1);
  }
}

// Elements [begin, end) in the plan's order.
void run_range(const LoopPlan& plan, Loop loop, const void* params, int64_t begin, int64_t end) {
  const int inner = plan.rank - 1;
  int64_t index[kMaxLoopRank] = {};
  char* ptrs[kMaxLoopOperands];
  std::copy_n(plan.base, plan.count, ptrs);
  int64_t rest = begin;
  for (int d = inner; d >= 0; --d) {
    index[d] = rest % plan.size[d];
    rest /= plan.size[d];
    for (int k = 0; k < plan.count; ++k) ptrs[k] += index[d] * plan.stride[d][k];
  }
  for (int64_t done = begin; done < end;) {
    int64_t n = std::min(plan.size[inner] - index[inner], end - done);
    loop(ptrs, plan.stride[inner], n, params);
    done += n;
    if (done >= end) return;
    for (int k = 0; k < plan.count; ++k) ptrs[k] -= index[inner] * plan.stride[inner][k];
    index[inner] = 0;
    for (int d = inner - 1; d >= 0; --d) {
      for (int k = 0; k < plan.count; ++k) ptrs[k] += plan.stride[d][k];
      if (++index[d] < plan.size[d]) break;
      for (int k = 0; k < plan.count; ++k) ptrs[k] -= plan.size[d] * plan.stride[d][k];
      index[d] = 0;
    }
  }
}

void run_plan(const LoopPlan& plan, Loop loop, const void* params, double cost) {
  int64_t n = 1, grain = grain_of(cost);
  for (int d = 0; d < plan.rank; ++d) n *= plan.size[d];
  if (n <= grain) return run_range(plan, loop, params, 0, n);
  // Chunks of whole inner runs where these are short.
  const int64_t inner = plan.size[plan.rank - 1];
  grain = inner < grain ? (grain + inner - 1) / inner * inner : (grain + 63) & ~int64_t{63};
  parallel_for(n, grain,
               [&](int64_t begin, int64_t end) { run_range(plan, loop, params, begin, end); });
}

// An input that is transposed against the output would use one item of each cache line it touches.
// Its tiles are turned in a scratch block first. False if there is none such.
bool run_transposed(const LoopPlan& plan, Loop loop, const void* params, double cost) {
  constexpr int64_t kOver = 64, kAlong = 256;  // a tile
  const int inner = plan.rank - 1;
  if (inner < 1 || plan.size[inner] < 16) return false;
  int over = -1;
  for (int k = 0; k < plan.count - 1 && over < 0; ++k) {
    if (std::abs(plan.stride[inner][k]) < 64) continue;
    for (int d = 0; d < inner; ++d) {
      if (plan.stride[d][k] == plan.item[k] && plan.size[d] >= 16) over = d;
    }
  }
  if (over < 0) return false;

  Transpose transpose[kMaxLoopOperands] = {};
  int64_t room[kMaxLoopOperands + 1] = {};  // where each block begins
  for (int k = 0; k < plan.count; ++k) {
    const bool turned = k < plan.count - 1 && plan.stride[over][k] == plan.item[k] &&
                        std::abs(plan.stride[inner][k]) >= 64;
    if (turned) {
      transpose[k] = transpose_kernel(static_cast<int>(plan.item[k]));
    }
    room[k + 1] = room[k] + (turned ? kOver * kAlong * plan.item[k] : 0);
  }
  const int64_t tiles_over = (plan.size[over] + kOver - 1) / kOver;
  const int64_t tiles_along = (plan.size[inner] + kAlong - 1) / kAlong;
  int64_t tiles = tiles_over * tiles_along;
  for (int d = 0; d < inner; ++d) {
    if (d != over) tiles *= plan.size[d];
  }
  const int64_t tile_items = std::min(kOver, plan.size[over]) * std::min(kAlong, plan.size[inner]);
  const int64_t grain = std::max<int64_t>(1, grain_of(cost) / tile_items);
  parallel_for(tiles, grain, [&](int64_t begin, int64_t end) {
    std::unique_ptr<char[]> scratch(new char[room[plan.count]]);
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t a = tile % tiles_along * kAlong, o = tile / tiles_along % tiles_over * kOver;
      const int64_t along = std::min(kAlong, plan.size[inner] - a);
      const int64_t across = std::min(kOver, plan.size[over] - o);
      char* ptrs[kMaxLoopOperands];
      int64_t strides[kMaxLoopOperands], steps[kMaxLoopOperands];
      for (int k = 0; k < plan.count; ++k) {
        ptrs[k] = plan.base[k] + a * plan.stride[inner][k] + o * plan.stride[over][k];
        int64_t rest = tile / (tiles_along * tiles_over);
        for (int d = inner - 1; d >= 0; --d) {
          if (d == over) continue;
          ptrs[k] += rest % plan.size[d] * plan.stride[d][k];
          rest /= plan.size[d];
        }
        strides[k] = plan.stride[inner][k];
        steps[k] = plan.stride[over][k];
        if (!transpose[k]) continue;
        char* block = scratch.get() + room[k];
        transpose[k](block, kAlong, ptrs[k], strides[k] / plan.item[k], along, across);
        ptrs[k] = block;
        strides[k] = plan.item[k];
        steps[k] = kAlong * plan.item[k];
      }
      for (int64_t i = 0; i < across; ++i) {
        loop(ptrs, strides, along, params);
        for (int k = 0; k < plan.count; ++k) ptrs[k] += steps[k];
      }
    }
  });
  return true;
}

// Short runs cost more to start than to do. Where the output's last two dimensions lie side by
// side, several rows become one run of contiguous operands: inputs whose rows lie apart or repeat
// (a row of numbers for each row, one number for a row) are written out into a block first.
class ExpandedRows {
 public:
  static constexpr int64_t kShort = 512, kItems = 1024;

  explicit ExpandedRows(const LoopPlan& plan) : plan_(plan), inner_(plan.rank - 1) {
    if (inner_ < 1) return;
    const int64_t width = plan.size[inner_];
    if (width > kShort || plan.size[inner_ - 1] < 2) return;
    for (int k = 0; k < plan.count; ++k) {
      const int64_t item = plan.item[k], along = plan.stride[inner_][k];
      const int64_t across = plan.stride[inner_ - 1][k];
      const bool input = k < plan.count - 1;
      if (along == item && across == width * item) continue;
      if (!input || (along != 0 && along != item) || item > 8) return;
      kind_[k] = along == 0 ? Kind::number : across == 0 ? Kind::row : Kind::rows;
    }
    rows_ = std::min(plan.size[inner_ - 1], kItems / width);
    applies_ = rows_ > 1;
  }
  bool applies() const { return applies_; }

  // Blocks of rows [begin, end).
  int64_t blocks() const {
    int64_t n = (plan_.size[inner_ - 1] + rows_ - 1) / rows_;
    for (int d = 0; d < inner_ - 1; ++d) n *= plan_.size[d];
    return n;
  }
  int64_t block_items() const { return rows_ * plan_.size[inner_]; }

  void run(Loop loop, const void* params, int64_t begin, int64_t end) const {
    alignas(64) char room[kMaxLoopOperands - 1][kItems * 8];
    const char* written[kMaxLoopOperands] = {};  // where the rows of a block came from
    const int64_t width = plan_.size[inner_], rows = plan_.size[inner_ - 1];
    const int64_t row_blocks = (rows + rows_ - 1) / rows_;
    int64_t strides[kMaxLoopOperands];
    for (int k = 0; k < plan_.count; ++k) strides[k] = plan_.item[k];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block % row_blocks * rows_, count = std::min(rows_, rows - first);
      char* ptrs[kMaxLoopOperands];
      for (int k = 0; k < plan_.count; ++k) {
        ptrs[k] = plan_.base[k] + first * plan_.stride[inner_ - 1][k];
        int64_t rest = block / row_blocks;
        for (int d = inner_ - 2; d >= 0; --d) {
          ptrs[k] += rest % plan_.size[d] * plan_.stride[d][k];
          rest /= plan_.size[d];
        }
        if (kind_[k] == Kind::contiguous) continue;
        if (kind_[k] == Kind::row) {
          if (written[k] != ptrs[k]) copy_rows(room[k], ptrs[k], 0, width * plan_.item[k], rows_);
          written[k] = ptrs[k];
        } else if (kind_[k] == Kind::rows) {
          copy_rows(room[k], ptrs[k], plan_.stride[inner_ - 1][k], width * plan_.item[k], count);
        } else {
          repeat_numbers(plan_.item[k], room[k], ptrs[k], plan_.stride[inner_ - 1][k], width,
                         count);
        }
        ptrs[k] = room[k];
      }
      loop(ptrs, strides, count * width, params);
    }
  }

 private:
  enum class Kind : uint8_t { contiguous, row, rows, number };

  static void copy_rows(char* to, const char* from, int64_t stride, int64_t bytes, int64_t count) {
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, from + i * stride, bytes);
  }
  template <class T>
  static void repeat_each(char* to, const char* from, int64_t stride, int64_t width,
                          int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      T v;
      std::memcpy(&v, from + i * stride, sizeof(T));
      T* row = reinterpret_cast<T*>(to) + i * width;
      for (int64_t j = 0; j < width; ++j) row[j] = v;
    }
  }
  static void repeat_numbers(int item, char* to, const char* from, int64_t stride, int64_t width,
                             int64_t count) {
    const auto repeat = item == 1   ? repeat_each<uint8_t>
                        : item == 2 ? repeat_each<uint16_t>
                        : item == 4 ? repeat_each<uint32_t>
                                    : repeat_each<uint64_t>;
    repeat(to, from, stride, width, count);
  }

  const LoopPlan& plan_;
  int inner_;
  Kind kind_[kMaxLoopOperands] = {};
  int64_t rows_ = 0;
  bool applies_ = false;
};

bool run_expanded(const LoopPlan& plan, Loop loop, const void* params, double cost) {
  const ExpandedRows rows(plan);
  if (!rows.applies()) return false;
  const int64_t blocks = rows.blocks();
  const int64_t grain = (grain_of(cost) + rows.block_items() - 1) / rows.block_items();
  if (blocks <= grain) {
    rows.run(loop, params, 0, blocks);
  } else {
    parallel_for(blocks, grain,
                 [&](int64_t begin, int64_t end) { rows.run(loop, params, begin, end); });
  }
  return true;
}

bool all_contiguous(std::span<const int64_t> shape, std::span<const Operand> operands) {
  for (const Operand& o : operands) {
    int64_t expected = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      if (shape[d] != 1 && o.strides[d] != expected) return false;
      expected *= shape[d];
    }
  }
  return true;
}

}  // namespace

void run_loop_flat(Loop loop, int64_t n, std::span<const Operand> operands, const void* params,
                   double cost) {
  if (n == 0) return;
  char* base[kMaxLoopOperands];
  int64_t strides[kMaxLoopOperands];
  const int count = static_cast<int>(operands.size());
  for (int k = 0; k < count; ++k) {
    base[k] = static_cast<char*>(operands[k].data);
    strides[k] = operands[k].item_size;
  }
  int64_t grain = grain_of(cost);
  if (n <= grain) return loop(base, strides, n, params);
  // Whole cache lines, so that no two chunks write into one.
  grain = (grain + 63) & ~int64_t{63};
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    char* ptrs[kMaxLoopOperands];
    for (int k = 0; k < count; ++k) ptrs[k] = base[k] + begin * strides[k];
    loop(ptrs, strides, end - begin, params);
  });
}

void run_loop(Loop loop, std::span<const int64_t> shape, std::span<const Operand> operands,
              const void* params, double cost) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  if (n == 0) return;
  if (n == 1 || all_contiguous(shape, operands)) {
    return run_loop_flat(loop, n, operands, params, cost);
  }
  ARGOSY_INVARIANT(shape.size() <= kMaxLoopRank && operands.size() <= kMaxLoopOperands);
  LoopPlan plan;
  fill(plan, shape, operands);
  sort_dims(plan);
  merge_dims(plan);
  if (run_expanded(plan, loop, params, cost)) return;
  avoid_short_runs(plan);
  if (run_transposed(plan, loop, params, cost)) return;
  run_plan(plan, loop, params, cost);
}

}  // namespace argosy::cpu

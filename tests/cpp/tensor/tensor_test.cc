#include "argosy/tensor/tensor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "argosy/base/memory.h"
#include "tests/cpp/tensors.h"

namespace argosy {
namespace {

using test::counting;
using test::each_index;
using test::elements;
using test::error_of;
using test::offset_of;
using test::permuted;
using test::text_of;
using Floats = std::vector<float>;

// --- making ---

TEST(Tensor, EmptyIsContiguousMemoryOfItsOwn) {
  for (const Shape& shape : {Shape(), Shape({0}), Shape({3}), Shape({2, 0, 4}), Shape({2, 3, 4})}) {
    Tensor a = Tensor::empty(shape, DType::float64), b = Tensor::empty(shape, DType::float64);
    EXPECT_EQ(a.shape(), shape);
    EXPECT_EQ(a.strides(), shape.contiguous_strides());
    EXPECT_EQ(a.numel(), shape.numel());
    EXPECT_EQ(a.nbytes(), 8 * static_cast<size_t>(shape.numel()));
    EXPECT_TRUE(a.is_contiguous() && a.has_data() && a.defined());
    EXPECT_FALSE(a.symbolic());
    EXPECT_EQ(a.version(), 0u);
    EXPECT_TRUE(a.stop_gradient());
    EXPECT_EQ(a.layout(), Layout::strided);
    EXPECT_NE(a.raw(), nullptr);
    EXPECT_NE(a.raw(), b.raw());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.raw()) % memory::kAlignment, 0u);
    for (int64_t i = 0; i < a.numel(); ++i) a.data<double>()[i] = b.data<double>()[i] = 1;
  }
}

TEST(Tensor, SizesThatCannotBeAreRefused) {
  const std::string text = error_of(ErrorKind::invalid_argument, [] {
    Tensor::empty({2, kUnknown}, DType::int8);
  });
  EXPECT_NE(text.find("A tensor of shape [2, ?] cannot be made"), std::string::npos) << text;
  EXPECT_NE(text.find("Do this: check how the shape was computed."), std::string::npos) << text;
  const int64_t large = int64_t{1} << 61;
  EXPECT_NE(error_of(ErrorKind::memory, [&] { Tensor::empty({large}, DType::float64); })
                .find("takes more than 2^63 bytes"),
            std::string::npos);
  EXPECT_NE(error_of(ErrorKind::memory,
                     [&] {
                       Tensor::empty({large, 8}, DType::int8);
                     })
                .find("more than 2^63 elements"),
            std::string::npos);
}

TEST(Tensor, ADescriptionHasNoData) {
  Tensor t = Tensor::describe({2, 3}, DType::int32);
  EXPECT_FALSE(t.has_data());
  EXPECT_EQ(t.raw(), nullptr);
  EXPECT_EQ(t.strides(), Shape({3, 1}));
  EXPECT_EQ(t.nbytes(), 24u);
  t.wrote("nobody");  // there is nothing to write
  EXPECT_EQ(t.version(), 0u);
  Tensor unknown = Tensor::describe({2, kUnknown}, DType::int32);
  EXPECT_EQ(unknown.numel(), kUnknown);
  EXPECT_EQ(unknown.dim(-2), 2);
}

TEST(Tensor, SizesFromTheEnd) {
  Tensor t = Tensor::describe({5, 6, 7}, DType::bool_);
  EXPECT_EQ(t.rank(), 3);
  for (int d = 0; d < 3; ++d) {
    EXPECT_EQ(t.dim(d), 5 + d);
    EXPECT_EQ(t.dim(d - 3), 5 + d);
  }
}

TEST(Tensor, Texts) {
  EXPECT_EQ(text_of(Tensor()), "None");
  EXPECT_EQ(text_of(Tensor::describe({}, DType::float8_e4m3)), "float8_e4m3fn[]");
  EXPECT_EQ(text_of(Tensor::describe({2, kUnknown}, DType::bfloat16)), "bfloat16[2, ?]");
  EXPECT_EQ(text_of(Place{}), "cpu");
  EXPECT_EQ(text_of(Place{DeviceKind::null, 2}), "null:2");
  EXPECT_EQ(text_of(Place{DeviceKind::cuda, 1}), "gpu:1");
}

// --- handles and bodies ---

TEST(Tensor, HandlesShareABody) {
  Tensor a = counting({3}), b = a;
  EXPECT_TRUE(a.is(b));
  b.set_stop_gradient(false);
  EXPECT_TRUE(a.requires_grad());
  EXPECT_EQ(a.ref()->ref_count(), 2u);
  Tensor moved = std::move(b);
  EXPECT_FALSE(b.defined());
  EXPECT_EQ(a.ref()->ref_count(), 2u);
  EXPECT_FALSE(a.is(counting({3})));
  EXPECT_FALSE(Tensor(nullptr).defined());
}

TEST(Tensor, MemoryGoesWithTheLastHandle) {
  const size_t before = memory::stats({}).allocated;
  Tensor view;
  {
    Tensor t = Tensor::empty({1 << 20}, DType::float32);
    EXPECT_GE(memory::stats({}).allocated, before + (4u << 20));
    view = t.view({1}, {1}, 7);
  }
  EXPECT_GE(memory::stats({}).allocated, before + (4u << 20));  // the view holds it
  view = Tensor();
  EXPECT_EQ(memory::stats({}).allocated, before);
}

TEST(Tensor, ThreadsMayCopyAndDropHandles) {
  static std::atomic<int> released{0};
  released = 0;
  float value = 3;
  {
    Tensor shared =
        Tensor::wrap(&value, {1}, {1}, DType::float32, {}, nullptr, [](void*) { ++released; });
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([mine = shared] {
        for (int k = 0; k < 20000; ++k) {
          Tensor copy = mine, view = copy.view({}, {}), other = std::move(copy);
          EXPECT_EQ(*view.data<float>(), 3);
        }
      });
    for (auto& t : threads) t.join();
    EXPECT_EQ(released, 0);
    EXPECT_EQ(shared.impl()->storage->ref_count(), 1u);
  }
  EXPECT_EQ(released, 1);
}

// --- memory of others ---

TEST(Tensor, WrappedMemoryIsReleasedOnceByTheLastView) {
  static std::vector<void*> released;
  released.clear();
  float data[6] = {0, 1, 2, 3, 4, 5};
  int owner = 0;
  Tensor column;
  {
    Tensor t = Tensor::wrap(data, {2, 3}, {3, 1}, DType::float32, {}, &owner,
                            [](void* o) { released.push_back(o); });
    EXPECT_EQ(t.raw(), data);
    EXPECT_TRUE(t.is_contiguous());
    column = t.view({2}, {3}, 1);
  }
  EXPECT_TRUE(released.empty());
  EXPECT_EQ(elements(column), (Floats{1, 4}));
  data[4] = 40;
  EXPECT_EQ(elements(column), (Floats{1, 40}));
  column = Tensor();
  EXPECT_EQ(released, std::vector<void*>{&owner});
}

TEST(Tensor, WrappedStridesAreKept) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  auto nothing = [](void*) {};
  Tensor turned = Tensor::wrap(data, {3, 2}, {1, 3}, DType::float32, {}, nullptr, nothing);
  EXPECT_FALSE(turned.is_contiguous());
  EXPECT_EQ(elements(turned), (Floats{0, 3, 1, 4, 2, 5}));
  Tensor back = Tensor::wrap(data + 5, {6}, {-1}, DType::float32, {}, nullptr, nothing);
  EXPECT_FALSE(back.is_contiguous());
  EXPECT_EQ(elements(back), (Floats{5, 4, 3, 2, 1, 0}));
}

// --- views ---

TEST(Tensor, ViewsShareMemoryAndVersions) {
  Tensor t = counting({3, 4});
  Tensor rows = t.view({2, 4}, {4, 1}, 4), last = rows.view({2}, {4}, 3);
  EXPECT_EQ(elements(rows), (Floats{4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(elements(last), (Floats{7, 11}));  // offsets add up
  last.data<float>()[4] = -1;
  EXPECT_EQ(elements(t)[11], -1);
  last.wrote("test");
  EXPECT_EQ(t.version(), 1u);
  EXPECT_EQ(rows.version(), 1u);
  EXPECT_STREQ(t.impl()->storage->writer(), "test");
  EXPECT_TRUE(t.impl()->storage == last.impl()->storage);
  EXPECT_FALSE(t.is(t.view(t.shape(), t.strides())));
}

TEST(Tensor, OffsetsAreInElements) {
  Tensor t = counting<double>({4});
  EXPECT_EQ(*t.view({}, {}, 3).data<double>(), 3);
  Tensor bytes = counting<int8_t>({4});
  EXPECT_EQ(*bytes.view({}, {}, 3).data<int8_t>(), 3);
}

TEST(Tensor, ViewsHaveNoHistory) {
  Tensor t = counting({4});
  t.set_stop_gradient(false);
  t.impl()->grad_fn = Ref<RefCounted>::adopt(new TensorImpl());
  for (const Tensor& v : {t.view({2}, {1}), t.detach()}) {
    EXPECT_TRUE(v.stop_gradient());
    EXPECT_FALSE(v.impl()->grad_fn);
  }
}

TEST(Tensor, Contiguity) {
  Tensor t = counting({2, 3, 4});
  EXPECT_FALSE(permuted(t, {1, 0, 2}).is_contiguous());
  EXPECT_FALSE(t.view({3, 4}, {4, 2}).is_contiguous());  // a step
  EXPECT_FALSE(t.view({2, 4}, {12, 1}).is_contiguous());
  EXPECT_FALSE(t.view({3}, {0}).is_contiguous());  // repeats
  EXPECT_TRUE(t.view({3, 4}, {4, 1}, 12).is_contiguous());
  // The stride of a size of 1 is never taken, and nothing is read where a size is 0.
  EXPECT_TRUE(t.view({3, 1, 4}, {4, 77, 1}).is_contiguous());
  EXPECT_TRUE(t.view({1}, {0}).is_contiguous());
  EXPECT_TRUE(t.view({3, 0}, {1, 9}).is_contiguous());
  EXPECT_TRUE(t.view({}, {}, 5).is_contiguous());
}

TEST(Tensor, DetachKeepsTheFormOfAView) {
  Tensor view = permuted(counting({2, 3}), {1, 0}).view({2, 2}, {1, 3}, 1);
  Tensor t = view.detach();
  EXPECT_FALSE(t.is(view));
  EXPECT_EQ(t.raw(), view.raw());
  EXPECT_EQ(t.strides(), view.strides());
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(elements(t), (Floats{1, 4, 2, 5}));
}

// --- other layouts ---

TEST(Tensor, RowSparse) {
  Tensor rows = counting<int64_t>({3}, 1), values = counting({3, 2, 5});
  Tensor t = Tensor::row_sparse(rows, values, 100);
  EXPECT_EQ(t.shape(), Shape({100, 2, 5}));
  EXPECT_EQ(t.layout(), Layout::row_sparse);
  EXPECT_FALSE(t.has_data());
  ASSERT_EQ(t.parts().size(), 2u);
  EXPECT_TRUE(t.parts()[0].is(rows) && t.parts()[1].is(values));
  Tensor other = t.detach();
  EXPECT_FALSE(other.is(t));
  EXPECT_EQ(other.layout(), Layout::row_sparse);
  EXPECT_EQ(other.shape(), t.shape());
  EXPECT_TRUE(other.parts()[1].is(values));
}

// --- what higher rooms hang on a body ---

TEST(Tensor, RecordsGoWithTheBody) {
  static int alive = 0;
  struct Counted final : GradRecord {
    Counted() { ++alive; }
    ~Counted() override { --alive; }
  };
  {
    Tensor t = counting({1}), other = t;
    t.impl()->record = std::make_unique<Counted>();
    t = Tensor();
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Tensor, OwnedPythonObjectsAreReleasedOnce) {
  static std::vector<void*> released;
  auto* before = release_python_object;
  release_python_object = [](void* object) { released.push_back(object); };
  int mine = 0, others = 0;
  {
    Tensor owns = counting({1}), points = counting({1});
    owns.impl()->python = &mine;
    owns.impl()->owns_python = true;
    points.impl()->python = &others;  // counted by Python, not by the body
    Tensor handle = owns;
  }
  release_python_object = before;
  EXPECT_EQ(released, std::vector<void*>{&mine});
}

// --- strides for other shapes ---

std::vector<Shape> shapes_of(int64_t numel, int rank) {
  if (rank == 0) return numel == 1 ? std::vector<Shape>{{}} : std::vector<Shape>{};
  std::vector<Shape> list;
  for (int64_t size = 1; size <= numel; ++size) {
    if (numel % size) continue;
    for (Shape rest : shapes_of(numel / size, rank - 1)) {
      rest.insert(0, size);
      list.push_back(rest);
    }
  }
  return list;
}

std::vector<int64_t> offsets(const Shape& shape, const Shape& strides) {
  std::vector<int64_t> list;
  each_index(shape, [&](const Shape& index) { list.push_back(offset_of(index, strides)); });
  return list;
}

// The strides that view elements at these offsets, row by row, as `shape`, if there are any: each
// is told by the first element one step further.
bool strides_for(const std::vector<int64_t>& at, const Shape& shape, Shape* out) {
  const Shape dense = shape.contiguous_strides();
  *out = Shape::filled(shape.rank(), 1);
  for (int d = 0; d < shape.rank(); ++d)
    if (shape[d] > 1) (*out)[d] = at[static_cast<size_t>(dense[d])] - at[0];
  return offsets(shape, *out) == at;
}

TEST(ReshapeStrides, ThereIsAViewExactlyWhereStridesAllowIt) {
  const Tensor t = counting({2, 3, 2, 2});
  const Tensor views[] = {
      t,
      permuted(t, {1, 0, 2, 3}),
      permuted(t, {0, 2, 3, 1}),
      permuted(t, {3, 2, 1, 0}),
      t.view({2, 3, 2}, {12, 4, 2}),  // every other element
      t.view({2, 2, 3}, {12, 1, 4}),  // turned inside
      t.view({2, 6, 1}, {0, 2, 5}),   // repeats
      t.view({2, 2, 3}, {0, 0, 1}),   // twice, which is one repetition of 4
      t.view({3, 2, 2}, {4, 0, 1}),
      t.view({1, 12, 1}, {3, 1, 9}, 12),
      t.view({4, 3}, {-3, -1}, 11),  // backwards
      t.view({}, {}, 3),
  };
  int yes = 0, no = 0;
  for (const Tensor& view : views) {
    const std::vector<int64_t> at = offsets(view.shape(), view.strides());
    for (int rank = 0; rank <= 4; ++rank)
      for (const Shape& shape : shapes_of(view.numel(), rank)) {
        SCOPED_TRACE(text_of(view) + " with strides " + text_of(view.strides()) + " as " +
                     text_of(shape));
        Shape want, got;
        const bool can = strides_for(at, shape, &want);
        ASSERT_EQ(reshape_strides(view, shape, &got), can);
        ++(can ? yes : no);
        if (can) {
          ASSERT_EQ(offsets(shape, got), at);
        }
      }
  }
  EXPECT_GT(yes, 100);
  EXPECT_GT(no, 100);
}

TEST(ReshapeStrides, WithoutElementsThereAlwaysAreSome) {
  Tensor t = permuted(counting({2, 0, 3}), {2, 1, 0});
  Shape strides;
  EXPECT_TRUE(reshape_strides(t, {0, 7}, &strides));
  EXPECT_EQ(strides, Shape({7, 1}));
}

TEST(BroadcastStrides, ReadWhatBroadcastingMeans) {
  const Tensor t = permuted(counting({3, 1, 2}), {2, 1, 0});  // [2, 1, 3], strides 1 2 2
  Shape strides = broadcast_strides(t, {4, 2, 5, 3});
  EXPECT_EQ(strides, Shape({0, 1, 0, 2}));
  const Tensor seen = t.view({4, 2, 5, 3}, strides);
  each_index(seen.shape(), [&](const Shape& i) {
    const Shape from{i[1], 0, i[3]};
    EXPECT_EQ(seen.data<float>()[offset_of(i, seen.strides())],
              t.data<float>()[offset_of(from, t.strides())]);
  });
  EXPECT_EQ(broadcast_strides(counting({}), {2, 2}), Shape({0, 0}));
  EXPECT_EQ(broadcast_strides(counting({2, 3}), {2, 3}), Shape({3, 1}));
  EXPECT_EQ(broadcast_strides(counting({1, 3}), {0, 3}), Shape({0, 1}));
}

// --- lists ---

TEST(Tensors, AreMadeFromOneAndGrow) {
  auto f = [](Tensors list) { return list.size(); };
  EXPECT_EQ(f(counting({1})), 1u);
  EXPECT_EQ(f(Tensors()), 0u);
  Tensors list;
  for (int i = 0; i < 10; ++i) list.push_back(counting({1}, static_cast<float>(i)));
  list.erase(0);
  list.insert(9, counting({1}, 100.0f));
  ASSERT_EQ(list.size(), 10u);
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(*list[i].data<float>(), static_cast<float>(i + 1));
  EXPECT_EQ(*list.back().data<float>(), 100);
  const Tensor first = list[0];
  Tensors copy = list, taken = std::move(list);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(first.ref()->ref_count(), 3u);  // first, copy, taken
  taken.clear();
  EXPECT_EQ(first.ref()->ref_count(), 2u);
  EXPECT_TRUE(copy[0].is(first));
}

}  // namespace
}  // namespace argosy

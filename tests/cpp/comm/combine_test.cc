#include "argosy/comm/combine.h"

#include <random>

#include "argosy/base/dtype.h"
#include "tests/cpp/comm/world.h"

namespace argosy::comm {

// Into all sources where they are, as tensors of a host are: the same bits as into another place.
TEST(Combine, InPlaceOfAllSources) {
  std::mt19937 draw(7);
  for (DType dtype : {DType::bool_, DType::uint8, DType::int8, DType::int16, DType::int32,
                      DType::int64, DType::float16, DType::bfloat16, DType::float32, DType::float64,
                      DType::complex64, DType::complex128})
    for (Reduce op : {Reduce::sum, Reduce::prod, Reduce::max, Reduce::min, Reduce::avg})
      for (int count : {1, 2, 3})
        for (int ranks : {count, 4})
          for (int64_t n : {int64_t{1}, int64_t{511}, int64_t{1025}}) {
            if (!reduces(op, dtype)) continue;
            const auto bytes = static_cast<size_t>(n) * static_cast<size_t>(item_size(dtype));
            // Numbers without nan in each dtype.
            const auto made = [&] {
              std::vector<char> data(bytes);
              dispatch_all(dtype, [&]<class T>(T) {
                auto* at = reinterpret_cast<T*>(data.data());
                for (int64_t i = 0; i < n; ++i)
                  at[i] = static_cast<T>(static_cast<float>(draw() % 7));
              });
              return data;
            };
            std::vector<std::vector<char>> values;
            std::vector<char*> at;
            for (int r = 0; r < count; ++r) values.push_back(made());
            for (auto& v : values) at.push_back(v.data());
            const std::vector<const char*> sources(at.begin(), at.end());
            std::vector<char> wanted(bytes);
            combine(op, dtype, wanted.data(), sources, n, ranks);
            combine(op, dtype, at, sources, n, ranks);
            for (const auto& v : values)
              ASSERT_EQ(v, wanted)
                  << name_of(dtype) << ' ' << name_of(op) << ' ' << count << ' ' << n;
          }
}

}  // namespace argosy::comm

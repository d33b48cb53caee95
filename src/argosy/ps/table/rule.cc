#include "argosy/ps/table/rule.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "argosy/base/error.h"
#include "argosy/base/half.h"

namespace argosy::ps {
namespace {

constexpr uint32_t kMaxDim = 4096;
constexpr uint32_t round4(uint32_t n) {
  return (n + 3) & ~3u;
}

enum class Kind : uint8_t {
  sgd,
  momentum,
  adagrad,
  adagrad_elementwise,
  adagrad_lazy,
  adam,
  adam_shared,
  adam_lazy,
  ftrl,
  rmsprop,
  sum
};

Kind kind_of(const std::string& name) {
  constexpr const char* names[] = {"sgd",          "momentum", "adagrad",     "adagrad_elementwise",
                                   "adagrad_lazy", "adam",     "adam_shared", "adam_lazy",
                                   "ftrl",         "rmsprop",  "sum"};
  for (size_t i = 0; i < std::size(names); ++i) {
    if (name == names[i]) return static_cast<Kind>(i);
  }
  ARGOSY_THROW(invalid_argument) << "[table] there is no update rule '" << name << "'.";
}

// Sums n numbers in an order that does not depend on how the loop is compiled.
template <class F>
inline float sum_of(uint32_t n, F&& f) {
  float lanes[8] = {};
  uint32_t j = 0;
  for (; j + 8 <= n; j += 8) {
    for (uint32_t l = 0; l < 8; ++l) lanes[l] += f(j + l);
  }
  for (uint32_t l = 0; j < n; ++j, ++l) lanes[l] += f(j);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

inline float bounded(float w, float least, float most) {
  w = w < least ? least : w;
  return w > most ? most : w;
}

// One row. w and s do not overlap g. inverse = 1 / scale.
template <Kind kKind>
inline void apply(const OptimizerConfig& c, uint32_t dim, float* __restrict w, float* __restrict s,
                  const float* __restrict g, float inverse, float lr) {
  const float least = c.minimum, most = c.maximum;
  if constexpr (kKind == Kind::sum) {
    for (uint32_t j = 0; j < dim; ++j) w[j] += g[j];
  } else if constexpr (kKind == Kind::sgd) {
    for (uint32_t j = 0; j < dim; ++j) w[j] = bounded(w[j] - lr * g[j], least, most);
  } else if constexpr (kKind == Kind::momentum) {
    for (uint32_t j = 0; j < dim; ++j) {
      const float v = c.momentum * s[j] + g[j];
      s[j] = v;
      w[j] = bounded(w[j] - lr * (c.nesterov ? g[j] + c.momentum * v : v), least, most);
    }
  } else if constexpr (kKind == Kind::adagrad) {
    const float step = lr * std::sqrt(c.initial_g2sum / (c.initial_g2sum + s[0]));
    for (uint32_t j = 0; j < dim; ++j) {
      w[j] = bounded(w[j] - step * (g[j] * inverse), least, most);
    }
    const float squares = sum_of(dim, [&](uint32_t j) {
      const float scaled = g[j] * inverse;
      return scaled * scaled;
    });
    s[0] += squares / static_cast<float>(dim);
  } else if constexpr (kKind == Kind::adagrad_elementwise) {
    for (uint32_t j = 0; j < dim; ++j) {
      const float scaled = g[j] * inverse;
      const float ratio = std::sqrt(c.initial_g2sum / (c.initial_g2sum + s[j]));
      w[j] = bounded(w[j] - lr * scaled * ratio, least, most);
      s[j] += scaled * scaled;
    }
  } else if constexpr (kKind == Kind::adagrad_lazy) {
    for (uint32_t j = 0; j < dim; ++j) {
      const float scaled = g[j] * inverse;
      s[j] += scaled * scaled;
      const float root = std::sqrt(c.initial_g2sum + s[j]) + c.epsilon;
      w[j] = bounded(w[j] - lr * scaled / root, least, most);
    }
  } else if constexpr (kKind == Kind::adam_lazy) {
    float* __restrict first = s;
    float* __restrict second = s + dim;
    float* __restrict top = c.amsgrad ? s + 2 * dim : nullptr;
    const float keep = 1 - lr * c.decay;
    for (uint32_t j = 0; j < dim; ++j) {
      const float m = c.beta1 * first[j] + (1 - c.beta1) * g[j];
      const float v = c.beta2 * second[j] + (1 - c.beta2) * g[j] * g[j];
      first[j] = m;
      second[j] = v;
      const float under = top ? top[j] = std::max(top[j], v) : v;
      w[j] = bounded(keep * w[j] - lr * (m / (std::sqrt(under) + c.epsilon)), least, most);
    }
  } else if constexpr (kKind == Kind::adam) {
    float* __restrict first = s;
    float* __restrict second = s + dim;
    float* powers = s + 2 * dim;
    const float rate = lr * std::sqrt(1 - powers[1]) / (1 - powers[0]);
    for (uint32_t j = 0; j < dim; ++j) {
      const float m = c.beta1 * first[j] + (1 - c.beta1) * g[j];
      const float v = c.beta2 * second[j] + (1 - c.beta2) * g[j] * g[j];
      first[j] = m;
      second[j] = v;
      w[j] = bounded(w[j] - rate * (m / (std::sqrt(v) + c.epsilon)), least, most);
    }
    powers[0] *= c.beta1;
    powers[1] *= c.beta2;
  } else if constexpr (kKind == Kind::adam_shared) {
    const float m0 = c.beta1 * s[0], v0 = c.beta2 * s[1];
    const float rate = lr * std::sqrt(1 - s[3]) / (1 - s[2]);
    for (uint32_t j = 0; j < dim; ++j) {
      const float m = m0 + (1 - c.beta1) * g[j];
      const float v = v0 + (1 - c.beta2) * g[j] * g[j];
      w[j] = bounded(w[j] - rate * (m / (std::sqrt(v) + c.epsilon)), least, most);
    }
    const float n = static_cast<float>(dim);
    s[0] = m0 + (1 - c.beta1) * sum_of(dim, [&](uint32_t j) { return g[j]; }) / n;
    s[1] = v0 + (1 - c.beta2) * sum_of(dim, [&](uint32_t j) { return g[j] * g[j]; }) / n;
    s[2] *= c.beta1;
    s[3] *= c.beta2;
  } else if constexpr (kKind == Kind::rmsprop) {
    if (c.momentum == 0) {
      for (uint32_t j = 0; j < dim; ++j) {
        const float square = c.rho * s[j] + (1 - c.rho) * g[j] * g[j];
        s[j] = square;
        w[j] = bounded(w[j] - lr * g[j] / std::sqrt(square + c.epsilon), least, most);
      }
    } else {
      float* __restrict velocity = s + dim;
      for (uint32_t j = 0; j < dim; ++j) {
        const float square = c.rho * s[j] + (1 - c.rho) * g[j] * g[j];
        s[j] = square;
        velocity[j] = c.momentum * velocity[j] + lr * g[j] / std::sqrt(square + c.epsilon);
        w[j] = bounded(w[j] - velocity[j], least, most);
      }
    }
  } else if constexpr (kKind == Kind::ftrl) {
    float* __restrict squares = s;
    float* __restrict linear = s + dim;
    if (lr == 0) return;  // a limit, at which the formula divides by it
    const bool root = c.lr_power == -0.5f;
    const auto power = [&](float x) { return root ? std::sqrt(x) : std::pow(x, -c.lr_power); };
    for (uint32_t j = 0; j < dim; ++j) {
      const float total = squares[j] + g[j] * g[j];
      const float to = power(total), from = power(squares[j]);
      const float z = linear[j] + g[j] - (to - from) / lr * w[j];
      squares[j] = total;
      linear[j] = z;
      const float shrunk = (z < 0 ? -c.l1 : c.l1) - z;
      const float weight = std::abs(z) > c.l1 ? shrunk / (to / lr + 2 * c.l2) : 0.0f;
      w[j] = bounded(weight, least, most);
    }
  }
}

// 32 well mixed bits for place j of a stream.
inline uint32_t noise(uint32_t seed, uint32_t j) {
  uint32_t x = seed + j * 0x9e3779b9u;
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}
inline float centered(uint32_t bits) {  // uniform in [-0.5, 0.5)
  return static_cast<float>(static_cast<int32_t>(bits) >> 8) * 0x1p-24f;
}

void decode(const std::byte* from, float* w, uint32_t dim, Storage storage) {
  if (storage == Storage::float16) {
    const auto* half = reinterpret_cast<const float16*>(from);
    for (uint32_t j = 0; j < dim; ++j) w[j] = half[j];
  } else if (storage == Storage::int8) {
    float scale;
    std::memcpy(&scale, from, 4);
    const auto* q = reinterpret_cast<const int8_t*>(from + 4);
    for (uint32_t j = 0; j < dim; ++j) w[j] = scale * static_cast<float>(q[j]);
  } else {
    std::memcpy(w, from, 4 * size_t{dim});
  }
}

// Rounds to nearest where `seed` is 0, else up or down by chance, right on average: steps smaller
// than the spacing of numbers would otherwise never move a weight.
void encode(std::byte* to, const float* w, uint32_t dim, Storage storage, uint32_t seed) {
  if (storage == Storage::float16) {
    auto* half = reinterpret_cast<float16*>(to);
    for (uint32_t j = 0; j < dim; ++j) {
      float x = bounded(w[j], -65504.0f, 65504.0f);
      if (seed) {
        const float binade = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7f800000);
        const float spacing = std::max(binade * 0x1p-10f, 0x1p-24f);
        x = bounded(x + centered(noise(seed, j)) * spacing, -65504.0f, 65504.0f);
      }
      half[j] = float16(x);
    }
    if (dim & 1) half[dim].bits = 0;
  } else if (storage == Storage::int8) {
    float largest = 0;
    for (uint32_t j = 0; j < dim; ++j) largest = std::max(largest, std::abs(w[j]));
    const float scale = largest / 127, inverse = scale > 0 ? 1 / scale : 0;
    std::memcpy(to, &scale, 4);
    auto* q = reinterpret_cast<int8_t*>(to + 4);
    for (uint32_t j = 0; j < dim; ++j) {
      const float x = w[j] * inverse + (seed ? centered(noise(seed, j)) : 0.0f);
      q[j] = static_cast<int8_t>(static_cast<int32_t>(std::nearbyint(bounded(x, -127, 127))));
    }
    for (uint32_t j = dim; j < round4(dim); ++j) q[j] = 0;
  } else {
    std::memcpy(to, w, 4 * size_t{dim});
  }
}

template <Kind kKind, uint32_t kDim>
void update_float(const Rule& rule, const RuleBatch& b) {
  const uint32_t dim = kDim ? kDim : rule.dim;
  for (size_t i = 0; i < b.count; ++i) {
    auto* w = reinterpret_cast<float*>(b.parts[i]);
    apply<kKind>(rule.config, dim, w, w + dim, b.gradients[i], b.scales ? 1 / b.scales[i] : 1.0f,
                 b.learning_rate);
  }
}

template <Kind kKind>
void update_packed(const Rule& rule, const RuleBatch& b) {
  float w[kMaxDim];
  for (size_t i = 0; i < b.count; ++i) {
    std::byte* part = b.parts[i];
    decode(part, w, rule.dim, rule.storage);
    apply<kKind>(rule.config, rule.dim, w, reinterpret_cast<float*>(part + rule.weight_bytes),
                 b.gradients[i], b.scales ? 1 / b.scales[i] : 1.0f, b.learning_rate);
    encode(part, w, rule.dim, rule.storage,
           static_cast<uint32_t>(mix(b.keys[i] + mix(b.turn))) | 1);
  }
}

using Update = void (*)(const Rule&, const RuleBatch&);

template <Kind kKind>
Update update_for(uint32_t dim, Storage storage) {
  if (storage != Storage::float32) return update_packed<kKind>;
  switch (dim) {
    case 1:
      return update_float<kKind, 1>;
    case 8:
      return update_float<kKind, 8>;
    case 16:
      return update_float<kKind, 16>;
    default:
      return update_float<kKind, 0>;
  }
}

uint32_t state_floats(Kind kind, const OptimizerConfig& c, uint32_t dim) {
  switch (kind) {
    case Kind::sgd:
    case Kind::sum:
      return 0;
    case Kind::adagrad:
      return 1;
    case Kind::momentum:
    case Kind::adagrad_elementwise:
    case Kind::adagrad_lazy:
      return dim;
    case Kind::adam:
      return 2 * dim + 2;
    case Kind::adam_shared:
      return 4;
    case Kind::adam_lazy:
      return c.amsgrad ? 3 * dim : 2 * dim;
    case Kind::ftrl:
      return 2 * dim;
    case Kind::rmsprop:
      return c.momentum == 0 ? dim : 2 * dim;
  }
  return 0;
}

}  // namespace

void Rule::start_state(std::byte* part) const {
  auto* state = reinterpret_cast<float*>(part + weight_bytes);
  std::memset(state, 0, state_bytes);
  if (powers) {
    state[state_bytes / 4 - 2] = config.beta1;
    state[state_bytes / 4 - 1] = config.beta2;
  }
}

void Rule::start(std::byte* part, Key key, uint32_t first) const {
  const float range = config.initial_range;
  if (range == 0) {
    std::memset(part, 0, weight_bytes);
  } else {
    float w[kMaxDim];
    const uint64_t stream = mix(key ^ 0x5851f42d4c957f2d);
    for (uint32_t j = 0; j < dim; ++j) {
      const uint32_t bits = static_cast<uint32_t>(mix(stream + first + j) >> 32);
      w[j] = 2 * range * centered(bits);
    }
    encode(part, w, dim, storage, 0);
  }
  start_state(part);
}

void Rule::read(const std::byte* part, float* weights) const {
  decode(part, weights, dim, storage);
}

void Rule::write(std::byte* part, const float* weights) const {
  encode(part, weights, dim, storage, 0);
}

Storage storage_of(const std::string& dtype) {
  return dtype == "float16" ? Storage::float16 : dtype == "int8" ? Storage::int8 : Storage::float32;
}

Rule make_rule(const OptimizerConfig& config, uint32_t dim, Storage storage) {
  ARGOSY_CHECK(dim >= 1 && dim <= kMaxDim, invalid_argument)
      << "[table] dim: expected 1 to " << kMaxDim << ", got " << dim << '.';
  Rule rule;
  rule.config = config;
  rule.storage = storage;
  rule.dim = dim;
  rule.weight_bytes = storage == Storage::float32   ? 4 * dim
                      : storage == Storage::float16 ? round4(2 * dim)
                                                    : 4 + round4(dim);
  const Kind kind = kind_of(config.rule);
  rule.state_bytes = 4 * state_floats(kind, config, dim);
  rule.powers = kind == Kind::adam || kind == Kind::adam_shared;
  switch (kind) {
    case Kind::sgd:
      rule.update = update_for<Kind::sgd>(dim, storage);
      break;
    case Kind::momentum:
      rule.update = update_for<Kind::momentum>(dim, storage);
      break;
    case Kind::adagrad:
      rule.update = update_for<Kind::adagrad>(dim, storage);
      break;
    case Kind::adagrad_elementwise:
      rule.update = update_for<Kind::adagrad_elementwise>(dim, storage);
      break;
    case Kind::adam:
      rule.update = update_for<Kind::adam>(dim, storage);
      break;
    case Kind::adam_shared:
      rule.update = update_for<Kind::adam_shared>(dim, storage);
      break;
    case Kind::adagrad_lazy:
      rule.update = update_for<Kind::adagrad_lazy>(dim, storage);
      break;
    case Kind::adam_lazy:
      rule.update = update_for<Kind::adam_lazy>(dim, storage);
      break;
    case Kind::ftrl:
      rule.update = update_for<Kind::ftrl>(dim, storage);
      break;
    case Kind::rmsprop:
      rule.update = update_for<Kind::rmsprop>(dim, storage);
      break;
    case Kind::sum:
      rule.update = update_for<Kind::sum>(dim, storage);
      break;
  }
  return rule;
}

bool all_finite(const float* values, size_t n) {
  uint32_t found = 0;
  for (size_t j = 0; j < n; ++j) {
    uint32_t bits;
    std::memcpy(&bits, values + j, 4);
    found |= (bits & 0x7f800000) == 0x7f800000;
  }
  return !found;
}

}  // namespace argosy::ps

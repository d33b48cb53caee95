#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/export.h"

// What a table is: said by the trainer's Program and strategy, told to servers, and kept with every
// snapshot. The text form is JSON with the names below; unknown names are errors.
namespace argosy::ps {

// How numbers follow their gradients. One for each part of a row (see AccessorConfig). The formulas
// are in docs/parameter_server.md.
struct OptimizerConfig {
  // sgd, momentum, adagrad (one state for the whole row), adagrad_elementwise, adam, adam_shared
  // (one pair of moments for the row), ftrl, rmsprop, sum (adds what is pushed; integers stay exact
  // below 2^24). Dense tables alone: adam_d2sum.
  // As a Program's own optimizers treat row-sparse gradients: adam_lazy (the learning rate of a
  // push has the correction of the moments' bias), adagrad_lazy.
  std::string rule = "sgd";
  float learning_rate = 0.05f;  // unless a push brings one
  // New weights are uniform in [-range, range], by key: no seed needed.
  float initial_range = 1e-4f;
  // Weights are kept in between; `sum` has no bounds. (Paddle's click tables: -10, 10.)
  float minimum = -std::numeric_limits<float>::max(), maximum = std::numeric_limits<float>::max();
  float initial_g2sum = 3;                              // adagrad
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;  // adam; epsilon of rmsprop too
  // adam of dense tables, adam_lazy: weights shrink by (1 - rate * decay) first (AdamW); moments
  // are divided by the largest second moment so far (AMSGrad).
  float decay = 0;
  bool amsgrad = false;
  float rho = 0.95f, momentum = 0;         // rmsprop; momentum
  bool nesterov = false;                   // momentum
  float l1 = 0, l2 = 0, lr_power = -0.5f;  // ftrl
};

struct AccessorConfig {
  // plain: dim weights and their state.
  // click: show, click, unseen days, delta score, slot, one weight, and dim more weights that come
  //   to be once the score passes `embedding_threshold`.
  std::string kind = "plain";
  int dim = 8;
  std::string dtype = "float32";  // of stored weights of the embedding: float32, float16, int8
  OptimizerConfig weight;         // of the one weight (click)
  OptimizerConfig embedding;      // of the dim weights
  // click: score = nonclick_coefficient * (show - click) + click_coefficient * click.
  float nonclick_coefficient = 0.1f, click_coefficient = 1;
  float embedding_threshold = 10;
  float base_threshold = 1.5f, delta_threshold = 0.25f, delta_keep_days = 16;
  float show_click_decay_rate = 0.98f;
  float delete_threshold = 0.8f, delete_after_unseen_days = 30;
  // click: gradients of a row are divided by its shows in the push.
  bool show_scale = true;
  // ssd: rows unseen for longer go to disk at the end of a day (any accessor).
  float ssd_unseen_days = 1;
};

// When a key gets a row.
struct AdmissionConfig {
  // show_click says that pushes carry real shows and clicks; it admits as `always` does.
  std::string kind = "always";  // always, count, probability, show_click
  uint32_t count = 0;           // count: from the n-th push on
  float probability = 1;        // probability: of a key, once and for all
};

struct TableConfig {
  uint32_t id = 0;
  std::string name;             // of the parameter
  std::string kind = "sparse";  // sparse, dense, summary (data_norm), barrier, global_step
  AccessorConfig accessor;      // sparse; `embedding` is the rule of dense tables too
  AdmissionConfig admission;
  uint64_t size = 0;            // dense, summary: numbers in all, over all servers
  uint64_t max_rows = 0;        // sparse: hard cap, 0 for none; the lowest scores go first
  std::string tier = "memory";  // sparse: memory, ssd
  std::string directory;        // ssd: of the database
  uint64_t memory_rows = 0;     // ssd: rows that memory holds, 0 for no limit
};

constexpr uint32_t kAllTables = ~uint32_t{0};

// What of the tables is saved or loaded.
struct Extent {
  uint32_t table = kAllTables;  // by its id, or all
  float share = 1;              // mode 4: of each table's rows
};

// Sets the number (or switch) of this name in JSON; false if there is none.
ARGOSY_API bool set_number(OptimizerConfig& rule, std::string_view name, double value);

// These throw ValueError with the name that is wrong, and what there is.
ARGOSY_API void validate(const TableConfig& table);
ARGOSY_API std::vector<TableConfig> parse_tables(std::string_view json);
ARGOSY_API std::string to_json(const std::vector<TableConfig>& tables);

}  // namespace argosy::ps

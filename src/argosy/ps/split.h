#pragma once

#include <span>
#include <string>
#include <vector>

#include "argosy/program/program.h"
#include "argosy/ps/config.h"

// Cuts a Program that trains into what a trainer runs and the tables that servers keep. Also the
// passes `parameter_server` and `parameter_server_startup`.
namespace argosy::ps {

// An embedding whose rows live in a table.
struct RemoteParameter {
  std::string name;
  int64_t table = -1;  // its id, below 0 for a new one
  bool click = false;  // rows of the click accessor: pushes carry slot, show and click
  // The strategy says how rows follow their gradients: whatever optimizer the Program has for them
  // is dropped.
  bool own_rule = false;
  bool own_rate = false;         // and the learning rate: pushes carry none
  std::string show, click_from;  // inputs of the Program that count, or empty: 1 and 0
  std::vector<int64_t> slots;    // of its look-ups in their order, or empty
};

struct SplitOptions {
  std::vector<RemoteParameter> remote;
  bool sparse = true;  // all embeddings with sparse gradients go to tables as well
  bool dense = true;   // and everything else that an optimizer updates
  // Workers that push steps of their own to the same rows: each step of this one is as many of
  // Adam's (1 where workers step together).
  uint32_t workers = 1;
  uint32_t first_table = 0;  // new ids count from here
};

struct DenseBlock {
  uint32_t table;
  std::vector<std::string> parameters;  // one after another, in this order
};

struct Split {
  std::vector<TableConfig> tables;   // rules as the Program's optimizers say
  std::vector<DenseBlock> dense;     // which parameters a dense table has
  std::vector<std::string> removed;  // state that the trainer has no more
};

// Look-ups of remote parameters become ps_pull_sparse, their gradients ps_push_sparse; other
// parameters are pulled at the start of a run and their gradients pushed at its end; ps_end_step is
// last. Without an optimizer in the Program there are only pulls. Throws, with nothing changed, if
// the Program uses a remote parameter in a way that tables cannot serve.
ARGOSY_API Split split(program::Program& p, const SplitOptions& options);

// Takes state out of a startup Program, with what computes its first value. The tables of these
// names start in the range that its initializer draws from.
ARGOSY_API void split_startup(program::Program& p, std::span<const std::string> removed,
                              std::vector<TableConfig>& tables);

}  // namespace argosy::ps

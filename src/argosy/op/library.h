#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argosy/op/op.h"

// Ops that come after the first look-up: from a library loaded while the process runs, or described
// in Python. Whoever brings them opens a Registration; without one, registering that late is an
// error, since it may happen on any thread at any time.
namespace argosy::op {

// Collects what this thread registers until `commit` makes all of it known at once, or nothing if
// something is wrong with it. Look-ups of other threads go on meanwhile; what they hold stays
// valid, since ops are never taken back. Kernels may be added to ops of the same Registration only,
// since those of ops in use are read without a lock; and, as long as the process has no
// accelerator, kernels of the accelerator to any op: nobody reads those yet.
class ARGOSY_API Registration {
 public:
  Registration();
  ~Registration();
  Registration(const Registration&) = delete;
  // The new ops, in the order in which they were registered. Throws Error: a name is taken, a
  // kernel may not come that late, or what a function given to at_end throws.
  std::vector<const OpDef*> commit();

  // For static initializers that find out only together what they describe: `fn` is called once all
  // of them have run, by commit or, where no Registration is open, by the first look-up. It may
  // register, and may throw Error, which static initializers must not.
  static void at_end(std::function<void()> fn);
};

// Opens a shared library, whose static initializers describe ops, and registers them; a library
// that is loaded already gives the same again. Throws Error: the file is none, a symbol of it is
// missing, or it was compiled against another version of these headers (op/abi.h).
ARGOSY_API std::vector<const OpDef*> load_library(const std::string& path);

// The version of the headers that this libargosy.so was compiled with: 12 hexadecimal digits.
ARGOSY_API const char* abi_version();

}  // namespace argosy::op

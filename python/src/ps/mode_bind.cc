#include "argosy/ps/mode/mode.h"

#include "argosy/ps/table/table.h"
#include "bindings.h"

// Training modes: what init_worker() puts under the operations of a trainer's Program. A Mode is a
// capsule.
namespace argosy::python {
namespace {

constexpr const char* kMode = "argosy._ps.Mode";
using Mode = std::shared_ptr<ps::Mode>;

PyObject* capsule_of(Mode mode) {
  return PyCapsule_New(new Mode(std::move(mode)), kMode, [](PyObject* o) {
    auto* mode = static_cast<Mode*>(PyCapsule_GetPointer(o, kMode));
    WithoutGil without;  // its threads may wait for servers
    delete mode;
  });
}

ps::Mode& mode_of(PyObject* o) {
  auto* mode = static_cast<Mode*>(PyCapsule_GetPointer(o, kMode));
  if (!mode) throw PythonError{};
  return **mode;
}

uint32_t number_of(PyObject* o) {
  const unsigned long v = PyLong_AsUnsignedLong(o);
  if (PyErr_Occurred()) throw PythonError{};
  return static_cast<uint32_t>(v);
}

// mode_local(tables as JSON)
PyObject* f_local(Args a) {
  return capsule_of(ps::make_local(ps::parse_tables(text_of(a[0]))));
}

// mode_connect(client, tables as JSON, mode, workers, merge, queue, senders, pull_every, k_steps,
// state table, seconds)
PyObject* f_connect(Args a) {
  ps::ModeOptions o;
  o.tables = ps::parse_tables(text_of(a[1]));
  o.mode = text_of(a[2]);
  o.workers = number_of(a[3]);
  o.merge = number_of(a[4]);
  o.queue = number_of(a[5]);
  o.senders = number_of(a[6]);
  o.pull_every = number_of(a[7]);
  o.k_steps = number_of(a[8]);
  o.state_table = number_of(a[9]);
  const double seconds = PyFloat_AsDouble(a[10]);
  if (PyErr_Occurred()) throw PythonError{};
  o.deadline = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  return capsule_of(ps::make_mode(client_of(a[0]), o));
}

PyObject* f_install(Args a) {
  auto* mode = a[0] == Py_None ? nullptr : static_cast<Mode*>(PyCapsule_GetPointer(a[0], kMode));
  if (!mode && a[0] != Py_None) throw PythonError{};
  ps::set_remote(mode ? *mode : nullptr);
  Py_RETURN_NONE;
}

template <void (ps::Mode::*F)()>
PyObject* f_wait(Args a) {
  ps::Mode& mode = mode_of(a[0]);
  {
    WithoutGil without;
    (mode.*F)();
  }
  Py_RETURN_NONE;
}

PyObject* f_stats(Args a) {
  const std::string text = mode_of(a[0]).stats();
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject* f_server_tables(Args a) {
  const std::string text =
      ps::to_json(ps::server_tables(ps::parse_tables(text_of(a[0])), text_of(a[1])));
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

// mode_shrink(mode, table): rows that went.
PyObject* f_shrink(Args a) {
  ps::SparseTable* table = mode_of(a[0]).sparse_table(number_of(a[1]));
  uint64_t gone = 0;
  {
    WithoutGil without;
    if (table) gone = table->shrink();
  }
  return PyLong_FromUnsignedLongLong(gone);
}

// mode_end_day(mode, table)
PyObject* f_end_day(Args a) {
  ps::SparseTable* table = mode_of(a[0]).sparse_table(number_of(a[1]));
  {
    WithoutGil without;
    if (table) table->end_day();
  }
  Py_RETURN_NONE;
}

// mode_table(mode, table): rows, and bytes in memory; of tables of this process.
PyObject* f_table(Args a) {
  const ps::SparseTable* table = mode_of(a[0]).sparse_table(number_of(a[1]));
  const ps::TableStats stats = table ? table->stats() : ps::TableStats{};
  return Py_BuildValue("KK", static_cast<unsigned long long>(stats.rows),
                       static_cast<unsigned long long>(stats.memory_bytes));
}

// mode_save(mode, directory, how, table or None, share), mode_load(mode, directory, how, table or
// None): rows.
template <bool Save>
PyObject* f_disk(Args a) {
  ps::Mode& mode = mode_of(a[0]);
  const std::string directory = text_of(a[1]);
  const int how = static_cast<int>(number_of(a[2]));
  ps::Extent extent;
  if (a[3] != Py_None) extent.table = number_of(a[3]);
  if constexpr (Save) {
    extent.share = static_cast<float>(PyFloat_AsDouble(a[4]));
    if (PyErr_Occurred()) throw PythonError{};
  }
  uint64_t rows = 0;
  {
    WithoutGil without;
    rows = Save ? mode.save(directory, how, extent) : mode.load(directory, how, extent.table);
  }
  return PyLong_FromUnsignedLongLong(rows);
}

PyMethodDef functions[] = {FUNCTION("mode_local", f_local, 1),
                           FUNCTION("mode_connect", f_connect, 11),
                           FUNCTION("mode_join", f_wait<&ps::Mode::join>, 1),
                           FUNCTION("mode_install", f_install, 1),
                           FUNCTION("mode_flush", f_wait<&ps::Mode::flush>, 1),
                           FUNCTION("mode_stop", f_wait<&ps::Mode::stop>, 1),
                           FUNCTION("mode_stats", f_stats, 1),
                           FUNCTION("mode_shrink", f_shrink, 2),
                           FUNCTION("mode_end_day", f_end_day, 2),
                           FUNCTION("mode_table", f_table, 2),
                           FUNCTION("mode_save", f_disk<true>, 5),
                           FUNCTION("mode_load", f_disk<false>, 4),
                           FUNCTION("server_tables", f_server_tables, 2),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_modes(PyObject* module) {
  if (PyModule_AddFunctions(module, functions)) throw PythonError{};
}

}  // namespace argosy::python

#pragma once

#include <memory>

#include "argosy/data/source.h"
#include "python.h"

namespace argosy::python {

std::shared_ptr<data::Source>& source_of(PyObject* capsule);
PyObject* progress_dict(const data::Progress& p);

void add_data(PyObject* module);     // data_bind.cc
void add_trainer(PyObject* module);  // trainer_bind.cc

}  // namespace argosy::python

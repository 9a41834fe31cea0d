#pragma once

#include <memory>

#include "parallel/processes/message_engine.h"

namespace towerflow::parallel::processes {

/// Opens the plug-in for MPI and joins the group that `mpirun` has started.
///
/// errors   NotFoundError: there is no plug-in, naming the places where it was looked for;
///          UnavailableError: it cannot be loaded, or MPI cannot be started
std::unique_ptr<MessageEngine> open_mpi_engine();

}  // namespace towerflow::parallel::processes

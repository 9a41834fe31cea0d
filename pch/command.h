#ifndef TOWERFLOW_PCH_COMMAND_H
#define TOWERFLOW_PCH_COMMAND_H
// Precompiled for the command, whose files all parse a command line.

#include <CLI/CLI.hpp>

#endif  // TOWERFLOW_PCH_COMMAND_H

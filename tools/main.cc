#include "tools/command.h"

namespace towerflow::tools {

#define X(name) void add_##name(CLI::App& app);
TOWERFLOW_COMMANDS
#undef X

void add_commands(CLI::App& app) {
#define X(name) add_##name(app);
  TOWERFLOW_COMMANDS
#undef X
}

}  // namespace towerflow::tools

int main(int argc, char** argv) { return towerflow::tools::run(argc, argv); }

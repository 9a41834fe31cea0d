#include "data/host_name.h"

#include <unistd.h>

#include <array>
#include <climits>

namespace towerflow {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace towerflow

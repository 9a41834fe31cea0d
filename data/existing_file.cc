#include "data/existing_file.h"

#include <fmt/format.h>

#include <system_error>

#include "core/graph/error.h"
#include "data/file.h"

namespace towerflow::data {

std::filesystem::path existing_file(const std::filesystem::path& folder, const std::string& name,
                                    const std::string& hint) {
  check_path(folder / name);
  for (const std::string& candidate : {name, name + ".gz"}) {
    std::error_code ignored;
    if (!std::filesystem::exists(folder / candidate, ignored)) continue;
    check_regular_file(folder / candidate);
    return folder / candidate;
  }
  throw errors::NotFoundError(fmt::format("no {0} or {0}.gz in {1}", name, folder.string()),
                              {.hint = hint});
}

}  // namespace towerflow::data

#include "parallel/processes/schedule_check.h"

#include <fmt/format.h>

#include <sstream>

#include "core/graph/error.h"

namespace towerflow::parallel::processes {

void check_same_in_all(ProcessGroup& group, const std::string& lines, const std::string& differ,
                       Site site) {
  check_same(group.all_gather(lines, "the comparison of the graphs"), differ, site);
}

void check_same(const std::vector<std::string>& texts, const std::string& differ, Site site) {
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    std::istringstream first(texts[0]), other(texts[rank]);
    std::string of_first, of_other;
    do {
      of_first = of_other = "nothing more";
      std::getline(first, of_first);
      std::getline(other, of_other);
    } while (of_first == of_other);
    throw ValueError(fmt::format("the processes {}: rank 0 has '{}' where rank {} has '{}'", differ,
                                 of_first, rank, of_other),
                     {.site = site, .hint = "build the same graph in every process"});
  }
}

}  // namespace towerflow::parallel::processes

#include "ops/control/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/stack.h"
#include "ops/data_flow/assert.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"

namespace towerflow {

Operation assert_at_most_n_true(const std::vector<Tensor>& predicates, int n,
                                const std::string& message, Site site) {
  const Tensor all = stack(predicates, 0, {.name = "preds_c"}, site);
  const Tensor counted =
      reduce_sum(cast(all, DType::int32, {}, site), None, {.name = "num_true_conds"}, site);
  const Tensor most = constant(n, {.name = "n_true_conds"}, site);
  const Tensor holds = less_equal(counted, most, {}, site);
  std::vector<std::string> names;
  for (const Tensor& predicate : predicates) names.push_back(predicate.name());
  return Assert(holds,
                {fmt::format("{}: more than {} conditions ({}) evaluated as True:", message, n,
                             fmt::join(names, ", ")),
                 all},
                {.summarize = static_cast<int>(predicates.size())}, site);
}

std::vector<Operation> assert_only_last(const std::vector<Tensor>& predicates, Site site) {
  const std::size_t last = predicates.size() - 1;
  const Tensor all = stack(predicates, 0, {.name = "preds_c"}, site);
  const Operation others = assert_at_most_n_true(
      {predicates.begin(), predicates.end() - 1}, 0,
      fmt::format("Implementation error: selected default action #{} was called, but some of other "
                  "predicates are True: ",
                  last),
      site);
  const Operation any = Assert(
      predicates[last], {"Input error: None of conditions evaluated as True:", all}, {}, site);
  return {others, any};
}

}  // namespace towerflow

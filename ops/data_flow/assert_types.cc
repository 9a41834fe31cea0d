#include "ops/data_flow/assert_types.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/control/group.h"
#include "ops/control/tuple.h"
#include "ops/data_flow/assert.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"

namespace towerflow {
namespace {

enum class RankCondition { exactly, at_least, among };

/// One call of assert_rank, assert_rank_at_least or assert_rank_in.
struct RankCheck {
  RankCondition condition;
  Tensor x;
  std::vector<Tensor> ranks;
  std::string message;  ///< with the dot
  Site site;

  const char* words() const {
    if (condition == RankCondition::exactly) return "rank";
    return condition == RankCondition::at_least ? "rank at least" : "rank in";
  }

  bool holds(std::int64_t rank, const std::vector<std::int64_t>& wanted) const {
    if (condition == RankCondition::at_least) return rank >= wanted[0];
    return std::find(wanted.begin(), wanted.end(), rank) != wanted.end();
  }

  /// Returns the values of the ranks, if all are known.
  std::optional<std::vector<std::int64_t>> known_ranks() const {
    std::vector<std::int64_t> known;
    for (const Tensor& rank : ranks) {
      const Array value = constant_value(rank);
      if (value.empty()) return std::nullopt;
      if (value.shape().rank() != 0) throw ValueError("Rank must be a scalar.", {.site = site});
      known.push_back(integers_of(value)[0]);
    }
    return known;
  }

  Tensor test() const {
    const Operand own(rank(Operand(x, site), {}, site), site);
    if (condition == RankCondition::exactly) return equal(own, Operand(ranks[0], site), {}, site);
    if (condition == RankCondition::at_least) {
      return greater_equal(own, Operand(ranks[0], site), {}, site);
    }
    if (ranks.empty()) return convert_operand(x.graph(), Operand(false, site), "", std::nullopt);
    Tensor result = equal(Operand(ranks[0], site), own, {}, site);
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      const Tensor one = equal(Operand(ranks[i], site), own, {}, site);
      result = logical_or(Operand(result, site), Operand(one, site), {}, site);
    }
    return result;
  }
};

Operation add_rank_check(const RankCheck& check, const AssertRankOptions& options) {
  const Site site = check.site;
  std::vector<Operand> data;
  if (options.data) {
    data = *options.data;
  } else {
    data.emplace_back(check.message, site);
    data.emplace_back(fmt::format("Tensor {} must have {}", check.x.name(), check.words()), site);
    for (const Tensor& rank : check.ranks) data.emplace_back(rank, site);
    data.emplace_back("Received shape: ", site);
    data.emplace_back(shape(Operand(check.x, site), {}, site), site);
  }
  for (const Tensor& rank : check.ranks) assert_type(Operand(rank, site), DType::int32, {}, site);
  const Shape& shape = check.x.shape();
  const auto known = check.known_ranks();
  if (known && shape.has_rank()) {
    if (!check.holds(static_cast<std::int64_t>(shape.rank()), *known)) {
      const bool several = check.condition == RankCondition::among;
      throw ValueError(
          fmt::format("{}Tensor {} must have {} {}{}{}.  Received rank {}, shape {}", check.message,
                      check.x.name(), check.words(), several ? "(" : "", fmt::join(*known, ", "),
                      several ? ")" : "", shape.rank(), shape.text()),
          {.site = site});
    }
    return no_op({.name = "static_checks_determined_all_ok"}, site);
  }
  Tensor condition = check.test();
  for (const Tensor& rank : check.ranks) {
    if (!constant_value(rank).empty()) continue;
    const std::vector<Operand> wrong{Operand("Rank must be a scalar. Received rank: ", site),
                                     Operand(rank, site)};
    const Operation scalar =
        assert_rank(Operand(rank, site), ScalarOperand(0, site), {.data = wrong}, site);
    condition = with_dependencies({scalar}, condition, {}, site);
  }
  return Assert(Operand(condition, site), data, {.summarize = options.summarize.value_or(3)}, site);
}

Operation assert_rank_condition(RankCondition condition, const char* default_name, const Operand& x,
                                std::span<const ScalarOperand> ranks,
                                const AssertRankOptions& options, Site site) {
  Graph& graph = graph_of(x);
  const DefaultGraphGuard here = graph.as_default();
  const NameScope scope(graph, options.name.empty() ? default_name : options.name, site);
  RankCheck check{condition,
                  convert_operand(graph, x, "x", std::nullopt),
                  {},
                  message_prefix(options.message),
                  site};
  for (const ScalarOperand& rank : ranks) {
    check.ranks.push_back(convert_operand(graph, rank, "rank", std::nullopt));
  }
  return add_rank_check(check, options);
}

}  // namespace

std::string message_prefix(const std::optional<std::string>& message) {
  return message ? *message + ".  " : "";
}

bool is_numeric_tensor(const Tensor& tensor) {
  return is_floating(tensor.dtype()) || is_integer(tensor.dtype()) || is_complex(tensor.dtype());
}

Operation assert_type(const Operand& tensor, DType tf_type, AssertTypeOptions options, Site site) {
  Graph& graph = graph_of(tensor);
  const DefaultGraphGuard here = graph.as_default();
  const NameScope scope(graph, options.name.empty() ? "assert_type" : options.name, site);
  const Tensor value = convert_operand(graph, tensor, "tensor", std::nullopt);
  if (value.dtype() != tf_type) {
    throw TypeError(fmt::format("{}{} must be of type {}; got {}", message_prefix(options.message),
                                value.name(), dtype_name(tf_type), dtype_name(value.dtype())),
                    {.site = site});
  }
  return no_op({.name = "statically_determined_correct_type"}, site);
}

Operation assert_integer(const Operand& x, AssertTypeOptions options, Site site) {
  Graph& graph = graph_of(x);
  const DefaultGraphGuard here = graph.as_default();
  const NameScope scope(graph, options.name.empty() ? "assert_integer" : options.name, site);
  const Tensor value = convert_operand(graph, x, "x", std::nullopt);
  if (!is_integer(value.dtype())) {
    throw TypeError(
        fmt::format("{}Expected \"x\" to be integer type.  Found: {} of dtype {}",
                    message_prefix(options.message), value.name(), dtype_name(value.dtype())),
        {.site = site});
  }
  return no_op({.name = "statically_determined_was_integer"}, site);
}

Tensor assert_scalar(const Operand& tensor, AssertTypeOptions options, Site site) {
  Graph& graph = graph_of(tensor);
  const NameScope scope(graph, options.name.empty() ? "assert_scalar" : options.name, site);
  const Tensor value = convert_operand(graph, tensor, scope.name(), std::nullopt);
  if (!value.shape().has_rank() || value.shape().rank() != 0) {
    throw ValueError(
        fmt::format("{}Expected scalar shape for {}, saw shape: {}.",
                    message_prefix(options.message), value.name(), value.shape().text()),
        {.site = site});
  }
  return value;
}

Operation assert_rank(const Operand& x, const ScalarOperand& rank, AssertRankOptions options,
                      Site site) {
  return assert_rank_condition(RankCondition::exactly, "assert_rank", x, {&rank, 1}, options, site);
}
Operation assert_rank_at_least(const Operand& x, const ScalarOperand& rank,
                               AssertRankOptions options, Site site) {
  return assert_rank_condition(RankCondition::at_least, "assert_rank_at_least", x, {&rank, 1},
                               options, site);
}
Operation assert_rank_in(const Operand& x, std::initializer_list<ScalarOperand> ranks,
                         AssertRankOptions options, Site site) {
  return assert_rank_condition(RankCondition::among, "assert_rank_in", x,
                               {ranks.begin(), ranks.size()}, options, site);
}

}  // namespace towerflow

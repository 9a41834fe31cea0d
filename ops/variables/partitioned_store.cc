// The partitioned variables of a store.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/graph/graph.h"
#include "ops/array/slice.h"
#include "ops/variables/variable_store.h"

namespace towerflow {
namespace {

std::vector<int> partitions_of(const Partitioner& partitioner, const Shape& shape, DType dtype,
                               const std::string& name, Site site) {
  if (!shape.fully_known()) {
    throw ValueError(fmt::format("Shape of a new partitioned variable must be fully defined, but "
                                 "instead was {}.",
                                 shape.text()),
                     get_variable_detail(name, site, "give every dimension a size"));
  }
  if (shape.rank() < 1) {
    throw ValueError(
        fmt::format("A partitioned Variable must have rank at least 1, shape: {}", shape.text()),
        get_variable_detail(name, site, "leave the partitioner out"));
  }
  try {
    const std::vector<int> partitions = partitioner(shape, dtype);
    part_slices(shape, partitions);  // throws if they do not match the shape
    return partitions;
  } catch (const Error&) {
    rethrow_with({.site = site, .node = name, .op = "get_variable"});
  }
}

/// Returns the initializer of a part: the given one, or a slice of the whole value.
Initializer initializer_of(const Initializer& whole, const PartSlice& slice, DType dtype,
                           const std::string& part_name, Site site) {
  Graph& graph = get_default_graph();
  const NameScope scope(graph, part_name + "/PartitionedInitializer", site);
  if (!whole.is_value()) return whole;
  const Tensor value = whole.value().tensor() != nullptr
                           ? *whole.value().tensor()
                           : convert_operand(graph, whole.value().at(site), "", dtype);
  const std::vector<std::int64_t> sizes = slice.shape.sizes();
  return Operand(towerflow::slice(value, slice.offset, sizes, {}, site), site);
}

}  // namespace

Variable VariableStore::partitioned(const std::string& name, const std::optional<Shape>& shape,
                                    const GetVariableOptions& options, const OpenScopes& open,
                                    Site site) {
  const NameScope root(get_default_graph(), std::nullopt, site);
  if (variables_.contains(name)) {
    throw ValueError(
        fmt::format("A partitioner was provided, but an unpartitioned version of the "
                    "variable was found: {}.  Perhaps a variable of the same name was "
                    "already created without partitioning?",
                    name),
        get_variable_detail(name, site, "first created at " + variables_.at(name).site().text()));
  }
  Shape whole = shape.value_or(Shape::unknown());
  if (options.initializer && options.initializer->is_value()) {
    if (const Tensor* value = options.initializer->value().tensor()) {
      const auto merged = whole.merged(value->shape());
      if (!merged) {
        throw ValueError(
            fmt::format("Shapes {} and {} are not compatible", whole.text(), value->shape().text()),
            get_variable_detail(name, site, "the initial value has another shape"));
      }
      whole = *merged;
    }
  }
  std::vector<int> partitions;
  if (options.partitioner) {
    partitions = partitions_of(options.partitioner, whole, options.dtype.value_or(DType::float32),
                               name, site);
  }
  if (const auto existing = partitioned_.find(name); existing != partitioned_.end()) {
    const Variable& variable = existing->second;
    const std::string first = "first created at " + variable.site().text();
    if (options.reuse == Reuse(false)) {
      throw ValueError(fmt::format("Partitioned variable with name {} already exists. Did you mean "
                                   "to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?",
                                   name),
                       get_variable_detail(name, site, first));
    }
    const Variable same = reuse_existing(variable, name, whole, options, site);
    if (!partitions.empty() && variable.partitions() != partitions) {
      throw ValueError(
          fmt::format("Trying to reuse partitioned variable {}, but specified "
                      "partitions [{}] and found partitions [{}].",
                      name, fmt::join(partitions, ", "), fmt::join(variable.partitions(), ", ")),
          get_variable_detail(name, site, first));
    }
    return same;
  }
  if (options.reuse == Reuse(true)) {
    throw ValueError(fmt::format("PartitionedVariable {} does not exist, or was not created with "
                                 "tf.get_variable(). Did you mean to set reuse=False or "
                                 "reuse=tf.AUTO_REUSE in VarScope?",
                                 name),
                     get_variable_detail(name, site, "reuse looks for exactly this name"));
  }
  const Variable made = make_parts(name, whole, options, partitions, open, site);
  partitioned_.emplace(name, made);
  return made;
}

Variable VariableStore::make_parts(const std::string& name, const Shape& shape,
                                   const GetVariableOptions& options,
                                   const std::vector<int>& partitions, const OpenScopes& open,
                                   Site site) {
  const auto part_name = [&](std::size_t index) { return fmt::format("{}/part_{}", name, index); };
  const std::vector<PartSlice> slices = part_slices(shape, partitions);
  if (variables_.contains(part_name(0)) && (!variables_.contains(part_name(slices.size() - 1)) ||
                                            variables_.contains(part_name(slices.size())))) {
    throw ValueError(
        fmt::format("Partitioner returned a different partitioning than what was "
                    "already found.  Partitioner returned {} shards, and shard {} was "
                    "found.",
                    slices.size(), part_name(0)),
        get_variable_detail(name, site, "use a partitioner that gives as many parts as before"));
  }
  PartitionedParts whole{.name = name, .shape = shape, .partitions = partitions};
  GetVariableOptions its = options;
  its.partitioner = nullptr;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Part part{.info = {shape, slices[i].offset}, .slice = {name, shape, slices[i]}};
    if (options.initializer) {
      its.initializer = initializer_of(*options.initializer, slices[i],
                                       its.dtype.value_or(DType::float32), part_name(i), site);
      if (its.initializer->is_value()) its.dtype = its.initializer->value().tensor()->dtype();
    } else {
      const NameScope unused(get_default_graph(), part_name(i) + "/PartitionedInitializer", site);
    }
    const bool from_value = its.initializer && its.initializer->is_value();
    const NameScope root(get_default_graph(), std::nullopt, site);
    whole.variables.push_back(single(part_name(i),
                                     from_value ? std::nullopt : std::optional(slices[i].shape),
                                     its, &part, open, site));
  }
  return partitioned_variable(std::move(whole), site);
}

}  // namespace towerflow

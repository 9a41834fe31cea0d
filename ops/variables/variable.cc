#include "ops/variables/variable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/graph/array.h"
#include "core/graph/variable_attrs.h"
#include "ops/array/concat.h"
#include "ops/array/view.h"
#include "ops/control/group.h"

namespace towerflow {
namespace {

Collected<Variable> listed(const char* key, const std::optional<std::string>& scope) {
  return get_collection<Variable>(key, scope);
}

/// Concatenates the values of all parts. Like a variable's read, the result does not depend on open
/// control dependencies.
Tensor concat_partitions(const PartitionedParts& whole, Site site) {
  Graph& graph = whole.variables[0].graph();
  const ControlDependencies outside(graph, std::nullopt);
  Tensor value = whole.variables[0].value();
  if (whole.variables.size() > 1) {
    const auto axis = std::find_if(whole.partitions.begin(), whole.partitions.end(),
                                   [](int parts) { return parts > 1; }) -
                      whole.partitions.begin();
    const NameScope scope(graph, whole.name + "/ConcatPartitions/", site);
    value = concat(std::vector<Tensor>(whole.variables.begin(), whole.variables.end()),
                   static_cast<int>(axis), {}, site);
  }
  const NameScope root(graph, std::nullopt, site);
  return identity(value, {.name = whole.name}, site);
}

}  // namespace

Variable variable_of(VariableRecord record) {
  Variable variable;
  variable.record_ = std::make_shared<VariableRecord>(std::move(record));
  return variable;
}

Variable partitioned_variable(PartitionedParts parts, Site site) {
  auto record = std::make_shared<VariableRecord>();
  record->trainable = parts.variables.at(0).trainable();
  record->site = site;
  record->parts = std::move(parts);
  Variable variable;
  variable.record_ = std::move(record);
  return variable;
}

void replace_initializer(const Variable& variable, const Operation& initializer,
                         const Tensor& initial_value) {
  variable.record_->initializer = initializer;
  variable.record_->initial_value = initial_value;
}

Operand::Operand(const Variable& variable, Site site)
    : Operand(Held(), static_cast<Tensor>(variable), site) {
  is_variable_ = true;
}

const VariableRecord& Variable::record() const {
  if (record_ == nullptr) {
    throw ValueError("a Variable was used before it was assigned",
                     {.hint = "tf::get_variable or the constructor with a value makes one"});
  }
  return *record_;
}

std::string Variable::name() const { return partitioned() ? record().parts->name : ref().name(); }
DType Variable::dtype() const { return partitioned() ? parts()[0].dtype() : ref().dtype(); }
const Shape& Variable::shape() const {
  return partitioned() ? record().parts->shape : ref().shape();
}
const std::string& Variable::device() const { return ref().device(); }
VariableHome Variable::home() const {
  return partitioned() ? parts()[0].home() : ref().node().attrs.as<VariableAttrs>().home;
}
Graph& Variable::graph() const { return partitioned() ? parts()[0].graph() : ref().graph(); }
Operation Variable::op() const { return ref().op(); }
bool Variable::trainable() const { return record().trainable; }
Site Variable::site() const { return record().site; }
Operation Variable::initializer() const { return unpartitioned_record().initializer; }
Tensor Variable::initial_value() const { return unpartitioned_record().initial_value; }
Tensor Variable::ref() const { return unpartitioned_record().ref; }
Array Variable::eval(Site site) const { return value().eval(site); }
Array Variable::eval(Session& session, Site site) const { return value().eval(session, site); }
const Constraint& Variable::constraint() const { return record().constraint; }
bool Variable::partitioned() const { return record().parts.has_value(); }

Tensor Variable::value() const {
  return partitioned() ? concat_partitions(*record().parts, site()) : record().snapshot;
}

const std::vector<Variable>& Variable::parts() const {
  static const std::vector<Variable> none;
  return partitioned() ? record().parts->variables : none;
}

const std::vector<int>& Variable::partitions() const {
  static const std::vector<int> none;
  return partitioned() ? record().parts->partitions : none;
}

const std::optional<SaveSliceInfo>& Variable::save_slice_info() const {
  return record().save_slice_info;
}

const VariableRecord& Variable::unpartitioned_record() const {
  if (partitioned()) {
    throw NotImplementedError(
        "PartitionedVariable doesn't support being used as a reference.",
        {.node = record().parts->name, .hint = "use its parts(), each of which is a variable"});
  }
  return record();
}

Tensor Variable::read_value(Site site) const {
  return partitioned() ? concat_partitions(*record().parts, site)
                       : identity(ref(), {.name = "read"}, site);
}

Collected<Variable> global_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::GLOBAL_VARIABLES, scope);
}
Collected<Variable> local_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::LOCAL_VARIABLES, scope);
}
Collected<Variable> trainable_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::TRAINABLE_VARIABLES, scope);
}
Collected<Variable> model_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::MODEL_VARIABLES, scope);
}
Collected<Variable> moving_average_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::MOVING_AVERAGE_VARIABLES, scope);
}

Operation variables_initializer(const std::vector<Variable>& variables, std::string name,
                                Site site) {
  std::vector<Operation> initializers;
  for (const Variable& variable : variables) initializers.push_back(variable.initializer());
  return group(initializers, {.name = std::move(name)}, site);
}

Operation global_variables_initializer(Site site) {
  return variables_initializer(global_variables(), "init", site);
}

Operation local_variables_initializer(Site site) {
  return variables_initializer(local_variables(), "init", site);
}

}  // namespace towerflow

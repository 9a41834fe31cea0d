#include "core/runtime/session.h"

#include <fmt/format.h>

#include "core/runtime/session_impl.h"

namespace towerflow {

Array cast_fed_value(Array value, DType dtype) {
  const auto is_number_dtype = [](DType of) {
    return of != DType::string && of != DType::resource && of != DType::invalid;
  };
  if (value.dtype() == dtype || !is_number_dtype(value.dtype()) || !is_number_dtype(dtype))
    return value;  // the run rejects values that cannot be cast
  return cast_elements(value, dtype);
}

Session::Session(ConfigProto config) : Session(get_default_graph(), std::move(config)) {}
Session::Session(Graph& graph, ConfigProto config)
    : impl_(std::make_shared<SessionImpl>(graph, std::move(config))) {}
Session::~Session() { close(); }

std::vector<Array> Session::run(std::span<const Fetch> fetches, const Feeds& feeds) {
  return impl_->run(fetches, feeds);
}

std::vector<Array> Session::run(std::span<const Fetch> fetches, const Feeds& feeds,
                                const RunOptions& options, RunMetadata* metadata) {
  return impl_->run(fetches, feeds, options, metadata);
}

Callable Session::make_callable(std::vector<Fetch> fetches, std::vector<Tensor> feeds,
                                Cancellation* cancellation) {
  return impl_->make_callable(std::move(fetches), std::move(feeds), cancellation);
}

std::string Session::plan_report(std::span<const Fetch> fetches, const Feeds& feeds) {
  return impl_->find_plan(fetches, feeds)->plan.text(impl_->devices());
}

std::vector<Placement> Session::placements(std::span<const Fetch> fetches, const Feeds& feeds) {
  return impl_->find_plan(fetches, feeds)->plan.placements;
}

std::vector<Transfer> Session::transfers(std::span<const Fetch> fetches, const Feeds& feeds) {
  return impl_->find_plan(fetches, feeds)->plan.transfers;
}

std::vector<DeviceHolding> Session::device_holdings(std::span<const Fetch> fetches,
                                                    const Feeds& feeds) {
  const auto compiled = impl_->find_plan(fetches, feeds);
  const DeviceSet& devices = impl_->devices();
  std::vector<DeviceHolding> holdings;
  for (std::size_t i = 0; i < devices.devices().size(); ++i) {
    const Device& device = devices.devices()[i];
    DeviceHolding holding{device.name, device.backend->description(device.index)};
    for (const std::string& name : impl_->resources().variable_names()) {
      const VariableStorage& variable = *impl_->resources().find_variable(name);
      const bool here = !device.on_host() || static_cast<int>(i) == devices.host();
      if (!here || variable.space != device.space()) continue;
      ++holding.variables;
      holding.variable_bytes += variable.value.bytes();
    }
    for (const Arena& arena : compiled->plan.arenas) {
      if (arena.device == static_cast<int>(i)) holding.step_bytes += arena.bytes;
    }
    holdings.push_back(std::move(holding));
  }
  return holdings;
}

PlanCounts Session::plan_counts(std::span<const Fetch> fetches, const Feeds& feeds) {
  const auto compiled = impl_->find_plan(fetches, feeds);
  const Plan& plan = compiled->plan;
  return {plan.launches(), plan.copies(), plan.waits(), plan.arena_bytes()};
}

void Session::close() { impl_->close(); }
Graph& Session::graph() const { return impl_->graph(); }
ResourceStore& Session::resources() { return impl_->resources(); }
std::shared_ptr<ResourceStore> Session::shared_resources() { return {impl_, &impl_->resources()}; }

std::vector<std::string> Session::list_devices() const {
  std::vector<std::string> names;
  for (const Device& device : impl_->devices().devices()) names.push_back(device.name);
  return names;
}

}  // namespace towerflow

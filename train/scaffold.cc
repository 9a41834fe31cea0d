#include "train/scaffold.h"

#include <fmt/format.h>

#include "core/graph/collections.h"
#include "core/graph/log.h"
#include "core/graph/scopes.h"
#include "ops/array/concat.h"
#include "ops/array/constant.h"
#include "ops/control/group.h"
#include "ops/variables/initialization.h"
#include "train/summary/merge.h"

namespace towerflow::train {
namespace {

constexpr const char* kReadyForLocalInitOp = "ready_for_local_init_op";

template <class T>
void coalesce(std::optional<T>& part, const std::optional<T>& otherwise) {
  if (!part) part = otherwise;
}

/// Returns the item of a collection, or makes one and adds it; nothing if `make` makes nothing.
template <class T, class Make>
std::optional<T> get_or_default(const char* argument, const char* key, Make make, Site site) {
  Collections& collections = get_default_graph().collections();
  const auto items = collections.matching(key, std::nullopt);
  if (items.size() > 1) {
    throw RuntimeError(
        fmt::format("More than one item in the collection \"{}\". Please indicate which one to use "
                    "by passing it to the tf.Scaffold constructor as:  tf.Scaffold({}=item to use)",
                    key, argument),
        {.site = site});
  }
  if (!items.empty()) {
    if constexpr (std::is_same_v<T, Fetch>) {
      if (const auto fetch = items[0]->fetch()) return fetch;
    } else if constexpr (std::is_same_v<T, Tensor>) {
      if (items[0]->tensor) return items[0]->tensor;
    } else {
      if (const auto* held = std::any_cast<T>(&items[0]->value)) return *held;
    }
    throw TypeError(fmt::format("the item of collection \"{}\" is not a {}", key, argument),
                    {.site = site});
  }
  auto made = make();
  if constexpr (requires { *made; }) {
    if (!made) return std::nullopt;
    collections.add(key, CollectionItem::of(*made));
    return T(*made);
  } else {
    collections.add(key, CollectionItem::of(made));
    return T(made);
  }
}

/// TensorFlow also initializes resources and tables, of which there are none here.
Operation default_init_op(Site site) {
  const Operation variables = global_variables_initializer(site);
  const Operation resources = no_op({.name = "init"}, site);
  return group({variables, resources}, {}, site);
}

Operation default_local_init_op(Site site) {
  const Operation variables = local_variables_initializer(site);
  const Operation tables = no_op({.name = "init_all_tables"}, site);
  const Operation resources = no_op({.name = "init"}, site);
  return group({variables, tables, resources}, {}, site);
}

/// Returns the names of variables that lack a value, of all or of the global ones.
Tensor uninitialized_names(const std::optional<std::vector<Variable>>& variables, Site site) {
  const Tensor names = report_uninitialized_variables(variables, {}, site);
  Tensor no_resources;
  {
    const NameScope scope(get_default_graph(), "report_uninitialized_resources", site);
    const DeviceScope host = device("/cpu:0", site);
    no_resources = constant(Array(DType::string, Shape{0}), {}, site);
  }
  return concat({names, no_resources}, 0, {}, site);
}

}  // namespace

namespace types {

Scaffold::Scaffold(ScaffoldOptions options) : options_(std::move(options)) {
  if (options_.copy_from_scaffold == nullptr) return;
  const ScaffoldOptions& other = options_.copy_from_scaffold->options_;
  coalesce(options_.init_op, other.init_op);
  coalesce(options_.ready_op, other.ready_op);
  coalesce(options_.ready_for_local_init_op, other.ready_for_local_init_op);
  coalesce(options_.local_init_op, other.local_init_op);
  coalesce(options_.summary_op, other.summary_op);
  coalesce(options_.saver, other.saver);
  if (options_.init_feed_dict.empty()) options_.init_feed_dict = other.init_feed_dict;
  if (!options_.init_fn) options_.init_fn = other.init_fn;
  if (options_.local_init_feed_dict.empty()) {
    options_.local_init_feed_dict = other.local_init_feed_dict;
  }
  options_.copy_from_scaffold = nullptr;
}

Scaffold& Scaffold::finalize(Site site) {
  if (!options_.init_op) {
    options_.init_op = get_or_default<Fetch>(
        "init_op", GraphKeys::INIT_OP, [&] { return default_init_op(site); }, site);
  }
  if (!options_.ready_op) {
    options_.ready_op = get_or_default<Tensor>(
        "ready_op", GraphKeys::READY_OP, [&] { return uninitialized_names(std::nullopt, site); },
        site);
  }
  if (!options_.ready_for_local_init_op) {
    const std::vector<Variable> variables = global_variables();
    options_.ready_for_local_init_op = get_or_default<Tensor>(
        kReadyForLocalInitOp, kReadyForLocalInitOp,
        [&] { return uninitialized_names(variables, site); }, site);
  }
  if (!options_.local_init_op) {
    options_.local_init_op = get_or_default<Fetch>(
        "local_init_op", GraphKeys::LOCAL_INIT_OP, [&] { return default_local_init_op(site); },
        site);
  }
  if (!options_.summary_op) {
    options_.summary_op = get_or_default<Tensor>(
        "summary_op", GraphKeys::SUMMARY_OP, [&] { return summary::merge_all(); }, site);
  }
  if (!options_.saver) {
    options_.saver = get_or_default<Saver>(
        "saver", GraphKeys::SAVERS, [&] { return Saver({.allow_empty = true}, site); }, site);
  }
  get_default_graph().finalize();
  log_message(LogLevel::info, "Graph was finalized.");
  return *this;
}

}  // namespace types
}  // namespace towerflow::train

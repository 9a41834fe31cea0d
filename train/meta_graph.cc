#include "train/meta_graph.h"

#include <fmt/format.h>

#include "core/graph/log.h"
#include "core/graph/scopes.h"
#include "core/graph/trial.h"
#include "data/file.h"
#include "data/serialize.h"
#include "ops/variables/variable.h"
#include "train/meta_graph.pb.h"
#include "train/queue_runner.h"
#include "train/summary/packed_items.h"

namespace towerflow::train {
namespace {

// --- export ---

std::string variable_bytes(const Variable& variable) {
  proto::VariableDef def;
  def.set_variable_name(variable.ref().name());
  def.set_snapshot_name(variable.value().name());
  def.set_initializer_name(variable.initializer().name());
  def.set_initial_value_name(variable.initial_value().name());
  def.set_trainable(variable.trainable());
  if (const auto& info = variable.save_slice_info()) {
    proto::SaveSliceInfoDef& slice = *def.mutable_save_slice_info_def();
    slice.set_full_name(info->full_name);
    for (const Dim& dim : info->full_shape.dims()) slice.add_full_shape(dim.size());
    for (const std::int64_t offset : info->slice.offset) slice.add_var_offset(offset);
    for (const Dim& dim : variable.shape().dims()) slice.add_var_shape(dim.size());
  }
  return serialize_message(def);
}

std::string runner_bytes(const QueueRunner& runner) {
  proto::QueueRunnerDef def;
  def.set_queue_name(runner.name());
  for (const Operation& op : runner.enqueue_ops()) def.add_enqueue_op_name(op.name());
  def.set_close_op_name(runner.close_op().name());
  def.set_cancel_op_name(runner.cancel_op().name());
  for (const errors::Code code : runner.queue_closed_exception_types()) {
    def.add_queue_closed_exception_types(static_cast<int>(code));
  }
  return serialize_message(def);
}

/// Returns the bytes of a variable, queue runner or string; nothing for other items.
std::optional<std::string> item_bytes(const CollectionItem& item) {
  if (const auto* variable = std::any_cast<Variable>(&item.value)) return variable_bytes(*variable);
  if (const auto* runner = std::any_cast<QueueRunner>(&item.value)) return runner_bytes(*runner);
  if (const auto* text = std::any_cast<std::string>(&item.value)) return *text;
  return std::nullopt;
}

std::optional<std::string> node_of(const CollectionItem& item) {
  if (item.tensor) return item.tensor->name();
  if (const auto* operation = std::any_cast<Operation>(&item.value)) return operation->name();
  return std::nullopt;
}

std::optional<std::int64_t> integer_of(const CollectionItem& item) {
  if (const auto* number = std::any_cast<std::int64_t>(&item.value)) return *number;
  if (const auto* number = std::any_cast<int>(&item.value)) return *number;
  return std::nullopt;
}

std::optional<float> float_of(const CollectionItem& item) {
  if (const auto* number = std::any_cast<float>(&item.value)) return *number;
  if (const auto* number = std::any_cast<double>(&item.value)) return static_cast<float>(*number);
  return std::nullopt;
}

/// Returns the list of `part(item)` for all items; nothing if `part` returns nothing for one.
template <class List, class Part>
std::optional<CollectionDef> list_of(const std::vector<CollectionItem>& items, Part part) {
  List list;
  for (const CollectionItem& item : items) {
    auto value = part(item);
    if (!value) return std::nullopt;
    if constexpr (requires { list.value; })
      list.value.push_back(*std::move(value));
    else
      list.push_back(*value);
  }
  return list;
}

std::optional<CollectionDef> collection_def(const std::vector<CollectionItem>& items) {
  if (auto bytes = list_of<BytesList>(items, item_bytes)) return bytes;
  if (auto nodes = list_of<NodeList>(items, node_of)) return nodes;
  if (auto numbers = list_of<std::vector<std::int64_t>>(items, integer_of)) return numbers;
  return list_of<std::vector<float>>(items, float_of);
}

// --- import ---

/// The nodes of one import, found by their names in the MetaGraphDef.
class ImportedNodes {
 public:
  ImportedNodes(const Graph& graph, const std::string& scope, Site site)
      : graph_(graph), prefix_(scope.empty() ? "" : scope + "/"), site_(site) {}

  Tensor tensor(const std::string& name) const {
    return graph_.get_tensor_by_name(prefix_ + name, site_);
  }
  Operation operation(const std::string& name) const {
    return graph_.get_operation_by_name(prefix_ + name, site_);
  }

  Variable variable(const std::string& bytes) const {
    proto::VariableDef def;
    parse(bytes, "VariableDef", def);
    VariableRecord record{.ref = tensor(def.variable_name()),
                          .snapshot = tensor(def.snapshot_name()),
                          .initializer = operation(def.initializer_name()),
                          .initial_value = {},
                          .trainable = def.trainable(),
                          .constraint = {},
                          .save_slice_info = {},
                          .parts = {},
                          .site = site_};
    if (!def.initial_value_name().empty()) record.initial_value = tensor(def.initial_value_name());
    if (!record.ref.is_ref()) {
      throw ValueError(fmt::format("'{}' is not a variable", record.ref.name()), {.site = site_});
    }
    if (def.has_save_slice_info_def()) record.save_slice_info = slice(def.save_slice_info_def());
    return variable_of(std::move(record));
  }

  QueueRunner runner(const std::string& bytes) const {
    proto::QueueRunnerDef def;
    parse(bytes, "QueueRunnerDef", def);
    std::vector<Operation> enqueue_ops;
    for (const std::string& name : def.enqueue_op_name()) enqueue_ops.push_back(operation(name));
    QueueRunnerOptions options{.close_op = operation(def.close_op_name()),
                               .cancel_op = operation(def.cancel_op_name())};
    if (def.queue_closed_exception_types_size() > 0) options.queue_closed_exception_types.clear();
    for (const int code : def.queue_closed_exception_types()) {
      options.queue_closed_exception_types.push_back(static_cast<errors::Code>(code));
    }
    return QueueRunner(QueueBase::of_ref(tensor(def.queue_name() + ":0"), site_),
                       std::move(enqueue_ops), options, site_);
  }

 private:
  template <class Message>
  void parse(const std::string& bytes, const char* type, Message& message) const {
    if (summary::parse_message(bytes, message)) return;
    throw errors::DataLossError(fmt::format("damaged {} of {} bytes", type, bytes.size()),
                                {.site = site_});
  }

  SaveSliceInfo slice(const proto::SaveSliceInfoDef& def) const {
    SaveSliceInfo info;
    info.full_name = prefix_ + def.full_name();
    const std::vector<std::int64_t> sizes(def.full_shape().begin(), def.full_shape().end());
    info.full_shape = Shape(std::span<const std::int64_t>(sizes));
    const std::vector<std::int64_t> part(def.var_shape().begin(), def.var_shape().end());
    info.slice.shape = Shape(std::span<const std::int64_t>(part));
    info.slice.offset.assign(def.var_offset().begin(), def.var_offset().end());
    return info;
  }

  const Graph& graph_;
  std::string prefix_;
  Site site_;
};

bool holds_variables(const std::string& key) {
  static const std::set<std::string> kKeys{
      GraphKeys::GLOBAL_VARIABLES,        GraphKeys::LOCAL_VARIABLES, GraphKeys::METRIC_VARIABLES,
      GraphKeys::TRAINABLE_VARIABLES,     GraphKeys::MODEL_VARIABLES, GraphKeys::GLOBAL_STEP,
      GraphKeys::MOVING_AVERAGE_VARIABLES};
  return kKeys.contains(key);
}

/// Creates the objects in collections; a variable in several collections is created once.
class CollectionReader {
 public:
  CollectionReader(Graph& graph, const ImportedNodes& nodes) : graph_(graph), nodes_(nodes) {}

  void add(const std::string& key, const NodeList& list) {
    for (const std::string& name : list.value) {
      const bool tensor = name.find(':') != std::string::npos;
      put(key, tensor ? CollectionItem::of(nodes_.tensor(name))
                      : CollectionItem::of(nodes_.operation(name)));
    }
  }
  void add(const std::string& key, const BytesList& list) {
    for (const std::string& bytes : list.value) {
      if (holds_variables(key)) {
        auto [at, added] = variables_.try_emplace(bytes);
        if (added) at->second = nodes_.variable(bytes);
        put(key, CollectionItem::of(at->second));
      } else if (key == GraphKeys::QUEUE_RUNNERS) {
        put(key, CollectionItem::of(nodes_.runner(bytes)));
      } else {
        put(key, CollectionItem::of(bytes));
      }
    }
  }
  template <class T>
  void add(const std::string& key, const std::vector<T>& numbers) {
    for (const T number : numbers) put(key, CollectionItem::of(number));
  }

 private:
  void put(const std::string& key, CollectionItem item) {
    graph_.collections().add(key, std::move(item));
  }

  Graph& graph_;
  const ImportedNodes& nodes_;
  std::map<std::string, Variable> variables_;
};

}  // namespace

MetaGraphDef export_meta_graph(const Text& filename, ExportMetaGraphOptions options) {
  MetaGraphDef def = export_meta_graph(std::move(options));
  AtomicFile file(filename.str());
  file.append(def.SerializeToString());
  file.commit();
  return def;
}

MetaGraphDef export_meta_graph(ExportMetaGraphOptions options) {
  const Graph& graph = get_default_graph();
  MetaGraphDef def{graph.as_graph_def({.add_shapes = true}), std::move(options.saver_def), {}};
  if (options.clear_devices) {
    for (NodeDef& node : def.graph_def.node) node.device.clear();
  }
  for (const std::string& key : options.collection_list.value_or(graph.collections().keys())) {
    const std::vector<CollectionItem>& items = graph.collections().all(key);
    const bool contexts = key == GraphKeys::COND_CONTEXT || key == GraphKeys::WHILE_CONTEXT;
    if (items.empty() || contexts) continue;  // a MetaGraphDef here has no contexts
    if (auto collection = collection_def(items)) {
      def.collection_def.emplace(key, *std::move(collection));
    } else {
      log_message(LogLevel::warning,
                  fmt::format("collection '{}' is not exported: it holds other objects than nodes, "
                              "variables, queue runners, texts and numbers",
                              key));
    }
  }
  return def;
}

std::optional<Saver> import_meta_graph(const MetaGraphDef& meta_graph,
                                       ImportMetaGraphOptions options, Site site) {
  Graph& graph = get_default_graph();
  GraphChange change(graph);
  GraphDef cleared;
  if (options.clear_devices) {
    cleared = meta_graph.graph_def;
    for (NodeDef& node : cleared.node) node.device.clear();
  }
  std::string scope;
  {
    std::optional<NameScope> open;
    if (options.import_scope) open.emplace(graph, *options.import_scope, site);
    scope = open ? open->name() : "";
    import_graph_def(options.clear_devices ? cleared : meta_graph.graph_def, {.name = scope}, site);
  }
  if (!scope.empty()) scope.pop_back();
  const ImportedNodes nodes(graph, scope, site);
  CollectionReader reader(graph, nodes);
  for (const auto& [key, def] : meta_graph.collection_def) {
    std::visit([&, &name = key](const auto& list) { reader.add(name, list); }, def);
  }
  std::optional<Saver> saver;
  if (meta_graph.saver_def) {
    const SaverDef& def = *meta_graph.saver_def;
    saver = Saver::from_nodes(nodes.tensor(def.filename_tensor_name),
                              nodes.tensor(def.save_tensor_name),
                              nodes.operation(def.restore_op_name), std::move(options.saver));
  } else if (!global_variables().empty()) {
    saver.emplace(std::move(options.saver), site);
  }
  change.keep();
  return saver;
}

std::optional<Saver> import_meta_graph(const Text& file, ImportMetaGraphOptions options,
                                       Site site) {
  return import_meta_graph(MetaGraphDef::FromString(read_file(file.str())), std::move(options),
                           site);
}

}  // namespace towerflow::train

#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/arguments.h"
#include "core/graph/graph_def.h"
#include "train/saver.h"

namespace towerflow::train::types {

/// Names of nodes and tensors in a collection.
struct NodeList {
  std::vector<std::string> value;
  bool operator==(const NodeList&) const = default;
};
/// Strings, or serialized protocol buffers: VariableDef, QueueRunnerDef.
struct BytesList {
  std::vector<std::string> value;
  bool operator==(const BytesList&) const = default;
};

/// The contents of a collection. (tf.MetaGraphDef.CollectionDef)
using CollectionDef =
    std::variant<NodeList, BytesList, std::vector<std::int64_t>, std::vector<float>>;

/// A graph with its collections and the names of a Saver's nodes. (tf.MetaGraphDef)
struct MetaGraphDef {
  GraphDef graph_def;
  std::optional<SaverDef> saver_def;
  std::map<std::string, CollectionDef> collection_def;

  /// Throws DataLossError if `bytes` are not a MetaGraphDef, and the errors of
  /// GraphDef::FromString.
  static MetaGraphDef FromString(std::string_view bytes);
  /// Throws InvalidArgumentError for 2 GiB or more.
  std::string SerializeToString() const;

  bool operator==(const MetaGraphDef&) const = default;
};

struct ExportMetaGraphOptions {
  std::optional<SaverDef> saver_def{};
  /// The collections to export; all if not given.
  std::optional<std::vector<std::string>> collection_list{};
  bool clear_devices = false;
};

struct ImportMetaGraphOptions {
  bool clear_devices = false;
  std::optional<std::string> import_scope{};  ///< the name scope; the root if not given
  SaverOptions saver{};                       ///< options of the returned Saver
};

}  // namespace towerflow::train::types

namespace towerflow::train {

/// Returns the default graph, its collections and the names of a Saver's nodes. Also writes them to
/// `filename`, if given, as a serialized MetaGraphDef. Collections with objects other than tensors,
/// operations, variables, queue runners, strings and numbers are left out with a warning.
///
/// errors   those of Graph::as_graph_def and of writing a file
/// source   tf.train.export_meta_graph
MetaGraphDef export_meta_graph(const Text& filename, ExportMetaGraphOptions options = {});
MetaGraphDef export_meta_graph(ExportMetaGraphOptions options = {});

/// Adds the graph and collections of a MetaGraphDef, or of a file that contains one, to the default
/// graph. Nothing is added if it throws. Returns a Saver for the nodes that the MetaGraphDef names,
/// else a new one for the variables, or nothing if there are no variables.
///
/// errors   those of import_graph_def; KeyError, ValueError: a collection names something missing
/// source   tf.train.import_meta_graph
std::optional<Saver> import_meta_graph(const MetaGraphDef& meta_graph,
                                       ImportMetaGraphOptions options = {},
                                       Site site = Site::current());
std::optional<Saver> import_meta_graph(const Text& file, ImportMetaGraphOptions options = {},
                                       Site site = Site::current());

}  // namespace towerflow::train

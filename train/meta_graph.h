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
/// Texts, or objects in protocol buffers: VariableDef, QueueRunnerDef.
struct BytesList {
  std::vector<std::string> value;
  bool operator==(const BytesList&) const = default;
};

/// What a collection holds. (tf.MetaGraphDef.CollectionDef)
using CollectionDef =
    std::variant<NodeList, BytesList, std::vector<std::int64_t>, std::vector<float>>;

/// A graph with what a program needs to go on with it. (tf.MetaGraphDef)
struct MetaGraphDef {
  GraphDef graph_def;
  std::optional<SaverDef> saver_def;
  std::map<std::string, CollectionDef> collection_def;

  /// Throws DataLossError for bytes that are none, and as GraphDef::FromString.
  static MetaGraphDef FromString(std::string_view bytes);
  /// Throws InvalidArgumentError for 2 GiB or more.
  std::string SerializeToString() const;

  bool operator==(const MetaGraphDef&) const = default;
};

struct ExportMetaGraphOptions {
  std::optional<SaverDef> saver_def{};
  /// Only these collections.
  std::optional<std::vector<std::string>> collection_list{};
  bool clear_devices = false;
};

struct ImportMetaGraphOptions {
  bool clear_devices = false;
  std::optional<std::string> import_scope{};  ///< the name scope; the root when not given
  SaverOptions saver{};                       ///< of the Saver that is returned
};

}  // namespace towerflow::train::types

namespace towerflow::train {

/// The default graph, its collections and the names of a Saver's nodes; as the bytes of a
/// MetaGraphDef written to `filename` where one is given. Of a collection with other objects than
/// tensors, operations, variables, queue runners, texts and numbers a warning says that it is left
/// out.
///
/// errors   those of Graph::as_graph_def, and of writing a file
/// source   tf.train.export_meta_graph
MetaGraphDef export_meta_graph(const Text& filename, ExportMetaGraphOptions options = {});
MetaGraphDef export_meta_graph(ExportMetaGraphOptions options = {});

/// Adds the graph of a MetaGraphDef, or of a file that holds one, to the default graph, and its
/// collections to those there are: all of it, or nothing when it throws. Gives a Saver of the nodes
/// that are named, else one that is made for the variables; nothing where there are none.
///
/// errors   those of import_graph_def; KeyError, ValueError: a collection names what is not there
/// source   tf.train.import_meta_graph
std::optional<Saver> import_meta_graph(const MetaGraphDef& meta_graph,
                                       ImportMetaGraphOptions options = {},
                                       Site site = Site::current());
std::optional<Saver> import_meta_graph(const Text& file, ImportMetaGraphOptions options = {},
                                       Site site = Site::current());

}  // namespace towerflow::train

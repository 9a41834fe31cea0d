// Serialization of MetaGraphDef.
#include <fmt/format.h>

#include "data/serialize.h"
#include "train/meta_graph.h"
#include "train/meta_graph.pb.h"
#include "train/summary/packed_items.h"

namespace towerflow::train::types {
namespace {

using Proto = proto::CollectionDefProto;

void write_collection(const CollectionDef& def, Proto& proto) {
  if (const auto* nodes = std::get_if<NodeList>(&def)) {
    Proto::NodeList& list = *proto.mutable_node_list();
    for (const std::string& name : nodes->value) list.add_value(name);
  } else if (const auto* bytes = std::get_if<BytesList>(&def)) {
    Proto::BytesList& list = *proto.mutable_bytes_list();
    for (const std::string& item : bytes->value) list.add_value(item);
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&def)) {
    Proto::Int64List& list = *proto.mutable_int64_list();
    for (const std::int64_t item : *integers) list.add_value(item);
  } else {
    Proto::FloatList& list = *proto.mutable_float_list();
    for (const float item : std::get<std::vector<float>>(def)) list.add_value(item);
  }
}

/// Returns nothing for a kind of list that is not supported.
std::optional<CollectionDef> read_collection(const Proto& proto) {
  switch (proto.kind_case()) {
    case Proto::kNodeList:
      return NodeList{{proto.node_list().value().begin(), proto.node_list().value().end()}};
    case Proto::kBytesList:
      return BytesList{{proto.bytes_list().value().begin(), proto.bytes_list().value().end()}};
    case Proto::kInt64List:
      return std::vector<std::int64_t>(proto.int64_list().value().begin(),
                                       proto.int64_list().value().end());
    case Proto::kFloatList:
      return std::vector<float>(proto.float_list().value().begin(),
                                proto.float_list().value().end());
    default:
      return std::nullopt;
  }
}

constexpr int kSaverVersion = 2;

}  // namespace

MetaGraphDef MetaGraphDef::FromString(std::string_view bytes) {
  proto::MetaGraphDefProto proto;
  if (bytes.size() > INT_MAX || !summary::parse_message(bytes, proto)) {
    throw errors::DataLossError(fmt::format("damaged MetaGraphDef of {} bytes", bytes.size()));
  }
  MetaGraphDef def;
  def.graph_def = GraphDef::FromString(proto.graph_def());
  if (proto.has_saver_def()) {
    const proto::SaverDefProto& saver = proto.saver_def();
    def.saver_def =
        SaverDef{saver.filename_tensor_name(), saver.save_tensor_name(), saver.restore_op_name()};
  }
  for (const auto& collection : proto.collection_def()) {
    if (auto read = read_collection(collection.value())) {
      def.collection_def.insert_or_assign(collection.key(), *std::move(read));
    }
  }
  return def;
}

std::string MetaGraphDef::SerializeToString() const {
  proto::MetaGraphDefProto proto;
  proto.mutable_meta_info_def()->set_tensorflow_version("1.15.0");  // the version with these ops
  proto.set_graph_def(graph_def.SerializeToString());
  if (saver_def) {
    proto::SaverDefProto& saver = *proto.mutable_saver_def();
    saver.set_filename_tensor_name(saver_def->filename_tensor_name);
    saver.set_save_tensor_name(saver_def->save_tensor_name);
    saver.set_restore_op_name(saver_def->restore_op_name);
    saver.set_max_to_keep(SaverOptions().max_to_keep);
    saver.set_keep_checkpoint_every_n_hours(10000);
    saver.set_version(kSaverVersion);
  }
  for (const auto& [key, def] : collection_def) {
    auto& collection = *proto.add_collection_def();
    collection.set_key(key);
    write_collection(def, *collection.mutable_value());
  }
  return serialize_message(proto);
}

}  // namespace towerflow::train::types

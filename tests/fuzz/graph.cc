// GraphDefs: parsed, imported, exported and imported again.
#include "core/graph/graph.h"
#include "core/graph/graph_def.h"
#include "core/graph/op_def.h"
#include "tests/fuzz/target.h"

namespace towerflow::fuzz {
namespace {

GraphDef imported(const GraphDef& def) {
  Graph graph;
  const auto guard = graph.as_default();
  import_graph_def(def, {.name = ""});
  return graph.as_graph_def({.add_shapes = true});
}

void read_graph(std::string_view bytes) {
  const GraphDef made = imported(GraphDef::FromString(bytes));
  const GraphDef again = imported(GraphDef::FromString(made.SerializeToString()));
  require(again == made, "a graph that was exported is imported as it was");
}

template <class T>
const T& pick_one(const std::vector<T>& items, Random& random) {
  return items[random() % items.size()];
}

std::int64_t any_number(Random& random) {
  static const std::vector<std::int64_t> kNumbers{-1, 0,       1,         2,         3,        5,
                                                  7,  1 << 20, 1LL << 40, INT64_MIN, INT64_MAX};
  return pick_one(kNumbers, random);
}

/// Returns a different value of the same type.
AttrValue changed(AttrValue value, Random& random) {
  if (auto* flag = value.get_if<bool>()) *flag = !*flag;
  if (auto* number = value.get_if<std::int64_t>()) *number = any_number(random);
  if (auto* dtype = value.get_if<DType>()) {
    *dtype = pick_one<DType>({DType::float32, DType::int32, DType::string, DType::bool_}, random);
  }
  if (auto* shape = value.get_if<Shape>()) {
    *shape = pick_one<Shape>({Shape::unknown(), Shape{}, Shape{0}, Shape{None, 1LL << 40}}, random);
  }
  if (auto* numbers = value.get_if<std::vector<std::int64_t>>()) {
    if (numbers->empty() || random() % 4 == 0)
      numbers->push_back(any_number(random));
    else
      (*numbers)[random() % numbers->size()] = any_number(random);
  }
  if (auto* array = value.get_if<Array>()) {
    *array = array->copy();
    if (array->dtype() == DType::int32 && array->elements() > 0) {
      array->data<std::int32_t>()[random() % static_cast<std::size_t>(array->elements())] =
          static_cast<std::int32_t>(any_number(random));
    } else if (array->elements() == 1) {
      *array = array->reshaped(Shape{1, 1});
    }
  }
  return value;
}

/// Changes an input, attribute or op of a node. Byte mutations rarely give a valid change of these.
void mutate_graph(GraphDef& def, Random& random) {
  NodeDef& node = def.node[random() % def.node.size()];
  const NodeDef& other = def.node[random() % def.node.size()];
  switch (random() % 7) {
    case 0:
      node.input.push_back(other.name);
      break;
    case 1:
      if (!node.input.empty()) node.input[random() % node.input.size()] = other.name;
      break;
    case 2:
      if (!node.input.empty()) node.input.pop_back();
      break;
    case 3:
      node.op = pick_one(OpRegistry::global().all(), random)->name;
      node.attr.clear();
      break;
    case 4:
      node.op = other.op;
      node.attr = other.attr;
      break;
    case 5:
      for (auto& [name, value] : node.attr) {
        if (random() % 2 == 0) value = changed(value, random);
      }
      break;
    default:
      for (const auto& [name, value] : other.attr) node.attr[name] = value;
  }
}

void mutate_graph(std::string& bytes, std::size_t most, Random& random, const Mutate& plain) {
  GraphDef def;
  const bool whole = succeeds([&] { def = GraphDef::FromString(bytes); });
  if (!whole || def.node.empty() || random() % 4 == 0) return plain(bytes, most);
  for (std::size_t i = 1 + random() % 3; i > 0; --i) mutate_graph(def, random);
  std::string changed_bytes = def.SerializeToString();
  if (changed_bytes.size() <= most) bytes = std::move(changed_bytes);
}

}  // namespace

const Target kGraph{"graph", read_graph, mutate_graph};

}  // namespace towerflow::fuzz

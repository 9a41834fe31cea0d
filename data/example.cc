#include "data/example.h"

#include <functional>
#include <map>

#include "core/graph/error.h"
#include "data/example.pb.h"
#include "data/serialize.h"

namespace towerflow::data {

struct ExampleBuilder::Message {
  std::map<std::string, proto::Feature, std::less<>> features;

  proto::Feature& feature(std::string_view name) {
    auto found = features.find(name);
    if (found == features.end()) found = features.try_emplace(std::string(name)).first;
    found->second.Clear();
    return found->second;
  }
};

ExampleBuilder::ExampleBuilder() : message_(std::make_unique<Message>()) {}
ExampleBuilder::~ExampleBuilder() = default;

ExampleBuilder& ExampleBuilder::int64_list(std::string_view name,
                                           const std::vector<std::int64_t>& values) {
  message_->feature(name).mutable_int64_list()->mutable_value()->Add(values.begin(), values.end());
  return *this;
}

ExampleBuilder& ExampleBuilder::float_list(std::string_view name,
                                           const std::vector<float>& values) {
  message_->feature(name).mutable_float_list()->mutable_value()->Add(values.begin(), values.end());
  return *this;
}

ExampleBuilder& ExampleBuilder::bytes_list(std::string_view name,
                                           const std::vector<std::string>& values) {
  proto::BytesList& list = *message_->feature(name).mutable_bytes_list();
  for (const std::string& value : values) list.add_value(value);
  return *this;
}

ExampleBuilder& ExampleBuilder::int64(std::string_view name, std::int64_t value) {
  message_->feature(name).mutable_int64_list()->add_value(value);
  return *this;
}

ExampleBuilder& ExampleBuilder::bytes(std::string_view name, std::string_view value) {
  message_->feature(name).mutable_bytes_list()->add_value(value.data(), value.size());
  return *this;
}

std::string ExampleBuilder::serialize() const {
  proto::SortedExample example;
  for (const auto& [name, feature] : message_->features) {
    proto::SortedFeatures::Entry& entry = *example.mutable_features()->add_feature();
    entry.set_key(name);
    *entry.mutable_value() = feature;
  }
  return serialize_message(example);
}

void ExampleBuilder::clear() { message_->features.clear(); }

}  // namespace towerflow::data

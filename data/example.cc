#include "data/example.h"

#include "core/graph/error.h"
#include "data/example.pb.h"
#include "data/serialize.h"

namespace towerflow::data {

struct ExampleBuilder::Message {
  proto::Example example;

  proto::Feature& feature(std::string_view name) {
    proto::Feature& found = (*example.mutable_features()->mutable_feature())[std::string(name)];
    found.Clear();
    return found;
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
  return serialize_deterministically(message_->example);
}

void ExampleBuilder::clear() { message_->example.Clear(); }

}  // namespace towerflow::data

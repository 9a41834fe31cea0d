#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

/// A walk over the wire format of tf.train.Example in place, without building a message; shared by
/// ExampleParser and RecordSummary. Every function takes the bytes of one message, at most 2 GiB,
/// and returns whether they are valid; the bytes need not be trusted, and no memory is allocated.
namespace towerflow::data::wire {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr std::uint32_t tag_of(std::uint32_t field, WireFormatLite::WireType type) {
  return field << 3 | static_cast<std::uint32_t>(type);
}
inline constexpr auto kDelimited = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;

/// The kind of list in a Feature; the values are the field numbers.
enum class Kind { none = 0, bytes = 1, floats = 2, ints = 3 };

inline CodedInputStream stream_of(std::string_view bytes) {
  return CodedInputStream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
}

/// Reads a length and a view of as many bytes.
inline bool read_delimited(CodedInputStream& stream, std::string_view& bytes) {
  std::uint32_t length = 0;
  if (!stream.ReadVarint32(&length)) return false;
  const void* start = nullptr;
  int available = 0;
  if (!stream.GetDirectBufferPointer(&start, &available)) available = 0;
  if (length > static_cast<std::uint32_t>(available)) return false;
  bytes = {static_cast<const char*>(start), length};
  return stream.Skip(static_cast<int>(length));
}

/// Calls `field(tag, stream)`, which returns whether it could read the field, for each field.
template <class F>
bool for_each_field(std::string_view message, F&& field) {
  CodedInputStream stream = stream_of(message);
  while (const std::uint32_t tag = stream.ReadTag())
    if (!field(tag, stream)) return false;
  return stream.ConsumedEntireMessage();
}

inline bool read_map_entry(std::string_view entry, std::string_view& key,
                           std::string_view& feature) {
  bool has_key = false, has_feature = false;
  return for_each_field(entry, [&](std::uint32_t tag, CodedInputStream& stream) {
    if (tag == tag_of(1, kDelimited) && !std::exchange(has_key, true))
      return read_delimited(stream, key);
    if (tag == tag_of(2, kDelimited) && !std::exchange(has_feature, true))
      return read_delimited(stream, feature);
    return false;
  });
}

/// Calls `visit(key, feature)` for each feature of an Example; if a key occurs twice, the last
/// counts.
template <class F>
bool for_each_feature(std::string_view example, F&& visit) {
  const auto read_entry = [&](std::uint32_t tag, CodedInputStream& stream) {
    if (tag != tag_of(1, kDelimited)) return WireFormatLite::SkipField(&stream, tag);
    std::string_view entry, key, feature;
    if (!read_delimited(stream, entry) || !read_map_entry(entry, key, feature)) return false;
    visit(key, feature);
    return true;
  };
  return for_each_field(example, [&](std::uint32_t tag, CodedInputStream& stream) {
    if (tag != tag_of(1, kDelimited)) return WireFormatLite::SkipField(&stream, tag);
    std::string_view features;
    return read_delimited(stream, features) && for_each_field(features, read_entry);
  });
}

/// Finds the list in a Feature; refuses a Feature with two lists, as TensorFlow does.
inline bool read_feature(std::string_view feature, Kind& kind, std::string_view& list) {
  kind = Kind::none;
  return for_each_field(feature, [&](std::uint32_t tag, CodedInputStream& stream) {
    for (const Kind candidate : {Kind::bytes, Kind::floats, Kind::ints})
      if (tag == tag_of(static_cast<std::uint32_t>(candidate), kDelimited)) {
        if (kind != Kind::none) return false;
        kind = candidate;
        return read_delimited(stream, list);
      }
    return WireFormatLite::SkipField(&stream, tag);
  });
}

/// Calls `visit(value)` for each value of a BytesList.
template <class F>
bool for_each_bytes(std::string_view list, F&& visit) {
  return for_each_field(list, [&](std::uint32_t tag, CodedInputStream& stream) {
    if (tag != tag_of(1, kDelimited)) return WireFormatLite::SkipField(&stream, tag);
    std::string_view value;
    if (!read_delimited(stream, value)) return false;
    visit(value);
    return true;
  });
}

/// Calls `visit(bytes)` for each run of values of a FloatList: 4 bytes per value, possibly
/// unaligned, little endian like every processor that the library supports.
template <class F>
bool for_each_float_run(std::string_view list, F&& visit) {
  return for_each_field(list, [&](std::uint32_t tag, CodedInputStream& stream) {
    if (tag == tag_of(1, kDelimited)) {
      std::string_view packed;
      if (!read_delimited(stream, packed) || packed.size() % sizeof(float) != 0) return false;
      visit(packed);
      return true;
    }
    if (tag != tag_of(1, WireFormatLite::WIRETYPE_FIXED32))
      return WireFormatLite::SkipField(&stream, tag);
    std::uint32_t bits = 0;
    if (!stream.ReadLittleEndian32(&bits)) return false;
    char bytes[sizeof bits];
    std::memcpy(bytes, &bits, sizeof bits);
    visit(std::string_view(bytes, sizeof bytes));
    return true;
  });
}

/// Calls `visit(value)` for each value of an Int64List.
template <class F>
bool for_each_int(std::string_view list, F&& visit) {
  const auto read_one = [&](CodedInputStream& stream) {
    std::uint64_t value = 0;
    if (!stream.ReadVarint64(&value)) return false;
    visit(static_cast<std::int64_t>(value));
    return true;
  };
  return for_each_field(list, [&](std::uint32_t tag, CodedInputStream& stream) {
    if (tag == tag_of(1, kDelimited)) {
      std::string_view packed;
      if (!read_delimited(stream, packed)) return false;
      CodedInputStream values = stream_of(packed);
      while (static_cast<std::size_t>(values.CurrentPosition()) < packed.size())
        if (!read_one(values)) return false;
      return true;
    }
    if (tag == tag_of(1, WireFormatLite::WIRETYPE_VARINT)) return read_one(stream);
    return WireFormatLite::SkipField(&stream, tag);
  });
}

}  // namespace towerflow::data::wire

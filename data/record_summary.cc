#include "data/record_summary.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "data/example_wire.h"
#include "data/tfrecord.h"

namespace towerflow::data {
namespace {

constexpr std::size_t kFirstValues = 8;  // values kept per feature
constexpr std::size_t kFirstBytes = 64;  // kept of a bytes value
constexpr std::size_t kNameBytes = 256;  // kept of a feature's name

using wire::Kind;

template <class T>
void append_limited(std::vector<T>& first, T value) {
  if (first.size() < kFirstValues) first.push_back(std::move(value));
}

/// Adds one Example's feature, which must be a valid Feature.
void add_feature(FeatureSummary& summary, std::string_view feature) {
  Kind kind = Kind::none;
  std::string_view list;
  wire::read_feature(feature, kind, list);
  const bool first = summary.values.most == 0;
  std::uint64_t count = 0;
  if (kind == Kind::bytes) {
    wire::for_each_bytes(list, [&](std::string_view value) {
      ++count;
      summary.bytes.add(value.size());
      if (first) append_limited(summary.first_bytes, std::string(value.substr(0, kFirstBytes)));
    });
  } else if (kind == Kind::floats) {
    wire::for_each_float_run(list, [&](std::string_view run) {
      for (std::size_t at = 0; at < run.size(); at += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, run.data() + at, sizeof value);
        ++count;
        if (std::isnan(value))
          ++summary.nan;
        else
          summary.floats.add(value);
        if (first) append_limited(summary.first_floats, value);
      }
    });
  } else if (kind == Kind::ints) {
    wire::for_each_int(list, [&](std::int64_t value) {
      ++count;
      summary.ints.add(value);
      if (first) append_limited(summary.first_ints, value);
    });
  }
  ++summary.examples;
  ++summary.kinds[static_cast<std::size_t>(kind)];
  summary.values.add(count);
}

/// The summaries of features by name.
class Features {
 public:
  /// Adds the record and returns true if it is an Example with at least one feature.
  bool add(std::string_view record) {
    if (record.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
    // Validates the whole record first, so that one that is not an Example adds nothing.
    std::uint64_t found = 0;
    bool whole = true;
    const auto inspect_feature = [&](std::string_view, std::string_view feature) {
      Kind kind = Kind::none;
      std::string_view list;
      ++found;
      whole = whole && wire::read_feature(feature, kind, list) && is_list(kind, list);
    };
    if (!wire::for_each_feature(record, inspect_feature) || !whole || found == 0) return false;
    wire::for_each_feature(record, [&](std::string_view name, std::string_view feature) {
      if (FeatureSummary* summary = summary_of(name); summary != nullptr)
        add_feature(*summary, feature);
    });
    return true;
  }

  std::uint64_t omitted() const { return omitted_; }
  std::vector<FeatureSummary> take() {
    std::vector<FeatureSummary> all;
    for (auto& [name, summary] : by_name_) all.push_back(std::move(summary));
    return all;
  }

 private:
  static bool is_list(Kind kind, std::string_view list) {
    const auto ignore = [](const auto&) {};
    switch (kind) {
      case Kind::bytes:
        return wire::for_each_bytes(list, ignore);
      case Kind::floats:
        return wire::for_each_float_run(list, ignore);
      case Kind::ints:
        return wire::for_each_int(list, ignore);
      case Kind::none:
        return true;
    }
    return false;
  }

  FeatureSummary* summary_of(std::string_view name) {
    name = name.substr(0, kNameBytes);
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return &found->second;
    if (by_name_.size() == kMaxFeatures) {
      ++omitted_;
      return nullptr;
    }
    FeatureSummary& made = by_name_[std::string(name)];
    made.name = name;
    return &made;
  }

  std::map<std::string, FeatureSummary, std::less<>> by_name_;
  std::uint64_t omitted_ = 0;
};

}  // namespace

RecordSummary summarize_records(const std::filesystem::path& path, Compression compression,
                                const std::function<void(std::uint64_t)>& progress) {
  TFRecordReader reader(path, {.compression = compression});
  RecordSummary summary;
  summary.compression = compression;
  Features features;
  std::string record;
  try {
    while (reader.next(record)) {
      summary.record_bytes.add(record.size());
      if (features.add(record)) ++summary.examples;
      if (progress) progress(reader.stored_position());
    }
  } catch (const errors::OpError& error) {
    summary.damage = error;
  }
  summary.records = reader.records_read();
  summary.bytes = reader.byte_offset();
  summary.features_left_out = features.omitted();
  summary.features = features.take();
  return summary;
}

}  // namespace towerflow::data

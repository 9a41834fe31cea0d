#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace towerflow {

/// Where the latest records of a reader came from, found again by their bytes: what the error about
/// a record says of it when queues lie between the reader and the op that fails.
class RecordTrail {
 public:
  struct Place {
    std::shared_ptr<const std::string> file;
    std::optional<std::uint64_t>
        number;            ///< in its file, from 0; unknown behind a resumed position
    std::uint64_t at = 0;  ///< as the record's key says it
    bool operator==(const Place& other) const { return *file == *other.file && at == other.at; }
  };

  void add(std::string_view record, Place place);
  /// The places of records that look like this one, the latest first, each once. Records that
  /// differ only between the samples that are compared look alike.
  std::vector<Place> find(std::string_view record) const;

 private:
  struct Entry {
    std::uint64_t mark;
    Place place;
  };
  std::vector<Entry> entries_;  // a ring
  std::size_t next_ = 0;
};

}  // namespace towerflow

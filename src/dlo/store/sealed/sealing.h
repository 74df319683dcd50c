#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/sealed.h"
#include "dlo/store/change.h"
#include "dlo/store/field_path.h"
#include "dlo/store/office.h"
#include "dlo/store/query.h"

namespace dlo {

/// The documents in which the data keys lie: the only ones that are never sealed.
inline constexpr std::string_view data_key_kind = "data_key";

/// With what, and which paths people want to search by nevertheless.
struct Sealing {
  const Sealer& sealer;
  const std::vector<FieldPath>& indexed;
};

/// Every value of `change` that R26 names is sealed; all else is as it was.
[[nodiscard]] Result<Change> sealed(const Sealing& sealing, const Change& change);

/// And back. What is plain stays as it is.
[[nodiscard]] Result<void> open_record(const Sealer& sealer, DeadLetter& record);
[[nodiscard]] Result<void> open_detail(const Sealer& sealer, RecordDetail& detail);
[[nodiscard]] Result<void> open_document(const Sealer& sealer, const std::string& kind,
                                         Document& document);
/// The message of a record, which others may share.
[[nodiscard]] Result<MessagePtr> opened(const Sealer& sealer, const RecordId& id,
                                        const MessagePtr& message);

/// A record with all that belongs to it, sealed with the key that seals now.
[[nodiscard]] Result<RecordDetail> sealed(const Sealing& sealing, RecordDetail plain);
/// Whether anything of it is plain, or sealed with another key than `current`.
[[nodiscard]] bool is_sealed_with(KeyId current, const RecordDetail& kept);

/// The header that holds the token of a declared path.
inline constexpr std::string_view index_prefix = "dlo-index:";
[[nodiscard]] std::string index_header(const FieldPath& path);

}  // namespace dlo

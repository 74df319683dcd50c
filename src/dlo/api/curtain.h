#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dlo/api/request.h"
#include "dlo/core/result.h"
#include "dlo/jobs/job.h"
#include "dlo/repair/recipe.h"
#include "dlo/repair/schema.h"
#include "dlo/store/field_path.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Admins, and tokens whose actions name `reveal`.
[[nodiscard]] bool may_reveal(const Actor& actor) noexcept;
inline constexpr std::string_view reveal_action = "reveal";

class Curtain;
/// The one that belongs to the request; one that hides nothing if there is none.
[[nodiscard]] const Curtain& curtain_of(const Request& request);

/// Something of the first is masked in the second, which is the same as somebody may see it.
[[nodiscard]] bool is_hidden_in(const RecordDetail& kept, const RecordDetail& shown);

/// Masked places of messages (R26): what everybody is shown instead, and who may ask about them.
/// Acts work on the messages themselves; only what is answered passes the curtain.
class Curtain {
 public:
  explicit Curtain(std::vector<FieldPath> masked = {});

  /// A payload that is no JSON is hidden whole if any place in payloads is masked.
  void hide(Headers& headers, std::optional<std::string>& payload) const;
  [[nodiscard]] MessagePtr hidden(const MessagePtr& message) const;
  [[nodiscard]] DeadLetter hidden(DeadLetter record) const;
  [[nodiscard]] RecordDetail hidden(RecordDetail detail) const;
  [[nodiscard]] Draft hidden(Draft draft) const;

  /// A job as `actor` may see it: what it looks for in masked places or writes to them is hidden
  /// from whoever may not reveal.
  [[nodiscard]] Job hidden(Job job, const Actor& actor) const;

  /// What two drafts differ in, as far as it may be shown.
  [[nodiscard]] Difference difference(const Draft& before, const Draft& after) const;

  /// The record as whoever asks is to see it: masked, or with `reveal=true` as it is, which needs
  /// the right and is in the audit trail before anything is shown.
  [[nodiscard]] Result<RecordDetail> shown(Office& office, const Request& request,
                                           RecordDetail detail) const;

  /// refused: a masked place is asked about by somebody who may not see it; invalid_argument: words
  /// of payloads, which are in no index while places in them are masked.
  [[nodiscard]] Result<void> check(const Query& query, const Request& request) const;
  /// refused: it would move a masked value to where it is shown, or ask what it is.
  [[nodiscard]] Result<void> check(const Recipe& recipe, const Request& request) const;
  /// refused: complaints about what it says of a masked place would tell what stands there.
  [[nodiscard]] Result<void> check(const JsonSchema& schema, const Request& request) const;
  /// Complaints about masked places say no more than that, unless whoever asks may see them.
  void hide(std::vector<SchemaComplaint>& complaints, const Request& request) const;
  /// Refuses a draft in which the mask stands where a value should: it was copied from a screen.
  [[nodiscard]] Result<void> check(const Draft& draft) const;
  /// The same of a job.
  [[nodiscard]] Result<void> check(const JobSpec& spec) const;

 private:
  [[nodiscard]] bool is_masked(const FieldPath& path) const;
  [[nodiscard]] bool is_masked(const std::vector<std::string>& steps) const;
  [[nodiscard]] bool masks_header(std::string_view name) const;
  [[nodiscard]] std::string hidden_query(const Job& job) const;
  void each_value(Recipe& recipe, const std::function<void(JsonTree*, std::string*)>& take) const;

  std::vector<FieldPath> masked_;
  std::vector<JsonPath> paths_;       // into payloads
  std::vector<std::string> headers_;  // names
};

}  // namespace dlo::api

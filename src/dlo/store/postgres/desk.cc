#include "dlo/store/postgres/desk.h"

namespace dlo::postgres {

void Desk::clear() {
  sheets_.clear();
  numbers_.clear();
  documents_.clear();
  audit_.clear();
  gone_.clear();
  back_.reset();
}

Sheet* Desk::find(const RecordId& id) {
  const auto found = sheets_.find(id);
  return found == sheets_.end() ? nullptr : &found->second;
}

Sheet* Desk::find(std::int64_t number) {
  const auto found = numbers_.find(number);
  if (found == numbers_.end()) return nullptr;
  Sheet* sheet = find(found->second);
  return sheet != nullptr && sheet->head && sheet->head->record.number == number ? sheet : nullptr;
}

Sheet& Desk::lay(const RecordId& id, Sheet sheet) {
  if (sheet.head) numbers_[sheet.head->record.number] = id;
  return sheets_.try_emplace(id, std::move(sheet)).first->second;
}

Sheet& Desk::change(const RecordId& id) {
  Sheet& sheet = sheets_.at(id);
  if (back_) back_->sheets.try_emplace(id, sheet);
  return sheet;
}

void Desk::remove(const RecordId& id) {
  Sheet& sheet = change(id);
  if (!sheet.is_new) gone_.push_back(sheet.head->record.number);
  sheet = Sheet{};
}

DocumentSheet* Desk::find(const DocumentKey& key) {
  const auto found = documents_.find(key);
  return found == documents_.end() ? nullptr : &found->second;
}

DocumentSheet& Desk::lay(const DocumentKey& key, DocumentSheet sheet) {
  return documents_.try_emplace(key, std::move(sheet)).first->second;
}

DocumentSheet& Desk::change(const DocumentKey& key) {
  DocumentSheet& sheet = documents_[key];
  if (back_) back_->documents.try_emplace(key, sheet);
  return sheet;
}

void Desk::go_back() {
  for (auto& [id, sheet] : back_->sheets) sheets_[id] = std::move(sheet);
  for (auto& [key, sheet] : back_->documents) documents_[key] = std::move(sheet);
  audit_.resize(back_->audit);
  gone_.resize(back_->gone);
  back_.reset();
}

}  // namespace dlo::postgres

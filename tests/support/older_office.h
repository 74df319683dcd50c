#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "dlo/store/sqlite/connection.h"
#include "dlo/store/sqlite/facets.h"
#include "dlo/store/sqlite/schema.h"

namespace dlo::testing {

/// Makes of the office in `from`, which nobody has open, one of an older version of the schema in
/// `to`: the tables as the first steps made them, with the rows that were there, as far as these
/// tables have columns for them.
class OlderOffice {
 public:
  OlderOffice(const std::string& from, const std::string& to, std::size_t version)
      : from_(from + "/office.db"), to_(to + "/office.db") {
    std::filesystem::create_directories(to);
    sqlite::Connection db(to_, sqlite::Access::create);
    sqlite::define_facets(db);
    db.run("PRAGMA journal_mode = WAL");
    sqlite::migrate(db, sqlite::office_migrations().first(version));
    db.run("ATTACH '" + from_ + "' AS newer");
    for (const std::string& table : tables(db)) copy(db, table);
    if (version < 4) db.run("DELETE FROM counters WHERE name GLOB 'lifetime_*'");
    db.run("INSERT INTO error_text(rowid, words) SELECT seat, error_text FROM records");
  }
  [[nodiscard]] const std::string& file() const { return to_; }

 private:
  static std::vector<std::string> texts(sqlite::Connection& db, const std::string& sql) {
    std::vector<std::string> all;
    sqlite::Statement asked(db.raw(), sql);
    for (sqlite::Rows rows(asked); rows.next();) all.push_back(rows->text(0));
    return all;
  }
  static std::vector<std::string> tables(sqlite::Connection& db) {
    return texts(db,
                 "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT GLOB "
                 "'sqlite_*' AND name NOT GLOB 'error_text*' AND name <> 'schema_versions'");
  }
  static void copy(sqlite::Connection& db, const std::string& table) {
    std::string columns;
    for (const std::string& each :
         texts(db, "SELECT name FROM pragma_table_info('" + table + "', 'main')")) {
      columns += (columns.empty() ? "" : ", ") + each;
    }
    db.run("DELETE FROM main." + table);
    db.run("INSERT INTO main." + table + "(" + columns + ") SELECT " + columns + " FROM newer." +
           table);
  }

  std::string from_;
  std::string to_;
};

}  // namespace dlo::testing

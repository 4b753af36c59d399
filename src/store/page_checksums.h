#pragma once
// Checksums for the pages of SQLite files. SQLite itself does not notice a changed byte in a text or a
// number. So each page ends with the checksum of its bytes: it is written with the page, and compared
// whenever the page is read. A page that does not match is an error of SQLite (SQLITE_IOERR_DATA).
//
// This is a VFS, a layer between SQLite and the operating system. Only the database file is checked: the log
// of a database in WAL mode and a rollback journal have checksums of their own.

struct sqlite3;

namespace nl::store {

/// The name of the VFS, which is registered with the first call. Any thread may call.
const char* checksum_vfs();

/// To be called right after the file was opened for writing: a new file gets room for checksums in its pages,
/// an old one with the next VACUUM.
void make_room_for_checksums(sqlite3* db);

/// Do the pages of this file have checksums?
bool has_checksums(sqlite3* db);

}  // namespace nl::store

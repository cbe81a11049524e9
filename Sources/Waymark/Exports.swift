// The values that cross the library's boundary live with the bytes and files they are made of: ids and JSON; homes,
// passphrases, errors; records and queries; history; formats of files; backups, and what founding, joining and
// restoring answer.
@_exported public import ChangeHistory
@_exported public import Enrolment
@_exported public import Home
@_exported public import ImportExport
@_exported public import Model
@_exported public import Records
@_exported public import Wire

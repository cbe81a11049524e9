// Modules whose public types appear in this library's API: ids and JSON; homes, passphrases and errors; records and
// queries; history; file formats; which purchases count; backups and the results of founding, joining and restoring.
@_exported public import ChangeHistory
@_exported public import Enrolment
@_exported public import Home
@_exported public import ImportExport
@_exported public import Model
@_exported public import NodeOperations
@_exported public import NodeRuntime
@_exported public import Purchases
@_exported public import Records
@_exported public import Wire

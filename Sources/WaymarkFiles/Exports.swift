// Types of other modules that appear in this library's API: formats of files, and what becomes of an attachment's content.
@_exported public import ImportExport
@_exported public import enum Model.FileState
@_exported public import struct NodeOperations.FileOverview
@_exported public import struct NodeRuntime.FileTotals
@_exported public import enum Records.FileKeepPolicy
@_exported public import WaymarkKinds

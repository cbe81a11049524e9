// Modules whose public types appear in this library's API: history, undo and conflicts; founding, joining and restoring;
// homes, keys and errors; the circle, premium, overrides and verification; status and peers.
@_exported public import ChangeHistory
@_exported public import Enrolment
@_exported public import Home
@_exported public import enum Model.FileState
@_exported public import NodeOperations
@_exported public import NodeRuntime
@_exported public import Reasons
@_exported public import enum Records.FileKeepPolicy
@_exported public import WaymarkKinds
